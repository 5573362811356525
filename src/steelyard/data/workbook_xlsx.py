"""Restores what the workbook reader loses of an .xlsx file: number formats, error values, formulas without a value.

The reader returns 0.5 for a cell that shows 50%, and an empty text both for an error value and for a formula that no
program has computed. This pass finds such cells in one stream through the sheet's XML. It runs only if a quick search
through the bytes finds an error, a formula, or a style that changes how numbers are shown. The drawings over the cells
are parts of their own: of each the kind is found, and the cell of its corner.

Source: ECMA-376 part 1, 18.2.20 (sheets), 18.3.1.4 (c), 18.3.1.40 (f), 18.8.10 (cellXfs), 18.8.31 (numFmts), 18.18.11
(ST_CellType), 18.3.1.59 (oleObject), 20.5 (spreadsheet drawings); part 2, 9.3 (relationships).
"""

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from steelyard.data.archive import Walk, related_parts, walk_part
from steelyard.data.shown_cells import (
    BUILT_IN,
    MAX_RAISED,
    UNCOMPUTED,
    RaisedText,
    SheetCells,
    XlsxRuns,
    error_value,
    is_plain,
    raised_text,
    shown_as,
)
from steelyard.data.table import UnreadCells, column_index
from steelyard.errors import DataError

_ANCHORS: Final = frozenset({"oneCellAnchor", "twoCellAnchor", "absoluteAnchor"})
_THINGS: Final = frozenset({"pic", "graphicFrame", "sp", "grpSp", "cxnSp", "contentPart"})
_EQUATION_TAGS: Final = frozenset({"m", "oMath", "oMathPara"})
_PLACES: Final = frozenset({"col", "row"})
_MOST_DIGITS: Final = 7


class CornerReader:
    """Reads the `col` and `row` of an anchor's `from`, both counted from 0."""

    def __init__(self) -> None:
        self._inside = False
        self._name = ""
        self._pieces: list[str] = []
        self.numbers: dict[str, int] = {}

    def start(self, tag: str) -> None:
        """Take the start of an element."""
        if tag == "from":
            self._inside = True
        elif self._inside and tag in _PLACES:
            self._name, self._pieces = tag, []

    def text(self, data: str) -> None:
        """Take a piece of text."""
        if self._name and len(self._pieces) < _MOST_DIGITS:
            self._pieces.append(data)

    def end(self, tag: str) -> None:
        """Take the end of an element."""
        if tag == "from":
            self._inside = False
        elif tag == self._name:
            digits = "".join(self._pieces).strip()
            if digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS:
                self.numbers.setdefault(tag, int(digits))
            self._name = ""

    def cell(self) -> tuple[int, int]:
        """The 1-based row and 0-based column; row 0 if the drawing is tied to no cell."""
        if self.numbers.keys() < _PLACES:
            return 0, 0
        return self.numbers["row"] + 1, self.numbers["col"]


def read_drawings(archive: zipfile.ZipFile, sheet: str, unread: UnreadCells) -> None:
    """Add the cells of the pictures, shapes and formulas of a sheet's drawings.

    Args:
        archive: the workbook.
        sheet: the name of the sheet's part.
        unread: what is added to.

    Raises:
        DataError: a drawing is damaged, or there are too many.
    """
    names = set(archive.namelist())
    for part in dict.fromkeys(path for kind, path in related_parts(archive, sheet).values() if kind == "drawing"):
        if part not in names:
            continue
        walker = _Drawing(unread)
        walk_part(archive, part, Walk(walker.start, walker.end, walker.text))


class _Drawing:
    """Follows the anchors of a drawing; a formula comes with a picture of it, for programs that do not know it."""

    def __init__(self, unread: UnreadCells) -> None:
        self._unread = unread
        self._corner = CornerReader()
        self._kind = ""

    def start(self, tag: str, about: Mapping[str, Any]) -> None:
        if tag in _ANCHORS:
            self._corner, self._kind = CornerReader(), ""
        elif tag in _THINGS:
            self._kind = self._kind or "pictures"
        elif tag in _EQUATION_TAGS:
            self._kind = "equations"
        elif tag == "cNvPr" and about.get("hidden") in {"1", "true"}:
            self._kind = "hidden"  # stands for an object that the sheet itself lists
        self._corner.start(tag)

    def text(self, data: str) -> None:
        self._corner.text(data)

    def end(self, tag: str) -> None:
        self._corner.end(tag)
        if tag in _ANCHORS and self._kind and self._kind != "hidden":
            self._unread.add(self._kind, *self._corner.cell())


