"""SQLite in a worker: a new connection per query, restricted by SQLite's limits, authorizer and progress handler.

Source of the settings: SQLite's "Defense Against The Dark Arts" (sqlite.org/security.html). Its example limits are far
too tight for analytic statements; those below stop what a limit has to stop and refuse nothing that an analyst writes.
One setting of that page is left out: `trusted_schema = OFF` refuses every view over a full-text index. What it guards
against, a view that calls a function which reaches outside, the authorizer denies in views too.

`prepare` merges the log or journal of a private copy into the file and checks its pages.

A statement that changes data runs on a copy in memory, of which nothing is ever written to a file. Only the tables that
it writes to are read before and after it, as the authorizer names them while the statement is compiled, those of
triggers and of foreign keys among them. Foreign keys are enforced, as applications turn them on, unless their
declarations are malformed.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from random import Random
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote

from steelyard.sql.clock import pin_sqlite
from steelyard.sql.engines.engine import (
    DatabaseState,
    EngineQuery,
    SqlStop,
    check_text,
    differences,
    expect_one,
    fetch,
    guard_lists,
    plain_definition,
    read_state,
)
from steelyard.sql.engines.sqlite_guard import Guard
from steelyard.sql.layout import quoted
from steelyard.sql.results import FailureKind, Part, ResultTable, SqlLimits
from steelyard.sql.statements import Statement, main_verb, split

_SQL_BYTES: Final = 1_000_000
_SCRIPT_BYTES: Final = 20_000_000
_LIMITS: Final = (
    (sqlite3.SQLITE_LIMIT_LENGTH, 20_000_000),
    (sqlite3.SQLITE_LIMIT_SQL_LENGTH, _SQL_BYTES),
    (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 1000),
    (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
    (sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 100),
    (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
)
"""Longest text or blob and longest statement in bytes; the rest stays as SQLite has it."""

_PROGRESS_OPS: Final = 4000
"""Steps of SQLite's machine between two checks of the clock: well under a millisecond, and under 1 % of the time."""

_CREATABLE: Final = frozenset({"TABLE", "VIEW", "INDEX", "UNIQUE", "VIRTUAL", "TEMP", "TEMPORARY"})


class SqliteEngine:
    """Runs queries with the `sqlite3` module of the standard library."""

    def __init__(self) -> None:
        with closing(sqlite3.connect(":memory:")) as connection:
            modules = connection.execute("SELECT lower(name) FROM pragma_module_list").fetchall()
        self._barred = guard_lists("sqlite")["outside_tables"] & {name for (name,) in modules}

    def refusal(self) -> str:
        """Nothing: every supported Python has the limits, the authorizer and the progress handler."""
        return ""

    keeps_database = False

    def warm(self) -> None:
        """Nothing: a connection is opened in 0.1 ms."""

    def execute(self, work: EngineQuery) -> ResultTable:
        """Build the database, run `create` and the query; see the protocol `Engine`."""
        deadline = time.monotonic() + work.limits.timeout_s
        query = _single_statement(work.query, "query")
        if work.changes:
            return self._changed(work, query, deadline)
        _expect_reader(query)
        create = _single_statement(work.create, "create") if work.create.strip() else None
        if create:
            _expect_create(create)
        with self._built(work, deadline) as (connection, guard):
            if create:
                guard.enter("create")
                with _stops(guard, "create"):
                    connection.execute(create.text)
            _make_read_only(connection, guard)
            with _stops(guard, "query"):
                return _read(connection, query.text, work)

    def _changed(self, work: EngineQuery, query: Statement, deadline: float) -> ResultTable:
        """What a statement changes on a copy of the database in memory."""
        if work.create.strip():
            raise SqlStop("denied", "denied: CREATE beside a statement that changes data", "create")
        expect_change(query)
        with self._built(replace(work, file=""), deadline) as (connection, guard):
            connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
            with _stops(guard, "query"):
                if work.file:
                    connection.set_authorizer(None)
                    with closing(_open(work)) as source:
                        copy_into_memory(source, connection, deadline)
                    connection.set_authorizer(guard)
                return changed_by(connection, guard, query, work.limits)

    @contextmanager
    def _built(self, work: EngineQuery, deadline: float) -> Iterator[tuple[sqlite3.Connection, Guard]]:
        """A guarded connection on which the script was run: as a whole or, where that fails, again in single steps."""
        for build in (_build_at_once, _build_in_steps):
            with closing(_open(work)) as connection, _clock(connection, work.now):
                guard = Guard(self._barred)
                connection.set_authorizer(guard)
                connection.set_progress_handler(lambda: time.monotonic() > deadline, _PROGRESS_OPS)
                with _drawn_alike(connection, work.script):
                    is_built = not work.script or build(connection, guard, work.script)
                if is_built:
                    yield connection, guard
                    return


