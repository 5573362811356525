"""Columns that no role reads: their values become metadata of the samples, and one note names them.

A column that a suite does not know is still what somebody wrote: a passage under an unusual header, a remark, a year.
"""

# Why it is so, and what was rejected: docs/decisions/data-columns.md

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from steelyard.data.columns import HEAD_ROWS, ColumnLayout, counts_rows
from steelyard.data.table import Column, Row, Table, cell_at, column_letter, is_blank, is_blank_cell, render

MOST_CHARACTERS: Final = 100_000
"""Maximum length of a value that is kept; longer ones are HTML pages or encoded files, stored with every sample."""
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

    def __init__(self, own_keys: Collection[str] = OWN_KEYS) -> None:
        self.own_keys = own_keys
        self.names: dict[str, None] = {}
        self.expected: set[str] = set()
        self.too_long = 0
        self.too_many = False
        self.unread: list[str] = []

    def of(self, table: Table, layout: ColumnLayout) -> TableColumns:
        """The unused columns of one table."""
        return TableColumns(self, table, layout)

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
            names = [
                name if len(name) <= _SHOWN_CHARACTERS else f"{name[:_SHOWN_CHARACTERS]}…" for name in without_role
            ]
            listed = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
            example = next((name for name in without_role if len(name) <= _SHOWN_CHARACTERS), "NAME")
            yield self.about_names(len(names), listed, example)
        if self.too_many:
            yield f"columns without a role after the first {MOST_COLUMNS} are left out"
        if self.too_long:
            yield f"{self.too_long} values of columns without a role are left out: over {MOST_CHARACTERS:,} characters"


class TableColumns:
    """The unused columns of one table; `see` every row before the first `values`."""

    def __init__(self, dataset: UnusedColumns, table: Table, layout: ColumnLayout) -> None:
        self.dataset = dataset
        self._known = {column for columns in layout.columns.values() for column in columns}
        if _is_row_number(table, layout):
            self._known.add(0)
        grid = () if table.keyed else _grid_names(layout, self._known, dataset.own_keys)
        self._pending: dict[Column, str] = dict(grid)
        self._kept: dict[Column, str] = {}
        if {"chunk", *_OF_GENERATED} <= {*layout.headers.values()}:
            dataset.expected |= _OF_GENERATED

    @property
    def kept(self) -> Mapping[Column, str]:
        """Column -> its key of the metadata, for the columns that had a value in a row so far."""
        return self._kept

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
                    self._pending[key] = _free_name(str(key), self._kept.values(), self.dataset.own_keys)
        for column in [column for column in self._pending if not is_blank_cell(cell_at(cells, column))]:
            name = self._pending.pop(column)
            if name in self.dataset.names or len(self.dataset.names) < MOST_COLUMNS:
                self._kept[column] = name
                self.dataset.names.setdefault(name)
            else:
                self.dataset.too_many = True
        self.dataset.too_long += sum(_is_long(cell_at(cells, column)) for column in self._kept)

    def values(self, row: Row) -> dict[str, Any]:
        """Name -> value in this row; "" for a blank cell, and for a column that only other tables have.

        Whole numbers of a sheet are integers, dates and other values without a JSON form are texts.
        """
        values: dict[str, Any] = dict.fromkeys(self.dataset.names, "")
        cells = _own_cells(row)
        for column, name in self._kept.items():
            cell = cell_at(cells, column)
            values[name] = "" if _is_long(cell) else _plain(cell, is_grid=isinstance(column, int))
        return values


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


def _is_long(cell: Any) -> bool:
    if isinstance(cell, str):
        return len(cell) > MOST_CHARACTERS
    return isinstance(cell, list | dict) and len(str(cell)) > MOST_CHARACTERS


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
