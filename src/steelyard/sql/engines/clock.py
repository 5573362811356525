"""Pins the clock of an engine: every function that asks for the time is replaced by one that returns a given moment.

The clock of the system is not touched. SQLite lets a connection define functions under the names of its own, and
CURRENT_DATE and its like are functions to it; in DuckDB a macro of the session comes before the engine's functions.
A function that a query names with its schema, such as `pg_catalog.now()`, is called without it, see
`steelyard.sql.clock`. The moment is in UTC, as sandboxed sessions are.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SQLITE_FUNCTIONS: Final = {
    "date": 0,
    "time": 0,
    "datetime": 0,
    "julianday": 0,
    "unixepoch": 0,
    "strftime": 1,
    "timediff": 0,
}
"""Function -> where its first moment stands; `timediff` has two, and needs both."""
_CURRENT: Final = {"current_date": "date", "current_time": "time", "current_timestamp": "datetime"}


def pin_sqlite(connection: sqlite3.Connection, now: str) -> sqlite3.Connection:
    """Replace SQLite's functions of date and time on a connection.

    Args:
        connection: on which nothing was run yet.
        now: ISO 8601, without a zone.

    Returns:
        The connection that computes dates, to be closed after the other one.
    """
    moment = datetime.fromisoformat(now).isoformat(" ")
    calendar = sqlite3.connect(":memory:", check_same_thread=False, cached_statements=64)
    # A statement chooses the format that it computes here.
    calendar.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, connection.getlimit(sqlite3.SQLITE_LIMIT_LENGTH))
    known = {str(name) for (name,) in calendar.execute("SELECT lower(name) FROM pragma_function_list")}
    for name in known & _SQLITE_FUNCTIONS.keys():
        at = _SQLITE_FUNCTIONS[name]
        # Deterministic, as indexes and generated columns may use them.
        connection.create_function(name, -1, _pinned(calendar, name, at, moment), deterministic=True)
    for name, function in _CURRENT.items():
        value = calendar.execute(f"SELECT {function}(?)", (moment,)).fetchone()[0]  # a name of ours
        connection.create_function(name, 0, lambda value=value: value, deterministic=True)
    return calendar


def _pinned(calendar: sqlite3.Connection, name: str, at: int, moment: str) -> Callable[..., Any]:
    def function(*values: Any) -> Any:
        arguments = list(values)
        if name != "timediff" and len(arguments) == at:
            arguments.append(moment)  # without a moment it is now
        for index in (0, 1) if name == "timediff" else (at,):
            value = arguments[index] if index < len(arguments) else None
            if isinstance(value, str) and value.strip().lower() == "now":
                arguments[index] = moment
        places = ", ".join("?" * len(arguments))
        return calendar.execute(f"SELECT {name}({places})", arguments).fetchone()[0]  # a name of ours

    return function


def pin_duckdb(connection: DuckDBPyConnection, now: str) -> None:
    """Let the session's macros answer for DuckDB's functions of the current time.

    Args:
        connection: whose session it is.
        now: ISO 8601, without a zone.
    """
    moment = f"TIMESTAMP '{datetime.fromisoformat(now).isoformat(' ')}'"
    zoned = f"TIMESTAMPTZ '{datetime.fromisoformat(now).isoformat(' ')}+00'"
    bodies = {
        **dict.fromkeys(("now", "get_current_timestamp", "transaction_timestamp", "current_timestamp"), zoned),
        **dict.fromkeys(("current_date", "today"), f"{moment}::DATE"),
        **dict.fromkeys(("get_current_time", "current_time"), f"{zoned}::TIMETZ"),
        **dict.fromkeys(("current_localtime", "localtime"), f"{moment}::TIME"),
        **dict.fromkeys(("current_localtimestamp", "localtimestamp"), moment),
    }
    macros = [f"CREATE TEMP MACRO {name}() AS {body}" for name, body in bodies.items()]
    age = f"system.main.age({moment}::DATE::TIMESTAMP, a)"
    macros.append(f"CREATE TEMP MACRO age(a) AS {age}, (a, b) AS system.main.age(a, b)")
    connection.execute("; ".join(macros))
