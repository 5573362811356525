"""Spreadsheets through python-calamine: .xlsx, .xlsm, .xls and .ods as one table a sheet."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from steelyard.data.archive import MAX_CELLS, examine_archive
from steelyard.data.files import require_file
from steelyard.data.old_workbook import repack_old_workbook
from steelyard.data.table import Merge, Row, Table
from steelyard.errors import ConfigError, DataError, did_you_mean

_ZIP = b"PK\x03\x04"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


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
    source = _examined(path)
    try:
        return _read(path, source, sheets)
    except (ConfigError, DataError):
        raise
    except BaseException as error:
        # A reader that stops on a bug of its own raises PanicException, which is no Exception.
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise DataError(f"{path.name} cannot be read as a workbook: {error}") from error
        raise


def _examined(path: Path) -> Any:
    """What the reader may open: the path, or an old workbook in a new container."""
    with path.open("rb") as stream:
        head = stream.read(8)
    old = path.suffix.lower() == ".xls"
    if head.startswith(_ZIP) and not old:
        examine_archive(path)
        return str(path)
    if head == _OLE and old:
        return BytesIO(repack_old_workbook(path))
    if head == _OLE:
        raise DataError(f"{path.name} is encrypted, or an old .xls under another name; save it anew as .xlsx")
    what = f"it begins with {head[:4]!r}" if head else "it is empty"
    raise DataError(f"{path.name} is no {path.suffix.lower()} workbook: {what}")


def _read(path: Path, source: Any, names: Sequence[str]) -> tuple[tuple[Table, ...], tuple[str, ...]]:
    from python_calamine import CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

    with CalamineWorkbook.from_object(source) as book:
        known = {one.name: one for one in book.sheets_metadata if one.typ == SheetTypeEnum.WorkSheet}
        for name in names:
            if name not in known:
                raise ConfigError(f"{path.name} has no sheet {name!r}{did_you_mean(name, known)}")
        visible = [name for name, one in known.items() if one.visible == SheetVisibleEnum.Visible]
        notes = () if names else _about_hidden(path, [name for name in known if name not in visible])
        tables = tuple(_table(path.name, name, book.get_sheet_by_name(name)) for name in names or visible)
    return tuple(table for table in tables if names or any(True for _ in table)), notes


def _about_hidden(path: Path, hidden: Sequence[str]) -> tuple[str, ...]:
    if not hidden:
        return ()
    what = f"hidden sheet{'s' if len(hidden) > 1 else ''} {', '.join(hidden)}"
    return (f"{path.name}: {what} left out; name it under sheets to read it",)


def _table(file: str, name: str, sheet: Any) -> Table:
    if sheet.start is None:
        return Table(file, lambda: iter(()), "row", name)
    (first_row, first_column), (last_row, last_column) = sheet.start, sheet.end
    if (last_row - first_row + 1) * (last_column + 1) > MAX_CELLS:
        raise DataError(
            f"{file} {name}: its filled cells span {last_row + 1:,} rows; at most {MAX_CELLS:,} cells are read"
        )
    margin = [""] * first_column
    cells = sheet.to_python(skip_empty_area=True)
    rows = [Row(number, margin + row if margin else row) for number, row in enumerate(cells, start=first_row + 1)]
    merged = tuple(
        Merge(top + 1, left, bottom + 1, right) for (top, left), (bottom, right) in sheet.merged_cell_ranges or ()
    )
    return Table(file, lambda: iter(rows), "row", name, merged=merged)
