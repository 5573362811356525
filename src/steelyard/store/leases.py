"""Leases: which worker may write which samples of a run, for runs that several processes write at once.

A run is cut into ranges of samples. A worker takes a range for some seconds and renews it while it lives; a range that
was not renewed may be taken by another, with the next generation. A record is stored only if its worker's owner and
generation match the lease in the same transaction, so that a worker whose lease has expired cannot write (a fencing
token, after M. Kleppmann, "Designing Data-Intensive Applications", 2017, chapter 8). All times are the database's:
clocks of workers may differ.

Leases need row locks that other transactions skip (`SKIP LOCKED`), so the tables exist in PostgreSQL only, from the
first run that has workers. Rows that all workers change are changed by the store's writer (`SharedChange`), which
gathers several changes into one transaction; all workers lock in one order, so that no two wait for each other.
"""

# Why it is so, and what was rejected: docs/decisions/workers-leases.md

from __future__ import annotations

from asyncio import get_running_loop
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final, NamedTuple, TypeVar

from steelyard.errors import ModelError
from steelyard.plain_json import to_json
from steelyard.store.database.connection import Connection
from steelyard.store.open_store import OpenStore
from steelyard.store.records import pack_sample, unpack_sample, unpacker_of
from steelyard.store.writer import Batch, Operation, Writer
from steelyard.types import OUTCOMES, Outcome, Sample

T = TypeVar("T")

NOW: Final = "CAST(extract(epoch FROM clock_timestamp()) AS DOUBLE PRECISION)"
"""The database's time in seconds since 1970: clocks of workers may differ."""
_FORGET_PLANS: Final = """DELETE FROM planned_sample
    WHERE evaluation NOT IN (SELECT evaluation FROM run WHERE num NOT IN :runs)"""
ELSEWHERE: Final = "found elsewhere"
"""Kind of an error whose reason another worker has."""
LEASE_S: Final = 6.0
"""How long a lease is valid without renewal, in seconds."""
LARGEST_LEASE: Final = 200
"""Samples of a range at most."""
_FREE: Final = f"lo >= 0 AND until NOT BETWEEN {NOW} AND {NOW} + {2 * LEASE_S}"
"""Nobody holds the range. No lease lasts longer: the database's clock was put back or somebody changed the row, and all
would wait for that moment."""
_TAKE: Final = f"""UPDATE lease SET owner = :owner, generation = lease.generation + 1, until = {NOW} + {LEASE_S}
    FROM (SELECT run, lo, owner AS before FROM lease WHERE run = :run AND plan = :plan AND {_FREE}
        ORDER BY lo LIMIT least(:n, greatest(1, (SELECT count(*) FROM (SELECT 1 FROM lease
            WHERE run = :run AND plan = :plan AND {_FREE} LIMIT CAST(:n AS integer) * :share) ahead) / :share))
        FOR UPDATE SKIP LOCKED) free
    WHERE lease.run = free.run AND lease.lo = free.lo
    RETURNING lease.lo, least(lease.hi, lease.lo + {LARGEST_LEASE}, (SELECT min(following.lo) FROM lease following
        WHERE following.run = free.run AND following.lo > free.lo)), lease.generation, free.before"""
"""A range ends before the next one, whatever its row says: else two workers would pay for the same samples."""
_RENEW: Final = f"""UPDATE lease SET until = {NOW} + {LEASE_S}
    WHERE run = :run AND owner = :owner AND lo IN :los RETURNING lo"""
_HELD: Final = "SELECT lo, generation FROM lease WHERE run = :run AND owner = :owner AND lo IN :los FOR SHARE"
_END: Final = "DELETE FROM lease WHERE run = :run AND lo = :lo AND owner = :owner AND generation = :generation"
_CUT: Final = """INSERT INTO lease (run, lo, hi, plan)
    SELECT :run, lo, least(lo + :size, :hi), :plan FROM generate_series(:lo, :hi - 1, :size) lo
    WHERE EXISTS (SELECT 1 FROM lease WHERE run = :run AND lo = :open) ON CONFLICT DO NOTHING"""
"""Inserts nothing where all leases of the run have become void. A finished range may be inserted again, where it is not
known whether the first insertion was stored: the worker that takes it finds its records."""
_HOLD: Final = """INSERT INTO lease (run, lo, hi, plan, until)
    VALUES (:run, :open, :open, :plan, 'infinity') ON CONFLICT DO NOTHING"""
