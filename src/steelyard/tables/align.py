"""The prediction's columns in the target's order, as far as values tell: names say nothing, and rows stay whole.

A query may name its columns in any order, so a table with permuted columns holds the rows that were wanted. Cells that
change places in some rows only are wrong answers, which is why cells are never sorted within a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from steelyard.sql.columns import match_columns, project
from steelyard.tables.counting import NumberedRows, Rows, number_rows

_MOST_CELLS: Final = 30_000_000
"""Pairs of cells that are compared at most to find the best order, about 0.1 s; fewer rows are looked at beyond."""


def align_columns(target: Rows, prediction: Rows) -> NumberedRows:
    """Rows of the two tables as numbers, with the prediction's columns where most rows agree.

    Taken is, in this order: columns as they are, where the tables are equal row by row; one order of columns for which
    they are; columns as they are, where they hold the same rows in any order; one order of columns for which they do.
    Else whichever has more rows in common, columns as they are or in the order in which most cells agree between rows
    that have the same cells. Tables of different widths share no row in any case.

    Args:
        target: rows of `intern_tables`, at least one, with at least one cell.
        prediction: rows of the same call, at least one.

    >>> align_columns([(1, 5), (2, 6)], [(6, 2), (5, 1)]).prediction.tolist()
    [1, 0]
    >>> align_columns([(1, 5), (2, 6), (3, 7)], [(5, 1), (7, 3), (9, 2)]).prediction.tolist()
    [0, 2, 3]
    """
    plain = number_rows(target, prediction)
    if len(target[0]) != len(prediction[0]) or len(target[0]) == 1 or target == prediction:
        return plain
    if len(target) == len(prediction) and _in_place(target, prediction):
        columns = match_columns(target, prediction, groups=range(len(target))).columns
        if columns is not None:
            return number_rows(target, project(prediction, columns))
    if _common(plain) == len(target) == len(prediction):
        return plain
    orders = _orders(target, prediction)
    return max((plain, *(number_rows(target, project(prediction, columns)) for columns in orders)), key=_common)


def _in_place(target: Rows, prediction: Rows) -> bool:
    """Whether each row of the one has the cells of the same row of the other; a wrong row is found soon."""
    return all(sorted(row) == sorted(other) for row, other in zip(target, prediction, strict=True))


def _common(rows: NumberedRows) -> int:
    import numpy as np

    return int(np.minimum(*rows.counts()).sum())


def _orders(target: Rows, prediction: Rows) -> Iterator[tuple[int, ...]]:
    exact = match_columns(target, prediction).columns
    guess = exact or _most_agreeing(target, prediction)
    if guess is not None:
        yield guess


def _most_agreeing(target: Rows, prediction: Rows) -> tuple[int, ...] | None:
    """Columns paired one after the other, those first whose cells agree most often; None where no row has a like."""
    import numpy as np

    known: dict[tuple[int, ...], tuple[int, ...]] = {}
    for row in sorted(set(target), reverse=True):
        known[tuple(sorted(row))] = row
    # Distinct rows in an order of their own, so that the order of the tables' rows changes nothing.
    pairs = [(known[cells], row) for row in sorted(set(prediction)) if (cells := tuple(sorted(row))) in known]
    if not pairs:
        return None
    width = len(target[0])
    pairs = pairs[: max(1, _MOST_CELLS // width**2)]
    wanted, got = (np.array([pair[side] for pair in pairs]).T for side in (0, 1))
    agree = np.array([(got == column).sum(axis=1) for column in wanted])
    columns = [0] * width
    for _ in range(width):
        column, other = divmod(int(agree.argmax()), width)
        columns[column] = other
        agree[column, :] = agree[:, other] = -1
    return tuple(columns)
