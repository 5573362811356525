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

from steelyard.sql.engines.engine import guard_lists
from steelyard.sql.results import Part

_LISTS: Final = guard_lists("sqlite")


_OFF: Final = frozenset({"0", "off", "no", "false"})
"""Values to which a script may set `writable_schema` and `mmap_size`: dumps do so, and both are off anyway."""


def _actions(*names: str) -> dict[int, str]:
    """Names of actions as messages give them, by SQLite's number, which `sqlite3` has under the same words."""
    return {getattr(sqlite3, f"SQLITE_{name.replace(' ', '_')}"): name for name in names}


_WRITES: Final = {
    sqlite3.SQLITE_DELETE: "DELETE FROM",
    sqlite3.SQLITE_INSERT: "INSERT INTO",
    sqlite3.SQLITE_UPDATE: "UPDATE",
}
_CREATES: Final = _actions("CREATE TABLE", "CREATE INDEX", "CREATE VIEW")
_TEMP_CREATES: Final = _actions("CREATE TEMP TABLE", "CREATE TEMP INDEX", "CREATE TEMP VIEW")
_CHANGES: Final = {
    **_actions("CREATE TRIGGER", "CREATE TEMP TRIGGER", "DROP TABLE", "DROP INDEX", "DROP VIEW", "DROP TRIGGER"),
    **_actions("ALTER TABLE", "REINDEX", "ANALYZE"),
    sqlite3.SQLITE_DROP_TEMP_TABLE: "DROP TABLE",
    sqlite3.SQLITE_DROP_TEMP_INDEX: "DROP INDEX",
    sqlite3.SQLITE_DROP_TEMP_VIEW: "DROP VIEW",
    sqlite3.SQLITE_DROP_TEMP_TRIGGER: "DROP TRIGGER",
    sqlite3.SQLITE_DROP_VTABLE: "DROP TABLE",
}
_OF_SESSION: Final = frozenset({sqlite3.SQLITE_CREATE_TEMP_TRIGGER})
_CONTROLS: Final = {sqlite3.SQLITE_TRANSACTION: "a transaction", sqlite3.SQLITE_SAVEPOINT: "a savepoint"}
_NAMELESS: Final = {**_CONTROLS, **_actions("ATTACH", "DETACH")}
_NAMES: Final = {**_CREATES, **_TEMP_CREATES, **_CHANGES, sqlite3.SQLITE_CREATE_VTABLE: "CREATE VIRTUAL TABLE"}
"""All others that are denied, whose messages name what they are about."""
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
        return f"the function {second}" if second and second.lower() in _LISTS["outside_functions"] else ""
    if action == sqlite3.SQLITE_PRAGMA:
        name = first.lower()
        if name in _LISTS["read_pragmas"] or (second is None and name in _LISTS["asked_pragmas"]):
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
        return "" if second and second.lower() in _LISTS["virtual_tables"] else f"a virtual table of {second}"
    if action == sqlite3.SQLITE_PRAGMA and (
        first.lower() in _LISTS["script_pragmas"]
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
    if action in _NAMELESS:
        return _NAMELESS[action]
    return f"{_NAMES[action]} {first}" if action in _NAMES else f"action {action}"


_RULES: Final[dict[Part | Literal["change"], Rule]] = {
    "script": _script,
    "create": _create,
    "query": _query,
    "change": _change,
}
