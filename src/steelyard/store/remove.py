"""Taking runs out of a store: all of what is theirs alone goes, in one transaction, and nothing that others use.

What their evaluation has spent stays: deleting a run gives no budget back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, Table, delete, func, inspect, select, text

from steelyard.errors import StoreError
from steelyard.store import schema
from steelyard.store.records import KEY_BYTES
from steelyard.store.writer import Batch

if TYPE_CHECKING:
    from steelyard.store.run import Run
    from steelyard.store.store import Store

_CHUNK: Final = 500
_OF_RUN: Final = (
    schema.score, schema.layer, schema.stage, schema.stage_money, schema.stopping, schema.seal, schema.note,
    schema.label,
)  # fmt: skip
_ALONE: Final = text("LOCK TABLE reply, record, sample, run IN SHARE ROW EXCLUSIVE MODE")
"""On a server, where others write meanwhile; in the order in which a writer comes to them."""


@dataclass(frozen=True, slots=True)
class Removal:
    """What goes, or has gone, with some runs.

    Args:
        runs: how many.
        records: of these runs.
        scores: of these runs, in all their layers.
        samples: that no other run asked.
        replies: that the journal kept for these runs alone; they go only where that was asked for.
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

    def to_json(self) -> dict[str, int]:
        """Plain JSON."""
        return asdict(self)


def what_goes(store: Store, runs: Sequence[Run]) -> Removal:
    """What `delete_runs` would take away, with the replies."""
    with store.reading() as connection:
        return _counted(connection, [run.num for run in runs])


def delete_runs(store: Store, runs: Sequence[Run], *, replies: bool = False) -> Removal:
    """Take runs out of the store: all of them or none, whenever the process is killed.

    Args:
        store: where they are.
        runs: finished or not.
        replies: take the replies away too that the journal keeps for these runs alone. Whoever asks the same again
            pays again.

    Returns:
        What has gone; `replies` is 0 where they were to stay.

    Raises:
        StoreError: one of the runs is being written; or any run is, where replies go: it may have read one of them and
            not said so yet.
    """
    numbers = [run.num for run in runs]
    with contextlib.ExitStack() as held:
        for run in runs:
            held.callback(store.lock(run.id).release)
        found: Removal | str = store.writer.change(lambda batch: _delete(batch, store, numbers, replies=replies))
    if isinstance(found, str):
        raise StoreError(
            f"run {found} is being written and may use these replies: wait for its end, or let the replies stay"
        )
    return found


def _delete(batch: Batch, store: Store, runs: Sequence[int], *, replies: bool) -> Removal | str:
    """What has gone; or the id of a run because of which nothing has: an error here would end all writing."""
    connection = batch.connection
    if batch.shared:
        connection.execute(_ALONE)
    if replies and (writing := _written_run(connection, store, runs)):
        return writing
    found = _counted(connection, runs)
    record = schema.record
    if replies:
        keys = sorted(_own_keys(connection, runs))
        for start in range(0, len(keys), _CHUNK):
            connection.execute(delete(schema.reply).where(schema.reply.c.key.in_(keys[start : start + _CHUNK])))
    connection.execute(delete(schema.sample).where(_own_samples(runs)))
    for table in (record, *_OF_RUN):
        if _has(connection, table):
            connection.execute(delete(table).where(table.c.run.in_(runs)))
    connection.execute(delete(schema.run).where(schema.run.c.num.in_(runs)))
    return found if replies else Removal(**{**asdict(found), "replies": 0})


def _written_run(connection: Connection, store: Store, runs: Sequence[int]) -> str:
    """The id of a run that somebody writes; "" where nobody does."""
    table = schema.run
    unfinished = select(table.c.id).where(table.c.state != "finished", table.c.num.not_in(runs))
    return next((ident for ident in connection.scalars(unfinished).all() if store.is_written(ident)), "")


def _counted(connection: Connection, runs: Sequence[int]) -> Removal:
    def rows(table: Table) -> int:
        if not _has(connection, table):
            return 0
        return connection.scalar(select(func.count()).select_from(table).where(table.c.run.in_(runs))) or 0

    samples = select(func.count()).select_from(schema.sample).where(_own_samples(runs))
    return Removal(
        runs=len(runs),
        records=rows(schema.record),
        scores=rows(schema.score),
        samples=connection.scalar(samples) or 0,
        replies=len(_own_keys(connection, runs)),
        notes=rows(schema.note),
        labels=rows(schema.label),
    )


def _own_samples(runs: Sequence[int]) -> Any:
    """The samples of these runs that no other run asked."""
    record = schema.record
    theirs = select(record.c.sample).where(record.c.run.in_(runs))
    others = select(record.c.sample).where(record.c.run.not_in(runs))
    return schema.sample.c.num.in_(theirs) & schema.sample.c.num.not_in(others)


def _own_keys(connection: Connection, runs: Sequence[int]) -> set[bytes]:
    """Keys of the replies that records of these runs hold, and of no other."""
    record = schema.record
    query = select(record.c.replies).where(record.c.replies.is_not(None))
    theirs = _keys(connection.scalars(query.where(record.c.run.in_(runs))))
    others = query.where(record.c.run.not_in(runs))
    for packed in connection.scalars(others, execution_options={"yield_per": 5000}):
        theirs.difference_update(_keys([packed]))
    return theirs


def _keys(several: Iterable[bytes]) -> set[bytes]:
    return {bytes(packed[at + 1 : at + KEY_BYTES]) for packed in several for at in range(0, len(packed), KEY_BYTES)}


def _has(connection: Connection, table: Table) -> bool:
    return inspect(connection).has_table(table.name)
