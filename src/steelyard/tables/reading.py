"""Reads tables from values of many forms: data frames, arrays, records, JSON and Python texts.

Rows are lists of cells. They also come as numpy arrays of arrays (a list column after a round trip through Parquet),
as `{"columns": [...], "rows": [...]}`, as a list of records, and as text: JSON, or Python's own notation, which is
what a list becomes in a CSV file.
"""

from __future__ import annotations

import ast
import datetime as dt
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from operator import ne
from typing import Any, Final
from uuid import UUID

_FENCE: Final = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)^[ \t]*\1", re.MULTILINE | re.DOTALL)
_PLAIN: Final = frozenset(
    {type(None), bool, int, float, str, bytes, Decimal, dt.date, dt.time, dt.datetime, dt.timedelta, UUID}
)
_BLANK_TYPES: Final = frozenset({"NAType", "NaTType"})

_MOST_PYTHON: Final = 100_000
"""Characters in Python's notation that are read at most: its parser takes seconds for a hostile megabyte."""


@dataclass(frozen=True, slots=True)
class TableText:
    """What a text holds: `rows`, or None and the `kind` of what is wrong.

    Args:
        rows: a list of rows.
        kind: `empty`, `no_table`, `wrong_shape` or `several`; "" where there are rows.
        reason: for a person.
    """

    rows: Any
    kind: str = ""
    reason: str = ""


def plain_table(value: Any) -> Any:
    """Convert a value to a list of rows; a value that is not a table stays as it is.

    Numbers of numpy become Python's, pandas' NA becomes None, a missing table (None, NaN, NA) becomes None.

    >>> plain_table({"columns": ["a", "b"], "rows": [[1, 2]]}), plain_table([{"a": 1, "b": 2}, {"b": 4, "a": 3}])
    ([[1, 2]], [[1, 2], [3, 4]])
    """
    if type(value) is list:
        return _rows(value)
    if is_missing(value):
        return None
    if isinstance(value, Mapping):
        rows = value.get("rows", value.get("data"))
        return value if rows is None or isinstance(rows, Mapping) else plain_table(rows)
    if hasattr(value, "columns"):
        return _from_frame(value)
    if isinstance(value, tuple) or hasattr(value, "tolist") or hasattr(value, "to_list"):
        listed = _listed(value)
        return _rows(listed) if isinstance(listed, list) else listed
    return value


