"""Rank correlation of the rows that two tables share."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING

from steelyard.tables.counting import NumberedRows, number_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
    """The same of rows that are numbers already."""
    import numpy as np

    common = np.minimum(*rows.counts())
    if np.count_nonzero(common) < 2:
        return None
    row, there = _places(rows.target, common)
    _, here = _places(rows.prediction, common)
    squares, count = _squares(there, here), len(row)
    if count > np.count_nonzero(common):
        first = np.searchsorted(row, row, "left")
        last = np.searchsorted(row, row, "right") - 1
        opposite = _squares(there, here[first + last - np.arange(count)])
        # Sums are exact where correlations are rounded: as strong as each other are two rhos that add up to 0.
        squares = squares if 3 * (squares + opposite) <= count * (count**2 - 1) else opposite
    return 1 - 6 * squares / (count * (count**2 - 1))


def first_places_correlation(target: Iterable[Hashable], prediction: Iterable[Hashable]) -> float:
    """The correlation as QATCH takes it, to three decimals and mapped to [0, 1]: (rho + 1) / 2.

    Distinct shared rows by first occurrence; 0.5 where there are none, 1 where there is one.

    >>> [first_places_correlation("abc", other) for other in ("cba", "xy", "b")]
    [0.0, 0.5, 1.0]
    """
    wanted, got = dict.fromkeys(target), dict.fromkeys(prediction)
    places = {row: place for place, row in enumerate(row for row in wanted if row in got)}
    squares = sum((place - places[row]) ** 2 for place, row in enumerate(row for row in got if row in places))
    count = max(len(places), 2)
    rho = 1 - 6 * squares / (count * (count**2 - 1)) if places else 0.0
    return (round(rho, 3) + 1) / 2


def _places(rows: NDArray[np.int64], common: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The shared occurrences, sorted by row and then by place: their rows, and their places among each other."""
    import numpy as np

    by_row = np.argsort(rows, kind="stable")
    sorted_rows = rows[by_row]
    nth = np.arange(len(rows)) - np.searchsorted(sorted_rows, sorted_rows, "left")
    kept = np.zeros(len(rows), dtype=bool)
    kept[by_row] = nth < common[sorted_rows]
    shared = rows[kept]
    places = np.argsort(shared, kind="stable")
    return shared[places], places


def _squares(there: NDArray[np.int64], here: NDArray[np.int64]) -> int:
    """The exact sum: a float would round it, and 64 bits are too few from three million rows on."""
    import numpy as np

    parts = np.add.reduceat((there - here) ** 2, np.arange(0, len(there), 2**15))
    return sum(parts.tolist())
