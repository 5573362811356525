"""Rules of the SQLite authorizer: which tables, functions and pragmas the script, CREATE and query of a task may use.

SQLite calls the authorizer while it compiles a statement, also for the contents of views and triggers. A rule that
looks too wide is one that virtual tables need: connecting json_each, pragma_table_info or FTS5 declares a table to the
parser, and R-tree compiles the statements that would write its own tables. `PRAGMA query_only`, the read-only file and
the check of the statement's verb hold there.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Final, Literal

from steelyard.sql.results import Part

_NO_FUNCTIONS: Final = frozenset(
    {
        *("load_extension", "fts3_tokenizer", "readfile", "writefile", "edit", "fsdir", "lsdir", "sqlite_log", "eval"),
        *("sqlar_compress", "sqlar_uncompress", "zipfile", "zipfile_cds", "system", "shell", "exec", "command"),
        *("sqlite_crypt", "sqlite_file", "file_read", "file_write", "getenv", "http_get"),
    }
)
"""Functions that reach outside; most builds have none of them, some have."""

REACHING_TABLES: Final = frozenset({"fsdir", "lsdir", "csv", "csv_wr", "zipfile", "vsv", "sqlite_memstat"})
"""Table-valued functions that reach outside. Barred only where a build has them: a dataset may use the name."""

_VIRTUAL: Final = frozenset(
    {"fts3", "fts4", "fts5", "rtree", "rtree_i32", "geopoly", "fts4aux", "fts5vocab", "fts3tokenize"}
)

_READ_PRAGMAS: Final = frozenset(
    {
        *("table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list"),
        *("database_list", "collation_list", "function_list", "module_list", "pragma_list", "compile_options"),
        *("foreign_key_check", "integrity_check", "quick_check"),
    }
)
"""Allowed with an argument: it names the table or index to describe."""

_ASKED_PRAGMAS: Final = frozenset(
    {
        *("user_version", "application_id", "schema_version", "data_version", "encoding", "page_count", "page_size"),
        *("freelist_count", "foreign_keys", "journal_mode", "auto_vacuum", "recursive_triggers", "query_only"),
        *("cache_size", "max_page_count", "synchronous", "temp_store", "busy_timeout", "automatic_index"),
        *("case_sensitive_like", "reverse_unordered_selects", "defer_foreign_keys", "ignore_check_constraints"),
        *("legacy_alter_table", "locking_mode", "trusted_schema", "cell_size_check", "secure_delete"),
        *("count_changes", "threads", "mmap_size", "read_uncommitted", "wal_autocheckpoint", "journal_size_limit"),
        *("short_column_names", "full_column_names", "empty_result_callbacks", "analysis_limit", "writable_schema"),
        *("hard_heap_limit", "soft_heap_limit", "fullfsync", "checkpoint_fullfsync", "cache_spill", "stats"),
        *("default_cache_size",),
    }
)
"""Allowed without an argument, when they only return a value; with one they change a setting."""

_SCRIPT_PRAGMAS: Final = frozenset(
    {
        *("foreign_keys", "user_version", "application_id", "encoding", "journal_mode", "synchronous", "cache_size"),
        *("temp_store", "recursive_triggers", "defer_foreign_keys", "legacy_alter_table", "page_size", "auto_vacuum"),
        *("ignore_check_constraints", "locking_mode", "secure_delete", "automatic_index", "optimize", "busy_timeout"),
        *("case_sensitive_like", "count_changes", "journal_size_limit", "threads", "wal_autocheckpoint", "fullfsync"),
        *("wal_checkpoint", "incremental_vacuum", "analysis_limit", "cell_size_check", "checkpoint_fullfsync"),
        *("read_uncommitted", "reverse_unordered_selects", "legacy_file_format", "default_cache_size", "cache_spill"),
        *("trusted_schema", "shrink_memory", "max_page_count"),
    }
)
"""What dumps and datasets set; all are properties of the one connection, on a database in memory."""

_OFF: Final = frozenset({"0", "off", "no", "false"})
"""Values to which a script may set `writable_schema` and `mmap_size`: dumps do so, and both are off anyway."""

_WRITES: Final[dict[int, str]] = {
    sqlite3.SQLITE_DELETE: "DELETE FROM",
    sqlite3.SQLITE_INSERT: "INSERT INTO",
    sqlite3.SQLITE_UPDATE: "UPDATE",
}
_CREATES: Final[dict[int, str]] = {
    sqlite3.SQLITE_CREATE_TABLE: "CREATE TABLE",
    sqlite3.SQLITE_CREATE_INDEX: "CREATE INDEX",
    sqlite3.SQLITE_CREATE_VIEW: "CREATE VIEW",
}
_TEMP_CREATES: Final[dict[int, str]] = {
    sqlite3.SQLITE_CREATE_TEMP_TABLE: "CREATE TEMP TABLE",
    sqlite3.SQLITE_CREATE_TEMP_INDEX: "CREATE TEMP INDEX",
    sqlite3.SQLITE_CREATE_TEMP_VIEW: "CREATE TEMP VIEW",
}
_CHANGES: Final[dict[int, str]] = {
    sqlite3.SQLITE_CREATE_TRIGGER: "CREATE TRIGGER",
    sqlite3.SQLITE_CREATE_TEMP_TRIGGER: "CREATE TEMP TRIGGER",
    sqlite3.SQLITE_DROP_TABLE: "DROP TABLE",
    sqlite3.SQLITE_DROP_TEMP_TABLE: "DROP TABLE",
    sqlite3.SQLITE_DROP_INDEX: "DROP INDEX",
    sqlite3.SQLITE_DROP_TEMP_INDEX: "DROP INDEX",
    sqlite3.SQLITE_DROP_VIEW: "DROP VIEW",
    sqlite3.SQLITE_DROP_TEMP_VIEW: "DROP VIEW",
    sqlite3.SQLITE_DROP_TRIGGER: "DROP TRIGGER",
    sqlite3.SQLITE_DROP_TEMP_TRIGGER: "DROP TRIGGER",
    sqlite3.SQLITE_DROP_VTABLE: "DROP TABLE",
    sqlite3.SQLITE_ALTER_TABLE: "ALTER TABLE",
    sqlite3.SQLITE_REINDEX: "REINDEX",
    sqlite3.SQLITE_ANALYZE: "ANALYZE",
}
_OF_SESSION: Final = frozenset({sqlite3.SQLITE_CREATE_TEMP_TRIGGER})
_CONTROLS: Final[dict[int, str]] = {
    sqlite3.SQLITE_TRANSACTION: "a transaction",
    sqlite3.SQLITE_SAVEPOINT: "a savepoint",
}
_READS: Final = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE})
_SCHEMA: Final = frozenset({"sqlite_master", "sqlite_temp_master", "sqlite_schema", "sqlite_temp_schema"})
_RTREE: Final = ("_node", "_rowid", "_parent")

Rule = Callable[[int, str, str | None], str]
"""An action and its two arguments -> why it is denied, or "" where it may be.

