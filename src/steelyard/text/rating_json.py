"""Ratings in JSON as models write it: fenced, nested, with single quotes, trailing commas, or cut off in the middle.

A scanner keeps the path of keys instead of a strict parser: what stands before the break of a truncated object counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

_TOKEN: Final = re.compile(
    r"(?P<open>[{\[])|(?P<close>[}\]])"
    r"|(?P<text>\"(?:[^\"\\]|\\.|\"(?!\s{0,9}[,:}\]]|\s*\Z))*+(?:\"|\Z)|(?<![\w\"])'(?:[^'\\]|\\."
    r"|'(?!\s{0,9}[,:}\]]|\s*\Z))*+(?:'|\Z))"
    r"|(?P<bare>[^\s{}\[\],:\"']++)|(?P<colon>:)|(?P<comma>,)",
    re.DOTALL,
)
_BEGINS: Final = re.compile(r"\{\s{0,20}+(?=[\"'][^\"'\n]{1,60}[\"']\s{0,4}:)")
_NAMES: Final = frozenset(
    {"name", "aspect", "criterion", "criteria", "metric", "dimension", "category", "指标", "维度", "方面"}
)
_MOST_DEPTH: Final = 30
_MOST_OBJECTS: Final = 20


@dataclass(slots=True)
class _Frame:
    key: str
    is_object: bool
    named: str = ""


@dataclass(frozen=True, slots=True)
class RatingEntry:
    """One plain value of an object.

    Args:
        path: the keys that lead to it, outermost first, with the name that its object gives itself.
        key: the last of them.
        value: the value as written, without quotes.
        start: where the value begins, its quotes left out.
        is_text: whether it was written in quotes.
    """

    path: str
    key: str
    value: str
    start: int
    is_text: bool


@dataclass(frozen=True, slots=True)
class Scanned:
    """The objects of a text: their entries, and where they stand."""

    entries: tuple[RatingEntry, ...]
    regions: tuple[tuple[int, int], ...]


@dataclass(slots=True)
class _Scan:
    stack: list[_Frame] = field(default_factory=list)
    found: list[tuple[tuple[_Frame, ...], RatingEntry]] = field(default_factory=list)
    key: str = ""
    last: re.Match[str] | None = None
    wants_value: bool = False

    def plain(self, match: re.Match[str], *, is_text: bool) -> None:
        """A text, number or word: a value where a key stands before it, else perhaps a key."""
        if not self.wants_value and self.stack and self.stack[-1].is_object:
            self.last = match
            return
        value = match.group()
        start = match.start()
        if is_text:
            value, start = value[1:-1] if value[-1:] == value[:1] and len(value) > 1 else value[1:], start + 1
        if self.stack and self.key.lower() in _NAMES:
            self.stack[-1].named = value[:60]
        key = self.key or (self.stack[-1].key if self.stack else "")
        self.found.append((tuple(self.stack), RatingEntry("", key, value, start, is_text)))
        self._reset()

    def _reset(self) -> None:
        if self.stack and self.stack[-1].is_object:
            self.key, self.wants_value = "", False
        self.last = None

    def mark(self, kind: str, match: re.Match[str]) -> None:
        """A bracket, colon or comma."""
        if kind == "open":
            if len(self.stack) < _MOST_DEPTH:
                self.stack.append(_Frame(self.key, match.group() == "{"))
            self.key, self.wants_value, self.last = "", match.group() == "[", None
        elif kind == "colon" and self.last is not None:
            self.key, self.wants_value, self.last = self.last.group().strip("\"'"), True, None
        elif kind == "close":
            self.stack.pop()
            self.key, self.wants_value, self.last = "", bool(self.stack) and not self.stack[-1].is_object, None
        elif kind == "comma":
            self._reset()

    def entries(self) -> Iterator[RatingEntry]:
        """What was found, each with its path."""
        for frames, one in self.found:
            names = [name for frame in frames for name in (frame.key, frame.named) if name]
            yield RatingEntry(" ".join([*names, one.key]), one.key, one.value, one.start, one.is_text)


def scan(text: str) -> Scanned:
    """The plain values of every JSON object in `text`.

    >>> [(one.path, one.value) for one in scan("{'fluency': {'score': 4, 'reason': 'It").entries]
    [('fluency score', '4'), ('fluency reason', 'It')]
    """
    entries: list[RatingEntry] = []
    regions: list[tuple[int, int]] = []
    place = 0
    for _ in range(_MOST_OBJECTS):
        begin = _BEGINS.search(text, place)
        if begin is None:
            break
        found, place = _object_at(text, begin.start())
        entries += found
        regions.append((begin.start(), place))
    return Scanned(tuple(entries), tuple(regions))


def _object_at(text: str, start: int) -> tuple[list[RatingEntry], int]:
    state = _Scan()
    end = len(text)
    for match in _TOKEN.finditer(text, start):
        kind = match.lastgroup or ""
        if kind in {"text", "bare"}:
            state.plain(match, is_text=kind == "text")
        else:
            state.mark(kind, match)
        if not state.stack:
            end = match.end()
            break
    return list(state.entries()), end
