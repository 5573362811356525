"""Examines and repacks old Excel workbooks (.xls) for the reader, and restores what the reader loses of their cells.

A compound file contains a stream of records; those of cells begin with their row and column. The reader trusts a file's
sector tables and counts: a loop, a far sector or a large count makes the process run out of memory, where no error can
be caught. So the stream is extracted here, its records are checked in the order in which the reader walks them, and the
reader gets the stream in a new container. The limits are those of `data.archive`.

Sources: [MS-CFB] sections 2.2 to 2.6; [MS-XLS] 2.4.28 (BoundSheet8), 2.4.90 (Dimensions), 2.4.126 (Format), 2.4.353
(XF), 2.4.24 (BoolErr), 2.4.127 (Formula, 2.5.133 FormulaValue), 2.4.180 (Number), 2.4.220 (RK), 2.4.175 (MulRk),
2.4.265 (SST), 2.5.217 (RkNumber), 2.5.10 (Bes), 2.4.122 (Font), 2.5.293 (XLUnicodeRichExtendedString), 2.5.129
(FormatRun), 2.4.181 (Obj), 2.5.193 (OfficeArtClientAnchorSheet).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from steelyard.data.archive import MAX_TEXT_BYTES, Extent
from steelyard.data.raised_text import Position, RaisedText, TextRun, raised_text
from steelyard.data.sheet_format import BUILT_IN, is_plain, shown_as
from steelyard.data.workbook_xlsx import MAX_RAISED, SheetCells, error_value
from steelyard.errors import DataError

MAX_OLD_BYTES: Final = 100_000_000
MAX_OLD_ROWS: Final = 65_536
MAX_OLD_COLUMNS: Final = 256
MAX_OLD_SHEETS: Final = 256

_CELL_RECORDS: Final = frozenset({0x0006, 0x00D6, 0x00FD, 0x0203, 0x0204, 0x0205, 0x027E})
_SHEET: Final = 0x0085
_TEXTS: Final = 0x00FC
_CONTINUED: Final = 0x003C
_NAMES_TEXT: Final = 0x00FD
_DIMENSIONS: Final = 0x0200
_END: Final = 0x000A
_FONT: Final = 0x0031
_DRAWING: Final = 0x00EC
_OBJECT: Final = 0x005D
_POSITIONS: Final[Mapping[int, Position]] = MappingProxyType({1: "super", 2: "sub"})
_CLIENT_ANCHOR: Final = re.compile(rb"\x10\xf0\x12\0\0\0(.{18})", re.DOTALL)
_DRAWN: Final = frozenset({0, 2, 3, 4, 5, 6, 8, 9, 30})
"""Kinds of objects that are pictures, shapes, charts and groups; others are comments, lists and buttons."""

_SMALL: Final = 4096
_ENTRY: Final = 128
_SECTOR: Final = 4096
_LAST, _FREE, _TABLE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
_FORMAT, _STYLE = 0x041E, 0x00E0
_NUMBER, _RK, _RKS, _FORMULA, _ERROR = 0x0203, 0x027E, 0x00BD, 0x0006, 0x0205
_ERRORS: Final[Mapping[int, str]] = MappingProxyType(
    {0: "#NULL!", 7: "#DIV/0!", 15: "#VALUE!", 23: "#REF!", 29: "#NAME?", 36: "#NUM!", 42: "#N/A"}
)


def repack_xls(path: Path) -> bytes:
    """The workbook of an .xls file in a new, valid container.

    Raises:
        DataError: it is damaged or too large, or the filled cells of a sheet span too large an area.
    """
    size = path.stat().st_size
    if size > MAX_OLD_BYTES:
        raise DataError(f"{path.name} has {size:,} bytes; an .xls file may have at most {MAX_OLD_BYTES:,}")
    try:
        stream = workbook_stream(path.read_bytes())
        _examine_records(path.name, stream)
    except (struct.error, LookupError, ValueError) as error:
        raise DataError(f"{path.name} cannot be read as a workbook: {error}") from error
    return _packed(stream.ljust(_SMALL, b"\0"))


def _examine_records(name: str, stream: bytes) -> None:
    """Walk the records of the workbook, then those of each sheet from the offset that the workbook gives."""
    offsets: list[int] = []
    texts: list[bytes] = []
    before = 0
    for kind, body in records_of(stream, 0):
        if kind == _TEXTS or (kind == _CONTINUED and texts and before in {_TEXTS, _CONTINUED}):
            texts.append(body)
        before = kind
        if kind == _SHEET:
            offsets.append(struct.unpack_from("<I", body)[0])
        elif kind == _TEXTS and struct.unpack_from("<I", body, 4)[0] > len(stream) // 3:
            raise ValueError("it claims more texts than it can hold")
    if len(offsets) > MAX_OLD_SHEETS:
        raise ValueError(f"{len(offsets)} sheets")
    lengths, total = [text.length for text in _shared_texts(texts)], 0
    for offset in offsets:
        _extent(stream, offset).refuse_if_too_large(name)
        total += sum(lengths[number] for number in _named(stream, offset) if number < len(lengths))
        if total > MAX_TEXT_BYTES // 2:
            raise ValueError(f"its cells hold more than {MAX_TEXT_BYTES // 2:,} characters; save the rows as CSV")


def _named(stream: bytes, offset: int) -> Iterator[int]:
    """Numbers of the shared texts that the cells of a sheet refer to."""
    return (struct.unpack_from("<I", body, 6)[0] for kind, body in records_of(stream, offset) if kind == _NAMES_TEXT)


class _SharedText(NamedTuple):
    """The length of a shared text in UTF-16 units, and of a rich one its text and runs: (first unit, font)."""

    length: int
    text: bytes = b""
    runs: bytes = b""


def _shared_texts(pieces: Sequence[bytes]) -> Iterator[_SharedText]:
    """The shared texts; a text continues in the next piece after a new byte of flags."""
    piece, offset = 0, 8
    while piece < len(pieces):
        if offset + 3 > len(pieces[piece]):
            piece, offset = piece + 1, 0
            continue
        count, flags = struct.unpack_from("<HB", pieces[piece], offset)
        runs = struct.unpack_from("<H", pieces[piece], offset + 3)[0] if flags & 8 else 0
        more = struct.unpack_from("<I", pieces[piece], offset + 3 + 2 * bool(flags & 8))[0] if flags & 4 else 0
        offset += 3 + 2 * bool(flags & 8) + 4 * bool(flags & 4)
        remaining, wide, text = count, flags & 1, b""
        while piece < len(pieces) and remaining > (room := (len(pieces[piece]) - offset) >> wide):
            text += _units(pieces[piece][offset:], wide) if runs else b""
            piece, offset, remaining = piece + 1, 1, remaining - room
            wide = pieces[piece][0] & 1 if piece < len(pieces) and pieces[piece] else 0
        if runs and piece < len(pieces):
            text += _units(pieces[piece][offset : offset + (remaining << wide)], wide)
        offset += remaining << wide
        extra, extra_bytes = b"", 4 * runs + more
        while piece < len(pieces) and offset + extra_bytes > len(pieces[piece]):
            extra += pieces[piece][offset:] if len(extra) < 4 * runs else b""
            extra_bytes -= max(0, len(pieces[piece]) - offset)
            piece, offset = piece + 1, 0
        if len(extra) < 4 * runs and piece < len(pieces):
            extra += pieces[piece][offset : offset + extra_bytes]
        offset += extra_bytes
        yield _SharedText(count, text, extra[: 4 * runs])


def _units(data: bytes, wide: int) -> bytes:
    """UTF-16 of a piece of text, which has one or two bytes per character."""
    return data[: len(data) // 2 * 2] if wide else data.decode("latin-1").encode("utf-16-le")


def _raised(texts: Iterable[_SharedText], positions: Sequence[Position]) -> dict[int, RaisedText]:
    """Number of a shared text -> the text, if some of its characters are raised or lowered."""
    found: dict[int, RaisedText] = {}
    for number, (_, text, packed) in enumerate(texts):
        formats = [struct.unpack_from("<HH", packed, at) for at in range(0, len(packed) - 3, 4)]
        starts = [0, *(first for first, _ in formats), len(text) // 2]
        fonts: list[Position] = ["", *(_position(font, positions) for _, font in formats)]
        if any(fonts):
            runs = [
                TextRun(position, text[2 * start : 2 * end].decode("utf-16-le", "replace"))
                for position, start, end in zip(fonts, starts[:-1], starts[1:], strict=True)
            ]
            if (raised := raised_text(runs)) is not None:
                found[number] = raised
                if len(found) > MAX_RAISED:
                    raise ValueError(f"more than {MAX_RAISED:,} texts with raised characters")
    return found


def _position(font: int, positions: Sequence[Position]) -> Position:
    """The position of a font by its number; there is no font 4."""
    place = font - (font > 4)
    return positions[place] if place < len(positions) else ""


def _pictures(cells: SheetCells, stream: bytes, offset: int) -> None:
    """Add the corners of the pictures and embedded objects of a sheet; comments and controls are drawn as well."""
    corner = (0, 0)
    for kind, body in records_of(stream, offset):
        if kind == _DRAWING:
            for match in _CLIENT_ANCHOR.finditer(body):
                column, _, row = struct.unpack_from("<HHH", match[1], 2)
                corner = (row + 1, column)
        elif kind == _OBJECT and len(body) >= 6 and body[:2] == b"\x15\0":
            if struct.unpack_from("<H", body, 4)[0] in _DRAWN and corner[0]:
                cells.unread.add("pictures", *corner)
            corner = (0, 0)


def _extent(stream: bytes, offset: int) -> Extent:
    extent = Extent()
    for kind, body in records_of(stream, offset):
        if kind in _CELL_RECORDS or kind == _RKS:
            row, column = struct.unpack_from("<HH", body)
            last = struct.unpack_from("<H", body, len(body) - 2)[0] if kind == _RKS else column
            extent.add(row + 1, column)
            extent.add(row + 1, last)
        elif kind == _DIMENSIONS:
            _refuse_claims(*struct.unpack_from("<IIHH" if len(body) >= 14 else "<HHHH", body))
    return extent


def _refuse_claims(first_row: int, last_row: int, first_column: int, last_column: int) -> None:
    """Reject a sheet that claims too many cells, since the reader reserves memory for them; ends are exclusive."""
    sound = first_row <= last_row <= MAX_OLD_ROWS and first_column <= last_column <= MAX_OLD_COLUMNS
    if not sound:
        raise ValueError("a sheet claims more cells than the format has")


def records_of(stream: bytes, offset: int) -> Iterator[tuple[int, bytes]]:
    """Kind and body of the records from an offset to the end of their part."""
    while offset + 4 <= len(stream):
        kind, size = struct.unpack_from("<HH", stream, offset)
        if kind == _END:
            return
        yield kind, stream[offset + 4 : offset + 4 + size]
        offset += 4 + size


def _packed(stream: bytes) -> bytes:
    """A compound file with one stream: header, table of sectors, directory, stream."""
    count = -(-len(stream) // _SECTOR)
    tables = 1
    while tables * (_SECTOR // 4) < tables + 1 + count:
        tables += 1
    chain = [_TABLE] * tables + [_LAST] + [*range(tables + 2, tables + 1 + count), _LAST]
    chain += [_FREE] * (tables * (_SECTOR // 4) - len(chain))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<5H", 0x3E, 4, 0xFFFE, 12, 6) + bytes(6)
    header += struct.pack("<9I", 1, tables, tables, 0, _SMALL, _LAST, 0, _LAST, 0)
    header += struct.pack("<109I", *range(tables), *[_FREE] * (109 - tables))
    directory = _entry("Root Entry", 5, 0, 0) + _entry("Workbook", 2, tables + 1, len(stream))
    parts = (header, struct.pack(f"<{len(chain)}I", *chain), directory, stream)
    return b"".join(part.ljust(-(-len(part) // _SECTOR) * _SECTOR, b"\0") for part in parts)


def _entry(name: str, kind: int, start: int, size: int) -> bytes:
    text = f"{name}\0".encode("utf-16-le")
    links = (_FREE, _FREE, 1 if kind == 5 else _FREE)
    head = text.ljust(64, b"\0") + struct.pack("<HBB3I", len(text), kind, 1, *links)
    return head + bytes(36) + struct.pack("<IQ", start, size)


@dataclass(frozen=True, slots=True)
class _Sectors:
    """A compound file divided into sectors, and the table that chains them."""

    data: bytes
    size: int
    offset: int
    table: Sequence[int]

    def chain(self, start: int) -> bytes:
        """The bytes of a chain; a chain longer than the file is a loop."""
        sectors: list[bytes] = []
        while start < 0xFFFFFFFC:
            if len(sectors) > len(self.table):
                raise ValueError("its sectors form a loop")
            position = self.offset + start * self.size
            sectors.append(self.data[position : position + self.size])
            start = self.table[start]
        return b"".join(sectors)


def workbook_stream(data: bytes) -> bytes:
    """The stream of records in a compound file.

    Raises:
        ValueError: its sectors form a loop, have an invalid size, or end too early; it contains no workbook.
        LookupError: a sector is beyond the end of the file.
    """
    power = struct.unpack_from("<H", data, 30)[0]
    if power not in {9, 12}:
        raise ValueError(f"sectors of 2**{power} bytes")
    size = 1 << power
    directory, _, _, small_table, _, extra, extras = struct.unpack_from("<7I", data, 48)
    table_sectors = [sector for sector in struct.unpack_from("<109I", data, 76) if sector < 0xFFFFFFFC]
    for _ in range(min(extras, len(data) // size)):
        *numbers, extra = struct.unpack_from(f"<{size // 4}I", data, (extra + 1) * size)
        table_sectors += [sector for sector in numbers if sector < 0xFFFFFFFC]
    raw = b"".join(data[(sector + 1) * size : (sector + 2) * size] for sector in table_sectors)
    sectors = _Sectors(data, size, size, struct.unpack(f"<{len(raw) // 4}I", raw[: len(raw) // 4 * 4]))
    entries = _entries(sectors.chain(directory))
    start, length = next((entries[name] for name in ("Workbook", "Book") if name in entries), (None, 0))
    if start is None:
        raise ValueError("it contains no workbook")
    if length < _SMALL:
        table = sectors.chain(small_table)
        root = sectors.chain(entries["Root Entry"][0])
        sectors = _Sectors(root, 64, 0, struct.unpack(f"<{len(table) // 4}I", table[: len(table) // 4 * 4]))
    stream = sectors.chain(start)[:length]
    if len(stream) < length:
        raise ValueError("it is cut off")
    return stream


def _entries(directory: bytes) -> dict[str, tuple[int, int]]:
    """Name -> first sector and length of the streams of a compound file."""
    streams = {}
    for offset in range(0, len(directory) - _ENTRY + 1, _ENTRY):
        length = struct.unpack_from("<H", directory, offset + 64)[0]
        name = directory[offset : offset + max(0, min(length, 64) - 2)].decode("utf-16-le", "replace")
        streams[name] = struct.unpack_from("<II", directory, offset + 116)
    return streams


def read_xls_cells(path: Path, sheet: str, columns: Container[int]) -> SheetCells:
    """Find numbers as they are shown, and error values, in some columns of a sheet.

    Also raised characters and pictures, in all columns.

    Raises:
        DataError: a record is damaged, or there are too many pictures.
    """
    cells = SheetCells()
    try:
        stream = workbook_stream(path.read_bytes())
        offset, formats = _book(stream, sheet)
        if offset is None:
            return cells
        raised = _raised_texts(stream)
        for kind, body in records_of(stream, offset):
            if kind == _NAMES_TEXT and raised:
                row, column, _, number = struct.unpack_from("<HHHI", body)
                if number in raised:
                    cells.add_raised(row + 1, column, raised[number])
            _note(cells, kind, body, (columns, formats))
        _pictures(cells, stream, offset)
    except (struct.error, LookupError, ValueError) as error:
        raise DataError(f"{path.name} cannot be read as a workbook: {error}") from error
    return cells


def _raised_texts(stream: bytes) -> dict[int, RaisedText]:
    """The shared texts with raised or lowered characters; they are looked at only if a font is raised or lowered."""
    positions: list[Position] = []
    texts: list[bytes] = []
    before = 0
    for kind, body in records_of(stream, 0):
        if kind == _FONT:
            positions.append(_POSITIONS.get(struct.unpack_from("<H", body, 8)[0], ""))
        elif kind == _TEXTS or (kind == _CONTINUED and texts and before in {_TEXTS, _CONTINUED}):
            texts.append(body)
        before = kind
    return _raised(_shared_texts(texts), positions) if any(positions) else {}


def _book(stream: bytes, sheet: str) -> tuple[int | None, dict[int, str]]:
    """The offset of a sheet's records, and style -> format code for styles that change how a number is shown."""
    codes, styles, offset = dict(BUILT_IN), list[int](), None
    for kind, body in records_of(stream, 0):
        if kind == _FORMAT:
            codes[struct.unpack_from("<H", body)[0]] = _text(body[4:], struct.unpack_from("<H", body, 2)[0])
        elif kind == _STYLE:
            styles.append(struct.unpack_from("<H", body, 2)[0])
        elif kind == _SHEET and offset is None and _text(body[7:], body[6]) == sheet:
            offset = struct.unpack_from("<I", body)[0]
    shown = {number: code for number, code in codes.items() if not is_plain(code)}
    return offset, {style: shown[number] for style, number in enumerate(styles) if number in shown}


