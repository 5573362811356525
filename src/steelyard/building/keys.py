"""Configuration keys of a class, from its dataclass fields: types, defaults and descriptions, and scalars of a type.

Building, schema and reference all read classes through this module, so that they cannot differ from each other. Texts,
numbers, booleans, choices and paths are parsed to the type of their key; ambiguous ones are rejected.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import types
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from steelyard.building.nodes import Node
from steelyard.building.wrapped import WRAPPER_KEYS, Adapted
from steelyard.constraints import Within, number_ranges
from steelyard.errors import ConfigError, did_you_mean
from steelyard.models.base import Model
from steelyard.models.references import masked
from steelyard.registry import Kind, settings_of
from steelyard.types import Json, Scorer, Target

_MISSING: Final = dataclasses.MISSING
LEAVES: Final = frozenset({str, int, float, bool, type(None), Path})
_WORDS: Final[Mapping[Any, str]] = types.MappingProxyType(
    {
        str: "a text",
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        type(None): "nothing",
        Path: "the path of a file",
    }
)
_SECTION: Final = re.compile(r"^(Args|Raises|Returns|Source|Yields|Examples?):")
_ARGUMENT: Final = re.compile(r"^ {4}(\w+): (.*)$")
_SHOWN: Final = 40


@dataclasses.dataclass(frozen=True, slots=True)
class Key:
    """One configuration key, from a dataclass field; `default` is used unless `required`; `range` limits its number."""

    name: str
    hint: Any
    required: bool
    default: Any = None
    range: Within | None = None


@cache
def keys_of(cls: type) -> Mapping[str, Key]:
    """The configuration keys of `cls` in the order of its fields; fields that only Python can set are left out.

    Raises:
        ConfigError: an annotation cannot be resolved, which is a mistake of the author of `cls`.
    """
    try:
        hints = get_type_hints(cls)
    except (NameError, TypeError) as error:
        raise ConfigError(f"{cls.__module__}:{cls.__qualname__} cannot be configured: {error}") from error
    ranges = number_ranges(cls)
    keys = [_key(field, hints[field.name], ranges.get(field.name)) for field in settings_of(cls)]
    return {key.name: key for key in keys if key.required or is_writable(key.hint)}


def _key(field: dataclasses.Field[Any], hint: Any, within: Within | None) -> Key:
    if field.default_factory is not _MISSING:
        return Key(field.name, hint, False, field.default_factory(), within)
    return Key(
        field.name, hint, field.default is _MISSING, None if field.default is _MISSING else field.default, within
    )


def keys_of_kind(kind: Kind, registered: Any) -> Mapping[str, Key]:
    """The keys of a registered class or function of a kind: its own, and those that every scorer takes."""
    own = keys_of(registered) if is_class(registered) else {}
    if kind != "scorer":
        return own
    shared = keys_of(Adapted)
    return {**own, **{name: shared[name] for name in WRAPPER_KEYS if name not in own}}


def scalar_key(name: str, keys: Mapping[str, Key], registered: Any = None) -> Key | None:
    """The key that the scalar of `{name: scalar}` belongs to: that of `short_key`, the key called `name`, the first."""
    short = keys.get(getattr(registered, "short_key", ""))
    shared = keys_of(Adapted)
    own = (key for key in keys.values() if key is not shared.get(key.name))
    return short or keys.get(name) or next(own, None)


@cache
def kind_of(hint: Any) -> Kind | None:
    """The registry's kind of `hint` if it is the type of a model, target or scorer, else None.

    >>> kind_of(Scorer), kind_of(str)
    ('scorer', None)
    """
    if hint is Model:
        return "model"
    if hint == Target:
        return "target"
    return "scorer" if hint == Scorer else None


def members(hint: Any) -> tuple[Any, ...]:
    """The alternatives of a union; any other annotation is its own only alternative.

    >>> members(int | None)
    (<class 'int'>, <class 'NoneType'>)
    """
    if is_json(hint) or kind_of(hint):
        return (hint,)
    return get_args(hint) if get_origin(hint) in {Union, types.UnionType} else (hint,)


def is_json(hint: Any) -> bool:
    """Whether the annotation accepts any JSON value."""
    return hint is Any or hint is object or hint == Json


def element_of(hint: Any) -> Any:
    """The type of the elements of a list annotation; None for others.

    >>> element_of(tuple[str, ...]), element_of(str)
    (<class 'str'>, None)
    """
    origin = get_origin(hint) or hint
    if origin not in {tuple, list, Sequence, set, frozenset}:
        return None
    arguments = [argument for argument in get_args(hint) if argument is not Ellipsis]
    if len(arguments) > 1:
        raise ConfigError(f"a configuration cannot hold {hint}: lists are of one type")
    return arguments[0] if arguments else Any


def value_of(hint: Any) -> Any:
    """The type of the values of a mapping annotation; None for others.

    >>> value_of(Mapping[str, int])
    <class 'int'>
    """
    if (get_origin(hint) or hint) not in {Mapping, dict}:
        return None
    return (*get_args(hint), Any)[1] if get_args(hint) else Any


def is_writable(hint: Any) -> bool:
    """Whether a value of this type can be written in a file; of a union, whether anything but null can.

    >>> from collections.abc import Callable
    >>> is_writable(Callable[[str], str] | None), is_writable(int | None)
    (False, True)
    """
    if len(members(hint)) > 1:
        return any(is_writable(member) for member in members(hint) if member is not type(None))
    if kind_of(hint) or is_json(hint) or is_literal(hint) or is_class(hint) or hint in LEAVES:
        return True
    return element_of(hint) is not None or value_of(hint) is not None


def is_literal(hint: Any) -> bool:
    """Whether it is a `Literal`."""
    return get_origin(hint) is Literal


def is_class(hint: Any) -> bool:
    """Whether it is a dataclass, which is written as a mapping of its fields."""
    return isinstance(hint, type) and dataclasses.is_dataclass(hint)


def words(hint: Any) -> str:
    """Describe the expected type for an error message.

    >>> words(int | None), words(tuple[str, ...]), words(Literal["auto", "none"])
    ('a whole number or nothing', 'a list (each a text)', "'auto' or 'none'")
    """
    if kind_of(hint) or is_json(hint):
        return f"a {kind_of(hint)}" if kind_of(hint) else "any value"
    if len(members(hint)) > 1:
        return " or ".join(map(words, members(hint)))
    return _words_of_member(hint)


def _words_of_member(hint: Any) -> str:
    if is_literal(hint):
        return " or ".join(map(repr, get_args(hint)))
    if element_of(hint) is not None:
        return f"a list (each {words(element_of(hint))})"
    if value_of(hint) is not None:
        return f"a mapping (each value {words(value_of(hint))})"
    if is_class(hint):
        return f"a mapping ({', '.join(keys_of(hint))})"
    return _WORDS.get(hint) or f"a {getattr(hint, '__name__', hint)}"


def summary_of(documented: object) -> str:
    """The first paragraph of a docstring, on one line; empty where there is none.

    >>> summary_of(summary_of)
    'The first paragraph of a docstring, on one line; empty where there is none.'
    """
    text = inspect.getdoc(documented) or ""
    return " ".join(text.partition("\n\n")[0].split())


def arguments_of(documented: object) -> Mapping[str, str]:
    """The description of each name in the section `Args:`, on one line each; a class inherits those of its bases.

    >>> sorted(arguments_of(arguments_of))
    ['documented']

    Args:
        documented: a class or function with a docstring in Google's style,
            as here.
    """
    descriptions: dict[str, str] = {}
    for level in reversed(documented.__mro__[:-1]) if isinstance(documented, type) else (documented,):
        descriptions.update(_own_arguments(level))
    return descriptions


def _own_arguments(documented: object) -> Mapping[str, str]:
    arguments: dict[str, list[str]] = {}
    name = ""
    within = False
    for line in (inspect.getdoc(documented) or "").splitlines():
        section = _SECTION.match(line)
        if section or (line and not line.startswith(" ")):
            within = section is not None and section[1] == "Args"
            continue
        argument = _ARGUMENT.match(line)
        if within and argument:
            name = argument[1]
            arguments[name] = [argument[2]]
        elif within and name and line.strip():
            arguments[name].append(line.strip())
    return {argument: " ".join(lines) for argument, lines in arguments.items()}


def described(node: Node) -> str:
    """Describe a value for an error message; secrets are masked.

    >>> from steelyard.building.nodes import from_plain
    >>> described(from_plain(0.5, "")), described(from_plain([], ""))
    ('the number 0.5', 'a list')
    """
    value = node.value
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, tuple):
        return "a list"
    if isinstance(value, str):
        shown = masked(value[: _SHOWN + 1])
        return f"the text {shown if len(value) <= _SHOWN else shown[:_SHOWN] + '…'!r}"
    return node.raw if isinstance(value, bool) else f"the number {node.raw or value}"


def as_text(node: Node) -> str:
    """The text of a node; a number or boolean is accepted only if formatting it again gives the same text.

    `1.10` would become 1.1 and `007` 7 once the configuration is stored, so they need quotes.

    Raises:
        ConfigError: it is neither a text nor such a number or boolean.
    """
    if isinstance(node.value, str):
        return node.value
    if not isinstance(node.value, bool | int | float):
        raise _expected(str, node)
    if node.raw != json.dumps(node.value):
        raise ConfigError(
            f"expected a text, but {node.raw} is read as {described(node)}; put it into quotes", node.location
        )
    return node.raw


def leaf(hint: Any, node: Node, folder: Path) -> Any:
    """Convert a scalar to the type `hint`.

    Args:
        hint: str, int, float, bool, None, a Literal or Path.
        node: the value in the file.
        folder: paths are resolved against it.

    Raises:
        ConfigError: it has another type, or there is no such file.
    """
    if is_literal(hint):
        return _choice(hint, node)
    if hint is str:
        return as_text(node)
    if hint is Path:
        return existing(node, folder)
    if hint is float and isinstance(node.value, int) and not isinstance(node.value, bool):
        return _float(node)
    if hint is type(None) and node.value is None:
        return None
    if type(node.value) is not hint:
        raise _expected(hint, node)
    return node.value


def _float(node: Node) -> float:
    try:
        return float(node.value)
    except OverflowError as error:
        raise ConfigError("this number is too large", node.location) from error


def _choice(hint: Any, node: Node) -> Any:
    for value in get_args(hint):
        if type(value) is type(node.value) and value == node.value:
            return value
    suggestion = did_you_mean(node.value, get_args(hint)) if isinstance(node.value, str) else ""
    raise ConfigError(
        f"expected {words(hint)}, but got {described(node)}{suggestion if suggestion[:1] == ':' else ''}", node.location
    )


def existing(node: Node, folder: Path) -> Path:
    """An existing path, resolved against the configuration's folder.

    Raises:
        ConfigError: it is not a text, does not exist (the message suggests the nearest existing file), or is a pipe or
            another special file, which might never end.
    """
    text = as_text(node)
    if not text:
        raise ConfigError("expected the path of a file, but got an empty text", node.location)
    path = folder / text
    try:
        if path.is_file() or path.is_dir():
            return path
        if path.exists() or path.is_symlink():
            what = f"a symbolic link to {path.readlink()}, which leads to no file" if path.is_symlink() else "no file"
            raise ConfigError(f"{path} is {what}", node.location)
        neighbours = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    except (OSError, ValueError) as error:
        raise ConfigError(f"{text[:_SHOWN]!r} cannot be opened: {error}", node.location) from error
    suggestion = did_you_mean(path.name, neighbours)
    raise ConfigError(f"there is no file {path}{suggestion if suggestion[:1] == ':' else ''}", node.location)


def is_path(text: str, folder: Path, *, or_folder: bool) -> bool:
    """Whether `text` is the path of an existing file; for keys that take a path or the text itself.

    Args:
        text: the text as written.
        folder: the folder of the configuration.
        or_folder: whether a folder counts too.
    """
    try:
        path = folder / text
        return bool(text) and (path.is_file() or (or_folder and path.is_dir()))
    except (OSError, ValueError):
        return False


def _expected(hint: Any, node: Node) -> ConfigError:
    return ConfigError(f"expected {words(hint)}, but got {described(node)}", node.location)


def suits(hint: Any, node: Node) -> bool:
    """Whether the scalar at `node` has the type `hint` without conversion, except from a whole number to a float.

    >>> from steelyard.building.nodes import from_plain
    >>> suits(float, from_plain(3, "")), suits(str, from_plain(3, ""))
    (True, False)
    """
    value = node.value
    if is_literal(hint):
        return any(type(literal) is type(value) and literal == value for literal in get_args(hint))
    if hint is Path:
        return isinstance(value, str)
    return type(value) is hint or (hint is float and type(value) is int)
