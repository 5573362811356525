"""The databases of one folder, addressed by id; every query runs in the sandbox, on a copy, read-only.

The names are those of QATCH's `database_reader`, so that code written for it runs. What it did differently: a query
could write (a DROP in a prediction stayed), the last opened database was the first to be closed, `in` looked for a
part of the name of an open one, and asking for an unknown id made a folder of that name.
"""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, Self

from steelyard.constraints import check_options
from steelyard.errors import ConfigError, DataError, did_you_mean, expect_number
from steelyard.sql.results import EngineName, Execution, ResultTable, SqlFailure, SqlLimits
from steelyard.sql.sandbox import Sandbox
from steelyard.tables.locate import check_folder, database_ids, find_database

MOST_OPEN: Final = 15
"""Databases that are kept open."""

_BACKENDS: Final[tuple[Literal["pandas", "polars", "pyarrow"], ...]] = ("pandas", "polars", "pyarrow")
_TABLES: Final[Mapping[EngineName, str]] = MappingProxyType(
    {
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_'",
        "duckdb": "SELECT table_name FROM information_schema.tables ORDER BY table_name",
    }
)


class QueryFailed(DataError, sqlite3.OperationalError):
    """A query has no result; also an `sqlite3.OperationalError`, which code written for QATCH catches.

    Args:
        query: what was run.
        failure: why there is no result.
    """

    def __init__(self, query: Any, failure: SqlFailure) -> None:
        super().__init__(f"{failure.kind}: {failure.message}: {str(query)[:200]!r}")
        self.query = query
        self.failure = failure


class SingleDatabase:
    """One database of a folder.

    Args:
        db_path: the folder that holds it, as `<db_name>/<db_name>.sqlite` or `<db_name>.sqlite` (see `locate`).
        db_name: its id.
        sandbox: where its queries run; None makes one of its own.
        limits: of each query.

    Attributes:
        db_name: its id.
        db_path: the folder of its file.
        db_path_sqlite: the file.

    Raises:
        ConfigError: there is no such folder or database.
    """

    def __init__(
        self,
        db_path: str | Path,
        db_name: str,
        *,
        sandbox: Sandbox | None = None,
        limits: SqlLimits = SqlLimits(),
    ) -> None:
        folder = Path(db_path)
        check_folder(folder)
        self._database = find_database(folder, db_name)
        self._sandbox = sandbox or own_sandbox(self)
        self._owned = sandbox is None
        self._limits = limits
        self._names: list[str] | None = None
        self._schemas: dict[str, Any] | None = None
        self.db_name = db_name
        self.db_path_sqlite = str(self._database.file)
        self.db_path = str(Path(self.db_path_sqlite).parent)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_connection()

    @property
    def table_names(self) -> list[str]:
        """The names of its tables; read once."""
        if self._names is None:
            self._names = [row[0] for row in self._read(_TABLES[self._database.engine]).rows]
        return list(self._names)

    @property
    def table_schemas(self) -> Mapping[str, Any]:
        """Table -> data frame of its columns (cid, name, type, notnull, dflt_value, pk); read once."""
        if self._schemas is None:
            self._schemas = {name: self._schema(name) for name in self.table_names}
        return self._schemas

    def execute(self, query: Any) -> Execution:
        """Run one reading statement; whatever goes wrong with it is in the Execution.

        Args:
            query: SQL; what is not text has no result.
        """
        if not isinstance(query, str):
            return Execution(None, SqlFailure("error", f"a query is a text, not {type(query).__name__}"))
        return self._sandbox.run(self._database, query, limits=self._limits)

    def run_query(self, query: str) -> list[list[Any]]:
        """Run a query and return its rows.

        Raises:
            QueryFailed: there is no result: the engine's error, not one reading statement, or over the limits.
        """
        return [list(row) for row in self._read(query).rows]

    def get_table_given(self, table_name: str) -> Any:
        """A whole table as a data frame: of pandas, where it is not installed of polars, else of pyarrow.

        Raises:
            ConfigError: there is no such table.
        """
        self._check_table(table_name)
        return _frame(self._read(f"SELECT * FROM {_quoted(table_name)}"))  # noqa: S608  # quoted

    def get_schema_given(self, table_name: str) -> Any:
        """The columns of a table as a data frame: cid, name, type, notnull, dflt_value, pk.

        Raises:
            ConfigError: there is no such table.
        """
        self._check_table(table_name)
        return self.table_schemas[table_name]

    def close_connection(self) -> None:
        """Drop cached names and schemas, and end the workers if they belong to this object."""
        self._names = self._schemas = None
        if self._owned:
            self._sandbox.close()

    def _read(self, query: str) -> ResultTable:
        done = self.execute(query)
        if done.table is None:
            raise QueryFailed(query, done.failure or SqlFailure("error", "no result"))
        return done.table

    def _schema(self, table: str) -> Any:
        text = table.replace("'", "''")
        columns = 'cid, name, type, "notnull", dflt_value, pk'
        return _frame(self._read(f"SELECT {columns} FROM pragma_table_info('{text}')"))  # noqa: S608  # quoted

    def _check_table(self, name: str) -> None:
        names = self.table_names
        if name not in names:
            raise ConfigError(f"database {self.db_name!r} has no table {name!r}{did_you_mean(str(name), names)}")


