"""A store in a schema of a PostgreSQL database: how its connections are set up, and the lock of a run.

The least version is 12; every release since then has what is used here. A run's lock is an advisory lock of the
connection that writes, so that whoever can write has the lock, and whoever has lost the lock (the server was restarted,
the line was cut) cannot write. When the process dies, however it dies, the server releases it.
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from hashlib import blake2b
from typing import ClassVar, Final, cast

from steelyard.errors import StoreError
from steelyard.store.database.address import Address
from steelyard.store.database.backend import Durability, Purpose, Transact, cause_of
from steelyard.store.database.connection import Connection, DatabaseError
from steelyard.store.database.postgres_connection import ConnectionPool, PostgresConnection, escape_texts, is_cut
from steelyard.store.database.schema import SEARCH_WORDS, tables_of

_LEAST: Final = 12
_NOT_PERMITTED: Final = "42501"
_CONNECT_S: Final = 10
"""libpq would wait as long as the operating system does, for minutes."""
_LOCK_ATTEMPTS: Final = 10
_LOCK_PAUSE_S: Final = 0.05
"""The server notices within milliseconds that the process that held the lock was killed."""
_ACTING: Final = """WITH ours AS (
        SELECT c.oid, c.relname, c.relkind, c.relrowsecurity FROM pg_catalog.pg_class c
        JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = :schema AND c.relname IN :names)
    SELECT relname::text FROM ours WHERE relkind <> 'r' OR relrowsecurity
    UNION SELECT tgname::text FROM pg_catalog.pg_trigger JOIN ours ON tgrelid = ours.oid WHERE NOT tgisinternal
    UNION SELECT rulename::text FROM pg_catalog.pg_rewrite JOIN ours ON ev_class = ours.oid WHERE relkind = 'r'
    UNION SELECT conname::text FROM pg_catalog.pg_constraint JOIN ours ON conrelid = ours.oid
        WHERE contype NOT IN ('p', 'u', 'n')
    UNION SELECT indexrelid::regclass::text FROM pg_catalog.pg_index JOIN ours ON indrelid = ours.oid
        WHERE indexprs IS NOT NULL OR indpred IS NOT NULL
    UNION SELECT attname::text FROM pg_catalog.pg_attribute JOIN ours ON attrelid = ours.oid WHERE attgenerated <> ''
    UNION SELECT a.attname::text FROM pg_catalog.pg_attrdef d JOIN ours ON d.adrelid = ours.oid
        JOIN pg_catalog.pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
        WHERE pg_get_expr(d.adbin, d.adrelid) ~ '[(]'
        AND pg_get_expr(d.adbin, d.adrelid) !~ '^nextval[(]''[^'']*''::regclass[)]$'
    UNION SELECT attname::text FROM pg_catalog.pg_attribute JOIN ours ON attrelid = ours.oid
        JOIN pg_catalog.pg_type t ON t.oid = atttypid WHERE t.typnamespace <> 'pg_catalog'::regnamespace
    UNION SELECT inhrelid::regclass::text FROM pg_catalog.pg_inherits JOIN ours ON inhparent = ours.oid
    UNION SELECT p.name::text FROM (
            SELECT oprname, oprnamespace, oprowner FROM pg_catalog.pg_operator
            UNION ALL SELECT proname, pronamespace, proowner FROM pg_catalog.pg_proc
        ) p(name, namespace, owner)
        JOIN pg_catalog.pg_namespace n ON n.oid = p.namespace JOIN pg_catalog.pg_roles r ON r.oid = p.owner
        WHERE n.nspname = :schema AND NOT r.rolsuper AND r.rolname <> current_user AND (
            p.name IN (SELECT proname FROM pg_catalog.pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace)
            OR p.name IN (SELECT oprname FROM pg_catalog.pg_operator WHERE oprnamespace = 'pg_catalog'::regnamespace))
    ORDER BY 1"""
"""What acts when a table is read or written. A function or operator of the schema that is called as one of the server's
acts too: `=` of two varchars is nearer to a column than the server's own, which is of texts."""
_TAKE: Final = "SELECT pg_try_advisory_lock(:key)"
_SHARE: Final = "SELECT pg_advisory_lock_shared(:key)"
_RELEASE: Final = "SELECT pg_advisory_unlock(:key)"
_HOLDER: Final = """SELECT l.pid, coalesce(a.application_name, '') FROM pg_catalog.pg_locks l
    LEFT JOIN pg_catalog.pg_stat_activity a USING (pid)
    WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
    AND l.classid::bigint = :high AND l.objid::bigint = :low
    AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())"""
