"""Finds the orders and LIMIT choices that a reference's ORDER BY leaves open.

An ORDER BY says nothing about rows with equal keys, and a LIMIT that cuts through such rows may keep any of them. A
prediction only has to match what is left: at the positions of each group the rows of the group, in any order; where the
group is cut, any of its rows, each as often as the table has it.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from steelyard.sql.cells import intern_tables
from steelyard.sql.columns import Rows, match_columns, project
from steelyard.sql.equality import CellEquality
from steelyard.sql.extent import check_time
from steelyard.sql.order import Ordering, OrderKey
from steelyard.sql.results import ResultTable

_MOST_COLUMNS: Final = 7
"""A wider result is looked at with its columns in place only, where a LIMIT cuts through a tie."""
_MOST_CHOICES: Final = 200
"""Orders of columns that are tried where a LIMIT cuts through a tie and the columns' own order does not fit.

Not all 5,040 of seven columns: 200 take 1.8 s for 1,000 rows whose columns all hold the same values."""


@dataclass(frozen=True, slots=True)
class TieGroups:
    """The positions of a reference's rows, by group of equal keys.

    Args:
        groups: the group of each position, counting up.
        source: the groups that are not returned whole, with all their rows as the engine gave them.
        flags: what is unknown: `keys_unknown` (order is compared strictly), `limit_unchecked`.
    """

    groups: Sequence[int]
    source: Mapping[int, Sequence[tuple[Any, ...]]] = field(default_factory=dict)
    flags: tuple[str, ...] = ()

    @property
    def strict(self) -> bool:
        """Whether each position is a group of its own, so that there is one order only."""
        return len(set(self.groups)) == len(self.groups)


def window_of(
    reference: ResultTable,
    ordering: Ordering,
    keyed: ResultTable | None,
    unlimited: ResultTable | None,
    *,
    equality: CellEquality = CellEquality(),
) -> TieGroups:
    """Group the positions of a reference's rows.

    Args:
        reference: its result.
        ordering: its ORDER BY.
        keyed: the result of `ordering.keyed_query`, where there is one.
        unlimited: the result of `ordering.unlimited_query`, where there is one.
        equality: which keys are equal.
    """
    rows = len(reference.rows)
    cut = ordering.may_cut(rows)
    if cut and unlimited is not None and _usable(reference, ordering, unlimited):
        return _cut(reference, ordering, unlimited, equality)
    flags = ("limit_unchecked",) if cut else ()
    source = reference if ordering.in_output else keyed
    if not ordering.keys or source is None or len(source.rows) != rows or not _wide(reference, ordering, source):
        return TieGroups(range(rows), flags=(*flags, "keys_unknown"))
    window = TieGroups(_groups(source, ordering, len(reference.columns), equality), flags=flags)
    if source is reference or _agree(reference, source, window.groups, equality):
        return window
    return TieGroups(range(rows), flags=(*flags, "keys_unknown"))


def any_rows(reference: ResultTable, unlimited: ResultTable) -> TieGroups:
    """Group all rows of a reference whose LIMIT has no ORDER BY: it may return any rows, in any order.

    Args:
        reference: its result.
        unlimited: the result without the LIMIT.
    """
    width = len(reference.columns)
    return TieGroups([0] * len(reference.rows), {0: [row[:width] for row in unlimited.rows]})


def choose_columns(
    prediction: Rows, window: TieGroups, source: Mapping[int, Rows], reference: Rows
) -> list[int] | None:
    """Columns with which the prediction is one of the results that the LIMIT allows; None where there are none.

    Args:
        prediction: its rows.
        window: the reference's positions.
        source: all rows of the groups that are cut.
        reference: its rows; the groups that are not cut must hold exactly these.
    """
    width = len(reference[0])
    if width != len(prediction[0]):
        return None
    in_place = list(range(width))
    allowed = [*reference, *(row for rows in source.values() for row in rows)]
    orders = _orders(_possible(prediction, allowed), ()) if width <= _MOST_COLUMNS else iter([in_place])
    expected = _by_group(reference, window.groups)
    for columns in islice(orders, _MOST_CHOICES):
        check_time()
        placed = prediction if columns == in_place else project(prediction, columns)
        if _chosen(_by_group(placed, window.groups), expected, source):
            return columns
    return None


def _chosen(
    returned: Mapping[int, Counter[Any]], expected: Mapping[int, Counter[Any]], source: Mapping[int, Rows]
) -> bool:
    return all(
        rows <= Counter(source[group]) if group in source else rows == expected[group]
        for group, rows in returned.items()
    )


def _possible(prediction: Rows, allowed: Rows) -> list[list[int]]:
    """For each column, the prediction's columns that hold none but its values; its own place first."""
    column_values = [set(column) for column in zip(*prediction, strict=True)]
    values = [set(column) for column in zip(*allowed, strict=True)]
    return [
        sorted(
            (other for other, cells in enumerate(column_values) if cells <= allowed_values),
            key=lambda other: other != column,
        )
        for column, allowed_values in enumerate(values)
    ]


