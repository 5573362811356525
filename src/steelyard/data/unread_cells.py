"""Cells that hold more than the text that is read: pictures, formula objects, dates that were fractions.

They are named in a note, and `skip_rows_with` under `samples` leaves their rows out.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from steelyard.data.columns import ColumnLayout
from steelyard.data.table import MAX_NAMED, Column, Row, Table, UnreadCells, UnreadKind, cell_at, is_blank

_NOTES: Final[Mapping[str, str]] = {
    "pictures": "pictures and shapes are not read",
    "equations": "formula objects are not read",
    "dates": "dates among the options, which a spreadsheet program makes of 1/2 or 3-4",
}


def with_unread(table: Table, layout: ColumnLayout, options: Collection[Column], kinds: Sequence[UnreadKind]) -> Table:
    """The table with its cells as the sheet shows them, the cells that hold more, and the rows that are left out.

    Args:
        table: as it was read.
        layout: its roles.
        options: the columns of options, in which dates are suspicious; empty where a suite has none.
        kinds: rows with such cells are left out.

    Raises:
        DataError: the file changed or is damaged.
    """
    dates = _suspicious_dates(table, layout, options) if table.unit == "row" else {}
    refined = table.refined([column for columns in layout.columns.values() for column in columns])
    owners = _owners(refined, layout) if refined.unread else {}
    unread = {kind: dict(rows) for kind, rows in refined.unread.items()} | ({"dates": dates} if dates else {})
    left_out = {owners.get(row, row) for kind in kinds for row in unread.get(kind, ())}
    return replace(refined, unread=unread, left_out=frozenset(left_out - {0}))


def notes_on_unread(table: Table, kinds: Collection[UnreadKind]) -> Iterator[str]:
    """Notes on the cells of a table that hold more than text, and on the rows that were left out."""
    for kind, what in _NOTES.items():
        places = _places(table, kind)
        if places and kind not in kinds:
            yield f"{table.title}: {what}: {named_cells(table, places)}; skip_rows_with: [{kind}] leaves their rows out"
    if raised := _places(table, "raised"):
        yield (
            f"{table.title}: raised or lowered characters that Unicode lacks are written ^{{...}} and _{{...}}: "
            f"{named_cells(table, raised)}"
        )
    if table.left_out:
        count = sum(row.number in table.left_out and not is_blank(row) for row in table)
        rows = "1 row was" if count == 1 else f"{count} rows were"
        yield f"{table.title}: {rows} left out (skip_rows_with: {', '.join(kinds)})"


def _places(table: Table, kind: str) -> list[tuple[int, int]]:
    return [(row, column) for row, columns in sorted(table.unread.get(kind, {}).items()) for column in columns]


def named_cells(table: Table, places: Sequence[tuple[int, Column]]) -> str:
    """The first cells of a note; row 0 is of what is tied to none."""
    cells = [table.location(row, column).rpartition("!")[2] for row, column in places if row]
    shown = ", ".join(cells[:MAX_NAMED]) + (f" and {len(cells) - MAX_NAMED} more" if len(cells) > MAX_NAMED else "")
    loose = len(places) - len(cells)
    return "; ".join(filter(None, (shown, f"{loose} tied to no cell" if loose else "")))


def _owners(table: Table, layout: ColumnLayout) -> dict[int, int]:
    """Blank row -> the last row above it that is not: a picture often has a row of its own below its question."""
    owners: dict[int, int] = {}
    above = 0
    for row in layout.rows(table):
        if is_blank(row):
            owners[row.number] = above
        else:
            above = row.number
    return owners


def _suspicious_dates(table: Table, layout: ColumnLayout, options: Collection[Column]) -> dict[int, list[int]]:
    """Row -> the columns of its options that are dates by mistake.

    So are dates next to other options, and dates of one year: typed without a year they get that of the day. Options
    with a time of day, or of several years, are what their author wrote.
    """
    found = UnreadCells()
    columns = [column for column in options if isinstance(column, int)]
    for row in layout.rows(table) if columns else ():
        dates = {column: cell for column in columns if isinstance(cell := cell_at(row.cells, column), dt.date)}
        if dates and _is_suspicious(row, columns, list(dates.values())):
            for column in dates:
                found.add("dates", row.number, column)
    return found.cells.get("dates", {})


def _is_suspicious(row: Row, columns: Sequence[int], dates: Sequence[Any]) -> bool:
    if any(isinstance(date, dt.datetime) and date.time() != dt.time() for date in dates):
        return False
    filled = sum(cell_at(row.cells, column) not in (None, "") for column in columns)
    return len(dates) < filled or len({date.year for date in dates}) == 1
