"""Calls that the endpoints of an evaluation put off (429), so that all its workers wait and send fewer at once.

An endpoint is named by a hash: its address may hold what is not to be stored. Times are the database's. A row also
says that a model had a readable reply, or an answer that is not what was configured (`models.limits.FirstReplies`): by
a hash of that, and until the evaluation ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import ClassVar, Final, NamedTuple

from steelyard.store.writer import Batch, Ticket

NOW: Final = "CAST(extract(epoch FROM clock_timestamp()) AS DOUBLE PRECISION)"
_PUT_OFF: Final = f"""INSERT INTO put_off (evaluation, endpoint, until, sent)
    VALUES (:evaluation, :endpoint, {NOW} + :wait_s, {NOW} - :sent_ago_s) ON CONFLICT (evaluation, endpoint) DO UPDATE
    SET until = greatest(put_off.until, excluded.until), sent = greatest(put_off.sent, excluded.sent)"""
_READ: Final = f"""SELECT endpoint, until - {NOW}, {NOW} - sent FROM put_off
    WHERE evaluation = :evaluation AND greatest(until, sent + {{recent_s}}) > {NOW}"""
RECENT_S: Final = 60.0
"""For how long workers are told of a call that was put off."""
_READ_RECENT: Final = _READ.format(recent_s=RECENT_S)


class PutOff(NamedTuple):
    """How an endpoint put off a call of any worker.

    Args:
        wait_s: how long nothing may be sent; below 0 where that is over.
        sent_ago_s: how long ago the last call was sent that it put off.
    """

    wait_s: float
    sent_ago_s: float


def endpoint_key(endpoint: str) -> bytes:
    """The name of an endpoint in the store."""
    return blake2b(endpoint.encode("utf-8", "surrogatepass"), digest_size=10).digest()


@dataclass(frozen=True, slots=True)
class NotePutOff:
    """Tell all workers that an endpoint put a call off; the longest wait and the latest call count."""

    rank: ClassVar[int] = 6
    writes: ClassVar[bool] = True
    urgent: ClassVar[bool] = True
    outlives: ClassVar[bool] = False
    evaluation: int
    endpoint: bytes
    said: PutOff
    ticket: Ticket | None = None

    @classmethod
    def apply(cls, batch: Batch, operations: Sequence[NotePutOff]) -> Sequence[None]:
        """One row for each endpoint, in order of their keys, so that two workers do not wait for each other."""
        by_endpoint: dict[tuple[int, bytes], PutOff] = {}
        for note in operations:
            key = note.evaluation, note.endpoint
            before = by_endpoint.get(key, note.said)
            by_endpoint[key] = PutOff(
                max(note.said.wait_s, before.wait_s), min(note.said.sent_ago_s, before.sent_ago_s)
            )
        for (evaluation, endpoint), latest in sorted(by_endpoint.items()):
            batch.connection.execute(_PUT_OFF, {"evaluation": evaluation, "endpoint": endpoint, **latest._asdict()})
        return [None] * len(operations)


@dataclass(frozen=True, slots=True)
class ReadPutOff:
    """Ask which endpoints put calls off; the answer is a `PutOff` by the key of each."""

    rank: ClassVar[int] = 1
    writes: ClassVar[bool] = False
    urgent: ClassVar[bool] = True
    outlives: ClassVar[bool] = False
    evaluation: int
    ticket: Ticket | None = None

    @classmethod
    def apply(cls, batch: Batch, operations: Sequence[ReadPutOff]) -> Sequence[Mapping[bytes, PutOff]]:
        """One query for each evaluation: a process works on one."""
        return [
            {
                bytes(endpoint): PutOff(float(wait_s), float(sent_ago_s))
                for endpoint, wait_s, sent_ago_s in batch.connection.execute(
                    _READ_RECENT, {"evaluation": read.evaluation}
                ).tuples()
            }
            for read in operations
        ]
