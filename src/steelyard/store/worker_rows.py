"""What the workers of an evaluation share: waits and rates of its endpoints, signs of life, and samples in flight.

Where an endpoint puts off a call of one worker (429), all of them wait and send fewer at once. Rates are kept by giving
each call a moment. An endpoint is named by a hash, as its address may hold what is not to be stored. A row may also say
that a model had a readable reply, or an answer that is not what was configured (`models.limits.FirstReplies`): by a
hash of that, and until the evaluation ends.

Every second each worker reports how many samples it may have in flight until it gets the answer, which is how many it
may have then: the limit divided by the living workers, but no more than the others leave. What one gives up is
therefore free for the others a second later, and the sum never passes the limit. A worker that is silent for the length
of a lease does not count any more; it begins nothing before it has asked again. Times are the database's. Its clock
may be put back: a moment that is later than any that is written here does not count, as all would wait for it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from steelyard.models.rate_limit import AHEAD_S, BUCKET_S, Next, SharedRates, Slots, bucket_of
from steelyard.store.database.connection import Connection
from steelyard.store.leases import LEASE_S, NOW, SharedChange, changed
from steelyard.store.open_store import OpenStore
from steelyard.store.writer import Batch, Writer

CLAIM_S: Final = 30.0
"""How long, in seconds, others wait for the reply of a call that is sent once for all samples, before one sends it."""
RECENT_S: Final = 60.0
"""For how long workers are told of a call that was put off."""
_OLD_S: Final = 3600

_OF_ENDPOINT: Final = "WHERE evaluation = :evaluation AND endpoint = :endpoint"
_PUT_OFF: Final = f"""INSERT INTO endpoint (evaluation, endpoint, closed_until, put_off_sent)
    VALUES (:evaluation, :endpoint, {NOW} + :wait_s, {NOW} - :sent_ago_s) ON CONFLICT (evaluation, endpoint) DO UPDATE
    SET closed_until = greatest(endpoint.closed_until, excluded.closed_until),
        put_off_sent = greatest(endpoint.put_off_sent, excluded.put_off_sent)"""
_READ: Final = f"""SELECT endpoint, closed_until - {NOW}, {NOW} - put_off_sent FROM endpoint
    WHERE evaluation = :evaluation AND greatest(closed_until, put_off_sent + {RECENT_S}) > {NOW}"""
_HOLD: Final = f"""INSERT INTO endpoint (evaluation, endpoint) VALUES (:evaluation, :endpoint)
    ON CONFLICT (evaluation, endpoint) DO UPDATE SET by_requests = endpoint.by_requests
    RETURNING by_requests, by_tokens, tokens, {NOW}"""
_MOVE: Final = f"""UPDATE endpoint SET by_requests = :by_requests, by_tokens = :by_tokens, tokens = :tokens
    {_OF_ENDPOINT}"""
_OPEN: Final = "UPDATE endpoint SET closed_until = 0, put_off_sent = 0 WHERE evaluation = :evaluation"
_FORGET_OLD: Final = f"""DELETE FROM endpoint
    WHERE greatest(by_requests, by_tokens, closed_until, put_off_sent) < {NOW} - {_OLD_S}"""
_CLAIM: Final = f"""INSERT INTO claim (key, evaluation, owner, until)
    VALUES (:key, :evaluation, :owner, {NOW} + {CLAIM_S}) ON CONFLICT (key) DO UPDATE
    SET owner = excluded.owner, until = excluded.until
    WHERE claim.owner = excluded.owner OR claim.until NOT BETWEEN {NOW} AND {NOW} + {2 * CLAIM_S}
    RETURNING owner"""
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtext('steelyard parts ' || current_schema()), :evaluation)"
_OTHERS: Final = f"""SELECT slot, part FROM worker
    WHERE evaluation = :evaluation AND slot <> :slot AND seen BETWEEN {NOW} - {LEASE_S} AND {NOW} + {LEASE_S}"""
_SEEN: Final = f"""INSERT INTO worker (evaluation, slot, owner, place, started, seen, records, taken_over, part)
    VALUES (:evaluation, :slot, :owner, :place, {NOW}, {NOW}, :records, :taken_over, :part)
    ON CONFLICT (evaluation, slot) DO UPDATE SET seen = {NOW}, part = excluded.part,
    records = worker.records + excluded.records, taken_over = worker.taken_over + excluded.taken_over,
    starts = worker.starts + CASE WHEN worker.owner IN ('', excluded.owner) THEN 0 ELSE 1 END,
    owner = excluded.owner, place = excluded.place"""
_WORKERS: Final = f"SELECT *, {NOW} AS now FROM worker WHERE evaluation = :evaluation ORDER BY slot"


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


def note_put_off(writer: Writer, evaluation: int, endpoint: bytes, said: PutOff) -> None:
    """Tell all workers that an endpoint put a call off, without waiting; the longest wait and the latest call count."""
    row = {"evaluation": evaluation, "endpoint": endpoint, **said._asdict()}
    writer.submit(SharedChange(b"endpoint" + endpoint, lambda batch: batch.connection.execute(_PUT_OFF, row)))


def read_put_off(batch: Batch, evaluation: int) -> Mapping[bytes, PutOff]:
    """Which endpoints put calls off, by the key of each."""
    rows = batch.connection.execute(_READ, {"evaluation": evaluation}).tuples()
    return {bytes(endpoint): PutOff(float(wait_s), float(sent_ago_s)) for endpoint, wait_s, sent_ago_s in rows}


async def claim_call(writer: Writer, evaluation: int, key: bytes, owner: str) -> bool:
    """Claim a call that is sent once for all samples; whether this worker is to send it."""
    row = {"key": key, "evaluation": evaluation, "owner": owner}
    return await changed(
        writer, b"claim" + key, lambda batch: batch.connection.execute(_CLAIM, row).scalar() is not None
    )


def release_call(writer: Writer, key: bytes, owner: str) -> None:
    """Give up what this worker has claimed, without waiting."""
    release, row = "DELETE FROM claim WHERE key = :key AND owner = :owner", {"key": key, "owner": owner}
    writer.submit(SharedChange(b"claim" + key, lambda batch: batch.connection.execute(release, row)))


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
        key = endpoint_key(endpoint)
        return await changed(self.writer, b"endpoint" + key, partial(self._plan, key=key, calls=tokens))

    def correct(self, endpoint: str, at: float, tokens: int) -> None:
        """Add to the tokens of a call that was sent at a moment, without waiting."""
        if self.shared.rates.tokens_per_minute:
            key = endpoint_key(endpoint)
            self.writer.submit(SharedChange(b"endpoint" + key, partial(self._correct, key=key, at=at, more=tokens)))

    def _plan(self, batch: Batch, *, key: bytes, calls: Sequence[int]) -> Slots:
        next_at, sent, now = self._held(batch, key)
        slots, following = self.shared.plan(calls, next_at, now, sent)
        if slots.at:
            first = bucket_of(now - self.shared.remembered_s - BUCKET_S)
            self._store(batch, key, following, {bucket: n for bucket, n in sent.items() if bucket >= first})
        return slots

    def _correct(self, batch: Batch, *, key: bytes, at: float, more: int) -> None:
        next_at, sent, _ = self._held(batch, key)
        if (bucket := bucket_of(at)) in sent:
            sent[bucket] += more
        self._store(batch, key, next_at._replace(by_tokens=next_at.by_tokens + self.shared.tokens_s(more)), sent)

    def _held(self, batch: Batch, key: bytes) -> tuple[Next, dict[int, int], float]:
        """The earliest next call and the tokens by half second of an endpoint, locked, and the time."""
        # A server that crashed and forgot moments would give them again, and the rate would be passed.
        batch.flush_at_commit()
        held = batch.connection.execute(_HOLD, self._key(key))
        ((by_requests, by_tokens, tokens, now),) = held.tuples()
        # Moments that are further ahead than any is given: the clock was put back, or somebody changed the row.
        by_requests = by_requests if by_requests <= now + AHEAD_S + self.shared.gap_s else now
        by_tokens = by_tokens if by_tokens <= now + _OLD_S else now
        last = bucket_of(now + AHEAD_S)
        return Next(by_requests, by_tokens), {bucket: n for bucket, n in json.loads(tokens) if bucket <= last}, now

    def _store(self, batch: Batch, key: bytes, next_at: Next, sent: Mapping[int, int]) -> None:
        tokens = json.dumps(list(sent.items()))
        batch.connection.execute(_MOVE, {**self._key(key), **next_at._asdict(), "tokens": tokens})

    def _key(self, key: bytes) -> dict[str, Any]:
        return {"evaluation": self.evaluation, "endpoint": key}


def forget_endpoints(connection: Connection, evaluation: int) -> None:
    """Delete what endpoints told workers of an evaluation, and of all evaluations what was sent an hour ago and more.

    Moments stay for that long: an evaluation that is resumed within a minute keeps its rates too.
    """
    connection.execute(_OPEN, {"evaluation": evaluation})
    connection.execute(_FORGET_OLD)


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
