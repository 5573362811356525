"""Reads spreadsheets: .xlsx, .xlsm, .xls and .ods, one table per sheet.

A process of its own reads the file (`workbook_process`), because the reader is native code, and files come from
strangers. It returns values, and beside them what their cells show, which `Table.refined` puts in their place when the
columns that a suite reads are known.
"""

# Why it is so, and what was rejected: docs/decisions/data-limited-work.md

from __future__ import annotations

import datetime as dt
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from steelyard.data.encoding import convert_read_errors, kind_of
from steelyard.data.limited_process import json_lines_of
from steelyard.data.paths import require_file
from steelyard.data.table import FAR_CELL, Merge, Row, Table, cell_at
from steelyard.errors import ConfigError, DataError, some_of

_MODULE: Final = "steelyard.data.workbook_process"
_MEMORY_BYTES: Final = 2 << 30
_SECONDS: Final = 120.0

_ZIP = b"PK\x03\x04"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_SHOWN_SHEETS: Final = 10
_TIMES: Final = frozenset({dt.time, dt.timedelta, dt.datetime})
_DECODERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "seconds": lambda seconds: dt.timedelta(seconds=seconds),
    "date": dt.date.fromisoformat,
    "time": dt.time.fromisoformat,
    "datetime": dt.datetime.fromisoformat,
}


def read_workbook(path: Path, sheets: Sequence[str] = ()) -> tuple[tuple[Table, ...], tuple[str, ...]]:
    """The tables of a workbook, and notes on what was left out.

    Args:
        path: the file.
        sheets: names of the sheets to read, hidden ones included; empty means every visible sheet with a filled cell.

    Raises:
        ConfigError: there is no such file or sheet.
        DataError: the file has another format than its extension, is damaged or encrypted, too large, or its cells
            reach too far.
    """
    require_file(path)
    _refuse_other_formats(path)
    try:
        lines = json_lines_of(_MODULE, path, _MEMORY_BYTES, _SECONDS, given=json.dumps(list(sheets)))
    except DataError as error:  # the reader keeps a dense grid from the first to the last filled cell
        raise DataError(f"{error}. {FAR_CELL}") from None
    last = lines.pop()
    if "error" in last:
        raise (ConfigError if last["config"] else DataError)(last["error"])
    starts = [at for at, line in enumerate(lines) if isinstance(line, dict)]
    tables = [_table(path.name, lines[at], lines[at + 1 : after]) for at, after in pairwise([*starts, len(lines)])]
    return tuple(tables), _about_hidden(path, last["hidden"])


def _refuse_other_formats(path: Path) -> None:
    with convert_read_errors(path), path.open("rb") as stream:
        head = stream.read(512)
    old = path.suffix.lower() == ".xls"
    if head.startswith(_OLE if old else _ZIP):
        return
    if head.startswith(_OLE):
        raise DataError(f"{path.name} is encrypted, or an old .xls under another name; save it again as .xlsx")
    what = f"it is {kind_of(head) or f'something that begins with {head[:4]!r}'}" if head else "it is empty"
    raise DataError(f"{path.name} is not a {path.suffix.lower()} workbook: {what}")


def _about_hidden(path: Path, hidden: Sequence[str]) -> tuple[str, ...]:
    if not hidden:
        return ()
    shown = some_of([name[:40] for name in hidden], _SHOWN_SHEETS)
    what = f"hidden sheet{'s' if len(hidden) > 1 else ''} {shown}"
    return (f"{path.name}: {what} left out; name it under sheets to read it",)


_ShownCells = Mapping[str, Mapping[int, Mapping[int, str]]]
"""What the cells of a sheet show beside their values: `shown`, `texts` or `faults` -> row number -> 0-based column."""


def _table(name: str, about: Mapping[str, Any], lines: Sequence[Sequence[Any]]) -> Table:
    first_row, first_column = about["start"] or (0, 0)
    margin = [""] * first_column
    rows = [
        Row(number, margin + [_decoded(cell) if type(cell) is dict else cell for cell in cells])
        for number, cells in enumerate(lines, start=first_row + 1)
    ]
    merged = tuple(_merges(about["merged"], first_row + len(rows)))
    plain = Table(name, lambda: iter(rows), "row", about["sheet"], merged=merged)
    cells = {key: _by_row(about[key]) for key in ("shown", "texts", "faults")}
    unread = {kind: dict(rows) for kind, rows in about["unread"].items()}
    return replace(plain, refine=lambda columns: replace(_refined(plain, cells, columns), unread=unread))


def _decoded(cell: Mapping[str, Any]) -> Any:
    [(kind, value)] = cell.items()
    return _DECODERS[kind](value)


def _by_row(cells: Sequence[tuple[int, int, str]]) -> Mapping[int, Mapping[int, str]]:
    by_row: dict[int, dict[int, str]] = defaultdict(dict)
    for row, column, text in cells:
        by_row[row][column] = text
    return dict(by_row)


def _merges(ranges: Sequence[tuple[tuple[int, int], tuple[int, int]]], last_row: int) -> Iterator[Merge]:
    """Merged areas, cut at the last row; if areas overlap in their first column, only the first is used."""
    before: Merge | None = None
    for (top, left), (bottom, right) in sorted(ranges, key=lambda corners: (corners[0][1], corners[0][0])):
        if before and left == before.first_column and top < before.last_row:
            continue
        merge = Merge(top + 1, left, min(bottom + 1, last_row), right)
        if merge.last_row >= merge.first_row:
            before = merge
            yield merge


def _refined(table: Table, cells: _ShownCells, columns: frozenset[int]) -> Table:
    """The table with these columns as the sheet shows them, and the raised characters of all columns."""
    faults_by_row = {
        row: {at: fault for at, fault in faults.items() if at in columns} for row, faults in cells["faults"].items()
    }
    refined = replace(table, faults={row: faults for row, faults in faults_by_row.items() if faults})
    kinds = {type(cell) for row in table for cell in row.cells}
    if not (cells["shown"] or cells["texts"] or kinds & _TIMES):
        return refined
    rows = list(_shown_rows(table, columns, cells))
    return replace(refined, source=lambda: iter(rows))


def _shown_rows(table: Table, columns: frozenset[int], sheet_cells: _ShownCells) -> Iterator[Row]:
    for row in table:
        shown = sheet_cells["shown"].get(row.number, {})
        texts = {column: text for column, text in shown.items() if column in columns}
        for column in columns:
            cell = cell_at(row.cells, column)
            if isinstance(cell, str):
                texts.pop(column, None)
            elif isinstance(cell, dt.time | dt.timedelta | dt.datetime):
                texts[column] = _time(cell)
        texts |= sheet_cells["texts"].get(row.number, {})
        yield Row(row.number, [texts.get(column, cell) for column, cell in enumerate(row.cells)]) if texts else row


def _time(value: dt.time | dt.timedelta | dt.datetime) -> str:
    """ISO 8601, rounded to the second because a sheet stores fractions of a day; a duration may exceed 24 hours.

    >>> _time(dt.timedelta(hours=30, minutes=5)), _time(dt.time(8, 29, 59, 999_000))
    ('30:05:00', '08:30:00')
    """
    if isinstance(value, dt.timedelta):
        seconds = round(value.total_seconds())
        sign, seconds = "-" if seconds < 0 else "", abs(seconds)
        return f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if isinstance(value, dt.time):
        seconds = round(value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6) % 86_400
        return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    rounded = value + dt.timedelta(microseconds=500_000) if value.year < dt.MAXYEAR else value
    return rounded.replace(microsecond=0).isoformat(" ")
