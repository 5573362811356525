"""Limits of options, declared on the fields of a class and checked in one place.

    @dataclass(frozen=True, slots=True)
    class Chunks:
        tokens: Annotated[int, Within(32, 4000)] = 512
        by: Literal["words", "pages"] = "words"

A constraint is a callable `(name of the option, value)` among the metadata of `Annotated`; it raises ConfigError, and
its message begins with the name. A `Literal` is one by itself, and null passes where the type allows it. What no single
option can tell, such as two that exclude each other, a class says in a method `check()`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from steelyard.errors import ConfigError, did_you_mean, expect_number, limit_text

Constraint = Callable[[str, Any], None]
_SHOWN: Final = 80


def check_options(value: Any, *, within: str = "", but: Collection[str] = ()) -> None:
    """Check the options of an object: the constraints of its fields, then its own `check()`, if it has them.

    Objects inside of it are not checked: whoever builds or walks the tree does that.

    Args:
        value: any object.
        within: stands before the names of options in messages: `retry.`.
        but: options that are not checked.

    Raises:
        ConfigError: which option, what was expected and what came.

    >>> @dataclasses.dataclass
    ... class Chunks:
    ...     tokens: Annotated[int, Within(32, 4000)] = 512
    >>> check_options(Chunks(9))
    Traceback (most recent call last):
        ...
    steelyard.errors.ConfigError: tokens must be a whole number from 32 to 4,000, not 9
    """
    cls: type = type(value)
    for name, constraint in _constraints(cls) if hasattr(cls, "__dataclass_fields__") else ():
        if name not in but:
            constraint(f"{within}{name}", getattr(value, name))
    check = getattr(value, "check", None)
    if callable(check):
        check()


def number_ranges(cls: type) -> Mapping[str, Within]:
    """Option -> the range of its number, for those that have one.

    >>> @dataclasses.dataclass
    ... class Chunks:
    ...     tokens: Annotated[int | None, Within(32, 4000)] = None
    >>> str(number_ranges(Chunks)["tokens"])
    '32 to 4,000'
    """
    constraints = [
        (name, declared.constraint if isinstance(declared, _Unless) else declared)
        for name, declared in _constraints(cls)
    ]
    return {name: constraint for name, constraint in constraints if isinstance(constraint, Within)}


@cache
def _constraints(cls: type) -> tuple[tuple[str, Constraint], ...]:
    """The constraints of each field; none where the types of a class of the user's cannot be resolved."""
    try:
        hints = get_type_hints(cls, include_extras=True)
    except (NameError, TypeError):
        return ()
    return tuple(
        (field.name, constraint) for field in dataclasses.fields(cls) for constraint in _of_hint(hints[field.name])
    )


def _of_hint(hint: Any) -> list[Constraint]:
    kind, *metadata = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    members = get_args(kind) if get_origin(kind) in _UNIONS else (kind,)
    # `ShortText | None`, where the alias has the constraint.
    inner = [constraint for member in members if get_origin(member) is Annotated for constraint in _of_hint(member)]
    declared = [constraint for constraint in metadata if callable(constraint)]
    constraints = [
        dataclasses.replace(constraint, whole=float not in members) if isinstance(constraint, Within) else constraint
        for constraint in declared
    ]
    if literals := _literals(members):
        constraints.append(literals)
    classes = [member for member in members if member is not type(None)]
    if len(classes) == 1 and hasattr(classes[0], "__dataclass_fields__"):
        constraints.append(_InstanceOf(classes[0]))
    constraints += inner
    return [_Unless(constraint) for constraint in constraints] if type(None) in members else constraints


_UNIONS: Final = (Union, type(int | str))


def _literals(members: tuple[Any, ...]) -> Constraint | None:
    """What a `Literal` allows, alone, beside true and false, or in a list; None where other values may stand too."""
    others = [member for member in members if member is not type(None)]
    if len(others) == 1 and get_origin(others[0]) is tuple:
        element = _literals(get_args(others[0])[:1])
        return _Each(element) if element else None
    if not others or any(get_origin(member) is not Literal and member is not bool for member in others):
        return None
    allowed = [word for member in others for word in ((True, False) if member is bool else get_args(member))]
    return OneOf(tuple(allowed)) if any(isinstance(word, str) for word in allowed) else None


@dataclasses.dataclass(frozen=True, slots=True)
class _Unless:
    """A constraint on what is not null."""

    constraint: Constraint

    def __call__(self, name: str, value: Any) -> None:
        if value is not None:
            self.constraint(name, value)


@dataclasses.dataclass(frozen=True, slots=True)
class _InstanceOf:
    """An object of a class of options."""

    kind: Any

    def __call__(self, name: str, value: Any) -> None:
        if not isinstance(value, self.kind):
            raise ConfigError(f"{name} must be a {self.kind.__name__}, not {value!r:.{_SHOWN}}")


