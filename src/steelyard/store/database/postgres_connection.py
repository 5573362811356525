"""Connections to a PostgreSQL store: psycopg's own, a few of which are kept for the next reader, as making one is slow.

psycopg's own pool is a package of its own with a thread to fill it; a store reads from a few threads, and needs a list.

PostgreSQL knows neither the character of code 0 nor half a surrogate pair, but an id or a group may hold what a
spreadsheet or a program put there. These characters are escaped in every text that is sent, and all others are stored
as they are, so that a person who looks into the database reads them:

    code 0                  SUB 0
    half a surrogate pair   SUB and its four hexadecimal digits in capitals
    SUB (U+001A) itself     SUB SUB
"""

from __future__ import annotations

import contextlib
import re
import select
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import psycopg
from psycopg import Error, IsolationLevel, ServerCursor
from psycopg.adapt import Dumper, Loader
from psycopg.conninfo import make_conninfo

from steelyard.store.database.backend import Purpose
from steelyard.store.database.connection import NO_VALUES, DatabaseError, Rows, Values
from steelyard.store.database.schema import TABLES, Dialect, Kind, StoredTable, insert_into

if TYPE_CHECKING:
    from psycopg import Connection as DriverConnection

_KEPT_OPEN: Final = 2
_MOST_OPEN: Final = 22
"""Readers at once; a further one waits."""
_WAIT_S: Final = 30.0
_TRUSTED_S: Final = 10.0
"""A firewall forgets a connection that was idle for minutes, and tells nobody: then the server is asked first."""
_MARK: Final = "\x1a"
_ODD: Final = re.compile("[\0\x1a\ud800-\udfff]")
_ESCAPED: Final = re.compile("\x1a(\x1a|0|D[89A-F][0-9A-F]{2})")
_NOT_IN: Final = re.compile(r"\bNOT IN :(\w+)")
_IN: Final = re.compile(r"\bIN :(\w+)")
_INSERT: Final = re.compile(r"INSERT INTO (\w+) \((.+?)\) VALUES \(.+?\)(.*)")
_ARRAYS: Final[dict[Kind, tuple[str, Callable[[Any], Any]]]] = {
    "number": ("integer[]", index),
    "big number": ("bigint[]", index),
    "big": ("bigint[]", index),
    "integer": ("integer[]", index),
    "bigint": ("bigint[]", index),
    "smallint": ("smallint[]", index),
    "float": ("float[]", float),
    "text": ("text[]", str.__str__),
    "name": ("varchar[]", str.__str__),
    "word": ("varchar[]", str.__str__),
    "bytes": ("bytea[]", lambda value: bytes(memoryview(value))),
}
"""The type of a column's array, and what makes its values of one type in Python: psycopg takes no list of 1 and 0.5, or
of a text and a member of an enumeration. What is of another kind, 1.5 in a column of integers, is an error."""
_COLUMNS: Final = {table.name: table.columns for table in TABLES}
_MOST_INSERTED: Final = 1000
_MOST_CHARACTERS: Final = 4_000_000
"""Rows that one statement inserts, and the size of their values: the server takes no message of a gigabyte."""
_FETCHED: Final = 5000
"""Rows that a cursor of the server sends at once."""
_VALUE: Final = re.compile(r"(?<!:):([a-z]\w*)")
"""A value of a statement; two colons are a cast."""


class ConnectionPool:
    """Makes connections, and keeps up to two that were read with.

    Args:
        settings: of libpq.
        prepare: is given each new connection.
    """

    def __init__(self, settings: Mapping[str, str], prepare: Callable[[psycopg.Connection[Any]], None]) -> None:
        self._settings = make_conninfo(**settings)
        self._prepare = prepare
        self._kept: list[tuple[psycopg.Connection[Any], float]] = []
        self._keeps = True
        self._room = threading.BoundedSemaphore(_MOST_OPEN)

    def connect(self) -> psycopg.Connection[Any]:
        """A new connection, which is its caller's to close.

        Raises:
            DatabaseError: the server cannot be reached, or refuses.
        """
        try:
            driver = psycopg.connect(self._settings)
        except psycopg.Error as error:
            raise DatabaseError.of(error) from error
        self._prepare(driver)
        return driver

    def take(self) -> psycopg.Connection[Any]:
        """A connection to read with, to be given back.

        Raises:
            DatabaseError: all are in use, or the server cannot be reached.
        """
        if not self._room.acquire(timeout=_WAIT_S):
            raise DatabaseError(f"{_MOST_OPEN} connections were in use for {_WAIT_S:.0f} s")
        self._keeps = True
        try:
            return self._working() or self.connect()
        except BaseException:
            self._room.release()
            raise

    def give_back(self, driver: psycopg.Connection[Any]) -> None:
        """Keep a connection for whoever reads next, or close it."""
        with contextlib.suppress(psycopg.Error):  # a broken one is closed
            driver.rollback()
            driver.autocommit = True
        if driver.closed or driver.broken or not driver.autocommit or len(self._kept) >= _KEPT_OPEN:
            driver.close()
        else:
            self._kept.append((driver, time.monotonic()))
        self._room.release()
        if not self._keeps:  # a thread was still reading as the store was closed, and nobody would close this one
            self.close()

    def close(self) -> None:
        """Close the connections that are kept, now and when they are given back; the pool can still be used."""
        self._keeps = False
        with contextlib.suppress(IndexError):
            while True:
                self._kept.pop()[0].close()

    def _working(self) -> psycopg.Connection[Any] | None:
        """The connection that was used last of those that are kept; None where none works."""
        with contextlib.suppress(IndexError):  # several threads take from the list
            while True:
                driver, since = self._kept.pop()
                if not is_cut(driver) and (time.monotonic() - since < _TRUSTED_S or _answers(driver)):
                    return driver
                driver.close()
        return None