_GRANT: Final = """INSERT INTO lease (run, lo, hi, plan) SELECT :run, place, place + 1, :plan
    FROM unnest(:places::integer[]) place WHERE EXISTS (SELECT 1 FROM lease WHERE run = :run AND lo = :open)
    ON CONFLICT DO NOTHING"""
"""Nothing where all leases of the run were made void meanwhile."""
_CLOSE: Final = "DELETE FROM lease WHERE run = :run AND (lo = :open OR owner = '')"
_GRANTED: Final = "SELECT run, lo FROM lease WHERE plan = :plan AND lo >= 0"
_STORED: Final = """SELECT r.no, r.repeat, r.failed, w.text, s.outcome, s.value FROM record r
    LEFT JOIN score s ON s.run = r.run AND s.scoring_version = 0 AND s.no = r.no AND s.repeat = r.repeat
    LEFT JOIN word w ON w.num = s.name WHERE r.run = :run AND r.no IN :places ORDER BY r.no, r.repeat"""
_LEFT: Final = "SELECT count(*) FROM lease WHERE run = :run AND plan = :plan AND lo <> :stopped"
_VOID: Final = "DELETE FROM lease WHERE run = :run AND plan = :plan AND lo <> :stopped RETURNING lo"
_STOP: Final = """INSERT INTO lease (run, lo, hi, plan, owner, until, reason)
    VALUES (:run, :stopped, :stopped, :plan, :kind, 'infinity', :reason) ON CONFLICT DO NOTHING"""
_STATE_REASON: Final = f"""UPDATE lease SET owner = :kind, reason = :reason
    WHERE run = :run AND plan = :plan AND lo = :stopped AND owner = '{ELSEWHERE}'"""
_STOPPED: Final = "SELECT owner, reason FROM lease WHERE run = :run AND plan = :plan AND lo = :stopped"
_ADD_SAMPLES: Final = """INSERT INTO sample (hash, id, group_name, cluster, body) SELECT * FROM unnest(
    :hashes::bigint[], :ids::text[], :groups::text[], :clusters::text[], :bodies::bytea[]) ON CONFLICT DO NOTHING"""
_PLAN: Final = """INSERT INTO planned_sample (evaluation, no, sample) SELECT :evaluation, planned.no, sample.num
    FROM unnest(:nos::integer[], :hashes::bigint[]) planned (no, hash) JOIN sample ON sample.hash = planned.hash
    ON CONFLICT DO NOTHING"""
_READ: Final = """SELECT planned_sample.no, sample.id, sample.group_name, sample.cluster, sample.body
    FROM planned_sample JOIN sample ON sample.num = planned_sample.sample
    WHERE evaluation = :evaluation AND no >= :lo AND no < :hi ORDER BY no"""
_DONE: Final = "SELECT no, repeat, failed FROM record WHERE run = :run AND no >= :lo AND no < :hi"
STOPPED: Final = -2
"""Place of the row that a stopped run has in place of leases."""
OPEN: Final = -1
"""Place of a lease that no worker can take: while it exists, more leases will follow, and workers wait for them."""
_PORTION: Final = 2000
_PORTION_BYTES: Final = 8_000_000
"""Samples are stored and leased in portions of about this size, however long they are: whoever plans a run holds one
portion at a time, and a worker the samples of its leases."""
_MOST_SAMPLES: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class SharedChange(Operation):
    """A change of rows that other workers change too.

    Args:
        locks: names the rows that it locks; changes of one transaction are made in this order.
        change: makes it; what it returns answers the ticket.
    """

    rank: ClassVar[int] = 4
    locks: bytes
    change: Callable[[Batch], Any]

    @classmethod
    def apply(cls, batch: Batch, operations: Sequence[SharedChange]) -> Sequence[Any]:
        """One after the other, in the order of what they lock."""
        in_order = sorted(range(len(operations)), key=lambda at: operations[at].locks)
        values = {at: operations[at].change(batch) for at in in_order}
        return [values[at] for at in range(len(operations))]


async def changed(writer: Writer, locks: bytes, change: Callable[[Batch], T]) -> T:
    """Make a change of shared rows; its result once it is committed.

    Raises:
        StoreError: it could not be written.
    """
    ticket = get_running_loop().create_future()
    writer.submit(SharedChange(locks, change, ticket=ticket))
    answer: T = await ticket
    return answer


