"""Finds the last filled cell of a workbook that could not be read, in a process of its own.

The reader keeps a dense grid from the first to the last filled cell, so that one value at XFD1048576 needs 17 thousand
million cells. Its process then ends at its limit of memory, which tells nobody where the stray cell is. This pass
through the XML tells; it is made only then. It writes the message as one JSON text, or nothing.
"""

from __future__ import annotations

import json
import sys
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from steelyard.data.archive import Walk, walk_part
from steelyard.data.limited_process import limit
from steelyard.data.table import column_index, column_letter
from steelyard.errors import DataError

MAX_COLUMNS: Final = 1_024
MAX_CELLS: Final = 4_000_000
"""Cells of the smallest rectangle around all filled cells of one sheet; 32 bytes each in the reader."""

_CELLS: Final = frozenset({"c", "table-cell", "covered-table-cell"})
_FAR_AWAY: Final = 10**9
"""Replaces every larger number; arithmetic on thousands of digits takes time."""


def main(path: str, memory_bytes: int, cpu_s: int) -> None:
    """Write why the file at `path` cannot be read, if a sheet of it reaches too far."""
    limit(memory_bytes, cpu_s)
    # What else is wrong with it has been found before.
    damages = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError)
    try:
        with suppress(*damages), zipfile.ZipFile(path) as archive:
            for part in archive.namelist():
                if part == "content.xml" or part.startswith("xl/worksheets/"):
                    walker = _ExtentWalker(f"{Path(path).name} {part}")
                    walk_part(archive, part, Walk(walker.start, walker.end, walker.text))
                    walker.extent.refuse_if_too_large(walker.what)
    except DataError as error:
        sys.stdout.write(json.dumps(str(error)) + "\n")


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
