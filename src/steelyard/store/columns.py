"""The rows of a run as columns, read once: what summaries and comparisons of 100,000 samples compute with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from sqlalchemy import Connection, case, null, select

from steelyard.errors import StoreError
from steelyard.store import schema
from steelyard.store.asked_records import AskedRecords, HeldReplies
from steelyard.store.cursors import column_arrays, tables
from steelyard.store.details import AnsweredReader
from steelyard.store.reading import unpacker_of
from steelyard.store.stopping import Used
from steelyard.store.stored_samples import StoredSamples, read_samples
from steelyard.summary import CODES, Answered, ScoreColumns, Texts, by_appearance
from steelyard.types import OUTCOMES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

_RECORD: Final = (("no", "i4"), ("repeat", "i4"), ("sample", "i8"), ("failed", "i1"), ("millis", "i4"))
_SCORE: Final = (("no", "i4"), ("repeat", "i4"), ("name", "i4"), ("outcome", "i1"), ("value", "f8"))
_ANSWERED: Final = ("answered", "i4")


class Scored(Protocol):
    """The run whose rows are read."""

    num: int
    layer: int

    @property
    def manifest(self) -> Mapping[str, Any]:
        """Everything the run was made of."""


class RunColumns(NamedTuple):
    """All that summaries and comparisons compute of a run with.

    Args:
        scores: its rows, those alone that a stopping rule's decision rests on.
        records: what was asked, of all its records; samples have the same numbers.
        samples: as they are stored, for the next run that asked the same.
    """

    scores: ScoreColumns
    records: AskedRecords
    samples: StoredSamples


def read_columns(
    connection: Connection, run: Scored, used: Used | None, known: Iterable[StoredSamples] = ()
) -> RunColumns:
    """Every row of a run.

    Args:
        connection: to the store.
        run: whose rows.
        used: the places of samples that count; None is all.
        known: samples that were read before and are still there.

    Raises:
        StoreError: something is damaged.
    """
    records, replies = _records(connection, run.num)
    nums = _ascending(records["sample"])
    samples = next((one for one in known if one.are(nums)), None) or read_samples(connection, run.num, nums)
    at = samples.places(records["sample"])
    if (at < 0).any():
        # A sample that is gone takes its records with it; `verify` tells of it.
        there = at >= 0
        replies = replies.only(there)
        records, at = {name: one[there] for name, one in records.items()}, at[there]
    number, order, ids = _numbered(samples, at)
    rows = _Rows.read(connection, run, records).with_failures(records["failed"], run.manifest.get("scores", ()))
    scores = ScoreColumns(
        samples=ids,
        names=rows.names,
        sample=number[rows.record],
        repeat=records["repeat"][rows.record],
        name=rows.name,
        groups=samples.groups.at(at[rows.record]),
        clusters=samples.clusters.at(at[rows.record]),
        outcome=rows.outcome,
        value=rows.value,
        kept=rows.kept,
        answered=rows.answered,
    )
    if used is not None:
        scores = scores.only(used.among(records["no"][rows.record]))
    failed = records["failed"].astype(bool)
    asked = AskedRecords(number, failed, records["millis"], replies, samples.hashes[order])
    return RunColumns(scores, asked, samples)


def _records(connection: Connection, run: int) -> tuple[dict[str, Array], HeldReplies]:
    """Columns of all records in order of samples and repeats, and the replies that they hold."""
    record = schema.record
    query = (
        select(*(record.c[name] for name, _ in _RECORD), record.c.replies)
        .where(record.c.run == run)
        .order_by(record.c.no, record.c.repeat)
    )
    replies: list[HeldReplies] = []

    def chunks() -> Iterator[Array]:
        for table in tables(connection, query, (*_RECORD, ("replies", "O"))):
            replies.append(HeldReplies.of(table["replies"].tolist()))
            yield table

    columns = column_arrays(chunks(), _RECORD)
    return columns, HeldReplies.together(replies)


def _ascending(nums: Array) -> Array:
    """Each number once, in order; of most runs they are that."""
    import numpy as np

    return nums if (np.diff(nums) > 0).all() else np.unique(nums)


def _numbered(samples: StoredSamples, at: Array) -> tuple[Array, Array, Sequence[str]]:
    """Per record the number of its sample, in order of first appearance; where each number stands; and its id."""
    import numpy as np

    number, order = by_appearance(at, len(samples.ids))
    number = number.astype(np.int32)
    if np.array_equal(order, np.arange(len(samples.ids))):
        ids: Sequence[str] = samples.ids
    else:
        ids = [samples.ids[place] for place in order.tolist()]
    # Sorted hashes in place of a set, which takes more memory than all else that is kept of the samples.
    hashes = np.sort(np.fromiter(map(hash, ids), dtype=np.int64, count=len(ids)))
    if (hashes[1:] == hashes[:-1]).any():
        # A resume may have changed what an id asks: both are the same sample, as its first repeat has it.
        same = Texts.of(ids)
        return same.codes[number], order[np.unique(same.codes, return_index=True)[1]], same.names
    return number, order, ids


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Rows of scores: the record of each by its place, and the rest as in `ScoreColumns`."""

    record: Array
    names: tuple[str, ...]
    name: Array
    outcome: Array
    value: Array
    kept: tuple[Answered, ...]
    answered: Array

    @classmethod
    def read(cls, connection: Connection, run: Scored, records: Mapping[str, Array]) -> _Rows:
        """Those that belong to a record."""
        import numpy as np

        words = {row.num: row.text for row in connection.execute(select(schema.word.c.num, schema.word.c.text))}
        exams = [num for num, text in words.items() if text in run.manifest.get("exam", ())]
        found, kept = _scores(connection, run, exams)
        record = _record_of(records, found)
        if (record < 0).any():
            found, record = {name: one[record >= 0] for name, one in found.items()}, record[record >= 0]
        codes = np.asarray([CODES[one] for one in OUTCOMES], dtype=np.int8)
        if not _all_below(len(codes), found["outcome"]):
            raise StoreError("the store is damaged: a score has an outcome that there is not")
        nums = np.asarray(sorted(words), dtype=np.int64)
        name = np.searchsorted(nums, found["name"])
        if not _all_below(len(nums), name) or (nums[name] != found["name"]).any():
            raise StoreError("the store is damaged: a score has no name")
        names = tuple(words[num] for num in nums.tolist())
        return cls(record, names, name, codes[found["outcome"]], found["value"], kept, found["answered"])

    def with_failures(self, failed: Array, announced: Sequence[str]) -> _Rows:
        """The same, with an error behind the rows of each failed record for every score that it lacks."""
        import numpy as np

        expected = [one for one in announced if one]
        names = {name: code for code, name in enumerate(self.names)}
        had: dict[int, set[int]] = {at: set() for at in np.flatnonzero(failed).tolist()}
        if not had:
            return self
        mine = np.isin(self.record, list(had))
        for record, name in zip(self.record[mine].tolist(), self.name[mine].tolist(), strict=True):
            had[record].add(name)
        missing = [
            (record, names.setdefault(one, len(names)))
            for record, there in had.items()
            for one in (expected or ([] if there else [""]))
            if names.get(one) not in there
        ]
        added = np.asarray(missing, dtype=np.int64).reshape(-1, 2)
        record = np.concatenate([self.record, added[:, 0]])
        order = np.argsort(record, kind="stable")
        rest = np.full(len(added), CODES["error"], dtype=np.int8)
        return _Rows(
            record[order],
            tuple(names),
            np.concatenate([self.name, added[:, 1]])[order],
            np.concatenate([self.outcome, rest])[order],
            np.concatenate([self.value, np.full(len(added), np.nan)])[order],
            self.kept,
            np.concatenate([self.answered, np.full(len(added), -1)])[order],
        )


