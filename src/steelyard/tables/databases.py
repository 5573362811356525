"""The databases of one folder, addressed by id; every query runs in the sandbox, on a copy, read-only.

    <folder>/<id>/<id>.sqlite     the layout of Spider, BIRD and QATCH
    <folder>/<id>.sqlite          or flat
    <folder>/<id>/*.csv           one table in each file (.csv, .tsv, .jsonl, .ndjson, .parquet), read by DuckDB

The first two also with the endings .sqlite3, .db and .duckdb. An id comes from a dataset, so it is a name and never a
path, and the files may be no links that lead out of the folder. Servers are named in the configuration: each by an id,
or one address whose schemas are the ids.

The names of the classes are those of QATCH's `database_reader`, so that code written for it runs. What it did
differently: a query could write (a DROP in a prediction stayed), the last opened database was the first to be closed,
`in` looked for a part of the name of an open one, and asking for an unknown id made a folder of that name.
"""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from numbers import Integral
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, Self

from steelyard.constraints import check_options
from steelyard.errors import ConfigError, DataError, boundary, did_you_mean, expect_number
from steelyard.files import require_within
from steelyard.sql.catalog import schemas_on
from steelyard.sql.layout import quoted
from steelyard.sql.results import (
    Database,
    EngineName,
    Execution,
    LocalEngine,
    ResultTable,
    SqlFailure,
    SqlLimits,
    holds_tables,
    table_files,
)
from steelyard.sql.sandbox import Sandbox
from steelyard.sql.server_address import Server, is_address

DatabaseSource = Path | str | Mapping[str, Server]
"""A folder of files, the address of a server whose schemas are the ids, or servers by their ids."""
_ENGINES: Final[Mapping[str, LocalEngine]] = MappingProxyType(
    {".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite", ".duckdb": "duckdb"}
)
_DUCKDB_MARK: Final = b"DUCK"
_DUCKDB_MARK_AT: Final = 8
_LISTED: Final = 20


def check_folder(folder: Path) -> None:
    """Check that a path is a folder.

    Raises:
        ConfigError: which, and similar names next to it.
    """
    if folder.is_dir():
        return
    if folder.exists():
        raise ConfigError(f"databases: {folder} is not a folder; it holds <id>/<id>.sqlite or <id>.sqlite")
    siblings = [entry.name for entry in folder.parent.iterdir() if entry.is_dir()] if folder.parent.is_dir() else []
    hint = did_you_mean(folder.name, siblings)
    raise ConfigError(f"databases: there is no folder {folder}{hint if hint.startswith(':') else ''}")


def database_ids(folder: Path) -> list[str]:
    """List the ids of all databases in `folder`, sorted.

    Raises:
        ConfigError: there is no such folder.
    """
    check_folder(folder)
    with boundary("config", f"databases: {folder}"):
        entries = list(folder.iterdir())
    flat = {entry.stem for entry in entries if entry.suffix.lower() in _ENGINES and entry.is_file()}
    return sorted(flat | {entry.name for entry in entries if entry.is_dir() and _file_of(folder, entry.name)})


def check_source(source: DatabaseSource | None) -> None:
    """Check that databases are a folder or addresses of servers; nothing is connected.

    Raises:
        ConfigError: what is wrong.
    """
    if isinstance(source, str) and not is_address(source):
        check_folder(Path(source))
    for server in _servers(source):
        server.check()


def _servers(source: DatabaseSource | None) -> list[Server]:
    """The servers of a source as they are written."""
    if isinstance(source, Mapping):
        return list(source.values())
    return [Server(source)] if isinstance(source, str) and is_address(source) else []


def has_default(source: DatabaseSource | None) -> bool:
    """Whether a row that names no database runs on one all the same: an address with a database, or a single server."""
    servers = _servers(source)
    return len(servers) == 1 and bool(servers[0].database)


