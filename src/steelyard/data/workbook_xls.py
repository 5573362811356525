"""The second look at a sheet of an .xls: number formats and error values from its records.

Source: [MS-XLS] 2.4.28 (BoundSheet8), 2.4.126 (Format), 2.4.353 (XF), 2.4.24 (BoolErr), 2.4.127 (Formula, 2.5.133
FormulaValue), 2.4.180 (Number), 2.4.220 (RK), 2.4.175 (MulRk), 2.5.217 (RkNumber), 2.5.10 (Bes).
"""

from __future__ import annotations

import struct
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from steelyard.data.old_workbook import records_of, workbook_stream
from steelyard.data.sheet_format import BUILT_IN, is_plain, shown_as
from steelyard.data.workbook_cells import Looked, error_value
from steelyard.errors import DataError

_SHEET, _FORMAT, _STYLE = 0x0085, 0x041E, 0x00E0
_NUMBER, _RK, _RKS, _FORMULA, _ERROR = 0x0203, 0x027E, 0x00BD, 0x0006, 0x0205
_ERRORS: Final[Mapping[int, str]] = MappingProxyType(
    {0: "#NULL!", 7: "#DIV/0!", 15: "#VALUE!", 23: "#REF!", 29: "#NAME?", 36: "#NUM!", 42: "#N/A"}
)


def look_again_xls(path: Path, sheet: str, columns: Container[int]) -> Looked:
    """Numbers as they are shown and error values in some columns of a sheet.

    Raises:
        DataError: a record is damaged.
    """
    found = Looked()
    try:
        stream = workbook_stream(path.read_bytes())
        place, formats = _book(stream, sheet)
        if place is None:
            return found
        for kind, body in records_of(stream, place):
            _note(found, kind, body, (columns, formats))
    except (struct.error, LookupError, ValueError) as error:
        raise DataError(f"{path.name} cannot be read as a workbook: {error}") from error
    return found


def _book(stream: bytes, sheet: str) -> tuple[int | None, dict[int, str]]:
    """Where the records of a sheet begin, and style -> format code where a number is not shown as it is stored."""
    codes, styles, place = dict(BUILT_IN), list[int](), None
    for kind, body in records_of(stream, 0):
        if kind == _FORMAT:
            codes[struct.unpack_from("<H", body)[0]] = _text(body[4:], struct.unpack_from("<H", body, 2)[0])
        elif kind == _STYLE:
            styles.append(struct.unpack_from("<H", body, 2)[0])
        elif kind == _SHEET and place is None and _text(body[7:], body[6]) == sheet:
            place = struct.unpack_from("<I", body)[0]
    shown = {number: code for number, code in codes.items() if not is_plain(code)}
    return place, {style: shown[number] for style, number in enumerate(styles) if number in shown}


def _text(flagged: bytes, count: int) -> str:
    """A text behind a byte of flags, in one byte or two for each character."""
    if flagged[0] & 1:
        return flagged[1 : 1 + 2 * count].decode("utf-16-le", "replace")
    return flagged[1 : 1 + count].decode("latin-1")


def _note(found: Looked, kind: int, body: bytes, wanted: tuple[Container[int], Mapping[int, str]]) -> None:
    columns, formats = wanted
    for row, column, style, value in _cells(kind, body):
        if column not in columns:
            continue
        if isinstance(value, str):
            found.faults.setdefault(row, {})[column] = error_value(value)
        elif style in formats:
            found.shown.setdefault(row, {})[column] = shown_as(value, formats[style])


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
    """A number in 30 bits: whole, or the upper part of a float; perhaps hundredths.

    >>> _unpacked(10 << 2 | 2), _unpacked(150 << 2 | 3)
    (10.0, 1.5)
    """
    bits = struct.pack("<q", (packed & 0xFFFFFFFC) << 32 if packed >= 0 else ((packed & ~3) << 32))
    value = float(packed >> 2) if packed & 2 else float(struct.unpack("<d", bits)[0])
    return value / 100 if packed & 1 else value
