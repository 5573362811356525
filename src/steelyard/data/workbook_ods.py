"""Restores what the workbook reader loses of an .ods file, in which a cell has the text it shows next to its value.

Source: OpenDocument 1.3 part 3, 9.1 (tables, repeats), 19.385 (office:value-type); LibreOffice marks errors with
calcext:value-type.
"""

from __future__ import annotations

import zipfile
from collections.abc import Container, Mapping
from typing import Any, Final

from steelyard.data.archive import Walk, walk_part
from steelyard.data.workbook_xlsx import UNCOMPUTED, SheetCells, error_value

_CONTENT: Final = "content.xml"
_CELLS: Final = frozenset({"table-cell", "covered-table-cell"})
_NUMBERS: Final = frozenset({"float", "percentage", "currency"})
_ERRORS: Final = ("#N/A", "#REF!", "#NAME?", "#VALUE!", "#DIV/0!", "#NUM!", "#NULL!", "Err:")


def read_ods_cells(archive: zipfile.ZipFile, sheet: str, columns: Container[int]) -> SheetCells:
    """Find numbers as they are shown, error values and formulas without a value in some columns of a sheet.

    Raises:
        DataError: the content is damaged, or declares a document type.
    """
    walker = _OdsCells(sheet, columns)
    walk_part(archive, _CONTENT, Walk(walker.start, walker.end, walker.text))
    return walker.cells


class _OdsCells:
    """Follows the rows and cells of one sheet with their repeats; of two sheets with the same name, the first."""

    def __init__(self, sheet: str, columns: Container[int]) -> None:
        self.cells = SheetCells()
        self._sheet = sheet
        self._columns = columns
        self._inside = self._seen = False
        self._row = self._rows = 1
        self._column = 0
        self._cell: Mapping[str, Any] | None = None
        self._pieces: list[str] = []
        self._noted = 0

    def start(self, tag: str, about: Mapping[str, Any]) -> None:
        if tag == "table":
            self._inside = not self._seen and _plain(about).get("name") == self._sheet
            self._seen |= self._inside
            self._row, self._rows = 1, 0
        elif self._inside and tag == "table-row":
            self._row += self._rows
            self._rows, self._column = _count(_plain(about).get("number-rows-repeated")), 0
        elif self._inside and tag in _CELLS:
            self._cell, self._pieces = about, []
        elif tag == "p" and self._pieces:
            self._pieces.append("\n")

    def text(self, data: str) -> None:
        if self._cell is not None:
            self._pieces.append(data)

    def end(self, tag: str) -> None:
        if tag == "table":
            self._inside = False
        elif tag in _CELLS and self._cell is not None:
            width = _count(_plain(self._cell).get("number-columns-repeated"))
            self._close(self._cell, "".join(self._pieces).strip(), width)
            self._column += width
            self._cell = None

    def _close(self, cell: Mapping[str, Any], text: str, width: int) -> None:
        kind, formula = cell.get("office:value-type", ""), _plain(cell).get("formula")
        if cell.get("calcext:value-type") == "error" or (formula and text.startswith(_ERRORS)):
            self._note(self.cells.faults, error_value(text), width)
        elif formula and not kind:
            self._note(self.cells.faults, UNCOMPUTED, width)
        elif kind in _NUMBERS and text:
            self._note(self.cells.shown, text, width)

    def _note(self, texts: dict[int, dict[int, str]], text: str, width: int) -> None:
        for column in range(self._column, self._column + width):
            if column in self._columns:
                for row in range(self._row, self._row + self._rows):
                    texts.setdefault(row, {})[column] = text


def _plain(about: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes without prefixes; if two have the same name, the first is used."""
    attributes: dict[str, Any] = {}
    for name, value in about.items():
        attributes.setdefault(name.rpartition(":")[2], value)
    return attributes


def _count(text: Any) -> int:
    return int(text) if isinstance(text, str) and text.isdigit() and len(text) < 9 else 1
