"""A statement that changes data on SQLite: on a copy in memory, of which nothing is ever written to a file.

Only the tables that the statement writes to are read before and after it, as the authorizer names them while the
statement is compiled, those of triggers and of foreign keys among them. Foreign keys are enforced, as applications turn
them on, unless their declarations are malformed.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any, Final

from steelyard.sql.engines.changes import DatabaseState, differences, plain_definition, read_state
from steelyard.sql.engines.engine import SqlStop, fetch
from steelyard.sql.engines.sqlite_guard import Guard
from steelyard.sql.results import ResultTable, SqlLimits
from steelyard.sql.statements import Statement, main_verb

_PAGES: Final = 2_000
"""Pages that are copied between two looks at the clock."""
_CONTROLS: Final = frozenset(
    {"BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE", "ATTACH", "DETACH", "VACUUM", "PRAGMA"}
)
_MASTERS: Final = frozenset({"sqlite_master", "sqlite_temp_master", "sqlite_schema", "sqlite_temp_schema"})
_UNIQUE: Final = """
SELECT group_concat(column_name, ', ') FROM (
    SELECT i.name AS index_name, c.name AS column_name FROM pragma_index_list(?) AS i, pragma_index_info(i.name) AS c
    WHERE i."unique" AND i.origin = 'u' ORDER BY i.name, c.seqno
) GROUP BY index_name
"""
_AFFINITIES: Final = (
    ("INTEGER", ("INT",)),
    ("TEXT", ("CHAR", "CLOB", "TEXT")),
    ("BLOB", ("BLOB",)),
    ("REAL", ("REAL", "FLOA", "DOUB")),
)
_TOKENS: Final = re.compile(
    r"""(?P<blank>\s+|--[^\n]*|/\*.*?\*/)|(?P<text>'(?:[^']|'')*')|(?P<quoted>"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\])"""
    r"""|\w+(?:\.\d+)?|<=|>=|<>|!=|==|\|\||.""",
    re.DOTALL,
)
_MISMATCH: Final = "foreign key mismatch"


def expect_change(statement: Statement) -> None:
    """Deny what ends a transaction, reaches another database or changes a setting.

    Raises:
        SqlStop: `denied`.
    """
    verb = main_verb(statement.text)
    if verb in _CONTROLS:
        raise SqlStop("denied", f"denied: {verb}; one statement that reads or changes data is expected")


def copy_into_memory(file: sqlite3.Connection, memory: sqlite3.Connection, deadline: float) -> None:
    """Copy a whole database.

    Raises:
        SqlStop: `timeout`.
        sqlite3.Error: it is larger than the memory, or damaged.
    """

    def look(*_: int) -> None:
        if time.monotonic() > deadline:
            raise SqlStop("timeout", "still copying the database at the deadline")

    file.backup(memory, pages=_PAGES, progress=look)


def changed_by(connection: sqlite3.Connection, guard: Guard, statement: Statement, limits: SqlLimits) -> ResultTable:
    """Run a statement on a database in memory, and return what it changed; see `engines.changes`.

    Args:
        connection: to the copy, guarded.
        guard: its authorizer.
        statement: one that `expect_change` let through.
        limits: of what is read before and after, each.

    Raises:
        SqlStop: denied, or too much to compare.
        sqlite3.Error: whatever SQLite says, violated constraints too.
    """
    _unguarded(connection, guard, "PRAGMA foreign_keys = ON")
    try:
        return _changed_by(connection, guard, statement, limits)
    except sqlite3.OperationalError as error:
        if _MISMATCH not in str(error):
            raise
        # No row can be inserted where a foreign key names columns that are no key; SQLite's default ignores them.
        _unguarded(connection, guard, "ROLLBACK" if connection.in_transaction else "PRAGMA foreign_keys = OFF")
        _unguarded(connection, guard, "PRAGMA foreign_keys = OFF")
        return _changed_by(connection, guard, statement, limits)


def _changed_by(connection: sqlite3.Connection, guard: Guard, statement: Statement, limits: SqlLimits) -> ResultTable:
    guard.enter("change")
    guard.changed.clear()
    # Compiled and not run: this asks the authorizer about every table that it would write to.
    if not statement.text.lstrip().upper().startswith("EXPLAIN"):
        connection.execute(f"EXPLAIN {statement.text}").close()
    wanted = set(guard.changed)
    before = _state(connection, guard, wanted, limits)
    _unguarded(connection, guard, "BEGIN")
    guard.enter("change")
    counted = connection.total_changes
    with closing(connection.cursor()) as cursor:
        cursor.execute(statement.text)
        fetch(cursor.fetchmany, limits)
        affected = cursor.rowcount if cursor.rowcount >= 0 else connection.total_changes - counted
    # Foreign keys that are deferred are looked at here.
    _unguarded(connection, guard, "COMMIT")
    return differences(before, _state(connection, guard, wanted, limits), affected)


