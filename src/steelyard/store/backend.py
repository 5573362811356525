"""What a database has to offer to hold a store, beside the SQL that all of them understand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from steelyard.store.address import Address
from steelyard.store.reserve import Reserve

Durability = Literal["normal", "full"]

Transact = Callable[[Callable[[Connection], Any]], Any]
"""Does something on the writing connection, in a transaction of its own or with others, and waits for it."""


class Lock(Protocol):
    """Held while a run is written; nobody else can have it meanwhile.

    Attributes:
        run: the run's id.
    """

    run: str

    def release(self) -> None:
        """Let others write the run; a second time does nothing."""


class Backend(Protocol):
    """One place for all in which the databases differ.

    Attributes:
        where: the store's place, as it may be shown.
        engine: makes connections; those that write have the options `writing`.
        shared: whether other processes may write while a transaction that writes is open.
        reading: execution options of a connection whose reads are of one moment.
        finding: of one on which each statement sees the newest.
        writing: of one that writes.
    """

    engine: Engine

    @property
    def where(self) -> Path | Address:
        """See above."""

    @property
    def shared(self) -> bool:
        """See above."""

    @property
    def reading(self) -> Mapping[str, Any]:
        """See above."""

    @property
    def finding(self) -> Mapping[str, Any]:
        """See above."""

    @property
    def writing(self) -> Mapping[str, Any]:
        """See above."""

    def exists(self) -> bool:
        """Whether there is anything to open."""

    def make_room(self) -> None:
        """Make what the tables are put into, where that does not need a transaction.

        Raises:
            StoreError: it cannot be made.
        """

    def check(self, connection: Connection) -> None:
        """Refuse a database that cannot hold a store.

        Raises:
            StoreError: what it lacks.
        """

    def exclude_makers(self, connection: Connection) -> None:
        """Let no other process make tables until the transaction ends."""

    def tables(self, connection: Connection) -> set[str]:
        """Names of the tables that are there."""

    def reserve(self) -> Reserve | None:
        """Space that is kept free while a run runs; None where the disk is not ours.

        Raises:
            StoreError: there is none.
        """

    def begin_log(self, connection: Connection) -> None:
        """Do before anything is asked what the first commit would have to wait for."""

    def changes(self, connection: Connection) -> int | None:
        """A number that changes when another connection has changed the database; None where that is not known."""

    def undo(self, connection: Connection) -> None:
        """Make sure that a failed transaction is over."""

    def check_pages(self, connection: Connection, *, deep: bool, notes: list[str]) -> list[str]:
        """What the database itself finds wrong, a line each.

        Args:
            connection: that reads.
            deep: look at the indexes too.
            notes: takes what cannot be looked at.
        """

    def is_passing(self, error: SQLAlchemyError) -> bool:
        """Whether the same transaction may succeed now: it was given up for another one's sake."""

    def is_lost(self, connection: Connection) -> str:
        """Why an idle connection is of no use any more; "" while it is."""

    def lock(self, run: str, transact: Transact) -> Lock:
        """Take the lock of a run.

        Raises:
            StoreError: another process writes it.
        """

    def is_locked(self, run: str) -> bool:
        """Whether a living process writes a run."""
