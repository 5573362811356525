"""Keys that are numbers: do they count from 1, as people do, or from 0, as programs do?

They count from 1 unless the whole table says otherwise: every key is a number, none is as large as its question's count
of options, and 0 occurs at least twice and in at least one row of twenty. A table that counts from 1 has a last option
that is right somewhere, so the rule cannot shift its keys; where it does not hold, each 0 is a defect.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from steelyard.data.classes import ClassName
from steelyard.data.table import Row, cell_at, render
from steelyard.suites.choice.options import options_of
from steelyard.suites.choice.reading import TableReading

_LEAST_ROWS: Final = 2
_LEAST_SHARE: Final = 0.05


def counts_from_zero(reading: TableReading) -> bool:
    """Whether 0 means A in this table; one pass over its rows, which ends with the first key that is no number."""
    rows = zeros = 0
    for row in reading.rows():
        value = cell_at(row.cells, reading.answer)
        key = "" if isinstance(value, list | Mapping) else render(value)
        if not key:
            continue
        if isinstance(value, ClassName) or not (key.isascii() and key.isdigit()) or int(key[:9]) >= _most(reading, row):
            return False
        rows, zeros = rows + 1, zeros + (int(key[:9]) == 0)
    return zeros >= _LEAST_ROWS and zeros >= _LEAST_SHARE * rows


def _most(reading: TableReading, row: Row) -> int:
    """How many options the row has; 0 where they cannot be read or have labels of their own."""
    if len(reading.options) != 1:
        return sum(bool(render(cell_at(row.cells, column))) for column in reading.options)
    try:
        found = options_of(cell_at(row.cells, reading.options[0]))
    except ValueError:
        return 0
    return 0 if found.labels else len(found.texts)
