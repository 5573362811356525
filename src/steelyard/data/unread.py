"""What of a table no role reads: cells that hold more than text, and columns that a suite does not know.

Pictures, formula objects and dates that were fractions are named in a note, and `skip_rows_with` under `samples` leaves
their rows out. A column that a suite does not know is still what somebody wrote: a passage under an unusual header, a
remark, a year. Its values become metadata of the samples, and one note names all such columns.
"""

# Why it is so, and what was rejected: docs/decisions/data-columns.md

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar, Final

from steelyard.data.columns import HEAD_ROWS, ColumnLayout, counts_rows
from steelyard.data.table import (
    MAX_NAMED,
    Column,
    Row,
    Table,
    UnreadCells,
    UnreadKind,
    cell_at,
    column_letter,
    is_blank,
    is_blank_cell,
    render,
)
from steelyard.errors import shortened, some_of

_NOTES: Final[Mapping[str, str]] = {
    "pictures": "pictures and shapes are not read",
    "equations": "formula objects are not read",
    "dates": "dates or times among the options, which a spreadsheet program makes of 1/2, 3-4 or 1:2",
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
    loose = len(places) - len(cells)
    return "; ".join(filter(None, (some_of(cells, MAX_NAMED), f"{loose} tied to no cell" if loose else "")))


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
    """Row -> the columns of its options that are dates or times by mistake.

    So are those next to other options, and dates of one year: typed without a year they get that of the day. Dates
    with a time of day, or of several years, are what their author wrote, and so are times alone, but those like 1:02.
    """
    suspicious = UnreadCells()
    columns = [column for column in options if isinstance(column, int)]
    for row in layout.rows(table) if columns else ():
        dates = {column: cell for column in columns if isinstance(cell := cell_at(row.cells, column), _MADE)}
        if dates and _is_suspicious(row, columns, list(dates.values())):
            for column in dates:
                suspicious.add("dates", row.number, column)
    return suspicious.cells.get("dates", {})


_MADE: Final = (dt.date, dt.time, dt.timedelta)
"""What a spreadsheet program makes of `1/2`, `1:2` and `25:1`."""
_LEAST_MINUTES: Final = 10
"""Times of day are mostly full hours, quarters and tens."""


def _is_suspicious(row: Row, columns: Sequence[int], dates: Sequence[Any]) -> bool:
    if any(isinstance(date, dt.datetime) and date.time() != dt.time() for date in dates):
        return False
    filled = sum(cell_at(row.cells, column) not in (None, "") for column in columns)
    ratios = all(isinstance(time, dt.time) and 0 < time.minute < _LEAST_MINUTES for time in dates)
    return len(dates) < filled or ratios or len({getattr(date, "year", date) for date in dates}) == 1


MOST_COLUMNS: Final = 200
"""Maximum number of columns that are kept; rows of JSON may each have keys of their own."""
OWN_KEYS: Final = frozenset(
    {"position", "source", "sheet", "order", "several", "sources", "document", "predictions", "passage"}
    | {"answerable", "schema", "db_id", "evidence", "dialect"}
)
"""Keys of metadata that suites set; a column of that name is kept as `NAME column`."""
_OF_GENERATED: Final = frozenset({"heading", "kind"})
"""Keys of generated question sets beside `chunk` that no role reads, and that need none."""
_SHOWN: Final = 10
_SHOWN_CHARACTERS: Final = 40


class UnusedColumns:
    """The columns of a dataset that no role reads and that have a value in some row.

    Attributes:
        names: keys of the samples' metadata, in order of first appearance.
        own_keys: keys of metadata that the suite sets.
        expected: those of them that no note names: we wrote them, or groups are made of them.
        too_long: how many values were left out for their length.
        too_many: whether columns were left out.
        unread: notes on cells that hold more than text.
    """

    most_characters: ClassVar[int] = 100_000
    """Maximum length of a value that is kept; longer ones are HTML pages or encoded files, stored with every sample."""

    def __init__(self, own_keys: Collection[str] = OWN_KEYS) -> None:
        self.own_keys = own_keys
        self.names: dict[str, None] = {}
        self.expected: set[str] = set()
        self.too_long = 0
        self.too_many = False
        self.unread: list[str] = []

    def about_names(self, n: int, listed: str, example: str) -> str:
        """The note that lists `n` columns; `example` is the name of one of them."""
        which, are = (f"{n} columns have", "are") if n > 1 else ("1 column has", "is")
        return (
            f"{which} no role and {are} only metadata: {listed}; give a role under columns, or write "
            f"{{{{metadata.{example}}}}} into a template"
        )

    def notes(self) -> Iterator[str]:
        """One note that names the columns, one on values that were left out, and those on cells with more than text."""
        yield from self.unread
        if without_role := [name for name in self.names if name not in self.expected]:
            names = [shortened(name, _SHOWN_CHARACTERS) for name in without_role]
            example = next((name for name in without_role if len(name) <= _SHOWN_CHARACTERS), "NAME")
            yield self.about_names(len(names), some_of(names, _SHOWN), example)
        if self.too_many:
            yield f"columns without a role after the first {MOST_COLUMNS} are left out"
        if self.too_long:
            most = f"{self.most_characters:,} characters"
            yield f"{self.too_long} values of columns without a role are left out: over {most}"


class TableColumns:
    """The unused columns of one table; `see` every row before the first `values`.

    Attributes:
        kept: column -> its key of the metadata, for the columns that had a value in a row so far.
    """

    def __init__(self, dataset: UnusedColumns, table: Table, layout: ColumnLayout) -> None:
        self.dataset = dataset
        self._known = {column for columns in layout.columns.values() for column in columns}
        if _is_row_number(table, layout):
            self._known.add(0)
        grid = () if table.keyed else _grid_names(layout, self._known, dataset.own_keys)
        self._pending: dict[Column, str] = dict(grid)
        self.kept: dict[Column, str] = {}
        if {"chunk", *_OF_GENERATED} <= {*layout.headers.values()}:
            dataset.expected |= _OF_GENERATED

    def expect(self, columns: Collection[Column]) -> None:
        """Name no such column in a note: it is used, though not as a role."""
        self.dataset.expected |= {self._pending[column] for column in columns if column in self._pending}
        self.dataset.expected |= {column for column in columns if isinstance(column, str)}

    def leave(self, columns: Collection[Column]) -> None:
        """Take out columns that the suite reads under no role."""
        self._known.update(columns)
        for column in columns:
            self._pending.pop(column, None)

    def see(self, row: Row) -> None:
        """Note which columns have a value in this row."""
        cells = _own_cells(row)
        if isinstance(cells, Mapping) and not self.dataset.too_many and not cells.keys() <= self._known:
            for key in cells:
                if key not in self._known:
                    self._known.add(key)
                    self._pending[key] = _free_name(str(key), self.kept.values(), self.dataset.own_keys)
        for column in [column for column in self._pending if not is_blank_cell(cell_at(cells, column))]:
            name = self._pending.pop(column)
            if name in self.dataset.names or len(self.dataset.names) < MOST_COLUMNS:
                self.kept[column] = name
                self.dataset.names.setdefault(name)
            else:
                self.dataset.too_many = True
        self.dataset.too_long += sum(self._is_long(cell_at(cells, column)) for column in self.kept)

    def values(self, row: Row) -> dict[str, Any]:
        """Name -> value in this row; "" for a blank cell, and for a column that only other tables have.

        Whole numbers of a sheet are integers, dates and other values without a JSON form are texts.
        """
        values: dict[str, Any] = dict.fromkeys(self.dataset.names, "")
        cells = _own_cells(row)
        for column, name in self.kept.items():
            cell = cell_at(cells, column)
            values[name] = "" if self._is_long(cell) else _plain(cell, is_grid=isinstance(column, int))
        return values

    def _is_long(self, cell: Any) -> bool:
        text = str(cell) if isinstance(cell, list | dict) else cell
        return isinstance(text, str) and len(text) > self.dataset.most_characters


def _own_cells(row: Row) -> Sequence[Any] | Mapping[str, Any]:
    """The cells of a row; what an object has under `metadata`, as collected rows have it, stands beside its other keys.

    Without keys that suites set, which these rows were given when they were read before, and where they come from.
    """
    cells = row.cells
    inner = cells.get("metadata") if isinstance(cells, Mapping) else None
    if not isinstance(cells, Mapping) or not isinstance(inner, Mapping):
        return cells
    kept = {key: value for key, value in inner.items() if key not in OWN_KEYS and key != "collected"}
    return {**kept, **{key: value for key, value in cells.items() if key != "metadata"}}


def _is_row_number(table: Table, layout: ColumnLayout) -> bool:
    """Whether the first column has no header and numbers the rows, as pandas writes its index."""
    if table.keyed or not layout.header_row or layout.headers.get(0, ""):
        return False
    return counts_rows([row for row in islice(layout.rows(table), HEAD_ROWS) if not is_blank(row)])


def _grid_names(
    layout: ColumnLayout, taken: Collection[Column], own_keys: Collection[str]
) -> Iterator[tuple[int, str]]:
    """The header of each free column of a sheet, or its letter; a header that occurs twice has its letter behind it."""
    names: set[str] = set()
    for column in range(layout.width):
        if column not in taken:
            header = " ".join(layout.headers.get(column, "").split())
            name = _free_name(header or column_letter(column), names, own_keys, column_letter(column))
            names.add(name)
            yield column, name


def _free_name(name: str, names: Collection[str], own_keys: Collection[str], letter: str = "") -> str:
    """A name that no key of a suite and no other column has; braces cannot stand in a placeholder."""
    free = name.replace("{", "(").replace("}", ")").strip() or "column"
    free = f"{free} column" if free in own_keys else free
    return f"{free} {letter}" if letter and free in names else free


def _plain(cell: Any, *, is_grid: bool) -> Any:
    if isinstance(cell, str):
        return cell.strip() if is_grid else str(cell)
    if isinstance(cell, float):
        return int(cell) if is_grid and cell.is_integer() and abs(cell) < 1e15 else cell
    if isinstance(cell, list):
        return [_nested(value) for value in cell]
    if isinstance(cell, dict):
        return {str(key): _nested(value) for key, value in cell.items()}
    return cell if isinstance(cell, bool | int) else render(cell)


def _nested(value: Any) -> Any:
    return None if value is None else _plain(value, is_grid=False)
