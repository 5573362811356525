"""Finds columns by name: by the texts of headers, or by the names that the user gives.

Headers are matched to roles by synonyms in Chinese and English (`headers.json`), and as lettered or numbered options.

The user names a column by its header's text, a spreadsheet letter, a range of either, or a list of these. A letter can
be a header too: sheets of questions often head their options A, B, C, D. If every name is a letter or a range of
letters, all of them are spreadsheet letters; otherwise each is looked up among the headers first. The two ends of a
range are read the same way: in a sheet with the header `题目`, "A:D" are the columns headed A to D, and "B:E", if none
is headed E, are letters.
"""

# Why it is so, and what was rejected: docs/decisions/data-columns.md

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final, NoReturn

from steelyard.data.table import Column, Table, column_index, column_letter
from steelyard.errors import ConfigError, did_you_mean
from steelyard.normal_form import nfkc

_LETTERS: Final = re.compile(r"[A-Z]{1,3}")
_RANGE: Final = re.compile(r"\s*(\S.*?)\s*[:：]\s*(\S.*?)\s*")
_PUNCTUATION: Final = re.compile(r"[\W_]+")
_REMARK: Final = re.compile(r"[(（【\[][^()（）【】\[\]]*[)）】\]]")
"""A remark in brackets after a header: `答案（请填字母）`, `question (en)`."""
_PREFIX: Final = "option|choice|opt|op|answer|ans|ending|candidate|选项|备选项|备选答案|备选|候选项|候选答案|候选"
_NUMERALS: Final = "一二三四五六七八九十"
_STEMS: Final = "甲乙丙丁戊己庚辛壬癸"
_OPTION: Final = re.compile(
    rf"(?:{_PREFIX}|答案)?([a-z{_STEMS}])(?:选项|项|option|choice|text)?|(?:{_PREFIX}|sol)(\d{{1,2}}|[{_NUMERALS}])"
)


Names = Mapping[str, str | list[str]]
"""Role -> the names that the user gives for its columns."""
Columns = Mapping[str, tuple[Column, ...]]
"""Role -> its columns, in order; one for each role that does not span several."""


@dataclass(frozen=True, slots=True)
class Role:
    """The use of a column: its name, synonyms and rules.

    Args:
        name: the key under `columns:`, and in `headers.json`.
        required: whether a table without it is an error.
        unless: another role; if that has a column, this one is not required.
        several: whether it spans several columns, as options do.
        by_position: whether it can be assigned by position if there is no header.
        words: the key of its synonyms in `headers.json` if that is not the name: the answer of one suite is the query
            of another.
        likeness: how much a cell looks like this role, in [0, 1]; decides the arrangement of columns without a header.
        joins: whether the user may name several columns, whose texts are joined in that order.
        among: another role that has several columns, of which this one may be one: the right option among the options.
    """

    name: str
    required: bool = True
    several: bool = False
    by_position: bool = True
    words: str = ""
    likeness: Callable[[str], float] | None = None
    unless: str = ""
    joins: bool = False
    among: str = ""


def normalized(text: str) -> str:
    """Normalize a header: half-width, lower case, no spaces or punctuation.

    >>> normalized(" Correct_Answer："), normalized("选项 Ａ")
    ('correctanswer', '选项a')
    """
    return _PUNCTUATION.sub("", nfkc(text).casefold())


def by_header(headers: Mapping[Column, str], roles: Sequence[Role], taken: Columns) -> dict[str, tuple[Column, ...]]:
    """Columns for the roles that are not `taken`; if several headers fit, the first synonym in the list wins.

    >>> by_header({0: "题目", 1: "A", 2: "B", 3: "备注"}, [Role("question"), Role("options", several=True)], {})
    {'question': (0,), 'options': (1, 2)}
    """
    used = {column for columns in taken.values() for column in columns}
    columns_of: dict[str, tuple[Column, ...]] = {}
    for role in roles:
        if role.name in taken:
            continue
        free = {column: text for column, text in headers.items() if column not in used}
        columns = _columns(free, role, normalized) or _columns(free, role, _without_remark)
        if columns:
            columns_of[role.name] = columns
            used.update(columns)
    return columns_of


def same_name(headers: Mapping[Column, str], column: Column, role: Role) -> Column | None:
    """Another column whose header means the same to `role` as that of `column`; None if there is none.

    >>> headers = {0: "Question", 1: "A", 2: "question:"}
    >>> same_name(headers, 0, Role("question")), same_name(headers, 1, Role("options", several=True))
    (2, None)
    """
    text = normalized(headers.get(column, ""))
    known = text in _synonyms().get(role.words or role.name, {}) or (role.several and bool(_OPTION.fullmatch(text)))
    form = normalized if known else _without_remark
    name = form(headers.get(column, ""))
    others = (other for other, header in headers.items() if other != column and form(header) == name)
    return next(others, None) if name else None


