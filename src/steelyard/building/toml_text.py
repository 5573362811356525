"""Parses TOML 1.0 to nodes: the standard library reads the values, and their positions are looked up in the text.

The text is valid TOML when positions are looked up, so the search only needs to know where keys and values begin and
end, not what they mean.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from steelyard.building.nodes import MAX_DEPTH, MAX_NODES, MappingEntry, Node, SourceFile, Weight, finite
from steelyard.errors import ConfigError, Location

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
_NO_MARKS: Final = re.compile(
    r"""
    \"{3} (?: [^"\\] | \\. | "(?!"") )*+ (?: \"{3,5} | \Z ) | '{3} (?: [^'] | '(?!'') )*+ (?: '{3,5} | \Z )
    | " (?: [^"\\\n] | \\. )*+ "? | ' [^'\n]*+ '? | \#[^\n]*+
    """,
    re.DOTALL | re.VERBOSE,
)
"""Texts and comments, whose signs mean nothing; what is not closed ends with its line or the document."""
_LONG_KEY: Final = re.compile(rf"(?:\.[ \t]*+[A-Za-z0-9_-]++[ \t]*+){{{MAX_DEPTH}}}")
_MARKS_PER_NODE: Final = 3
"""Of `=`, `[`, `,` and `.` in one value at most, as in `[1.5,`."""
_WHERE: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")

_Path = tuple[str | int, ...]
"""The path to a value: keys of tables and indices of arrays."""


def parse_toml(text: str, source: SourceFile) -> Node:
    """Parse one TOML document to a tree.

    Raises:
        ConfigError: with line and column of the first invalid TOML, or of a value that is not allowed.
    """
    text = text.replace("\r\n", "\n")
    if not text.strip():
        raise ConfigError("the file is empty", Location(source.file))
    _refuse_large(text, source)
    try:
        values = tomllib.loads(text)
        return _Positions(text, source).node(values, ())
    except RecursionError as error:
        raise ConfigError(f"nested more than {MAX_DEPTH} deep", Location(source.file)) from error
    except ValueError as error:  # TOMLDecodeError, and a number of more digits than Python converts
        match = _WHERE.search(str(error))
        message = str(error)[: match.start()] if match else str(error)
        end = Location(source.file, len(source.lines))
        location = source.location(int(match[1]), int(match[2])) if match and match[1] else end
        raise ConfigError(f"not valid TOML: {message[:1].lower()}{message[1:]}", location) from error


def _refuse_large(text: str, source: SourceFile) -> None:
    """Refuse what would exceed the limits of a tree before it is parsed.

    The standard library keeps a mapping for every part of every key, and all beginnings of a dotted key: 40 kB of
    `a.a.a = 1` took 2 GB.

    Raises:
        ConfigError: a key has more parts than a tree is deep, or there are more values than a tree has.
    """
    bare = _NO_MARKS.sub(lambda match: "_" + "\n" * match[0].count("\n"), text)
    if long_key := _LONG_KEY.search(bare):
        line = bare.count("\n", 0, long_key.start()) + 1
        raise ConfigError(f"nested more than {MAX_DEPTH} deep", source.location(line, 1))
    if sum(map(bare.count, "=[,.")) > _MARKS_PER_NODE * MAX_NODES:
        raise ConfigError(f"too large: more than {MAX_NODES:,} values", Location(source.file))


class _Positions:
    """Finds the position of every key and value in a text that is valid TOML.

    It reads from left to right; every method starts at the offset `at` and moves it past what it has read.
    """

    def __init__(self, text: str, source: SourceFile) -> None:
        self.text = text
        self.source = source
        self.at = 0
        self.weight = Weight()
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self.keys: dict[_Path, int] = {}
        self.values: dict[_Path, tuple[int, str]] = {(): (0, "")}  # offset, and the text of a number or boolean
        self.tables: dict[_Path, int] = {}  # an array of tables -> index of its last one
        table: _Path = ()
        while self.skip(_BLANK):
            if self.peek() == "[":
                table = self.header()
            else:
                self.pair(table)

    def node(self, value: Any, path: _Path) -> Node:
        """The node of a value that the standard library read, with all nested values."""
        at, raw = self.values[path]
        if isinstance(value, Mapping | list) and len(path) >= MAX_DEPTH:
            raise ConfigError(f"nested more than {MAX_DEPTH} deep", self.location(at))
        if isinstance(value, Mapping):
            entries = {key: self.entry(key, member, (*path, key)) for key, member in value.items()}
            return Node(entries, self.source, *self.line_and_column(at))
        if isinstance(value, list):
            elements = tuple(self.node(member, (*path, index)) for index, member in enumerate(value))
            return Node(elements, self.source, *self.line_and_column(at))
        if isinstance(value, float):
            finite(value, partial(self.location, at))
        if not isinstance(value, bool | int | float | str):
            raise ConfigError("a date or time; write it as a text, in quotes", self.location(at))
        return Node(value, self.source, *self.line_and_column(at), raw)

    def entry(self, key: str, value: Any, path: _Path) -> MappingEntry:
        at = self.keys[path]
        if not key:
            raise ConfigError("a key is empty", self.location(at))
        return MappingEntry(Node(key, self.source, *self.line_and_column(at)), self.node(value, path))

    def location(self, at: int) -> Location:
        return self.source.location(*self.line_and_column(at))

    def line_and_column(self, at: int) -> tuple[int, int]:
        line = bisect_right(self.starts, at)
        return line, at - self.starts[line - 1] + 1

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return match[0] if match else ""

    def skip(self, pattern: re.Pattern[str]) -> bool:
        """Move past a match; returns whether more text follows."""
        self.take(pattern)
        return self.at < len(self.text)

    def header(self) -> _Path:
        """`[a.b]` or `[[a.b]]`: the path of the table that the lines below it fill."""
        start = self.at
        brackets = 2 if self.text.startswith("[[", start) else 1
        self.at += brackets
        path = self.dotted(())
        self.at = self.text.index("]", self.at) + brackets
        if brackets == 1:
            return path
        self.tables[path] = self.tables.get(path, -1) + 1
        table = (*path, self.tables[path])
        self.note(table, start)
        return table

    def pair(self, table: _Path) -> None:
        path = self.dotted(table)
        self.at = self.text.index("=", self.at) + 1
        self.skip(_SPACE)
        self.value(path)

    def dotted(self, path: _Path) -> _Path:
        """The path of a dotted key below `path`; a table that it creates starts where it is first named."""
        while True:
            self.skip(_SPACE)
            at = self.at
            key = self.take(_BARE) or tomllib.loads(f"key = {self.take(_TEXT)}")["key"]
            if path in self.tables:
                path = (*path, self.tables[path])
            path = (*path, key)
            if path not in self.keys:
                self.keys[path] = at
                self.note(path, at)
            self.skip(_SPACE)
            if self.peek() != ".":
                return path
            self.at += 1

    def value(self, path: _Path) -> None:
        start = self.at
        raw = ""
        if self.peek() == "[":
            self.at += 1
            index = 0
            while self.skip(_BLANK) and self.peek() != "]":
                self.value((*path, index))
                index += 1
                self.skip(_BLANK)
                self.at += self.peek() == ","
            self.at += 1
        elif self.peek() == "{":
            self.at += 1
            while self.skip(_BLANK) and self.peek() != "}":
                self.pair(path)
                self.skip(_BLANK)
                self.at += self.peek() == ","
            self.at += 1
        elif not self.take(_TEXT):
            raw = self.take(_SCALAR).rstrip()
        self.note(path, start, raw)

    def note(self, path: _Path, at: int, raw: str = "") -> None:
        # Counted while reading, so that a small file with many values is rejected before it takes much memory.
        self.weight.add(1, partial(self.location, at))
        self.values[path] = (at, raw)
