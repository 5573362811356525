"""A statement that changes data on MySQL or MariaDB: in a transaction that is rolled back, in a database made for it.

Statements that define something are refused, as they commit by themselves here, and so are tables of engines without
transactions. One statement at a time changes a database, by a lock of the session. What a rollback leaves, the next
AUTO_INCREMENT of each table, is set back afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import pymysql

from steelyard.sql.engines.changes import DatabaseState, differences, read_state
from steelyard.sql.engines.engine import SqlStop
from steelyard.sql.results import ResultTable, SqlLimits
from steelyard.sql.servers.session import Numbers, SchemaHeld

_TABLES: Final = """
SELECT table_name, engine FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_type NOT IN ('VIEW', 'SYSTEM VIEW', 'SEQUENCE') ORDER BY 1
"""
"""By what is left out: a table with system versioning has a type of its own on MariaDB."""
_INCREMENTS: Final = """
SELECT table_name, auto_increment FROM information_schema.tables
WHERE table_schema = DATABASE() AND auto_increment IS NOT NULL ORDER BY 1
"""
_NO_RIGHT: Final = frozenset({1044, 1142})

Rows = Callable[[str], list[tuple[Any, ...]]]
"""Runs a statement of ours and returns its rows."""
Read = Callable[[str, SqlLimits], ResultTable]
"""Runs a query and returns its result within limits."""


def hold(rows: Rows, schema: str, seconds: float) -> None:
    """Lock a database against other changing statements, until the session is reset.

    Raises:
        SchemaHeld: another one had it for so long.
    """
    lock = "SELECT GET_LOCK({}, {:d})".format(_text(f"steelyard {schema}"[:60]), max(1, round(seconds)))
    if rows(lock) != [(1,)]:
        raise SchemaHeld


def changed_by(
    rows: Rows,
    read: Read,
    change: Callable[[str], int],
    statement: str,
    limits: SqlLimits,
    tell: Callable[[Numbers], None],
) -> ResultTable:
    """Run a statement on the session's database, roll it back, and return what it had changed; see `engines.changes`.

    Args:
        rows: see `Rows`.
        read: see `Read`.
        change: runs a statement and returns how many rows it affected.
        statement: one that `check_change` let through.
        limits: of what is read before and after, each.
        tell: see `ServerSession`.

    Raises:
        SqlStop: too much to compare, a table without transactions, or a number that cannot be set back.
        pymysql.Error: whatever the server says.
    """
    with suppress(pymysql.err.OperationalError):  # MySQL 8 alone has it, and else tells numbers of up to a day ago
        rows("SET SESSION information_schema_stats_expiry = 0")
    tables = [(str(name), str(engine)) for name, engine in rows(_TABLES)]
    if plain := [f"{name} ({engine})" for name, engine in tables if engine.lower() != "innodb"]:
        raise SqlStop("denied", f"denied: {plain[0]} has no transactions, so that nothing could be rolled back")
    increments = rows(_INCREMENTS)
    tell(increments)
    names = [(name, _quoted(name)) for name, _ in tables]

    def state() -> DatabaseState:
        return read_state(names, [], lambda query, left: read(query, left).rows, limits)

    try:
        rows("START TRANSACTION")
        before = state()
        affected = change(statement)
        return differences(before, state(), affected)
    finally:
        rows("ROLLBACK")
        set_back(rows, increments)


def set_back(rows: Rows, increments: Numbers) -> None:
    """Set the next number of each table back, which a rollback does not.

    Raises:
        SqlStop: the role may not, so that later statements would get other numbers.
    """
    now: dict[Any, Any] = dict(rows(_INCREMENTS))
    for name, number in increments:
        if now.get(name) == number:
            continue
        try:
            rows(f"ALTER TABLE {_quoted(name)} AUTO_INCREMENT = {int(number):d}")
        except pymysql.Error as error:
            if error.args[:1] and error.args[0] in _NO_RIGHT:
                why = f"the role may not set AUTO_INCREMENT of {name} back: grant ALTER on it"
                raise SqlStop("error", why) from None
            raise


def _quoted(name: str) -> str:
    return "`{}`".format(name.replace("`", "``"))


def _text(value: str) -> str:
    return "'{}'".format(value.replace("\\", "\\\\").replace("'", "''"))
