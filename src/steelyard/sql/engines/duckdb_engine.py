"""DuckDB in a worker: an instance with a locked configuration, a session for each query, and a time limit.

A query runs in memory or on a private copy opened read-only. Its instance is used again only after a plain SELECT
(`duckdb_guard.Instances`): settings, variables, secrets and logs end with it. By its own account DuckDB does not
isolate those who send it SQL, so the operating system's limits on the worker back up the settings; `printf`,
`to_base64` and their like take memory that `memory_limit` does not count, and some loops ignore interrupts.

A statement that changes data runs on an instance in memory, into which a file is copied beforehand. `prepare` merges
the write-ahead log of a private copy into the file.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import datetime, timedelta, tzinfo
from functools import partial
from types import ModuleType
from typing import Any, Final, Self

import duckdb
from duckdb import DuckDBPyConnection, Statement

from steelyard.sql.clock import pin_duckdb
from steelyard.sql.engines import duckdb_guard as guard
from steelyard.sql.engines.duckdb_guard import Instances
from steelyard.sql.engines.engine import (
    DatabaseState,
    EngineQuery,
    SqlStop,
    catalog_query,
    differences,
    fetch,
    listed,
    plain_definition,
    read_state,
)
from steelyard.sql.layout import quoted
from steelyard.sql.results import FailureKind, Part, ResultTable, SqlLimits

_OLDEST: Final = (2, 0)
"""Older versions split one PIVOT into several statements and have no setting for the threads of input and output."""

_BEAT_S: Final = 0.02
_MESSAGE: Final = 500
_TYPE: Final = 40
"""Characters of a type's name: those of nested types may be as long as the query."""
_FORBIDDEN: Final = ("has been locked", "read-only mode", "disabled by configuration", "secrets are disabled")
"""Parts of DuckDB's messages where a guard denied something and the class of the error does not show it."""

_NO_MEMORY: Final = ("bad_alloc", "bad allocation", "allocation failure")

_BEFORE_RUNNING: Final = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException)
_NESTED: Final = re.compile(r"\]|STRUCT|TUPLE|MAP|UNION|VARIANT")
_AWKWARD: Final = ("INTERVAL", "TIME", "DATE", "TYPE", "VARIANT", "GEOMETRY", "UNION", "STATE")
"""Types with values that Python cannot hold, or that DuckDB's module does not convert."""


