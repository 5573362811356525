"""The rows of a run as numpy columns, see `RunData`.

They come from the driver's own cursor into arrays, some thousand rows at a time: a named object per row takes several
times as long, which is seconds for a run of 100,000 samples; a list of all rows takes memory that an array does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np

from steelyard.analysis.run_data import TARGET, RecordColumns, ReplyColumns
from steelyard.analysis.scores.score_columns import CODES, ScoreColumns, Texts, by_appearance
from steelyard.analysis.stopping import Used
from steelyard.errors import StoreError
from steelyard.stats.arrays import Array
from steelyard.store.database.backend import REPAIR_HINT
from steelyard.store.database.connection import NO_VALUES, Connection, Values
from steelyard.store.records import CACHED, KEY_BYTES, unpacker_of
from steelyard.store.scores import DetailReader, opened_scores, words_of
from steelyard.store.stored_run import StoredRun
from steelyard.types import OUTCOMES

_CHUNK: Final = 20_000
"""Rows in one array: of so many rows ids, bodies and keys of replies are Python objects at the same time."""
_TEXTS: Final = frozenset({"id", "group_name", "cluster"})
_SAMPLE: Final = (("num", "i8"), ("hash", "i8"), ("id", "O"), ("group_name", "O"), ("cluster", "O"))
_SAMPLE_NUMBERS: Final = (("num", "i8"), ("hash", "i8"), ("group_name", "i4"), ("cluster", "i4"))
_RECORD: Final = (("no", "i4"), ("repeat", "i4"), ("sample", "i8"), ("failed", "i1"), ("millis", "i4"))
_SCORE: Final = (("no", "i4"), ("repeat", "i4"), ("name", "i4"), ("outcome", "i1"), ("value", "f8"))
_WITH_KIND: Final = tuple(OUTCOMES.index(outcome) for outcome in ("unparsed", "not_applicable"))
"""Outcomes whose detail says why there is no value."""


class RunColumns(NamedTuple):
    """The rows of a run.

    Args:
        scores: where a stopping rule decided, only those that the decision is based on.
        records: all its records; samples have the same numbers as in `scores`.
        hashes: per sample, of its content, the id included; 64 bits, signed.
    """

    scores: ScoreColumns
    records: RecordColumns
    hashes: Array


def read_columns(connection: Connection, run: StoredRun, used: Used | None) -> RunColumns:
    """Read every row of a run into columns.

    Args:
        connection: to the store.
        run: whose rows.
        used: the places of samples that count; None is all.

    Raises:
        StoreError: something is damaged.
    """
    records, replies = _records(connection, run)
    samples = _samples(connection, run.num)
    at = samples.places(records.pop("sample"))
    if (at < 0).any():
        # A sample that is gone takes its records with it; `verify` reports it.
        stored = at >= 0
        replies = _only(replies, stored)
        records, at = {name: column[stored] for name, column in records.items()}, at[stored]
    number, order, ids = _numbered(samples, at)
    rows = _Rows.of(connection, run, records)
    rows = rows.with_failures(records["failed"], run.manifest.get("scores", ()))
    columns = ScoreColumns(
        samples=ids,
        names=rows.names,
        sample=number[rows.record],
        repeat=records["repeat"][rows.record],
        name=rows.name,
        groups=samples.groups.at(at[rows.record]),
        clusters=samples.clusters.at(at[rows.record]),
        outcome=rows.outcome,
        value=rows.value,
        details=rows.details,
        detail=rows.detail,
    )
    if used is not None:
        columns = columns.only(used.among(records["no"][rows.record]))
    of_records = RecordColumns(number, records["failed"].astype(bool), records["millis"], replies)
    return RunColumns(columns, of_records, samples.hashes[order])


def _tables(
    connection: Connection, query: str, columns: Sequence[tuple[str, str]], values: Values = NO_VALUES
) -> Iterator[Array]:
    """The rows of a query in arrays with a field per column.

    Args:
        connection: to the store.
        query: gives numbers, texts and bytes.
        columns: name of the field and numpy's type, in the order of the query's columns; a NULL is NaN in a float.
        values: of the query.

    Raises:
        StoreError: a value is of another type than its column: the store is damaged.
    """
    rows = connection.stream(query, values).unchecked()
    try:
        while len(table := np.fromiter(islice(rows, _CHUNK), dtype=list(columns))):
            for name in _TEXTS.intersection(table.dtype.names or ()):
                "".join(table[name])  # numpy takes any object: a TypeError where one is no text
            yield table
    except (TypeError, ValueError, OverflowError) as error:
        raise StoreError(f"a row of the store is damaged: {error}. {REPAIR_HINT}") from error


def _column_arrays(
    chunks: Iterable[Array | Mapping[str, Array]], columns: Sequence[tuple[str, str]]
) -> dict[str, Array]:
    """Field -> all its values in one array, for the given numeric fields; other fields are dropped."""
    parts = {name: [np.zeros(0, dtype=kind)] for name, kind in columns}
    for chunk in chunks:
        for (name, kind), arrays in zip(columns, parts.values(), strict=True):
            arrays.append(chunk[name].astype(kind))  # a copy, so that the whole chunk can go
    # One column after the other, so that the parts of each are freed before the next is joined.
    return {name: np.concatenate(parts.pop(name)) for name, _ in columns}


@dataclass(frozen=True, slots=True, eq=False)
class _SampleColumns:
    """Samples in the order of their numbers in the store.

    Args:
        nums: these numbers, ascending.
        hashes: of their content, the id included; 64 bits, signed.
        ids: of each; likewise `groups` and `clusters`.
    """

    nums: Array
    hashes: Array
    ids: Sequence[str]
    groups: Texts
    clusters: Texts

    def places(self, nums: Array) -> Array:
        """Index of each number; -1 where there is no such sample."""
        if not len(self.nums):
            return np.full(len(nums), -1)
        at = np.minimum(np.searchsorted(self.nums, nums), len(self.nums) - 1).astype(np.int32)
        return np.where(self.nums[at] == nums, at, np.int32(-1))


def _samples(connection: Connection, run: int) -> _SampleColumns:
    """Read the samples of a run by its number; deleted or lost ones are left out.

    Raises:
        StoreError: one of them is damaged.
    """
    query = """SELECT num, hash, id, group_name, cluster FROM sample
        WHERE num IN (SELECT sample FROM record WHERE run = :run) ORDER BY num"""
    ids: list[str] = []
    groups, clusters = _TextCodes(), _TextCodes()

    def chunks() -> Iterator[Mapping[str, Array]]:
        for table in _tables(connection, query, _SAMPLE, {"run": run}):
            ids.extend(table["id"].tolist())
            group_name, cluster = (texts.codes(table[name].tolist()) for name, texts in names)
            yield {"num": table["num"], "hash": table["hash"], "group_name": group_name, "cluster": cluster}

    names = (("group_name", groups), ("cluster", clusters))
    arrays = _column_arrays(chunks(), _SAMPLE_NUMBERS)
    texts = groups.texts(arrays["group_name"]), clusters.texts(arrays["cluster"])
    return _SampleColumns(arrays["num"], arrays["hash"], ids, *texts)


class _TextCodes:
    """Numbers distinct texts in order of first appearance."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def codes(self, texts: Sequence[str]) -> Array:
        """The number of each text; a new one gets the next."""
        for text in dict.fromkeys(texts):
            self._numbers.setdefault(text, len(self._numbers))
        return np.fromiter(map(self._numbers.__getitem__, texts), dtype=np.int32, count=len(texts))

    def texts(self, codes: Array) -> Texts:
        """The column of these numbers."""
        return Texts(tuple(self._numbers), codes)


