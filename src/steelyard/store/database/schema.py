"""The tables of a store, all of which are created with it; the number of their version is in `backend`.

Numbers that summaries need are columns apart from the bodies, so that a list of runs or a table of rates unpacks no
body. Bodies are JSON, compressed against a shared dictionary where that helps (see `codec`).

A table is described once, in `tables.toml`, for both databases; what they write differently is in `_TYPES`. Statements
that insert rows are made from the same description, once each.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, cast

Dialect = Literal["sqlite", "postgresql"]
Kind = Literal["number", "big number", "big", "integer", "bigint", "smallint", "float", "text", "name", "word", "bytes"]

_TYPES: Final[dict[Dialect, dict[Kind, str]]] = {
    "sqlite": {
        "number": "INTEGER",  # an INTEGER PRIMARY KEY is the number of the row itself
        "big number": "INTEGER",
        "big": "INTEGER",
        "text": "TEXT",
        "bytes": "BLOB",
    },
    "postgresql": {
        "number": "SERIAL",
        "big number": "BIGSERIAL",
        "big": "BIGINT",
        "text": 'TEXT COLLATE "C"',  # compared and sorted by code points, as SQLite does
        "bytes": "BYTEA",
    },
}
_SAME: Final[dict[Kind, str]] = {
    "integer": "INTEGER",
    "bigint": "BIGINT",
    "smallint": "SMALLINT",
    "float": "FLOAT",
    "name": "VARCHAR(32)",
    "word": "VARCHAR(16)",
}


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column of a table.

    Args:
        name: in small letters.
        kind: of its values.
        key: whether it is a part of the primary key.
        nullable: whether it may be NULL.
        unique: whether no two rows have the same value.
        default: value of rows that are inserted without one.
    """

    name: str
    kind: Kind
    key: bool
    nullable: bool
    unique: bool
    default: str | None

    @classmethod
    def of(cls, name: str, described: str) -> StoredColumn:
        """A column as `tables.toml` describes it."""
        kind, *about = described.split(", ")
        default = next((word.removeprefix("default").strip() for word in about if word.startswith("default")), None)
        return cls(name, cast("Kind", kind), "key" in about, "null" in about, "unique" in about, default)

    def definition(self, dialect: Dialect) -> str:
        """The column as CREATE TABLE defines it."""
        default = "" if self.default is None else f" DEFAULT '{self.default}'"
        null = "" if self.nullable else " NOT NULL"
        return f"{_quoted(self.name)} {(_TYPES[dialect] | _SAME)[self.kind]}{default}{null}"


def _quoted(name: str) -> str:
    return f'"{name}"' if name == "key" else name  # a word of SQL


@dataclass(frozen=True, slots=True)
class Index:
    """An index on columns of a table."""

    name: str
    columns: list[str]
    unique: bool


@dataclass(frozen=True, slots=True, eq=False)
class StoredTable:
    """A table of the store.

    Args:
        name: in the database.
        columns: in order.
        index: in addition to that of the key.
        without_rowid: SQLite keeps the rows in the order of the key.
        for_workers: whether runs with several workers alone need it.
    """

    name: str
    columns: tuple[StoredColumn, ...]
    index: Index | None
    without_rowid: bool
    for_workers: bool

    @classmethod
    def of(cls, name: str, described: Mapping[str, Any]) -> StoredTable:
        """A table as `tables.toml` describes it."""
        columns = tuple(StoredColumn.of(column, words) for column, words in described["columns"].items())
        index = Index(**described["index"]) if "index" in described else None
        return cls(name, columns, index, described.get("without_rowid", False), described.get("workers", False))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    def definition(self, dialect: Dialect) -> list[str]:
        """The statements that create it."""
        keys = ", ".join(column.name for column in self.columns if column.key)
        unique = [f"UNIQUE ({column.name})" for column in self.columns if column.unique]
        parts = [*(column.definition(dialect) for column in self.columns), f"PRIMARY KEY ({keys})", *unique]
        # SQLite stores this text, and a store with another one is refused: it is part of the version of the tables.
        listed = ", \n\t".join(parts)
        rowid = "\n WITHOUT ROWID\n\n" if self.without_rowid and dialect == "sqlite" else ""
        statements = [f"CREATE TABLE {self.name} (\n\t{listed}\n){rowid}"]
        if self.index is not None:
            kind = "UNIQUE INDEX" if self.index.unique else "INDEX"
            columns = ", ".join(map(_quoted, self.index.columns))
            statements.append(f"CREATE {kind} {self.index.name} ON {self.name} ({columns})")
        return statements


