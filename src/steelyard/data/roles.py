"""What columns are for, and what was found in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from steelyard.data.table import Column, Row, Table, column_letter

Columns = Mapping[str, tuple[Column, ...]]
"""Role -> its columns, in order; one for each role that does not span several."""


@dataclass(frozen=True, slots=True)
class Role:
    """What a column is for.

    Args:
        name: the key under `columns:`, and in `headers.json`.
        required: whether a table without it is refused.
        unless: another role; where that has a column, this one is not required.
        several: whether it spans columns, as options do.
        by_position: whether it has a place where there is no header.
        words: the key of its synonyms in `headers.json` where it is not the name: what one suite calls an answer is a
            query to another.
        likeness: how much a cell looks like this role, in [0, 1]; tells apart arrangements without a header.
    """

    name: str
    required: bool = True
    several: bool = False
    by_position: bool = True
    words: str = ""
    likeness: Callable[[str], float] | None = None
    unless: str = ""


@dataclass(frozen=True, slots=True)
class Layout:
    """What was found in one table.

    Args:
        columns: role -> its columns.
        header_row: number of the row that holds the headers; None where there is none. Samples begin after it.
        width: cells of the header row, or of the widest of the first rows; 0 for JSON.
        headers: the texts of the header by column.
    """

    columns: Columns
    header_row: int | None = None
    width: int = 0
    headers: Mapping[Column, str] = field(default_factory=dict)

    def rows(self, table: Table) -> Iterator[Row]:
        """Rows of the table below its header, blank ones included."""
        start = self.header_row
        return (row for row in table if row.number > start) if start else iter(table)

    def column(self, role: str) -> Column | None:
        """The column of a role, the first of several; None where it has none."""
        columns = self.columns.get(role)
        return columns[0] if columns else None

    def describe(self) -> dict[str, str]:
        """Role -> columns as a person names them.

        >>> Layout({"question": (0,), "options": (1, 2)}, 1, 3, {0: "题目", 1: "甲", 2: "乙"}).describe()
        {'question': 'A 题目', 'options': 'B 甲, C 乙'}
        """
        return {role: ", ".join(map(self._name, columns)) for role, columns in self.columns.items()}

    def _name(self, column: Column) -> str:
        if isinstance(column, str):
            return column
        return f"{column_letter(column)} {self.headers.get(column, '')}".rstrip()
