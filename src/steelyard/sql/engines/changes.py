"""What a statement changed: the rows that it added and removed in each table, and the objects of the schema.

Two statements leave the same state behind where they change the same, as both begin on the same data. A result of
changes has the columns of `COLUMNS`: `added` or `removed`, the table, and a whole row of it as a list, each as often as
it was; of tables, views, indexes and triggers themselves the table is `SCHEMA`. The first row is `affected`, with the
number of rows that the engine counts.
"""

# Why it is so, and what was rejected: docs/decisions/sql-changes.md

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import chain
from typing import Any, Final
from uuid import UUID

from steelyard.sql.engines.engine import SqlStop, size_of
from steelyard.sql.results import ResultTable, SqlLimits

COLUMNS: Final = ("change", "table", "row")
AFFECTED: Final = "affected"
SCHEMA: Final = "(schema)"
_COUNTED: Final = frozenset({int, str, float, bytes, bool, type(None), Decimal, date, datetime, time, timedelta, UUID})

_Rows = Sequence[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class DatabaseState:
    """All that can be read of some tables.

    Args:
        tables: their rows, by name.
        schema: a row for each table, view, index and trigger, with its definition.
    """

    tables: Mapping[str, _Rows]
    schema: _Rows


def read_state(
    names: Sequence[tuple[str, str]], schema: _Rows, read: Callable[[str, SqlLimits], _Rows], limits: SqlLimits
) -> DatabaseState:
    """Read all rows of some tables, within the limits for all of them together.

    Args:
        names: of the tables, and each as a query writes it.
        schema: see `DatabaseState`.
        read: returns the rows of a query.
        limits: rows, bytes and cells.

    Raises:
        SqlStop: `too_large`.
    """
    tables: dict[str, _Rows] = {}
    left = limits
    for name, written in names:
        try:
            rows = read(f"SELECT * FROM {written}", left)  # noqa: S608  # quoted
        except SqlStop as stop:
            if stop.kind == "too_large":
                what = "the tables that a changing statement touches are too large to compare"
                raise SqlStop("too_large", f"{what}: {stop.message}") from None
            raise
        tables[name] = rows
        left = replace(
            left,
            max_rows=max(0, left.max_rows - len(rows)),
            max_bytes=max(0, left.max_bytes - size_of(rows)),
            max_cells=max(0, left.max_cells - sum(map(len, rows))),
        )
    return DatabaseState(tables, schema)


def differences(before: DatabaseState, after: DatabaseState, affected: int) -> ResultTable:
    """What was added and removed between two states.

    >>> old, new = DatabaseState({"t": [(1,), (2,)]}, []), DatabaseState({"t": [(2,), (3,)]}, [])
    >>> differences(old, new, 1).rows
    [('affected', '', [1]), ('removed', 't', [1]), ('added', 't', [3])]
    """
    rows: list[tuple[Any, ...]] = [(AFFECTED, "", [affected])]
    for name in sorted({*before.tables, *after.tables}):
        rows += _changed(name, before.tables.get(name, ()), after.tables.get(name, ()))
    rows += _changed(SCHEMA, before.schema, after.schema)
    return ResultTable(COLUMNS, rows)


def _changed(name: str, before: _Rows, after: _Rows) -> Iterator[tuple[Any, ...]]:
    """The rows of one table that differ."""
    keys: list[list[Any]] = [list(before), list(after)]
    if keys[0] == keys[1]:
        return
    # Nearly all rows are told apart by Python's own equality, for which 1 is 1.0: so it is for the verdict.
    known: dict[Any, tuple[Any, ...]] = {}
    if not (_is_plain(before) and _is_plain(after)):
        keys = [list(map(repr, rows)) for rows in (before, after)]
        known = dict(zip(chain(*keys), chain(before, after), strict=True))
    counted, then = map(Counter, keys)
    for key in (counted - then).elements():
        yield "removed", name, list(known.get(key, key))
    for key in (then - counted).elements():
        yield "added", name, list(known.get(key, key))


def _is_plain(rows: _Rows) -> bool:
    """Whether rows can be counted as they are: no list among them, and no NaN, which is not equal to itself."""
    cells = list(chain.from_iterable(rows))
    return set(map(type, cells)) <= _COUNTED and not any(cell != cell for cell in cells)  # noqa: PLR0124  # NaN


def plain_definition(text: str) -> str:
    """The text of a definition without differences of blanks and, outside of quotes, of case.

    >>> plain_definition("CREATE  VIEW v AS SELECT 'A b'") == plain_definition("create view V as select 'A b'")
    True
    """
    pieces = text.split("'")
    return "'".join(piece if at % 2 else " ".join(piece.casefold().split()) for at, piece in enumerate(pieces))
