"""Restores what the workbook reader loses of an .ods file, in which a cell has the text it shows next to its value.

Source: OpenDocument 1.3 part 3, 6.1 (text), 9.1 (tables, repeats), 10.4 (frames), 19.385 (office:value-type), 20.398
(style:text-position); LibreOffice marks errors with calcext:value-type.
"""

from __future__ import annotations

import zipfile
from collections.abc import Container, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from steelyard.data.archive import Walk, walk_part
from steelyard.data.shown_cells import UNCOMPUTED, Position, SheetCells, TextRun, error_value, ods_position, raised_text

_CONTENT: Final = "content.xml"
_MANIFEST: Final = "META-INF/manifest.xml"
_MOST_BLANKS: Final = 1_000
_CELLS: Final = frozenset({"table-cell", "covered-table-cell"})
_NUMBERS: Final = frozenset({"float", "percentage", "currency"})
_BLANKS: Final[Mapping[str, str]] = MappingProxyType({"s": " ", "tab": "\t", "line-break": "\n"})
_THINGS: Final = frozenset({"image", "object", "object-ole", "custom-shape"})
_ERRORS: Final = ("#N/A", "#REF!", "#NAME?", "#VALUE!", "#DIV/0!", "#NUM!", "#NULL!", "Err:")


def read_ods_cells(archive: zipfile.ZipFile, sheet: str) -> SheetCells:
    """Find numbers as they are shown, error values, formulas without a value, raised characters and pictures.

    Raises:
        DataError: the content is damaged, or declares a document type.
    """
    walker = _OdsCells(sheet, _formulas_in(archive))
    walk_part(archive, _CONTENT, Walk(walker.start, walker.end, walker.text))
    return walker.cells


def _formulas_in(archive: zipfile.ZipFile) -> frozenset[str]:
    """The folders of the objects that are formulas."""
    formulas: set[str] = set()

    def start(tag: str, about: Mapping[str, Any]) -> None:
        attributes = _plain(about)
        if tag == "file-entry" and str(attributes.get("media-type", "")).endswith("opendocument.formula"):
            formulas.add(str(attributes.get("full-path", "")).strip("./"))

    if _MANIFEST in archive.namelist():
        walk_part(archive, _MANIFEST, Walk(start))
    return frozenset(formulas)


class _OdsCells:
    """Follows the rows and cells of one sheet with their repeats; of two sheets with the same name, the first.

    A comment has paragraphs too, which are no text of the cell.
    """

    def __init__(self, sheet: str, formulas: Container[str]) -> None:
        self.cells = SheetCells()
        self._sheet = sheet
        self._formulas = formulas
        self._positions: dict[str, Position] = {}
        self._style = ""
        self._spans: list[Position] = []
        self._runs: list[TextRun] = []
        self._comment = False
        self._inside = self._seen = False
        self._row = self._rows = 1
        self._column = 0
        self._cell: Mapping[str, Any] | None = None
        self._pieces: list[str] = []
        self._framed = False

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
            self._spans, self._runs, self._comment = [], [], False
        elif self._cell is not None:
            self._start_inside(tag, about)
        elif tag == "style":
            self._style = str(_plain(about).get("name", ""))
        elif tag == "text-properties" and (position := ods_position(str(_plain(about).get("text-position", "")))):
            self._positions[self._style] = position
        elif tag == "frame" and self._inside:
            self.cells.unread.add("pictures", 0, 0)  # of the page

    def _start_inside(self, tag: str, about: Mapping[str, Any]) -> None:
        self._comment |= tag == "annotation"
        if self._comment:
            return
        if tag == "p" and self._pieces:
            self._add("\n")
        elif tag == "span":
            inherited = self._spans[-1] if self._spans else ""
            self._spans.append(self._positions.get(str(_plain(about).get("style-name", "")), inherited))
        elif tag in _BLANKS:
            self._add(_BLANKS[tag] * (min(_count(_plain(about).get("c")), _MOST_BLANKS) if tag == "s" else 1))
        elif tag == "frame":
            self._framed = False
        elif tag in _THINGS and not self._framed:
            self._framed = True  # an object comes with an image of it
            folder = str(_plain(about).get("href", "")).strip("./")
            self.cells.unread.add("equations" if folder in self._formulas else "pictures", self._row, self._column)

    def _add(self, text: str) -> None:
        self._pieces.append(text)
        self._runs.append(TextRun(self._spans[-1] if self._spans else "", text))

    def text(self, data: str) -> None:
        if self._cell is not None and not self._comment:
            self._add(data)

    def end(self, tag: str) -> None:
        if tag == "table":
            self._inside = False
        elif tag == "annotation":
            self._comment = False
        elif tag == "span" and self._spans and not self._comment:
            self._spans.pop()
        elif tag in _CELLS and self._cell is not None:
            width = _count(_plain(self._cell).get("number-columns-repeated"))
            self._close(self._cell, "".join(self._pieces).strip(), width)
            self._column += width
            self._cell = None

    def _close(self, cell: Mapping[str, Any], text: str, width: int) -> None:
        kind, formula = cell.get("office:value-type", ""), _plain(cell).get("formula")
        if cell.get("calcext:value-type") == "error" or (formula and text.startswith(_ERRORS)):
            self.cells.faults.extend((*address, error_value(text)) for address in self._addresses(width))
        elif formula and not kind:
            self.cells.faults.extend((*address, UNCOMPUTED) for address in self._addresses(width))
        elif kind in _NUMBERS and text:
            self.cells.shown.extend((*address, text) for address in self._addresses(width))
        if any(run.position for run in self._runs) and (raised := raised_text(self._runs)) is not None:
            for address in self._addresses(width):
                self.cells.add_raised(*address, raised)

    def _addresses(self, width: int) -> Iterator[tuple[int, int]]:
        """Row and column of the cell with its repeats."""
        for row in range(self._row, self._row + self._rows):
            for column in range(self._column, self._column + width):
                yield row, column


def _plain(about: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes without prefixes; if two have the same name, the first is used."""
    attributes: dict[str, Any] = {}
    for name, value in about.items():
        attributes.setdefault(name.rpartition(":")[2], value)
    return attributes


def _count(text: Any) -> int:
    return int(text) if isinstance(text, str) and text.isdigit() and len(text) < 9 else 1