def is_cut(driver: psycopg.Connection[Any]) -> str:
    """Whether the server closed a connection; checked on the socket without a query, in microseconds."""
    if driver.closed:
        return "the connection to the server is closed"
    poll = select.poll()
    # Only the end counts: the server also reports changed settings unasked. macOS reports the end in any case.
    poll.register(driver.fileno(), getattr(select, "POLLRDHUP", 0))
    return "the server has closed the connection" if poll.poll(0) else ""


def _answers(driver: psycopg.Connection[Any]) -> bool:
    try:
        driver.execute("SELECT 1")
    except psycopg.Error:
        return False
    return True


def escape(text: str) -> str:
    r"""`text` without anything that PostgreSQL refuses.

    >>> escape("a\0b\udc80")
    'a\x1a0b\x1aDC80'
    """
    return _ODD.sub(_escaped, text)


def unescape(text: str) -> str:
    r"""The text that `escape` was given.

    >>> unescape(escape("a\0b\x1a0\udc80")) == "a\0b\x1a0\udc80"
    True
    """
    return _ESCAPED.sub(_unescaped, text) if _MARK in text else text


def _escaped(match: re.Match[str]) -> str:
    mark = match[0]
    return _MARK + ("0" if mark == "\0" else mark if mark == _MARK else f"{ord(mark):04X}")


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    return "\0" if code == "0" else code if code == _MARK else chr(int(code, 16))


class _EscapingDumper(Dumper):
    """Escapes texts that are sent; their type is left to the server, as psycopg does for a text."""

    def dump(self, obj: str) -> bytes:
        return escape(obj).encode()


class _UnescapingLoader(Loader):
    """Restores texts that are read."""

    def load(self, data: Any) -> str:
        return unescape(bytes(data).decode())


def escape_texts(driver: DriverConnection[Any]) -> None:
    """Let a connection escape the texts that it sends, and read back those that it gets."""
    driver.adapters.register_dumper(str, _EscapingDumper)
    for kind in ("text", "varchar"):
        driver.adapters.register_loader(kind, _UnescapingLoader)


@lru_cache(maxsize=512)  # a viewer that is never stopped sees any number of conditions
def _translated(statement: str) -> str:
    """A statement as psycopg takes it: a list is one value, an array."""
    text = statement.replace("%", "%%")
    text = _NOT_IN.sub(r"<> ALL (:\1)", text)
    text = _IN.sub(r"= ANY (:\1)", text)
    return _VALUE.sub(r"%(\1)s", text)


@lru_cache(maxsize=64)
def _of_arrays(statement: str) -> tuple[str, dict[str, Callable[[Any], Any]]]:
    """The statement that inserts rows from an array for each column; column -> how to convert its values.

    >>> _of_arrays("INSERT INTO word (text) VALUES (:text) ON CONFLICT DO NOTHING")[0]
    'INSERT INTO word (text) SELECT * FROM unnest(:text::text[]) ON CONFLICT DO NOTHING'
    """
    match = _INSERT.fullmatch(statement)
    if match is None or match[1] not in _COLUMNS:
        raise ValueError(f"not a statement of `schema` that inserts rows: {statement}")
    name, listed, rest = match.groups()
    kinds = {column.name: column.kind for column in _COLUMNS[name]}
    of_columns = {column: _ARRAYS[kinds[column]] for column in listed.split(", ")}
    arrays = ", ".join(f":{column}::{array}" for column, (array, _) in of_columns.items())
    converters = {column: convert for column, (_, convert) in of_columns.items()}
    return f"INSERT INTO {name} ({listed}) SELECT * FROM unnest({arrays}){rest}", converters