class DuckdbEngine:
    """Runs queries with the `duckdb` package.

    Values are what that package makes of them. Beyond that: an interval counts a month as 30 days and a year as 365, a
    time is held to the microsecond, an infinite date is `date.max` or `date.min`, a zoned timestamp is in UTC, and
    a column that Python cannot hold (intervals of millions of years) is text throughout.
    """

    def __init__(self) -> None:
        self._instances = Instances()

    @property
    def keeps_database(self) -> bool:
        """Whether the database of the last query is still open for the next."""
        return self._instances.keeps_one

    def refusal(self) -> str:
        """Why the limits cannot be enforced on this build; "" if they can. Opens a connection and closes it."""
        if tuple(map(int, re.findall(r"\d+", duckdb.__version__)[:2])) < _OLDEST:
            oldest = ".".join(map(str, _OLDEST))
            return f"DuckDB {duckdb.__version__} is too old to be confined; {oldest} or later is needed"
        work = EngineQuery("duckdb", "", "", "", "", SqlLimits())
        instances = Instances()
        try:
            return _hole(instances.fresh(work))
        except (duckdb.Error, ValueError) as error:
            short = _short_message(error, "")
            return f"DuckDB {duckdb.__version__} does not accept the settings that confine it: {short}"
        finally:
            instances.drop()

    def warm(self) -> None:
        """Open an instance that forks of this process take over."""
        self._instances.warm()

    def execute(self, work: EngineQuery) -> ResultTable:
        """Build the database, run `create` and the query; see the protocol `Engine`."""
        if work.file and work.create.strip():
            raise SqlStop("denied", "denied: CREATE; a database file is only read", "create")
        deadline = time.monotonic() + work.limits.timeout_s
        if work.changes:
            return self._changed(work, deadline)
        connection = self._instances.kept(work)
        try:
            table = None if connection is None else self._again(connection, work, deadline)
            return self._anew(work, deadline) if table is None else table
        except SqlStop as stop:
            # What a statement that failed while it ran has left behind is unknown.
            if not stop.before_running:
                self._instances.drop()
            raise
        except BaseException:
            self._instances.drop()
            raise

    def _changed(self, work: EngineQuery, deadline: float) -> ResultTable:
        """What a statement changes on an instance of its own in memory."""
        if work.create.strip():
            raise SqlStop("denied", "denied: CREATE beside a statement that changes data", "create")
        try:
            with _stops("query", work.file):
                connection = opened_copy(work) if work.file else self._instances.fresh(work)
            with closing(connection), _Clock(connection, deadline) as clock, _zones():
                with _stops("query", work.file, clock):
                    query = guard.one_change(work.query, partial(guard.extract_from, connection, part="query"))
                if work.script.strip():
                    _build(connection, work, clock)
                with _stops("query", work.file, clock):
                    return _changed_by(connection, query, work.limits)
        finally:
            self._instances.drop()

    def _again(self, connection: DuckDBPyConnection, work: EngineQuery, deadline: float) -> ResultTable | None:
        """The result on the instance that is kept; None where the query needs one of its own."""
        with closing(connection), _stops("query", work.file), _Clock(connection, deadline) as clock, _zones():
            query = guard.one_reader(work.query, partial(guard.extract_from, connection, part="query"))
            if not guard.leaves_nothing(query):
                return None
            with _stops("query", work.file, clock):
                return _read(connection, query, work.limits)

    def _anew(self, work: EngineQuery, deadline: float) -> ResultTable:
        """The result on a new instance, which is kept where nothing but building it and reading it was done."""
        with _stops("query", work.file):
            connection = self._instances.fresh(work)
            if not work.script.strip():
                # A query that is refused before it runs leaves the instance to the next.
                self._instances.keep(work)
            with _Clock(connection, deadline) as clock, _zones():
                query = guard.one_reader(work.query, partial(guard.extract_from, connection, part="query"))
                with _stops("create", work.file, clock):
                    create = _create_of(connection, work.create)
                unchanged = create is None and guard.leaves_nothing(query)
                if not unchanged:
                    self._instances.release()
                if work.script.strip():
                    unchanged &= _build(connection, work, clock)
                if create:
                    with _stops("create", work.file, clock):
                        connection.execute(create)
                if unchanged:
                    self._instances.keep(work)
                with _stops("query", work.file, clock):
                    table = _read(connection, query, work.limits)
            if unchanged:
                connection.execute("ROLLBACK")
            else:
                self._instances.drop()
        return table


def _create_of(connection: DuckDBPyConnection, text: str) -> Statement | None:
    return guard.one_create(text, partial(guard.extract_from, connection, part="create")) if text.strip() else None


def _hole(connection: DuckDBPyConnection) -> str:
    """Name a restriction that does not work on a guarded connection; "" where all do.

    The last query also lets DuckDB import what it needs for values, so that the workers forked from here have it.
    """
    if not hasattr(connection, "interrupt"):
        return f"DuckDB {duckdb.__version__} cannot be interrupted from Python"
    settings = dict(connection.execute("SELECT name, value FROM duckdb_settings()").fetchall())
    expected = {name: str(value).lower() for name, value in guard.settings().items() if value is False}
    expected |= {"enable_external_access": "false", "lock_configuration": "true", "threads": "1", "temp_directory": ""}
    for name, value in expected.items():
        if settings.get(name) != value:
            return f"DuckDB {duckdb.__version__} does not keep the setting {name} = {value!r}"
    # DuckDB would take a Python variable that holds a relation for a table.
    relation = connection.sql("SELECT 1")  # noqa: F841 (its name is asked for)
    for probe in ("SELECT * FROM glob('*')", "SET threads = 2", "SELECT * FROM relation"):
        try:
            connection.execute(probe)
        except duckdb.Error:
            continue
        return f"DuckDB {duckdb.__version__} runs {probe} although access is disabled"
    with _zones():
        connection.execute("SELECT 1.5, DATE '2020-01-01', now(), uuid(), INTERVAL 1 DAY, [1], {'a': 1}").fetchmany(1)
    return ""


class _Clock:
    """Interrupts a connection at the deadline, again and again: an interrupt between two statements is lost."""

    def __init__(self, connection: DuckDBPyConnection, deadline: float) -> None:
        self.over = False
        self._connection = connection
        self._deadline = deadline
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        if self._done.wait(max(0.0, self._deadline - time.monotonic())):
            return
        self.over = True
        while not self._done.wait(_BEAT_S):
            self._connection.interrupt()


