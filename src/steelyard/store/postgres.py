"""A store in a schema of a PostgreSQL database: how its connections are set up, and what only a server has.

The least version is 12; every release since then has what is used here. A run's lock is an advisory lock of the
connection that writes: when the process dies, however it dies, the server lets it go, and what is written after the
connection was lost cannot be written without the lock.
"""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, ClassVar, Final

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import QueuePool

from steelyard.errors import ConfigError, StoreError
from steelyard.store.address import Address
from steelyard.store.backend import Durability, Lock, Transact
from steelyard.store.server_lock import ServerLock, holder_of

_LEAST: Final = 12
_NOT_PERMITTED: Final = "42501"
_KEPT_OPEN: Final = 2
"""Connections that are kept for the next reading: making one costs the server some milliseconds."""
_MOST_OPEN: Final = 20
_CONNECT_S: Final = 10
_SETTINGS: Final = {
    # As long as SQLite waits: another process's transaction takes milliseconds, so whoever waits longer should hear.
    "lock_timeout": "30s",
    # A process that is frozen between two statements would keep all others waiting; it loses its connection instead.
    "idle_in_transaction_session_timeout": "10min",
    # A computer that vanished from the network must not hold its runs' locks for two hours, which is the usual.
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
    "client_encoding": "UTF8",
}


class PostgresSchema:
    """The schema of a store.

    Args:
        where: its address.
        durability: `full` waits for the server's disk at each commit; `normal` does not, so that a crash of the server
            (not of this process) may cost the last moments.

    Raises:
        ConfigError: psycopg is not installed.
    """

    shared: ClassVar[bool] = True
    reading: ClassVar[Mapping[str, Any]] = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    finding: ClassVar[Mapping[str, Any]] = {"isolation_level": "AUTOCOMMIT"}
    writing: ClassVar[Mapping[str, Any]] = {"isolation_level": "READ COMMITTED", "writes": True}

    def __init__(self, where: Address, durability: Durability) -> None:
        self.where = where
        self.engine = _engine(where, durability)

    def exists(self) -> bool:
        """Whether the schema holds tables.

        Raises:
            StoreError: the server cannot be asked.
        """
        try:
            with self.engine.connect() as connection:
                return bool(self.tables(connection))
        except SQLAlchemyError as error:
            raise _unreachable(error, self.where) from error

    def make_room(self) -> None:
        """Nothing: the schema is made with the tables in it."""

    def check(self, connection: Connection) -> None:
        """Refuse a server that is too old, and a database that cannot hold every text."""
        version = connection.dialect.server_version_info or (0,)
        if int(version[0]) < _LEAST:
            found = ".".join(map(str, version))
            raise StoreError(f"{self.where}: PostgreSQL {found} is too old, {_LEAST} or newer is needed")
        encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
        if encoding != "UTF8":
            raise StoreError(
                f"{self.where}: the database keeps texts as {encoding}, which does not hold all of them; "
                "make one with CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0"
            )

    def exclude_makers(self, connection: Connection) -> None:
        """Take a lock that ends with the transaction, and make the schema where there is none."""
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%(key)s)", {"key": _number(self.where.schema)})
        schema = self.where.schema
        if connection.exec_driver_sql("SELECT to_regnamespace(%(name)s)", {"name": schema}).scalar() is None:
            connection.exec_driver_sql(f'CREATE SCHEMA "{schema}"')

    def tables(self, connection: Connection) -> set[str]:
        """Names of the tables in the schema."""
        query = "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = %(name)s"
        return {str(name) for (name,) in connection.exec_driver_sql(query, {"name": self.where.schema})}

    def reserve(self) -> None:
        """None: the disk is the server's."""

    def begin_log(self, connection: Connection) -> None:
        """Have the first transaction behind us; what follows finds a server that has read its catalogues."""
        with connection.begin():
            connection.exec_driver_sql("SELECT 1")

    def changes(self, connection: Connection) -> None:
        """Not known: a server does not count other connections' changes."""

    def undo(self, connection: Connection) -> None:
        """Nothing: a server has ended what failed, with the connection where that was lost."""

    def check_pages(self, connection: Connection, *, deep: bool, notes: list[str]) -> list[str]:
        """With `deep` the extension amcheck, where it is installed and permitted; pages are checked as they are read.

        Only the server's check sums (initdb --data-checksums) find every flipped bit of a page.
        """
        if connection.exec_driver_sql("SHOW data_checksums").scalar_one() != "on":
            notes.append("the server keeps no check sums of its pages (initdb --data-checksums)")
        if not deep:
            notes.append("indexes were not held against their tables: --deep does that")
            return []
        home = (
            "SELECT n.nspname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE p.proname = %(name)s"
        )
        found = connection.exec_driver_sql(home, {"name": "bt_index_check"}).scalar()
        if found is None:
            notes.append("indexes were not held against their tables: CREATE EXTENSION amcheck makes that possible")
            return []
        indexes = """SELECT i.indexrelid::regclass::text, i.indexrelid FROM pg_index i
            JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = %(schema)s ORDER BY 1"""
        wrong = []
        for name, number in connection.exec_driver_sql(indexes, {"schema": self.where.schema}).all():
            try:
                with connection.begin_nested():
                    connection.exec_driver_sql(f'SELECT "{found}".bt_index_check(%(number)s, true)', {"number": number})
            except DBAPIError as error:
                if getattr(error.orig, "sqlstate", "") == _NOT_PERMITTED:
                    notes.append("indexes were not held against their tables: this role may not call bt_index_check")
                    break
                wrong.append(f"index {name}: {' '.join(str(error.orig).split())}")
        return wrong

    def is_passing(self, error: SQLAlchemyError) -> bool:
        """Of two transactions that wait for each other the server ends one, with a code of class 40."""
        return str(getattr(getattr(error, "orig", None), "sqlstate", "") or "").startswith("40")

    def is_lost(self, connection: Connection) -> str:
        """Look whether the server has hung up, without asking it; some microseconds."""
        # An invalidated connection would be made anew when it is touched, and a new one holds no lock.
        raw: Any = None if connection.invalidated else connection.connection.dbapi_connection
        if raw is None or raw.closed:
            return "the connection to the server is closed"
        poll = select.poll()
        # Only the end is looked for: a setting that changed is told unasked too. macOS tells of the end without a wish.
        poll.register(raw.fileno(), getattr(select, "POLLRDHUP", 0))
        return "the server has closed the connection" if poll.poll(0) else ""

    def lock(self, run: str, transact: Transact) -> Lock:
        """An advisory lock of the connection that writes."""
        return ServerLock(run, _number(f"{self.where.schema}/{run}"), transact)

    def is_locked(self, run: str) -> bool:
        """Whether a living connection writes the run."""
        try:
            with self.engine.connect().execution_options(**self.finding) as connection:
                return bool(holder_of(connection, _number(f"{self.where.schema}/{run}")))
        except SQLAlchemyError as error:
            raise _unreachable(error, self.where) from error