_BOOK: Final = "xl/workbook.xml"
_TRUE: Final = frozenset({"1", "true"})
_CHUNK: Final = 1 << 20
_KEPT: Final = 64
_MARK: Final = re.compile(rb"""\st\s*=\s*["']e["']|<(?:[\w.-]+:)?f[\s/>]""")
_STYLE: Final = re.compile(rb"""\ss\s*=\s*["'](\d{1,9})["']""")
_DIMENSION: Final = re.compile(rb"""<(?:[\w.-]+:)?dimension\s+ref\s*=\s*["'][A-Z0-9]*:?([A-Z]{1,3})(\d{1,7})["']""")
_FILLED: Final = re.compile(
    rb"""<(?:[\w.-]+:)?c\s[^<>]{0,60}?\br\s*=\s*["']([A-Z]{1,3})(\d{1,7})["'][^<>]{0,60}>\s*<(?:[\w.-]+:)?(?:v|is|f)[\s>]"""
)
Corners = tuple[tuple[int, int], tuple[int, int]]
_ADDRESS: Final = re.compile(r"([A-Za-z]{1,3})(\d{1,7})")

_SHARED: Final = "xl/sharedStrings.xml"
_RAISED: Final = b"vertAlign"
_WORDS: Final = (_RAISED, b"oleObject", b"DISPIMG(")
"""Words of a sheet with raised characters in its cells, embedded objects, or pictures of WPS."""
_PICTURE: Final = re.compile(r"\s*(?:_xlfn\.)*(?:DISPIMG|IMAGE)\(")
PICTURE: Final = "[picture]"
"""The text of a cell that holds a picture."""
_EQUATION_PROGRAMS: Final = ("Equation", "MathType", "Word.Document.Equation")

_TEXTS: Final = frozenset({"s", "inlineStr"})
"""Kinds of cells that the reader returns as they are shown."""


@dataclass(slots=True)
class BookParts:
    """The parts of a workbook's sheets, and its number formats.

    Args:
        sheets: name of a sheet -> name of its part.
        formats: number of a style -> code of its number format, if that changes how a number is shown.
        texts: the shared texts with raised or lowered characters, by their number.
        recalculates: whether the workbook must be computed when it is opened: the program that wrote it does not
            compute, and the zeros next to its formulas are not results.
    """

    sheets: dict[str, str] = field(default_factory=dict)
    formats: dict[int, str] = field(default_factory=dict)
    texts: dict[int, RaisedText] = field(default_factory=dict)
    recalculates: bool = False


def corners_of_wide(archive: zipfile.ZipFile, part: str, most_columns: int, most_cells: int) -> Corners | None:
    """The first and last row and column, counted from 0, of a sheet's filled cells; None where it declares to be small.

    The declared size alone does not decide: some programs declare the whole sheet.
    """
    declared = _DIMENSION.search(next(_chunks(archive, part), b""))
    width = column_index(declared[1].decode()) + 1 if declared else 0
    if not declared or (width <= most_columns and width * int(declared[2]) <= most_cells):
        return None
    found = (match for chunk in _chunks(archive, part) for match in _FILLED.finditer(chunk))
    first, last = (sys.maxsize, sys.maxsize), (-1, -1)
    for match in found:
        row, column = int(match[2]) - 1, column_index(match[1].decode())
        first, last = (min(first[0], row), min(first[1], column)), (max(last[0], row), max(last[1], column))
    return (first, last) if last >= first else None


