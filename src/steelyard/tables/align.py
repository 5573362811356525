"""Aligns the prediction's columns with the target's by their values.

A query may name its columns in any order, so a table with permuted columns may hold the expected rows. Cells that
change places in some rows only are wrong answers, which is why cells are never sorted within a row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import compress, count, islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from steelyard.sql.columns import match_columns, project
from steelyard.tables.counting import NumberedRows, Rows, number_rows

_MOST_COUNTS: Final = 500_000
"""Limit of counts that are stored to find the best order: of 20,000 bags of cells at five columns."""

_MOST_COLUMNS: Final = 300
"""Of wider tables only an exact match is looked for: pairing columns takes the cube of their number, 0.2 s here."""


def align_columns(target: Rows, prediction: Rows) -> NumberedRows:
    """Number the rows of two tables, with the prediction's columns ordered so that most rows agree.

    The first of these is used: columns as they are, where the tables are equal row by row; one order of columns for
    which they are; columns as they are, where they hold the same rows in any order; one order of columns for which they
    do. Else whichever has more rows in common, columns as they are or in the order in which most cells agree between
    rows that have the same cells. Tables of different widths share no row in any case.

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
    if not _may_gain(plain, target, prediction):
        return plain
    orders = _orders(target, prediction)
    return max((plain, *(number_rows(target, project(prediction, columns)) for columns in orders)), key=_common)


def _in_place(target: Rows, prediction: Rows) -> bool:
    """Whether each row of the one has the cells of the same row of the other; a wrong row ends the search early."""
    return all(sorted(row) == sorted(other) for row, other in zip(target, prediction, strict=True))


def _may_gain(plain: NumberedRows, target: Rows, prediction: Rows) -> bool:
    """Whether another order of the columns could make unmatched rows equal: they hold the same cells."""
    target_counts, prediction_counts = plain.counts()
    missing, extra = (
        (target_counts > prediction_counts)[plain.target].tolist(),
        (prediction_counts > target_counts)[plain.prediction].tolist(),
    )
    bags = {tuple(sorted(row)) for row in compress(target, missing)}
    return any(tuple(sorted(row)) in bags for row in compress(prediction, extra))


def _common(rows: NumberedRows) -> int:
    return int(np.minimum(*rows.counts()).sum())


def _orders(target: Rows, prediction: Rows) -> Iterator[tuple[int, ...]]:
    exact = match_columns(target, prediction).columns
    guess = exact or _most_agreeing(target, prediction)
    if guess is not None:
        yield guess


def _most_agreeing(target: Rows, prediction: Rows) -> tuple[int, ...] | None:
    """Columns paired one after the other, those first whose cells agree most often; None where no rows are similar.

    Every row is compared with every row that has the same cells, so the order of rows changes nothing.
    """
    width = len(target[0])
    if width > _MOST_COLUMNS:
        return None
    keyed = [{row: tuple(sorted(row)) for row in set(rows)} for rows in (target, prediction)]
    shared = set(keyed[0].values()).intersection(keyed[1].values())
    if not shared:
        return None
    number_of = {key: number for number, key in enumerate(islice(shared, max(1, _MOST_COUNTS // width**2)))}
    numbers: dict[tuple[int, int], int] = defaultdict(count().__next__)
    cells = [
        [numbers[number_of[key], cell] for row, key in rows.items() if key in number_of for cell in row]
        for rows in keyed
    ]
    target_counts, prediction_counts = (_counts_by_column(table_cells, len(numbers), width) for table_cells in cells)
    return _paired(target_counts.T @ prediction_counts)


def _counts_by_column(cells: Sequence[int], distinct: int, width: int) -> NDArray[np.float64]:
    """How often each cell, taken with the cells of its row, occurs in each column; floats multiply faster."""
    slots = np.array(cells, dtype=np.int64) * width + np.arange(len(cells)) % width
    return np.bincount(slots, minlength=distinct * width).reshape(distinct, width).astype(float)


def _paired(agree: NDArray[np.float64]) -> tuple[int, ...]:
    width = len(agree)
    columns = [0] * width
    for _ in range(width):
        column, other = divmod(int(agree.argmax()), width)
        columns[column] = other
        agree[column, :] = agree[:, other] = -1
    return tuple(columns)
