"""Differences between the databases that can hold a store, the version of its tables, and messages about damage.

`sqlite` and `postgres` implement the protocol `Backend`; everything else is SQL that both understand, see `connection`.
A message about damage names the commands that help.

All tables are created together with the number of their version, which says whether this release reads a store, and no
release adds any later. The release that first changes the tables of a published one increases `VERSION`, and here is
the place of the steps from each number to the next.
"""

# Why it is so, and what was rejected: docs/decisions/store-one-sql.md

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from steelyard.errors import StoreError
from steelyard.plain_json import from_json
from steelyard.store.database import schema
from steelyard.store.database.address import Address
from steelyard.store.database.connection import Connection, DatabaseError
from steelyard.store.database.sqlite_locks import ReserveFile

Durability = Literal["normal", "full"]
Purpose = Literal["snapshot", "latest", "writing"]
"""What a connection is for: reads that all see one moment, reads that each see the newest commits, or writing."""

Transact = Callable[[Callable[[Connection], Any]], Any]
"""Runs a function in a transaction on the writing connection, and waits for its value."""

REPAIR_HINT: Final = "`steelyard verify` lists what is wrong; `steelyard export --salvage` saves what can be read"
_SIGNS_OF_DAMAGE: Final = ("malformed", "not a database", "disk I/O error", "corrupt", "decode", "has no column")
"""Words of SQLite, and of Python's driver, about a damaged file."""
VERSION: Final = 1
_NAME: Final = "tables"
"""The row of `about` with the number. Stores of development releases have a row `schema` or `version` in its place."""
ROWS: Final = f"SELECT name, value FROM about WHERE name IN ('{_NAME}', 'version', 'schema')"
"""What `check_version` is given."""


class Lock(Protocol):
    """The exclusive lock of a run that is being written, across threads and processes.

    Attributes:
        run: the run's id.
    """

    run: str

    def release(self) -> None:
        """Release the lock; a second call does nothing."""


class Backend(Protocol):
    """A database that holds a store.

    Attributes:
        where: the store's place, as it may be shown: without a password.
        shared: whether other processes may write while a writing transaction is open.
    """

    @property
    def where(self) -> Path | Address:
        """See the class."""

    @property
    def shared(self) -> bool:
        """See the class."""

    def connect(self, purpose: Purpose) -> Connection:
        """Open a connection.

        One that writes is never shared: the lock of a run may belong to it.

        Raises:
            DatabaseError: the database refuses it or cannot be reached.
        """

    def close(self) -> None:
        """Close connections that are kept for the next use."""

    def exists(self) -> bool:
        """Whether the store exists."""

    def create_empty(self) -> None:
        """Create an empty database file and its folder; a server needs none.

        Raises:
            StoreError: it cannot be created.
        """

    def check(self, connection: Connection) -> None:
        """Refuse a database that cannot hold a store.

        Raises:
            StoreError: what it lacks.
        """

    def lock_schema(self, connection: Connection) -> None:
        """Lock the schema against other processes until the transaction ends."""

    def acting_objects(self, connection: Connection) -> list[str]:
        """Names of objects that act when our tables are read or written, such as a view or a trigger: no store has any.

        It is called before any table of a store that exists is read.
        """

    def altered_objects(self, connection: Connection) -> list[str]:
        """Names of tables that are not as this version makes them, and of indexes that a file lacks."""

    def tables(self, connection: Connection) -> set[str]:
        """Names of the store's tables."""

    def reserve(self) -> ReserveFile | None:
        """Reserve disk space while a run is written; None where the disk belongs to a server.

        Raises:
            StoreError: there is not enough space.
        """

    def warm_up(self, connection: Connection) -> None:
        """Do the slow work of the first commit in advance."""

    def gather_statistics(self, connection: Connection) -> None:
        """Tell the database how large the tables have become, as it plans queries by that."""

    def changes(self, connection: Connection) -> int | None:
        """A number that changes when another connection has changed the database; None where that is not known."""

    def check_pages(self, connection: Connection, *, notes: list[str]) -> list[str]:
        """Problems that the database's own integrity check reports, one line each.

        Args:
            connection: that reads.
            notes: a line is added to it for each check that is not possible.
        """

    def is_transient(self, error: DatabaseError) -> bool:
        """Whether a repeat of the transaction may succeed: it failed only because of a concurrent one."""

    def is_lost(self, connection: Connection) -> str:
        """Why nothing can be kept or read over a connection, found in microseconds; "" while all is well.

        A connection to a server is broken, or a file was deleted, replaced or cut off.
        """

    def save(self, connection: Connection) -> str:
        """Save what a lost file still holds to a new one, to which `connect` connects from now on.

        Args:
            connection: to the lost file.

        Returns:
            A sentence for the user; "" of a server, which keeps what was committed.

        Raises:
            StoreError: it can be saved nowhere.
        """

    def lock(self, run: str, transact: Transact, *, beside_workers: bool = False) -> Lock:
        """Take the lock of a run.

        Args:
            run: the run's id.
            transact: runs a function on the writing connection.
            beside_workers: take it even while workers hold the run.

        Raises:
            StoreError: another process writes it.
        """

    def share(self, run: str, transact: Transact) -> None:
        """Hold a run as one of its workers, until the writing connection ends.

        Raises:
            StoreError: the store has one writer at a time.
        """

    def limit_pauses(self, seconds: float, transact: Transact) -> None:
        """Let the database end the writing connection if this process pauses for longer within a transaction."""

    def is_locked(self, run: str) -> bool:
        """Whether a living process writes a run, alone or as one of its workers."""