def read_parts(archive: zipfile.ZipFile) -> BookParts:
    """Read the workbook's sheets, relationships, styles, and the shared texts with raised characters.

    Raises:
        DataError: one of them is damaged.
    """
    book = BookParts()
    related = related_parts(archive, _BOOK)
    targets = {key: path for key, (_, path) in related.items()}
    names = set(archive.namelist())

    def start(tag: str, about: Mapping[str, Any]) -> None:
        if tag == "sheet":
            key = next((value for name, value in about.items() if name.rpartition(":")[2] == "id"), "")
            if targets.get(key) in names:
                book.sheets.setdefault(about.get("name", ""), targets[key])
        elif tag == "calcPr":
            book.recalculates = about.get("fullCalcOnLoad") in _TRUE

    if _BOOK in names:
        walk_part(archive, _BOOK, Walk(start))
    if "xl/styles.xml" in names:
        book.formats = _formats(archive)
    shared = next((path for kind, path in related.values() if kind == "sharedStrings" and path in names), _SHARED)
    if shared in names and any(_RAISED in chunk for chunk in _chunks(archive, shared)):
        texts = _RaisedTexts()
        walk_part(archive, shared, Walk(texts.start, texts.end, texts.text))
        book.texts = texts.by_number
    return book


class _RaisedTexts:
    """The shared texts of which some characters are raised or lowered."""

    def __init__(self) -> None:
        self.by_number: dict[int, RaisedText] = {}
        self._number = -1
        self._runs = XlsxRuns()

    def start(self, tag: str, about: Mapping[str, Any]) -> None:
        if tag == "si":
            self._number += 1
            self._runs = XlsxRuns()
        self._runs.start(tag, about)

    def text(self, data: str) -> None:
        self._runs.text(data)

    def end(self, tag: str) -> None:
        self._runs.end(tag)
        if tag == "si" and (text := raised_text(self._runs.runs)) is not None:
            self.by_number[self._number] = text
            if len(self.by_number) > MAX_RAISED:
                raise DataError(f"the workbook has over {MAX_RAISED:,} texts with raised characters; save it as CSV")


def _formats(archive: zipfile.ZipFile) -> dict[int, str]:
    codes: dict[str, str] = {str(number): code for number, code in BUILT_IN.items()}
    styles: list[str] = []
    inside: list[str] = []

    def start(tag: str, about: Mapping[str, Any]) -> None:
        inside.append(tag)
        if tag == "numFmt" and inside[-2:-1] == ["numFmts"]:
            codes[about.get("numFmtId", "")] = about.get("formatCode", "")
        elif tag == "xf" and inside[-2:-1] == ["cellXfs"]:
            styles.append(about.get("numFmtId", "0"))

    walk_part(archive, "xl/styles.xml", Walk(start, lambda _: (inside.pop(), None)[1]))
    plain = {number: is_plain(code) for number, code in codes.items()}
    return {index: codes[number] for index, number in enumerate(styles) if not plain.get(number, True)}


def read_xlsx_cells(archive: zipfile.ZipFile, part: str, book: BookParts) -> SheetCells:
    """Find numbers as they are shown, error values, formulas without a value, raised characters and pictures.

    Raises:
        DataError: the part is damaged, or declares a document type.
    """
    walker = _XlsxCells(book)
    read_drawings(archive, part, walker.cells.unread)
    if book.texts or _has_sign(archive, part, book.formats):
        walk_part(archive, part, Walk(walker.start, walker.end, walker.text))
    return walker.cells


def _chunks(archive: zipfile.ZipFile, part: str) -> Iterator[bytes]:
    """The bytes of a part in pieces that overlap, so that a short mark is whole in one of them."""
    tail = b""
    with archive.open(part) as stream:
        while chunk := stream.read(_CHUNK):
            yield tail + chunk
            tail = chunk[-_KEPT:]


def _has_sign(archive: zipfile.ZipFile, part: str, formats: Mapping[int, str]) -> bool:
    styles = {str(style).encode() for style in formats}
    return any(
        any(word in chunk for word in _WORDS)
        or _MARK.search(chunk)
        or (styles and not styles.isdisjoint(_STYLE.findall(chunk)))
        for chunk in _chunks(archive, part)
    )


