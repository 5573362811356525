"""A configuration as a tree whose every key and value knows its line and column, and the errors found in it.

YAML 1.2 (`no` is a text), JSON and TOML give the same tree. A file is plain data: tags and duplicate keys are errors,
and limits keep a file from making reading slow or large, as the known alias and tag attacks on YAML parsers do.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from steelyard.errors import ConfigError, Location, SteelyardError
from steelyard.models.references import masked

K = TypeVar("K")
V = TypeVar("V")

MAX_NODES: Final = 50_000  # counted after aliases are followed; 20 µs each
MAX_DEPTH: Final = 40
_SHOWN_COLUMNS: Final = 200
_SHOWN_ERRORS: Final = 50


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file's name and its lines; `lines` is empty if there is no text to show."""

    file: str
    lines: tuple[str, ...] = ()

    def location(self, line: int, column: int) -> Location:
        """The location to report; its line is escaped for terminals, and what looks like a secret is masked."""
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        if column > _SHOWN_COLUMNS:
            return Location(self.file, line, column)
        visible = "".join(
            character if character.isprintable() else " " if character == "\t" else "�"
            for character in text[: _SHOWN_COLUMNS + 40]
        )
        return Location(self.file, line, column, masked(visible).rstrip())


@dataclass(frozen=True, slots=True)
class Node:
    """One value with its line and column.

    Args:
        value: a scalar; a tuple of nodes; or a mapping of key to `MappingEntry`.
        source: the file it came from.
        line: 1-based; 0 if there is no text.
        column: 1-based; 0 if there is no text.
        raw: a number or truth value as it was written (`1.10`), else empty.
    """

    value: Any
    source: SourceFile
    line: int = 0
    column: int = 0
    raw: str = ""

    @property
    def location(self) -> Location:
        """Its location, for error messages."""
        return self.source.location(self.line, self.column)

    @property
    def entries(self) -> Mapping[str, MappingEntry]:
        """The entries of a mapping; empty for anything else."""
        return self.value if isinstance(self.value, Mapping) else {}

    def with_value(self, value: Any) -> Node:
        """A copy with another value and the same location."""
        return Node(value, self.source, self.line, self.column)


@dataclass(frozen=True, slots=True)
class MappingEntry:
    """A key of a mapping as a node of its own, which knows its line, and its value."""

    key: Node
    node: Node


@dataclass(slots=True)
class Weight:
    """Counts nodes while a tree is built, so that a small file cannot become a large tree."""

    nodes: int = 0

    def add(self, count: int, locate: Callable[[], Location]) -> None:
        """Count `count` more nodes; `locate` is called only if there are too many.

        Raises:
            ConfigError: the tree is too large.
        """
        self.nodes += count
        if self.nodes > MAX_NODES:
            raise ConfigError(f"too large: more than {MAX_NODES:,} values, counting what aliases repeat", locate())


def size(node: Node) -> int:
    """Number of nodes in this subtree; an aliased node counts each time it is used."""
    if isinstance(node.value, Mapping):
        return 1 + sum(1 + size(entry.node) for entry in node.value.values())
    if isinstance(node.value, tuple):
        return 1 + sum(map(size, node.value))
    return 1


def plain(node: Node) -> Any:
    """The value as plain JSON types, without locations.

    >>> plain(from_plain({"a": [1, {"b": None}]}, "memory"))
    {'a': [1, {'b': None}]}
    """
    if isinstance(node.value, Mapping):
        return {key: plain(entry.node) for key, entry in node.value.items()}
    if isinstance(node.value, tuple):
        return [plain(element) for element in node.value]
    return node.value


