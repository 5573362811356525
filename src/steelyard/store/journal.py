"""Writing during a run: replies to the journal, spending, and completed records.

A reply is committed before anything uses it, so that a process that is killed has paid for at most what was in flight.
"""

# Why it is so, and what was rejected: docs/decisions/store-journal.md

from __future__ import annotations

import asyncio
import contextlib
from asyncio import Future
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from steelyard.analysis.stopping import Stopped
from steelyard.errors import StoreError
from steelyard.models.budget import Budget
from steelyard.models.prices import billionths
from steelyard.session.replies import unpack_reply, unpack_sent
from steelyard.store.counters import CountRetry
from steelyard.store.database import schema
from steelyard.store.database.backend import Lock
from steelyard.store.open_store import OpenStore
from steelyard.store.records import reply_bodies, unpacker_of
from steelyard.store.run import Run
from steelyard.store.run_rows import InsertRecord, end_run
from steelyard.store.worker_rows import claim_call
from steelyard.store.writer import Batch, Operation, Writer
from steelyard.types import Record, Reply

_SPEND: Final = """UPDATE evaluation SET calls = calls + :calls, tokens = tokens + :tokens, money = money + :money,
    millis = millis + :millis WHERE num = :num"""
_HASH_BITS: Final = 23
"""Bits of a key that make one hash of the filter, which has 2 to the power of it: 1 MiB."""
_MASK: Final = (1 << _HASH_BITS - 3) - 1
_LOOK_AGAIN_S: Final = 0.2
"""Seconds between a worker's looks for the reply of a call that another worker sends for all."""
_INSERT_FIRST: Final = """INSERT INTO reply (key, body) SELECT * FROM unnest(:keys::bytea[], :bodies::bytea[])
    ON CONFLICT DO NOTHING RETURNING key"""
"""Of PostgreSQL; the keys that were not there before."""


@dataclass(frozen=True, slots=True)
class FindReply(Operation):
    """Look up the reply of a key."""

    rank: ClassVar[int] = 0
    writes: ClassVar[bool] = False
    outlives: ClassVar[bool] = True
    key: bytes

    @classmethod
    def apply(cls, batch: Batch, operations: Sequence[FindReply]) -> Sequence[bytes | None]:
        """One query for all."""
        bodies = _bodies(batch, [find.key for find in operations])
        return [bodies.get(find.key) for find in operations]


def _bodies(batch: Batch, keys: Sequence[bytes]) -> dict[bytes, bytes]:
    """The stored bodies that can be read; damaged replies are requested again and replaced."""
    bodies: dict[bytes, bytes] = {}
    for key, body in reply_bodies(batch.connection, keys).items():
        with contextlib.suppress(StoreError):
            bodies[key] = batch.unpacker.unpack(bytes(body))
    return bodies


@dataclass(frozen=True, slots=True)
class InsertReply(Operation):
    """Store a reply."""

    rank: ClassVar[int] = 0
    outlives: ClassVar[bool] = True
    key: bytes
    body: bytes

    @classmethod
    def apply(cls, batch: Batch, operations: Sequence[InsertReply]) -> Sequence[bytes]:
        """One statement for all. The first reply of a key stays; whoever came later gets it back."""
        if batch.shared:
            return _insert_first(batch, operations)
        pack = batch.packer.pack
        stored = {} if batch.alone else _bodies(batch, [reply.key for reply in operations])
        rows = [
            {"key": reply.key, "body": pack("reply", reply.body)} for reply in operations if reply.key not in stored
        ]
        if rows:
            _write_over(batch, rows)
        return [stored.get(reply.key, reply.body) for reply in operations]


def _insert_first(batch: Batch, operations: Sequence[InsertReply]) -> Sequence[bytes]:
    """The same for a database shared by processes: if two insert one key at once, the first reply wins and is returned.

    Keys are sorted, so that two processes that insert the same ones do not deadlock.
    """
    pack, bodies = batch.packer.pack, {reply.key: reply.body for reply in reversed(operations)}
    rows = [{"key": key, "body": pack("reply", bodies[key])} for key in sorted(bodies)]
    columns = {"keys": [row["key"] for row in rows], "bodies": [row["body"] for row in rows]}
    added = {bytes(key) for key in batch.connection.execute(_INSERT_FIRST, columns).scalars()}
    existing = [row for row in rows if row["key"] not in added]
    stored = _bodies(batch, [row["key"] for row in existing]) if existing else {}
    if damaged := [row for row in existing if row["key"] not in stored]:
        _write_over(batch, damaged)
    return [stored.get(reply.key, bodies[reply.key]) for reply in operations]


def _write_over(batch: Batch, rows: Sequence[dict[str, bytes]]) -> None:
    """Insert replies; an existing row is overwritten, since only damaged ones get here."""
    batch.connection.insert_rows(schema.insert_or_update(schema.reply, ("key",), ("body",)), rows)