def read_json(text: Any, what: str) -> dict[str, Any]:
    """An object that is stored as JSON text: a manifest, a scoring version, a decision.

    Args:
        text: as it is stored.
        what: names it in the error.

    Raises:
        StoreError: it is damaged.
    """
    try:
        value = from_json(text)
    except (ValueError, TypeError) as error:
        raise StoreError(f"{what} is damaged: {error}. {REPAIR_HINT}") from error
    if not isinstance(value, dict):
        raise StoreError(f"{what} is damaged: it is not an object. {REPAIR_HINT}")
    return value


def cause_of(error: BaseException, where: Path | Address) -> str:
    """The database's own message, on one line and without a password."""
    line = " ".join(str(error).split())
    return where.without_password(line) if isinstance(where, Address) else line


def repair_hint(error: BaseException, where: Path | Address) -> str:
    """The commands to type where the error is one of a damaged file; "" for any other error."""
    message = cause_of(error, where)
    return repair_commands(where) if any(sign in message for sign in _SIGNS_OF_DAMAGE) else ""


def repair_commands(where: Path | Address) -> str:
    """The commands for a damaged file, each on a line of its own so that it can be copied; "" for a server."""
    if isinstance(where, Address):
        return ""
    store = shlex.quote(str(where))
    return (
        f"\nSee what is wrong:\n  steelyard verify --store {store}\n"
        f"Save what can be read:\n  steelyard export --salvage --out salvaged.jsonl --store {store}"
    )


def create_tables(connection: Connection) -> None:
    """Create the tables of an empty store with their indexes, and note their version."""
    for table in schema.tables_of(connection.dialect):
        for statement in table.definition(connection.dialect):
            connection.execute(statement)
    connection.execute(schema.insert_into(schema.about), {"name": _NAME, "value": f"{VERSION}"})


def check_version(where: Path | Address, about: dict[str, str]) -> None:
    """Refuse a store whose tables this release does not read.

    Args:
        where: the store.
        about: the values of its rows, as `ROWS` reads them; not empty.

    Raises:
        StoreError: it is of another version; says what to do.
    """
    version = f"{about.get(_NAME, '')}"  # a column of SQLite may hold any type
    if version == f"{VERSION}":
        return
    if version.isdecimal() and int(version) > VERSION:
        raise StoreError(
            f"{where} has tables of version {version}, this release reads version {VERSION}: use the release that "
            "wrote it, or a newer one; nothing was changed"
        )
    raise StoreError(
        f"{where} was made by a development release, whose tables this release does not read: keep that release to "
        "read it, or run again with another --store; nothing was changed"
    )
