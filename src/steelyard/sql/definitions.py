"""Tables, columns and keys as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_SKIPPED: Final = 20
"""Statements that are named at most when they cannot be read."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column; `type` as declared, blanks collapsed, "" where none is."""

    name: str
    type: str = ""
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """`columns` point to `to_columns` of `to_table`; `to_columns` are () where its primary key is meant."""

    columns: tuple[str, ...]
    to_table: str
    to_columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """One table or view; names as written, without quotes and without the schema in front of them."""

    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    view: bool = False

    def column(self, name: str) -> Column | None:
        """The column of that name in any case, or None."""
        wanted = name.casefold()
        return next((one for one in self.columns if one.name.casefold() == wanted), None)


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables in the order of their statements.

    Args:
        tables: a name that is created again keeps its first definition.
        skipped: at most `MAX_SKIPPED` statements that could not be read: where, their beginning, and why.
    """

    tables: tuple[Table, ...] = ()
    skipped: tuple[str, ...] = ()

    def table(self, name: str) -> Table | None:
        """The table of that name in any case, or None."""
        wanted = name.casefold()
        return next((one for one in self.tables if one.name.casefold() == wanted), None)
