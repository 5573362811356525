"""Restores what the workbook reader loses of an .xlsx file: number formats, error values, formulas without a value.

The reader returns 0.5 for a cell that shows 50%, and an empty text both for an error value and for a formula that no
program has computed. This pass finds such cells in one stream through the sheet's XML. It
runs only if a quick search through the bytes finds an error, a formula, or a style that changes how numbers are shown.

Source: ECMA-376 part 1, 18.2.20 (sheets), 18.3.1.4 (c), 18.3.1.40 (f), 18.8.10 (cellXfs), 18.8.31 (numFmts), 18.18.11
(ST_CellType); part 2, 9.3 (relationships).
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from steelyard.data.archive import Walk, part_targets, walk_part
from steelyard.data.drawings import CornerReader, read_drawings
from steelyard.data.raised_text import RaisedText, XlsxRuns, raised_text
from steelyard.data.sheet_format import BUILT_IN, is_plain, shown_as
from steelyard.data.table import UnreadCells, column_index
from steelyard.errors import DataError

_BOOK: Final = "xl/workbook.xml"
_TRUE: Final = frozenset({"1", "true"})
_CHUNK: Final = 1 << 20
_KEPT: Final = 64
_MARK: Final = re.compile(rb"""\st\s*=\s*["']e["']|<(?:[\w.-]+:)?f[\s/>]""")
_STYLE: Final = re.compile(rb"""\ss\s*=\s*["'](\d{1,9})["']""")
_ADDRESS: Final = re.compile(r"([A-Za-z]{1,3})(\d{1,7})")

_SHARED: Final = "xl/sharedStrings.xml"
_RAISED: Final = b"vertAlign"
_WORDS: Final = (_RAISED, b"oleObject", b"DISPIMG(")
"""Words of a sheet with raised characters in its cells, embedded objects, or pictures of WPS."""
_PICTURE: Final = re.compile(r"\s*(?:_xlfn\.)*(?:DISPIMG|IMAGE)\(")
PICTURE: Final = "[picture]"
"""The text of a cell that holds a picture."""
MAX_RAISED: Final = 500_000
"""Maximum number of cells, and of shared texts, with raised or lowered characters."""
_EQUATIONS: Final = ("Equation", "MathType", "Word.Document.Equation")

_TEXTS: Final = frozenset({"s", "inlineStr"})
"""Kinds of cells that the reader returns as they are shown."""

UNCOMPUTED: Final = (
    "a formula without a value: no program has computed it; open the file once in a spreadsheet program and save it"
)


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


def read_parts(archive: zipfile.ZipFile) -> BookParts:
    """Read the workbook's sheets, relationships, styles, and the shared texts with raised characters.

    Raises:
        DataError: one of them is damaged.
    """
    book = BookParts()
    targets = part_targets(archive)
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
    shared = next((part for part in part_targets(archive, "/sharedStrings").values() if part in names), _SHARED)
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


@dataclass(slots=True)
class SheetCells:
    """Cells found by the second pass over a sheet: row number -> 0-based column -> the text shown, or the fault.

    `texts` replace the texts of cells, which `shown` does not; `unread` are cells with more than text.
    """

    shown: dict[int, dict[int, str]] = field(default_factory=dict)
    faults: dict[int, dict[int, str]] = field(default_factory=dict)
    texts: dict[int, dict[int, str]] = field(default_factory=dict)
    unread: UnreadCells = field(default_factory=UnreadCells)
    _raised: int = 0

    def add_raised(self, row: int, column: int, text: RaisedText) -> None:
        """Add a cell with raised or lowered characters."""
        self.texts.setdefault(row, {})[column] = text.text
        self._raised += 1
        if self._raised > MAX_RAISED:
            raise DataError(f"a sheet has more than {MAX_RAISED:,} cells with raised characters; save it as CSV")
        if not text.is_exact:
            self.unread.add("raised", row, column)


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


def error_value(text: str) -> str:
    """The message about a cell that holds an error."""
    return f"the cell holds the error {text.strip()[:20] or 'of a formula'}; correct its formula, or write the value"


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
        kind = "equations" if str(self._object).startswith(_EQUATIONS) else "pictures"
        row, column = self._corner.cell()
        if row:  # an object is listed a second time without its place, for older programs
            self.cells.unread.add(kind, row, column)
        self._object = None

    def _close(self, about: Mapping[str, Any]) -> None:
        kind, value = about.get("t", "n"), "".join(self._pieces).strip()
        if self._is_picture(about, kind, value):
            self.cells.texts.setdefault(self._row, {})[self._column] = PICTURE
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
            self._note(self.cells.faults, error_value(value))
        elif self._formula and self._uncomputed(kind, value):
            self._note(self.cells.faults, UNCOMPUTED)
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
        self._note(self.cells.shown, shown_as(number, code))

    def _note(self, texts: dict[int, dict[int, str]], text: str) -> None:
        texts.setdefault(self._row, {})[self._column] = text
