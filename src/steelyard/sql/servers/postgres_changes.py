"""A statement that changes data on PostgreSQL: in a transaction that is rolled back, in a schema made for it.

One statement at a time changes a schema, by an advisory lock of the session. What a rollback leaves, the values of
sequences, is set back afterwards, so that the next statement gets the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import psycopg
from psycopg import sql

from steelyard.sql.engines.changes import DatabaseState, differences, plain_definition, read_state
from steelyard.sql.engines.engine import EngineQuery, SqlStop, fetch
from steelyard.sql.results import ResultTable, SqlLimits
from steelyard.sql.servers.session import LOCK_SHARE, RESTORE_S, Numbers, SchemaHeld

_LOCK: Final = "SELECT pg_catalog.pg_advisory_lock(pg_catalog.hashtext('steelyard'), pg_catalog.hashtext(%s))"
_TABLES: Final = """
SELECT c.relname, pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname)
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1
"""
_OBJECTS: Final = """
SELECT 'column', c.relname, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull::text,
    coalesce(pg_catalog.pg_get_expr(d.adbin, d.adrelid), ''),
    (pg_catalog.row_number() OVER (PARTITION BY a.attrelid ORDER BY a.attnum))::text
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace AND n.nspname = %(schema)s
JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_catalog.pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum WHERE c.relkind IN ('r', 'p')
UNION ALL SELECT 'constraint', c.relname, pg_catalog.pg_get_constraintdef(k.oid), '', '', '', ''
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace AND n.nspname = %(schema)s
JOIN pg_catalog.pg_constraint AS k ON k.conrelid = c.oid
UNION ALL SELECT 'index', tablename, indexdef, '', '', '', '' FROM pg_catalog.pg_indexes WHERE schemaname = %(schema)s
UNION ALL SELECT 'view', viewname, definition, '', '', '', '' FROM pg_catalog.pg_views WHERE schemaname = %(schema)s
UNION ALL SELECT 'sequence', sequencename, '', '', '', '', '' FROM pg_catalog.pg_sequences WHERE schemaname = %(schema)s
ORDER BY 1, 2, 3
"""
_SEQUENCES: Final = """
SELECT pg_catalog.quote_ident(schemaname) || '.' || pg_catalog.quote_ident(sequencename), last_value, start_value
FROM pg_catalog.pg_sequences WHERE schemaname = %s ORDER BY 1
"""
_Connection = psycopg.Connection[Any]


def changed_by(
    connection: _Connection,
    begin: Sequence[str],
    statement: str,
    work: EngineQuery,
    convert: Callable[[tuple[Any, ...]], tuple[Any, ...]],
    tell: Callable[[Numbers], None],
) -> ResultTable:
    """Run a statement, roll it back, and return what it had changed; see `engines.changes`.

    Args:
        connection: of the role.
        begin: starts the transaction, with all limits.
        statement: one that `check_change` let through.
        work: names the schema that the role may write to, and the limits of what is read before and after, each.
        convert: makes a row of what the driver returns.
        tell: see `ServerSession`.

    Raises:
        SchemaHeld: another process changes the schema.
        SqlStop: too much to compare, or a sequence that cannot be set back.
        psycopg.Error: whatever the server says.
    """
    schema, limits = work.schema, work.limits
    _hold(connection, schema, LOCK_SHARE * limits.timeout_s)
    connection.execute(begin[1].replace("LOCAL ", "").encode())
    sequences = connection.execute(_SEQUENCES, [schema]).fetchall()
    tell(sequences)
    try:
        for command in begin:
            connection.execute(command.encode())
        before = _state(connection, schema, limits, convert)
        # Asked for binary results, of which there are none, it goes by the protocol that takes one statement only.
        cursor = connection.execute(statement.encode(), binary=True)
        affected = 0 if (cursor.statusmessage or "").startswith("SELECT") else max(0, cursor.rowcount)
        connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
        after = _state(connection, schema, limits, convert)
        return differences(before, after, affected)
    finally:
        if not connection.closed:
            connection.execute("ROLLBACK")
            _set_back(connection, schema, sequences)


def _hold(connection: _Connection, schema: str, seconds: float) -> None:
    """Lock a schema against other changing statements, until the session is reset."""
    connection.execute(f"SET statement_timeout = {max(1, round(seconds * 1000)):d}".encode())
    try:
        connection.execute(_LOCK, [schema])
    except (psycopg.errors.QueryCanceled, psycopg.errors.LockNotAvailable):
        raise SchemaHeld from None


def restore(connection: _Connection, schema: str, numbers: Numbers) -> None:
    """Set the sequences of a schema back; see `ServerSession`."""
    _hold(connection, schema, RESTORE_S)
    _set_back(connection, schema, numbers)


def _state(
    connection: _Connection, schema: str, limits: SqlLimits, convert: Callable[[tuple[Any, ...]], tuple[Any, ...]]
) -> DatabaseState:
    tables = connection.execute(_TABLES, [schema]).fetchall()
    objects = connection.execute(_OBJECTS, {"schema": schema}).fetchall()
    defined = [tuple(plain_definition(str(cell)) for cell in row) for row in objects]

    def read(query: str, left: SqlLimits) -> list[tuple[Any, ...]]:
        # A cursor of the server's: a table of any size is read only as far as the limits go.
        with connection.cursor("steelyard_state") as cursor:
            cursor.execute(query.encode())
            return fetch(cursor.fetchmany, left, convert)

    return read_state(tables, defined, read, limits)


def _set_back(connection: _Connection, schema: str, sequences: Numbers) -> None:
    """Set sequences back to the values that they had, which a rollback does not.

    Raises:
        SqlStop: the role may not, so that later statements would get other numbers.
    """
    values = {name: (last, start) for name, last, start in connection.execute(_SEQUENCES, [schema]).fetchall()}
    moved = [(name, last, start) for name, last, start in sequences if values.get(name) != (last, start)]
    if not moved:
        return
    try:
        connection.execute("BEGIN TRANSACTION READ WRITE")
        for name, last, start in moved:
            value = (name, start, False) if last is None else (name, last, True)
            connection.execute("SELECT pg_catalog.setval(%s::pg_catalog.regclass, %s, %s)", value)
        connection.execute("COMMIT")
    except psycopg.errors.InsufficientPrivilege:
        connection.execute("ROLLBACK")
        names = ", ".join(name for name, _, _ in moved)
        raise SqlStop("error", f"the role may not set the sequence {names} back: grant UPDATE on it") from None


def settings(limit_ms: int, schema: str, connection: _Connection) -> list[str]:
    """The start of the transaction, with all limits."""
    path = sql.Identifier(schema).as_string(connection)
    return [
        "BEGIN TRANSACTION READ WRITE",
        f"SET LOCAL statement_timeout = {limit_ms:d}",
        f"SET LOCAL lock_timeout = {limit_ms:d}",
        f"SET LOCAL idle_in_transaction_session_timeout = {limit_ms + 5000:d}",
        f"SET LOCAL search_path = {path}",
    ]