def from_plain(value: Any, file: str, path: str = "") -> Node:
    """A tree from plain values; the location of each value is its dotted path instead of a line."""
    source = SourceFile(f"{file}, {path}" if path else file)
    if isinstance(value, Mapping):
        inner = {str(key): f"{path}.{key}" if path else str(key) for key in value}
        entries = {
            str(key): MappingEntry(
                Node(str(key), SourceFile(f"{file}, {inner[str(key)]}")), from_plain(member, file, inner[str(key)])
            )
            for key, member in value.items()
        }
        return Node(entries, source)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return Node(tuple(from_plain(member, file, f"{path}[{number}]") for number, member in enumerate(value)), source)
    raw = "" if value is None or isinstance(value, str) else json.dumps(value)
    return Node(value, source, raw=raw)


def texts(node: Node) -> Iterator[Node]:
    """Every text in this subtree, without keys, in the order of the file."""
    if isinstance(node.value, str):
        yield node
    elif isinstance(node.value, Mapping):
        for entry in node.value.values():
            yield from texts(entry.node)
    elif isinstance(node.value, tuple):
        for element in node.value:
            yield from texts(element)


def whole_text(text: str, locate: Callable[[], Location]) -> str:
    r"""`text` with the halves of surrogate pairs joined: JSON writes 😀 as `\ud83d\ude00`.

    Raises:
        ConfigError: half a pair is alone.
    """
    if not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError as error:
        raise ConfigError("half a character: a \\uD800-\\uDFFF escape without its pair", locate()) from error


def finite(number: float, locate: Callable[[], Location]) -> float:
    """Return `number` if it is finite; infinity and NaN are never intended, and JSON cannot store them.

    Raises:
        ConfigError: it is infinite or NaN.
    """
    if not math.isfinite(number):
        raise ConfigError("this is not a finite number", locate())
    return number


class ConfigErrors(ConfigError):
    """Several errors of one configuration, in the order of the file; its text lists each with its position."""

    def __init__(self, errors: Sequence[ConfigError]) -> None:
        self.errors = tuple(sorted(errors, key=_order))
        shown = [str(error) for error in self.errors[:_SHOWN_ERRORS]]
        if len(self.errors) > _SHOWN_ERRORS:
            shown.append(f"... and {len(self.errors) - _SHOWN_ERRORS} more")
        super().__init__("\n".join([f"{len(self.errors)} errors", *shown]))


def _order(error: ConfigError) -> tuple[str, int, int]:
    location = error.location or Location("")
    return location.file, location.line, location.column


class Problems:
    """Collects the errors of a configuration, so that all are reported at once."""

    def __init__(self) -> None:
        self._errors: list[ConfigError] = []

    def __bool__(self) -> bool:
        return bool(self._errors)

    def add(self, message: str, node: Node) -> None:
        """Add an error at the location of `node`."""
        self._errors.append(ConfigError(message, node.location))

    def note(self, error: SteelyardError, node: Node) -> None:
        """Add an error that was raised while reading `node`; it keeps its own location if it has one."""
        for single in error.errors if isinstance(error, ConfigErrors) else (error,):
            if isinstance(single, ConfigError):
                self._errors.append(ConfigError(single.message, single.location or node.location))
            else:
                self._errors.append(ConfigError(str(single), node.location))

    @contextmanager
    def gathered(self, node: Node) -> Iterator[None]:
        """Collect an error that is raised inside the block, and continue."""
        try:
            yield
        except SteelyardError as error:
            self.note(error, node)

    def raise_any(self) -> None:
        """Raise the collected errors, without duplicates.

        Raises:
            ConfigError: the one error, or all of them as `ConfigErrors`.
        """
        distinct = list({str(error): error for error in self._errors}.values())
        if len(distinct) == 1:
            raise distinct[0]
        if distinct:
            raise ConfigErrors(distinct)


def read_each(nodes: Iterable[tuple[K, Node]], read: Callable[[K, Node], V]) -> dict[K, V]:
    """What `read` makes of each node, under its key; all that is wrong with them is reported at once.

    Raises:
        ConfigError: as `Problems.raise_any`.
    """
    problems = Problems()
    values: dict[K, V] = {}
    for key, node in nodes:
        with problems.gathered(node):
            values[key] = read(key, node)
    problems.raise_any()
    return values