class _XlsxCells:
    """Follows rows and cells, including implied addresses, and the objects behind them."""

    def __init__(self, book: BookParts) -> None:
        self.cells = SheetCells()
        self._book = book
        self._row = 0
        self._column = -1
        self._cell: Mapping[str, Any] | None = None
        self._formula = self._value = self._reading = False
        self._pieces: list[str] = []
        self._written: list[str] = []
        self._runs = XlsxRuns()
        self._object: str | None = None
        self._corner = CornerReader()

    def start(self, tag: str, about: Mapping[str, Any]) -> None:
        if tag == "c":
            self._open(about)
        elif tag == "oleObject":
            self._object, self._corner = str(about.get("progId", "")), CornerReader()
        elif self._object is not None:
            self._corner.start(tag)
        elif tag == "row":
            number = str(about.get("r", ""))
            self._row = int(number) if number.isdigit() and len(number) < 9 else self._row + 1
            self._column = -1
        elif self._cell is not None:
            self._runs.start(tag, about)
            if tag == "f":
                self._formula = self._reading = True
            elif tag == "v":
                self._value = self._reading = True
                self._pieces = []

    def _open(self, about: Mapping[str, Any]) -> None:
        address = _ADDRESS.fullmatch(about.get("r", ""))
        if address:
            self._row, self._column = int(address[2]), column_index(address[1])
        else:
            self._column += 1
        self._cell = about
        self._formula = self._value = self._reading = False
        self._pieces, self._written = [], []
        self._runs = XlsxRuns()

    def text(self, data: str) -> None:
        if self._reading:
            (self._pieces if self._value else self._written).append(data)
        self._runs.text(data)
        if self._object is not None:
            self._corner.text(data)

    def end(self, tag: str) -> None:
        self._runs.end(tag)
        if tag in {"v", "f"}:
            self._reading = False
        elif tag == "c" and self._cell is not None:
            self._close(self._cell)
            self._cell = None
        elif tag == "oleObject":
            self._close_object()
        elif self._object is not None:
            self._corner.end(tag)

    def _close_object(self) -> None:
        kind = "equations" if str(self._object).startswith(_EQUATION_PROGRAMS) else "pictures"
        row, column = self._corner.cell()
        if row:  # an object is listed a second time without its place, for older programs
            self.cells.unread.add(kind, row, column)
        self._object = None

    def _close(self, about: Mapping[str, Any]) -> None:
        kind, value = about.get("t", "n"), "".join(self._pieces).strip()
        if self._is_picture(about, kind, value):
            self.cells.texts.append((self._row, self._column, PICTURE))
            self.cells.unread.add("pictures", self._row, self._column)
        elif kind in _TEXTS:
            self._close_text(kind, value)
        else:
            self._close_value(about, kind, value)

    def _is_picture(self, about: Mapping[str, Any], kind: str, value: str) -> bool:
        """Whether a cell is a picture: by a formula of WPS or of Excel, or placed in the cell, which shows an error."""
        if _PICTURE.match("".join(self._written)) or (kind == "str" and value.startswith("=DISPIMG(")):
            return True
        return kind == "e" and "vm" in about and value == "#VALUE!"

    def _close_text(self, kind: str, value: str) -> None:
        if kind == "s":
            text = self._book.texts.get(int(value)) if value.isdigit() and len(value) < 9 else None
        else:
            text = raised_text(self._runs.runs)
        if text is not None:
            self.cells.add_raised(self._row, self._column, text)

    def _close_value(self, about: Mapping[str, Any], kind: str, value: str) -> None:
        if kind == "e":
            self.cells.faults.append((self._row, self._column, error_value(value)))
        elif self._formula and self._uncomputed(kind, value):
            self.cells.faults.append((self._row, self._column, UNCOMPUTED))
        elif kind == "n" and value:
            self._note_number(about, value)

    def _uncomputed(self, kind: str, value: str) -> bool:
        if kind == "str":
            return not self._value
        return not value or (kind == "n" and value == "0" and self._book.recalculates)

    def _note_number(self, about: Mapping[str, Any], value: str) -> None:
        style = str(about.get("s", "0"))
        code = self._book.formats.get(int(style)) if style.isdigit() and len(style) < 9 else None
        if code is None:
            return
        try:
            number = float(value)
        except ValueError:
            return  # the reader returns it as a text
        self.cells.shown.append((self._row, self._column, shown_as(number, code)))