The second is None where there is none: `PRAGMA x` asks, `PRAGMA x = ''` sets."""


class Guard:
    """The authorizer of one connection: the rule of the part that runs, and what it denied last.

    Args:
        barred: tables that may not be read, in lower case.

    Attributes:
        changed: the tables that a changing statement writes to, by triggers and foreign keys as well.
    """

    def __init__(self, barred: frozenset[str]) -> None:
        self.part: Part | Literal["change"] = "script"
        self.changed: set[str] = set()
        self.denied = ""
        self._barred = barred

    def __call__(self, action: int, first: str | None, second: str | None, *_: str | None) -> int:
        """Tell SQLite whether an action is allowed or denied."""
        why = _RULES[self.part](action, first or "", second)
        if self.part == "change" and action in _WRITES:
            self.changed.add(first or "")
        if action == sqlite3.SQLITE_READ and first and first.lower() in self._barred:
            why = f"the table {first}"
        if why:
            self.denied = why
            return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK

    def enter(self, part: Part | Literal["change"]) -> None:
        """Switch to the rule of `part`, which runs next."""
        self.part = part
        self.denied = ""


def _reading(action: int, first: str, second: str | None) -> str | None:
    """The part that all rules share; None where it does not decide."""
    if action in _READS:
        return ""
    if action == sqlite3.SQLITE_FUNCTION:
        return f"the function {second}" if second and second.lower() in _NO_FUNCTIONS else ""
    if action == sqlite3.SQLITE_PRAGMA:
        name = first.lower()
        if name in _READ_PRAGMAS or (second is None and name in _ASKED_PRAGMAS):
            return ""
    return None


def _query(action: int, first: str, second: str | None) -> str:
    decision = _reading(action, first, second)
    if decision is not None:
        return decision
    if action in _WRITES:
        is_internal = first.lower() in _SCHEMA or first.lower().endswith(_RTREE)
        return "" if is_internal else f"writing ({_WRITES[action]} {first})"
    # A savepoint: rtreecheck() makes one. Transactions of the statement's own are refused by its verb.
    if action in {sqlite3.SQLITE_CREATE_TABLE, *_CONTROLS}:
        return ""
    return _named(action, first, second)


def _create(action: int, first: str, second: str | None) -> str:
    if action in _WRITES or action in _CREATES or action in _TEMP_CREATES or action == sqlite3.SQLITE_REINDEX:
        return ""
    return _script(action, first, second) if action == sqlite3.SQLITE_CREATE_VTABLE else _query(action, first, second)


def _script(action: int, first: str, second: str | None) -> str:
    decision = _reading(action, first, second)
    if decision is not None:
        return decision
    if action in _WRITES or action in _CREATES or action in _TEMP_CREATES or action in _CHANGES or action in _CONTROLS:
        return ""
    if action == sqlite3.SQLITE_CREATE_VTABLE:
        return "" if second and second.lower() in _VIRTUAL else f"a virtual table of {second}"
    if action == sqlite3.SQLITE_PRAGMA and (
        first.lower() in _SCRIPT_PRAGMAS
        or (first.lower() in {"writable_schema", "mmap_size"} and (second or "").lower() in _OFF)
    ):
        return ""
    return _named(action, first, second)


def _change(action: int, first: str, second: str | None) -> str:
    """A statement on a private copy in memory, of which everything is compared but what ends with its session."""
    if action in _WRITES or action in _CREATES or (action in _CHANGES and action not in _OF_SESSION):
        return ""
    return _script(action, first, second) if action == sqlite3.SQLITE_CREATE_VTABLE else _query(action, first, second)


def _named(action: int, first: str, second: str | None) -> str:
    """The name of a denied action in a message."""
    if action == sqlite3.SQLITE_PRAGMA:
        return f"PRAGMA {first}" + ("" if second is None else f" = {second[:40] or repr(second)}")
    if action == sqlite3.SQLITE_ATTACH:
        return "ATTACH"
    if action == sqlite3.SQLITE_DETACH:
        return "DETACH"
    if action in _CONTROLS:
        return _CONTROLS[action]
    names = {**_CREATES, **_TEMP_CREATES, **_CHANGES, sqlite3.SQLITE_CREATE_VTABLE: "CREATE VIRTUAL TABLE"}
    return f"{names[action]} {first}" if action in names else f"action {action}"


_RULES: Final[dict[Part | Literal["change"], Rule]] = {
    "script": _script,
    "create": _create,
    "query": _query,
    "change": _change,
}