def _single_statement(text: str, part: Part) -> Statement:
    """The one statement that a part holds."""
    check_text(text, part, _SQL_BYTES)
    statements = split(text)
    expect_one(len(statements), part)
    return statements[0]


_WRITING: Final = frozenset(
    {
        *("INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "DROP", "ALTER", "ATTACH", "DETACH", "VACUUM", "REINDEX"),
        *("ANALYZE", "BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE"),
    }
)


def _expect_reader(query: Statement) -> None:
    """Deny known verbs that do not read; an unknown verb is a mistake, about which SQLite has the better message."""
    verb = main_verb(query.text)
    if verb in _WRITING:
        raise SqlStop("denied", f"denied: {verb}; one statement that reads is expected")


def _expect_create(create: Statement) -> None:
    kind = create.words[1] if len(create.words) > 1 else ""
    if create.verb == "CREATE" and kind in {"TEMP", "TEMPORARY"}:
        kind = create.words[2] if len(create.words) > 2 else ""
    if create.verb == "CREATE" and kind in _CREATABLE:
        return
    name = f"CREATE {kind}".strip() if create.verb == "CREATE" else create.verb or create.text[:20]
    expected = "one CREATE TABLE, VIEW, INDEX or VIRTUAL TABLE is expected"
    raise SqlStop("denied", f"denied: {name}; {expected}", "create")


def _open(work: EngineQuery) -> sqlite3.Connection:
    # immutable: nothing changes a copy that `prepare` has left without a log, so SQLite needs no locks and no log file.
    where = f"file:{quote(work.file)}?mode=ro&immutable=1" if work.file else "file::memory:"
    # SQLite asks the authorizer when it compiles a statement. One from Python's cache, compiled under the rules of an
    # earlier part, would run again without being asked about.
    connection = sqlite3.connect(where, uri=True, isolation_level=None, cached_statements=0, check_same_thread=False)
    _limit(connection, work.limits.memory_mib)
    return connection


@contextmanager
def _clock(connection: sqlite3.Connection, now: str) -> Iterator[None]:
    """Pin the clock of a connection, unless it is the system's."""
    if not now:
        yield
        return
    with closing(pin_sqlite(connection, now)):
        yield


@contextmanager
def _drawn_alike(connection: sqlite3.Connection, script: str) -> Iterator[None]:
    """Let a script, which is run for each query, draw the same random values each time; what follows draws others."""
    generator = Random(script)  # noqa: S311
    if "random" in script.casefold():
        connection.create_function("random", 0, lambda: generator.getrandbits(64) - 2**63)
        connection.create_function("randomblob", 1, lambda size: generator.randbytes(max(1, int(size or 0))))
    yield
    generator.seed()


def _limit(connection: sqlite3.Connection, memory_mib: int) -> None:
    for limit, value in _LIMITS:
        connection.setlimit(limit, value)
    settings = ("temp_store = MEMORY", "mmap_size = 0", "cell_size_check = ON", "cache_size = -8000")
    for setting in settings:
        connection.execute(f"PRAGMA {setting}").close()
    # Holds for the whole process, and SQLite lets the pragma only lower it: `Pool` keeps workers apart by this limit.
    connection.execute(f"PRAGMA hard_heap_limit = {memory_mib * 2**20}").close()


def _build_at_once(connection: sqlite3.Connection, guard: Guard, script: str) -> bool:
    """Run the script of a dataset; False: something in it fails. Takes a sixth of the time that single steps do."""
    try:
        check_text(script)
    except SqlStop:
        raise SqlStop("error", "the script holds a NUL or half a character (a lone surrogate)", "script") from None
    connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, _SCRIPT_BYTES)
    guard.enter("script")
    try:
        connection.executescript(script)
        _end_script(connection)
    except (sqlite3.Error, MemoryError):
        return False
    return True


