"""Restricts DuckDB: the locked settings, and which statements the script, CREATE and query may contain.

The kind of a statement is what DuckDB's own parser says (`extract_statements`), never a search for words. Words are
looked at only where the parser's kind is too coarse (CREATE SECRET is a CREATE, CHECKPOINT a CALL), and there only the
ones that are known pass.

Source of the settings: "Securing DuckDB" in its manual, and trying each on 2.0.

Opening an instance takes 27 ms of CPU, most of it for registering functions, where a statement takes 1 ms. So one is
opened in the process that workers are forked from, which each worker inherits for its first scratch database; and one
on which nothing but plain SELECTs were run (`leaves_nothing`) is kept for the next statement on the same database. Each
statement has a connection of its own: what DuckDB keeps for a session ends with it. The rest is locked (`lock`), and
statements read in a transaction that may not write.
"""

# Why it is so, and what was rejected: docs/decisions/sql-sandbox.md

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

import duckdb
from duckdb import DuckDBPyConnection, Statement

from steelyard.sql.clock import pin_duckdb
from steelyard.sql.engines.engine import EngineQuery, SqlStop, check_text, expect_one, guard_lists
from steelyard.sql.results import Part, SqlLimits

Setting = str | bool | int | float | list[str]
_LISTS: Final = guard_lists("duckdb")
Extract = Callable[[str], Sequence["Statement"]]

_NOWHERE: Final = "/nonexistent"

_AT_START: Final[dict[str, Setting]] = {
    "threads": 1,
    "async_threads": 0,
    "temp_directory": "",
    "max_temp_directory_size": "0B",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_unsigned_extensions": False,
    "allow_extension_repositories": "forbidden",
    "allow_persistent_secrets": False,
    "allow_unredacted_secrets": False,
    "secret_directory": _NOWHERE,
    "python_enable_replacements": False,
    "python_scan_all_frames": False,
}

# External access is closed after the start, not by the configuration of connect(): closed there, DuckDB 2.0 allows the
# paths of "its own" files, which for a database in memory are ":memory:" and ":memory:.wal" in the current folder, and
# COPY writes them. The lock comes last: it keeps all settings before it.
_AFTER_START: Final = (
    # GLOBAL: for connections to the same instance as well, each of which has a session of its own.
    "SET GLOBAL TimeZone = 'UTC'",
    "SET enable_external_access = false",
    "SET disabled_filesystems = 'LocalFileSystem'",
    "SET lock_configuration = true",
)

_BLANK: Final = r"(?:\s|--[^\n]*(?:\n|\Z)|/\*(?:[^*]|\*(?!/))*\*/)"
_WORD: Final = re.compile(rf"{_BLANK}*([^\W\d]\w*)")
_EXPLAIN: Final = re.compile(
    rf"{_BLANK}*EXPLAIN(?:{_BLANK}+ANALY[SZ]E\b)?(?:{_BLANK}*\((?!{_BLANK}*(?:SELECT|WITH|FROM|VALUES|PIVOT|\())[^()]*\))?",
    re.IGNORECASE,
)

_PLAIN: Final = frozenset({"", "SELECT", "VALUES", "WITH", "FROM", "TABLE"})
"""First words of statements that leave nothing behind; "" is a bracket."""
_WRITES: Final = re.compile(r"\b(?:insert|update|delete|merge|truncate)\b", re.IGNORECASE)
"""Statements that a WITH may contain."""
_OF_SESSION: Final = frozenset({"TEMP", "TEMPORARY", "LOCAL"})
_ADJECTIVES: Final = frozenset({"OR", "REPLACE", "TEMP", "TEMPORARY", "LOCAL", "UNLOGGED", "UNIQUE", "RECURSIVE"})
_CHANGING: Final = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE_INTO", "DROP", "ALTER"})
_SCRIPT_SETTINGS: Final = frozenset({"USE", "SET VARIABLE", "SET SCHEMA"})


def settings() -> dict[str, Setting]:
    """Returns the configuration with which an instance is opened; its cap of memory is that of `SqlLimits()`."""
    return {**_AT_START, "memory_limit": f"{SqlLimits().memory_mib}MiB"}


def settings_to_write(memory_mib: int) -> dict[str, Setting]:
    """Returns the configuration of an instance that writes a private copy or loads tables, and runs no statement."""
    names = ("threads", "autoinstall_known_extensions", "autoload_known_extensions")
    return {**{name: _AT_START[name] for name in names}, "memory_limit": f"{memory_mib}MiB"}


def lock(connection: DuckDBPyConnection, limits: SqlLimits) -> None:
    """Apply the restrictions that can only be set on an open connection, then lock the configuration.

    Args:
        connection: the only one to its instance.
        limits: `memory_mib`, where it is not that of `settings`: to set it takes 2 ms in a process just forked.
    """
    if limits.memory_mib != SqlLimits().memory_mib:
        connection.execute(f"SET memory_limit = '{limits.memory_mib}MiB'")
    for setting in _AFTER_START:
        connection.execute(setting)


