"""Tells whether a query asks for the current time, and pins the clock of an engine.

To pin it, every function that asks for the time is replaced by one that returns a given moment. The clock of the system
is not touched. SQLite lets a connection define functions under the names of its own, and CURRENT_DATE and its like are
functions to it; in DuckDB a macro of the session comes before the engine's functions. A function that a query names
with its schema, such as `pg_catalog.now()`, is called without it. The moment is in UTC, as sandboxed sessions are.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from steelyard.errors import ConfigError
from steelyard.sql.layout import QueryToken, end_of_bracket, scan
from steelyard.sql.results import EngineName

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_KEYWORDS: Final = frozenset({"CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP"})
_DUCKDB_KEYWORDS: Final = _KEYWORDS | {"LOCALTIME", "LOCALTIMESTAMP"}
"""Ask for the time with or without brackets."""
_CALLS_OF: Final[Mapping[EngineName, frozenset[str]]] = MappingProxyType(
    {
        "duckdb": frozenset(
            {
                *("NOW", "TODAY", "GET_CURRENT_TIMESTAMP", "GET_CURRENT_TIME", "TRANSACTION_TIMESTAMP"),
                *("CURRENT_LOCALTIME", "CURRENT_LOCALTIMESTAMP"),
            }
        ),
        "postgres": frozenset({"NOW", "TRANSACTION_TIMESTAMP", "STATEMENT_TIMESTAMP", "CLOCK_TIMESTAMP", "TIMEOFDAY"}),
        "mysql": frozenset(
            {"NOW", "CURDATE", "CURTIME", "SYSDATE", "UTC_DATE", "UTC_TIME", "UTC_TIMESTAMP", "UNIX_TIMESTAMP"}
        ),
    }
)
"""Ask for the time where they have no argument."""
_SCHEMAS: Final = frozenset({"MAIN", "PG_CATALOG", "INFORMATION_SCHEMA", "SYSTEM", "TEMP"})
"""Of DuckDB; `system.now()` names a database and no schema."""
_DATES: Final = ("date", "time", "datetime", "julianday", "unixepoch", "timediff")
_SQLITE_FUNCTIONS: Final = {**dict.fromkeys(_DATES, 0), "strftime": 1}
"""Function -> where its first moment stands; `timediff` has two, and needs both."""
_IN_SCRIPTS: Final = (
    *("current_", "'now'", "now(", "today(", "localtime", "transaction_timestamp"),
    *("date()", "time()", "unixepoch()", "julianday()"),
)


def may_read_clock(script: str) -> bool:
    """Whether a script, which may be long, may ask for the current time: a text in it may look like that.

    >>> may_read_clock("CREATE TABLE t(made DEFAULT CURRENT_TIMESTAMP)"), may_read_clock("INSERT INTO t VALUES ('no')")
    (True, False)
    """
    folded = script.casefold()
    return any(part in folded for part in _IN_SCRIPTS)


def check_now(now: str) -> str:
    """Return a moment as ISO 8601 in UTC without a zone; "" stays as it is.

    Raises:
        ConfigError: it is no date or time stamp.

    >>> check_now("2024-03-31"), check_now("2024-03-31T12:00:00+02:00")
    ('2024-03-31T00:00:00', '2024-03-31T10:00:00')
    """
    if now == "":
        return now
    try:
        moment = datetime.fromisoformat(now)
    except (ValueError, TypeError):
        raise ConfigError(f"now: expected a time stamp in UTC, such as 2024-03-31T12:00:00, not {now!r}") from None
    return (moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)).isoformat()


def reads_clock(query: str, engine: EngineName) -> str:
    """The part of a query that asks for the current time, as written; "" where there is none.

    >>> reads_clock("SELECT id FROM t WHERE day > date('now', '-1 day')", "sqlite")
    "date('now', '-1 day')"
    >>> reads_clock("SELECT date(day), 'now' FROM t", "sqlite"), reads_clock("SELECT age(day) FROM t", "duckdb")
    ('', 'age(day)')
    """
    tokens = tuple(scan(query, engine))
    return next((query[tokens[first].start : tokens[last].end] for first, _, last in _calls(tokens, engine)), "")


def without_schemas(query: str) -> str:
    """A query of DuckDB whose calls for the current time name no schema, so that macros of the session answer them.

    >>> without_schemas("SELECT pg_catalog.now(), main.day FROM main.t")
    'SELECT now(), main.day FROM main.t'
    """
    if "." not in query:
        return query
    tokens = tuple(scan(query, "duckdb"))
    pieces, end = [], 0
    for first, name, _ in _calls(tokens, "duckdb"):
        pieces.append(query[end : tokens[first].start])
        end = tokens[name].start
    return "".join([*pieces, query[end:]])


def _calls(tokens: Sequence[QueryToken], engine: EngineName) -> Iterator[tuple[int, int, int]]:
    """The first token, the name and the last token of each call for the current time; the first may be a schema."""
    keywords = _KEYWORDS if engine == "sqlite" else _DUCKDB_KEYWORDS
    for at, token in enumerate(tokens):
        is_called = at + 1 < len(tokens) and tokens[at + 1].text == "("
        is_dotted = at > 0 and tokens[at - 1].text == "."
        first = _first_schema(tokens, at) if is_dotted else at
        if not is_called:
            if token.word in keywords and not is_dotted:
                yield at, at, at
            continue
        arguments = tokens[at + 2 : end_of_bracket(tokens, at + 1)]
        last = min(at + 2 + len(arguments), len(tokens) - 1)
        if first is None:  # a method: day.age() is age(day)
            if engine != "sqlite" and _name(token) == "AGE" and not arguments:
                yield at, at, last
        elif _asks(_name(token), arguments, engine) or _name(token) in keywords:
            yield first, at, last


def _first_schema(tokens: Sequence[QueryToken], at: int) -> int | None:
    """The first token of the schema, and the database before it, that a name is qualified by; None for no schema."""
    if at < 2 or _name(tokens[at - 2]) not in _SCHEMAS:
        return None
    at -= 2
    return at - 2 if at >= 2 and tokens[at - 1].text == "." else at


def _name(token: QueryToken) -> str:
    """A bare or quoted name in capitals."""
    return token.text[1:-1].upper() if token.kind == "quoted" and token.text[0] == '"' else token.word


def _asks(name: str, arguments: Sequence[QueryToken], engine: EngineName) -> bool:
    """Whether a call asks for the current time: SQLite's by `now` or without a moment, `age` with one argument."""
    depth = min((token.depth for token in arguments), default=0)
    count = 1 + sum(token.text == "," and token.depth == depth for token in arguments) if arguments else 0
    if engine != "sqlite":
        return (name in _CALLS_OF[engine] and not count) or (name == "AGE" and count == 1)
    if name.lower() not in _SQLITE_FUNCTIONS:
        return False
    says_now = any(token.kind == "quoted" and token.text[1:-1].strip().lower() == "now" for token in arguments)
    return says_now or count == (1 if name == "STRFTIME" else 0)


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