def _number(text: str) -> int:
    """The number of an advisory lock: 64 bits of a hash, which other programs' numbers hardly meet."""
    return int.from_bytes(blake2b(f"steelyard/{text}".encode(), digest_size=8).digest(), "big", signed=True)


def _unreachable(error: SQLAlchemyError, where: Address) -> StoreError:
    from steelyard.store.engine import cause_of

    return StoreError(f"{where}: {cause_of(error, where)}")


def _engine(where: Address, durability: Durability) -> Engine:
    try:
        import psycopg  # noqa: F401  # so that its absence is told here, in our words
    except ImportError as error:
        raise ConfigError(
            f"a store in PostgreSQL needs psycopg ({error}): pip install 'steelyard[postgres]'"
        ) from error
    settings = {
        "search_path": where.schema,
        "synchronous_commit": "on" if durability == "full" else "off",
        **_SETTINGS,
    }
    given = where.url.query
    mine = " ".join(f"-c {name}={value}" for name, value in settings.items())
    options = {
        "options": f"{given.get('options', '')} {mine}".strip(),
        "application_name": given.get("application_name", _name_of_process()),
        "connect_timeout": given.get("connect_timeout", str(_CONNECT_S)),
    }
    return create_engine(
        where.url.difference_update_query([name for name in options if name in given]),
        poolclass=QueuePool,
        pool_size=_KEPT_OPEN,
        max_overflow=_MOST_OPEN,
        pool_pre_ping=True,
        connect_args=options,
        use_native_hstore=False,
        insertmanyvalues_page_size=2000,
    )


def _name_of_process() -> str:
    """What the server shows of us: the process's number and the computer's name, for whoever waits for a run's lock."""
    return f"steelyard pid {os.getpid()} on {socket.gethostname()}"[:63]
