"""Finds the databases of a folder by their ids.

    <folder>/<id>/<id>.sqlite     the layout of Spider, BIRD and QATCH
    <folder>/<id>.sqlite          or flat

Both also with the endings .sqlite3, .db and .duckdb. An id comes from a dataset, so it is a name and never a path, and
the file may be no link that leads out of the folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from steelyard.errors import ConfigError, boundary, did_you_mean
from steelyard.files import require_within
from steelyard.sql.results import Database, EngineName

_ENGINES: Final[Mapping[str, EngineName]] = MappingProxyType(
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


def find_database(folder: Path, db_id: Any) -> Database:
    """Find the database that `db_id` names, without opening it.

    Args:
        folder: with one file or one folder for each database.
        db_id: a name; texts are stripped, whole numbers are names as well, anything else is refused.

    Raises:
        ConfigError: unknown id; the message suggests similar ones. Or the file is a link that leads out of `folder`.
    """
    number = isinstance(db_id, Integral) and not isinstance(db_id, bool)
    name = str(db_id).strip() if number or isinstance(db_id, str) else ""
    file = _file_of(folder, name)
    if file is None:
        raise ConfigError(f"there is no database {db_id!r} in {folder}{_hint(folder, str(db_id))}")
    require_within(folder, file)
    return Database(_engine_of(file), file)


def databases_in(folder: Path) -> Mapping[str, Database]:
    """Return every database of a folder by its id.

    Raises:
        ConfigError: there is no such folder, or no database in it.
    """
    databases = {db_id: find_database(folder, db_id) for db_id in database_ids(folder)}
    if not databases:
        raise ConfigError(f"databases: {folder} holds no database, as <id>/<id>.sqlite or <id>.sqlite")
    return databases


def engines_in(folder: Path) -> set[EngineName]:
    """Return the engines that the databases in `folder` need.

    Raises:
        ConfigError: there is no such folder, or no database in it.
    """
    return {database.engine for database in databases_in(folder).values()}


def _file_of(folder: Path, name: str) -> Path | None:
    if not _is_name(name):
        return None
    files = (parent / f"{name}{ending}" for parent in (folder / name, folder) for ending in _ENGINES)
    return next((file for file in files if file.is_file()), None)


def _is_name(name: str) -> bool:
    """Whether `name` is one step of a path, on any system."""
    return bool(name) and name.isprintable() and name not in {".", ".."} and not set(name) & set("/\\:")


def _engine_of(file: Path) -> EngineName:
    """By its ending; DuckDB files are often called .db as well, and say so in their header."""
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
