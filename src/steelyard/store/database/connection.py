"""How the store talks to a database: statements as text that both databases understand, and rows of named fields.

A statement is plain SQL. `:name` stands for a value, and `IN :name` or `NOT IN :name` for any number of values, none
included. SQLite's connections are the standard library's, PostgreSQL's those of psycopg; what either of them raises is
a `DatabaseError` here, so that a caller needs to know neither.
"""

# Why it is so, and what was rejected: docs/decisions/store-one-sql.md

from __future__ import annotations

from collections import namedtuple
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from itertools import islice
from typing import Any, Final, Protocol, Self

from steelyard.store.database.schema import Dialect, StoredTable

Values = Mapping[str, Any]
"""Values of a statement by name; a list or tuple only behind IN."""
NO_VALUES: Final[Values] = {}
MOST_IN_QUERY: Final = 512
"""Values of one IN list: SQLite before 3.32 (2020) takes 999 parameters in a statement, later 32,766."""

_TOO_MANY_STEPS: Final = "the database is malformed: a query took more steps than all of its pages are worth"


class DatabaseError(Exception):
    """The message of a database or its driver on a failed statement.

    Attributes:
        code: the five characters of PostgreSQL (SQLSTATE); "" of SQLite and of a connection that broke.
    """

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code

    @classmethod
    def of(cls, error: Exception) -> DatabaseError:
        """The same error in our own type."""
        message = _TOO_MANY_STEPS if str(error) == "interrupted" else str(error)
        return cls(message, getattr(error, "sqlstate", None) or "")


class Cursor(Protocol):
    """The result of a statement as drivers return it (PEP 249)."""

    @property
    def description(self) -> Any:
        """A sequence per column, its name first; None where the statement returns no rows."""

    @property
    def rowcount(self) -> int:
        """Rows that were changed."""

    def fetchall(self) -> list[Any]:
        """All rows that are left."""

    def fetchone(self) -> Any:
        """The next row; None after the last."""

    def __iter__(self) -> Iterator[Any]:
        """The rows."""


class Rows:
    """The rows of one statement, each a named tuple; read once, as they come.

    Args:
        cursor: that the statement was executed with.
        error: what the driver raises.
        types: of the values of columns, by name, where the database lets a column hold any.
    """

    __slots__ = ("_cursor", "_error", "_types")

    def __init__(
        self, cursor: Cursor, error: type[Exception], types: Mapping[str, tuple[type, ...]] | None = None
    ) -> None:
        self._cursor = cursor
        self._error = error
        self._types = types

    def __iter__(self) -> Iterator[Any]:
        return map(_row_type(self._names)._make, self.tuples())

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(column[0] for column in self._cursor.description)

    def tuples(self) -> Iterator[tuple[Any, ...]]:
        """The rows as plain tuples, which costs a third of the time; for many rows.

        Raises:
            DatabaseError: a value is of a type that its column does not have.
        """
        if self._types is None:
            yield from self.unchecked()
            return
        names = self._names
        expected = [self._types.get(name, (object,)) for name in names]
        for row in self.unchecked():
            if not all(map(isinstance, row, expected)):
                pairs = zip(names, row, expected, strict=True)
                name, value = next((name, value) for name, value, types in pairs if not isinstance(value, types))
                raise DatabaseError(f"the database is malformed: {type(value).__name__} in the column {name}")
            yield row

    def unchecked(self) -> Iterator[tuple[Any, ...]]:
        """The same for millions of rows, whose reader looks at the types of all values of a column at once."""
        try:
            # Not `yield from`, which would close the cursor of a generator that is left early: SQLite's driver refuses
            # that where the connection was closed before.
            for row in self._cursor:  # noqa: UP028
                yield row
        except self._error as error:
            raise DatabaseError.of(error) from error

    def mappings(self) -> Iterator[dict[str, Any]]:
        """The rows as dictionaries by column."""
        return (dict(zip(self._names, row, strict=True)) for row in self.unchecked())

    def all(self) -> list[Any]:
        """All rows."""
        return list(self)

    def first(self) -> Any:
        """The first row; None where there is none."""
        return next(iter(self), None)

    def scalars(self) -> Iterator[Any]:
        """The first column of each row."""
        return (row[0] for row in self.tuples())

    def scalar(self) -> Any:
        """The first column of the first row; None where there is none."""
        return next(self.scalars(), None)

    @property
    def changed(self) -> int:
        """Rows that the statement changed."""
        return self._cursor.rowcount


@lru_cache(maxsize=256)
def _row_type(names: tuple[str, ...]) -> Any:
    return namedtuple("Row", names, rename=True)  # noqa: PYI024  # its fields are those of the statement


class Connection(Protocol):
    """A connection to the database of a store.

    Statements that write, and reads that have to see one moment, are made within `begin`.
    """

    @property
    def dialect(self) -> Dialect:
        """Which database it is: for the few statements that differ."""

    def execute(self, statement: str, values: Values = NO_VALUES) -> Rows:
        """Execute one statement.

        Raises:
            DatabaseError: it failed; so do all other methods.
        """

    def stream(self, statement: str, values: Values = NO_VALUES) -> Rows:
        """The same for a statement with many rows, which are not held all at once; within `begin`."""

    def insert_rows(self, statement: str, rows: Sequence[Values]) -> None:
        """Insert rows by a statement of `schema`, if there are any.

        Where it changes rows that exist already, no two of the new ones may have the same key.
        """

    def insert(self, table: StoredTable, row: Values) -> int:
        """Insert a row into a table whose key the database numbers; its number."""

    def begin(self) -> AbstractContextManager[None]:
        """A transaction: committed at the end, rolled back where an error leaves it or where the commit fails."""

    def has_table(self, name: str) -> bool:
        """Whether the store has a table."""

    def close(self) -> None:
        """Close it; a second call does nothing."""

    def __enter__(self) -> Self:
        """Itself, closed at the end."""

    def __exit__(self, *_: object) -> None:
        """Close it."""


def portions(values: Iterable[Any]) -> Iterator[list[Any]]:
    """Split the values of an IN list into lists that fit into one statement each; none for no values.

    A record may have any number of replies (an agent, a judge with many claims), so that the keys of a chunk of
    records have no upper bound, and a statement has one.

    >>> [len(portion) for portion in portions(range(2_000))]
    [512, 512, 512, 464]
    """
    remaining = iter(values)
    while portion := list(islice(remaining, MOST_IN_QUERY)):
        yield portion


def select_in(connection: Connection, statement: str, name: str, values: Collection[Any]) -> Iterator[Any]:
    """The rows of a statement with `IN :name`, for any number of values."""
    for portion in portions(values):
        yield from connection.execute(statement, {name: portion})
