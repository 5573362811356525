"""Reads spreadsheets with python-calamine: .xlsx, .xlsm, .xls and .ods, one table per sheet.

The reader returns values without their format: 0.5 for a cell that shows 50%, and an empty text both for an error value
and for a formula that no program has computed. When the columns that a suite reads are known, `Table.refined` restores
these cells in a second pass, with one module for each format (`workbook_xlsx`, `workbook_ods`, `workbook_xls`).
"""

from __future__ import annotations

import datetime as dt
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from steelyard.data.archive import MAX_CELLS, examine_archive
from steelyard.data.encoding import kind_of, readable, stamp_of
from steelyard.data.paths import require_file
from steelyard.data.table import Merge, Row, Table, cell_at
from steelyard.data.workbook_ods import read_ods_cells
from steelyard.data.workbook_xls import read_xls_cells, repack_xls
from steelyard.data.workbook_xlsx import SheetCells, read_parts, read_xlsx_cells
from steelyard.errors import ConfigError, DataError, did_you_mean

MAX_SHEETS: Final = 1_000
"""Maximum number of sheets that are read from a workbook if none is named."""

_ZIP = b"PK\x03\x04"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_SHOWN_SHEETS: Final = 10
_TIMES: Final = frozenset({dt.time, dt.timedelta, dt.datetime})


def read_workbook(path: Path, sheets: Sequence[str] = ()) -> tuple[tuple[Table, ...], tuple[str, ...]]:
    """The tables of a workbook, and notes on what was left out.

    Args:
        path: the file.
        sheets: names of the sheets to read, hidden ones included; empty means every visible sheet with a filled cell.

    Raises:
        ConfigError: there is no such file or sheet.
        DataError: the file has another format than its extension, is damaged or encrypted, or exceeds a limit of
            `data.archive`.
    """
    require_file(path)
    try:
        return _read(path, _examined(path), sheets)
    except (ConfigError, DataError):
        raise
    except BaseException as error:
        # On a bug of its own the reader raises PanicException, which is not a subclass of Exception.
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            advice = "; open it in a spreadsheet program and save it again"
            raise DataError(f"{path.name} cannot be read as a workbook ({error}){advice}") from error
        raise


def _examined(path: Path) -> Any:
    """Examine a workbook; returns the reader's source: the path, or an old workbook in a new container."""
    with readable(path), path.open("rb") as stream:
        head = stream.read(512)
    old = path.suffix.lower() == ".xls"
    if head.startswith(_ZIP) and not old:
        examine_archive(path)
        return str(path)
    if head.startswith(_OLE) and old:
        return BytesIO(repack_xls(path))
    if head.startswith(_OLE):
        raise DataError(f"{path.name} is encrypted, or an old .xls under another name; save it again as .xlsx")
    what = f"it is {kind_of(head) or f'something that begins with {head[:4]!r}'}" if head else "it is empty"
    raise DataError(f"{path.name} is not a {path.suffix.lower()} workbook: {what}")


def _read(path: Path, source: Any, names: Sequence[str]) -> tuple[tuple[Table, ...], tuple[str, ...]]:
    from python_calamine import CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

    stamp = stamp_of(path)
    with CalamineWorkbook.from_object(source) as book:
        known = {sheet.name: sheet for sheet in book.sheets_metadata if sheet.typ == SheetTypeEnum.WorkSheet}
        for name in names:
            if name not in known:
                raise ConfigError(f"{path.name} has no sheet {name!r}{did_you_mean(name, known)}")
        visible = [name for name, sheet in known.items() if sheet.visible == SheetVisibleEnum.Visible]
        if not names and len(visible) > MAX_SHEETS:
            raise DataError(f"{path.name} has {len(visible):,} sheets; name those to read under sheets")
        notes = () if names else _about_hidden(path, [name for name in known if name not in visible])
        tables = tuple(_tables(_WorkbookFile(path, stamp), book, names or visible))
    return tuple(table for table in tables if names or any(True for _ in table)), notes


def _about_hidden(path: Path, hidden: Sequence[str]) -> tuple[str, ...]:
    if not hidden:
        return ()
    shown = ", ".join(name[:40] for name in hidden[:_SHOWN_SHEETS])
    more = f" and {len(hidden) - _SHOWN_SHEETS} more" if len(hidden) > _SHOWN_SHEETS else ""
    what = f"hidden sheet{'s' if len(hidden) > 1 else ''} {shown}{more}"
    return (f"{path.name}: {what} left out; name it under sheets to read it",)


@dataclass(frozen=True, slots=True)
class _WorkbookFile:
    """A workbook on disk; its stamp shows whether it has changed since its sheets were read."""

    path: Path
    stamp: tuple[int, int]

    def refine(self, table: Table, columns: frozenset[int]) -> Table:
        """The table with the cells of some columns as their sheet shows them."""
        if stamp_of(self.path) != self.stamp:
            raise DataError(f"{self.path.name} changed while it was being read; start again")
        return _with_shown_cells(self.path, table, columns)


