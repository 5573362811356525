"""Finds runs of keys in texts from outside, in any clothes, and replaces them by the key's name.

A text is compared in views (`key_forms`): its letters and digits alone, once as it is, and once with its escapes
decoded if it has any. Decoding keeps positions: a decoded character is padded with zeros to the length of its escape.
Nearly every text holds no key, so that is what is fast to see: a window of seven letters and digits covers one of the
four-byte words into which the view is cut, whatever its place, and all words are looked up in one set.
"""

from __future__ import annotations

import html
import json
import re
import sys
import unicodedata
from array import array
from collections.abc import Iterator, Mapping
from itertools import chain, compress
from typing import Final, NamedTuple

from steelyard.session.key_forms import EXACT, FOLDED, LETTERS, SHORTEST, SYMBOLS, KeyWindows, View

__all__ = ["KeySearch"]

_WORD: Final = 4
_PREFIX: Final = 2 * _WORD - 1
"""The shortest stretch of bytes that covers a whole word wherever it begins."""
_MOST_MATCHES: Final = 20_000
"""A text with more is masked as a whole, in bounded time: it is an attack, some 800 copies of a key."""
_MOST_LAYERS: Final = 4
"""Of escapes inside escapes: `%2573`, or JSON in a text in JSON."""

_HEX: Final = rb"\0*[0-9A-Fa-f]\0*[0-9A-Fa-f]"
_CODE: Final = rb"u" + _HEX + _HEX
_PAIR: Final = rb"u\0*[dD]\0*[89abAB]" + _HEX + rb"\\\0*u\0*[dD]\0*[c-fC-F]" + _HEX
_BLANK: Final = re.compile(rb"""\\[\\/"'nrtbfv]""")
_ESCAPES: Final = {
    b"\\": re.compile(rb"""\\\0*(?:[\\/"'nrtbfv]|x""" + _HEX + rb"|" + _PAIR + rb"|" + _CODE + rb")"),
    b"%": re.compile(rb"%(?:" + _HEX + rb"|\0*" + _CODE + rb")"),
    b"&": re.compile(rb"&\0*(?:#[0-9xX\0][0-9A-Fa-f\0]{1,30};?|[A-Za-z]{2,8};)"),
}
"""By the byte that each begins with."""
_TAG: Final = re.compile(rb"</?[A-Za-z][^<>]{0,200}>")
_LITERAL: Final = b"""\\/"'"""
_CODED: Final = re.compile(rb"\\[ux]")
_OTHER_SCRIPTS: Final = re.compile(rb"\\u(?:[3-9A-Ca-c][0-9A-Fa-f]|0[13-9A-Fa-f]|1[0-9A-Ca-c])[0-9A-Fa-f]{2}")
"""Most of a Chinese or Russian text in JSON: no letters of keys, and so many that they are replaced at once."""
_COMPATIBLE: Final = re.compile(
    "[\xaa\xad\xb2\xb3\xb9\xba\u02b0-\u02ff\u1d2c-\u1dbf\u200b-\u200f\u202a-\u202e\u2060-\u209c\u2100-\u218f\u2460-\u24ff"
    "\u2c7c\u2c7d\ufe00-\ufe0f\ufeff\uff01-\uff5e\U0001d400-\U0001d7ff\U0001f100-\U0001f1ff"
    "\U0001fbf0-\U0001fbf9\U000e0020-\U000e007f]"
)
"""Letters and digits that stand for others (full-width, mathematical, circled, raised), characters of no width, and
tags, which are invisible copies of ASCII."""
_TAGS: Final = 0xE0000


class KeyMatch(NamedTuple):
    """A stretch that holds a run of a key, and the key's number."""

    start: int
    end: int
    key: int