@dataclass(frozen=True, slots=True)
class Lease:
    """A range of samples that one worker may write.

    Args:
        run: the run's number.
        lo: place of the first sample.
        hi: place after the last.
        owner: the worker.
        generation: how often the range was taken in this execution; a higher one invalidates all lower ones.
        taken_over: whether another worker had it before and did not finish it.
    """

    run: int
    lo: int
    hi: int
    owner: str
    generation: int
    taken_over: bool = False


class ScoredPlace(NamedTuple):
    """The scores of one stored record, by name."""

    no: int
    repeat: int
    failed: bool
    scores: Mapping[str, tuple[Outcome, float | None]]


def plan_samples(store: OpenStore, evaluation: int, samples: Iterable[Sample]) -> Iterator[int]:
    """Store the dataset of an evaluation, so that a worker can read any range of it; yields the samples stored so far.

    It replaces the dataset of an earlier execution. Samples that the store already has are not stored again.
    """
    forget_samples(store, evaluation)
    n = 0
    for portion, _ in sample_portions(samples):
        plan_portion(store, evaluation, n, portion)
        n += len(portion)
        yield n


def forget_samples(store: OpenStore, evaluation: int) -> None:
    """Delete the dataset that an earlier execution of an evaluation stored."""
    forget = "DELETE FROM planned_sample WHERE evaluation = :evaluation"
    store.writer.change(lambda batch: batch.connection.execute(forget, {"evaluation": evaluation}))


def sample_portions(samples: Iterable[Sample]) -> Iterator[tuple[list[Sample], int]]:
    """The samples in portions, each stored in one transaction, with the size of a portion in characters."""
    portion: list[Sample] = []
    size = 0
    for sample in samples:
        portion.append(sample)
        values = (sample.input, sample.reference, *sample.choices, *sample.contexts, sample.metadata)
        size += sum(len(value) if isinstance(value, str) else len(to_json(value)) for value in values if value)
        if len(portion) == _PORTION or size >= _PORTION_BYTES:
            yield portion, size
            portion, size = [], 0
    if portion:
        yield portion, size


