"""What differs between the databases that can hold a store, and what a user is told where a database is damaged.

`sqlite` and `postgres` implement the protocol `Backend`; everything else is SQL that both understand, written with
SQLAlchemy. A message about damage names the commands that help.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from sqlalchemy import Connection, Engine, Table
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from steelyard.errors import StoreError
from steelyard.store.address import Address

Durability = Literal["normal", "full"]

Transact = Callable[[Callable[[Connection], Any]], Any]
"""Runs a function in a transaction on the writing connection, and waits for its value."""

REPAIR_HINT: Final = "`steelyard verify` lists what is wrong; `steelyard export --salvage` saves what can be read"
MOST_IN_QUERY: Final = 900
"""Values of one IN list: SQLite before 3.32 (2020) takes 999 parameters in a statement, later 32,766."""
_SIGNS_OF_DAMAGE: Final = ("malformed", "not a database", "disk I/O error", "corrupt", "decode", "has no column")
"""Words of SQLite, and of Python's driver, about a damaged file."""


class Lock(Protocol):
    """The exclusive lock of a run that is being written, across threads and processes.

    Attributes:
        run: the run's id.
    """

    run: str

    def release(self) -> None:
        """Release the lock; a second call does nothing."""


class Reserve(Protocol):
    """Disk space reserved while a run is written, and freed on a full disk so that the last replies can be saved."""

    def release(self) -> bool:
        """Free the space; False if it was freed before."""


class Backend(Protocol):
    """A database that holds a store.

    Attributes:
        where: the store's place, as it may be shown: without a password.
        engine: makes connections; those that write have the options `writing`.
        shared: whether other processes may write while a writing transaction is open.
        snapshot: execution options of a connection all of whose reads see one moment.
        latest: of a connection each of whose statements sees the newest commits.
        writing: of a connection that writes.
    """

    engine: Engine

    @property
    def where(self) -> Path | Address:
        """See the class."""

    @property
    def shared(self) -> bool:
        """See the class."""

    @property
    def snapshot(self) -> Mapping[str, Any]:
        """See the class."""

    @property
    def latest(self) -> Mapping[str, Any]:
        """See the class."""

    @property
    def writing(self) -> Mapping[str, Any]:
        """See the class."""

    def exists(self) -> bool:
        """Whether the store exists."""

    def create_folder(self) -> None:
        """Create the folder of the database file; a server needs none.

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

    def exclude_writers(self, connection: Connection) -> None:
        """Block all other writers until the transaction ends."""

    def copy(self, connection: Connection) -> Path | Address:
        """Copy the store to a free name beside it: a file, or a schema of the same database.

        Args:
            connection: in a transaction that excludes writers and has changed nothing yet.

        Returns:
            The copy, which can be opened as a store.

        Raises:
            ConfigError: this user may not create it.
            StoreError: there is no room for it.
        """

    def tables(self, connection: Connection) -> set[str]:
        """Names of the store's tables."""

    def reserve(self) -> Reserve | None:
        """Reserve disk space while a run is written; None where the disk belongs to a server.

        Raises:
            StoreError: there is none.
        """

    def warm_up(self, connection: Connection) -> None:
        """Do the slow work of the first commit in advance."""

    def changes(self, connection: Connection) -> int | None:
        """A number that changes when another connection has changed the database; None where that is not known."""

    def undo(self, connection: Connection) -> None:
        """Roll back a failed transaction, if it is still open."""

    def check_pages(self, connection: Connection, *, deep: bool, notes: list[str]) -> list[str]:
        """Problems that the database's own integrity check reports, one line each.

        Args:
            connection: that reads.
            deep: check the indexes too.
            notes: receives a line for each check that is not possible.
        """

    def is_transient(self, error: SQLAlchemyError) -> bool:
        """Whether a repeat of the transaction may succeed: it failed only because of a concurrent one."""

    def is_lost(self, connection: Connection) -> str:
        """Why an idle connection is broken; "" if it works."""

    def lock(self, run: str, transact: Transact) -> Lock:
        """Take the lock of a run.

        Raises:
            StoreError: another process writes it.
        """

    def is_locked(self, run: str) -> bool:
        """Whether a living process writes a run."""


def connect_writing(backend: Backend) -> Connection:
    """A connection for writing."""
    return backend.engine.connect().execution_options(**backend.writing)


# Both databases write INSERT ... ON CONFLICT alike, but SQLAlchemy has it once for each.


@cache
def insert_or_skip(dialect: str, table: Table) -> Any:
    """Insert rows, skipping those whose key exists."""
    return _insert(dialect, table).on_conflict_do_nothing()


@cache
def insert_or_update(dialect: str, table: Table, keys: Sequence[str], columns: Sequence[str]) -> Any:
    """Insert rows; where a key exists, set `columns` to the new values."""
    statement = _insert(dialect, table)
    return statement.on_conflict_do_update(
        index_elements=keys, set_={name: statement.excluded[name] for name in columns}
    )


@cache
def insert_or_add(dialect: str, table: Table, keys: Sequence[str], columns: Sequence[str]) -> Any:
    """Insert rows; where a key exists, add the new values to `columns`."""
    statement = _insert(dialect, table)
    return statement.on_conflict_do_update(
        index_elements=keys, set_={name: table.c[name] + statement.excluded[name] for name in columns}
    )


def _insert(dialect: str, table: Table) -> Any:
    if dialect == "postgresql":
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(table)
    from sqlalchemy.dialects import sqlite

    return sqlite.insert(table)


def portions(values: Iterable[Any]) -> Iterator[list[Any]]:
    """Split the values of an IN list into lists that fit into one statement each; none for no values.

    A record may have any number of replies (an agent, a judge with many claims), so that the keys of a chunk of
    records have no upper bound, and a statement has one.

    >>> [len(portion) for portion in portions(range(2_000))]
    [900, 900, 200]
    """
    remaining = iter(values)
    while portion := list(islice(remaining, MOST_IN_QUERY)):
        yield portion


def read_json(text: Any, what: str) -> dict[str, Any]:
    """An object that is stored as JSON text: a manifest, a scoring version, a decision.

    Args:
        text: as it is stored.
        what: names it in the error.

    Raises:
        StoreError: it is damaged.
    """
    try:
        value = json.loads(text)
    except (ValueError, TypeError) as error:
        raise StoreError(f"{what} is damaged: {error}. {REPAIR_HINT}") from error
    if not isinstance(value, dict):
        raise StoreError(f"{what} is damaged: it is no object. {REPAIR_HINT}")
    return value


def cause_of(error: BaseException, where: Path | Address) -> str:
    """The database's own message, on one line and without a password."""
    message = str((error.orig if isinstance(error, DBAPIError) else None) or error)
    line = " ".join(message.split())
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