def _read() -> dict[str, StoredTable]:
    text = (Path(__file__).parent / "tables.toml").read_text(encoding="utf-8")
    return {name: StoredTable.of(name, described) for name, described in tomllib.loads(text).items()}


_BY_NAME: Final = _read()

about = _BY_NAME["about"]
checksum = _BY_NAME["checksum"]
computed = _BY_NAME["computed"]
dictionary = _BY_NAME["dictionary"]
drawn = _BY_NAME["drawn"]
evaluation = _BY_NAME["evaluation"]
event = _BY_NAME["event"]
record = _BY_NAME["record"]
reply = _BY_NAME["reply"]
reservation = _BY_NAME["reservation"]
retry = _BY_NAME["retry"]
run = _BY_NAME["run"]
running_score = _BY_NAME["running_score"]
sample = _BY_NAME["sample"]
score = _BY_NAME["score"]
scoring_version = _BY_NAME["scoring_version"]
stage = _BY_NAME["stage"]
stopping = _BY_NAME["stopping"]
word = _BY_NAME["word"]

_VALUES: Final[Mapping[Kind, tuple[type, ...]]] = {
    **dict.fromkeys(("number", "big number", "big", "integer", "bigint", "smallint"), (int,)),
    "float": (float, int),
    **dict.fromkeys(("text", "name", "word"), (str,)),
    "bytes": (bytes,),
}


def _types_of_values() -> dict[str, tuple[type, ...]]:
    types: dict[str, set[type]] = {}
    for column in (column for table in _BY_NAME.values() for column in table.columns):
        types.setdefault(column.name, set()).update(_VALUES[column.kind], [type(None)] if column.nullable else [])
    types["outcome"].add(type(None))  # of a record without the score, by an outer join
    return {name: tuple(kinds) for name, kinds in types.items()}


TYPES: Final = _types_of_values()
"""Column -> types of its values, in all tables that have one of this name: SQLite keeps any value in any column."""
MOST_STAGES: Final = 127
"""Scorers of a suite at most: with the target, their numbers fit into seven bits of a record's list of replies."""
TABLES: Final = tuple(table for table in _BY_NAME.values() if not table.for_workers)
"""In the order in which they are created."""
RUN_TABLES: Final = tuple(table for table in TABLES if "run" in table.names)
"""Tables whose rows belong to a run each, by its number."""


def tables_of(dialect: Dialect) -> tuple[StoredTable, ...]:
    """The tables of a store in a database of this kind."""
    return tuple(_BY_NAME.values()) if dialect == "postgresql" else TABLES


@cache
def insert_into(table: StoredTable, columns: tuple[str, ...] = ()) -> str:
    """The statement that inserts rows; without `columns` it sets all of the table's."""
    names = columns or table.names
    values = ", ".join(f":{name}" for name in names)
    return f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({values})"


def insert_or_skip(table: StoredTable, columns: tuple[str, ...] = ()) -> str:
    """The statement that inserts rows, skipping those whose key exists."""
    return f"{insert_into(table, columns)} ON CONFLICT DO NOTHING"


@cache
def insert_or_update(table: StoredTable, keys: tuple[str, ...], columns: tuple[str, ...]) -> str:
    """The statement that inserts rows and, where a key exists, sets `columns` to the new values."""
    changes = ", ".join(f"{name} = excluded.{name}" for name in columns)
    return f"{insert_into(table, (*keys, *columns))} ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {changes}"


@cache
def insert_or_add(table: StoredTable, keys: tuple[str, ...], columns: tuple[str, ...]) -> str:
    """The statement that inserts rows and, where a key exists, adds the new values to `columns`."""
    changes = ", ".join(f"{name} = {table.name}.{name} + excluded.{name}" for name in columns)
    return f"{insert_into(table, (*keys, *columns))} ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {changes}"


SEARCH_WORDS: Final = "search_words"
"""A table that the end of the first large run makes in a PostgreSQL store, see `reading.search`; no store needs it."""