def draw_anew(connection: DuckDBPyConnection) -> None:
    """Let a session draw other random numbers than any other."""
    connection.execute("SELECT setseed(?)", [int.from_bytes(os.urandom(6), "big") / 2**48])


@cache
def lasting_calls() -> re.Pattern[str]:
    """A pattern that finds calls of functions with an effect beyond their result, and of those that run any SQL.

    These are the functions that DuckDB itself calls volatile, and all table functions but those known to read.
    """
    with duckdb.connect(":memory:", config=_AT_START) as connection:
        rows = connection.execute(
            "SELECT DISTINCT lower(function_name) FROM duckdb_functions() "
            "WHERE stability = 'VOLATILE' OR function_type IN ('table', 'table_macro', 'pragma')"
        ).fetchall()
    names = {str(name) for (name,) in rows} - _LISTS["read_functions"]
    # Between a name and its bracket there may be blanks of every kind, a closing quote and comments.
    called = rf"\b(?:{'|'.join(sorted(map(re.escape, names)))})\b[^\w(),.;]*(?:\(|--|/\*)"
    return re.compile(called, re.IGNORECASE)


def leaves_nothing(statement: Statement) -> bool:
    """Whether a reading statement is one plain SELECT, after which an instance is as it was.

    Names are looked for in comments and texts as well: one there costs a new instance, and nothing else.

    Args:
        statement: what `one_reader` returned.
    """
    text = statement.query
    plain = _kind(statement) == "SELECT" and _first(text) in _PLAIN and not _WRITES.search(text)
    return plain and not lasting_calls().search(text)


def only_builds(statement: Statement) -> bool:
    """Whether a statement of a script changes the database alone, and nothing that ends with its session."""
    temporary = _kind(statement) == "CREATE" and _OF_SESSION & {*_words(statement.query, 6)}
    return (
        _kind(statement) in _LISTS["building_kinds"] and not temporary and not lasting_calls().search(statement.query)
    )


def one_reader(text: str, extract: Extract) -> Statement:
    """Return the single reading statement of a query.

    Raises:
        SqlStop: `denied` unless it is exactly one, and one that reads.
        duckdb.Error: it does not parse.
    """
    statement = _single_statement(text, extract, "query")
    denied = _not_reading(statement, extract)
    if denied:
        raise SqlStop("denied", f"denied: {denied}; one statement that reads is expected", before_running=True)
    return statement


def one_create(text: str, extract: Extract) -> Statement:
    """Return the single CREATE statement that a model wrote.

    Raises:
        SqlStop: `denied` unless it is exactly one, of a kind that stays inside the database.
        duckdb.Error: it does not parse.
    """
    statement = _single_statement(text, extract, "create")
    if _kind(statement) not in {"CREATE", "MULTI"} or not _creates(statement.query):
        raise SqlStop(
            "denied",
            f"denied: {_named(statement)}; one CREATE TABLE, VIEW, TYPE, MACRO, SEQUENCE, SCHEMA or INDEX is expected",
            "create",
        )
    return statement


def one_change(text: str, extract: Extract) -> Statement:
    """The only statement of a text that may change the data of an instance in memory, or read it.

    Args:
        text: the model's or the dataset's.
        extract: DuckDB's split.

    Raises:
        SqlStop: `denied`, with what was denied.
    """
    statement = _single_statement(text, extract, "query")
    kind, words = _kind(statement), _words(statement.query, 6)
    creates = kind == "CREATE" and _creates(statement.query) and not _OF_SESSION & {*words}
    if creates or kind in _CHANGING or not _not_reading(statement, extract):
        return statement
    denied = f"denied: {_named(statement)}; one statement that reads or changes data is expected"
    raise SqlStop("denied", denied, before_running=True)


def runs_in_script(statement: Statement, where: str, extract: Extract) -> bool:
    """Check a statement of a dataset's script; False where it can be skipped.

    Args:
        statement: one of the script.
        where: which one, as the beginning of the message.
        extract: DuckDB's split.

    Raises:
        SqlStop: `denied`.
    """
    kind = _kind(statement)
    words = _words(statement.query, 3)
    if " ".join(words) in _LISTS["not_run_in_scripts"]:
        return False
    allowed = kind in _LISTS["script_kinds"] or (kind == "CREATE" and _creates(statement.query))
    if kind == "SET":
        allowed = words[:1] == ("USE",) or " ".join(words[:2]) in _SCRIPT_SETTINGS
    if kind in {"EXPLAIN", "PRAGMA", "CALL"}:
        allowed = not _not_reading(statement, extract)
    if not allowed:
        raise SqlStop("denied", f"{where}denied: {_named(statement)}", "script")
    return True


def extract_from(connection: DuckDBPyConnection, text: str, part: Part) -> Sequence[Statement]:
    """Split a text into statements with DuckDB's own parser.

    Raises:
        SqlStop: as of `check_text`.
        duckdb.Error: it does not parse.
    """
    check_text(text, part)
    return connection.extract_statements(text)


