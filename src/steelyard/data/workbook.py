"""Spreadsheets through python-calamine: .xlsx, .xlsm, .xls and .ods as one table a sheet.

What the reader loses is had by a second look, see `data.workbook_cells`, once it is known which columns matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from steelyard.data.archive import MAX_CELLS, examine_archive
from steelyard.data.encoding import kind_of, readable, stamp_of
from steelyard.data.files import require_file
from steelyard.data.old_workbook import repack_old_workbook
from steelyard.data.table import Merge, Row, Table
from steelyard.data.workbook_look import look_at
from steelyard.errors import ConfigError, DataError, did_you_mean

MAX_SHEETS: Final = 1_000
"""Sheets of one workbook that are read where none is named."""

_ZIP = b"PK\x03\x04"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_SHOWN_SHEETS: Final = 10


def read_workbook(path: Path, sheets: Sequence[str] = ()) -> tuple[tuple[Table, ...], tuple[str, ...]]:
    """The tables of a workbook, and notes on what was left out.

    Args:
        path: the file.
        sheets: names of the sheets to read, hidden ones included; empty means every visible sheet with a filled cell.

    Raises:
        ConfigError: there is no such file or sheet.
        DataError: the file is not what its name says, is damaged or encrypted, or passes a limit of `data.archive`.
    """
    require_file(path)
    try:
        return _read(path, _examined(path), sheets)
    except (ConfigError, DataError):
        raise
    except BaseException as error:
        # A reader that stops on a bug of its own raises PanicException, which is no Exception.
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            advice = "; open it in a spreadsheet program and save it anew"
            raise DataError(f"{path.name} cannot be read as a workbook ({error}){advice}") from error
        raise


def _examined(path: Path) -> Any:
    """What the reader may open: the path, or an old workbook in a new container."""
    with readable(path), path.open("rb") as stream:
        head = stream.read(512)
    old = path.suffix.lower() == ".xls"
    if head.startswith(_ZIP) and not old:
        examine_archive(path)
        return str(path)
    if head.startswith(_OLE) and old:
        return BytesIO(repack_old_workbook(path))
    if head.startswith(_OLE):
        raise DataError(f"{path.name} is encrypted, or an old .xls under another name; save it anew as .xlsx")
    what = f"it is {kind_of(head) or f'something that begins with {head[:4]!r}'}" if head else "it is empty"
    raise DataError(f"{path.name} is no {path.suffix.lower()} workbook: {what}")


def _read(path: Path, source: Any, names: Sequence[str]) -> tuple[tuple[Table, ...], tuple[str, ...]]:
    from python_calamine import CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

    stamp = stamp_of(path)
    with CalamineWorkbook.from_object(source) as book:
        known = {one.name: one for one in book.sheets_metadata if one.typ == SheetTypeEnum.WorkSheet}
        for name in names:
            if name not in known:
                raise ConfigError(f"{path.name} has no sheet {name!r}{did_you_mean(name, known)}")
        visible = [name for name, one in known.items() if one.visible == SheetVisibleEnum.Visible]
        if not names and len(visible) > MAX_SHEETS:
            raise DataError(f"{path.name} has {len(visible):,} sheets; name those to read under sheets")
        notes = () if names else _about_hidden(path, [name for name in known if name not in visible])
        tables = tuple(_tables(_File(path, stamp), book, names or visible))
    return tuple(table for table in tables if names or any(True for _ in table)), notes


def _about_hidden(path: Path, hidden: Sequence[str]) -> tuple[str, ...]:
    if not hidden:
        return ()
    shown = ", ".join(name[:40] for name in hidden[:_SHOWN_SHEETS])
    more = f" and {len(hidden) - _SHOWN_SHEETS} more" if len(hidden) > _SHOWN_SHEETS else ""
    what = f"hidden sheet{'s' if len(hidden) > 1 else ''} {shown}{more}"
    return (f"{path.name}: {what} left out; name it under sheets to read it",)


@dataclass(frozen=True, slots=True)
class _File:
    """A workbook on disk, as it was when its sheets were read."""

    path: Path
    stamp: tuple[int, int]

    def refine(self, table: Table, columns: frozenset[int]) -> Table:
        """The table with some of its columns looked at again."""
        if stamp_of(self.path) != self.stamp:
            raise DataError(f"{self.path.name} changed while it was being read; start again")
        return look_at(self.path, table, columns)


def _tables(file: _File, book: Any, names: Sequence[str]) -> Iterator[Table]:
    """One table a sheet; all of them together may have so many cells, since they may share one part."""
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


def _table(file: _File, name: str, sheet: Any) -> Table:
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
    """Merged areas as far as there are rows; of those that overlap in their first column the first counts."""
    before: Merge | None = None
    for (top, left), (bottom, right) in sorted(ranges, key=lambda one: (one[0][1], one[0][0])):
        if before and left == before.first_column and top < before.last_row:
            continue
        merge = Merge(top + 1, left, min(bottom + 1, last_row), right)
        if merge.last_row >= merge.first_row:
            before = merge
            yield merge
