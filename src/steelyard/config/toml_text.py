"""TOML text (version 1.0) to nodes. The standard library reads it, and gives no places; they are found here.

Whatever reaches the second pass is TOML, so it only has to know where keys and values begin and end.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from steelyard.config.positions import MAX_DEPTH, Entry, Node, Source, Weight, finite
from steelyard.errors import ConfigError, Place

_BLANK: Final = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_SPACE: Final = re.compile(r"[ \t]*")
_TEXT: Final = re.compile(
    r"""
    \"{3} (?: [^\\] | \\. )*? \"{3} (?!") | '{3} .*? '{3} (?!')
    | " (?: [^"\\] | \\. )* " | ' [^']* '
    """,
    re.DOTALL | re.VERBOSE,
)
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR: Final = re.compile(r"[^,\]}#\n]+")
_WHERE: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def parse(text: str, source: Source) -> Node:
    """The tree of one document.

    Raises:
        ConfigError: with line and column of the first thing that is not TOML, or that no configuration can hold.
    """
    text = text.replace("\r\n", "\n")
    if not text.strip():
        raise ConfigError("the file is empty", Place(source.file))
    try:
        tomllib.loads(text)
        return _Reader(text, source).document()
    except RecursionError as error:
        raise ConfigError(f"nested more than {MAX_DEPTH} deep", Place(source.file)) from error
    except ValueError as error:  # TOMLDecodeError, and a number of more digits than Python converts
        raise _explained(error, source) from error


def _explained(error: ValueError, source: Source) -> ConfigError:
    found = _WHERE.search(str(error))
    message = str(error)[: found.start()] if found else str(error)
    place = source.place(int(found[1]), int(found[2])) if found and found[1] else Place(source.file, len(source.lines))
    return ConfigError(f"not valid TOML: {message[:1].lower()}{message[1:]}", place)


@dataclass(slots=True)
class _Table:
    """A table while it is filled: headers further down may add to it."""

    at: int
    entries: dict[str, tuple[int, Any]] = field(default_factory=dict)


class _Reader:
    """Reads one text from left to right; every method begins at `at` and leaves it behind what it read."""

    def __init__(self, text: str, source: Source) -> None:
        self.text = text
        self.source = source
        self.at = 0
        self.weight = Weight()
        self.starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def document(self) -> Node:
        root = _Table(0)
        table = root
        while self.skip(_BLANK):
            if self.peek() == "[":
                table = self.header(root)
            else:
                self.pair(table)
        return self.frozen(root, 1)

    def place(self, at: int) -> Place:
        return self.source.place(*self.line_and_column(at))

    def line_and_column(self, at: int) -> tuple[int, int]:
        line = bisect_right(self.starts, at)
        return line, at - self.starts[line - 1] + 1

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return found[0] if found else ""

    def skip(self, pattern: re.Pattern[str]) -> bool:
        """Go on behind what matches; whether there is more of the text."""
        self.take(pattern)
        return self.at < len(self.text)

    def header(self, root: _Table) -> _Table:
        """`[a.b]` or `[[a.b]]`: the table that the lines below it fill."""
        start = self.at
        several = self.text.startswith("[[", start)
        self.at += 2 if several else 1
        *path, (name, at) = self.keys()
        self.at = self.text.index("]", self.at) + (2 if several else 1)
        table = root
        for key, place in path:
            table = self.within(table, key, place)
        if not several:
            return self.within(table, name, at)
        made = _Table(start)
        self.weight.add(1, partial(self.place, start))
        table.entries.setdefault(name, (at, []))[1].append(made)
        return made

    def within(self, table: _Table, key: str, at: int) -> _Table:
        """The table at a key, made where there is none; of an array of tables the last."""
        if key not in table.entries:
            self.weight.add(2, partial(self.place, at))
            table.entries[key] = (at, _Table(at))
        found = table.entries[key][1]
        inner: _Table = found[-1] if isinstance(found, list) else found
        return inner

    def pair(self, table: _Table) -> None:
        *path, (name, at) = self.keys()
        for key, place in path:
            table = self.within(table, key, place)
        self.at = self.text.index("=", self.at) + 1
        self.skip(_SPACE)
        self.weight.add(1, partial(self.place, at))
        table.entries[name] = (at, self.value())

    def keys(self) -> list[tuple[str, int]]:
        """The parts of a dotted key, each with its place."""
        parts: list[tuple[str, int]] = []
        while not parts or self.peek() == ".":
            self.at += bool(parts)
            self.skip(_SPACE)
            at = self.at
            word = self.take(_BARE)
            parts.append((word or self.scalar(self.take(_TEXT)), at))
            if not parts[-1][0]:
                raise ConfigError("a key is empty", self.place(at))
            self.skip(_SPACE)
        return parts

    def value(self) -> Any:
        """A node, a `_Table` written in braces, or a list of values in a tuple with its place."""
        start = self.at
        self.weight.add(1, partial(self.place, start))
        if self.peek() == "[":
            return (start, list(self.sequence()))
        if self.peek() == "{":
            return self.braces()
        raw = self.take(_TEXT)
        if raw:
            return self.node(self.scalar(raw), start)
        raw = self.take(_SCALAR).rstrip()
        found = self.scalar(raw)
        if isinstance(found, float):
            finite(found, partial(self.place, start))
        if not isinstance(found, bool | int | float):
            raise ConfigError("a date or time stands here; write it as a text, in quotes", self.place(start))
        return self.node(found, start, raw)

    def sequence(self) -> Iterator[Any]:
        self.at += 1
        while self.skip(_BLANK) and self.peek() != "]":
            yield self.value()
            self.skip(_BLANK)
            self.at += self.peek() == ","
        self.at += 1

    def braces(self) -> _Table:
        made = _Table(self.at)
        self.at += 1
        while self.skip(_BLANK) and self.peek() != "}":
            self.pair(made)
            self.skip(_BLANK)
            self.at += self.peek() == ","
        self.at += 1
        return made

    def scalar(self, raw: str) -> Any:
        return tomllib.loads(f"x = {raw}")["x"]

    def node(self, value: Any, at: int, raw: str = "") -> Node:
        return Node(value, self.source, *self.line_and_column(at), raw)

    def frozen(self, value: Any, depth: int) -> Node:
        """The node of what was read, tables and lists with all that they hold."""
        if isinstance(value, Node):
            return value
        at, inside = (value.at, value.entries) if isinstance(value, _Table) else value
        if depth > MAX_DEPTH:
            raise ConfigError(f"nested more than {MAX_DEPTH} deep", self.place(at))
        if isinstance(inside, list):
            return self.node(tuple(self.frozen(one, depth + 1) for one in inside), at)
        made = {}
        for key, (place, one) in inside.items():
            held = (place, one) if isinstance(one, list) else one
            made[key] = Entry(self.node(key, place), self.frozen(held, depth + 1))
        return self.node(made, at)