class _Utc(tzinfo):
    """UTC with `localize`, the only method of pytz that DuckDB calls."""

    def localize(self, moment: datetime) -> datetime:
        return moment.replace(tzinfo=self)

    def utcoffset(self, _: datetime | None) -> timedelta:
        return timedelta(0)

    def dst(self, _: datetime | None) -> timedelta:
        return timedelta(0)

    def tzname(self, _: datetime | None) -> str:
        return "UTC"

    def __repr__(self) -> str:
        return "UTC"


@contextmanager
def _zones() -> Iterator[None]:
    """Let DuckDB make zoned timestamps without pytz, which it insists on; our sessions are in UTC only."""
    if "pytz" in sys.modules:
        yield
        return
    module = ModuleType("pytz")
    module.timezone = lambda _: _Utc()  # type: ignore[attr-defined]
    module.utc = _Utc()  # type: ignore[attr-defined]
    sys.modules["pytz"] = module
    try:
        yield
    finally:
        sys.modules.pop("pytz", None)


def _build(connection: DuckDBPyConnection, work: EngineQuery, clock: _Clock) -> bool:
    """Run the script of a dataset, statement by statement.

    Returns:
        Whether all that it did is in the database, and nothing in this session alone.
    """
    unchanged = True
    extract = partial(guard.extract_from, connection, part="script")
    with _stops("script", work.file, clock):
        statements = extract(work.script)
        # It is run for each query, in any worker, and is to build the same each time.
        connection.execute("SELECT setseed(0.5)")
    for number, statement in enumerate(statements, 1):
        where = f"statement {number}: "
        with _stops("script", work.file, clock, where):
            if not guard.runs_in_script(statement, where, extract):
                continue
            unchanged &= guard.only_builds(statement)
            connection.execute(statement)
            if clock.over:
                raise SqlStop("timeout", f"{where}still running at the deadline", "script")
    # A script may leave a transaction open; what it wrote is needed.
    with suppress(duckdb.TransactionException):
        connection.execute("COMMIT")
    guard.draw_anew(connection)
    return unchanged


def _read(connection: DuckDBPyConnection, query: Statement, limits: SqlLimits) -> ResultTable:
    connection.execute("BEGIN TRANSACTION READ ONLY")
    connection.execute(query)
    described = _described(connection)
    try:
        return _fetched(connection, described, limits)
    except (OverflowError, ValueError, duckdb.InvalidInputException, duckdb.NotImplementedException):
        text = _as_text(query, described)
        if not text:
            raise
        connection.execute("ROLLBACK")
        connection.execute("BEGIN TRANSACTION READ ONLY")
        again = guard.one_reader(text, partial(guard.extract_from, connection, part="query"))
        connection.execute(again)
        return _fetched(connection, described, limits)


def _fetched(connection: DuckDBPyConnection, described: Sequence[tuple[str, str]], limits: SqlLimits) -> ResultTable:
    columns = tuple(name for name, _ in described)
    if not columns:
        return ResultTable((), ())
    types = tuple(kind[:_TYPE] for _, kind in described)
    nested = any(_NESTED.search(kind) for _, kind in described)
    convert = (lambda row: tuple(map(listed, row))) if nested else None
    return ResultTable(columns, fetch(connection.fetchmany, limits, convert), types)


def _as_text(query: Statement, described: Sequence[tuple[str, str]]) -> str:
    """The query with the columns as text that Python may be unable to hold; "" where there is none, or no SELECT."""
    awkward = [any(mark in kind for mark in _AWKWARD) for _, kind in described]
    if query.type.name != "SELECT" or not any(awkward):
        return ""
    names = [f"column_{number}" for number in range(len(described))]
    cells = [f"CAST({name} AS VARCHAR)" if text else name for name, text in zip(names, awkward, strict=True)]
    inner = query.query.rstrip("; \t\r\n")
    # The combined text is checked again as a whole, and runs under the same guards.
    return f"SELECT {', '.join(cells)} FROM (\n{inner}\n) AS result({', '.join(names)})"  # noqa: S608


@contextmanager
def _stops(part: Part, file: str, clock: _Clock | None = None, where: str = "") -> Iterator[None]:
    """Turn what DuckDB raises into a SqlStop of the right kind."""
    try:
        yield
    except SqlStop:
        raise
    except MemoryError:
        raise SqlStop("memory", f"{where}out of memory", part) from None
    except (duckdb.Error, RuntimeError, ArithmeticError, ValueError, TypeError) as error:
        if part == "query" and isinstance(error, duckdb.ConstraintException):
            raise SqlStop("constraint", f"{where}{_short_message(error, file)}", part) from None
        kind = "timeout" if clock is not None and clock.over else _kind_of(error)
        message = "still running at the deadline" if kind == "timeout" else _short_message(error, file)
        text = f"{where}{'denied: ' if kind == 'denied' else ''}{message}"
        unbound = part == "query" and kind == "error" and isinstance(error, _BEFORE_RUNNING)
        raise SqlStop(kind, text, part, before_running=unbound) from None


