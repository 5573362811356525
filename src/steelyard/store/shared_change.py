"""Changes of the rows that all workers of an evaluation change, asked of the store's writer by a coroutine.

They lock rows until the transaction commits, and the writer gathers several into one transaction. All workers lock in
one order, so that no two wait for each other.
"""

from __future__ import annotations

from asyncio import get_running_loop
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeVar

from steelyard.store.writer import Batch, Ticket, Writer

T = TypeVar("T")

NOW: Final = "CAST(extract(epoch FROM clock_timestamp()) AS DOUBLE PRECISION)"
"""The database's time in seconds since 1970: clocks of workers may differ."""


@dataclass(frozen=True, slots=True)
class SharedChange:
    """A change of rows that other workers change too.

    Args:
        locks: names the rows that it locks; changes of one transaction are made in this order.
        change: makes it; what it returns answers the ticket.
    """

    rank: ClassVar[int] = 4
    writes: ClassVar[bool] = True
    urgent: ClassVar[bool] = True
    outlives: ClassVar[bool] = False
    locks: bytes
    change: Callable[[Batch], Any]
    ticket: Ticket | None = None

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
    writer.submit(SharedChange(locks, change, ticket))
    answer: T = await ticket
    return answer
