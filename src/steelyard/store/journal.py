"""The journal as the session sees it, and the operations behind it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlalchemy import bindparam, select, update

from steelyard.errors import StoreError
from steelyard.store import schema
from steelyard.store.conflicts import add_or_leave, add_or_set
from steelyard.store.spending import put_spending
from steelyard.store.tickets import LoopTicket, Ticket
from steelyard.store.writer import Batch, Operation, Writer

_FIND = select(schema.reply.c.key, schema.reply.c.body).where(schema.reply.c.key.in_(bindparam("keys", expanding=True)))


@dataclass(frozen=True, slots=True)
class Find:
    """Look a key up."""

    rank: ClassVar[int] = 0
    writes: ClassVar[bool] = False
    urgent: ClassVar[bool] = True
    outlives: ClassVar[bool] = True
    key: bytes
    ticket: Ticket | None

    @classmethod
    def apply(cls, batch: Batch, operations: Sequence[Find]) -> Sequence[bytes | None]:
        """One query for all."""
        found = _bodies(batch, [one.key for one in operations])
        return [found.get(one.key) for one in operations]


def _bodies(batch: Batch, keys: Sequence[bytes]) -> dict[bytes, bytes]:
    """The bodies that are kept, without those that are damaged: they are asked again and written over."""
    found: dict[bytes, bytes] = {}
    for key, body in batch.connection.execute(_FIND, {"keys": keys}).all():
        with contextlib.suppress(StoreError):
            found[bytes(key)] = batch.unpacker.unpack(bytes(body))
    return found


@dataclass(frozen=True, slots=True)
class Keep:
    """Keep a reply."""

    rank: ClassVar[int] = 0
    writes: ClassVar[bool] = True
    urgent: ClassVar[bool] = True
    outlives: ClassVar[bool] = True
    key: bytes
    body: bytes
    ticket: Ticket | None

    @classmethod
    def apply(cls, batch: Batch, operations: Sequence[Keep]) -> Sequence[bytes]:
        """One statement for all. The first reply of a key stays; whoever came later gets it back."""
        if batch.shared:
            return _keep_first(batch, operations)
        pack = batch.packer.pack
        kept = {} if batch.alone else _bodies(batch, [one.key for one in operations])
        rows = [{"key": one.key, "body": pack("reply", one.body)} for one in operations if one.key not in kept]
        if rows:
            _write_over(batch, rows)
        return [kept.get(one.key, one.body) for one in operations]


def _keep_first(batch: Batch, operations: Sequence[Keep]) -> Sequence[bytes]:
    """The same where another process may add the same key at the same moment: whoever came first is known afterwards.

    Keys are in order, so that two processes that add the same ones wait for each other and not both.
    """
    pack, mine = batch.packer.pack, {one.key: one.body for one in reversed(operations)}
    rows = [{"key": key, "body": pack("reply", mine[key])} for key in sorted(mine)]
    insert = add_or_leave(batch.connection.dialect.name, schema.reply).returning(schema.reply.c.key)
    added = {bytes(key) for key in batch.connection.scalars(insert, rows)}
    others = [row for row in rows if row["key"] not in added]
    kept = _bodies(batch, [row["key"] for row in others]) if others else {}
    if damaged := [row for row in others if row["key"] not in kept]:
        _write_over(batch, damaged)
    return [kept.get(one.key, mine[one.key]) for one in operations]


def _write_over(batch: Batch, rows: Sequence[dict[str, bytes]]) -> None:
    """Add replies. A row that stands in the way is a damaged one: one that can be read is not written again."""
    insert = add_or_set(batch.connection.dialect.name, schema.reply, ("key",), ("body",))
    batch.connection.execute(insert, rows)


@dataclass(frozen=True, slots=True)
class Spend:
    """Add to what an evaluation has spent."""

    rank: ClassVar[int] = 1
    writes: ClassVar[bool] = True
    urgent: ClassVar[bool] = True
    outlives: ClassVar[bool] = False
    evaluation: int
    calls: int
    tokens: int
    ticket: Ticket | None
    money: int = 0
    millis: int = 0

    @classmethod
    def apply(cls, batch: Batch, operations: Sequence[Spend]) -> Sequence[None]:
        """One update per evaluation, and one more where money or time were counted."""
        table = schema.evaluation
        for num in sorted({one.evaluation for one in operations}):
            mine = [one for one in operations if one.evaluation == num]
            batch.connection.execute(
                update(table)
                .where(table.c.num == num)
                .values(
                    calls=table.c.calls + sum(one.calls for one in mine),
                    tokens=table.c.tokens + sum(one.tokens for one in mine),
                )
            )
            money, millis = sum(one.money for one in mine), sum(one.millis for one in mine)
            if money or millis:
                put_spending(batch, num, money, millis)
        return [None] * len(operations)


class StoreJournal:
    """Replies kept in the store, for one evaluation.

    Args:
        writer: of the store.
        evaluation: whose spendings are booked.
        asked: the keys that this process has asked for; one for all journals of a writer.
    """

    def __init__(self, writer: Writer, evaluation: int, asked: Asked) -> None:
        self._writer = writer
        self._evaluation = evaluation
        self._asked = asked

    @property
    def refuse(self) -> StoreError | None:
        """Why nothing more may be sent, or None."""
        return self._writer.refuse

    async def find(self, key: bytes) -> bytes | None:
        """The body kept under `key`, or None.

        A journal that holds nothing but what this process put there need not be looked into for a key that was never
        asked here: that saves a tenth of a sample's CPU on a first run.
        """
        asked_before = self._asked.add(key)
        if self._writer.alone and not asked_before:
            return None
        ticket = _ticket()
        found: bytes | None = await self._do(Find(key, ticket), ticket)
        return found

    async def commit(self, key: bytes, body: bytes) -> bytes:
        """Keep `body`; returns once it is on disk, with the body kept: another process's where that was first."""
        self._asked.add(key)
        ticket = _ticket()
        kept: bytes = await self._do(Keep(key, body, ticket), ticket)
        return kept

    async def book(self, calls: int, tokens: int, money: int = 0, millis: int = 0) -> None:
        """Add to what the evaluation has spent; returns once it is on disk."""
        ticket = _ticket()
        await self._do(Spend(self._evaluation, calls, tokens, ticket, money, millis), ticket)

    def correct(self, calls: int, tokens: int, money: int = 0, millis: int = 0) -> None:
        """Add to it without waiting."""
        self._writer.submit(Spend(self._evaluation, calls, tokens, None, money, millis))

    async def _do(self, operation: Operation, ticket: LoopTicket) -> Any:
        self._writer.submit(operation)
        return await ticket.future


class Asked:
    """A Bloom filter of keys (B. H. Bloom, CACM 1970): 2 MiB, three of the key's own bytes triples as hashes.

    It never forgets a key; of 100,000 keys it takes one in 180,000 others for known, which costs a look-up.
    """

    def __init__(self) -> None:
        self._bits = bytearray(1 << 21)

    def add(self, key: bytes) -> bool:
        """Note a key; whether it may have been noted before."""
        known = True
        for at in (0, 3, 6):
            byte, bit = int.from_bytes(key[at : at + 3], "big") >> 3, 1 << (key[at + 2] & 7)
            known = known and bool(self._bits[byte] & bit)
            self._bits[byte] |= bit
        return known


def _ticket() -> LoopTicket:
    loop = asyncio.get_running_loop()
    return LoopTicket(loop, loop.create_future())
