"""The journal as the session sees it, and the operations behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlalchemy import Insert, bindparam, select, update
from sqlalchemy.dialects.sqlite import insert

from steelyard.errors import StoreError
from steelyard.store import schema
from steelyard.store.writer import Batch, LoopTicket, Operation, Ticket, Writer

_FIND = select(schema.reply.c.key, schema.reply.c.body).where(schema.reply.c.key.in_(bindparam("keys", expanding=True)))
_KEEP: Insert = insert(schema.reply).on_conflict_do_nothing()


@dataclass(frozen=True, slots=True)
class Find:
    """Look a key up."""

    rank: ClassVar[int] = 0
    writes: ClassVar[bool] = False
    key: bytes
    ticket: Ticket | None

    @classmethod
    def apply(cls, batch: Batch, operations: Sequence[Find]) -> Sequence[bytes | None]:
        """One query for all."""
        rows = batch.connection.execute(_FIND, {"keys": [one.key for one in operations]}).all()
        found = {bytes(key): batch.unpacker.unpack(bytes(body)) for key, body in rows}
        return [found.get(one.key) for one in operations]


@dataclass(frozen=True, slots=True)
class Keep:
    """Keep a reply."""

    rank: ClassVar[int] = 0
    writes: ClassVar[bool] = True
    key: bytes
    body: bytes
    ticket: Ticket | None

    @classmethod
    def apply(cls, batch: Batch, operations: Sequence[Keep]) -> Sequence[None]:
        """One statement for all; the first reply of a key stays."""
        pack = batch.packer.pack
        batch.connection.execute(_KEEP, [{"key": one.key, "body": pack("reply", one.body)} for one in operations])
        return [None] * len(operations)


@dataclass(frozen=True, slots=True)
class Spend:
    """Add to what an evaluation has spent."""

    rank: ClassVar[int] = 1
    writes: ClassVar[bool] = True
    evaluation: int
    calls: int
    tokens: int
    ticket: Ticket | None

    @classmethod
    def apply(cls, batch: Batch, operations: Sequence[Spend]) -> Sequence[None]:
        """One update per evaluation."""
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
        return [None] * len(operations)


class StoreJournal:
    """Replies kept in the store, for one evaluation."""

    def __init__(self, writer: Writer, evaluation: int) -> None:
        self._writer = writer
        self._evaluation = evaluation

    @property
    def refuse(self) -> StoreError | None:
        """Why nothing more may be sent, or None."""
        return self._writer.refuse

    async def find(self, key: bytes) -> bytes | None:
        """The body kept under `key`, or None."""
        ticket = _ticket()
        found: bytes | None = await self._do(Find(key, ticket), ticket)
        return found

    async def commit(self, key: bytes, body: bytes) -> None:
        """Keep `body`; returns once it is on disk."""
        ticket = _ticket()
        await self._do(Keep(key, body, ticket), ticket)

    async def book(self, calls: int, tokens: int) -> None:
        """Add to what the evaluation has spent; returns once it is on disk."""
        ticket = _ticket()
        await self._do(Spend(self._evaluation, calls, tokens, ticket), ticket)

    def correct(self, calls: int, tokens: int) -> None:
        """Add to it without waiting."""
        self._writer.submit(Spend(self._evaluation, calls, tokens, None))

    async def _do(self, operation: Operation, ticket: LoopTicket) -> Any:
        self._writer.submit(operation)
        return await ticket.future


def _ticket() -> LoopTicket:
    loop = asyncio.get_running_loop()
    return LoopTicket(loop, loop.create_future())
