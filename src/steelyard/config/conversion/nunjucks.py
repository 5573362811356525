"""Computes what templates of Nunjucks say beyond names: filters, conditions and loops over the values of a row.

Our templates name values and nothing else. So each such part becomes a value of its own in every row, and the template
names that. Jinja, whose syntax is the same, computes it; where JavaScript has another result, that is what counts. A
template is hostile input: no call, no arithmetic but `+`, no loop within a loop, few filters.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar, Final

from jinja2 import ChainableUndefined, Undefined, nodes
from jinja2.exceptions import TemplateError
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import ImmutableSandboxedEnvironment

from steelyard.errors import ConfigError

_TAG: Final = re.compile(
    r"\{%-?\s*+(?P<word>\w++)(?:(?!\{%).)*?%\}|\{\{-?(?P<inner>(?:(?!\{\{).)*?)-?\}\}|\{#(?:(?!\{#).)*?#\}", re.DOTALL
)
"""A tag holds no beginning of its kind: else a text of nothing but beginnings takes the square of its length."""
_NAME: Final = re.compile(r"\s*[A-Za-z_$][\w$]*\s*(?:\|\s*(?:safe|string)\s*)?")
"""What a template of ours can name; a part of a value, `user.name`, is computed."""
_READ: Final = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const, nodes.Getattr, nodes.Getitem),
    *(nodes.Filter, nodes.For, nodes.If, nodes.CondExpr, nodes.Compare, nodes.Operand, nodes.Test, nodes.List),
    *(nodes.Not, nodes.And, nodes.Or, nodes.Add),
)
_FILTERS: Final = frozenset(
    (
        *("upper", "lower", "trim", "capitalize", "title", "join", "default", "d", "length", "first", "last"),
        *("reverse", "safe", "string", "dump", "int", "float", "round", "sort"),
    )
)
_MOST_FILTERS: Final = 4
"""In one part: `dump` of what is dumped already doubles its backslashes."""
_LONGEST: Final = 20_000
_NUMBER: Final = re.compile(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*")


class _List(list[Any]):
    # In JavaScript a list or an object is true even if it is empty.
    def __bool__(self) -> bool:
        return True


class _Object(dict[str, Any]):
    def __bool__(self) -> bool:
        return True


def _as_javascript(value: Any) -> Any:
    if isinstance(value, list):
        return _List(map(_as_javascript, value))
    return _Object((key, _as_javascript(part)) for key, part in value.items()) if isinstance(value, Mapping) else value


class _Compared:
    """One side of `==` or `<`, which takes a text for a number where the other side is one."""

    __slots__ = ("value",)
    __hash__: ClassVar[None]  # type: ignore[assignment]  # what equals a text and a number has none

    def __init__(self, value: Any) -> None:
        self.value = None if isinstance(value, Undefined) else value

    def __eq__(self, other: object) -> bool:
        sides = (self.value, other.value if isinstance(other, _Compared) else other)
        texts = [side for side in sides if isinstance(side, str)]
        numbers = [side for side in sides if isinstance(side, int | float)]
        if texts and numbers:
            return bool(_NUMBER.fullmatch(texts[0])) and float(texts[0]) == numbers[0]
        return bool(sides[0] == sides[1])

    def _is(self, compare: Callable[[Any, Any], bool], other: _Compared) -> bool:
        sides = (self.value, other.value)
        return compare(*(sides if all(isinstance(side, str) for side in sides) else map(_as_number, sides)))

    def __lt__(self, other: _Compared) -> bool:
        return self._is(operator.lt, other)

    def __le__(self, other: _Compared) -> bool:
        return self._is(operator.le, other)

    def __gt__(self, other: _Compared) -> bool:
        return self._is(operator.gt, other)

    def __ge__(self, other: _Compared) -> bool:
        return self._is(operator.ge, other)


def _as_number(value: Any) -> float:
    """A value as a number, as JavaScript takes it; what is none is neither above nor below another."""
    if isinstance(value, str) and not value.strip():
        return 0.0
    is_number = isinstance(value, int | float) or (isinstance(value, str) and _NUMBER.fullmatch(value))
    return float(value) if is_number else math.nan


def _leading_number(pattern: str, convert: Callable[[str], float]) -> Callable[..., Any]:
    """The filter that reads the number with which a text begins."""
    number = re.compile(rf"\s*({pattern})")

    def read(value: Any, default: Any = "") -> Any:
        match = number.match(str(value))
        return convert(match[1]) if match else default

    return read


def _rounded(value: float, places: int = 0) -> float:
    return math.floor(value * 10.0**places + 0.5) / 10.0**places


def _filters(as_text: Callable[[Any], str]) -> dict[str, Callable[..., Any]]:
    """The filters that do otherwise than those of Jinja."""

    def on_text(change: Callable[[Any], str]) -> Callable[[Any], str]:
        return lambda value: change("" if not value or isinstance(value, Undefined) else as_text(value))

    def join(values: Any, between: str = "") -> str:
        return between.join(map(as_text, values))

    return {
        "upper": on_text(str.upper),
        "lower": on_text(str.lower),
        "trim": on_text(str.strip),
        "capitalize": on_text(str.capitalize),
        "title": on_text(lambda text: " ".join(map(str.capitalize, text.split(" ")))),
        "int": _leading_number(r"[-+]?\d+", int),
        "float": _leading_number(r"[-+]?(?:\d+\.?\d*|\.\d+)", float),
        "round": _rounded,
        "join": join,
        "dump": partial(json.dumps, ensure_ascii=False, separators=(",", ":")),
        "reverse": lambda value: value[::-1],
    }


class _Environment(ImmutableSandboxedEnvironment):
    """Values have keys and a length, as in JavaScript; nothing else is there to be named."""

    def __init__(self, as_text: Callable[[Any], str]) -> None:
        super().__init__(keep_trailing_newline=True, finalize=as_text, undefined=ChainableUndefined)
        self.filters = {name: call for name, call in self.filters.items() if name in _FILTERS} | _filters(as_text)
        self.filters["compared"] = _Compared
        self.globals.clear()

    def getattr(self, obj: Any, attribute: str) -> Any:
        """The value of a key; undefined where there is none."""
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """The value of a key or a place; undefined where there is none."""
        if not isinstance(obj, str | list | dict):
            return super().getitem(obj, argument)
        try:
            return len(obj) if argument == "length" and not isinstance(obj, dict) else obj[argument]
        except (LookupError, TypeError):
            return self.undefined(obj=obj, name=argument)


def computed_parts(template: str) -> Iterator[tuple[int, int]]:
    """Where a template computes: a block from its first tag to its last, an expression that is more than a name.

    >>> text = "{{a}} {{ b | upper }}{% if c %}{{d}}{% endif %}"
    >>> [text[start:end] for start, end in computed_parts(text)]
    ['{{ b | upper }}', '{% if c %}{{d}}{% endif %}']
    """
    opened: list[int] = []
    is_raw = False
    for match in _TAG.finditer(template):
        word, inner = match["word"], match["inner"]
        if is_raw or word == "raw":
            is_raw = word != "endraw"
        elif word in {"if", "for"}:
            opened.append(match.start())
        elif word in {"endif", "endfor"} and opened:
            start = opened.pop()
            if not opened:
                yield start, match.end()
        elif inner is not None and not opened and not _NAME.fullmatch(inner):
            yield match.span()


def names_of_part(part: str) -> list[str]:
    """The values that a part uses, sorted.

    Raises:
        ConfigError: it is not read.
    """
    return sorted(find_undeclared_variables(_parsed(_Environment(str), part)))


def computed(part: str, values: Mapping[str, Any], as_text: Callable[[Any], str]) -> str:
    """The text of a part of a template for the values of a row.

    Raises:
        ConfigError: it is not read, or fails for these values.
    """
    environment = _Environment(as_text)
    try:
        tree = _parsed(environment, part)
        for compare in [*tree.find_all(nodes.Compare)]:
            if not any(operand.op in {"in", "notin"} for operand in compare.ops):
                compare.expr = _compared(compare.expr)
                for operand in compare.ops:
                    operand.expr = _compared(operand.expr)
        return environment.from_string(tree).render(_as_javascript(values))
    except (TemplateError, TypeError, ValueError, ArithmeticError) as error:
        raise _unread(part, str(error)) from error


def _compared(side: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(side, "compared", [], [], None, None)


def _parsed(environment: _Environment, part: str) -> nodes.Template:
    if len(part) > _LONGEST:
        raise _unread(part, f"it has more than {_LONGEST:,} characters")
    try:
        tree = environment.parse(re.sub(r"(\{%-?\s*)elseif\b", r"\1elif", part))
    except (TemplateError, RecursionError) as error:
        raise _unread(part, str(error)) from error
    if reason := _refused(tree):
        raise _unread(part, reason)
    return tree


def _refused(tree: nodes.Template) -> str:
    """What in a template is not read; empty where all is."""
    loops, filters = [*tree.find_all(nodes.For)], [*tree.find_all(nodes.Filter)]
    names = [filter_.name for filter_ in filters if filter_.name not in _FILTERS]
    others = [node for node in tree.find_all(nodes.Node) if not isinstance(node, _READ)]
    if others or names:
        return f"the filter {names[0]}" if names else type(others[0]).__name__.lower()
    if any(not isinstance(given, nodes.Const) for filter_ in filters for given in filter_.args):
        return "a filter with a value"
    if any(True for loop in loops for _ in loop.find_all(nodes.For)):
        return "a loop within a loop"
    return f"more than {_MOST_FILTERS} filters" if len(filters) > _MOST_FILTERS else ""


def _unread(part: str, reason: str) -> ConfigError:
    return ConfigError(f"{part[:60]} is not read ({reason[:80]}); write its result into a column of its own")
