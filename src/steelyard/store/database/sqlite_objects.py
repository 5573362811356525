"""Which objects the schema of a store's file may hold: a file may come from anybody, and its schema is SQL.

A view in the place of a table can compute for ever, a trigger changes what is written, and an expression of a generated
column, a constraint or an index is computed with every row. So a file holds tables and indexes whose texts are those of
`schema`, and what its user adds: other tables and indexes that are names and types alone.
"""

# Why it is so, and what was rejected: docs/decisions/config-stores-of-strangers.md

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final

from steelyard.errors import some_of
from steelyard.escaping import visible
from steelyard.store.database import schema

_NAME: Final = r'(?:[a-z_][a-z0-9_]*|"[a-z_]+")'
_TYPE: Final = r"(?:INTEGER|BIGINT|SMALLINT|FLOAT|TEXT|BLOB|VARCHAR\(\d+\))"
_NAMES: Final = rf"\({_NAME}(?:, {_NAME})*\)"
_COLUMN: Final = rf"{_NAME} {_TYPE}(?: DEFAULT '[^']*')?(?: NOT NULL)?"
_PLAIN_TABLE: Final = re.compile(
    rf"CREATE TABLE ({_NAME}) ?\( ?{_COLUMN}(?:, {_COLUMN})*(?:, (?:PRIMARY KEY|UNIQUE) {_NAMES})* ?\)"
    r"(?: WITHOUT ROWID)?"
)
_PLAIN_INDEX: Final = re.compile(rf"CREATE INDEX {_NAME} ON {_NAME} ?{_NAMES}")
_STATISTICS: Final = (
    "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
    "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
)
"""Tables of SQLite's own, which ANALYZE makes."""
_MOST: Final = 1_000
"""Objects: a store has 60."""
_LONGEST: Final = 10_000
"""Characters of a text: those of a store have up to 600."""
_MOST_NAMED: Final = 5
_LONGEST_NAME: Final = 60
OBJECTS: Final = f"SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL LIMIT {_MOST + 1}"
"""The rows for `acting_objects` and `altered_objects`. An index without a text is one that SQLite makes for a key."""


def acting_objects(rows: Iterable[tuple[object, object]]) -> list[str]:
    """Names of the objects that may compute something when a table is read or written.

    Args:
        rows: name and text of each object, as `OBJECTS` reads them. SQLite goes by the text alone.
    """
    objects = list(rows)
    names = [f"{name}" for name, text in objects if text not in _definitions() and not _is_plain(text)]
    return [*dict.fromkeys(names), *([f"more than {_MOST} objects"] if len(objects) > _MOST else [])]


def altered_objects(rows: Iterable[tuple[object, object]]) -> list[str]:
    """Names of a store's own tables that have another text, and of the indexes that it lacks.

    Args:
        rows: as for `acting_objects`, which finds none.
    """
    objects = list(rows)
    texts = {text for _, text in objects}
    own = {table.name for table in schema.TABLES}
    others = [
        (name, _PLAIN_TABLE.fullmatch(" ".join(str(text).split())))
        for name, text in objects
        if text not in _definitions()
    ]
    names = [f"{name}" for name, table in others if table and table[1].strip('"') in own]
    names += [index for table, (index, text) in _indexes().items() if table in texts and text not in texts]
    return list(dict.fromkeys(names))


def listed_names(names: Sequence[str]) -> str:
    r"""Some names of objects in a sentence; whoever made the store chose them.

    >>> listed_names(["one", "two\n"])
    'one, two\\x0a'
    """
    return some_of([visible(name[:_LONGEST_NAME], keep="") for name in names], _MOST_NAMED)


@cache
def _definitions() -> frozenset[object]:
    """The texts of the objects of a store."""
    own = [text for table in schema.TABLES for text in table.definition("sqlite")]
    return frozenset([*own, *_STATISTICS])


@cache
def _indexes() -> Mapping[str, tuple[str, str]]:
    """The text of each table with an index -> the index's name and text: without it a look-up reads the whole table."""
    indexed = [(table.index.name, *table.definition("sqlite")) for table in schema.TABLES if table.index is not None]
    return {text: (name, index_text) for name, text, index_text in indexed}


def _is_plain(text: object) -> bool:
    """Whether an object that no store has computes nothing."""
    if not isinstance(text, str) or len(text) > _LONGEST:
        return False
    text = " ".join(text.split())
    return any(pattern.fullmatch(text) is not None for pattern in (_PLAIN_TABLE, _PLAIN_INDEX))