def _single_statement(text: str, extract: Extract, part: Part) -> Statement:
    statements = extract(text)
    expect_one(len(statements), part, before_running=True)
    return statements[0]


def _not_reading(statement: Statement, extract: Extract) -> str:
    """The effect of a statement besides reading; "" if it only reads."""
    kind = _kind(statement)
    name = _named(statement)
    if kind == "SELECT":
        return ""
    if kind == "MULTI":
        # PIVOT without a list of values: DuckDB itself makes two statements of it, of which the first is temporary.
        return "" if _first(statement.query) in _LISTS["pivoting"] else _explained(statement, extract)
    if kind == "EXPLAIN":
        return _explained(statement, extract)
    second = " ".join(_words(statement.query, 2)[1:]).lower()
    if kind == "PRAGMA":
        return "" if _first(statement.query) == "PRAGMA" and second in _LISTS["read_pragmas"] else name
    if kind == "CALL":
        reads = second.startswith(("duckdb_", "pragma_")) or second in _LISTS["read_calls"]
        return "" if _first(statement.query) == "CALL" and reads else name
    return name


def _explained(statement: Statement, extract: Extract) -> str:
    """The effect of the statement after EXPLAIN besides reading: EXPLAIN ANALYZE runs it."""
    head = _EXPLAIN.match(statement.query)
    inner = extract(statement.query[head.end() :]) if head else ()
    if len(inner) != 1:
        return _named(statement)
    denied = "EXPLAIN" if _kind(inner[0]) == "EXPLAIN" else _not_reading(inner[0], extract)
    return f"EXPLAIN {denied}" if denied else ""


def _creates(text: str) -> bool:
    words = _words(text, 6)
    kinds = [word for word in words[1:] if word not in _ADJECTIVES]
    return words[:1] == ("CREATE",) and bool(kinds) and kinds[0] in _LISTS["creatable"]


def _kind(statement: Statement) -> str:
    try:
        return statement.type.name
    except ValueError:
        # DuckDB parses statements that its Python module has no name for: UPDATE EXTENSIONS in 2.0.
        return "OTHER"


def _named(statement: Statement) -> str:
    """The name of a statement in a message: its first words, or DuckDB's kind where it begins with a bracket."""
    words = _words(statement.query, 2)
    return " ".join(words if words[:1] != ("WITH",) else ()) or _kind(statement)


def _first(text: str) -> str:
    return (*_words(text, 1), "")[0]


def _words(text: str, most: int) -> tuple[str, ...]:
    r"""The words with which a statement begins, in capitals; comments are blanks.

    >>> _words("/* a */ create -- b\n or replace table x", 4)
    ('CREATE', 'OR', 'REPLACE', 'TABLE')
    """
    words: list[str] = []
    at = 0
    text = text.lstrip("\ufeff;")
    while len(words) < most and (word := _WORD.match(text, at)):
        words.append(word.group(1).upper())
        at = word.end()
    return tuple(words)


_Key = tuple[str, str, int, str]


class Instances:
    """The instances of one process: an unused one in memory, and that of the last statement."""

    def __init__(self) -> None:
        self._unused: DuckDBPyConnection | None = None
        self._last: DuckDBPyConnection | None = None
        self._kept_for: _Key | None = None

    @property
    def keeps_one(self) -> bool:
        """Whether the next statement on the database of the last one finds it open."""
        return self._kept_for is not None

    def warm(self) -> None:
        """Open an instance for the processes that are forked from this one."""
        self._unused = duckdb.connect(":memory:", config=settings())
        lasting_calls()

    def kept(self, work: EngineQuery) -> DuckDBPyConnection | None:
        """A new connection to the instance that is kept, if its database and limits are the same."""
        if self._last is None or work.create.strip() or self._kept_for != _key(work):
            return None
        return _pinned(self._last.cursor(), work)

    def fresh(self, work: EngineQuery) -> DuckDBPyConnection:
        """A guarded connection to an instance on which nothing was run; the last one is closed."""
        self.drop()
        if self._unused is None or work.file:
            path = work.file or ":memory:"
            self._last = duckdb.connect(path, read_only=bool(work.file), config=settings())
        else:
            self._last, self._unused = self._unused, None
            # Else its random numbers would be the same in all workers.
            draw_anew(self._last)
        lock(self._last, work.limits)
        return _pinned(self._last, work)

    def keep(self, work: EngineQuery) -> None:
        """Keep the instance of this statement for the next one on its database, unless it is dropped."""
        self._kept_for = _key(work)

    def release(self) -> None:
        """Keep the instance for no further statement; this one goes on using it."""
        self._kept_for = None

    def drop(self) -> None:
        """Close the instance of the last statement, with all connections to it."""
        last, self._last, self._kept_for = self._last, None, None
        if last is not None:
            last.close()


def _pinned(connection: DuckDBPyConnection, work: EngineQuery) -> DuckDBPyConnection:
    if work.now:
        pin_duckdb(connection, work.now)
    return connection


def _key(work: EngineQuery) -> _Key:
    return work.file, work.script, work.limits.memory_mib, work.now
