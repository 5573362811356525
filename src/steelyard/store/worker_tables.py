"""Further tables of runs with workers: created with the first such run, and emptied after each.

They are in PostgreSQL alone: leases need `SKIP LOCKED`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from steelyard.store.leases import claim, lease, planned_sample, worker
from steelyard.store.open_store import OpenStore
from steelyard.store.pace import forget_old_paces, pace, sent_tokens
from steelyard.store.parts import part
from steelyard.store.put_off import put_off
from steelyard.store.writer import Batch

_TABLES: Final = (lease, planned_sample, worker, claim, put_off, part, pace, sent_tokens)


def create_worker_tables(store: OpenStore) -> None:
    """Create the tables for workers where they are missing, in a PostgreSQL store."""

    def create(batch: Batch) -> None:
        batch.connection.execute("SELECT pg_advisory_xact_lock(hashtext('steelyard leases ' || current_schema()))")
        for table in _TABLES:
            if not batch.connection.has_table(table.name):
                for statement in table.definition("postgresql"):
                    batch.connection.execute(statement)
        forget_old_paces(batch.connection)

    store.writer.change(create)


def forget_workers(store: OpenStore, evaluation: int) -> None:
    """Delete what is noted of the workers of an earlier execution that died without an end.

    These are records, starts and times, and what endpoints answered them.
    """

    def forget(batch: Batch) -> None:
        for table in (worker, put_off):
            batch.connection.execute(
                f"DELETE FROM {table.name} WHERE evaluation = :evaluation", {"evaluation": evaluation}
            )

    store.writer.change(forget)


def forget_plan(store: OpenStore, evaluation: int, runs: Collection[int]) -> None:
    """Delete the leases of some runs of an evaluation, and its plan and workers."""

    def forget(batch: Batch) -> None:
        batch.connection.execute("DELETE FROM lease WHERE run IN :runs", {"runs": list(runs)})
        for table in (planned_sample, worker, claim, put_off, part):
            batch.connection.execute(
                f"DELETE FROM {table.name} WHERE evaluation = :evaluation", {"evaluation": evaluation}
            )

    store.writer.change(forget)