def _build_in_steps(connection: sqlite3.Connection, guard: Guard, script: str) -> bool:
    """Run the script of a dataset statement by statement, in order to say which one fails."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, _SCRIPT_BYTES)
    guard.enter("script")
    for number, statement in enumerate(split(script), 1):
        # It has no effect on a database in memory, and would go through ATTACH.
        if statement.words == ("VACUUM",):
            continue
        with _stops(guard, "script", f"statement {number}: "):
            connection.execute(statement.text).close()
    with _stops(guard, "script"):
        _end_script(connection)
    return True


def _end_script(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.execute("COMMIT")
    connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, _SQL_BYTES)


def _make_read_only(connection: sqlite3.Connection, guard: Guard) -> None:
    """Forbid writing from here on; the authorizer is off while this is set."""
    connection.set_authorizer(None)
    for setting in ("query_only = ON", "foreign_keys = OFF"):
        connection.execute(f"PRAGMA {setting}").close()
    guard.enter("query")
    connection.set_authorizer(guard)


def _read(connection: sqlite3.Connection, query: str, work: EngineQuery) -> ResultTable:
    try:
        return _fetch(connection, query, work)
    except (sqlite3.OperationalError, UnicodeDecodeError) as error:
        if "decode" not in str(error):
            raise
    # Text that is not UTF-8 is rare; decoding in Python costs three times the fetch, so it is the second try.
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    return _fetch(connection, query, work)


def _fetch(connection: sqlite3.Connection, query: str, work: EngineQuery) -> ResultTable:
    with closing(connection.cursor()) as cursor:
        cursor.execute(query)
        columns = tuple(column[0] for column in cursor.description or ())
        return ResultTable(columns, fetch(cursor.fetchmany, work.limits))


@contextmanager
def _stops(guard: Guard, part: Part, where: str = "") -> Iterator[None]:
    """Turn what sqlite3 raises into a SqlStop of the right kind."""
    try:
        yield
    except SqlStop as stop:
        stop.part = part
        raise
    except MemoryError:
        raise SqlStop("memory", f"{where}out of memory", part) from None
    except (sqlite3.Error, sqlite3.Warning, UnicodeError, OverflowError, ValueError) as error:
        raise _stop_of(error, guard, part, where) from None


def _stop_of(error: Exception, guard: Guard, part: Part, where: str) -> SqlStop:
    # The primary code is in the low byte of an extended one.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_AUTH or (guard.denied and "not authorized" in str(error)):
        return SqlStop("denied", f"{where}denied: {guard.denied or error}", part)
    kinds: dict[int, tuple[FailureKind, str]] = {
        sqlite3.SQLITE_CONSTRAINT: ("constraint" if part == "query" else "error", str(error)),
        sqlite3.SQLITE_READONLY: ("denied", f"denied: writing ({error})"),
        sqlite3.SQLITE_INTERRUPT: ("timeout", "still running at the deadline"),
        sqlite3.SQLITE_NOMEM: ("memory", "out of memory"),
        sqlite3.SQLITE_TOOBIG: ("too_large", str(error)),
    }
    kind, message = kinds.get(code, ("error", str(error)))
    return SqlStop(kind, f"{where}{message}", part)


_OF_A_VALUE: Final = re.compile(r"[\w-]+ value in ")
"""What the check says of a value that its column's declaration does not allow, after it has found all pages sound."""
_CHECK_S: Final = 8.0
"""Seconds that the check of a large file may take; what is not seen until then fails in the query that meets it."""


