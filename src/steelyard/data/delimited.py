"""CSV and TSV as a table that streams: each pass reads the file again."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Final

from steelyard.data.encoding import TextFile, examine_rows
from steelyard.data.table import Row, Table
from steelyard.errors import DataError

MAX_COLUMNS: Final = 16_384
"""Cells of one row, as many as a sheet of a workbook has."""

_DELIMITERS: Final = (",", ";", "\t")
_SNIFFED: Final = 20_000
"""Characters of a line that are looked at for its delimiter."""


def read_delimited(path: Path) -> Table:
    """A .csv or .tsv file; the delimiter of a .csv is a comma, unless its first ten rows have more cells with ; or tab.

    Raises:
        DataError: an encoding or a line that cannot be read; while iterating, quotes that do not match.
    """
    text = examine_rows(path)
    delimiter = "\t" if path.suffix.lower() == ".tsv" else _sniff(text)
    notes = [f"{path.name}: read as {text.encoding.upper()}"] if text.encoding == "gb18030" else []
    if delimiter != "," and path.suffix.lower() != ".tsv":
        notes.append(f"{path.name}: cells are separated by {'tabs' if delimiter == chr(9) else delimiter}")
    return Table(path.name, lambda: _rows(text, delimiter), "line", notes=tuple(notes))


def _rows(text: TextFile, delimiter: str) -> Iterator[Row]:
    reader = csv.reader(text.lines(), delimiter=delimiter, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(f"{text.path.name}:{line}: {_explain(str(error))}") from error
        if len(cells) > MAX_COLUMNS:
            where = f"{text.path.name}:{line}"
            raise DataError(f"{where}: a row of {len(cells):,} cells; at most {MAX_COLUMNS:,} are read")
        yield Row(line, cells)


def _explain(message: str) -> str:
    if "unexpected end of data" in message:
        return "a quote opens here and is never closed"
    if "field larger" in message:
        return f"a cell is longer than {csv.field_size_limit():,} characters; is a quote never closed?"
    if "expected after" in message:
        return "a quote stands inside a quoted cell; write it twice"
    return message


def _sniff(text: TextFile) -> str:
    """The delimiter that cuts the first ten lines into the most cells; a comma where it makes no difference."""
    lines = [line[:_SNIFFED] for line in islice(text.lines(), 10)]
    widths = {delimiter: _width(lines, delimiter) for delimiter in _DELIMITERS}
    return max(_DELIMITERS, key=lambda delimiter: widths[delimiter])


def _width(lines: list[str], delimiter: str) -> float:
    try:
        return median([len(cells) for cells in csv.reader(lines, delimiter=delimiter) if cells] or [0])
    except csv.Error:
        return 0  # the first pass over the rows says where and why