def _text(flagged: bytes, count: int) -> str:
    """Decode a text after a byte of flags, with one or two bytes per character."""
    if flagged[0] & 1:
        return flagged[1 : 1 + 2 * count].decode("utf-16-le", "replace")
    return flagged[1 : 1 + count].decode("latin-1")


def _note(
    cells: SheetCells, kind: int, body: bytes, columns_and_formats: tuple[Container[int], Mapping[int, str]]
) -> None:
    columns, formats = columns_and_formats
    for row, column, style, value in _cells(kind, body):
        if column not in columns:
            continue
        if isinstance(value, str):
            cells.faults.setdefault(row, {})[column] = error_value(value)
        elif style in formats:
            cells.shown.setdefault(row, {})[column] = shown_as(value, formats[style])


def _cells(kind: int, body: bytes) -> Iterator[tuple[int, int, int, float | str]]:
    """1-based row, column, style, and the number or error of each cell in a record."""
    if kind not in {_NUMBER, _RK, _RKS, _FORMULA, _ERROR}:
        return
    row, column, style = struct.unpack_from("<HHH", body)
    if kind in {_RK, _RKS}:
        for offset in range(4, len(body) - 5, 6):
            style, packed = struct.unpack_from("<Hi", body, offset)
            yield row + 1, column + (offset - 4) // 6, style, _unpacked(packed)
    elif kind == _ERROR and body[7]:
        yield row + 1, column, style, _ERRORS.get(body[6], "")
    elif kind == _FORMULA and body[12:14] == b"\xff\xff":
        if body[6] == 2:
            yield row + 1, column, style, _ERRORS.get(body[8], "")
    elif kind in {_NUMBER, _FORMULA}:
        yield row + 1, column, style, struct.unpack_from("<d", body, 6)[0]


def _unpacked(packed: int) -> float:
    """Decode a 30-bit number: an integer or the upper part of a float, possibly to be divided by 100.

    >>> _unpacked(10 << 2 | 2), _unpacked(150 << 2 | 3)
    (10.0, 1.5)
    """
    bits = struct.pack("<q", (packed & 0xFFFFFFFC) << 32 if packed >= 0 else ((packed & ~3) << 32))
    value = float(packed >> 2) if packed & 2 else float(struct.unpack("<d", bits)[0])
    return value / 100 if packed & 1 else value
