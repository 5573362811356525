"""Reads the schema of a database on a server from its catalogue, as CREATE statements with keys and comments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from steelyard.errors import DataError
from steelyard.sql.results import Database, SqlLimits
from steelyard.sql.server_address import Server, ServerEngine

if TYPE_CHECKING:
    from steelyard.sql.sandbox import Sandbox

_TIMEOUT_S: Final = 30.0
_READINGS: Final = 4
"""Readings at most until two agree: a catalogue may change while it is read."""

# Rows of (order, table, position, kind, name, type or text, comment); kind is T, V, C, K or E.
_POSTGRES: Final = """
SELECT 1, c.relname, 0, CASE WHEN c.relkind IN ('v', 'm') THEN 'V' ELSE 'T' END, quote_ident(c.relname), '',
    coalesce(obj_description(c.oid, 'pg_class'), '')
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE {readable}
UNION ALL
SELECT 1, c.relname, a.attnum, 'C', quote_ident(a.attname), format_type(a.atttypid, a.atttypmod)
    || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END, coalesce(col_description(c.oid, a.attnum), '')
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE {readable} AND has_column_privilege(c.oid, a.attnum, 'SELECT')
UNION ALL
SELECT 1, c.relname, 100000 + k.oid::bigint, 'K', '', pg_get_constraintdef(k.oid), ''
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_constraint AS k ON k.conrelid = c.oid AND k.contype IN ('p', 'u', 'f') WHERE {readable}
UNION ALL
SELECT 0, t.typname, 0, 'E', format_type(t.oid, NULL), (SELECT string_agg(quote_literal(e.enumlabel), ', '
    ORDER BY e.enumsortorder) FROM pg_catalog.pg_enum AS e WHERE e.enumtypid = t.oid), ''
FROM pg_catalog.pg_type AS t WHERE t.typtype = 'e' AND pg_catalog.pg_type_is_visible(t.oid)
ORDER BY 1, 2, 3
""".replace(
    "{readable}",
    "c.relkind IN ('r', 'p', 'v', 'm', 'f') AND pg_catalog.pg_table_is_visible(c.oid) AND NOT c.relispartition "
    "AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND has_any_column_privilege(c.oid, 'SELECT')",
)
_MYSQL: Final = """
SELECT 1, t.table_name, 0, IF(t.table_type LIKE '%VIEW', 'V', 'T'), CONCAT('`', REPLACE(t.table_name, '`', '``'), '`'),
    '', IF(t.table_type LIKE '%VIEW', '', t.table_comment)
FROM information_schema.tables AS t WHERE t.table_schema = DATABASE() AND t.table_type <> 'SEQUENCE'
UNION ALL
SELECT 1, c.table_name, c.ordinal_position, 'C', CONCAT('`', REPLACE(c.column_name, '`', '``'), '`'),
    CONCAT(c.column_type, IF(c.is_nullable = 'NO', ' NOT NULL', '')), c.column_comment
FROM information_schema.columns AS c WHERE c.table_schema = DATABASE()
UNION ALL
SELECT 1, k.table_name, 100000, 'K', k.constraint_name, CONCAT(IF(k.constraint_name = 'PRIMARY', 'PRIMARY KEY (',
    IF(MAX(k.referenced_table_name) IS NULL, 'UNIQUE (', 'FOREIGN KEY (')),
    GROUP_CONCAT(CONCAT('`', k.column_name, '`') ORDER BY k.ordinal_position SEPARATOR ', '), ')',
    IF(MAX(k.referenced_table_name) IS NULL, '', CONCAT(' REFERENCES `', MAX(k.referenced_table_name), '` (',
    GROUP_CONCAT(CONCAT('`', k.referenced_column_name, '`') ORDER BY k.ordinal_position SEPARATOR ', '), ')'))), ''
FROM information_schema.key_column_usage AS k WHERE k.table_schema = DATABASE()
GROUP BY k.table_name, k.constraint_name
ORDER BY 1, 2, 3, 5
"""
_CATALOGUES: Final[Mapping[ServerEngine, str]] = MappingProxyType({"postgres": _POSTGRES, "mysql": _MYSQL})
_SCHEMAS: Final[Mapping[ServerEngine, str]] = MappingProxyType(
    {
        "postgres": "SELECT nspname FROM pg_catalog.pg_namespace AS n WHERE has_schema_privilege(n.oid, 'USAGE') "
        "AND nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema' AND EXISTS (SELECT 1 FROM "
        "pg_catalog.pg_class AS c WHERE c.relnamespace = n.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'f')) ORDER BY 1",
        "mysql": "SELECT schema_name FROM information_schema.schemata WHERE schema_name NOT IN "
        "('information_schema', 'mysql', 'performance_schema', 'sys') ORDER BY 1",
    }
)
_LINE_BREAKS: Final = re.compile(r"\s+")


def schemas_on(sandbox: Sandbox, server: Server) -> list[str]:
    """The schemas of PostgreSQL, or databases of MySQL, that the role may read.

    Raises:
        DataError: they cannot be listed.
    """
    return [str(row[0]) for row in _rows(sandbox, server, _SCHEMAS[server.engine])]


def ddl_on(sandbox: Sandbox, server: Server) -> str:
    """The CREATE statements of the tables and views that the role may read, in the order of their names.

    Raises:
        DataError: the catalogue cannot be read, or changes each time that it is read.
    """
    before: Sequence[Any] = ()
    for reading in range(_READINGS):
        rows = list(_rows(sandbox, server, _CATALOGUES[server.engine]))
        if reading and rows == before:
            return "\n".join(_statements(rows))
        before = rows
    raise DataError(f"the schema of {server.title} changes while it is read: try again when nothing changes it")


def _rows(sandbox: Sandbox, server: Server, query: str) -> Sequence[tuple[Any, ...]]:
    database = Database(server.engine, server=server)
    execution = sandbox.run(database, query, limits=replace(SqlLimits(), timeout_s=_TIMEOUT_S))
    if execution.table is None:
        why = execution.failure.message if execution.failure else "no result"
        raise DataError(f"cannot read the tables of {server.title}: {why}")
    return execution.table.rows


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