def read_notation(text: str) -> Any:
    """Parse a text as JSON or as a Python literal.

    Raises:
        ValueError: it is neither JSON nor a Python list.

    >>> read_notation('[["a", null]]') == read_notation("[['a', None]]")
    True
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if not looks_like_table(text) or len(text) > _MOST_PYTHON:
        raise ValueError("neither JSON nor a Python list")
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError("neither JSON nor a Python list") from error


def looks_like_table(text: str) -> bool:
    """Whether a text begins like a table (`[` or `{`), as no SQL statement does.

    >>> looks_like_table(" [[1]]"), looks_like_table("SELECT 1")
    (True, False)
    """
    return text.lstrip()[:1] in {"[", "{"}


def read_table(value: Any) -> TableText:
    r"""Read the single table in a target's output: rows, a named table, or a text of either, also fenced.

    >>> read_table("Here it is:\n```json\n[[1, 2]]\n```").rows
    [[1, 2]]
    >>> read_table("I do not know.").kind
    'no_table'
    """
    if isinstance(value, str):
        return _from_text(value)
    if is_missing(value):
        return TableText(None, "empty", "there is no output")
    return _shaped(plain_table(value))


def rows_as_lists(table: Any) -> Any:
    """Convert rows that are tuples to lists, which the releases of QATCH distinguish.

    >>> rows_as_lists([(1, 2), [3]])
    [[1, 2], [3]]
    """
    if not isinstance(table, list | tuple):
        return table
    return [list(row) if isinstance(row, tuple) else row for row in table]


def missing_as_null(table: Any) -> Any:
    """Replace NaN by None in a table that was not read from a database: data frames have NaN for missing cells.

    What a database returned keeps its NaN, which is a value there.

    >>> missing_as_null([[float("nan"), 1.5]])
    [[None, 1.5]]
    """
    if not isinstance(table, list):
        return table
    rows = (row for row in table if isinstance(row, list | tuple))
    floats = [cell for cell in chain.from_iterable(rows) if type(cell) is float]
    if not any(map(ne, floats, floats)):
        return table
    return [
        [None if type(cell) is float and cell != cell else cell for cell in row]  # noqa: PLR0124  # only NaN differs
        if isinstance(row, list | tuple)
        else row
        for row in table
    ]


def blocks_of(text: str) -> list[str]:
    r"""Return the contents of all fenced blocks, in order.

    >>> blocks_of("a\n```sql\nSELECT 1\n```")
    ['SELECT 1\n']
    """
    return [match[2] for match in _FENCE.finditer(text)]


def is_missing(value: Any) -> bool:
    """Whether a value stands for a missing one: None, NaN, NA."""
    return value is None or (isinstance(value, float) and math.isnan(value)) or type(value).__name__ in _BLANK_TYPES


def _from_text(text: str) -> TableText:
    if not text.strip():
        return TableText(None, "empty", "the output is empty")
    table = _parsed(text)
    if not table.kind or looks_like_table(text):
        return table
    tables = [table for table in map(_parsed, blocks_of(text)) if not table.kind]
    if not tables:
        return table
    if any(table.rows != tables[0].rows for table in tables):
        return TableText(None, "several", f"the output holds {len(tables)} tables that differ")
    return tables[0]


def _parsed(text: str) -> TableText:
    try:
        value = read_notation(text)
    except ValueError:
        return TableText(None, "no_table", "the output is not a table: expected a list of rows as JSON")
    return _shaped(plain_table(value))


def _shaped(rows: Any) -> TableText:
    """Rows, or what is wrong with their shape."""
    if not isinstance(rows, list):
        return TableText(None, "no_table", f"the output is not a table but {_named(rows)}")
    wrong = next((row for row in rows if not isinstance(row, list | tuple)), None)
    if wrong is not None or any(row is None for row in rows):
        return TableText(None, "wrong_shape", f"a row of the output is not a list of cells but {_named(wrong)}")
    return TableText(rows)


def _rows(value: list[Any]) -> list[Any]:
    """The rows of a list, each as a list or tuple of plain cells."""
    kinds = set(map(type, value))
    if kinds <= {list, tuple}:
        if _PLAIN.issuperset(map(type, chain.from_iterable(value))):
            return value
        return [row if _PLAIN.issuperset(map(type, row)) else [_cell(cell) for cell in row] for row in value]
    if all(isinstance(row, Mapping) for row in value):
        return _from_records(value)
    return [_row(row) for row in value]


def _row(row: Any) -> Any:
    if isinstance(row, list | tuple) or hasattr(row, "tolist"):
        listed = _listed(row)
        return [_cell(cell) for cell in listed] if isinstance(listed, list) else listed
    return row


def _from_records(records: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Cells in the order of the first record's keys; records with other keys are not rows of one table."""
    keys = list(records[0])
    if any(set(record) != set(keys) for record in records):
        return list(records)
    return [[_cell(record[key]) for key in keys] for record in records]


def _from_frame(frame: Any) -> Any:
    """The rows of a data frame of pandas, polars or pyarrow; anything else stays as it is."""
    import narwhals.stable.v1 as nw

    read = nw.from_native(frame, eager_only=True, pass_through=True)
    return _rows(read.rows()) if isinstance(read, nw.DataFrame) else frame


def _cell(value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    if is_missing(value):
        return None
    return _listed(value) if hasattr(value, "tolist") else value


def _listed(value: Any) -> Any:
    """An array as nested lists, a number of numpy as Python's."""
    listed = value.to_list() if hasattr(value, "to_list") else value
    listed = listed.tolist() if hasattr(listed, "tolist") else listed
    if isinstance(listed, list | tuple):
        return [_listed(item) if hasattr(item, "tolist") else item for item in listed]
    return listed


def _named(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), f"a {type(value).__name__}")