_SETTINGS: Final = {
    # As long as SQLite waits: another process's transaction takes milliseconds, so a longer wait should be an error.
    "lock_timeout": "30s",
    # A process that is frozen between two statements would keep all others waiting; it loses its connection instead.
    "idle_in_transaction_session_timeout": "10min",
    # A computer that vanished from the network must not hold its runs' locks for two hours, which is the default.
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
    "client_encoding": "UTF8",
    # The server may reuse a query plan that it made while a table had one page, and then reads the whole table for each
    # look-up, until it next analyzes the table: a minute later, or never where autovacuum is off.
    "plan_cache_mode": "force_custom_plan",
}


class PostgresSchema:
    """The schema of a store.

    Args:
        where: its address.
        durability: `full` waits for the server's disk at each commit; `normal` does not, so that a crash of the server
            (not of this process) may cost the last moments.
    """

    shared: ClassVar[bool] = True

    def __init__(self, where: Address, durability: Durability) -> None:
        self.where = where
        self._pool = _pool(where, durability)

    def connect(self, purpose: Purpose) -> Connection:
        """A connection of the pool."""
        return PostgresConnection(self._pool, purpose)

    def close(self) -> None:
        """Close the connections that wait for their next use."""
        self._pool.close()

    def exists(self) -> bool:
        """Whether the schema holds tables.

        Raises:
            StoreError: the server cannot be reached.
        """
        try:
            with self.connect("latest") as connection:
                return bool(self.tables(connection))
        except DatabaseError as error:
            raise _unreachable(error, self.where) from error

    def create_empty(self) -> None:
        """Do nothing: the schema is created with its tables."""

    def check(self, connection: Connection) -> None:
        """Refuse a server that is too old, and a database that cannot hold every text."""
        version = int(connection.execute("SHOW server_version_num").scalar())
        if version < _LEAST * 10_000:
            number = connection.execute("SHOW server_version").scalar()
            raise StoreError(f"{self.where}: PostgreSQL {number} is too old, {_LEAST} or newer is needed")
        encoding = connection.execute("SHOW server_encoding").scalar()
        if encoding != "UTF8":
            raise StoreError(
                f"{self.where}: the database keeps texts as {encoding}, which does not hold all of them; "
                "make one with CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0"
            )

    def lock_schema(self, connection: Connection) -> None:
        """Take a lock that ends with the transaction, and create the schema where there is none."""
        connection.execute("SELECT pg_advisory_xact_lock(:key)", {"key": _number(self.where.schema)})
        schema = self.where.schema
        if connection.execute("SELECT to_regnamespace(:name)", {"name": schema}).scalar() is None:
            connection.execute(f'CREATE SCHEMA "{schema}"')

    def acting_objects(self, connection: Connection) -> list[str]:
        """Views in the place of our tables, what acts on them, and what others put in the place of the server's."""
        names = [*(table.name for table in tables_of("postgresql")), SEARCH_WORDS]
        return list(connection.execute(_ACTING, {"schema": self.where.schema, "names": names}).scalars())

    def altered_objects(self, connection: Connection) -> list[str]:  # noqa: ARG002  # as the protocol has it
        """None: a schema of a server is no file that a stranger hands over."""
        return []

    def tables(self, connection: Connection) -> set[str]:
        """Names of the tables in the schema."""
        query = "SELECT tablename::text FROM pg_catalog.pg_tables WHERE schemaname = :name"
        return set(connection.execute(query, {"name": self.where.schema}).scalars())

    def reserve(self) -> None:
        """None: the disk belongs to the server."""

    def warm_up(self, connection: Connection) -> None:
        """Do a first transaction, so that the server has read its catalogues before the first call is sent."""
        with connection.begin():
            connection.execute("SELECT 1")

    def gather_statistics(self, connection: Connection) -> None:
        """Look at samples of the large tables.

        A server does so by itself a minute after many rows were added, where it is not told not to. Measured without: a
        page of 75,000 wrong records by score took more than ten minutes, as the plan was made for a handful of rows.
        """
        connection.execute("ANALYZE sample, record, score, reply")

    def changes(self, connection: Connection) -> None:
        """None: the server keeps no such count."""

    def check_pages(self, connection: Connection, *, notes: list[str]) -> list[str]:
        """The extension amcheck, where it is installed and permitted; pages are checked as they are read.

        Only the server's checksums (initdb --data-checksums) find every flipped bit of a page.
        """
        if connection.execute("SHOW data_checksums").scalar() != "on":
            notes.append("the server keeps no checksums of its pages (initdb --data-checksums)")
        # Not by the name of the function, which anybody may give to one that would run with this role's rights.
        home = (
            "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE extname = :name"
        )
        namespace = connection.execute(home, {"name": "amcheck"}).scalar()
        if namespace is None:
            notes.append("indexes were not compared with their tables: CREATE EXTENSION amcheck makes that possible")
            return []
        indexes = """SELECT i.indexrelid::regclass::text, i.indexrelid FROM pg_index i
            JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = :schema ORDER BY 1"""
        wrong = []
        for name, number in connection.execute(indexes, {"schema": self.where.schema}).all():
            try:
                with _ours(connection).savepoint():
                    # The types are those of the extension's: else a function of other types may be nearer.
                    check = f'SELECT "{namespace}".bt_index_check(CAST(:number AS regclass), true)'
                    connection.execute(check, {"number": number})
            except DatabaseError as error:
                if error.code == _NOT_PERMITTED:
                    notes.append("indexes were not compared with their tables: this role may not call bt_index_check")
                    break
                wrong.append(f"index {name}: {' '.join(str(error).split())}")
        return wrong

    def is_transient(self, error: DatabaseError) -> bool:
        """Whether the code is of class 40: of two transactions that wait for each other the server ends one."""
        return error.code.startswith("40")

    def is_lost(self, connection: Connection) -> str:
        """Whether the server closed the connection; checked on the socket without a query, in microseconds."""
        return is_cut(_ours(connection).driver)

    def save(self, connection: Connection) -> str:  # noqa: ARG002  # as the protocol has it
        """Nothing: the server keeps what was committed, and may come back."""
        return ""

    def lock(self, run: str, transact: Transact, *, beside_workers: bool = False) -> ServerLock:
        """An advisory lock of the connection that writes."""
        key, workers = self._keys(run)
        return ServerLock(run, key, transact, workers=None if beside_workers else workers)

    def share(self, run: str, transact: Transact) -> None:
        """Take the workers' shared advisory lock, next to the leader's: it shows that workers outlive a dead leader."""
        values = {"key": self._keys(run)[1]}
        transact(lambda connection: connection.execute(_SHARE, values).first())

    def limit_pauses(self, seconds: float, transact: Transact) -> None:
        """Lower the server's `idle_in_transaction_session_timeout` for the writing connection."""
        limit = f"SET idle_in_transaction_session_timeout = {round(1000 * seconds)}"
        transact(lambda connection: connection.execute(limit))

    def is_locked(self, run: str) -> bool:
        """Whether a living connection writes the run."""
        try:
            with self.connect("latest") as connection:
                return any(holder_of(connection, key) for key in self._keys(run))
        except DatabaseError as error:
            raise _unreachable(error, self.where) from error

    def _keys(self, run: str) -> tuple[int, int]:
        """The numbers of a run's lock, and of that which its workers share."""
        return _number(f"{self.where.schema}/{run}"), _number(f"{self.where.schema}/{run}/workers")


