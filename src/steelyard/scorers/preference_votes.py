"""Votes of people on pairs of answers, as they stand in a file: who voted, on which sample, for whom."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from steelyard.data.files import SampleFiles
from steelyard.data.opened import OpenTable, open_tables
from steelyard.data.roles import Role
from steelyard.data.table import Row
from steelyard.errors import ConfigError, DataError, boundary, did_you_mean

Columns = tuple[tuple[str, str], ...]
Version = tuple[int, int]

_ROLES: Final = (
    Role("id", words="vote_sample", by_position=False),
    Role("preferred", words="vote_preferred", by_position=False),
    Role("annotator", required=False, words="vote_annotator", by_position=False),
    Role("first", required=False, words="vote_first", by_position=False),
    Role("second", required=False, words="vote_second", by_position=False),
)
ROLES: Final = tuple(role.name for role in _ROLES)
_FIRST: Final = frozenset(
    {"a", "1", "first", "left", "former", "model a", "side a", "answer a", "response a", "assistant a"}
    | {"甲", "左", "前者", "第一个", "回答a", "答案a", "模型a"}
)
_SECOND: Final = frozenset(
    {"b", "2", "second", "right", "latter", "model b", "side b", "answer b", "response b", "assistant b"}
    | {"乙", "右", "后者", "第二个", "回答b", "答案b", "模型b"}
)
_TIE: Final = frozenset(
    {"tie", "tied", "ties", "draw", "equal", "equally good", "same", "the same", "both", "both good", "both bad"}
    | {"neither", "tie (bothbad)", "tie (both bad)", "no preference", "no difference", "c", "a=b"}
    | {"平局", "平手", "打平", "持平", "一样", "一样好", "一样差", "相同", "相当", "都好", "都不好", "都差"}
    | {"难分高下", "不分上下", "无偏好"}
)  # fmt: skip
_MOST_DEFECTS: Final = 20


class Vote(NamedTuple):
    """One person's preference: `A`, `B` or `tie`; `annotator` is "" where the file does not say."""

    label: str
    annotator: str
    place: str


@dataclass(frozen=True, slots=True)
class VoteRow:
    """A row as it stands; `first` and `second` are "" where the file does not name the pair."""

    sample: str
    preferred: str
    annotator: str
    first: str
    second: str
    place: str


def read_rows(file: Path, columns: Mapping[str, str]) -> tuple[VoteRow, ...]:
    """Every row of a file of votes; cached by the file's version.

    Args:
        file: .csv, .tsv, .jsonl, .json, or a sheet.
        columns: role (one of `ROLES`) -> column; what is left out is found by its header.

    Raises:
        ConfigError: there is no such file or column.
        DataError: it cannot be read, or a row names no sample or one side of a pair alone.
    """
    return _read_rows(*_key(file, columns))


def _key(file: Path, columns: Mapping[str, str]) -> tuple[Path, Columns, Version]:
    """What a file's content is cached by: as long as it is not written to, it is read once."""
    with boundary("data", f"{file.name} cannot be read"):
        stat = file.stat() if file.is_file() else None
    return file, tuple(sorted(columns.items())), (stat.st_mtime_ns, stat.st_size) if stat else (0, 0)


@lru_cache(maxsize=16)
def _read_rows(file: Path, columns: Columns, _version: Version) -> tuple[VoteRow, ...]:
    tables, _ = open_tables(SampleFiles(file, columns=dict(columns)), _ROLES)
    defects: list[str] = []
    rows = [one for table in tables for row in table.rows() if (one := _row(table, row, defects)) is not None]
    _refuse(file, defects)
    return tuple(rows)


def _row(table: OpenTable, row: Row, defects: list[str]) -> VoteRow | None:
    """A row; None where its cell for the vote is blank, so that nobody voted, and where it has a defect."""
    sample, preferred, annotator, first, second = (table.text(row, role) for role in ROLES)
    place = table.place(row, "preferred")
    if not preferred:
        return None
    if not sample:
        defects.append(f"{table.place(row, 'id')}: a vote on no sample")
        return None
    if bool(first) != bool(second):
        defects.append(f"{table.place(row)}: one side of a pair alone; both are named, or none")
        return None
    return VoteRow(sample, preferred, annotator, first, second, place)


