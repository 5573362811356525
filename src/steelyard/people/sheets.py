"""Sheets that people fill in with a spreadsheet program: written as CSV, read from any table of rows."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from csv import writer
from pathlib import Path
from typing import Any, Final

from steelyard.data.load import read_tables
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import render
from steelyard.errors import DataError
from steelyard.escaping import csv_cell

_LONGEST_NUMBER: Final = 15


def sheet_text(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A CSV file without formulas; it begins with a byte order mark, which Excel needs."""
    buffer = io.StringIO(newline="")
    lines = writer(buffer)
    for cells in (columns, *rows):
        lines.writerow([csv_cell(cell) for cell in cells])
    return "\ufeff" + buffer.getvalue()


def filled_rows(path: Path, required: Sequence[str], expected: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Each row of a sheet as (its position for a message, column name -> text); see `table_rows`."""
    for number, cells in table_rows(path, required, expected):
        yield f"{path.name} row {number}: ", {name: render(value).strip() for name, value in cells.items()}


def row_number(texts: Mapping[str, str], column: str, location: str) -> int:
    """The whole number in a column.

    Raises:
        DataError: it is none.
    """
    text = texts[column]
    if not text.isdecimal() or len(text) > _LONGEST_NUMBER:
        raise DataError(f"{location}{column} is {text[:20]!r}; expected a number from 0, as the sheet had it")
    return int(text)


def table_rows(path: Path, required: Sequence[str], expected: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """(row number, column name -> cell) of each row below the header of a CSV, XLSX, JSON or JSON lines file.

    Args:
        path: of the file.
        required: columns that it must have.
        expected: their description for the message.

    Raises:
        ConfigError: the file has a format that cannot be read.
        DataError: a column is missing.
    """
    tables, _ = read_tables(SampleFiles(file=path))
    for table in tables:
        names: list[str] = []
        for number, cells in table:
            if isinstance(cells, Mapping):
                row = {str(name).strip().casefold(): value for name, value in cells.items()}
            elif not names:
                names = [str(cell or "").strip().casefold() for cell in cells]
                _check_columns(names, path, (required, expected))
                continue
            else:
                row = dict(zip(names, cells, strict=False))
            _check_columns(list(row), path, (required, expected))
            yield number, row


def _check_columns(names: Sequence[str], path: Path, required_as: tuple[Sequence[str], str]) -> None:
    required, expected = required_as
    if not set(required) <= set(names):
        present = ", ".join(name for name in names if name)[:120]
        raise DataError(f"{path.name}: expected the columns {expected}; it has {present}")
