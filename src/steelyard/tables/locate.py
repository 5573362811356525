"""Finds the databases of a folder by their ids.

    <folder>/<id>/<id>.sqlite     the layout of Spider, BIRD and QATCH
    <folder>/<id>.sqlite          or flat
    <folder>/<id>/*.csv           one table in each file (.csv, .tsv, .jsonl, .ndjson, .parquet), read by DuckDB

The first two also with the endings .sqlite3, .db and .duckdb. An id comes from a dataset, so it is a name and never a
path, and the files may be no links that lead out of the folder. Servers are named in the configuration: each by an id,
or one address whose schemas are the ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from steelyard.errors import ConfigError, boundary, did_you_mean
from steelyard.files import require_within
from steelyard.sql.results import Database, LocalEngine
from steelyard.sql.server_address import Server, is_address
from steelyard.sql.server_catalog import schemas_on
from steelyard.sql.table_files import holds_tables, table_files

if TYPE_CHECKING:
    from steelyard.sql.sandbox import Sandbox

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
    if not _is_name(name):
        return None
    files = (parent / f"{name}{ending}" for parent in (folder / name, folder) for ending in _ENGINES)
    if (file := next((file for file in files if file.is_file()), None)) is not None:
        return file
    return folder / name if (folder / name).is_dir() and holds_tables(folder / name) else None


def _is_name(name: str) -> bool:
    """Whether `name` is one step of a path, on any system."""
    return bool(name) and name.isprintable() and name not in {".", ".."} and not set(name) & set("/\\:")


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