def votes_on(file: Path, columns: Mapping[str, str], sides: tuple[str, str]) -> Mapping[str, Sequence[Vote]]:
    """Sample's id, as the file has it, -> the votes on one pair, in the file's order.

    Args:
        file: as `read_rows`.
        columns: likewise.
        sides: the names of side A and side B. A row that names another pair is passed over; one that names these the
            other way round counts all the same.

    Raises:
        ConfigError: the file names pairs, and never this one.
        DataError: as `read_rows`; a vote for neither side and no tie, or a person's second vote on one pair.
    """
    return _votes(*_key(file, columns), sides)


@lru_cache(maxsize=256)
def _votes(file: Path, columns: Columns, version: Version, sides: tuple[str, str]) -> Mapping[str, Sequence[Vote]]:
    rows = _read_rows(file, columns, version)
    own = [row for row in rows if not row.first or {row.first, row.second} == set(sides)]
    if rows and not own:
        pairs = sorted({f"{row.first} and {row.second}" for row in rows})
        near = did_you_mean(f"{sides[0]} and {sides[1]}", pairs)
        raise ConfigError(f"{file.name} holds no vote on {sides[0]!r} and {sides[1]!r}{near}")
    found: dict[str, list[Vote]] = {}
    seen: dict[tuple[str, str], str] = {}
    defects: list[str] = []
    for row in own:
        label = _label(row, sides)
        if not label:
            defects.append(_unknown(row, sides))
            continue
        before = seen.setdefault((row.sample, row.annotator), row.place) if row.annotator else row.place
        if before != row.place:
            defects.append(f"{row.place}: {row.annotator!r} voted on {row.sample!r} already, at {before}")
            continue
        found.setdefault(row.sample, []).append(Vote(label, row.annotator, row.place))
    _refuse(file, defects)
    return MappingProxyType(found)


def _label(row: VoteRow, sides: tuple[str, str]) -> str:
    """`A`, `B` or `tie`; "" where it is none. The name of a side goes before a word for a place."""
    named = dict(zip(sides, "AB", strict=True))
    if row.preferred in named:
        return named[row.preferred]
    turned = bool(row.first) and row.first == sides[1]
    word = plain_word(row.preferred)
    folded = {plain_word(name): side for name, side in named.items()}
    if word in folded and len(folded) == 2:
        return folded[word]
    for words, place in ((_FIRST, 0), (_SECOND, 1)):
        if word in words:
            return "AB"[place ^ turned]
    return "tie" if word in _TIE else ""


def _unknown(row: VoteRow, sides: tuple[str, str]) -> str:
    hint = "" if row.first else "; where a file is about several pairs, its columns first and second name them"
    near = did_you_mean(row.preferred, sides)
    near = near if near.startswith(":") else ""
    return f"{row.place}: {row.preferred[:40]!r} is neither {sides[0]!r} nor {sides[1]!r} nor a tie{near}{hint}"


def plain_word(text: str) -> str:
    """A vote without width, case, and marks around it.

    >>> plain_word(" Ａ. "), plain_word("Model_A"), plain_word("[[B]]")
    ('a', 'model a', 'b')
    """
    folded = unicodedata.normalize("NFKC", text).casefold().replace("_", " ")
    return " ".join(folded.split()).strip(" .。!\"'`*[]【】")


def _refuse(file: Path, defects: Sequence[str]) -> None:
    if defects:
        raise DataError(
            f"{file.name}: {len(defects)} vote{'s' if len(defects) > 1 else ''} cannot be counted", list(_told(defects))
        )


def _told(defects: Sequence[str]) -> Iterator[str]:
    yield from defects[:_MOST_DEFECTS]
    if len(defects) > _MOST_DEFECTS:
        yield f"and {len(defects) - _MOST_DEFECTS} more"