class MultipleDatabases:
    """The databases of a folder, each opened on first use.

    Args:
        db_path: the folder, with `<id>/<id>.sqlite` or `<id>.sqlite` (.sqlite3, .db, .duckdb) for each.
        _max_db_in_memory: at most so many are kept open; the least recently used is closed first.
        sandbox: where queries run; None makes one, which is closed with this object, or when nothing refers to it.
        limits: of each query.

    Attributes:
        db_path: the folder.
        db_ids2db: id -> SingleDatabase of those that are open, the most recently used last.

    Raises:
        ConfigError: there is no such folder.
    """

    def __init__(
        self,
        db_path: str | Path,
        _max_db_in_memory: int = MOST_OPEN,
        *,
        sandbox: Sandbox | None = None,
        limits: SqlLimits = SqlLimits(),
    ) -> None:
        expect_number("_max_db_in_memory", _max_db_in_memory, 1, whole=True)
        check_options(limits)
        check_folder(Path(db_path))
        self.db_path = db_path
        self.db_ids2db: OrderedDict[str, SingleDatabase] = OrderedDict()
        self._max_db_in_memory = _max_db_in_memory
        self._sandbox = sandbox or own_sandbox(self)
        self._owned = sandbox is None
        self._limits = limits
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __contains__(self, other: object) -> bool:
        return isinstance(other, str) and other in self.get_db_names()

    def __getitem__(self, key: str) -> SingleDatabase:
        """Return the database `key`, opening it if necessary.

        Raises:
            ConfigError: there is none; the message suggests one.
        """
        with self._lock:
            database = self.db_ids2db.get(key)
            if database is None:
                database = SingleDatabase(self.db_path, key, sandbox=self._sandbox, limits=self._limits)
                while len(self.db_ids2db) >= self._max_db_in_memory:
                    self.db_ids2db.popitem(last=False)[1].close_connection()
                self.db_ids2db[key] = database
            self.db_ids2db.move_to_end(key)
            return database

    def get_db_names(self) -> list[str]:
        """The ids of all databases in the folder, sorted."""
        return database_ids(Path(self.db_path))

    def open_db(self, db_id: str) -> None:
        """Open a database before its first use.

        Raises:
            ConfigError: there is none of that id.
        """
        self[db_id]

    def execute(self, db_id: str, query: Any) -> Execution:
        """Run one reading statement; whatever goes wrong with it is in the Execution.

        Raises:
            ConfigError: there is no such database.
        """
        return self[db_id].execute(query)

    def run_query(self, db_id: str, query: str) -> list[list[Any]]:
        """Run a query and return its rows.

        Raises:
            ConfigError: there is no such database.
            QueryFailed: the query has no result.
        """
        return self[db_id].run_query(query)

    def run_multiple_queries(self, db_id: str, queries: Sequence[str]) -> list[list[list[Any]]]:
        """The rows of each query, in order.

        Raises:
            ConfigError: there is no such database.
            QueryFailed: the first query that has no result.
        """
        database = self[db_id]
        return [database.run_query(query) for query in queries]

    def get_table(self, db_id: str, tbl_name: str) -> Any:
        """A whole table as a data frame.

        Raises:
            ConfigError: there is no such database or table.
        """
        return self[db_id].get_table_given(tbl_name)

    def get_schema(self, db_id: str, tbl_name: str) -> Any:
        """The columns of a table as a data frame.

        Raises:
            ConfigError: there is no such database or table.
        """
        return self[db_id].get_schema_given(tbl_name)

    def get_all_table_schema_given(self, db_id: str) -> Mapping[str, Any]:
        """Table -> data frame of its columns.

        Raises:
            ConfigError: there is no such database.
        """
        return self[db_id].table_schemas

    def close(self) -> None:
        """Close all databases and end the workers; a later query opens them again."""
        with self._lock:
            for database in self.db_ids2db.values():
                database.close_connection()
            self.db_ids2db.clear()
        if self._owned:
            self._sandbox.close()


def own_sandbox(owner: object) -> Sandbox:
    """A sandbox that ends with its owner, also where nobody closes it."""
    sandbox = Sandbox()
    weakref.finalize(owner, sandbox.close)
    return sandbox


def _frame(table: ResultTable) -> Any:
    backend = next((name for name in _BACKENDS if find_spec(name) is not None), None)
    if backend is None:
        raise ConfigError("a data frame needs pandas, polars or pyarrow: install one of them (pip install pandas)")
    if backend == "pandas":
        import pandas as pd

        return pd.DataFrame(list(table.rows), columns=list(table.columns))
    import narwhals.stable.v1 as nw

    columns = {name: [row[index] for row in table.rows] for index, name in enumerate(table.columns)}
    return nw.from_dict(columns, backend=backend).to_native()


def _quoted(name: str) -> str:
    """A name as SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'
