"""Empties the tables of runs with workers, see `schema.WORKER_TABLES`, before such a run and after it."""

from __future__ import annotations

from collections.abc import Collection

from steelyard.store import schema
from steelyard.store.open_store import OpenStore
from steelyard.store.pace import forget_old_paces
from steelyard.store.writer import Batch


def forget_workers(store: OpenStore, evaluation: int) -> None:
    """Delete what is noted of the workers of an earlier execution that died without an end.

    These are records, starts and times, and what endpoints answered them; and of all evaluations, old calls.
    """

    def forget(batch: Batch) -> None:
        _delete(batch, evaluation, schema.worker, schema.put_off)
        forget_old_paces(batch.connection)

    store.writer.change(forget)


def forget_plan(store: OpenStore, evaluation: int, runs: Collection[int]) -> None:
    """Delete the leases of some runs of an evaluation, and its plan and workers."""

    def forget(batch: Batch) -> None:
        batch.connection.execute("DELETE FROM lease WHERE run IN :runs", {"runs": list(runs)})
        _delete(batch, evaluation, schema.planned_sample, schema.worker, schema.claim, schema.put_off, schema.part)

    store.writer.change(forget)


def _delete(batch: Batch, evaluation: int, *tables: schema.StoredTable) -> None:
    for table in tables:
        batch.connection.execute(f"DELETE FROM {table.name} WHERE evaluation = :num", {"num": evaluation})
