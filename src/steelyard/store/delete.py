"""Deletes runs in one transaction, with the samples and replies that no other run uses.

What their evaluation has spent stays counted: deleting a run gives no budget back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from steelyard.errors import StoreError
from steelyard.store.database import schema
from steelyard.store.database.connection import Connection, portions
from steelyard.store.leases import drop_leases
from steelyard.store.reading.search import delete_index
from steelyard.store.records import KEY_BYTES
from steelyard.store.run import Run
from steelyard.store.store import Store
from steelyard.store.writer import Batch

_LOCK_TABLES: Final = "LOCK TABLE reply, record, sample, run IN SHARE ROW EXCLUSIVE MODE"
"""On a server, where others write meanwhile; in the order in which a writer uses the tables, so that none deadlocks."""
_OWN_SAMPLES: Final = """WHERE num IN (SELECT sample FROM record WHERE run IN :runs)
    AND num NOT IN (SELECT sample FROM record WHERE run NOT IN :runs)"""
"""The samples of these runs that no other run uses."""
_UNUSED_SAMPLES: Final = """WHERE NOT EXISTS
    (SELECT 1 FROM record WHERE record.sample = sample.num AND run NOT IN :runs)
    AND NOT EXISTS (SELECT 1 FROM planned_sample p JOIN run ON run.evaluation = p.evaluation
        WHERE p.sample = sample.num AND run.num NOT IN :runs)"""
"""The same where a run that several processes write has its samples stored before its records: those that were not run
before it was stopped are in no record, and those of another run that is being written are in none yet."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """Counts of what a deletion removes.

    Args:
        runs: how many.
        records: of these runs.
        scores: of these runs, in all scoring versions.
        samples: that no other run uses.
        replies: in the journal that no other run uses; they are deleted on request only.
        notes: on these runs.
        labels: on their records.
    """

    runs: int
    records: int
    scores: int
    samples: int
    replies: int
    notes: int
    labels: int


def preview_deletion(store: Store, runs: Sequence[Run]) -> Deletion:
    """Count what `delete_runs` would delete, replies included."""
    with store.reading() as connection:
        return _counted(connection, [run.num for run in runs])


def delete_runs(store: Store, runs: Sequence[Run], *, replies: bool = False) -> Deletion:
    """Delete runs: all of them or none, whenever the process is killed.

    Args:
        store: where they are.
        runs: finished or not.
        replies: also delete the replies that no other run uses; sending the same requests again is paid again.

    Returns:
        What was deleted; `replies` is 0 where they are kept.

    Raises:
        StoreError: one of the runs is being written; or, where replies are deleted, any run is: it may have read one
            of them and not stored its record yet.
    """
    numbers = [run.num for run in runs]
    with contextlib.ExitStack() as locks:
        for run in runs:
            locks.callback(store.lock(run.id).release)
        deleted: Deletion | str = store.writer.change(lambda batch: _delete(batch, store, numbers, replies=replies))
    if isinstance(deleted, str):
        raise StoreError(
            f"run {deleted} is being written and may use these replies: wait for its end, or keep the replies"
        )
    if isinstance(store.path, Path):
        delete_index(store.path, numbers)
    return deleted


def _delete(batch: Batch, store: Store, runs: Sequence[int], *, replies: bool) -> Deletion | str:
    """The deleted rows, or the id of a run that prevents it: an error raised here would end all writing."""
    connection = batch.connection
    if batch.shared:
        connection.execute(_LOCK_TABLES)
    if replies and (writing := _written_run(connection, store, runs)):
        return writing
    deleted = _counted(connection, runs)
    if replies:
        for keys in portions(sorted(_own_keys(connection, runs))):
            connection.execute("DELETE FROM reply WHERE key IN :keys", {"keys": keys})
    connection.execute(f"DELETE FROM sample {_deleted_samples(connection)}", {"runs": runs})
    drop_leases(connection, runs)
    for table in schema.RUN_TABLES:
        connection.execute(f"DELETE FROM {table.name} WHERE run IN :runs", {"runs": runs})
    if connection.has_table(schema.SEARCH_WORDS):
        connection.execute(f"DELETE FROM {schema.SEARCH_WORDS} WHERE run IN :runs", {"runs": runs})
    connection.execute("DELETE FROM run WHERE num IN :runs", {"runs": runs})
    return deleted if replies else Deletion(**{**asdict(deleted), "replies": 0})


def _written_run(connection: Connection, store: Store, runs: Sequence[int]) -> str:
    """The id of a run that is being written; "" where none is."""
    unfinished = "SELECT id FROM run WHERE state <> 'finished' AND num NOT IN :runs"
    idents = list(connection.execute(unfinished, {"runs": runs}).scalars())
    return next(filter(store.is_written, idents), "")


def _counted(connection: Connection, runs: Sequence[int]) -> Deletion:
    def rows(table: schema.StoredTable, where: str = "") -> int:
        query = f"SELECT count(*) FROM {table.name} WHERE run IN :runs {where}"
        return int(connection.execute(query, {"runs": runs}).scalar())

    return Deletion(
        runs=len(runs),
        records=rows(schema.record),
        scores=rows(schema.score),
        samples=connection.execute(
            f"SELECT count(*) FROM sample {_deleted_samples(connection)}", {"runs": runs}
        ).scalar(),
        replies=len(_own_keys(connection, runs)),
        notes=rows(schema.event, "AND topic = 'note'"),
        labels=rows(schema.event, "AND topic = 'label'"),
    )


def _deleted_samples(connection: Connection) -> str:
    """The condition for the samples that a deletion removes."""
    return _UNUSED_SAMPLES if connection.dialect == "postgresql" else _OWN_SAMPLES


def _own_keys(connection: Connection, runs: Sequence[int]) -> set[bytes]:
    """Keys of the replies that only records of these runs use."""
    query = "SELECT replies FROM record WHERE replies IS NOT NULL AND run"
    keys = _keys(connection.stream(f"{query} IN :runs", {"runs": runs}).scalars())
    for packed in connection.stream(f"{query} NOT IN :runs", {"runs": runs}).scalars():
        keys.difference_update(_keys([packed]))
    return keys


def _keys(lists: Iterable[bytes]) -> set[bytes]:
    return {bytes(packed[at + 1 : at + KEY_BYTES]) for packed in lists for at in range(0, len(packed), KEY_BYTES)}
