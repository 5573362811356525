"""A table of a workbook with some columns looked at again: its cells as their sheet shows them, and what is wrong."""

from __future__ import annotations

import datetime as dt
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.data.table import Row, Table, cell_at
from steelyard.data.workbook_cells import Looked, look_again
from steelyard.data.workbook_ods import look_again_ods
from steelyard.data.workbook_parts import read_parts
from steelyard.data.workbook_xls import look_again_xls
from steelyard.errors import DataError


def look_at(path: Path, table: Table, columns: frozenset[int]) -> Table:
    """The table anew; the file is opened only where a cell of these columns is empty or no text.

    Raises:
        DataError: a part of the file is damaged.
    """
    if not _is_needed(table, columns):
        return table
    looked = _look(path, table.sheet, columns)
    rows = list(_rows(table, columns, looked.shown))
    return replace(table, source=lambda: iter(rows), faults=looked.faults, refine=None)


def _is_needed(table: Table, columns: frozenset[int]) -> bool:
    rows: list[Any] = [row.cells for row in table]
    return any(_is_mixed(rows, column) for column in columns)


def _is_mixed(rows: Sequence[Any], column: int) -> bool:
    """Whether not every cell of a column is a text; asked of a list, since a loop over cells is slower."""
    try:
        cells = [row[column] for row in rows]
    except IndexError:
        return True
    return "" in cells or bool(set(map(type, cells)) - {str})


def _look(path: Path, sheet: str, columns: frozenset[int]) -> Looked:
    if path.suffix.lower() == ".xls":
        return look_again_xls(path, sheet, columns)
    try:
        with zipfile.ZipFile(path) as archive:
            if path.suffix.lower() == ".ods":
                return look_again_ods(archive, sheet, columns)
            book = read_parts(archive)
            part = book.sheets.get(sheet)
            return look_again(archive, part, book, columns) if part else Looked()
    except (zipfile.BadZipFile, KeyError, OSError) as error:
        raise DataError(f"{path.name} is damaged or cut off: {error}") from error


def _rows(table: Table, columns: frozenset[int], shown: Mapping[int, Mapping[int, str]]) -> Iterator[Row]:
    for row in table:
        texts = dict(shown.get(row.number, ()))
        for column in columns:
            cell = cell_at(row.cells, column)
            if isinstance(cell, str):
                texts.pop(column, None)
            elif isinstance(cell, dt.time | dt.timedelta | dt.datetime):
                texts[column] = _time(cell)
        yield Row(row.number, _with(row.cells, texts)) if texts else row


def _with(cells: Any, texts: Mapping[int, str]) -> Sequence[Any]:
    return [texts.get(column, cell) for column, cell in enumerate(cells)]


def _time(value: dt.time | dt.timedelta | dt.datetime) -> str:
    """ISO 8601 to the second, where a sheet keeps fractions of a day; hours of a duration go beyond 24.

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
    up = value + dt.timedelta(microseconds=500_000) if value.year < dt.MAXYEAR else value
    return up.replace(microsecond=0).isoformat(" ")