@dataclasses.dataclass(frozen=True, slots=True)
class _Each:
    """A constraint on each element of a list."""

    constraint: Constraint

    def __call__(self, name: str, value: Any) -> None:
        for element in value:
            self.constraint(name, element)


@dataclasses.dataclass(frozen=True, slots=True)
class Within:
    """A number within a range.

    Args:
        least: the smallest number that is allowed.
        most: the largest one; None is no limit, and then infinity is refused.
        above: whether `least` itself is refused.
        whole: whether only whole numbers make sense; on a field it follows from the field's type.
    """

    least: float
    most: float | None = None
    above: bool = False
    whole: bool = False

    def __call__(self, name: str, value: Any) -> None:
        """Raise ConfigError if a value is not within the range."""
        if self.above and type(value) in {int, float} and value == self.least:
            limit = f" and at most {limit_text(self.most)}" if self.most is not None else ""
            raise ConfigError(f"{name} must be a number above {limit_text(self.least)}{limit}, not {value!r}")
        expect_number(name, value, self.least, self.most, whole=self.whole)

    def __str__(self) -> str:
        least = "" if self.least == -math.inf else f"{'above ' if self.above else ''}{limit_text(self.least)}"
        if self.most is None:
            return least if self.above or not least else f"{least} or more"
        joined = ", at most " if self.above else " to "
        return f"{least}{joined}{limit_text(self.most)}" if least else f"at most {limit_text(self.most)}"


@dataclasses.dataclass(frozen=True, slots=True)
class OneOf:
    """One of some words."""

    words: tuple[Any, ...]

    def __call__(self, name: str, value: Any) -> None:
        """Raise ConfigError, with the nearest word, if a value is none of them."""
        if value not in self.words:
            known = [str(word).lower() if isinstance(word, bool) else str(word) for word in self.words if word != ""]
            near = did_you_mean(str(value), known)
            expected = " or ".join(filter(None, (", ".join(known[:-1]), known[-1])))
            raise ConfigError(f"{name}: expected {expected}, but got {value!r}{near if near.startswith(':') else ''}")


@dataclasses.dataclass(frozen=True, slots=True)
class TextList:
    """A list of texts that are not blank; where the option may also be one text, that passes.

    Args:
        least: how many, at the least.
        most: how many, at most; None is no limit.
        of: what they are, for the message: `names of tools`.
        or_text: whether the option may be one text.
    """

    least: int = 0
    most: int | None = None
    of: str = "texts"
    or_text: bool = False

    def __call__(self, name: str, value: Any) -> None:
        """Raise ConfigError if a value is not such a list; a single text would be taken for a list of letters."""
        if self.or_text and isinstance(value, str):
            return
        if not isinstance(value, tuple | list) or not self.least <= len(value) <= (self.most or len(value)):
            number = f"{self.least} to {self.most} " if self.most and self.least else ""
            number = number or (
                f"at most {self.most} " if self.most else f"{self.least} or more " if self.least else ""
            )
            expected = f"{'a text, or ' if self.or_text else ''}a list of {number}{self.of}"
            raise ConfigError(f"{name}: expected {expected}, but got {value!r:.{_SHOWN}}")
        if not all(isinstance(text, str) and text.strip() for text in value):
            raise ConfigError(f"{name}: each must be a text that is not blank")


@dataclasses.dataclass(frozen=True, slots=True)
class Filled:
    """A text that is not blank; `advice` says what to write."""

    advice: str

    def __call__(self, name: str, value: Any) -> None:
        """Raise ConfigError if a value is blank, or no text."""
        if not isinstance(value, str) or not value.strip():
            raise ConfigError(f"{name}: {self.advice}")


def printable(name: str, value: Any) -> None:
    """Require the name of a score: not blank, without line breaks or control characters."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ConfigError(f"{name}: a score has a printable name, not {value!r}")


ScoreName = Annotated[str, printable]
Share = Annotated[float, Within(0, 1)]
Amount = Annotated[float, Within(0)]
Positive = Annotated[float, Within(0, above=True)]
Seed = Annotated[int, Within(0)]
Timeout = Annotated[float, Within(0.001)]


def option_of(message: str, options: Mapping[str, Any]) -> str:
    """The option that a message is about, by the word that it begins with; "" if it begins with none.

    >>> option_of("retry.attempts must be a whole number", {"attempts": 3}), option_of("no model", {"attempts": 3})
    ('attempts', '')
    """
    for part in message.split(": ")[:2]:
        word = part.partition(" must ")[0].rpartition(".")[2]
        if word in options:
            return word
    return ""
