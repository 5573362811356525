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
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from python_calamine import CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

from steelyard.data.archive import Walk, examine_archive, walk_part
from steelyard.data.limited_process import limit
from steelyard.data.shown_cells import SheetCells
from steelyard.data.table import column_index, column_letter
from steelyard.data.workbook_ods import read_ods_cells
from steelyard.data.workbook_xls import read_xls_cells, workbook_stream
from steelyard.data.workbook_xlsx import read_parts, read_xlsx_cells
from steelyard.errors import ConfigError, DataError, did_you_mean

MAX_COLUMNS: Final = 1_024
MAX_CELLS: Final = 4_000_000
"""Cells of the smallest rectangle around all filled cells of one sheet; 32 bytes each in the reader."""

_CELLS: Final = frozenset({"c", "table-cell", "covered-table-cell"})
_FAR_AWAY: Final = 10**9
"""Replaces every larger number; arithmetic on thousands of digits takes time."""


MAX_SHEETS: Final = 1_000
"""Maximum number of sheets that are read from a workbook if none is named."""
MAX_CHARACTERS: Final = 200_000_000
"""Of all rows as JSON: a text that the file holds once may stand in a hundred thousand cells."""

_ADVICE: Final = "; open it in a spreadsheet program and save it again"


def main(path: str, memory_bytes: int, cpu_s: int, given: str) -> None:
    """Write the sheets of the file at `path` to standard output, within limits of memory and CPU time.

    Args:
        path: of the file.
        memory_bytes: that may be used.
        cpu_s: seconds.
        given: a JSON list of the names of sheets; an empty one means every visible sheet with a filled cell. Null:
            write why the file cannot be read if a sheet of it reaches too far, else nothing.
    """
    limit(memory_bytes, cpu_s)
    names = json.loads(given)
    if names is None:
        _find_far_cells(Path(path))
        return
    size = 0
    try:
        for value in _values(Path(path), names):
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
        message = f"{Path(path).name} cannot be read as a workbook ({error}){_ADVICE}"
        sys.stdout.buffer.write(json.dumps({"error": message, "config": False}).encode())


def _find_far_cells(path: Path) -> None:
    """Write which cell of a workbook reaches too far.

    The reader keeps a dense grid from the first to the last filled cell, so that one value at XFD1048576 needs 17
    thousand million cells. Its process then ends at its limit of memory, which tells nobody where the stray cell is.
    """
    # What else is wrong with it has been found before.
    damages = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError)
    try:
        with suppress(*damages), zipfile.ZipFile(path) as archive:
            for part in archive.namelist():
                if part == "content.xml" or part.startswith("xl/worksheets/"):
                    walker = _ExtentWalker(f"{path.name} {part}")
                    walk_part(archive, part, Walk(walker.start, walker.end, walker.text))
                    walker.extent.refuse_if_too_large(walker.what)
    except DataError as error:
        sys.stdout.write(json.dumps({"error": str(error), "config": False}) + "\n")


def _refuse(message: str) -> None:
    raise DataError(message)


def _encoded(value: Any) -> dict[str, Any]:
    """A date or time of a cell; JSON has the other values."""
    if isinstance(value, dt.timedelta):
        return {"seconds": value.total_seconds()}
    return {type(value).__name__: value.isoformat()}


def _values(path: Path, names: list[str]) -> Iterator[Any]:
    shown_cells = _cells_reader(path)
    with CalamineWorkbook.from_path(str(path)) as book:
        known = {sheet.name: sheet for sheet in book.sheets_metadata if sheet.typ == SheetTypeEnum.WorkSheet}
        for name in names:
            if name not in known:
                raise ConfigError(f"{path.name} has no sheet {name!r}{did_you_mean(name, known)}")
        visible = [name for name, sheet in known.items() if sheet.visible == SheetVisibleEnum.Visible]
        if not names and len(visible) > MAX_SHEETS:
            raise DataError(f"{path.name} has {len(visible):,} sheets; name those to read under sheets")
        for name in names or visible:
            sheet = book.get_sheet_by_name(name)
            if sheet.start is not None:
                _refuse_far_cells(f"{path.name} {name}", sheet)
            elif not names:
                continue
            yield _about(name, sheet, shown_cells(name))
            yield from islice(sheet.iter_rows(), sheet.start[0], None) if sheet.start is not None else ()
    yield {"hidden": [] if names else [name for name in known if name not in visible]}


def _refuse_far_cells(what: str, sheet: Any) -> None:
    extent = Extent()
    for row, column in (sheet.start, sheet.end):
        extent.add(row + 1, column)
    extent.refuse_if_too_large(what)


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