def rivals(
    headers: Mapping[Column, str], columns: Columns, roles: Sequence[Role], names: Names
) -> dict[str, tuple[Column, ...]]:
    """Required role -> unused columns whose headers would do for it too; roles that the user named have none.

    >>> rivals({0: "question", 1: "answer", 2: "label"}, {"answer": (1,), "question": (0,)}, [Role("answer")], {})
    {'answer': (2,)}
    """
    used = {column for assigned in columns.values() for column in assigned}
    free = {column: text for column, text in headers.items() if column not in used}
    required = (role for role in roles if role.required and role.name not in names and columns.get(role.name))
    return {role.name: others for role in required if (others := _columns(free, role, normalized))}


def fitting(headers: Mapping[Column, str], role: Role) -> tuple[Column, ...]:
    """Every column whose header is a synonym of the role, the first synonym first.

    >>> fitting({0: "text", 1: "channel", 2: "question"}, Role("input", words="general_input"))
    (2, 0)
    """
    return _synonymous({column: normalized(header) for column, header in headers.items()}, role)


def rival_note(title: str, role: str, used: str, other: str, about: str = "") -> str:
    """A sentence on a second column that may have a role, and on how to choose it.

    >>> rival_note("a.csv", "answer", "key", "label")
    'a.csv: column label may be the answer too, and key is used; to choose it: columns: {answer: label}'
    """
    choice = f"to choose it: columns: {{{role}: {other}}}"
    return f"{title}: column {other} may be the {role} too{about}, and {used} is used; {choice}"


def _columns(headers: Mapping[Column, str], role: Role, form: Callable[[str], str]) -> tuple[Column, ...]:
    texts = {column: form(text) for column, text in headers.items()}
    return (_lettered(texts) if role.several else ()) or _synonymous(texts, role)[:1]


def _without_remark(text: str) -> str:
    """A normalized header without its remarks in brackets; empty if all of it is in brackets.

    >>> _without_remark("答案（请填字母）")
    '答案'
    """
    return normalized(_REMARK.sub("", text))


def _synonymous(texts: Mapping[Column, str], role: Role) -> tuple[Column, ...]:
    """The columns of which the normalized header is a synonym of the role, the first synonym first."""
    words = _synonyms().get(role.words or role.name, {})
    return tuple(sorted((column for column in texts if texts[column] in words), key=lambda at: words[texts[at]]))


