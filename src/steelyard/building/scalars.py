"""Parses scalars of a configuration: texts, numbers, booleans, choices and paths; ambiguous ones are rejected."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, get_args

from steelyard.building.keys import is_literal, words
from steelyard.building.nodes import Node
from steelyard.errors import ConfigError, did_you_mean
from steelyard.models.references import masked

_SHOWN: Final = 40


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
