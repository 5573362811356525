"""Reads spreadsheets with python-calamine in a process of its own: .xlsx, .xlsm, .xls and .ods.

The reader returns values without their format: 0.5 for a cell that shows 50%, and an empty text both for an error value
and for a formula that no program has computed. A second pass finds what a person sees in such cells, with one module
for each format (`workbook_xlsx`, `workbook_ods`, `workbook_xls`).

It writes JSON lines: for each sheet one object about it and its rows, each row a list; last an object with the names of
the hidden sheets, or with the reason why the file is not read.
"""

from __future__ import annotations

import datetime as dt
import json
import struct
import sys
import zipfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

from python_calamine import CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

from steelyard.data.archive import examine_archive
from steelyard.data.limited_process import limit
from steelyard.data.shown_cells import SheetCells
from steelyard.data.table import FAR_CELL, column_letter
from steelyard.data.workbook_ods import read_ods_cells
from steelyard.data.workbook_xls import read_xls_cells, workbook_stream
from steelyard.data.workbook_xlsx import Corners, corners_of_wide, read_parts, read_xlsx_cells
from steelyard.errors import ConfigError, DataError, did_you_mean

MAX_COLUMNS: Final = 1_024
MAX_CELLS: Final = 4_000_000
"""Cells of the smallest rectangle around all filled cells of one sheet; 32 bytes each in the reader."""
MAX_SHEETS: Final = 1_000
"""Maximum number of sheets that are read from a workbook if none is named."""
MAX_CHARACTERS: Final = 200_000_000
"""Of all rows as JSON: a text that the file holds once may stand in a hundred thousand cells."""


def main(path: str, memory_bytes: int, cpu_s: int, given: str) -> None:
    """Write the sheets of the file at `path` to standard output, within limits of memory and CPU time.

    Args:
        path: of the file.
        memory_bytes: that may be used.
        cpu_s: seconds.
        given: a JSON list of the names of sheets; an empty one means every visible sheet with a filled cell.
    """
    limit(memory_bytes, cpu_s)
    size = 0
    try:
        for value in _values(Path(path), json.loads(given)):
            line = json.dumps(value, default=_encoded, ensure_ascii=False, separators=(",", ":"))
            size += len(line)
            if size > MAX_CHARACTERS:
                _refuse(f"{Path(path).name}: its cells hold more than {MAX_CHARACTERS:,} characters; save it as CSV")
            sys.stdout.buffer.write(line.encode() + b"\n")
    except (ConfigError, DataError) as error:
        sys.stdout.buffer.write(json.dumps({"error": str(error), "config": isinstance(error, ConfigError)}).encode())
    except MemoryError:
        raise
    except BaseException as error:
        # On a bug of its own the reader raises PanicException, which is not a subclass of Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        is_far = "Cell limit exceeded" in str(error)
        advice = FAR_CELL if is_far else "Open it in a spreadsheet program and save it again"
        message = f"{Path(path).name} cannot be read as a workbook ({error}). {advice}"
        sys.stdout.buffer.write(json.dumps({"error": message, "config": False}).encode())


def _refuse(message: str) -> None:
    raise DataError(message)


def _encoded(value: Any) -> dict[str, Any]:
    """A date or time of a cell; JSON has the other values."""
    if isinstance(value, dt.timedelta):
        return {"seconds": value.total_seconds()}
    return {type(value).__name__: value.isoformat()}


def _values(path: Path, names: list[str]) -> Iterator[Any]:
    shown_cells, declared = _cells_reader(path)
    with CalamineWorkbook.from_path(str(path)) as book:
        known = {sheet.name: sheet for sheet in book.sheets_metadata if sheet.typ == SheetTypeEnum.WorkSheet}
        for name in names:
            if name not in known:
                raise ConfigError(f"{path.name} has no sheet {name!r}{did_you_mean(name, known)}")
        visible = [name for name, sheet in known.items() if sheet.visible == SheetVisibleEnum.Visible]
        if not names and len(visible) > MAX_SHEETS:
            raise DataError(f"{path.name} has {len(visible):,} sheets; name those to read under sheets")
        for name in names or visible:
            if corners := declared(name):  # told before the reader makes a grid that it cannot hold
                _refuse_far_cells(f"{path.name} {name}", *corners)
            sheet = book.get_sheet_by_name(name)
            if sheet.start is not None:
                _refuse_far_cells(f"{path.name} {name}", sheet.start, sheet.end or sheet.start)
            elif not names:
                continue
            yield _about(name, sheet, shown_cells(name))
            yield from islice(sheet.iter_rows(), sheet.start[0], None) if sheet.start is not None else ()
    yield {"hidden": [] if names else [name for name in known if name not in visible]}


def _refuse_far_cells(what: str, first: tuple[int, int], last: tuple[int, int]) -> None:
    (first_row, first_column), (last_row, last_column) = first, last
    cells = (last_row - first_row + 1) * (last_column - first_column + 1)
    if last_column < MAX_COLUMNS and cells <= MAX_CELLS:
        return
    raise DataError(
        f"{what}: its filled cells reach to {column_letter(last_column)}{last_row + 1}, which makes {cells:,} cells; "
        f"at most {MAX_CELLS:,} cells and {MAX_COLUMNS:,} columns are read. Delete the stray cells, or save as CSV"
    )


def _about(name: str, sheet: Any, cells: SheetCells) -> dict[str, Any]:
    return {
        "sheet": name,
        "start": sheet.start,
        "merged": sheet.merged_cell_ranges or [],
        "shown": cells.shown,
        "texts": cells.texts,
        "faults": cells.faults,
        "unread": {kind: list(rows.items()) for kind, rows in cells.unread.cells.items()},
    }


def _cells_reader(path: Path) -> tuple[Callable[[str], SheetCells], Callable[[str], Corners | None]]:
    """Returns functions from a sheet's name to what its cells show, and to the corners of one that may be too large.

    Raises:
        DataError: the file is no workbook, damaged or encrypted.
    """
    if path.suffix.lower() == ".xls":
        try:
            stream = workbook_stream(path.read_bytes())
        except (struct.error, LookupError, ValueError) as error:
            raise DataError(f"{path.name} cannot be read as a workbook: {error}") from error
        return lambda sheet: read_xls_cells(stream, sheet), lambda _: None
    examine_archive(path)
    archive = zipfile.ZipFile(path)
    for part in archive.namelist():
        # The reader takes every part for UTF-8, and a sheet in UTF-16 for one without cells.
        if part.endswith(".xml") and archive.open(part).read(2) in {b"\xff\xfe", b"\xfe\xff"}:
            _refuse(f"{path.name}: the part {part} is not XML in UTF-8; save the workbook again")
    if path.suffix.lower() == ".ods":
        return lambda sheet: read_ods_cells(archive, sheet), lambda _: None
    book = read_parts(archive)
    parts = book.sheets
    return (
        lambda sheet: read_xlsx_cells(archive, parts[sheet], book) if sheet in parts else SheetCells(),
        lambda sheet: corners_of_wide(archive, parts[sheet], MAX_COLUMNS, MAX_CELLS) if sheet in parts else None,
    )