class KeySearch:
    """Finds and masks runs of the values of references.

    Args:
        values: by name.
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        # Of two keys that fit equally well the shorter is named, as it is there whole.
        ordered = sorted(values, key=lambda name: len(values[name]))
        self._masks = [f"[secret {name}]".encode() for name in ordered]
        self._any_escaped = any(mark in value for value in values.values() for mark in '\\"/')
        self._words: set[int] = set()
        self._by_prefix: dict[bytes, list[tuple[bytes, int]]] = {}
        self._needles: dict[View, dict[bytes, int]] = {view: {} for view in (LETTERS, SYMBOLS, FOLDED, EXACT)}
        self._whole: dict[bytes, int] = {}
        for key, name in enumerate(ordered):
            self._add(KeyWindows.of(values[name]), key)
            if len(values[name]) >= SHORTEST:
                self._whole.setdefault(values[name].encode(), key)

    def _add(self, windows: KeyWindows, key: int) -> None:
        views = {SYMBOLS: windows.symbols, FOLDED: windows.folded, EXACT: windows.exact}
        for view, needles in views.items():
            self._needles[view].update(dict.fromkeys(needles - self._needles[view].keys(), key))
        for window in windows.letters:
            prefix = window[:_PREFIX]
            if len(prefix) < _PREFIX:
                self._needles[LETTERS].setdefault(window, key)
                continue
            self._by_prefix.setdefault(prefix, []).append((window, key))
            self._words.update(int.from_bytes(prefix[at : at + _WORD], sys.byteorder) for at in range(_WORD))

    def mask(self, data: bytes) -> bytes:
        """`data` with every run of a key replaced by its name; what was JSON remains JSON.

        Backslashes in it are read as those of JSON.
        """
        first = _BLANK.sub(b"  ", data) if b"\\" in data else data
        as_written = [data] if self._any_escaped and first is not data else []
        matches = self._find(data, [first, *as_written, *_further_views(data)])
        if not matches:
            return data
        masked = self._replace(data, matches)
        if _is_json(data) and not _is_json(masked):  # a key in numbers, or over strings of several lists
            return b'"%s"' % self._masks[matches[0].key]
        return masked

    def mask_text(self, text: str) -> str:
        """A text with every run of a key replaced by its name."""
        data = text.encode("utf-8", "surrogatepass")
        # Here a backslash may be one of the text or of an escape: both are tried.
        unescaped = [_decoded(data)] if b"\\" in data else []
        matches = self._find(data, [data, *unescaped, *_further_views(data)])
        return self._replace(data, matches).decode("utf-8", "surrogatepass") if matches else text

    def finds(self, text: str) -> bool:
        """Whether `mask_text` changes a text."""
        return self.mask_text(text) is not text

    def _replace(self, data: bytes, matches: list[KeyMatch]) -> bytes:
        parts: list[bytes] = []
        done = 0
        for start, end, key in matches:
            parts += [data[done:start], self._masks[key]]
            done = end
        return b"".join([*parts, data[done:]])

    def _find(self, data: bytes, seen: list[bytes]) -> list[KeyMatch]:
        """Where runs are in `data`, in order and apart; `seen` is `data` as it is compared."""
        if not any(map(self._holds, seen)):
            return []
        matches: list[KeyMatch] = []
        for text in seen:
            for match in self._windows(text, data):
                matches.append(match)
                if len(matches) > _MOST_MATCHES:
                    return [KeyMatch(0, len(data), match.key)]
        return _apart(matches)

    def _holds(self, seen: bytes) -> bool:
        letters = LETTERS.of(seen)
        if next(self._prefixed(letters), None) is not None:
            return True
        for view, needles in self._needles.items():
            if needles:
                text = letters if view is LETTERS else view.of(seen)
                if any(needle in text for needle in needles):
                    return True
        return False

    def _prefixed(self, letters: bytes) -> Iterator[KeyMatch]:
        """The windows in the letters and digits of a text that begin as one of `_by_prefix`."""
        if len(letters) < _PREFIX or self._words.isdisjoint(_words_of(letters)):
            return
        for place, word in enumerate(_words_of(letters)):
            if word not in self._words:
                continue
            for start in range(max(0, _WORD * (place - 1) + 1), _WORD * place + 1):
                for window, key in self._by_prefix.get(letters[start : start + _PREFIX], ()):
                    if letters.startswith(window, start):
                        yield KeyMatch(start, start + len(window), key)

    def _windows(self, seen: bytes, data: bytes) -> Iterator[KeyMatch]:
        """The windows in all views of `seen`, by their places in `data`."""
        for view in self._needles:
            text = view.of(seen)
            places = array("Q", compress(range(len(seen)), seen.translate(view.kept)))
            occurrences = _occurrences(text, self._needles[view] | (self._whole if view is EXACT else {}))
            for start, end, key in chain(occurrences, self._prefixed(text) if view is LETTERS else ()):
                last = places[end - 1] + 1
                while last < len(data) and seen[last] == 0 != data[last]:  # the rest of an escape
                    last += 1
                yield KeyMatch(places[start], last, key)


def _words_of(letters: bytes) -> memoryview:
    return memoryview(letters)[: len(letters) & -_WORD].cast("I")


def _occurrences(text: bytes, needles: Mapping[bytes, int]) -> Iterator[KeyMatch]:
    for needle, key in needles.items():
        start = text.find(needle)
        while start >= 0:
            yield KeyMatch(start, start + len(needle), key)
            start = text.find(needle, start + 1)


def _apart(matches: list[KeyMatch]) -> list[KeyMatch]:
    """Windows joined to runs, and runs of several keys that overlap to one of the key that has most of it."""
    runs: list[KeyMatch] = []
    last: dict[int, int] = {}
    for start, end, key in sorted(matches):
        place = last.get(key)
        if place is not None and start <= runs[place].end:
            runs[place] = KeyMatch(runs[place].start, max(end, runs[place].end), key)
        else:
            last[key] = len(runs)
            runs.append(KeyMatch(start, end, key))
    apart: list[KeyMatch] = []
    longest: list[tuple[int, int]] = []
    for start, end, key in sorted(runs):
        rank = (end - start, -key)
        if apart and start < apart[-1].end:
            longest[-1] = max(longest[-1], rank)
            apart[-1] = KeyMatch(apart[-1].start, max(end, apart[-1].end), -longest[-1][1])
        else:
            longest.append(rank)
            apart.append(KeyMatch(start, end, key))
    return apart


def _further_views(data: bytes) -> list[bytes]:
    """`data` with its escapes decoded, and so without tags of HTML, where it has any."""
    views = [_decoded(data)] if _is_encoded(data) else []
    if b"<" in data and _TAG.search(data):
        views.append(_decoded(_TAG.sub(_blanks, data)))
    return views


def _blanks(tag: re.Match[bytes]) -> bytes:
    return b" " * len(tag[0])


def _is_encoded(data: bytes) -> bool:
    return (
        b"%" in data
        or b"&" in data
        or (b"\\" in data and _CODED.search(data) is not None)
        or (not data.isascii() and _is_compatible(data))
    )


def _is_compatible(data: bytes) -> bool:
    """Whether `data` has a character that stands for one of ASCII; the punctuation of Chinese text does not count."""
    return any(
        not "\uff01" <= mark[0] <= "\uff5e" or unicodedata.category(mark[0])[0] in "LN"
        for mark in _COMPATIBLE.finditer(data.decode("utf-8", "replace"))
    )


def _decoded(data: bytes) -> bytes:
    """`data` with its escapes decoded, each padded with zeros to the length that it had."""
    for _ in range(_MOST_LAYERS):
        decoded = _OTHER_SCRIPTS.sub(b" " * 6, data) if b"\\u" in data else data
        for first, escape in _ESCAPES.items():
            if first in decoded:
                decoded = escape.sub(_character, decoded)
        if not decoded.isascii():
            text = decoded.decode("utf-8", "surrogateescape")
            decoded = _COMPATIBLE.sub(_ascii, text).encode("utf-8", "surrogateescape")
        if decoded == data:
            break
        data = decoded
    return data


def _character(escape: re.Match[bytes]) -> bytes:
    unit = escape[0]
    decoded = _decoded_unit(unit.replace(b"\0", b""))
    return decoded.ljust(len(unit), b"\0") if len(decoded) <= len(unit) else unit


def _decoded_unit(escape: bytes) -> bytes:
    if escape.startswith(b"&"):
        return html.unescape(escape.decode()).encode("utf-8", "replace")
    if _BLANK.fullmatch(escape):
        return escape[1:] if escape[1] in _LITERAL else b"  "
    if b"u" in escape[:2]:
        units = bytes.fromhex(escape.translate(None, b"\\%u").decode())
        return units.decode("utf-16-be", "replace").encode()
    return bytes.fromhex(escape[-2:].decode())


def _ascii(match: re.Match[str]) -> str:
    """The ASCII that a character stands for, padded to its length in bytes: nothing for one without width."""
    mark = match[0]
    size = len(mark.encode())
    if 0x20 <= ord(mark) - _TAGS < 0x7F:
        plain = chr(ord(mark) - _TAGS)
    else:
        plain = "" if unicodedata.category(mark) in {"Cf", "Mn"} else unicodedata.normalize("NFKC", mark)
    return plain.ljust(size, "\0") if plain.isascii() and len(plain) <= size else mark


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True
