"""Storing records: with its sample, scores and counts, each record in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlalchemy import bindparam, delete, func, select, text

from steelyard.store import schema
from steelyard.store.conflicts import add_or_leave, add_or_set
from steelyard.store.counting import count, moved_by
from steelyard.store.records import pack_keys, pack_record, pack_sample, score_row, word_numbers
from steelyard.store.seals import ROWS, mix, of_record, of_score, rows_at
from steelyard.store.tickets import Ticket
from steelyard.store.writer import Batch
from steelyard.types import Record


@dataclass(frozen=True, slots=True)
class Put:
    """Store a record with its sample and scores, and move the run's counters by it.

    Args:
        run: the run's number.
        no: the sample's place in the dataset.
        record: what to store.
        stages: names by number, the target first.
        layer: of the scores.
        replaces: None for a new record; else whether the one that it replaces had failed.
    """

    rank: ClassVar[int] = 2
    writes: ClassVar[bool] = True
    urgent: ClassVar[bool] = False
    outlives: ClassVar[bool] = False
    run: int
    no: int
    record: Record
    stages: Sequence[str]
    layer: int = 0
    replaces: bool | None = None
    ticket: Ticket | None = None

    @classmethod
    def apply(cls, batch: Batch, operations: Sequence[Put]) -> Sequence[None]:
        """A statement per table for all."""
        gone = [one for one in operations if one.replaces is not None]
        replaced = [(one.run, moved_by(batch, one)) for one in gone]
        digests = [(one.run, rows_at(batch, one.run, one.no, one.record.repeat)) for one in gone]
        records = _put_records(batch, operations, _put_samples(batch, operations))
        digests += [(row["run"], {ROWS: of_record(row)}) for row in records]
        digests += [(row["run"], {row["layer"]: of_score(row)}) for row in _put_scores(batch, operations)]
        _move_seals(batch, digests)
        for run in sorted({one.run for one in operations}):
            before = [moved for number, moved in replaced if number == run]
            count(batch, run, [one for one in operations if one.run == run], before)
        return [None] * len(operations)


_SAMPLES_KNOWN = select(schema.sample.c.hash, schema.sample.c.num).where(
    schema.sample.c.hash.in_(bindparam("hashes", expanding=True))
)
_LAST_SAMPLE = select(func.max(schema.sample.c.num))
_ADDING_RECORDS = text("LOCK TABLE record IN ROW EXCLUSIVE MODE")
"""Whoever deletes runs excludes this: a sample that is known now must still be there when its record is stored."""
_ADDING_SAMPLES = text("LOCK TABLE sample IN SHARE ROW EXCLUSIVE MODE")
_RECORD_KEY = ("run", "no", "repeat")
_RECORD_REST = ("sample", "failed", "millis", "replies", "body")


def _put_samples(batch: Batch, operations: Sequence[Put]) -> list[int]:
    """Store the samples that are new; the number of each operation's sample."""
    if batch.shared:
        batch.connection.execute(_ADDING_RECORDS)
    packed = [pack_sample(one.record.sample) for one in operations]
    hashes = [key for key, _ in packed]
    known = _known_samples(batch, hashes)
    fresh: dict[int, dict[str, Any]] = {}
    for one, (key, body) in zip(operations, packed, strict=True):
        if key not in known and key not in fresh:
            sample = one.record.sample
            named = {"hash": key, "id": sample.id, "grp": sample.group, "cluster": sample.cluster}
            fresh[key] = {**named, "body": batch.packer.pack("sample", body)}
    if fresh:
        known |= _add_shared(batch, fresh) if batch.shared else _add_samples(batch, fresh)
    return [known[key] for key in hashes]


def _known_samples(batch: Batch, hashes: Sequence[int]) -> dict[int, int]:
    return {row.hash: row.num for row in batch.connection.execute(_SAMPLES_KNOWN, {"hashes": hashes})}


def _add_samples(batch: Batch, fresh: Mapping[int, dict[str, Any]]) -> dict[int, int]:
    """Number them ourselves: that saves reading the numbers back."""
    last = batch.connection.scalar(_LAST_SAMPLE) or 0
    numbers = {key: last + place for place, key in enumerate(fresh, start=1)}
    batch.connection.execute(schema.sample.insert(), [{**row, "num": numbers[key]} for key, row in fresh.items()])
    return numbers


def _add_shared(batch: Batch, fresh: Mapping[int, dict[str, Any]]) -> dict[int, int]:
    """Have them numbered by the database, as another process may add some of them at the same moment.

    One process at a time adds samples: two that add the same ones in different orders would wait for each other.
    """
    batch.connection.execute(_ADDING_SAMPLES)
    insert = add_or_leave(batch.connection.dialect.name, schema.sample)
    batch.connection.execute(insert, list(fresh.values()))
    return _known_samples(batch, list(fresh))


def _move_seals(batch: Batch, digests: Sequence[tuple[int, Mapping[int, int]]]) -> None:
    moved: dict[tuple[int, int], int] = {}
    for run, parts in digests:
        for part, digest in parts.items():
            moved[run, part] = moved.get((run, part), 0) ^ digest
    for (run, part), by in sorted(moved.items()):
        mix(batch, run, part, by)


def _put_records(batch: Batch, operations: Sequence[Put], samples: Sequence[int]) -> Sequence[dict[str, Any]]:
    """Store the records; their rows."""
    rows = []
    for one, sample in zip(operations, samples, strict=True):
        body = pack_record(one.record)
        rows.append(
            {
                "run": one.run,
                "no": one.no,
                "repeat": one.record.repeat,
                "sample": sample,
                "failed": int(one.record.failure is not None),
                "millis": round(one.record.seconds * 1000),
                "replies": pack_keys(one.record.replies, one.stages),
                "body": None if body is None else batch.packer.pack("record", body),
            }
        )
    batch.connection.execute(add_or_set(batch.connection.dialect.name, schema.record, _RECORD_KEY, _RECORD_REST), rows)
    for one in operations:
        if one.replaces is not None:
            table = schema.score
            batch.connection.execute(
                delete(table).where(table.c.run == one.run, table.c.no == one.no, table.c.repeat == one.record.repeat)
            )
    return rows


def _put_scores(batch: Batch, operations: Sequence[Put]) -> Sequence[dict[str, Any]]:
    """Store the scores; their rows."""
    names = sorted({score.name for one in operations for score in one.record.scores})
    numbers = word_numbers(batch, names)
    rows = [
        score_row(batch, (one.run, one.layer, one.no, one.record.repeat), numbers[score.name], score)
        for one in operations
        for score in one.record.scores
    ]
    if rows:
        batch.connection.execute(schema.score.insert(), rows)
    return rows
