"""Examines workbooks that are zip archives before they are read: size, shape and document types.

The sheet reader keeps a dense grid from the first to the last filled cell, so that one value at XFD1048576 needs
17 thousand million cells, and a zip of a few kilobytes can hold gigabytes. Both are rejected here in bounded memory:
every part is unpacked once in pieces, and the addresses of cells are checked. That pass takes a tenth of the reader's
time; a sheet is parsed in full only if an address is too far out, and then only cells with content count.

A cell may also refer to a text that the file holds once: a text of a megabyte with a hundred thousand references takes
a hundred gigabytes in the reader, from a file of a few kilobytes. The reader also reserves memory for as many texts as
the file claims to have. Both are limited in the same pass. Its figures are upper bounds: an exact count is made only if
the longest text would be too much in every cell.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NoReturn

from steelyard.data.table import column_index, column_letter
from steelyard.errors import DataError

MAX_UNPACKED_BYTES: Final = 200_000_000
MAX_RATIO: Final = 200
"""Maximum ratio of the unpacked parts to the file, once they exceed 20 MB.

Sheets of 300,000 cells written by openpyxl have 6 (numbers) to 26 (texts); Deflate reaches 1,032."""
MAX_PARTS: Final = 5_000
MAX_COLUMNS: Final = 1_024
MAX_CELLS: Final = 4_000_000
"""Cells of the smallest rectangle around all filled cells of one sheet; 32 bytes each in the reader."""

_CHUNK: Final = 1 << 20
_PART_CHUNK: Final = 1 << 18
_BLANKS: Final = b" \t\r\n"
_FAR: Final = re.compile(rb"""r=["'](?:([A-Za-z]{2,})\d|[A-Za-z]?(\d{5,}))""")
_FAR_AWAY: Final = 10**9
"""Replaces every larger number; arithmetic on thousands of digits takes time."""
_KINDS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "xl/workbook.bin": ("a binary workbook (.xlsb)", "save it as .xlsx"),
        "word/document.xml": ("a text document", "copy its table into a workbook"),
        "ppt/presentation.xml": ("a presentation", "copy its table into a workbook"),
        "xl/workbook.xml": ("an Excel workbook", "name it .xlsx"),
        "content.xml": ("an OpenDocument file", "name it .ods"),
    }
)
_TYPES: Final = (b"<!DOCTYPE", b"<!ENTITY")
MAX_TEXT_BYTES: Final = 100_000_000
"""Bytes of text in all cells of a workbook together, counted in UTF-8."""

_TABLE: Final = re.compile(rb"<(?:[\w.-]+:)?sst(?=[\s>/])([^>]*)")
_CLAIM: Final = re.compile(rb"""[Cc]ount\s*=\s*["'](\d+)""")
_END: Final = b"si>"


Start = Callable[[str, Mapping[str, Any]], None]


@dataclass(slots=True)
class Walk:
    """Callbacks for the XML elements of a part, whose names come without a prefix.

    Args:
        start: takes a name and attributes.
        end: takes a name.
        text: takes a piece of text.
    """

    start: Start
    end: Callable[[str], None] | None = None
    text: Callable[[str], None] | None = None


def part_of(archive: zipfile.ZipFile) -> str:
    """The name of an archive's file, for messages."""
    return posixpath.basename(archive.filename or "")


