"""Roles by the texts of headers: synonyms in Chinese and English (`headers.json`), and lettered or numbered options."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Final

from steelyard.data.roles import Columns, Role
from steelyard.data.table import Column

_PUNCTUATION: Final = re.compile(r"[\W_]+")
_PREFIX: Final = "option|choice|opt|选项|备选项|备选"
_OPTION: Final = re.compile(rf"(?:{_PREFIX}|答案)?([a-z])(?:选项|项|option|choice)?|(?:{_PREFIX})(\d{{1,2}})")


def plain(text: str) -> str:
    """A header without width, case, blanks and punctuation.

    >>> plain(" Correct_Answer："), plain("选项 Ａ")
    ('correctanswer', '选项a')
    """
    return _PUNCTUATION.sub("", unicodedata.normalize("NFKC", text).casefold())


def by_header(headers: Mapping[Column, str], roles: Sequence[Role], taken: Columns) -> dict[str, tuple[Column, ...]]:
    """Columns for the roles that are not `taken`; where several headers fit, the first synonym in the list wins.

    >>> by_header({0: "题目", 1: "A", 2: "B", 3: "备注"}, [Role("question"), Role("options", several=True)], {})
    {'question': (0,), 'options': (1, 2)}
    """
    used = {column for columns in taken.values() for column in columns}
    found: dict[str, tuple[Column, ...]] = {}
    for role in roles:
        if role.name in taken:
            continue
        free = {column: plain(text) for column, text in headers.items() if column not in used}
        columns = (_lettered(free) if role.several else ()) or _synonym(free, role.words or role.name)
        if columns:
            found[role.name] = columns
            used.update(columns)
    return found


def _synonym(headers: Mapping[Column, str], role: str) -> tuple[Column, ...]:
    words = _synonyms().get(role, ())
    ranked = [
        (words.index(text), place, column) for place, (column, text) in enumerate(headers.items()) if text in words
    ]
    return (min(ranked)[2],) if ranked else ()


def _lettered(headers: Mapping[Column, str]) -> tuple[Column, ...]:
    """Columns headed A, B, C ... or 选项1, 选项2 ..., as far as they follow without a gap; numbers may begin at 0."""
    letters: dict[int, Column] = {}
    numbers: dict[int, Column] = {}
    for column, text in headers.items():
        match = _OPTION.fullmatch(text)
        if match and match[1]:
            letters.setdefault(ord(match[1]) - 97, column)
        elif match:
            numbers.setdefault(int(match[2]), column)
    return _unbroken(letters, 0) or _unbroken(numbers, 0 if 0 in numbers else 1)


def _unbroken(places: Mapping[int, Column], start: int) -> tuple[Column, ...]:
    last = start
    while last in places:
        last += 1
    return tuple(places[place] for place in range(start, last)) if last - start >= 2 else ()


@cache
def _synonyms() -> Mapping[str, Sequence[str]]:
    text = files("steelyard.data").joinpath("headers.json").read_text("utf-8")
    table: Mapping[str, Iterable[str]] = json.loads(text)
    return {role: [plain(word) for word in words] for role, words in table.items()}
