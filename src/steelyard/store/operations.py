"""What the writer is handed: operations, and what they work with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from sqlalchemy import Connection

from steelyard.store.codec import Packer, Unpacker
from steelyard.store.tickets import Ticket


@dataclass(frozen=True, slots=True)
class Batch:
    """What operations work with: an open transaction, the packer and unpacker of bodies, the numbers of words.

    `alone` is `Writer.alone`, and `shared` whether other processes may write at the same time.
    """

    connection: Connection
    packer: Packer
    unpacker: Unpacker
    words: dict[str, int]
    alone: bool = False
    shared: bool = False


class Operation(Protocol):
    """Something for the store to do; those of one type are done together.

    Attributes:
        rank: types are done in this order within a batch.
        writes: whether it changes the store.
        urgent: whether it is done at once; else within `_LATER_S`, and before anything of a higher rank.
        outlives: whether it is done after the connection was lost too: it is about the journal, which all runs share,
            and needs no lock of a run.
        ticket: who waits for it; None where nobody does.
    """

    rank: ClassVar[int]
    writes: ClassVar[bool]
    urgent: ClassVar[bool]
    outlives: ClassVar[bool]

    @property
    def ticket(self) -> Ticket | None:
        """Who waits."""

    @classmethod
    def apply(cls, batch: Batch, operations: Sequence[Any]) -> Sequence[Any]:
        """Do them all and return one value each; run again from the start after a failed transaction."""


@dataclass(frozen=True, slots=True)
class Change:
    """Any rare change: `change` gets the batch and its value answers the ticket."""

    rank: ClassVar[int] = 9
    writes: ClassVar[bool] = True
    urgent: ClassVar[bool] = True
    outlives: ClassVar[bool] = False
    change: Callable[[Batch], Any]
    ticket: Ticket | None = None

    @classmethod
    def apply(cls, batch: Batch, operations: Sequence[Change]) -> Sequence[Any]:
        """One after the other."""
        return [one.change(batch) for one in operations]
