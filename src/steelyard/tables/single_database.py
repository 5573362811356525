"""One database of a folder: its queries run in the sandbox, on a copy, read-only; its tables come as data frames."""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, Self

from steelyard.errors import ConfigError, DataError, did_you_mean
from steelyard.sql.results import EngineName, Execution, ResultTable, SqlFailure, SqlLimits
from steelyard.sql.sandbox import Sandbox
from steelyard.tables.locate import check_folder, find_database

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
            query: SQL; what is no text has no result.
        """
        if not isinstance(query, str):
            return Execution(None, SqlFailure("error", f"a query is a text, not {type(query).__name__}"))
        return self._sandbox.run(self._database, query, limits=self._limits)

    def run_query(self, query: str) -> list[list[Any]]:
        """The rows that a query returns.

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
        """Forget what was read; ends its workers, where they are its own."""
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
        known = self.table_names
        if name not in known:
            raise ConfigError(f"database {self.db_name!r} has no table {name!r}{did_you_mean(str(name), known)}")


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

    columns = {name: [row[place] for row in table.rows] for place, name in enumerate(table.columns)}
    return nw.from_dict(columns, backend=backend).to_native()


def _quoted(name: str) -> str:
    """A name as SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'