def _number(text: str) -> int:
    """The number of an advisory lock: 64 bits of a hash, unlikely to be another program's number."""
    return int.from_bytes(blake2b(f"steelyard/{text}".encode(), digest_size=8).digest(), "big", signed=True)


def _ours(connection: Connection) -> PostgresConnection:
    return cast("PostgresConnection", connection)


def _unreachable(error: DatabaseError, where: Address) -> StoreError:
    return StoreError(f"{where}: {cause_of(error, where)}")


def _pool(where: Address, durability: Durability) -> ConnectionPool:
    settings = {
        "search_path": where.schema,
        "synchronous_commit": "on" if durability == "full" else "off",
        **_SETTINGS,
    }
    query = where.url.query
    ours = " ".join(f"-c {name}={value}" for name, value in settings.items())
    options = {
        "options": f"{query.get('options', '')} {ours}".strip(),
        "application_name": query.get("application_name", _name_of_process()),
        "connect_timeout": query.get("connect_timeout", str(_CONNECT_S)),
    }
    return ConnectionPool({**where.url.libpq(), **options}, escape_texts)


def _name_of_process() -> str:
    """The application name that the server shows: it tells whoever waits for a run's lock who holds it."""
    # PostgreSQL keeps at most 63 bytes of such a name (NAMEDATALEN).
    return f"steelyard pid {os.getpid()} on {socket.gethostname()}"[:63]


