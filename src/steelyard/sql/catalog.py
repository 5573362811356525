"""Reads what the catalogue of a database says: its CREATE statements with keys and comments, and whether it has rows.

The queries stand in `catalog_queries`. A run reads the schema of each database once, before its first sample.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from steelyard.errors import DataError
from steelyard.sql.engines.engine import catalog_query
from steelyard.sql.results import Database, SqlLimits
from steelyard.sql.server_address import Server, ServerEngine
from steelyard.sql.syntax import CATALOG, all_tables, any_row

if TYPE_CHECKING:
    from steelyard.sql.sandbox import Sandbox

_LOCAL_S: Final = 10.0
_SERVER_S: Final = 30.0
"""Seconds that one reading may take."""
_READINGS: Final = 4
"""Readings at most until two agree: a catalogue may change while it is read."""

_SCHEMAS: Final[Mapping[ServerEngine, str]] = MappingProxyType(
    {
        "postgres": "SELECT nspname FROM pg_catalog.pg_namespace AS n WHERE has_schema_privilege(n.oid, 'USAGE') "
        "AND nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema' AND EXISTS (SELECT 1 FROM "
        "pg_catalog.pg_class AS c WHERE c.relnamespace = n.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'f')) ORDER BY 1",
        "mysql": "SELECT schema_name FROM information_schema.schemata WHERE schema_name NOT IN "
        "('information_schema', 'mysql', 'performance_schema', 'sys') ORDER BY 1",
    }
)
_SQLITE_SCHEMA: Final = (
    "SELECT sql FROM sqlite_master WHERE type IN ('table', 'view') AND sql IS NOT NULL "
    "AND substr(name, 1, 7) <> 'sqlite_' ORDER BY rowid"
)
_LINE_BREAKS: Final = re.compile(r"\s+")


def schemas_on(sandbox: Sandbox, server: Server) -> list[str]:
    """The schemas of PostgreSQL, or databases of MySQL, that the role may read.

    Raises:
        DataError: they cannot be listed.
    """
    return [str(row[0]) for row in _rows(sandbox, Database(server.engine, server=server), _SCHEMAS[server.engine])]


def ddl_of(sandbox: Sandbox, database: Database) -> str:
    """The CREATE statements of a database's tables and views, in the order in which they were made.

    Args:
        sandbox: where the database is opened.
        database: a file, a script or a server; of a server the tables that the role may read, by their names.

    Returns:
        One statement after another, each with its `;`; "" for a database without tables.

    Raises:
        DataError: the database cannot be read, or changes each time that it is read.
        ConfigError: its file does not exist, or the engine is refused.
    """
    if database.server is not None:
        return _ddl_on(sandbox, database.server)
    query = _SQLITE_SCHEMA if database.engine == "sqlite" else catalog_query("duckdb_schema")
    return "\n".join(f"{str(row[0]).strip().rstrip(';')};" for row in _rows(sandbox, database, query))


def _ddl_on(sandbox: Sandbox, server: Server) -> str:
    query = catalog_query(f"{server.engine}_schema")
    before: Sequence[Any] = ()
    for reading in range(_READINGS):
        rows = list(_rows(sandbox, Database(server.engine, server=server), query))
        if reading and rows == before:
            return "\n".join(_statements(rows))
        before = rows
    raise DataError(f"the schema of {server.title} changes while it is read: try again when nothing changes it")


def _rows(sandbox: Sandbox, database: Database, query: str) -> Sequence[tuple[Any, ...]]:
    seconds = _LOCAL_S if database.server is None else _SERVER_S
    execution = sandbox.run(database, query, limits=SqlLimits(timeout_s=seconds))
    if execution.table is None:
        source = database.file.name if database.file else "the database's script"
        source = source if database.server is None else database.server.title
        why = execution.failure.message if execution.failure else "no result"
        raise DataError(f"cannot read the tables of {source}: {why}")
    return execution.table.rows


def holds_rows(sandbox: Sandbox, database: Database) -> bool:
    """Whether any table of a database holds a row; True where that cannot be told. Blocks."""
    catalog = sandbox.run(database, CATALOG[database.engine]).table
    if catalog is None:
        return True
    tables = (sandbox.run(database, query).table for query in any_row(all_tables(catalog)))
    return any(table is None or bool(table.rows) for table in tables)


def _statements(rows: Sequence[tuple[Any, ...]]) -> Iterator[str]:
    """The statements of a catalogue's rows; a comment stands behind what it is about."""
    for (_, _), group in groupby(rows, key=lambda row: row[:2]):
        first, *parts = group
        _, _, _, kind, name, text, comment = first
        if kind == "E":
            yield f"CREATE TYPE {name} AS ENUM ({text});"
            continue
        if kind not in {"T", "V"}:
            continue
        lines = [(part[5] if part[3] == "K" else f"{part[4]} {part[5]}", str(part[6])) for part in parts]
        written = [
            f"  {line}{'' if at == len(lines) - 1 else ','}{_comment(about)}" for at, (line, about) in enumerate(lines)
        ]
        if kind == "V":
            names = ", ".join(str(part[4]) for part in parts)
            yield f"CREATE VIEW {name} ({names}) AS SELECT ...;{_comment(comment)}"
        else:
            yield "\n".join([f"CREATE TABLE {name} (", *written, f");{_comment(comment)}"])


def _comment(text: str) -> str:
    return f" -- {_LINE_BREAKS.sub(' ', text).strip()}" if text.strip() else ""
