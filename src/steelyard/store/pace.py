"""What several processes have sent to each endpoint of an evaluation, so that all together keep its rates.

Times are the database's. Rows stay when an evaluation ends: one that is resumed within a minute keeps the limit too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from steelyard.models.shared_rates import BUCKET_S, Next, SharedRates, Slots, bucket_of
from steelyard.store.connection import Connection
from steelyard.store.put_off import NOW, endpoint_key
from steelyard.store.writer import Batch, Ticket, Writer

_OF_ENDPOINT: Final = "WHERE evaluation = :evaluation AND endpoint = :endpoint"
_HOLD: Final = f"""INSERT INTO pace (evaluation, endpoint) VALUES (:evaluation, :endpoint)
    ON CONFLICT (evaluation, endpoint) DO UPDATE SET by_requests = pace.by_requests
    RETURNING by_requests, by_tokens, {NOW}"""
_MOVE: Final = f"UPDATE pace SET by_requests = :by_requests, by_tokens = :by_tokens {_OF_ENDPOINT}"
_SHIFT: Final = f"UPDATE pace SET by_tokens = by_tokens + :seconds {_OF_ENDPOINT}"
_BUCKETS: Final = f"SELECT bucket, tokens FROM sent_tokens {_OF_ENDPOINT} AND bucket >= :first"
_FORGET_BUCKETS: Final = f"DELETE FROM sent_tokens {_OF_ENDPOINT} AND bucket < :first"
_ADD: Final = """INSERT INTO sent_tokens (evaluation, endpoint, bucket, tokens)
    VALUES (:evaluation, :endpoint, :bucket, :tokens) ON CONFLICT (evaluation, endpoint, bucket) DO UPDATE
    SET tokens = sent_tokens.tokens + excluded.tokens"""
_CORRECT: Final = f"UPDATE sent_tokens SET tokens = tokens + :tokens {_OF_ENDPOINT} AND bucket = :bucket"
_OLD_S: Final = 3600


@dataclass(frozen=True, slots=True)
class PlanSendings:
    """Ask when calls may be sent, or correct the tokens of one that was; answered by `Slots`.

    Args:
        evaluation: its number.
        endpoint: as `endpoint_key` names it.
        shared: the limits.
        calls: tokens of each call that waits; none where a call is corrected.
        sent_at: the moment of that call.
        more: what is added to its tokens.
    """

    rank: ClassVar[int] = 7
    writes: ClassVar[bool] = True
    urgent: ClassVar[bool] = True
    outlives: ClassVar[bool] = False
    evaluation: int
    endpoint: bytes
    shared: SharedRates
    calls: Sequence[int] = ()
    sent_at: float = 0.0
    more: int = 0
    ticket: Ticket | None = None

    @classmethod
    def apply(cls, batch: Batch, operations: Sequence[PlanSendings]) -> Sequence[Slots | None]:
        """One after the other, in order of the endpoints, so that two workers do not wait for each other."""
        # A server that crashed and forgot moments would give them again, and the rate would be passed.
        batch.flush_at_commit()
        answers: dict[int, Slots] = {}
        for at in sorted(range(len(operations)), key=lambda at: operations[at].endpoint):
            operation = operations[at]
            if operation.calls:
                answers[at] = _planned(batch.connection, operation)
            else:
                _correct(batch.connection, operation)
        return [answers.get(at) for at in range(len(operations))]


def _planned(connection: Connection, operation: PlanSendings) -> Slots:
    key: dict[str, Any] = {"evaluation": operation.evaluation, "endpoint": operation.endpoint}
    ((by_requests, by_tokens, now),) = connection.execute(_HOLD, key).tuples()
    before: dict[int, int] = {}
    if operation.shared.rates.tokens_per_minute:
        window = {**key, "first": bucket_of(now - operation.shared.remembered_s - BUCKET_S)}
        connection.execute(_FORGET_BUCKETS, window)
        before = dict(connection.execute(_BUCKETS, window).tuples())
    buckets = dict(before)
    slots, following = operation.shared.plan(operation.calls, Next(by_requests, by_tokens), now, buckets)
    for bucket, tokens in sorted(buckets.items()):
        if added := tokens - before.get(bucket, 0):
            connection.execute(_ADD, {**key, "bucket": bucket, "tokens": added})
    if slots.at:
        connection.execute(_MOVE, {**key, **following._asdict()})
    return slots


def _correct(connection: Connection, operation: PlanSendings) -> None:
    key: dict[str, Any] = {"evaluation": operation.evaluation, "endpoint": operation.endpoint}
    # The row of the endpoint first, as whoever plans calls holds it before any other.
    connection.execute(_SHIFT, {**key, "seconds": operation.shared.tokens_s(operation.more)})
    connection.execute(_CORRECT, {**key, "bucket": bucket_of(operation.sent_at), "tokens": operation.more})


@dataclass(frozen=True, slots=True)
class StorePace:
    """The rates of one evaluation over all processes; see `models.shared_rates.Pace`.

    Args:
        writer: of a PostgreSQL store.
        evaluation: its number.
        shared: the limits of each endpoint.
    """

    writer: Writer
    evaluation: int
    shared: SharedRates

    async def slots(self, endpoint: str, tokens: Sequence[int]) -> Slots:
        """Moments for calls of so many tokens, in order; counted as sent."""
        ticket: asyncio.Future[Slots] = asyncio.get_running_loop().create_future()
        self.writer.submit(PlanSendings(self.evaluation, endpoint_key(endpoint), self.shared, tokens, ticket=ticket))
        return await ticket

    def correct(self, endpoint: str, at: float, tokens: int) -> None:
        """Add to the tokens of a call that was sent at a moment, without waiting."""
        if self.shared.rates.tokens_per_minute:
            key = endpoint_key(endpoint)
            self.writer.submit(PlanSendings(self.evaluation, key, self.shared, sent_at=at, more=tokens))


def forget_old_paces(connection: Connection) -> None:
    """Delete what was sent an hour ago and more, of all evaluations."""
    connection.execute(f"DELETE FROM pace WHERE by_requests < {NOW} - {_OLD_S} AND by_tokens < {NOW} - {_OLD_S}")
    connection.execute(f"DELETE FROM sent_tokens WHERE bucket < ({NOW} - {_OLD_S}) / {BUCKET_S}")
