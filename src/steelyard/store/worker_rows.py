"""The workers of an evaluation, a row each: signs of life, what they did, and their parts of the samples in flight.

Every second each worker reports how many samples it may have in flight until it gets the answer, which is how many it
may have then: the limit divided by the living workers, but no more than the others leave. What one gives up is
therefore free for the others a second later, and the sum never passes the limit. A worker that is silent for the length
of a lease does not count any more; it begins nothing before it has asked again. Times are the database's.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from steelyard.store.database.connection import Connection
from steelyard.store.endpoint_limits import forget_endpoints
from steelyard.store.leases import LEASE_S
from steelyard.store.open_store import OpenStore
from steelyard.store.shared_change import NOW
from steelyard.store.writer import Batch

_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtext('steelyard parts ' || current_schema()), :evaluation)"
_OTHERS: Final = f"""SELECT slot, part FROM worker
    WHERE evaluation = :evaluation AND slot <> :slot AND seen > {NOW} - {LEASE_S}"""
_SEEN: Final = f"""INSERT INTO worker (evaluation, slot, owner, place, started, seen, records, taken_over, part)
    VALUES (:evaluation, :slot, :owner, :place, {NOW}, {NOW}, :records, :taken_over, :part)
    ON CONFLICT (evaluation, slot) DO UPDATE SET seen = {NOW}, part = excluded.part,
    records = worker.records + excluded.records, taken_over = worker.taken_over + excluded.taken_over,
    starts = worker.starts + CASE WHEN worker.owner IN ('', excluded.owner) THEN 0 ELSE 1 END,
    owner = excluded.owner, place = excluded.place"""
_WORKERS: Final = f"SELECT *, {NOW} AS now FROM worker WHERE evaluation = :evaluation ORDER BY slot"


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """The stored state of one worker of an evaluation.

    Args:
        slot: its number, from 0.
        place: process and host.
        seconds: since its first process was started.
        silent_s: since it was last seen.
        records: that all processes of this slot have stored.
        taken_over: ranges that they took over from others.
        starts: processes that were started for it.
    """

    slot: int
    place: str
    seconds: float
    silent_s: float
    records: int
    taken_over: int
    starts: int

    @property
    def alive(self) -> bool:
        """Whether it was seen within the length of a lease."""
        return self.silent_s < LEASE_S

    @property
    def records_per_s(self) -> float:
        """Records a second since its first process was started."""
        return self.records / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True, slots=True)
class CheckIn:
    """What a worker reports every second.

    Args:
        evaluation: its number.
        slot: the worker's number; one that is started in place of another has the same, and replaces it.
        whole: samples of all workers together that may be in flight.
        held: that this worker may have in flight until it hears the answer.
        owner: a name that no other process has.
        place: process and host.
        records: stored since the last report.
        taken_over: leases of others, likewise.
    """

    evaluation: int
    slot: int
    whole: int
    held: int
    owner: str = ""
    place: str = ""
    records: int = 0
    taken_over: int = 0


def share(whole: int, place: int, n: int) -> int:
    """The part of a whole number that one of several gets; all parts together are the whole.

    >>> [share(10, place, 4) for place in range(4)]
    [3, 3, 2, 2]
    """
    return whole // n + (place < whole % n)


def check_in(batch: Batch, report: CheckIn) -> int:
    """Store a sign of life and what was done; how many samples the worker may have in flight from now on."""
    key = {"evaluation": report.evaluation, "slot": report.slot}
    batch.connection.execute(_LOCK, {"evaluation": report.evaluation})
    others = dict(batch.connection.execute(_OTHERS, key).tuples())
    living = sorted({*others, report.slot})
    fair = share(report.whole, living.index(report.slot), len(living))
    allowed = max(0, min(fair, report.whole - sum(others.values())))
    _store(batch, report, max(allowed, report.held))
    return allowed


def divide_equally(store: OpenStore, evaluation: int, whole: int, slots: int) -> None:
    """Begin with equal parts, for workers that are about to begin.

    Args:
        store: a PostgreSQL store.
        evaluation: its number.
        whole: samples in flight of all workers together.
        slots: of the workers, from 0.
    """

    def divide(batch: Batch) -> None:
        for slot in range(slots):
            _store(batch, CheckIn(evaluation, slot, whole, 0), share(whole, slot, slots))

    store.writer.change(divide)


def _store(batch: Batch, report: CheckIn, part: int) -> None:
    row = {
        "evaluation": report.evaluation, "slot": report.slot, "owner": report.owner, "place": report.place,
        "records": report.records, "taken_over": report.taken_over, "part": part,
    }  # fmt: skip
    batch.connection.execute(_SEEN, row)


def workers_of(connection: Connection, evaluation: int) -> list[WorkerRow]:
    """The workers of an evaluation that runs; none where it has none, or has ended."""
    if connection.dialect != "postgresql":
        return []
    rows = connection.execute(_WORKERS, {"evaluation": evaluation})
    return [
        WorkerRow(
            row.slot, row.place, row.now - row.started, row.now - row.seen, row.records, row.taken_over, row.starts
        )
        for row in rows
    ]


def forget_workers(store: OpenStore, evaluation: int) -> None:
    """Delete what is stored of the workers of an earlier execution that died without an end."""
    store.writer.change(lambda batch: _forget(batch, evaluation))


def forget_plan(store: OpenStore, evaluation: int, runs: Collection[int]) -> None:
    """Delete the leases of some runs of an evaluation, and its planned samples, workers and claims."""

    def forget(batch: Batch) -> None:
        batch.connection.execute("DELETE FROM lease WHERE run IN :runs", {"runs": list(runs)})
        for table in ("planned_sample", "claim"):
            batch.connection.execute(f"DELETE FROM {table} WHERE evaluation = :num", {"num": evaluation})
        _forget(batch, evaluation)

    store.writer.change(forget)


def _forget(batch: Batch, evaluation: int) -> None:
    batch.connection.execute("DELETE FROM worker WHERE evaluation = :num", {"num": evaluation})
    forget_endpoints(batch.connection, evaluation)