def _scores(connection: Connection, run: Scored, exams: Sequence[int]) -> tuple[dict[str, Array], tuple[Answered, ...]]:
    """Columns of all scores, in order of samples and repeats, with what was kept of letters beside those of exams."""
    import numpy as np

    score = schema.score
    body = case((score.c.name.in_(exams), score.c.body)) if exams else null()
    query = (
        select(*(score.c[name] for name, _ in _SCORE), body)
        .where((score.c.run == run.num) & (score.c.layer == run.layer))
        .order_by(score.c.no, score.c.repeat, score.c.name)
    )
    reader = AnsweredReader(unpacker_of(connection))

    def chunks() -> Iterator[Mapping[str, Array]]:
        for table in tables(connection, query, (*_SCORE, ("body", "O"))):
            answered = np.full(len(table), -1)
            of_exams = np.flatnonzero(np.isin(table["name"], exams))
            answered[of_exams] = reader.numbers(table["body"][of_exams].tolist())
            yield {"answered": answered, **{name: table[name] for name, _ in _SCORE}}

    columns = column_arrays(chunks(), (*_SCORE, _ANSWERED))
    return columns, reader.kept


def _record_of(records: Mapping[str, Array], scores: Mapping[str, Array]) -> Array:
    """Place of the record that each score belongs to; -1 where there is none."""
    import numpy as np

    repeats = 1 + int(max(records["repeat"].max(initial=0), scores["repeat"].max(initial=0)))
    keys, wanted = (one["no"].astype(np.int64) * repeats + one["repeat"] for one in (records, scores))
    if not len(keys):
        return np.full(len(wanted), -1)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, at, -1)


def _all_below(size: int, numbers: Array) -> bool:
    """Whether all are from 0 on, and below `size`."""
    return not len(numbers) or bool(numbers.min() >= 0 and numbers.max() < size)