@dataclass(frozen=True, slots=True)
class Spend(Operation):
    """Add to what an evaluation has spent."""

    rank: ClassVar[int] = 1
    evaluation: int
    calls: int
    tokens: int
    money: int = 0
    millis: int = 0

    @classmethod
    def apply(cls, batch: Batch, operations: Sequence[Spend]) -> Sequence[None]:
        """One update per evaluation."""
        for num in sorted({spend.evaluation for spend in operations}):
            of_evaluation = [spend for spend in operations if spend.evaluation == num]
            amounts = [(spend.calls, spend.tokens, spend.money, spend.millis) for spend in of_evaluation]
            calls, tokens, money, millis = map(sum, zip(*amounts, strict=True))
            values = {"num": num, "calls": calls, "tokens": tokens, "money": money, "millis": millis}
            batch.connection.execute(_SPEND, values)
        return [None] * len(operations)


@dataclass(frozen=True, slots=True)
class SpendWithin(Operation):
    """Book a call of an evaluation whose calls several processes send, unless a limit would be passed.

    Its answer names the limit that is used up, `calls`, `tokens` or `money`; "" where the call is booked.
    """

    rank: ClassVar[int] = 1
    evaluation: int
    budget: Budget
    tokens: int
    money: int

    @classmethod
    def apply(cls, batch: Batch, operations: Sequence[SpendWithin]) -> Sequence[str]:
        """In order, with one update each: the row is locked until the transaction ends, so no process overtakes."""
        # A server that crashed and forgot calls would give them again, and the budget would be passed.
        batch.flush_at_commit()
        spent = {num: _locked_spending(batch, num) for num in sorted({spend.evaluation for spend in operations})}
        before = {num: list(amounts) for num, amounts in spent.items()}
        answers = []
        for spend in operations:
            amounts = spent[spend.evaluation]
            answers.append(refused := _refused(spend, amounts))
            if not refused:
                spent[spend.evaluation] = [
                    amount + more for amount, more in zip(amounts, (1, spend.tokens, spend.money), strict=True)
                ]
        for num, amounts in spent.items():
            calls, tokens, money = (total - booked for total, booked in zip(amounts, before[num], strict=True))
            values = {"num": num, "calls": calls, "tokens": tokens, "money": money, "millis": 0}
            batch.connection.execute(_SPEND, values)
        return answers


def _locked_spending(batch: Batch, evaluation: int) -> list[int]:
    """Calls, tokens and billionths that an evaluation has booked; nobody else books until the transaction ends."""
    query = "SELECT calls, tokens, money FROM evaluation WHERE num = :num FOR UPDATE"
    (spent,) = batch.connection.execute(query, {"num": evaluation}).tuples()
    return list(spent)


def _refused(spend: SpendWithin, spent: Sequence[int]) -> str:
    """Which limit a call would pass."""
    limits, (calls, tokens, money) = spend.budget, spent
    if limits.calls is not None and calls >= limits.calls:
        return "calls"
    if limits.tokens is not None and tokens + spend.tokens > limits.tokens:
        return "tokens"
    if limits.money is not None and money + spend.money > billionths(limits.money):
        return "money"
    return ""


class StoreJournal:
    """The journal of replies, for one evaluation.

    Args:
        writer: of the store.
        evaluation: whose spendings are booked.
        seen: the keys that this process has asked for; one for all journals of a writer.
        owner: this worker, where several processes share the samples; "" where there is one process.
    """

    def __init__(self, writer: Writer, evaluation: int, seen: SeenKeys, owner: str = "") -> None:
        self._writer = writer
        self._evaluation = evaluation
        self._seen = seen
        self._owner = owner
        writer.pays = True
        # The writer's own method: it is asked before every call of a model.
        self.store_error = writer.store_error

    async def find(self, key: bytes) -> bytes | None:
        """The stored body of `key`, or None.

        A journal with replies of this process alone is not searched for a key that this process never asked for: that
        saves a tenth of a sample's CPU on a first run.
        """
        seen_before = self._seen.add(key)
        if self._writer.alone and not seen_before:
            return None
        # By the writer's thread, although nothing is written: it looks up all keys that arrived together in one query.
        ticket = _ticket()
        self._writer.submit(FindReply(key, ticket=ticket))
        body: bytes | None = await ticket
        return body

    async def claim(self, key: bytes) -> bytes | None:
        """Wait for the worker that sends a call shared by all samples; returns the body that it stored.

        None where this process is to send the call: it is the only one, or the first, or the first has died.
        """
        if not self._owner:
            return None
        while True:
            ours = await claim_call(self._writer, self._evaluation, key, self._owner)
            body = await self.find(key)
            if ours or body is not None:
                return body
            await asyncio.sleep(_LOOK_AGAIN_S)

    async def commit(self, key: bytes, body: bytes) -> bytes:
        """Store `body`; returns once it is on disk, with the stored body: another process's if that was first.

        The key has been looked for before, which noted it.
        """
        ticket = _ticket()
        self._writer.submit(InsertReply(key, body, ticket=ticket))
        stored: bytes = await ticket
        return stored

    async def book(self, calls: int, tokens: int, money: int = 0, millis: int = 0) -> None:
        """Add to what the evaluation has spent; returns once it is on disk."""
        ticket = _ticket()
        self._writer.submit(Spend(self._evaluation, calls, tokens, money, millis, ticket=ticket))
        await ticket

    async def book_within(self, budget: Budget, tokens: int, money: int) -> str:
        """Book one call where several processes spend one budget; see `models.budget.SharedLedger`."""
        ticket = _ticket()
        self._writer.submit(SpendWithin(self._evaluation, budget, tokens, money, ticket=ticket))
        refused: str = await ticket
        return refused

    def correct(self, calls: int, tokens: int, money: int = 0, millis: int = 0) -> None:
        """Add to what the evaluation has spent, without waiting."""
        # The reservation has been on disk since before the call: a kill loses the difference to what was charged.
        self._writer.submit(Spend(self._evaluation, calls, tokens, money, millis))

    def retried(self, model: str, fault: str) -> None:
        """Count an attempt that failed and is sent again, without waiting."""
        self._writer.submit(CountRetry(self._evaluation, model, fault))