def _portions(rows: Sequence[Values]) -> Iterator[Sequence[Values]]:
    """The rows in parts that one statement can insert."""
    first = size = 0
    for end, row in enumerate(rows, start=1):
        size += sum(len(value) for value in row.values() if isinstance(value, bytes | str))
        if end - first == _MOST_INSERTED or size >= _MOST_CHARACTERS:
            yield rows[first:end]
            first, size = end, 0
    if first < len(rows):
        yield rows[first:]


def _with_arrays(values: Values) -> Values:
    """The values with each tuple as a list: psycopg takes a tuple for a row."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


class PostgresConnection:
    """A connection of the pool, given back when it is closed; one that writes is its own, and closed for good.

    Args:
        pool: of the store.
        purpose: see `Purpose`.

    Attributes:
        driver: psycopg's connection.

    Raises:
        DatabaseError: the server cannot be reached.
    """

    dialect: ClassVar[Dialect] = "postgresql"

    def __init__(self, pool: ConnectionPool, purpose: Purpose) -> None:
        self._streams: list[ServerCursor[Any]] = []
        # One that writes is not handed to whoever connects next: a lock is the connection's.
        is_writing = purpose == "writing"
        self.driver: DriverConnection[Any] = pool.connect() if is_writing else pool.take()
        self._end: Callable[[DriverConnection[Any]], None] | None = _close if is_writing else pool.give_back
        try:
            self._prepare(purpose)
        except Error as error:
            self.close()
            raise DatabaseError.of(error) from error

    def _prepare(self, purpose: Purpose) -> None:
        self.driver.isolation_level = (
            IsolationLevel.REPEATABLE_READ if purpose == "snapshot" else IsolationLevel.READ_COMMITTED
        )
        self.driver.read_only = True if purpose == "snapshot" else None
        self.driver.autocommit = purpose == "latest"

    def execute(self, statement: str, values: Values = NO_VALUES) -> Rows:
        """Execute one statement."""
        return Rows(self._called(self.driver.execute, _translated(statement), _with_arrays(values)), Error)

    def stream(self, statement: str, values: Values = NO_VALUES) -> Rows:
        """The same with a cursor of the server: psycopg would hold all rows of an ordinary one at once."""
        cursor = self.driver.cursor(f"stream_{len(self._streams)}")
        cursor.itersize = _FETCHED
        self._streams.append(cursor)
        return Rows(self._called(cursor.execute, _translated(statement), _with_arrays(values)), Error)

    def insert_rows(self, statement: str, rows: Sequence[Values]) -> None:
        """Insert rows, many by one statement.

        Not by psycopg's `executemany`: the last message of its pipeline (Flush) turns off the server's
        `idle_in_transaction_session_timeout`, and a process that is frozen then keeps its locks for ever.
        """
        inserts, converters = _of_arrays(statement)
        for portion in _portions(rows):
            columns = {
                name: [None if row[name] is None else convert(row[name]) for row in portion]
                for name, convert in converters.items()
            }
            self.execute(inserts, columns)

    def insert(self, table: StoredTable, row: Values) -> int:
        """Insert a row into a table whose key the server numbers; its number."""
        key = next(column.name for column in table.columns if column.key)
        return int(self.execute(f"{insert_into(table, tuple(row))} RETURNING {key}", row).scalar())

    @contextlib.contextmanager
    def begin(self) -> Iterator[None]:
        """A transaction; none where each statement is one."""
        try:
            yield
            if not self.driver.autocommit:
                self._called(self.driver.commit)
        except BaseException:
            # A transaction that failed, and one on a connection that broke, the server has ended itself.
            with contextlib.suppress(Error):
                self.driver.rollback()
            raise
        finally:
            # The server closed them with the transaction; psycopg wants to be told.
            while self._streams:
                self._streams.pop().close()

    @contextlib.contextmanager
    def savepoint(self) -> Iterator[None]:
        """A part of a transaction that may fail without the rest."""
        with self.driver.transaction():
            yield

    def has_table(self, name: str) -> bool:
        """Whether the store has a table."""
        query = "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = current_schema() AND tablename = :name"
        return self.execute(query, {"name": name}).scalar() is not None

    def close(self) -> None:
        """Give it back, or close it; a second call does nothing."""
        end, self._end = self._end, None
        if end is not None:
            end(self.driver)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @staticmethod
    def _called(call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except Error as error:
            raise DatabaseError.of(error) from error


def _close(driver: DriverConnection[Any]) -> None:
    driver.close()