def _records(connection: Connection, run: StoredRun) -> tuple[dict[str, Array], ReplyColumns]:
    """Columns of all records in order of samples and repeats, and the target's replies."""
    names = ", ".join(name for name, _ in _RECORD)
    query = f"SELECT {names}, replies FROM record WHERE run = :run ORDER BY no, repeat"
    stages = [number for number, name in enumerate(run.stages) if name == TARGET]
    owners, keys = [np.zeros(0, dtype=np.int64)], [np.zeros((0, KEY_BYTES - 1), dtype=np.uint8)]

    def chunks() -> Iterator[Array]:
        n = 0
        for table in _tables(connection, query, (*_RECORD, ("replies", "O")), {"run": run.num}):
            owner, stage, key = _replies(table["replies"].tolist())
            of_target = np.isin(stage, stages)
            owners.append(owner[of_target] + n)
            keys.append(key[of_target])
            n += len(table)
            yield table

    columns = _column_arrays(chunks(), _RECORD)
    return columns, ReplyColumns(np.concatenate(owners), np.concatenate(keys))


def _replies(packed: Sequence[bytes | None]) -> tuple[Array, Array, Array]:
    """Record, stage and key of each reply; a record whose keys have a wrong length is damaged and gets none."""
    parts = [keys if isinstance(keys, bytes) and not len(keys) % KEY_BYTES else b"" for keys in packed]
    sizes = np.fromiter(map(len, parts), dtype=np.int64, count=len(parts))
    table = np.frombuffer(b"".join(parts), dtype=np.uint8).reshape(-1, KEY_BYTES)
    return np.repeat(np.arange(len(parts)), sizes // KEY_BYTES), table[:, 0] & ~np.uint8(CACHED), table[:, 1:]


def _only(replies: ReplyColumns, wanted: Array) -> ReplyColumns:
    """The replies of the records for which `wanted` is true."""
    chosen = wanted[replies.owner]
    return ReplyColumns((np.cumsum(wanted) - 1)[replies.owner[chosen]], replies.key[chosen])


def _numbered(samples: _SampleColumns, at: Array) -> tuple[Array, Array, Sequence[str]]:
    """Number the samples in order of first appearance: per record its number; per number the sample's index and id."""
    number, order = by_appearance(at, len(samples.ids))
    # A resume may have changed the content of an id: both count as one sample, that of its first repeat.
    ids = Texts.of([samples.ids[position] for position in order.tolist()])
    return ids.codes[number], order[np.unique(ids.codes, return_index=True)[1]], ids.names


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Rows of scores: the record of each by its place, and the rest as in `ScoreColumns`."""

    record: Array
    names: tuple[str, ...]
    name: Array
    outcome: Array
    value: Array
    details: tuple[Mapping[str, Any], ...]
    detail: Array

    @classmethod
    def of(cls, connection: Connection, run: StoredRun, records: Mapping[str, Array]) -> _Rows:
        """The score rows of a run, given the columns of its records; those without a record are dropped."""
        words = words_of(connection)
        scores, details = _scores(connection, run, words)
        record = _record_of(records, scores)
        if (record < 0).any():
            scores, record = {name: column[record >= 0] for name, column in scores.items()}, record[record >= 0]
        codes = np.asarray([CODES[outcome] for outcome in OUTCOMES], dtype=np.int8)
        if not _all_below(len(codes), scores["outcome"]):
            raise StoreError(f"the store is damaged: a score has an unknown outcome. {REPAIR_HINT}")
        nums = np.asarray(sorted(words), dtype=np.int64)
        name = np.searchsorted(nums, scores["name"]).astype(np.int32)
        if not _all_below(len(nums), name) or (nums[name] != scores["name"]).any():
            raise StoreError(f"the store is damaged: a score has no name. {REPAIR_HINT}")
        names = tuple(words[num] for num in nums.tolist())
        return cls(record, names, name, codes[scores["outcome"]], scores["value"], details, scores["detail"])

    def with_failures(self, failed: Array, announced: Sequence[str]) -> _Rows:
        """The same rows, with an `error` row added for every score that a failed record lacks."""
        expected = [name for name in announced if name]
        names = {name: code for code, name in enumerate(self.names)}
        scored_names: dict[int, set[int]] = {at: set() for at in np.flatnonzero(failed).tolist()}
        if not scored_names:
            return self
        of_failed = np.isin(self.record, list(scored_names))
        for record, name in zip(self.record[of_failed].tolist(), self.name[of_failed].tolist(), strict=True):
            scored_names[record].add(name)
        missing = [
            (record, names.setdefault(name, len(names)))
            for record, present in scored_names.items()
            for name in (expected or ([] if present else [""]))
            if names.get(name) not in present
        ]
        added = np.asarray(missing, dtype=np.int64).reshape(-1, 2)
        record = np.concatenate([self.record, added[:, 0]])
        order = np.argsort(record, kind="stable")
        errors = np.full(len(added), CODES["error"], dtype=np.int8)
        return _Rows(
            record[order],
            tuple(names),
            np.concatenate([self.name, added[:, 1]])[order],
            np.concatenate([self.outcome, errors])[order],
            np.concatenate([self.value, np.full(len(added), np.nan)])[order],
            self.details,
            np.concatenate([self.detail, np.zeros(len(added), dtype=np.int32)])[order],
        )


def _scores(
    connection: Connection, run: StoredRun, words: Mapping[int, str]
) -> tuple[dict[str, Array], tuple[Mapping[str, Any], ...]]:
    """Columns of all scores, in order of samples and repeats, and the different details that they hold."""
    opened = opened_scores(run, words.values())
    names = ", ".join(name for name, _ in _SCORE)
    query = f"""SELECT {names}, CASE WHEN name IN :opened OR outcome IN :with_kind THEN body END FROM score
        WHERE run = :run AND scoring_version = :scoring_version ORDER BY no, repeat, name"""
    values = {
        "run": run.num,
        "scoring_version": run.scoring_version,
        "opened": [num for num, text in words.items() if text in opened],
        "with_kind": _WITH_KIND,
    }
    reader = DetailReader(unpacker_of(connection))

    def chunks() -> Iterator[Mapping[str, Array]]:
        for table in _tables(connection, query, (*_SCORE, ("body", "O")), values):
            detail = np.asarray(reader.numbers(table["body"].tolist()), dtype=np.int32)
            yield {"detail": detail, **{name: table[name] for name, _ in _SCORE}}

    columns = _column_arrays(chunks(), (*_SCORE, ("detail", "i4")))
    return columns, reader.details


def _record_of(records: Mapping[str, Array], scores: Mapping[str, Array]) -> Array:
    """Index of the record that each score belongs to; -1 where there is none."""
    repeats = 1 + int(max(records["repeat"].max(initial=0), scores["repeat"].max(initial=0)))
    record_keys, score_keys = (
        columns["no"].astype(np.int64) * repeats + columns["repeat"] for columns in (records, scores)
    )
    if not len(record_keys):
        return np.full(len(score_keys), -1)
    at = np.minimum(np.searchsorted(record_keys, score_keys), len(record_keys) - 1)
    return np.where(record_keys[at] == score_keys, at, -1).astype(np.int32)


def _all_below(size: int, numbers: Array) -> bool:
    """Whether all are from 0 on, and below `size`."""
    return not len(numbers) or bool(numbers.min() >= 0 and numbers.max() < size)
