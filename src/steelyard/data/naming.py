"""Columns that the user named: a header's text, a spreadsheet letter, a range of either, or a list of these.

A letter can be a header too: sheets of questions often head their options A, B, C, D. When every name given is a
letter or a range of letters, all of them are spreadsheet letters; otherwise each is looked for among the headers first.
The two ends of a range are read the same way: beside `题目`, "A:D" are the columns headed A to D, and "B:E", where none
is headed E, are letters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from steelyard.data.headers import plain
from steelyard.data.table import Column, Table, column_index, column_letter
from steelyard.errors import ConfigError, did_you_mean

Names = Mapping[str, str | list[str]]

_LETTERS: Final = re.compile(r"[A-Z]{1,3}")
_RANGE: Final = re.compile(r"\s*(\S.*?)\s*[:：]\s*(\S.*?)\s*")


def all_names(names: Names) -> list[str]:
    """Every name given, those of ranges as their two ends.

    >>> all_names({"question": "题目", "options": "B:E"})
    ['题目', 'B', 'E']
    """
    flat = [one for given in names.values() for one in ([given] if isinstance(given, str) else given)]
    return [end for name in flat for end in _ends(name) or (name.strip(),)]


def only_letters(names: Names) -> bool:
    """Whether all names are spreadsheet letters."""
    return all(_LETTERS.fullmatch(name) for name in all_names(names))


def find_named(table: Table, names: Names, headers: Mapping[Column, str], width: int) -> dict[str, tuple[Column, ...]]:
    """The columns behind the names; `width` is 0 where there are no letters (JSON).

    Raises:
        ConfigError: there is no such column; the message suggests one and lists those found.
    """
    finder = _Finder(table.title, headers, width, width > 0 and only_letters(names))
    return {
        role: tuple(column for one in ([given] if isinstance(given, str) else given) for column in finder.find(one))
        for role, given in names.items()
    }


def _ends(name: str) -> tuple[str, ...]:
    match = _RANGE.fullmatch(name)
    return (match[1], match[2]) if match else ()


@dataclass(frozen=True, slots=True)
class _Finder:
    title: str
    headers: Mapping[Column, str]
    width: int
    letters_first: bool

    def find(self, name: str) -> tuple[Column, ...]:
        single = self._one(name.strip())
        if single is not None:
            return (single,)
        order: Sequence[Column] = range(self.width) if self.width else list(self.headers)
        ends = [order.index(end) for end in self._ends(name) if end is not None]
        if len(ends) == 2:
            return tuple(order[min(ends) : max(ends) + 1])
        known = [text for text in self.headers.values() if text] or [column_letter(one) for one in range(self.width)]
        near = did_you_mean(name, known)
        hint = near if near.startswith(":") else ""
        raise ConfigError(f"columns: {self.title} has no column {name!r}{hint}; found: {', '.join(known)}")

    def _ends(self, name: str) -> Sequence[Column | None]:
        """The columns of a range's ends: by letter both, or by header both, or whatever each of them is."""
        ends = _ends(name)
        headers, letters = [self._by_header(end) for end in ends], [self._by_letter(end) for end in ends]
        for found in (letters, headers) if self.letters_first else (headers, letters):
            if None not in found:
                return found
        return [self._one(end) for end in ends]

    def _one(self, name: str) -> Column | None:
        header, letter = self._by_header(name), self._by_letter(name)
        first, second = (letter, header) if self.letters_first else (header, letter)
        return second if first is None else first

    def _by_header(self, name: str) -> Column | None:
        exact = [column for column, text in self.headers.items() if text == name]
        loose = [column for column, text in self.headers.items() if text and plain(text) == plain(name)]
        return next(iter([*exact, *loose]), None)

    def _by_letter(self, name: str) -> Column | None:
        index = column_index(name) if _LETTERS.fullmatch(name) else self.width
        return index if index < self.width else None
