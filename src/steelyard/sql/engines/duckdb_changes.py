"""A statement that changes data on DuckDB: on an instance in memory, into which a file is copied beforehand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import duckdb

from steelyard.sql.engines import duckdb_guard as guard
from steelyard.sql.engines.changes import DatabaseState, differences, plain_definition, read_state
from steelyard.sql.engines.clock import pin_duckdb
from steelyard.sql.results import ResultTable, SqlLimits

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, Statement

    from steelyard.sql.engines.engine import EngineQuery

Fetch = Callable[[Sequence[tuple[str, str]], SqlLimits], ResultTable]
"""Fetches what a connection has executed, from the names and types of its columns."""

_OBJECTS: Final = """
SELECT 'table', schema_name, table_name, sql FROM duckdb_tables() WHERE NOT internal AND NOT temporary
UNION ALL SELECT 'view', schema_name, view_name, sql FROM duckdb_views() WHERE NOT internal AND NOT temporary
UNION ALL SELECT 'index', schema_name, index_name, sql FROM duckdb_indexes()
UNION ALL SELECT 'sequence', schema_name, sequence_name, '' FROM duckdb_sequences() WHERE NOT temporary
UNION ALL SELECT 'type', schema_name, type_name, labels::VARCHAR FROM duckdb_types() WHERE NOT internal
UNION ALL SELECT 'schema', schema_name, '', '' FROM duckdb_schemas() WHERE NOT internal
ORDER BY ALL
"""


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


def changed_by(connection: DuckDBPyConnection, statement: Statement, limits: SqlLimits, fetched: Fetch) -> ResultTable:
    """Run a statement, and return what it changed; see `engines.changes`.

    Args:
        connection: to an instance in memory.
        statement: one that `one_change` let through.
        limits: of what is read before and after, each.
        fetched: see `Fetch`.

    Raises:
        SqlStop: too much to compare.
        duckdb.Error: whatever DuckDB says, violated constraints too.
    """
    before = _state(connection, limits, fetched)
    connection.execute("BEGIN TRANSACTION")
    connection.execute(statement)
    described = _described(connection)
    rows = fetched(described, limits).rows if described else []
    connection.execute("COMMIT")
    is_count = [name for name, _ in described] == ["Count"] and len(rows) == 1 and isinstance(rows[0][0], int)
    affected = rows[0][0] if is_count else 0 if statement.type.name == "SELECT" else len(rows)
    return differences(before, _state(connection, limits, fetched), affected)


def _described(connection: DuckDBPyConnection) -> list[tuple[str, str]]:
    return [(str(column[0]), str(column[1])) for column in connection.description or ()]


def _state(connection: DuckDBPyConnection, limits: SqlLimits, fetched: Fetch) -> DatabaseState:
    objects = connection.execute(_OBJECTS).fetchall()
    tables = [(_title(schema, name), _written(schema, name)) for kind, schema, name, _ in objects if kind == "table"]
    defined = [(kind, _title(schema, name), plain_definition(sql or "")) for kind, schema, name, sql in objects]

    def read(query: str, left: SqlLimits) -> Sequence[tuple[Any, ...]]:
        connection.execute(query)
        return fetched(_described(connection), left).rows

    return read_state(tables, defined, read, limits)


def _title(schema: str, name: str) -> str:
    return (name if schema == "main" else f"{schema}.{name}").casefold()


def _written(schema: str, name: str) -> str:
    return ".".join('"{}"'.format(part.replace('"', '""')) for part in (schema, name))