def walk_part(archive: zipfile.ZipFile, name: str, walk: Walk) -> None:
    """Parse one part piece by piece.

    Raises:
        DataError: it is damaged, or declares a document type.
        KeyError: there is no such part.
    """
    from xml.parsers import expat

    what = f"{part_of(archive)}: the part {name}"
    parser = expat.ParserCreate()
    # Without this a text arrives in pieces, one per line and entity.
    parser.buffer_text = True
    parser.StartElementHandler = lambda tag, about: walk.start(tag.rpartition(":")[2], about)
    if walk.end:
        end = walk.end
        parser.EndElementHandler = lambda tag: end(tag.rpartition(":")[2])
    if walk.text:
        parser.CharacterDataHandler = walk.text
    # A document type can define entities that expand without limit.
    parser.StartDoctypeDeclHandler = lambda *_: _refuse(what)
    try:
        with archive.open(name) as stream:
            while chunk := stream.read(_PART_CHUNK):
                parser.Parse(chunk, False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise DataError(f"{what} is damaged: {error}") from error


def _refuse(what: str) -> NoReturn:
    raise DataError(f"{what} declares a document type, which is not allowed")


def refuse_shared_sheets(archive: zipfile.ZipFile) -> None:
    """Reject a workbook in which two sheets are the same part: a small part could be read once for each of many sheets.

    Raises:
        DataError: two sheets are the same part, or the list of sheets is damaged.
    """
    targets = list(part_targets(archive, "worksheet").values())
    if len(set(targets)) < len(targets):
        raise DataError(f"{part_of(archive)} is not a valid workbook: two of its sheets are the same part")


def part_targets(archive: zipfile.ZipFile, kind: str = "") -> dict[str, str]:
    """Relationship id -> part, for relationships inside the file whose type ends with `kind`."""
    parts: dict[str, str] = {}

    def start(tag: str, about: Mapping[str, Any]) -> None:
        inside = tag == "Relationship" and about.get("TargetMode") != "External"
        if inside and about.get("Type", "").endswith(kind):
            target = about.get("Target", "")
            part = target.lstrip("/") if target.startswith("/") else posixpath.normpath(f"xl/{target}")
            parts[about.get("Id", "")] = part

    name = "xl/_rels/workbook.xml.rels"
    if name in archive.namelist():
        walk_part(archive, name, Walk(start))
    return parts


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


def examine_archive(path: Path) -> None:
    """Reject a workbook that cannot be read in bounded memory and time.

    Raises:
        DataError: it is damaged, encrypted, or too large when unpacked, declares a document type, or a sheet is too
            large.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            _examine_parts(path, archive)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError, ValueError) as error:
        raise DataError(f"{path.name} is damaged or cut off: {error}") from error


def _examine_parts(path: Path, archive: zipfile.ZipFile) -> None:
    parts = archive.infolist()
    # If two parts have the same name, the reader may use the one that was not examined.
    if len(parts) > MAX_PARTS or len({part.filename for part in parts}) < len(parts):
        raise DataError(f"{path.name} is not a valid workbook: {len(parts)} parts, or two with the same name")
    _refuse_other_kinds(path, {part.filename for part in parts})
    if any(part.flag_bits & 1 for part in parts):
        raise DataError(f"{path.name} is encrypted; save it without a password")
    limit = min(MAX_UNPACKED_BYTES, max(20_000_000, MAX_RATIO * path.stat().st_size))
    # The directory may lie about sizes, so bytes are counted while unpacking as well.
    declared = sum(part.file_size for part in parts)
    unpacked, texts = 0, SharedTexts(path.name)
    for part in parts:
        if declared > limit or unpacked > limit:
            raise DataError(f"{path.name} unpacks to more than {limit:,} bytes, which is too large for a workbook")
        unpacked += _examine_part(archive, part, texts, limit - unpacked)
    texts.refuse_if_too_large(archive)
    refuse_shared_sheets(archive)


def _refuse_other_kinds(path: Path, names: set[str]) -> None:
    """Reject zip archives of other kinds, each recognised by a part that only this kind has."""
    own = "content.xml" if path.suffix.lower() == ".ods" else "xl/workbook.xml"
    for part, (what, advice) in _KINDS.items():
        if part in names and own not in names:
            raise DataError(f"{path.name} is {what}; {advice}")


def _examine_part(archive: zipfile.ZipFile, part: zipfile.ZipInfo, texts: SharedTexts, limit: int) -> int:
    """Unpack one part in pieces and examine it; returns its true size."""
    size, columns, rows, tail = 0, 26, 9_999, b""
    is_text = part.filename.endswith((".xml", ".rels"))
    for chunk in texts.watch(part.filename, _unpack(archive, part, limit)):
        size += len(chunk)
        text = tail + chunk.translate(None, _BLANKS)
        texts.count(part.filename, text)
        if is_text:
            _refuse_types(f"{texts.what}: the part {part.filename}", text)
        for letters, digits in _FAR.findall(text):
            columns = max(columns, _column(letters.decode()) + 1)
            rows = max(rows, _number(digits.decode()))
        tail = text[-32:]
    if part.filename == "content.xml" or columns > MAX_COLUMNS or columns * rows > MAX_CELLS:
        _examine_sheets(f"{texts.what} {part.filename}", _unpack(archive, part, limit))
    return size


def _refuse_types(what: str, text: bytes) -> None:
    if any(name in text for name in _TYPES):
        raise DataError(f"{what} declares a document type, which is not allowed")
    if b"\0" in text:
        raise DataError(f"{what} is not XML in UTF-8: it contains a NUL byte; save the workbook again")


def _column(letters: str) -> int:
    """The 0-based column of its letters.

    >>> _column("A"), _column("Z" * 5000) == _FAR_AWAY, _column("")
    (0, True, -1)
    """
    return column_index(letters) if len(letters) < 7 else _FAR_AWAY


def _number(digits: str) -> int:
    return min(int(digits or 0), _FAR_AWAY) if len(digits) < 20 else _FAR_AWAY


def _unpack(archive: zipfile.ZipFile, part: zipfile.ZipInfo, limit: int) -> Iterator[bytes]:
    """The unpacked bytes of a part up to just past `limit`, whatever size its entry claims."""
    entry = copy(part)
    entry.file_size = limit + 1
    with archive.open(entry) as stream:
        size = 0
        while chunk := stream.read(_CHUNK):
            yield chunk
            size += len(chunk)
            if size > part.file_size or size > limit:
                raise DataError(f"{part_of(archive)}: {part.filename} unpacks to more than it declares or than is read")


def _examine_sheets(what: str, chunks: Iterator[bytes]) -> None:
    """Parse a part and enforce the limits for each sheet in it; other parts have no cells and pass."""
    from xml.parsers import expat

    walker = _ExtentWalker(what)
    parser = expat.ParserCreate()
    parser.StartElementHandler = walker.start
    parser.EndElementHandler = walker.end
    parser.CharacterDataHandler = walker.text
    try:
        for chunk in chunks:
            parser.Parse(chunk, False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise DataError(f"{what} is damaged: {error}") from error
    walker.extent.refuse_if_too_large(what)


class _ExtentWalker:
    """Follows rows and cells of both formats as the reader does, including implied positions and repeats."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.extent = Extent()
        self.row = self.rows = 0
        self.column = -1
        self.columns = 1
        self.filled = False
        self.inside = False
        self.length = self.total = 0

    def start(self, tag: str, attributes: dict[str, Any]) -> None:
        name = tag.rpartition(":")[2]
        if name in {"row", "table-row"}:
            self.row, self.column = self._next_row(attributes), -1
        elif name in {"c", "table-cell", "covered-table-cell"}:
            self._open_cell(attributes)
        elif self.inside and name in {"v", "is", "f"}:
            self.filled = True
        elif self.inside and name == "s":
            self.length += _repeats(attributes, "c")
        elif name == "table":
            self.extent.refuse_if_too_large(self.what)
            self.extent, self.row, self.rows = Extent(), 0, 0

    def _next_row(self, attributes: dict[str, Any]) -> int:
        written = str(attributes.get("r", ""))
        row = _number(written) if written.isdecimal() else self.row + self.rows + (not self.rows)
        self.rows = _repeats(attributes, "number-rows-repeated")
        return row

    def _open_cell(self, attributes: dict[str, Any]) -> None:
        self.column += self.columns if self.column >= 0 else 1
        self.columns = _repeats(attributes, "number-columns-repeated")
        if reference := str(attributes.get("r", "")):
            letters = reference.rstrip("0123456789")
            self.column = _column(letters)
            self.row = _number(reference[len(letters) :]) or self.row
        self.filled = any("value" in key for key in attributes)
        self.inside, self.length = True, 0

    def text(self, data: str) -> None:
        if self.inside:
            self.length += len(data.encode())
            self.filled = self.filled or bool(data.strip())

    def end(self, tag: str) -> None:
        if tag.rpartition(":")[2] not in {"c", "table-cell", "covered-table-cell"}:
            return
        self.inside = False
        if self.filled:
            self.extent.add(self.row, self.column)
            self.extent.add(self.row + max(self.rows, 1) - 1, self.column + self.columns - 1)
        self.total += self.length * max(self.rows, 1) * self.columns
        if self.total > MAX_TEXT_BYTES:
            self.extent.refuse_if_too_large(self.what)
            raise DataError(f"{self.what}: its cells hold more than {MAX_TEXT_BYTES:,} bytes of text; save it as CSV")


def _repeats(attributes: dict[str, Any], name: str) -> int:
    """How often a row, cell or character is repeated; the namespace prefix of the attribute is ignored."""
    counts = [value for key, value in attributes.items() if key.rpartition(":")[2] == name]
    return max((_number(count) for count in counts if count.isascii() and count.isdecimal()), default=1)


@dataclass(slots=True)
class SharedTexts:
    """The shared texts of a workbook, and the number of cells that refer to one.

    Args:
        what: the file's name.
    """

    what: str
    _table: str = ""
    _longest: int = 0
    _named: int = 0
    _sheets: list[str] = field(default_factory=list)

    def watch(self, part: str, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield a part's bytes unchanged, and record the number and lengths of its shared texts.

        Raises:
            DataError: it claims more texts than it can hold.
        """
        size = length = claims = 0
        is_table = False
        for chunk in chunks:
            if not size and (match := _TABLE.search(chunk, 0, 4096)):
                is_table, claims = True, max((int(digits[:18]) for digits in _CLAIM.findall(match[1])), default=0)
            size += len(chunk)
            if is_table:
                length = self._measure(chunk, length)
            yield chunk
        if claims > size:
            raise DataError(f"{self.what} is not a valid workbook: it claims {claims:,} texts in {size:,} bytes")
        if is_table:
            self._table = part

    def count(self, part: str, text: bytes) -> None:
        """Count the cells that refer to a text, in a piece of a part without white space."""
        named = text.count(b't="s"') + text.count(b"t='s'")
        self._named += named
        if named and part not in self._sheets:
            self._sheets.append(part)

    def _measure(self, chunk: bytes, before: int) -> int:
        """Record the longest text; returns the length so far of the text that continues in the next chunk."""
        first, *others = map(len, chunk.split(_END))
        self._longest = max(self._longest, before + first, *others)
        return others[-1] if others else before + first

    def refuse_if_too_large(self, archive: zipfile.ZipFile) -> None:
        """Enforce the limit.

        Raises:
            DataError: the cells hold more text.
        """
        if self._longest * self._named > MAX_TEXT_BYTES and self._exactly(archive) > MAX_TEXT_BYTES:
            raise DataError(
                f"{self.what}: its cells hold more than {MAX_TEXT_BYTES:,} bytes of text, because many refer to the "
                "same long text; save the rows as CSV"
            )

    def _exactly(self, archive: zipfile.ZipFile) -> int:
        counts = _TextCounts()
        walk_part(archive, self._table, Walk(counts.start_text, counts.end_text, counts.text))
        for part in self._sheets:
            walk_part(archive, part, Walk(counts.start_cell, counts.end_cell, counts.text))
        return counts.total


class _TextCounts:
    """Lengths of the shared texts, then the sum of the lengths that cells refer to."""

    def __init__(self) -> None:
        self.total = 0
        self._lengths: list[int] = []
        self._length = 0
        self._pieces: list[str] = []
        self._shared = self._reading = False

    def start_text(self, tag: str, _about: Mapping[str, Any]) -> None:
        if tag == "si":
            self._length, self._pieces = 0, []

    def end_text(self, tag: str) -> None:
        self._length += sum(len(piece.encode()) for piece in self._pieces)
        self._pieces = []
        if tag == "si":
            self._lengths.append(self._length)

    def text(self, data: str) -> None:
        self._pieces.append(data)

    def start_cell(self, tag: str, about: Mapping[str, Any]) -> None:
        if tag == "c":
            self._shared = about.get("t") == "s"
        self._pieces = []

    def end_cell(self, tag: str) -> None:
        if tag == "v" and self._shared:
            number = "".join(self._pieces).strip()
            index = int(number) if number.isdigit() and len(number) < 10 else len(self._lengths)
            self.total += self._lengths[index] if index < len(self._lengths) else 0
        self._pieces = []
