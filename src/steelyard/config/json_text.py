"""JSON text (RFC 8259) to nodes; the standard library's reader gives no places.

Duplicate keys, NaN and half surrogate pairs are refused; strings are read by the standard library's own scanner.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from json import JSONDecodeError, JSONDecoder
from typing import Any, Final, NoReturn

from steelyard.config.positions import MAX_DEPTH, Entry, Node, Source, Weight, finite, whole_text
from steelyard.errors import ConfigError, Place

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORDS: Final = {"true": True, "false": False, "null": None}
_WORD: Final = re.compile(r"[A-Za-z_]+")


def parse(text: str, source: Source) -> Node:
    """The tree of the one value in `text`.

    Raises:
        ConfigError: with line and column of the first thing that is not JSON.
    """
    return _Reader(text, source, _line_starts(text)).document()


def _line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in re.finditer(r"\r\n|\r|\n", text))]


@dataclass(slots=True)
class _Reader:
    """Reads one text from left to right."""

    text: str
    source: Source
    starts: list[int]
    at: int = 0
    depth: int = 0
    weight: Weight = field(default_factory=Weight)

    def document(self) -> Node:
        if not self.text.strip():
            raise ConfigError("the file is empty", Place(self.source.file))
        self.skip()
        root = self.value()
        self.skip()
        if self.at < len(self.text):
            self.fail("something stands after the end of the JSON value")
        return root

    def line_and_column(self, at: int) -> tuple[int, int]:
        from bisect import bisect_right

        line = bisect_right(self.starts, at)
        return line, at - self.starts[line - 1] + 1

    def place(self, at: int) -> Place:
        return self.source.place(*self.line_and_column(at))

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        raise ConfigError(f"not valid JSON: {message}", self.place(self.at if at is None else at))

    def skip(self) -> None:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def value(self) -> Node:
        start = self.at
        self.weight.add(1, partial(self.place, start))
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ConfigError(f"nested more than {MAX_DEPTH} deep", self.place(start))
        value, raw = self.of_kind(self.peek())
        self.depth -= 1
        return Node(value, self.source, *self.line_and_column(start), raw)

    def of_kind(self, first: str) -> tuple[Any, str]:
        if first == "{":
            return self.mapping(), ""
        if first == "[":
            return self.sequence(), ""
        if first == '"':
            return self.string(), ""
        if first == "-" or first.isdigit():
            return self.number()
        return self.word()

    def string(self) -> str:
        start = self.at
        try:
            text, self.at = JSONDecoder().raw_decode(self.text, start)
        except JSONDecodeError as error:
            self.fail(error.msg[0].lower() + error.msg[1:], error.pos)
        return whole_text(text, partial(self.place, start))

    def number(self) -> tuple[int | float, str]:
        found = _NUMBER.match(self.text, self.at)
        if found is None or len(found[0]) > 300:  # 300 digits are no number anyone means, and int() refuses 4300
            self.fail("this is not a number")
        place = partial(self.place, self.at)
        self.at = found.end()
        return (finite(float(found[0]), place) if found[1] or found[2] else int(found[0])), found[0]

    def word(self) -> tuple[Any, str]:
        found = _WORD.match(self.text, self.at)
        if found is None:
            self.fail("a value is missing here" if self.peek() in {"", ",", "]", "}", ":"} else "no value begins so")
        if found[0] not in _WORDS:
            self.fail(f"{found[0]!r} is no value; a text stands in double quotes")
        self.at = found.end()
        return _WORDS[found[0]], "" if found[0] == "null" else found[0]

    def sequence(self) -> tuple[Node, ...]:
        nodes: list[Node] = []
        self.at += 1
        self.skip()
        while self.peek() != "]" or nodes:
            nodes.append(self.value())
            if self.ends("]"):
                return tuple(nodes)
        self.at += 1
        return tuple(nodes)

    def mapping(self) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        self.at += 1
        self.skip()
        while self.peek() != "}" or entries:
            key = self.key()
            if key.value in entries:
                first = entries[key.value].key.line
                message = f"the key {key.value!r} stands here for the second time; first in line {first}"
                raise ConfigError(message, key.place)
            entries[key.value] = Entry(key, self.value())
            if self.ends("}"):
                return entries
        self.at += 1
        return entries

    def key(self) -> Node:
        start = self.at
        if self.peek() != '"':
            self.fail("a key in double quotes is wanted here")
        node = Node(self.string(), self.source, *self.line_and_column(start))
        self.weight.add(1, partial(self.place, start))
        if not node.value:
            self.fail("a key is empty", start)
        self.skip()
        if self.peek() != ":":
            self.fail("a colon is missing after the key")
        self.at += 1
        self.skip()
        return node

    def ends(self, bracket: str) -> bool:
        """Whether the list or mapping ends here; else stands at its next value."""
        self.skip()
        if self.peek() == bracket:
            self.at += 1
            return True
        if self.peek() != ",":
            self.fail(f"a comma or {bracket!r} is missing here")
        self.at += 1
        self.skip()
        return False
