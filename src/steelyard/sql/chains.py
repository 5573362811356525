"""Pairs rows that agree by chains of equal numbers, so that each two cells are equal by the rule itself.

Keys that join a chain of equal numbers find candidates: 1, 1 + e and 1 + 2e have one key, but 1 differs from 1 + 2e.
Here rows of one key are paired, as a matching in a bipartite graph (H. W. Kuhn's augmenting paths), after two quick
checks: sorted rows side by side, which nearly always are a pairing; and each column sorted alone: where these differ,
there is no pairing.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from steelyard.sql.cells import cells_equal
from steelyard.sql.equality import CellEquality, numbers_equal, plain_number
from steelyard.sql.extent import check_time
from steelyard.sql.results import plain_cell

_MOST_PAIRS: Final = 300_000
"""Limit of pairs of rows that are compared; beyond it the rows count as different."""

Side = tuple[Sequence[tuple[Any, ...]], Sequence[Hashable]]
"""Rows of cells, columns aligned, and a key for each."""
_Row = tuple[Any, ...]


def rows_match(reference: Side, prediction: Side, equality: CellEquality) -> bool:
    """Whether each row has a partner of its own, of the same key, with each cell equal by the rule.

    Args:
        reference: its rows and their keys.
        prediction: likewise, the same keys equally often.
        equality: which cells are equal.

    >>> near, far = [(1.0,), (1.005,), (1.012,)], [(1.005,), (1.012,), (1.02,)]
    >>> rows_match((near, [0, 0, 0]), (far, [0, 0, 0]), CellEquality(tolerance=0.01))
    True
    >>> rows_match((near, [0, 0, 0]), ([(1.0,)] * 3, [0, 0, 0]), CellEquality(tolerance=0.01))
    False
    """
    left, right = _by_key(reference), _by_key(prediction)
    budget = [_MOST_PAIRS]
    return all(_paired(rows, right.get(key, []), equality, budget) for key, rows in left.items())


def _by_key(side: Side) -> dict[Hashable, list[_Row]]:
    groups: dict[Hashable, list[_Row]] = {}
    for cells, key in zip(*side, strict=True):
        groups.setdefault(key, []).append(tuple(map(_plain, cells)))
    return groups


def _plain(cell: Any) -> Any:
    cell = plain_cell(cell)
    if isinstance(cell, bool):
        return int(cell)
    return plain_number(cell) if isinstance(cell, int | float | Decimal) else cell


def _paired(left: Sequence[_Row], right: Sequence[_Row], equality: CellEquality, budget: list[int]) -> bool:
    check_time()
    if len(left) != len(right):
        return False
    numeric = [column for column in range(len(left[0])) if _comparable(left, column) and _comparable(right, column)]

    def in_order(row: _Row) -> list[Any]:
        return [row[column] for column in numeric]

    left, right = sorted(left, key=in_order), sorted(right, key=in_order)
    if all(_rows_equal(row, other, equality) for row, other in zip(left, right, strict=True)):
        return True
    if len(left) == 1 or not all(_may_agree(left, right, column, equality.tolerance) for column in numeric):
        return False
    return _Matching(left, right, equality, budget).complete()


def _comparable(rows: Sequence[_Row], column: int) -> bool:
    return all(isinstance(row[column], int | float | Decimal) and row[column] == row[column] for row in rows)


def _may_agree(left: Sequence[_Row], right: Sequence[_Row], column: int, tolerance: float) -> bool:
    """Whether the column alone can be paired by the tolerance: then its sorted numbers are such pairs."""
    pairs = zip(sorted(row[column] for row in left), sorted(row[column] for row in right), strict=True)
    return all(
        first == second
        or abs(Fraction(first) - Fraction(second))
        <= Fraction(tolerance) * Fraction(10001, 10000) * max(abs(Fraction(first)), abs(Fraction(second)))
        for first, second in pairs
    )


def _rows_equal(row: _Row, other: _Row, equality: CellEquality) -> bool:
    return all(_equal(first, second, equality) for first, second in zip(row, other, strict=True))


def _equal(first: Any, second: Any, equality: CellEquality) -> bool:
    if first is second:
        return True
    numbers = (int, float, Decimal)
    if isinstance(first, numbers) and isinstance(second, numbers) and first == first and second == second:  # noqa: PLR0124
        return numbers_equal(first, second, equality.tolerance)
    return cells_equal(first, second, equality)


class _Matching:
    """Rows of the right matched to rows of the left, one more at a time."""

    def __init__(self, left: Sequence[_Row], right: Sequence[_Row], equality: CellEquality, budget: list[int]) -> None:
        self._left, self._right, self._equality, self._budget = left, right, equality, budget
        self._edges: dict[int, list[int]] = {}
        self._partners: dict[int, int] = {}
        """Position on the right -> the one on the left."""

    def complete(self) -> bool:
        """Whether all rows find a partner."""
        return all(self._place(start) for start in range(len(self._left)))

    def _place(self, start: int) -> bool:
        """Find the row a partner by an augmenting path, breadth first."""
        check_time()
        came_from: dict[int, int] = {}
        waiting = [start]
        for row in waiting:
            for other in self._candidates(row):
                if other in came_from:
                    continue
                came_from[other] = row
                if other not in self._partners:
                    self._turn(other, came_from, start)
                    return True
                waiting.append(self._partners[other])
        return False

    def _turn(self, other: int, came_from: dict[int, int], start: int) -> None:
        position_of = {row: position for position, row in self._partners.items()} if came_from[other] != start else {}
        while True:
            row = came_from[other]
            self._partners[other] = row
            if row == start:
                return
            other = position_of[row]

    def _candidates(self, row: int) -> list[int]:
        if row not in self._edges:
            self._budget[0] -= len(self._right)
            self._edges[row] = [
                position
                for position, other in enumerate(self._right)
                if self._budget[0] >= 0 and _rows_equal(self._left[row], other, self._equality)
            ]
        return self._edges[row]