def prepare(file: str, memory_mib: int) -> str:
    """Fold a write-ahead log or a hot journal into the file, and check it.

    Opening a file and checking it evaluate expressions of its schema, such as those of generated columns: the limits
    are those of a query, and the caller kills the process where a single function runs for too long.

    Args:
        file: the private copy, alone in its folder but for its own log or journal.
        memory_mib: MiB that SQLite may hold.

    Returns:
        Why it cannot be used; "" where it can.
    """
    logs = [file + end for end in ("-wal", "-journal") if os.path.exists(file + end)]  # noqa: PTH110 (a plain path)
    try:
        with closing(sqlite3.connect(f"file:{quote(file)}?mode=rw", uri=True, isolation_level=None)) as connection:
            _limit(connection, memory_mib)
            # No authorizer is set here. The setting that would refuse views over full-text indexes in a query (see
            # above) costs nothing: no view is read.
            connection.execute("PRAGMA trusted_schema = OFF")
            # quick_check would evaluate the constraints for every row.
            connection.execute("PRAGMA ignore_check_constraints = ON")
            if logs:
                connection.execute("PRAGMA journal_mode = DELETE").fetchall()
            deadline = time.monotonic() + _CHECK_S
            connection.set_progress_handler(lambda: time.monotonic() > deadline, _PROGRESS_OPS)
            # Opening reads nothing yet: the first query is what rolls back a hot journal and notices that the file is
            # no database.
            connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
            return _check_pages(connection)
    except MemoryError:
        return f"opening and checking it takes more than {memory_mib} MiB of memory"
    except sqlite3.Error as error:
        return str(error)


