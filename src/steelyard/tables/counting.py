"""Numbers cells and rows of two tables, counts what the tables have in common, and aligns their columns by value.

A query may name its columns in any order, so a table with permuted columns may hold the expected rows. Cells that
change places in some rows only are wrong answers, which is why cells are never sorted within a row.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress, count, filterfalse, islice
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from steelyard.sql.columns import match_columns, project
from steelyard.sql.extent import check_time

Rows = Sequence[tuple[int, ...]]

_Row = TypeVar("_Row", bound=Hashable)


@dataclass(frozen=True, slots=True, eq=False)
class NumberedRows:
    """The rows of two tables as numbers from 0 on; equal numbers stand for equal rows, and each occurs in a table."""

    target: NDArray[np.int64]
    prediction: NDArray[np.int64]
    distinct: int

    def counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How often each row occurs in the target and in the prediction."""
        target, prediction = (np.bincount(rows, minlength=self.distinct) for rows in (self.target, self.prediction))
        return target, prediction


def number_rows(target: Sequence[Hashable], prediction: Sequence[Hashable]) -> NumberedRows:
    """Number the rows of two tables, or whatever else can be hashed.

    >>> number_rows("aab", "ca").prediction.tolist()
    [2, 0]
    """
    check_time()
    numbers: dict[Hashable, int] = defaultdict(count().__next__)
    first, second = (
        np.fromiter(map(numbers.__getitem__, rows), dtype=np.int64, count=len(rows)) for rows in (target, prediction)
    )
    return NumberedRows(first, second, len(numbers))


def shared_cells(first: Rows, second: Rows) -> int:
    """Count the cells that two tables have in common, with repeats: the sum of the minima.

    >>> shared_cells([(1, 1), (2, 3)], [(1, 2, 2)])
    2
    """
    cells = [
        np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=sum(map(len, rows))) for rows in (first, second)
    ]
    size = 1 + max(int(table_cells.max(initial=0)) for table_cells in cells)
    counts = [np.bincount(table_cells, minlength=size) for table_cells in cells]
    return int(np.minimum(*counts).sum())


def found_in(cells: Iterable[int], known: Iterable[int]) -> int:
    """Count the cells, with repeats, that occur among the known ones.

    >>> found_in([1, 1, 2, 3], {1, 2})
    3
    """
    known = known if isinstance(known, set | dict) else set(known)
    cells = list(cells)
    return len(cells) - sum(1 for _ in filterfalse(known.__contains__, cells))


def agreeing(target: Counter[_Row], prediction: Counter[_Row]) -> int:
    """Count the distinct rows that occur equally often in both tables, and at least once.

    >>> agreeing(Counter("aab"), Counter("aabbc"))
    1
    """
    get = prediction.get
    return sum(count == get(row) for row, count in target.items())


def cardinality(target: int, prediction: int) -> float:
    """Rows of the smaller table by rows of the larger; 1 where both have none."""
    return min(target, prediction) / max(target, prediction) if target or prediction else 1.0


def rounded_cardinality(target: int, prediction: int) -> float:
    """`cardinality` of two numbers of rows, to three decimals as QATCH gives it."""
    return round(cardinality(target, prediction), 3)


def rounded_constraint(target: Counter[_Row], prediction: Counter[_Row]) -> float:
    """Share of the target's distinct rows that occur equally often in the prediction, to three decimals as in QATCH."""
    return round(agreeing(target, prediction) / len(target), 3)


def rank_correlation(target: Sequence[Hashable], prediction: Sequence[Hashable]) -> float | None:
    """Spearman's rho of the places that shared rows have in both tables; None for fewer than two distinct shared rows.

    A row that occurs t times in the target and p times in the prediction is shared min(t, p) times, by its first
    occurrences; all other rows are left out. With d the differences of the places among what is left, n of them:

        rho = 1 - 6 * sum(d^2) / (n (n^2 - 1))

    Equal rows cannot be told apart, so which of them is which is free: their occurrences are paired first with first,
    and first with last, and the stronger of the two correlations counts, the positive one of two as strong. So 1 means
    the same order and nothing else, -1 the opposite order and nothing else, and reversing one table changes the sign.

    Source: C. Spearman, "The proof and measurement of association between two things", American Journal of
    Psychology 15, 1904; there are no tied ranks, as every row has a place of its own.

    >>> rank_correlation("abcd", "abdc"), rank_correlation("aab", "baa"), rank_correlation("aab", "aba")
    (0.8, -1.0, 0.5)
    >>> rank_correlation("ab", "xb") is None
    True
    """
    return numbered_correlation(number_rows(target, prediction))


def numbered_correlation(rows: NumberedRows) -> float | None:
    """Compute `rank_correlation` of rows that are numbered already."""
    common = np.minimum(*rows.counts())
    if np.count_nonzero(common) < 2:
        return None
    row, target_ranks = _ranks_of_shared(rows.target, common)
    _, prediction_ranks = _ranks_of_shared(rows.prediction, common)
    squares, count = _squares(target_ranks, prediction_ranks), len(row)
    if count > np.count_nonzero(common):
        first = np.searchsorted(row, row, "left")
        last = np.searchsorted(row, row, "right") - 1
        opposite = _squares(target_ranks, prediction_ranks[first + last - np.arange(count)])
        # Sums are exact where correlations are rounded: as strong as each other are two rhos that add up to 0.
        squares = squares if 3 * (squares + opposite) <= count * (count**2 - 1) else opposite
    return 1 - 6 * squares / (count * (count**2 - 1))


def first_places_correlation(target: Iterable[Hashable], prediction: Iterable[Hashable]) -> float:
    """The correlation as QATCH takes it, to three decimals and mapped to [0, 1]: (rho + 1) / 2.

    Distinct shared rows by first occurrence; 0.5 where there are none, 1 where there is one.

    >>> [first_places_correlation("abc", other) for other in ("cba", "xy", "b")]
    [0.0, 0.5, 1.0]
    """
    target_rows, prediction_rows = dict.fromkeys(target), dict.fromkeys(prediction)
    ranks = {row: rank for rank, row in enumerate(row for row in target_rows if row in prediction_rows)}
    squares = sum((rank - ranks[row]) ** 2 for rank, row in enumerate(row for row in prediction_rows if row in ranks))
    count = max(len(ranks), 2)
    rho = 1 - 6 * squares / (count * (count**2 - 1)) if ranks else 0.0
    return (round(rho, 3) + 1) / 2


def _ranks_of_shared(rows: NDArray[np.int64], common: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The shared occurrences, sorted by row and then by place: their rows, and their places among each other."""
    by_row = np.argsort(rows, kind="stable")
    sorted_rows = rows[by_row]
    nth = np.arange(len(rows)) - np.searchsorted(sorted_rows, sorted_rows, "left")
    shared_mask = np.zeros(len(rows), dtype=bool)
    shared_mask[by_row] = nth < common[sorted_rows]
    shared = rows[shared_mask]
    order = np.argsort(shared, kind="stable")
    return shared[order], order


def _squares(target_ranks: NDArray[np.int64], prediction_ranks: NDArray[np.int64]) -> int:
    """The exact sum: a float would round it, and 64 bits are too few from three million rows on."""
    parts = np.add.reduceat((target_ranks - prediction_ranks) ** 2, np.arange(0, len(target_ranks), 2**15))
    return sum(parts.tolist())


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