def _unguarded(connection: sqlite3.Connection, guard: Guard, statement: str) -> None:
    """Run a statement of ours, which the authorizer refuses a model's."""
    connection.set_authorizer(None)
    try:
        connection.execute(statement).close()
    finally:
        connection.set_authorizer(guard)


def _state(connection: sqlite3.Connection, guard: Guard, wanted: set[str], limits: SqlLimits) -> DatabaseState:
    """The state of the wanted tables; of all where the schema itself may change."""
    guard.enter("query")
    every = connection.execute(
        "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE substr(name, 1, 7) <> 'sqlite_' ORDER BY type, name"
    ).fetchall()
    tables = [name for kind, name, _, _ in every if kind == "table"]
    if not wanted & _MASTERS:
        folded = {name.casefold() for name in wanted}
        tables = [name for name in tables if name.casefold() in folded]
        return read_state(_written(tables), [], _reader(connection), limits)
    schema: list[tuple[Any, ...]] = [
        (kind, name, owner, sql or "") for kind, name, owner, sql in every if kind != "table"
    ]
    for name, text in [(name, sql or "") for kind, name, _, sql in every if kind == "table"]:
        columns = connection.execute(
            'SELECT cid, name, type, "notnull", dflt_value, pk FROM pragma_table_xinfo(?)', (name,)
        )
        schema += [
            ("column", name, at, column, affinity(kind), *rest) for at, column, kind, *rest in columns.fetchall()
        ]
        # A UNIQUE in CREATE TABLE has no text of its own.
        unique = connection.execute(_UNIQUE, (name,)).fetchall()
        schema += [("unique", name, *columns) for columns in unique]
        schema += [("check", name, check) for check in checks(text)]
        keys = connection.execute('SELECT "table", "from", "to", on_delete FROM pragma_foreign_key_list(?)', (name,))
        schema += [("foreign key", name, *key) for key in keys.fetchall()]
    plain = [tuple(plain_definition(cell) if isinstance(cell, str) else cell for cell in row) for row in schema]
    return read_state(_written(tables), plain, _reader(connection), limits)


def affinity(declared: str) -> str:
    """How SQLite stores what a column is declared as (https://sqlite.org/datatype3.html, 3.1).

    >>> [affinity(name) for name in ("INT", "varchar(9)", "", "DOUBLE", "DECIMAL(9, 2)")]
    ['INTEGER', 'TEXT', 'BLOB', 'REAL', 'NUMERIC']
    """
    name = declared.upper()
    return next(
        (kind for kind, parts in _AFFINITIES if any(part in name for part in parts)), "NUMERIC" if name else "BLOB"
    )


def checks(create: str) -> list[str]:
    r"""The conditions of CHECK in a CREATE TABLE, without differences of blanks, comments, case and quoted names.

    >>> checks("CREATE TABLE t (a INT CHECK(a>0), b TEXT DEFAULT 'CHECK (', CHECK ( B <> 'X' AND (\"a\" > 1)))")
    ['( a > 0 )', "( b <> 'X' and ( a > 1 ) )"]
    """
    found: list[str] = []
    inside: list[str] = []
    depth, before = 0, ""
    for token in _TOKENS.finditer(create):
        text = token.group()
        if token.lastgroup == "blank":
            continue
        plain = text if token.lastgroup == "text" else text.strip('"`[]').casefold()
        if text == "(" and (depth or before == "check"):
            depth += 1
        if depth:
            inside.append(plain)
            depth -= text == ")"
            if not depth:
                found.append(" ".join(inside))
                inside = []
        before = "" if token.lastgroup in {"text", "quoted"} else plain
    return found


def _written(tables: list[str]) -> list[tuple[str, str]]:
    return [(name.casefold(), '"{}"'.format(name.replace('"', '""'))) for name in tables]


def _reader(connection: sqlite3.Connection) -> Callable[[str, SqlLimits], list[tuple[Any, ...]]]:
    def read(query: str, limits: SqlLimits) -> list[tuple[Any, ...]]:
        with closing(connection.cursor()) as cursor:
            cursor.execute(query)
            return fetch(cursor.fetchmany, limits)

    return read