def _check_pages(connection: sqlite3.Connection) -> str:
    try:
        outcome = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    except (sqlite3.OperationalError, sqlite3.DataError) as error:
        # A value that is too large fails in the query that reads it, as everything behind it may.
        if error.sqlite_errorcode in {sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_TOOBIG}:
            return ""
        raise
    return "" if outcome == "ok" or _OF_A_VALUE.match(outcome) else str(outcome)


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
_BEFORE_RULE: Final[Mapping[str, str]] = MappingProxyType({"check": "check", "as": "generated"})
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
    """Run a statement on a database in memory, and return what it changed; see `engine.differences`.

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

    def read(query: str, left: SqlLimits) -> list[tuple[Any, ...]]:
        with closing(connection.cursor()) as cursor:
            cursor.execute(query)
            return fetch(cursor.fetchmany, left)

    guard.enter("query")
    every = connection.execute(
        "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE substr(name, 1, 7) <> 'sqlite_' ORDER BY type, name"
    ).fetchall()
    tables = [name for kind, name, _, _ in every if kind == "table"]
    if not wanted & _MASTERS:
        folded = {name.casefold() for name in wanted}
        tables = [name for name in tables if name.casefold() in folded]
        return read_state(_written(tables), [], read, limits)
    schema: list[tuple[Any, ...]] = [
        (kind, name, owner, sql or "") for kind, name, owner, sql in every if kind != "table"
    ]
    for name, text in [(name, sql or "") for kind, name, _, sql in every if kind == "table"]:
        columns = connection.execute(
            "SELECT cid, name, type, \"notnull\", CASE WHEN upper(dflt_value) <> 'NULL' THEN dflt_value END, pk, "
            "hidden FROM pragma_table_xinfo(?)",
            (name,),
        )
        schema += [
            ("column", name, at, column, affinity(kind), *rest) for at, column, kind, *rest in columns.fetchall()
        ]
        # A UNIQUE in CREATE TABLE has no text of its own.
        unique = connection.execute(_UNIQUE, (name,)).fetchall()
        schema += [("unique", name, *columns) for columns in unique]
        schema += [(kind, name, rule) for kind, rule in table_rules(text)]
        keys = connection.execute(
            'SELECT "table", "from", "to", on_delete, on_update FROM pragma_foreign_key_list(?)', (name,)
        )
        schema += [("foreign key", name, *key) for key in keys.fetchall()]
    plain = [tuple(plain_definition(cell) if isinstance(cell, str) else cell for cell in row) for row in schema]
    return read_state(_written(tables), plain, read, limits)


def affinity(declared: str) -> str:
    """How SQLite stores what a column is declared as (https://sqlite.org/datatype3.html, 3.1).

    >>> [affinity(name) for name in ("INT", "varchar(9)", "", "DOUBLE", "DECIMAL(9, 2)")]
    ['INTEGER', 'TEXT', 'BLOB', 'REAL', 'NUMERIC']
    """
    name = declared.upper()
    return next(
        (kind for kind, parts in _AFFINITIES if any(part in name for part in parts)), "NUMERIC" if name else "BLOB"
    )


def table_rules(create: str) -> list[tuple[str, str]]:
    r"""Rules of a CREATE TABLE that no pragma returns: CHECK conditions, generated columns, collations, table options.

    Blanks, comments, case and quoted names make no difference.

    >>> table_rules("CREATE TABLE t (a INT CHECK(a>0), b DEFAULT 'CHECK (', CHECK ( B <> 'X' AND (\"a\" > 1)))")
    [('check', '( a > 0 )'), ('check', "( b <> 'X' and ( a > 1 ) )")]
    >>> table_rules("CREATE TABLE t (a TEXT COLLATE NOCASE, b AS (a || 'B')) STRICT")
    [('collation', 'a nocase'), ('generated', "b ( a || 'B' )"), ('option', 'strict')]
    >>> table_rules("CREATE TABLE t (a INT) WITHOUT  ROWID -- see (1)")
    [('option', 'without rowid')]
    """
    rules: list[tuple[str, str]] = []
    tokens = list(_leveled(create))
    column, end = "", 0
    for at, (plain, _, level) in enumerate(tokens):
        before = tokens[at - 1][1]
        if level == 1 and before in {"(", ","}:
            column = plain
        if at < end or level == 0:
            continue
        if before == "collate" and plain != "binary":
            rules.append(("collation", f"{column} {plain}"))
        elif plain == "(" and before in _BEFORE_RULE:
            end = 1 + next((n for n in range(at, len(tokens)) if tokens[n][1:] == (")", level)), at)
            inside = " ".join(token[0] for token in tokens[at:end])
            rules.append((_BEFORE_RULE[before], f"{column} {inside}" if before == "as" else inside))
    last = max((at for at, (_, bare, level) in enumerate(tokens) if (bare, level) == (")", 0)), default=len(tokens))
    options = " ".join(plain for plain, _, _ in tokens[last + 1 :]).split(",")
    return rules + [("option", option.strip()) for option in sorted(options) if option.strip()]


def _leveled(create: str) -> Iterator[tuple[str, str, int]]:
    """Each token in lower case without quotes, the same or "" if it was quoted, and its bracket depth."""
    level = 0
    for token in _TOKENS.finditer(create):
        text = token.group()
        if token.lastgroup == "blank":
            continue
        plain = text if token.lastgroup == "text" else text.strip('"`[]').casefold()
        level -= text == ")"
        yield plain, "" if token.lastgroup else plain, level
        level += text == "("


def _written(tables: list[str]) -> list[tuple[str, str]]:
    return [(name.casefold(), quoted(name, "sqlite")) for name in tables]