def _tables(file: _WorkbookFile, book: Any, names: Sequence[str]) -> Iterator[Table]:
    """One table per sheet; the limit on cells applies to all sheets together, since they may share one part."""
    cells = 0
    for name in names:
        sheet = book.get_sheet_by_name(name)
        if sheet.start is not None:
            cells += (sheet.end[0] - sheet.start[0] + 1) * (sheet.end[1] + 1)
        if cells > MAX_CELLS:
            raise DataError(
                f"{file.path.name} {name}: with the sheets before it, its filled cells span {cells:,} cells; "
                f"at most {MAX_CELLS:,} are read. Name the sheets to read under sheets, or save the rows as CSV"
            )
        yield _table(file, name, sheet)


def _table(file: _WorkbookFile, name: str, sheet: Any) -> Table:
    if sheet.start is None:
        return Table(file.path.name, lambda: iter(()), "row", name)
    first_row, first_column = sheet.start
    margin = [""] * first_column
    cells = sheet.to_python(skip_empty_area=True)
    rows = [Row(number, margin + row if margin else row) for number, row in enumerate(cells, start=first_row + 1)]
    merged = tuple(_merges(sheet.merged_cell_ranges or (), sheet.end[0] + 1))
    plain = Table(file.path.name, lambda: iter(rows), "row", name, merged=merged)
    return Table(
        plain.name, plain.source, "row", name, merged=merged, refine=lambda columns: file.refine(plain, columns)
    )


def _merges(ranges: Sequence[tuple[tuple[int, int], tuple[int, int]]], last_row: int) -> Iterator[Merge]:
    """Merged areas, cut at the last row; if areas overlap in their first column, only the first is used."""
    before: Merge | None = None
    for (top, left), (bottom, right) in sorted(ranges, key=lambda corners: (corners[0][1], corners[0][0])):
        if before and left == before.first_column and top < before.last_row:
            continue
        merge = Merge(top + 1, left, min(bottom + 1, last_row), right)
        if merge.last_row >= merge.first_row:
            before = merge
            yield merge


def _with_shown_cells(path: Path, table: Table, columns: frozenset[int]) -> Table:
    """The table with these columns as the sheet shows them, and the raised characters of all columns.

    Raises:
        DataError: a part of the file is damaged.
    """
    cells = _sheet_cells(path, table.sheet, columns)
    refined = replace(table, faults=cells.faults, unread=cells.unread.cells, refine=None)
    kinds = {type(cell) for row in table for cell in row.cells}
    if not (cells.shown or cells.texts or kinds & _TIMES):
        return refined
    rows = list(_shown_rows(table, columns, cells))
    return replace(refined, source=lambda: iter(rows))


def _sheet_cells(path: Path, sheet: str, columns: frozenset[int]) -> SheetCells:
    if path.suffix.lower() == ".xls":
        return read_xls_cells(path, sheet, columns)
    try:
        with zipfile.ZipFile(path) as archive:
            if path.suffix.lower() == ".ods":
                return read_ods_cells(archive, sheet, columns)
            book = read_parts(archive)
            part = book.sheets.get(sheet)
            return read_xlsx_cells(archive, part, book, columns) if part else SheetCells()
    except (zipfile.BadZipFile, KeyError, OSError) as error:
        raise DataError(f"{path.name} is damaged or cut off: {error}") from error


def _shown_rows(table: Table, columns: frozenset[int], sheet_cells: SheetCells) -> Iterator[Row]:
    for row in table:
        texts = dict(sheet_cells.shown.get(row.number, ()))
        for column in columns:
            cell = cell_at(row.cells, column)
            if isinstance(cell, str):
                texts.pop(column, None)
            elif isinstance(cell, dt.time | dt.timedelta | dt.datetime):
                texts[column] = _time(cell)
        texts |= sheet_cells.texts.get(row.number, {})
        yield Row(row.number, _with(row.cells, texts)) if texts else row


def _with(cells: Any, texts: Mapping[int, str]) -> Sequence[Any]:
    return [texts.get(column, cell) for column, cell in enumerate(cells)]


def _time(value: dt.time | dt.timedelta | dt.datetime) -> str:
    """ISO 8601, rounded to the second because a sheet stores fractions of a day; a duration may exceed 24 hours.

    >>> _time(dt.timedelta(hours=30, minutes=5)), _time(dt.time(8, 29, 59, 999_000))
    ('30:05:00', '08:30:00')
    """
    if isinstance(value, dt.timedelta):
        seconds = round(value.total_seconds())
        sign, seconds = "-" if seconds < 0 else "", abs(seconds)
        return f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if isinstance(value, dt.time):
        seconds = round(value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6) % 86_400
        return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    rounded = value + dt.timedelta(microseconds=500_000) if value.year < dt.MAXYEAR else value
    return rounded.replace(microsecond=0).isoformat(" ")