def _kind_of(error: Exception) -> FailureKind:
    message = str(error)
    if isinstance(error, duckdb.OutOfMemoryException) or any(mark in message for mark in _NO_MEMORY):
        return "memory"
    if isinstance(error, duckdb.InterruptException):
        return "timeout"
    if isinstance(error, duckdb.PermissionException) or any(mark in message for mark in _FORBIDDEN):
        return "denied"
    return "error"


def _short_message(error: Exception, file: str) -> str:
    """The first paragraph of DuckDB's message on one line, without the place of the private copy."""
    message = str(error).partition("\n\n")[0]
    if _kind_of(error) == "memory":
        # What follows is advice to set what is locked.
        message = message.partition("\n")[0]
    if file:
        message = message.replace(file, "the database")
    return " ".join(message.split())[:_MESSAGE] or type(error).__name__


def prepare(file: str, memory_mib: int) -> str:
    """Open a copied file once, so that DuckDB writes its write-ahead log into it.

    Reading a log evaluates defaults of the columns that it adds: the caller kills the process after its deadline.

    Args:
        file: the private copy, alone in its folder but for its own log.
        memory_mib: MiB that DuckDB may hold.

    Returns:
        Why it cannot be used; "" where it can.
    """
    settings = guard.settings_to_write(memory_mib) | {"enable_external_access": False}
    try:
        with duckdb.connect(file, config=settings) as connection:
            connection.execute("CHECKPOINT")
    except MemoryError:
        return f"opening it takes more than {memory_mib} MiB of memory"
    except (duckdb.Error, RuntimeError) as error:
        return _short_message(error, file)
    return ""


def opened_copy(work: EngineQuery) -> DuckDBPyConnection:
    """A guarded connection to an instance in memory with all that a file holds.

    Raises:
        duckdb.Error: it does not fit into memory, or is damaged.
    """
    connection = duckdb.connect(":memory:", config=guard.settings())
    try:
        path = work.file.replace("'", "''")
        connection.execute(f"ATTACH '{path}' AS \"the file\" (READ_ONLY)")
        connection.execute('COPY FROM DATABASE "the file" TO memory')
        connection.execute('DETACH "the file"')
        guard.lock(connection, work.limits)
        if work.now:
            pin_duckdb(connection, work.now)
    except BaseException:
        connection.close()
        raise
    return connection


def _changed_by(connection: DuckDBPyConnection, statement: Statement, limits: SqlLimits) -> ResultTable:
    """Run a statement that `one_change` let through on an instance in memory, and return what it changed."""
    before = _state(connection, limits)
    connection.execute("BEGIN TRANSACTION")
    connection.execute(statement)
    described = _described(connection)
    rows = _fetched(connection, described, limits).rows if described else []
    connection.execute("COMMIT")
    is_count = [name for name, _ in described] == ["Count"] and len(rows) == 1 and isinstance(rows[0][0], int)
    affected = rows[0][0] if is_count else 0 if statement.type.name == "SELECT" else len(rows)
    return differences(before, _state(connection, limits), affected)


def _described(connection: DuckDBPyConnection) -> list[tuple[str, str]]:
    return [(str(column[0]), str(column[1])) for column in connection.description or ()]


def _state(connection: DuckDBPyConnection, limits: SqlLimits) -> DatabaseState:
    objects = connection.execute(catalog_query("duckdb_objects")).fetchall()
    tables = [(_title(schema, name), _written(schema, name)) for kind, schema, name, _ in objects if kind == "table"]
    defined = [(kind, _title(schema, name), plain_definition(sql or "")) for kind, schema, name, sql in objects]

    def read(query: str, left: SqlLimits) -> Sequence[tuple[Any, ...]]:
        connection.execute(query)
        return _fetched(connection, _described(connection), left).rows

    return read_state(tables, defined, read, limits)


def _title(schema: str, name: str) -> str:
    return (name if schema == "main" else f"{schema}.{name}").casefold()


def _written(schema: str, name: str) -> str:
    return f"{quoted(schema, 'duckdb')}.{quoted(name, 'duckdb')}"
