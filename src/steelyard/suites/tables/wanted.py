"""The `target` cell of a dataset: a table, or the SQL that gives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.tables.reading import is_missing, looks_like_table, plain_table, read_notation


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a row wants: rows or SQL as `reference`, or the `problem` with its cell."""

    reference: Any = None
    is_query: bool = False
    problem: str = ""


def wanted(cell: Any, task: str) -> Wanted:
    """Read a cell.

    Args:
        cell: of JSON, a list of rows or an object with `rows`; else a text.
        task: `SP` takes SQL alone.

    >>> wanted("SELECT 1", "SP").is_query, wanted('[["a", 1]]', "QA").reference
    (True, [['a', 1]])
    >>> wanted("[[1, 2", "QA").problem
    'the target begins like a table and is neither JSON nor a Python list'
    """
    if is_missing(cell) or (isinstance(cell, str) and not cell.strip()):
        return Wanted(problem="the target is blank")
    if isinstance(cell, str) and not looks_like_table(cell):
        return Wanted(cell.strip(), is_query=True)
    if task == "SP":
        return Wanted(problem="task SP takes SQL as target, and this is none")
    try:
        table = plain_table(read_notation(cell) if isinstance(cell, str) else cell)
    except ValueError as error:
        return Wanted(problem=f"the target begins like a table and is {error}")
    if not isinstance(table, list) or not all(isinstance(row, list | tuple) for row in table):
        shown = "an object without rows" if isinstance(table, Mapping) else f"{str(cell)[:40]!r}"
        return Wanted(problem=f"the target is no list of rows: {shown}")
    return Wanted(table)