class SeenKeys:
    """A Bloom filter of keys (B. H. Bloom, CACM 1970): it never forgets one.

    Of the others it takes one in 20,000 for known after 100,000 keys and one in 37 after a million, which costs a
    look-up each.
    """

    def __init__(self) -> None:
        self._bits = bytearray(1 << _HASH_BITS - 3)

    def add(self, key: bytes) -> bool:
        """Note a key; whether it may have been noted before."""
        # A key is a hash itself: three times 23 of its 80 bits are the three hashes of the filter.
        number, known = int.from_bytes(key, "big"), True
        for _ in range(3):
            place, bit = number >> 3 & _MASK, 1 << (number & 7)
            known = known and bool(self._bits[place] & bit)
            self._bits[place] |= bit
            number >>= _HASH_BITS
        return known


def _ticket() -> Future[Any]:
    return asyncio.get_running_loop().create_future()


def find_reply(store: OpenStore, key: bytes) -> Reply | None:
    """The stored reply of `key`, or None; for callers without a writer.

    Raises:
        StoreError: it is damaged.
    """
    body = find_body(store, key)
    return None if body is None else unpack_reply(key.hex(), body)


def find_request(store: OpenStore, key: bytes) -> str:
    """The request that was stored with the reply of `key`: method and address, a line break, the body; "" without one.

    Raises:
        StoreError: the reply is damaged.
    """
    body = find_body(store, key)
    return unpack_sent(body) if body else ""


def find_body(store: OpenStore, key: bytes) -> bytes | None:
    """The stored body of `key` as JSON, or None; for callers without a writer.

    Raises:
        StoreError: it is damaged.
    """
    with store.reading() as connection:
        body = connection.execute("SELECT body FROM reply WHERE key = :key", {"key": key}).scalar()
        return None if body is None else unpacker_of(connection).unpack(bytes(body))


class RunWriter:
    """Writes the records of one run; holds its lock until `finish` or `abandon`."""

    def __init__(self, writer: Writer, run: Run, lock: Lock) -> None:
        self.run = run
        self._writer = writer
        self._lock = lock
        self._stages = run.stages

    @property
    def backlog(self) -> int:
        """Operations that wait to be written."""
        return self._writer.backlog

    def insert(self, no: int, record: Record, *, replaces: bool = False) -> None:
        """Hand over a record; it is on disk a few milliseconds later, and at the latest after `finish`.

        Args:
            no: the sample's place in the dataset.
            record: what to store.
            replaces: whether the place holds a record already, which this one replaces.

        Raises:
            StoreError: the store failed before.
        """
        self._writer.submit(InsertRecord(self.run.num, no, record, self._stages, replaces=replaces))

    def finish(self, state: str, reason: str, seconds: float, stopped: Stopped | None = None) -> None:
        """Store the final state, add `seconds` of work, and release the run.

        Args:
            state: `finished`, `interrupted` or `broken`.
            reason: why, where it is not finished.
            seconds: of work.
            stopped: what a stopping rule decided, and on which places of the dataset (None: on all).

        Raises:
            StoreError: it could not be written.
        """
        try:
            self._writer.change(lambda batch: end_run(batch, self.run.num, state, reason, seconds, stopped))
        finally:
            self._lock.release()

    def abandon(self) -> None:
        """Release the run without finishing it."""
        self._lock.release()