class ServerLock:
    """The advisory lock of a run.

    Args:
        run: the run's id.
        key: the number of the lock.
        transact: runs a function on the writing connection.
        workers: the number of the lock that its workers share, which nobody else may hold; None: they may.

    Raises:
        StoreError: another process writes this run, or the server is gone.
    """

    def __init__(self, run: str, key: int, transact: Transact, *, workers: int | None = None) -> None:
        self.run = run
        self._key = key
        self._transact = transact
        self._held = False
        # A connection may take its lock twice, so two writers of one process need the check of the holder too.
        if not any(_taken(transact, key, pause) for pause in [0.0] + [_LOCK_PAUSE_S] * (_LOCK_ATTEMPTS - 1)):
            holder = transact(lambda connection: holder_of(connection, key))
            raise StoreError(f"run {run} is being written by another process ({holder or 'it ended just now'})")
        self._held = True
        if workers is not None and (worker := self._worker(workers)):
            self.release()
            raise StoreError(
                f"run {run} is still being written by its workers ({worker}), though the process that started them has "
                "ended: wait until they have ended too, or take their work over with `steelyard resume --workers N`"
            )

    def _worker(self, key: int) -> str:
        """A worker that holds the run; the server notices the end of a connection after some milliseconds."""
        holder = ""
        for pause in [0.0] + [_LOCK_PAUSE_S] * (_LOCK_ATTEMPTS - 1):
            time.sleep(pause)
            holder = self._transact(lambda connection: holder_of(connection, key))
            if not holder:
                return ""
        return holder

    def release(self) -> None:
        """Release the lock."""
        if self._held:
            self._held = False
            with suppress(StoreError):  # a lost connection has lost the lock as well
                self._transact(lambda connection: connection.execute(_RELEASE, {"key": self._key}).scalar())


def _taken(transact: Transact, key: int, pause: float) -> bool:
    time.sleep(pause)

    def take(connection: Connection) -> bool:
        return not holder_of(connection, key) and bool(connection.execute(_TAKE, {"key": key}).scalar())

    return bool(transact(take))


def holder_of(connection: Connection, key: int) -> str:
    """The process that holds a lock, as far as the server shows it; "" where none does."""
    unsigned = key & (2**64 - 1)
    row = connection.execute(_HOLDER, {"high": unsigned >> 32, "low": unsigned & 0xFFFFFFFF}).first()
    if row is None:
        return ""
    return str(row[1]).removeprefix("steelyard ") or f"the server's process {row[0]}"
