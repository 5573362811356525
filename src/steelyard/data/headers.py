"""Roles by the texts of headers: synonyms in Chinese and English (`headers.json`), and lettered or numbered options."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Final

from steelyard.data.roles import Columns, Role
from steelyard.data.table import Column

_PUNCTUATION: Final = re.compile(r"[\W_]+")
_REMARK: Final = re.compile(r"[(（【\[][^()（）【】\[\]]*[)）】\]]")
"""What stands in brackets behind a header: `答案（请填字母）`, `question (en)`."""
_PREFIX: Final = "option|choice|opt|op|answer|ans|ending|candidate|选项|备选项|备选答案|备选|候选项|候选答案|候选"
_NUMERALS: Final = "一二三四五六七八九十"
_STEMS: Final = "甲乙丙丁戊己庚辛壬癸"
_OPTION: Final = re.compile(
    rf"(?:{_PREFIX}|答案)?([a-z{_STEMS}])(?:选项|项|option|choice|text)?|(?:{_PREFIX}|sol)(\d{{1,2}}|[{_NUMERALS}])"
)


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
        free = {column: text for column, text in headers.items() if column not in used}
        columns = _columns(free, role, plain) or _columns(free, role, _without_remark)
        if columns:
            found[role.name] = columns
            used.update(columns)
    return found


def _columns(headers: Mapping[Column, str], role: Role, form: Callable[[str], str]) -> tuple[Column, ...]:
    texts = {column: form(text) for column, text in headers.items()}
    return (_lettered(texts) if role.several else ()) or _synonym(texts, role.words or role.name)


def _without_remark(text: str) -> str:
    """The same without what stands in brackets; of a header that is all in brackets, nothing is left.

    >>> _without_remark("答案（请填字母）")
    '答案'
    """
    return plain(_REMARK.sub("", text))


def _synonym(headers: Mapping[Column, str], role: str) -> tuple[Column, ...]:
    words = _synonyms().get(role, {})
    ranked = [(words[text], place, column) for place, (column, text) in enumerate(headers.items()) if text in words]
    return (min(ranked)[2],) if ranked else ()


def _lettered(headers: Mapping[Column, str]) -> tuple[Column, ...]:
    """Columns headed A, B, C ..., 甲, 乙 ... or 选项1, 选项二 ..., as far as they follow without a gap.

    Numbers may begin at 0. A lone letter counts for more than one with other words around it.
    """
    kinds: tuple[dict[int, Column], ...] = ({}, {}, {})
    for column, text in sorted(headers.items(), key=lambda pair: len(pair[1])):
        match = _OPTION.fullmatch(text)
        if match and match[1]:
            stem = _STEMS.find(match[1])
            kinds[stem >= 0].setdefault(stem if stem >= 0 else ord(match[1]) - 97, column)
        elif match:
            number = _NUMERALS.find(match[2])
            kinds[2].setdefault(number + 1 if number >= 0 else int(match[2]), column)
    letters, stems, numbers = kinds
    return _unbroken(letters, 0) or _unbroken(stems, 0) or _unbroken(numbers, 0 if 0 in numbers else 1)


def _unbroken(places: Mapping[int, Column], start: int) -> tuple[Column, ...]:
    last = start
    while last in places:
        last += 1
    return tuple(places[place] for place in range(start, last)) if last - start >= 2 else ()


@cache
def _synonyms() -> Mapping[str, Mapping[str, int]]:
    """Role -> word -> its rank."""
    text = files("steelyard.data").joinpath("headers.json").read_text("utf-8")
    table: Mapping[str, Iterable[str]] = json.loads(text)
    return {role: {plain(word): rank for rank, word in reversed([*enumerate(words)])} for role, words in table.items()}
