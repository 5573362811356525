"""PostgreSQL in a worker: one connection, a read-only transaction for each statement, then DISCARD ALL.

Every limit that a statement could lift is set again in its own transaction, and the functions that lift or outlast one
are refused before it is sent. A result comes through a server-side cursor, which takes one statement that only reads.

A statement that changes data runs in a transaction that is rolled back, in a schema made for it. One statement at a
time changes a schema, by an advisory lock of the session. What a rollback leaves, the values of sequences, is set back
afterwards, so that the next statement gets the same numbers.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from functools import partial
from typing import Any, Final

import psycopg
from psycopg import errors, sql
from psycopg.adapt import Loader
from psycopg.types.datetime import (
    DateLoader,
    IntervalLoader,
    TimeLoader,
    TimestampLoader,
    TimestamptzLoader,
    TimetzLoader,
)

from steelyard.sql.engines.engine import (
    DatabaseState,
    DrawnColumn,
    EngineQuery,
    SqlStop,
    catalog_query,
    differences,
    fetch,
    guard_lists,
    listed,
    plain_definition,
    read_state,
    renumbered,
)
from steelyard.sql.results import FailureKind, ResultTable, SqlLimits
from steelyard.sql.server_address import ServerLogin
from steelyard.sql.servers.session import (
    CONNECT_S,
    FIRST_ROWS,
    LOCK_SHARE,
    MOST_FAULTS,
    MOST_MESSAGE,
    RESTORE_S,
    ConnectionLost,
    Greeting,
    LoginError,
    Numbers,
    SchemaHeld,
    ServerSession,
)

_SETTINGS: Final = (
    "default_transaction_read_only=on",
    "standard_conforming_strings=on",
    "timezone=UTC",
    "datestyle=ISO",
    "intervalstyle=postgres",
    "bytea_output=hex",
    "lc_monetary=C",
    "extra_float_digits=1",
    "cursor_tuple_fraction=1",
)
"""DISCARD ALL goes back to these. The last plans a cursor like a query of which all rows are read."""
_PADDED: Final = 1042
"""The number of the type CHAR(n)."""
_LOOKS_FOR_CALLER: Final = 140_000
"""Version from which a server notices while it works that its client is gone."""
_AS_TEXT: Final = ("inet", "cidr", "macaddr", "macaddr8")
_RANGES: Final = ("int4range", "int8range", "numrange", "daterange", "tsrange", "tstzrange")
_Connection = psycopg.Connection[Any]
_PLAIN: Final = frozenset({type(None), bool, int, float, str, bytes})

_FUNCTIONS: Final = """
SELECT DISTINCT lower(p.proname), p.pronargs > 0 AND p.pronargs - p.pronargdefaults <= 1 FROM pg_catalog.pg_proc AS p
JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace
WHERE p.provolatile = 'v' AND (n.nspname = 'pg_catalog' OR EXISTS (
    SELECT 1 FROM pg_catalog.pg_depend AS d
    WHERE d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.objid = p.oid AND d.deptype = 'e'))