def _orders(possible: Sequence[Sequence[int]], chosen: tuple[int, ...]) -> Iterator[list[int]]:
    if len(chosen) == len(possible):
        yield list(chosen)
        return
    for other in possible[len(chosen)]:
        if other not in chosen:
            yield from _orders(possible, (*chosen, other))


def _by_group(rows: Rows, groups: Sequence[int]) -> dict[int, Counter[Any]]:
    counts: dict[int, Counter[Any]] = {}
    for row, group in zip(rows, groups, strict=True):
        counts.setdefault(group, Counter())[row] += 1
    return counts


def _wide(reference: ResultTable, ordering: Ordering, source: ResultTable) -> bool:
    """Whether a table has the columns that the keys refer to."""
    width = len(reference.columns)
    extra = sum(key.column is None for key in ordering.keys)
    inside = all(key.column is None or 0 <= key.column < width for key in ordering.keys)
    return inside and len(source.columns) == width + (0 if source is reference else extra)


def _usable(reference: ResultTable, ordering: Ordering, unlimited: ResultTable) -> bool:
    remaining = max(0, len(unlimited.rows) - ordering.offset)
    expected = remaining if ordering.limit is None else min(remaining, ordering.limit)
    return bool(ordering.keys) and expected == len(reference.rows) and _wide(reference, ordering, unlimited)


def _cut(reference: ResultTable, ordering: Ordering, unlimited: ResultTable, equality: CellEquality) -> TieGroups:
    width, first = len(reference.columns), ordering.offset
    last = first + len(reference.rows)
    groups = _groups(unlimited, ordering, width, equality)
    edges = set()
    if first < last:
        edges = {
            groups[edge]
            for edge, beyond in ((first, first - 1), (last - 1, last))
            if 0 <= beyond < len(groups) and groups[edge] == groups[beyond]
        }
    rows = unlimited.rows
    source = {edge: [rows[at][:width] for at, group in enumerate(groups) if group == edge] for edge in edges}
    window = TieGroups(groups[first:last], source)
    # A query that gives other rows each time (a random value, a clock) cannot say what else it might have given.
    keys = intern_tables(
        reference.rows, *([row[:width] for row in rows[first:last]],), *source.values(), equality=equality
    )
    expected = _by_group(keys[1], window.groups)
    if _chosen(_by_group(keys[0], window.groups), expected, dict(zip(source, keys[2:], strict=True))):
        return window
    return TieGroups(range(len(reference.rows)), flags=("keys_unknown",))


def _agree(reference: ResultTable, source: ResultTable, groups: Sequence[int], equality: CellEquality) -> bool:
    width = len(reference.columns)
    reference_rows, source_rows = intern_tables(reference.rows, [row[:width] for row in source.rows], equality=equality)
    return _by_group(reference_rows, groups) == _by_group(source_rows, groups)


def _groups(source: ResultTable, ordering: Ordering, width: int, equality: CellEquality) -> list[int]:
    """A number for each row, which counts up where a key changes."""
    further = iter(range(width, len(source.columns)))
    columns = [key.column if key.column is not None else next(further) for key in ordering.keys]
    keys = [
        tuple(_collated(row[position], key) for position, key in zip(columns, ordering.keys, strict=True))
        for row in source.rows
    ]
    [numbered] = intern_tables(keys, equality=equality)
    groups, group = [], 0
    for position, key in enumerate(numbered):
        group += position > 0 and key != numbered[position - 1]
        groups.append(group)
    return groups


def _collated(cell: Any, key: OrderKey) -> Any:
    """A cell as its collation sees it; SQLite's NOCASE folds the letters of ASCII alone, MySQL's _ci also accents."""
    if not key.collation or not isinstance(cell, str):
        return cell
    if key.collation.endswith("_CI"):
        letters = unicodedata.normalize("NFKD", cell.casefold())
        return "".join(letter for letter in letters if not unicodedata.combining(letter)).rstrip(" ")
    if key.collation == "NOCASE":
        return "".join(letter.lower() if letter.isascii() else letter for letter in cell)
    return cell.rstrip(" ") if key.collation == "RTRIM" else cell


def match_in_order(reference: Rows, prediction: Rows, window: TieGroups) -> tuple[tuple[int, ...] | None, str]:
    """Columns with which a prediction is in order, and how: `in_place`, `ties`, or "" where there are none."""
    columns = match_columns(reference, prediction, groups=range(len(reference))).columns
    if columns is not None:
        return columns, "in_place"
    if not window.strict:
        columns = match_columns(reference, prediction, groups=window.groups).columns
    return columns, "ties" if columns is not None else ""