def find_database(source: DatabaseSource, db_id: Any) -> Database:
    """Find the database that `db_id` names, without opening it.

    Args:
        source: a folder with one file or one folder for each database, or servers.
        db_id: a name; texts are stripped, whole numbers are names as well, anything else is refused. "" is the default
            of a server, see `has_default`.

    Raises:
        ConfigError: unknown id; the message suggests similar ones. Or the file is a link that leads out of the folder.
    """
    number = isinstance(db_id, Integral) and not isinstance(db_id, bool)
    name = str(db_id).strip() if number or isinstance(db_id, str) else ""
    if isinstance(source, Mapping):
        server = source.get(name) or (next(iter(source.values())) if not name and has_default(source) else None)
        if server is None:
            raise ConfigError(f"there is no database {db_id!r} among the servers{did_you_mean(name, source)}")
        return Database(server.engine, server=server)
    if isinstance(source, str) and is_address(source):
        server = Server(source, name)
        return Database(server.engine, server=server)
    folder = Path(source)
    file = _file_of(folder, name)
    if file is None:
        raise ConfigError(f"there is no database {db_id!r} in {folder}{_hint(folder, str(db_id))}")
    for path in (file, *(table_files(file).values() if file.is_dir() else ())):
        require_within(folder, path)
    return Database(_engine_of(file), file)


def databases_in(source: DatabaseSource, sandbox: Sandbox) -> Mapping[str, Database]:
    """Return every database by its id; the default of a server has the id "".

    Args:
        source: a folder or servers.
        sandbox: connects to an address whose schemas are the ids.

    Raises:
        ConfigError: there is no such folder, no database in it, or a server cannot be reached.
        DataError: the schemas cannot be listed.
    """
    check_source(source)
    if isinstance(source, Mapping):
        ids = list(source)
    elif isinstance(source, str) and is_address(source):
        sandbox.check_server(Server(source))
        ids = schemas_on(sandbox, Server(source))
    else:
        ids = database_ids(Path(source))
    if not ids:
        tables = isinstance(source, Path | str) and Path(source).is_dir() and holds_tables(Path(source))
        hint = ". It holds tables: put those of each database into a folder of its own, <id>/*.csv" if tables else ""
        raise ConfigError(f"databases: {source} holds no database, as <id>/<id>.sqlite or <id>.sqlite{hint}")
    return {db_id: find_database(source, db_id) for db_id in ([*ids, ""] if has_default(source) else ids)}


def prepare_databases(source: DatabaseSource, sandbox: Sandbox) -> None:
    """Check that the engines and the roles that databases need may be used.

    Raises:
        ConfigError: no such folder, no database in it, an engine is not installed or cannot be confined here, a server
            cannot be reached, or its role may do more than read.
    """
    for server in _servers(source):
        sandbox.check_server(server)
    if not _servers(source):
        for engine in sorted({database.engine for database in databases_in(source, sandbox).values()}):
            sandbox.check(engine)


def check_writes(source: DatabaseSource | None) -> None:
    """Check that each server has a schema whose data may be changed.

    Raises:
        ConfigError: which has none.
    """
    for server in _servers(source):
        if not server.writes:
            raise ConfigError(
                f"databases: statements: any needs a schema of {server.title} that was made for it, and a role that "
                "may write to it alone: {shop: {url: ..., schema: trial, writes: true}}"
            )


def _file_of(folder: Path, name: str) -> Path | None:
    # Whether `name` is one step of a path, on any system.
    if not (name and name.isprintable() and name not in {".", ".."} and not set(name) & set("/\\:")):
        return None
    files = (parent / f"{name}{ending}" for parent in (folder / name, folder) for ending in _ENGINES)
    if (file := next((file for file in files if file.is_file()), None)) is not None:
        return file
    return folder / name if (folder / name).is_dir() and holds_tables(folder / name) else None


def _engine_of(file: Path) -> LocalEngine:
    """By its ending; DuckDB files are often called .db as well, and say so in their header. A folder holds tables."""
    if file.is_dir():
        return "duckdb"
    if file.suffix.lower() == ".db":
        with boundary("config", f"databases: {file}"), file.open("rb") as opened:
            head = opened.read(_DUCKDB_MARK_AT + len(_DUCKDB_MARK))
        return "duckdb" if head[_DUCKDB_MARK_AT:] == _DUCKDB_MARK else "sqlite"
    return _ENGINES[file.suffix.lower()]


def _hint(folder: Path, db_id: str) -> str:
    ids = database_ids(folder)
    hint = did_you_mean(db_id, ids)
    if hint.startswith(":") or len(ids) <= _LISTED:
        return hint or "; the folder holds none"
    return f"; known: {', '.join(ids[:_LISTED])} and {len(ids) - _LISTED} more"


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
        return _frame(self._read(f"SELECT * FROM {quoted(table_name, 'sqlite')}"))  # noqa: S608  # quoted

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