"""
"""Every function of PostgreSQL or an extension that may do more than compute: whatever a later version brings; and
whether it can be called as an attribute of its only argument."""
_EXTENDED: Final = """
SELECT pg_catalog.quote_ident(n.nspname) FROM pg_catalog.pg_namespace AS n
WHERE n.nspname <> 'pg_catalog' AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
AND n.oid IN (SELECT extnamespace FROM pg_catalog.pg_extension) ORDER BY 1
"""
"""The schemas in which extensions were installed: a statement calls their functions without a schema."""


class PostgresEngine(ServerSession):
    """Runs queries with psycopg 3.

    Values are what psycopg makes of them; beyond that a CHAR(n) comes without its padding, zoned timestamps are in UTC,
    addresses, ranges and what Python's dates cannot hold are text, money is a number, and composite values are lists.
    """

    def __init__(self) -> None:
        super().__init__()
        self._functions: frozenset[str] = frozenset()
        self._extended: tuple[str, ...] = ()

    def login(self, login: ServerLogin) -> Greeting:
        """Connect and look at the role; see `ServerSession`."""
        try:
            connection: _Connection = psycopg.connect(
                host=login.host,
                port=login.port,
                user=login.user,
                password=login.password,
                dbname=login.database,
                passfile="/nonexistent",
                connect_timeout=CONNECT_S,
                application_name="steelyard",
                options=" ".join(f"-c {setting}" for setting in _SETTINGS),
                client_encoding="utf8",
                autocommit=True,
                prepare_threshold=None,
                **dict(login.options),  # type: ignore[arg-type]  # two texts, checked with the address
            )
            rows = connection.execute(_FUNCTIONS).fetchall()
            self._extended = tuple(name for (name,) in connection.execute(_EXTENDED).fetchall())
            connection.execute("SELECT set_config('steelyard.writes_to', %s, false)", [login.writes_to])
            faults = tuple(
                str(row[0]) for row in connection.execute(catalog_query("postgres_role").encode()).fetchall()
            )
        except psycopg.Error as error:
            raise LoginError(login.without_password(_short(error))) from None
        lists = guard_lists("postgres")
        harmless = lists["harmless_functions"]
        denied = {str(name): is_attribute for name, is_attribute in sorted(rows) if str(name) not in harmless}
        denied |= dict.fromkeys(lists["denied_functions"], True)
        self._functions = frozenset({*denied, *(f".{name}" for name, is_attribute in denied.items() if is_attribute)})
        self._connection, self._writes_to = connection, login.writes_to
        _convert_by_need(connection)
        return Greeting(connection.info.backend_pid, "PostgreSQL", faults[:MOST_FAULTS])

    def cancel(self, backend: int) -> None:
        """End the statement of another connection of the same role."""
        with suppress(psycopg.Error):
            self._session().execute("SELECT pg_catalog.pg_terminate_backend(%s)", [backend])

    def restore(self, schema: str, numbers: Numbers) -> None:
        """Set the sequences of a schema back; see `ServerSession`."""
        connection = self._session()
        _hold(connection, schema, RESTORE_S)
        _set_back(connection, schema, numbers)

    def execute(self, work: EngineQuery) -> ResultTable:
        """Run the query in a read-only transaction of its own, then reset the session; see the protocol `Engine`."""
        self.keeps_database = True
        # Sequences that a change moves are set back afterwards.
        functions = self._functions - {"nextval", ".nextval"} if work.changes else self._functions
        query, returns_rows = self._checked(work, "postgres", functions)
        connection = self._session()
        self.keeps_database = False
        deadline = time.monotonic() + work.limits.timeout_s
        try:
            if work.changes:
                table = self._changed(connection, query, work)
            else:
                connection.execute(self._begin(connection, work))
                table = _read(connection, query, work, returns_rows=returns_rows)
        except (psycopg.Error, SqlStop) as error:
            late = time.monotonic() > deadline
            self._reset(connection)
            raise (error if isinstance(error, SqlStop) else _stop_of(error, late=late)) from None
        self._reset(connection)
        return table

    def _changed(self, connection: _Connection, statement: str, work: EngineQuery) -> ResultTable:
        """What a statement changes in its schema, which is rolled back."""
        schema, limits = work.schema, work.limits
        _hold(connection, schema, LOCK_SHARE * limits.timeout_s)
        connection.execute(f"SET statement_timeout = {_milliseconds(limits.timeout_s)}".encode())
        sequences = connection.execute(_SEQUENCES, [schema]).fetchall()
        self.tell(sequences)
        try:
            connection.execute(self._begin(connection, work))
            before = _state(connection, schema, limits)
            # Asked for binary results, of which there are none, it goes by the protocol that takes one statement only.
            cursor = connection.execute(statement.encode(), binary=True)
            affected = 0 if (cursor.statusmessage or "").startswith("SELECT") else max(0, cursor.rowcount)
            connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
            changes = differences(before, _state(connection, schema, limits), affected)
            drawn = _moved(sequences, connection.execute(_SEQUENCES, [schema]).fetchall())
            if not drawn:
                return changes
            columns = connection.execute(catalog_query("postgres_drawn_columns").encode(), {"schema": schema})
            return renumbered(changes, [DrawnColumn(*column) for column in columns.fetchall()], drawn)
        finally:
            if not connection.closed:
                connection.execute("ROLLBACK")
                _set_back(connection, schema, sequences)

    def _session(self) -> _Connection:
        connection: _Connection | None = self._connection
        if connection is None or connection.closed:
            raise ConnectionLost
        return connection

    def _begin(self, connection: _Connection, work: EngineQuery) -> bytes:
        """The start of the transaction, with all limits of the statement."""
        limit = _milliseconds(work.limits.timeout_s)
        settings = [f"statement_timeout = {limit}", f"lock_timeout = {limit}"]
        settings += [f"idle_in_transaction_session_timeout = {limit + 5000}"]
        if connection.info.server_version >= _LOOKS_FOR_CALLER:
            settings += ["client_connection_check_interval = 1000"]
        if work.schema:
            path = (sql.Identifier(work.schema).as_string(connection), *self._extended)
            settings += [f"search_path = {', '.join(path)}"]
        begin = f"BEGIN TRANSACTION READ {'WRITE' if work.changes else 'ONLY'}"
        return "; ".join([begin, *(f"SET LOCAL {setting}" for setting in settings)]).encode()

    def _reset(self, connection: _Connection) -> None:
        """Forget all that the statement left in the session: settings, cursors, locks, temporary tables."""
        try:
            connection.execute("ROLLBACK")
            connection.execute("DISCARD ALL")
        except psycopg.Error:
            raise ConnectionLost from None
        self.keeps_database = True


def _read(connection: _Connection, query: str, work: EngineQuery, *, returns_rows: bool) -> ResultTable:
    cursor = connection.cursor()
    text = query.encode()
    if returns_rows:
        # Asked for binary results, of which there are none, it goes by the protocol that takes one statement only.
        cursor.execute(b"DECLARE steelyard NO SCROLL CURSOR FOR " + text, binary=True)
        fetchmany: Any = partial(_fetch_forward, cursor)
    else:
        # SHOW and EXPLAIN have no cursor; a stream is sent as a single statement too.
        fetchmany = partial(_cut, list(cursor.stream(text)))
    described: list[psycopg.Column] = []
    padded: list[int] = []

    def fetched(count: int) -> list[Any]:
        rows: list[Any] = fetchmany(count)
        if not described:
            described.extend(cursor.description or ())
            padded.extend(at for at, column in enumerate(described) if column.type_code == _PADDED)
        return rows

    rows = fetch(fetched, work.limits, partial(_plain_row, padded), first=FIRST_ROWS)
    if not described:
        raise SqlStop("error", "a result without columns")
    types = connection.adapters.types
    names = (info.name.upper() if (info := types.get(column.type_code)) else "" for column in described)
    return ResultTable(tuple(column.name for column in described), rows, tuple(names))


def _fetch_forward(cursor: psycopg.Cursor[Any], count: int) -> list[Any]:
    return cursor.execute(f"FETCH FORWARD {count:d} FROM steelyard").fetchall()


def _cut(rows: list[Any], count: int) -> list[Any]:
    """Take the first rows from a list, as `fetchmany` does from a cursor."""
    taken, rows[:] = rows[:count], rows[count:]
    return taken


def _plain_row(padded: Sequence[int], row: tuple[Any, ...]) -> tuple[Any, ...]:
    if not padded and set(map(type, row)) <= _PLAIN:
        return row
    cells = [listed(cell) for cell in row]
    for at in padded:
        if isinstance(cells[at], str):
            cells[at] = cells[at].rstrip(" ")
    return tuple(cells)


class _TextLoader(Loader):
    """A value as the server writes it."""

    def load(self, data: Any) -> str:
        """The text."""
        return bytes(data).decode()


class _MoneyLoader(Loader):
    """An amount of money as its number: a query may as well cast the column to numeric."""

    def load(self, data: Any) -> Decimal:
        """The number in an amount such as `-$1,013.50`, as the server writes it with `lc_monetary` C."""
        return Decimal(bytes(data).decode().replace("$", "").replace(",", ""))


def _or_text(loader: Any) -> type[Loader]:
    """A loader that gives the text of what Python cannot hold: infinity, years before 1 and after 9999."""

    class OrText(loader):  # type: ignore[misc]
        def load(self, data: Any) -> Any:
            try:
                return super().load(data)
            except (psycopg.DataError, ValueError, OverflowError):
                return bytes(data).decode()

    return OrText


def _convert_by_need(connection: _Connection) -> None:
    """Load values so that each column compares like one of SQLite or DuckDB."""
    adapters = connection.adapters
    adapters.register_loader("money", _MoneyLoader)
    for name in _AS_TEXT:
        adapters.register_loader(name, _TextLoader)
    for name in (*_RANGES, *(name.replace("range", "multirange") for name in _RANGES)):
        if adapters.types.get(name) is not None:
            adapters.register_loader(name, _TextLoader)
    for name, loader in {
        "date": DateLoader,
        "timestamp": TimestampLoader,
        "timestamptz": TimestamptzLoader,
        "interval": IntervalLoader,
        "time": TimeLoader,
        "timetz": TimetzLoader,
    }.items():
        adapters.register_loader(name, _or_text(loader))


_KINDS: Final[tuple[tuple[type[psycopg.Error], FailureKind], ...]] = (
    (errors.ReadOnlySqlTransaction, "denied"),
    (errors.InsufficientPrivilege, "denied"),
    (errors.IntegrityError, "constraint"),
    (errors.QueryCanceled, "timeout"),
    (errors.LockNotAvailable, "timeout"),
    (errors.OutOfMemory, "memory"),
    (errors.DiskFull, "memory"),
    (errors.ConfigurationLimitExceeded, "memory"),
)


def _stop_of(error: psycopg.Error, *, late: bool) -> SqlStop:
    kind: FailureKind = next((kind for cls, kind in _KINDS if isinstance(error, cls)), "error")
    message = _short(error)
    if "data-modifying" in message or "cannot specify INTO" in message or "SELECT INTO" in message:
        kind = "denied"
    if kind == "timeout" and late:
        message = "still running at the deadline"
    return SqlStop(kind, f"denied: {message}" if kind == "denied" else message)


def _short(error: psycopg.Error) -> str:
    """The first line of a message of the server's, or of the driver's."""
    primary = error.diag.message_primary or str(error)
    return " ".join(primary.split())[:MOST_MESSAGE] or type(error).__name__


_LOCK: Final = "SELECT pg_catalog.pg_advisory_lock(pg_catalog.hashtext('steelyard'), pg_catalog.hashtext(%s))"
_TABLES: Final = """
SELECT c.relname, pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname)
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1
"""
_SEQUENCES: Final = """
SELECT pg_catalog.quote_ident(schemaname) || '.' || pg_catalog.quote_ident(sequencename), last_value, start_value
FROM pg_catalog.pg_sequences WHERE schemaname = %s ORDER BY 1
"""


def _hold(connection: _Connection, schema: str, seconds: float) -> None:
    """Lock a schema against other changing statements, until the session is reset."""
    connection.execute(f"SET statement_timeout = {_milliseconds(seconds)}".encode())
    try:
        connection.execute(_LOCK, [schema])
    except (psycopg.errors.QueryCanceled, psycopg.errors.LockNotAvailable):
        raise SchemaHeld from None


def _milliseconds(seconds: float) -> int:
    return max(1, int(seconds * 1000))


def _state(connection: _Connection, schema: str, limits: SqlLimits) -> DatabaseState:
    tables = connection.execute(_TABLES, [schema]).fetchall()
    objects = connection.execute(catalog_query("postgres_objects").encode(), {"schema": schema}).fetchall()
    defined = [tuple(plain_definition(str(cell)) for cell in row) for row in objects]

    def read(query: str, left: SqlLimits) -> list[tuple[Any, ...]]:
        # A cursor of the server's: a table of any size is read only as far as the limits go.
        with connection.cursor("steelyard_state") as cursor:
            cursor.execute(query.encode())
            return fetch(cursor.fetchmany, left, partial(_plain_row, ()))

    return read_state(tables, defined, read, limits)


def _moved(before: Numbers, after: Numbers) -> dict[str, tuple[int, int]]:
    """The first and the last number that each sequence gave."""
    first = {name: start if last is None else last + 1 for name, last, start in before}
    return {
        name: (first[name], last)
        for name, last, _ in after
        if last is not None and name in first and last >= first[name]
    }


def _set_back(connection: _Connection, schema: str, sequences: Numbers) -> None:
    """Set sequences back to the values that they had, which a rollback does not.

    Raises:
        SqlStop: the role may not, so that later statements would get other numbers.
    """
    values = {name: (last, start) for name, last, start in connection.execute(_SEQUENCES, [schema]).fetchall()}
    moved = [(name, last, start) for name, last, start in sequences if values.get(name) != (last, start)]
    if not moved:
        return
    try:
        connection.execute("BEGIN TRANSACTION READ WRITE")
        for name, last, start in moved:
            value = (name, start, False) if last is None else (name, last, True)
            connection.execute("SELECT pg_catalog.setval(%s::pg_catalog.regclass, %s, %s)", value)
        connection.execute("COMMIT")
    except psycopg.errors.InsufficientPrivilege:
        connection.execute("ROLLBACK")
        names = ", ".join(name for name, _, _ in moved)
        raise SqlStop("error", f"the role may not set the sequence {names} back: grant UPDATE on it") from None
