"""A store that is a SQLite file: how its connections are set up, and what only a file has."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from steelyard.errors import StoreError
from steelyard.store.backend import Durability, Lock, Transact
from steelyard.store.lock import RunLock, is_locked
from steelyard.store.reserve import Reserve

_BUSY_S: Final = 30.0
"""How long a writer waits for another process's transaction, which takes milliseconds."""


class SqliteFile:
    """The file of a store.

    Args:
        where: the file.
        durability: `full` flushes each transaction to the disk.
    """

    shared: ClassVar[bool] = False
    reading: ClassVar[Mapping[str, Any]] = {}
    finding: ClassVar[Mapping[str, Any]] = {}
    writing: ClassVar[Mapping[str, Any]] = {"writes": True}

    def __init__(self, where: Path, durability: Durability) -> None:
        self.where = where
        self.engine = _engine(where, durability)

    def exists(self) -> bool:
        """Whether there is such a file."""
        return self.where.exists()

    def make_room(self) -> None:
        """Make its folder."""
        try:
            self.where.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{self.where.parent} cannot be made: {error.strerror}") from error

    def check(self, connection: Connection) -> None:
        """Nothing: every SQLite of the Pythons that we run on can do what is needed."""

    def exclude_makers(self, connection: Connection) -> None:
        """Nothing: a transaction that writes excludes all others."""

    def tables(self, connection: Connection) -> set[str]:
        """Names of the tables."""
        rows = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'")
        return {str(name) for (name,) in rows}

    def reserve(self) -> Reserve:
        """Space beside the file."""
        return Reserve(self.where)

    def begin_log(self, connection: Connection) -> None:
        """Write something that changes nothing: SQLite syncs a new log's header with the first commit to it.

        Measured: on a disk that is busy, that sync made the first replies of a resumed run wait for more than 50 ms
        before they were in the journal; now it is done before anything is asked.
        """
        with connection.begin():
            version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
            connection.exec_driver_sql(f"PRAGMA user_version = {int(version)}")

    def changes(self, connection: Connection) -> int | None:
        """A number that changes when another connection has changed the database."""
        return int(connection.exec_driver_sql("PRAGMA data_version").scalar_one())

    def undo(self, connection: Connection) -> None:
        """SQLAlchemy takes a transaction whose commit failed for ended; SQLite may not."""
        connection.connection.rollback()

    def check_pages(self, connection: Connection, *, deep: bool, notes: list[str]) -> list[str]:
        """SQLite's quick_check; with `deep` its integrity_check, which holds the indexes against their tables."""
        if not deep:
            notes.append("indexes were not held against their tables: --deep does that")
        rows = connection.exec_driver_sql(f"PRAGMA {'integrity_check' if deep else 'quick_check'}")
        return [f"SQLite says: {said}" for (said,) in rows if said != "ok"]

    def is_passing(self, error: SQLAlchemyError) -> bool:  # noqa: ARG002  # as the protocol has it
        """Never: no transaction is given up for another's sake."""
        return False

    def is_lost(self, connection: Connection) -> str:  # noqa: ARG002  # as the protocol has it
        """Never: there is no server that could go away."""
        return ""

    def lock(self, run: str, transact: Transact) -> Lock:  # noqa: ARG002  # as the protocol has it
        """A lock file in the folder `locks` beside the store."""
        return RunLock(self.where, run)

    def is_locked(self, run: str) -> bool:
        """Whether a living process writes the run."""
        return is_locked(self.where, run)


def _engine(path: Path, durability: Durability) -> Engine:
    url = URL.create("sqlite", database=str(path))
    written = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    sealed = path.is_file() and not written and not path.with_name(f"{path.name}-wal").exists()
    options: dict[str, Any] = {"timeout": _BUSY_S, "check_same_thread": False}
    if sealed:
        # We cannot write it and nobody else has it open (a log would stand beside it), so nobody has to be waited for;
        # without this SQLite wants to make files beside it.
        url = url.set(database=f"file:{quote(str(path))}", query={"immutable": "1", "uri": "true"})
    engine = create_engine(url, poolclass=NullPool, connect_args=options)

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, _: object) -> None:
        connection.isolation_level = None
        for pragma in (
            *(() if sealed else ("journal_mode=WAL",)),
            f"synchronous={'FULL' if durability == 'full' else 'NORMAL'}",
            "journal_size_limit=8388608",
            "trusted_schema=OFF",
            "temp_store=MEMORY",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN DEFERRED")

    return engine
