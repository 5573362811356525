"""Divides the samples in flight of an evaluation among its workers, so that all together never pass the run's limit.

Every second each worker reports how many it may have until it gets the answer, which is how many it may have then: the
limit divided by the living workers, but no more than the others leave. What one gives up is therefore free for the
others a second later, and the sum never passes the limit. A worker that is silent for the length of a lease does not
count any more; it begins nothing before it has asked again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from steelyard.store.leases import LEASE_S
from steelyard.store.open_store import OpenStore
from steelyard.store.put_off import NOW
from steelyard.store.writer import Batch, Ticket

_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtext('steelyard parts ' || current_schema()), :evaluation)"
_OTHERS: Final = f"SELECT slot, n FROM part WHERE evaluation = :evaluation AND slot <> :slot AND until > {NOW}"
_SET: Final = f"""INSERT INTO part (evaluation, slot, n, until) VALUES (:evaluation, :slot, :n, {NOW} + {LEASE_S})
    ON CONFLICT (evaluation, slot) DO UPDATE SET n = excluded.n, until = excluded.until"""


def share(whole: int, place: int, n: int) -> int:
    """The part of a whole number that one of several gets; all parts together are the whole.

    >>> [share(10, place, 4) for place in range(4)]
    [3, 3, 2, 2]
    """
    return whole // n + (place < whole % n)


@dataclass(frozen=True, slots=True)
class AskPart:
    """Ask how many samples a worker may have in flight; answered by their number.

    Args:
        evaluation: its number.
        slot: the worker's number; one that is started in place of another has the same, and replaces it.
        whole: samples of all workers together.
        held: that this worker may have in flight until it hears the answer.
    """

    rank: ClassVar[int] = 8
    writes: ClassVar[bool] = True
    urgent: ClassVar[bool] = True
    outlives: ClassVar[bool] = False
    evaluation: int
    slot: int
    whole: int
    held: int
    ticket: Ticket | None = None

    @classmethod
    def apply(cls, batch: Batch, operations: Sequence[AskPart]) -> Sequence[int]:
        """One worker after the other."""
        return [_answered(batch, ask) for ask in operations]


def _answered(batch: Batch, ask: AskPart) -> int:
    key = {"evaluation": ask.evaluation, "slot": ask.slot}
    batch.connection.execute(_LOCK, {"evaluation": ask.evaluation})
    others = dict(batch.connection.execute(_OTHERS, key).tuples())
    living = sorted({*others, ask.slot})
    fair = share(ask.whole, living.index(ask.slot), len(living))
    allowed = max(0, min(fair, ask.whole - sum(others.values())))
    batch.connection.execute(_SET, {**key, "n": max(allowed, ask.held)})
    return allowed


def divide_equally(store: OpenStore, evaluation: int, whole: int, slots: int) -> None:
    """Begin with equal parts, for workers that are about to begin.

    Args:
        store: a PostgreSQL store.
        evaluation: its number; parts of an earlier execution are deleted.
        whole: samples in flight of all workers together.
        slots: of the workers, from 0.
    """

    def divide(batch: Batch) -> None:
        batch.connection.execute("DELETE FROM part WHERE evaluation = :evaluation", {"evaluation": evaluation})
        for slot in range(slots):
            row = {"evaluation": evaluation, "slot": slot, "n": share(whole, slot, slots)}
            batch.connection.execute(_SET, row)

    store.writer.change(divide)