def _lettered(headers: Mapping[Column, str]) -> tuple[Column, ...]:
    """Columns headed A, B, C ..., 甲, 乙 ... or 选项1, 选项二 ..., up to the first gap.

    Numbers may begin at 0. A header that is only a letter is preferred to one with other words around the letter.
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


def _unbroken(lettered: Mapping[int, Column], start: int) -> tuple[Column, ...]:
    last = start
    while last in lettered:
        last += 1
    return tuple(lettered[number] for number in range(start, last)) if last - start >= 2 else ()


def is_called(header: str, role: str) -> bool:
    """Whether a header is one of the names of a role.

    >>> is_called("expected_tools", "tools"), is_called("tool", "tools")
    (True, False)
    """
    return normalized(header) in _synonyms()[role]


@cache
def _synonyms() -> Mapping[str, Mapping[str, int]]:
    """Role -> word -> its rank."""
    text = files("steelyard.data").joinpath("headers.json").read_text("utf-8")
    table: Mapping[str, Iterable[str]] = json.loads(text)
    return {
        role: {normalized(word): rank for rank, word in reversed([*enumerate(words)])} for role, words in table.items()
    }


def all_names(names: Names) -> list[str]:
    """Every name that the user gave; a range counts as its two ends.

    >>> all_names({"question": "题目", "options": "B:E"})
    ['题目', 'B', 'E']
    """
    flat = [name for chosen in names.values() for name in ([chosen] if isinstance(chosen, str) else chosen)]
    return [end for name in flat for end in _ends(name) or (name.strip(),)]


def only_letters(names: Names) -> bool:
    """Whether all names are spreadsheet letters."""
    return all(_LETTERS.fullmatch(name) for name in all_names(names))


def find_named(
    table: Table, names: Names, headers: Mapping[Column, str], width: int, *, header_row: int | None = None
) -> dict[str, tuple[Column, ...]]:
    """Find the columns that the user named.

    Args:
        table: for messages.
        names: role -> names, as the user gave them.
        headers: the texts of the header by column.
        width: number of columns; 0 if they have no letters (JSON).
        header_row: number of the header row; None without one.

    Raises:
        ConfigError: there is no such column, and the message suggests one and lists the known ones; or a named header
            occurs twice.
    """
    finder = _Finder(table, headers, width, width > 0 and only_letters(names), header_row)
    return {
        role: tuple(
            column for name in ([chosen] if isinstance(chosen, str) else chosen) for column in finder.find(role, name)
        )
        for role, chosen in names.items()
    }


def refuse_same_name(
    table: Table, headers: Mapping[Column, str], role: str, columns: Sequence[Column], header_row: int | None
) -> NoReturn:
    """Reject two columns with the same name; the message names both cells.

    Raises:
        ConfigError: always.
    """
    first, second = sorted(columns, key=str) if isinstance(columns[0], str) else sorted(columns)
    if isinstance(first, str):
        raise ConfigError(
            f"columns: {table.title}: the keys {first!r} and {second!r} have the same name, so either may be the "
            f"{role}. Rename one, or name the key that is meant: columns: {{{role}: {first}}}"
        )
    locations = [table.location(header_row or 1, column) for column in (first, second)]
    letters = [column_letter(column) for column in (first, second) if isinstance(column, int)]
    raise ConfigError(
        f"columns: the header {headers[first]!r:.60} occurs twice, in {locations[0]} and in {locations[1]}, so either "
        f"column may be the {role}. Rename one, or name all columns by their letters, the {role} as "
        f"{' or '.join(letters)}"
    )


def _ends(name: str) -> tuple[str, ...]:
    match = _RANGE.fullmatch(name)
    return (match[1], match[2]) if match else ()


@dataclass(frozen=True, slots=True)
class _Finder:
    table: Table
    headers: Mapping[Column, str]
    width: int
    letters_first: bool
    header_row: int | None

    def find(self, role: str, name: str) -> tuple[Column, ...]:
        single = self._column_of(name.strip())
        self._refuse_double(role, name.strip(), single)
        if single is not None:
            return (single,)
        order: Sequence[Column] = range(self.width) if self.width else list(self.headers)
        columns = self._ends(name)
        for end, column in zip(_ends(name), columns, strict=False):
            self._refuse_double(role, end, column)
        ends = [order.index(end) for end in columns if end is not None]
        if len(ends) == 2:
            return tuple(order[min(ends) : max(ends) + 1])
        known = [text for text in self.headers.values() if text] or [
            column_letter(index) for index in range(self.width)
        ]
        suggestion = did_you_mean(name, known)
        hint = suggestion if suggestion.startswith(":") else ""
        listed = f"{hint} Found: " if hint else "; found: "  # the hint ends in a question mark
        raise ConfigError(f"columns: {self.table.title} has no column {name!r}{listed}{', '.join(known)}")

    def _refuse_double(self, role: str, name: str, column: Column | None) -> None:
        """Reject a name that was found among the headers if it occurs there twice."""
        if column is None or (self.letters_first and column == self._by_letter(name)):
            return
        namesakes = self._called(name)
        if len(namesakes) > 1 and column in namesakes:
            refuse_same_name(self.table, self.headers, role, namesakes[:2], self.header_row)

    def _ends(self, name: str) -> Sequence[Column | None]:
        """The columns of a range's ends: both by letter or both by header if possible, else each by itself."""
        ends = _ends(name)
        headers, letters = [self._by_header(end) for end in ends], [self._by_letter(end) for end in ends]
        for columns in (letters, headers) if self.letters_first else (headers, letters):
            if None not in columns:
                return columns
        return [self._column_of(end) for end in ends]

    def _column_of(self, name: str) -> Column | None:
        header, letter = self._by_header(name), self._by_letter(name)
        first, second = (letter, header) if self.letters_first else (header, letter)
        return second if first is None else first

    def _called(self, name: str) -> list[Column]:
        """The columns with this header; without any, those whose header is the same once both are normalized."""
        return [column for column, text in self.headers.items() if text == name] or [
            column for column, text in self.headers.items() if text and normalized(text) == normalized(name)
        ]

    def _by_header(self, name: str) -> Column | None:
        return next(iter(self._called(name)), None)

    def _by_letter(self, name: str) -> Column | None:
        index = column_index(name) if _LETTERS.fullmatch(name) else self.width
        return index if index < self.width else None