def most_in_lease(n: int, size: int, wanted: int) -> int:
    """How many samples a lease has: as many as wanted, fewer where they are long, but at least one.

    Args:
        n: samples of a portion.
        size: of the portion, in characters.
        wanted: samples.

    >>> most_in_lease(2000, 800_000, 200), most_in_lease(8, 8_000_000, 200), most_in_lease(1, 90_000_000, 200)
    (200, 8, 1)
    """
    return min(wanted, max(1, _PORTION_BYTES * n // max(1, size)))


def plan_portion(store: OpenStore, evaluation: int, first: int, samples: Sequence[Sample]) -> None:
    """Store a part of the dataset from place `first` on; samples that are already stored do not change.

    Raises:
        StoreError: it is unknown whether the part was stored; the same call may be repeated.
    """
    store.writer.change(partial(_plan_portion, evaluation=evaluation, first=first, samples=samples))


def _plan_portion(batch: Batch, *, evaluation: int, first: int, samples: Sequence[Sample]) -> None:
    batch.flush_at_commit()  # the caller does not check later whether it was stored
    packed = [pack_sample(sample) for sample in samples]
    hashes = [key for key, _ in packed]
    stored_hashes = set(
        batch.connection.execute("SELECT hash FROM sample WHERE hash IN :hashes", {"hashes": hashes}).scalars()
    )
    # In order of the hash: two evaluations that add the same samples in different orders would deadlock.
    new_samples = sorted(
        {
            key: (sample, body) for sample, (key, body) in zip(samples, packed, strict=True) if key not in stored_hashes
        }.items()
    )
    if new_samples:
        columns = {
            "hashes": [key for key, _ in new_samples],
            "ids": [sample.id for _, (sample, _) in new_samples],
            "groups": [sample.group for _, (sample, _) in new_samples],
            "clusters": [sample.cluster for _, (sample, _) in new_samples],
            "bodies": [batch.packer.pack("sample", body) for _, (_, body) in new_samples],
        }
        batch.connection.execute(_ADD_SAMPLES, columns)
    nos = list(range(first, first + len(samples)))
    batch.connection.execute(_PLAN, {"evaluation": evaluation, "nos": nos, "hashes": hashes})


def open_leases(store: OpenStore, run: int, plan: str) -> None:
    """Announce leases of a run, for which workers then wait; the leases of an earlier execution become void."""

    def reopen(batch: Batch) -> None:
        batch.connection.execute("DELETE FROM lease WHERE run = :run", {"run": run})
        batch.connection.execute(_HOLD, {"run": run, "plan": plan, "open": OPEN})

    store.writer.change(reopen)


def add_leases(store: OpenStore, runs: Collection[int], plan: str, places: range, size: int) -> None:
    """Cut samples of runs into ranges that workers can take, after `open_leases` and while its leases are valid.

    Args:
        store: a PostgreSQL store.
        runs: their numbers.
        plan: identifies this execution.
        places: of the samples.
        size: samples of a range.
    """
    values = {"plan": plan, "lo": places.start, "hi": places.stop, "size": size, "open": OPEN}

    def cut(batch: Batch) -> None:
        batch.flush_at_commit()
        for run in sorted(runs):
            batch.connection.execute(_CUT, {"run": run, **values})

    store.writer.change(cut)


def close_leases(store: OpenStore, runs: Collection[int], plan: str) -> None:
    """Declare that no more leases of these runs will follow."""
    close = "DELETE FROM lease WHERE run IN :runs AND plan = :plan AND lo = :open"

    def end(batch: Batch) -> None:
        batch.flush_at_commit()
        batch.connection.execute(close, {"runs": list(runs), "plan": plan, "open": OPEN})

    store.writer.change(end)


def change_grants(store: OpenStore, plan: str, granted: Mapping[int, Collection[int]], closed: Collection[int]) -> None:
    """Grant samples to workers, and close runs that need no more.

    Args:
        store: a PostgreSQL store.
        plan: identifies the execution.
        granted: number of a run -> places of samples; those that are granted already stay as they are.
        closed: runs of which nothing more is begun; samples that a worker has taken are still stored.
    """

    def change(batch: Batch) -> None:
        batch.flush_at_commit()  # the leading worker takes a grant that is gone for one that is done
        for run, places in sorted(granted.items()):
            batch.connection.execute(_GRANT, {"run": run, "plan": plan, "places": sorted(places), "open": OPEN})
        for run in sorted(closed):
            batch.connection.execute(_CLOSE, {"run": run, "open": OPEN})

    store.writer.change(change)


def leases_left(connection: Connection, run: int, plan: str) -> int:
    """The number of ranges of a run that are not done."""
    return int(connection.execute(_LEFT, {"run": run, "plan": plan, "stopped": STOPPED}).scalar())


def stop_run(store: OpenStore, run: int, plan: str, error: ModelError) -> None:
    """End a run for all workers of this execution: nothing of it is taken any more, no record in flight is stored.

    The first error is kept as the reason, unless it says that another worker has it.
    """
    row = {"run": run, "plan": plan, "stopped": STOPPED, "kind": error.kind, "reason": str(error)}

    def stop(batch: Batch) -> None:
        has_leases = batch.connection.execute(_VOID, row).scalar() is not None
        batch.connection.execute(_STOP if has_leases else _STATE_REASON, row)

    store.writer.change(stop)


def stop_of(connection: Connection, run: int, plan: str) -> ModelError | None:
    """Why a run was stopped; None where it was not."""
    for kind, reason in connection.execute(_STOPPED, {"run": run, "plan": plan, "stopped": STOPPED}).tuples():
        return ModelError(reason, kind=kind, ends_run=True)
    return None


def granted_places(connection: Connection, plan: str) -> dict[int, set[int]]:
    """Number of each run -> places of the samples that are granted and not done."""
    places: dict[int, set[int]] = {}
    for run, no in connection.execute(_GRANTED, {"plan": plan}).tuples():
        places.setdefault(run, set()).add(no)
    return places


def is_taken_over(connection: Connection, run: int, plan: str) -> bool:
    """Whether a later execution has leases of a run, so that those of `plan` are void for good."""
    query = "SELECT count(*) FROM lease WHERE run = :run AND plan <> :plan"
    return bool(connection.execute(query, {"run": run, "plan": plan}).scalar())


def open_runs(connection: Connection, evaluation: int) -> set[int]:
    """Numbers of the runs of an evaluation whose end is not stored: they run, or their main process was killed."""
    query = "SELECT num FROM run WHERE evaluation = :evaluation AND state = 'open'"
    return set(connection.execute(query, {"evaluation": evaluation}).scalars())


def planned_range(store: OpenStore, evaluation: int, sample_range: Lease) -> list[tuple[int, Sample]]:
    """(place, sample) of each sample of a range."""
    with store.reading() as connection:
        unpacker = unpacker_of(connection)
        values = {"evaluation": evaluation, "lo": sample_range.lo, "hi": sample_range.hi}
        return [
            (no, unpack_sample(ident, group, cluster, unpacker.unpack(body)))
            for no, ident, group, cluster, body in connection.execute(_READ, values).tuples()
        ]


def planned_samples(store: OpenStore, evaluation: int) -> list[Sample]:
    """The whole dataset of an evaluation, in order."""
    return [sample for _, sample in planned_range(store, evaluation, Lease(0, 0, _MOST_SAMPLES, "", 0))]


def done_in_range(store: OpenStore, sample_range: Lease) -> dict[tuple[int, int], bool]:
    """(place, repeat) of each stored record of a range -> whether it failed."""
    with store.reading() as connection:
        rows = connection.execute(
            _DONE, {"run": sample_range.run, "lo": sample_range.lo, "hi": sample_range.hi}
        ).tuples()
        return {(no, repeat): bool(failed) for no, repeat, failed in rows}


def stored_scores(connection: Connection, run: int, places: Collection[int]) -> Iterator[ScoredPlace]:
    """The scores of a run's records at some places of its dataset, in the order of the dataset."""
    records: dict[tuple[int, int], ScoredPlace] = {}
    values = {"run": run, "places": sorted(places)}
    for no, repeat, failed, name, outcome, value in connection.execute(_STORED, values).tuples():
        record = records.setdefault((no, repeat), ScoredPlace(no, repeat, bool(failed), {}))
        if name is not None:
            records[no, repeat] = record._replace(scores={**record.scores, name: (OUTCOMES[outcome], value)})
    return iter(records.values())


@dataclass(frozen=True, slots=True)
class LeaseHolder:
    """A worker as the leases of one run name it.

    Args:
        run: its number.
        plan: of this execution.
        owner: the worker.
    """

    run: int
    plan: str
    owner: str

    def take(self, batch: Batch, n: int, share: int = 1) -> list[Lease]:
        """Take up to `n` ranges that no worker holds.

        Args:
            batch: an open transaction.
            n: the most ranges.
            share: at most one in so many of the free ranges is taken, but at least one. With twice the number of
                workers, the portions shrink towards the end, so that all workers end at about the same time (guided
                self-scheduling, C. D. Polychronopoulos and D. J. Kuck, IEEE Transactions on Computers C-36, 1987).
        """
        values = {"run": self.run, "plan": self.plan, "owner": self.owner, "n": n, "share": share}
        leases = [
            Lease(self.run, lo, hi, self.owner, generation, before not in {"", self.owner})
            for lo, hi, generation, before in batch.connection.execute(_TAKE, values).tuples()
        ]
        return sorted(leases, key=lambda lease: lease.lo)

    def renew(self, batch: Batch, los: Collection[int]) -> set[int]:
        """Renew the ranges that begin at these places; the beginnings of those that are still held."""
        values = {"run": self.run, "owner": self.owner, "los": tuple(los)}
        return set(batch.connection.execute(_RENEW, values).scalars())


@dataclass(frozen=True, slots=True)
class EndLease(Operation):
    """Mark a range as finished. Handed over after the range's records, so it is written with or after them."""

    rank: ClassVar[int] = 3
    urgent: ClassVar[bool] = False
    held: Lease

    @classmethod
    def apply(cls, batch: Batch, operations: Sequence[EndLease]) -> Sequence[None]:
        """One after the other; no effect where another worker holds the range by now."""
        for end in operations:
            held = end.held
            values = {"run": held.run, "lo": held.lo, "owner": held.owner, "generation": held.generation}
            batch.connection.execute(_END, values)
        return [None] * len(operations)


def still_held(connection: Connection, leases: Collection[Lease]) -> set[Lease]:
    """The leases that their workers still hold, locked until the transaction ends."""
    held: set[Lease] = set()
    for run, owner in sorted({(entry.run, entry.owner) for entry in leases}):
        of_owner = {entry.lo: entry for entry in leases if (entry.run, entry.owner) == (run, owner)}
        rows = connection.execute(_HELD, {"run": run, "owner": owner, "los": sorted(of_owner)}).tuples()
        held |= {of_owner[lo] for lo, generation in rows if of_owner[lo].generation == generation}
    return held


def drop_leases(connection: Connection, runs: Sequence[int]) -> None:
    """Delete the leases of runs that are deleted, and the plans of their evaluations."""
    if connection.dialect == "postgresql":
        connection.execute(_FORGET_PLANS, {"runs": runs})
        connection.execute("DELETE FROM lease WHERE run IN :runs", {"runs": runs})
