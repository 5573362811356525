"""Restores what the workbook reader loses of an .xls file: number formats, error values, raised characters, pictures.

A compound file contains a stream of records; those of cells begin with their row and column. It is read in the process
of its own in which workbooks are read.

Sources: [MS-CFB] sections 2.2 to 2.6; [MS-XLS] 2.4.28 (BoundSheet8), 2.4.90 (Dimensions), 2.4.126 (Format), 2.4.353
(XF), 2.4.24 (BoolErr), 2.4.127 (Formula, 2.5.133 FormulaValue), 2.4.180 (Number), 2.4.220 (RK), 2.4.175 (MulRk),
2.4.265 (SST), 2.5.217 (RkNumber), 2.5.10 (Bes), 2.4.122 (Font), 2.5.293 (XLUnicodeRichExtendedString), 2.5.129
(FormatRun), 2.4.181 (Obj), 2.5.193 (OfficeArtClientAnchorSheet).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

from steelyard.data.shown_cells import (
    BUILT_IN,
    MAX_RAISED,
    Position,
    RaisedText,
    SheetCells,
    TextRun,
    error_value,
    is_plain,
    raised_text,
    shown_as,
)

_SHEET: Final = 0x0085
_TEXTS: Final = 0x00FC
_CONTINUED: Final = 0x003C
_NAMES_TEXT: Final = 0x00FD
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
_FORMAT, _STYLE = 0x041E, 0x00E0
_NUMBER, _RK, _RKS, _FORMULA, _ERROR = 0x0203, 0x027E, 0x00BD, 0x0006, 0x0205
_ERRORS: Final[Mapping[int, str]] = MappingProxyType(
    {0: "#NULL!", 7: "#DIV/0!", 15: "#VALUE!", 23: "#REF!", 29: "#NAME?", 36: "#NUM!", 42: "#N/A"}
)


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
    by_number: dict[int, RaisedText] = {}
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
                by_number[number] = raised
                if len(by_number) > MAX_RAISED:
                    raise ValueError(f"more than {MAX_RAISED:,} texts with raised characters")
    return by_number


def _position(font: int, positions: Sequence[Position]) -> Position:
    """The position of a font by its number; there is no font 4."""
    index = font - (font > 4)
    return positions[index] if index < len(positions) else ""


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


def records_of(stream: bytes, offset: int) -> Iterator[tuple[int, bytes]]:
    """Kind and body of the records from an offset to the end of their part.

    Raises:
        ValueError: the part has no end, as where damage leads beyond it; what was read is not all of it.
    """
    while offset + 4 <= len(stream):
        kind, size = struct.unpack_from("<HH", stream, offset)
        if kind == _END:
            return
        yield kind, stream[offset + 4 : offset + 4 + size]
        offset += 4 + size
    raise ValueError("its records do not come to an end")


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


def read_xls_cells(stream: bytes, sheet: str) -> SheetCells:
    """Find numbers as they are shown, error values, raised characters and pictures in a sheet.

    Args:
        stream: of records, see `workbook_stream`.
        sheet: its name.

    Raises:
        DataError: there are too many pictures or raised characters.
        ValueError: a record is damaged; so are struct.error and LookupError.
    """
    cells = SheetCells()
    offset, formats = _book(stream, sheet)
    if offset is None:
        return cells
    raised = _raised_texts(stream)
    for kind, body in records_of(stream, offset):
        if kind == _NAMES_TEXT and raised:
            row, column, _, number = struct.unpack_from("<HHHI", body)
            if number in raised:
                cells.add_raised(row + 1, column, raised[number])
        _note(cells, kind, body, formats)
    _pictures(cells, stream, offset)
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


def _note(cells: SheetCells, kind: int, body: bytes, formats: Mapping[int, str]) -> None:
    for row, column, style, value in _cells(kind, body):
        if isinstance(value, str):
            cells.faults.append((row, column, error_value(value)))
        elif style in formats:
            cells.shown.append((row, column, shown_as(value, formats[style])))


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