def _cells_reader(path: Path) -> Callable[[str], SheetCells]:
    """Returns a function from a sheet's name to what its cells show.

    Raises:
        DataError: the file is no workbook, damaged or encrypted.
    """
    if path.suffix.lower() == ".xls":
        try:
            stream = workbook_stream(path.read_bytes())
        except (struct.error, LookupError, ValueError) as error:
            raise DataError(f"{path.name} cannot be read as a workbook: {error}") from error
        return lambda sheet: read_xls_cells(stream, sheet)
    examine_archive(path)
    archive = zipfile.ZipFile(path)
    for part in archive.namelist():
        # The reader takes every part for UTF-8, and a sheet in UTF-16 for one without cells.
        if part.endswith(".xml") and archive.open(part).read(2) in {b"\xff\xfe", b"\xfe\xff"}:
            _refuse(f"{path.name}: the part {part} is not XML in UTF-8; save the workbook again")
    if path.suffix.lower() == ".ods":
        return lambda sheet: read_ods_cells(archive, sheet)
    book = read_parts(archive)
    return lambda sheet: read_xlsx_cells(archive, book.sheets[sheet], book) if sheet in book.sheets else SheetCells()


@dataclass(slots=True)
class Extent:
    """Bounding rectangle of the filled cells so far: 1-based rows, 0-based columns; empty while last_row is 0."""

    first_row: int = 1 << 31
    first_column: int = 1 << 31
    last_row: int = 0
    last_column: int = -1

    def add(self, row: int, column: int) -> None:
        """Extend the rectangle to include a cell."""
        self.first_row, self.last_row = min(self.first_row, row), max(self.last_row, row)
        self.first_column, self.last_column = min(self.first_column, column), max(self.last_column, column)

    def refuse_if_too_large(self, what: str) -> None:
        """Enforce the limits on columns and cells.

        Raises:
            DataError: a limit is exceeded; the message names the last cell.
        """
        if not self.last_row:
            return
        cells = (self.last_row - self.first_row + 1) * (self.last_column - self.first_column + 1)
        if self.last_column < MAX_COLUMNS and cells <= MAX_CELLS:
            return
        cell = f"{column_letter(self.last_column)}{self.last_row}"
        raise DataError(
            f"{what}: its filled cells reach to {cell}, which makes {cells:,} cells; at most {MAX_CELLS:,} cells and "
            f"{MAX_COLUMNS:,} columns are read. Delete the stray cells, or save the rows as CSV"
        )


class _ExtentWalker:
    """Follows rows and cells of .xlsx and .ods as the reader does, including implied positions and repeats."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.extent = Extent()
        self.row = self.rows = 0
        self.column, self.columns = -1, 1
        self.filled = self.inside = False

    def start(self, name: str, attributes: Mapping[str, Any]) -> None:
        if name in {"row", "table-row"}:
            written = str(attributes.get("r", ""))
            self.row = _number(written) if written.isdecimal() else self.row + self.rows + (not self.rows)
            self.rows, self.column = _repeats(attributes, "number-rows-repeated"), -1
        elif name in _CELLS:
            self._open_cell(attributes)
        elif self.inside and name in {"v", "is", "f"}:
            self.filled = True
        elif name == "table":
            self.extent.refuse_if_too_large(self.what)
            self.extent, self.row, self.rows = Extent(), 0, 0

    def _open_cell(self, attributes: Mapping[str, Any]) -> None:
        self.column += self.columns if self.column >= 0 else 1
        self.columns = _repeats(attributes, "number-columns-repeated")
        if reference := str(attributes.get("r", "")):
            letters = reference.rstrip("0123456789")
            self.column = column_index(letters) if len(letters) < 7 else _FAR_AWAY
            self.row = _number(reference[len(letters) :]) or self.row
        self.filled = any("value" in key for key in attributes)
        self.inside = True

    def text(self, data: str) -> None:
        self.filled = self.filled or (self.inside and bool(data.strip()))

    def end(self, name: str) -> None:
        if name in _CELLS:
            self.inside = False
            if self.filled:
                self.extent.add(self.row, self.column)
                self.extent.add(self.row + max(self.rows, 1) - 1, self.column + self.columns - 1)


def _number(digits: str) -> int:
    return min(int(digits or 0), _FAR_AWAY) if len(digits) < 20 else _FAR_AWAY


def _repeats(attributes: Mapping[str, Any], name: str) -> int:
    """How often a row or cell is repeated; the namespace prefix of the attribute is ignored."""
    counts = [value for key, value in attributes.items() if key.rpartition(":")[2] == name]
    return max((_number(count) for count in counts if count.isascii() and count.isdecimal()), default=1)
