"""Counts of equal cells and rows, on rows whose cells are numbers: equal numbers stand for equal cells."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, count, filterfalse
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
        import numpy as np

        target, prediction = (np.bincount(rows, minlength=self.distinct) for rows in (self.target, self.prediction))
        return target, prediction


def number_rows(target: Sequence[Hashable], prediction: Sequence[Hashable]) -> NumberedRows:
    """Number the rows of two tables, or whatever else can be hashed.

    >>> number_rows("aab", "ca").prediction.tolist()
    [2, 0]
    """
    import numpy as np

    numbers: dict[Hashable, int] = defaultdict(count().__next__)
    first, second = (
        np.fromiter(map(numbers.__getitem__, rows), dtype=np.int64, count=len(rows)) for rows in (target, prediction)
    )
    return NumberedRows(first, second, len(numbers))


def shared_cells(first: Rows, second: Rows) -> int:
    """How many cells two tables have in common, repeats counted: sum of min.

    >>> shared_cells([(1, 1), (2, 3)], [(1, 2, 2)])
    2
    """
    import numpy as np

    cells = [
        np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=sum(map(len, rows))) for rows in (first, second)
    ]
    size = 1 + max(int(each.max(initial=0)) for each in cells)
    counts = [np.bincount(each, minlength=size) for each in cells]
    return int(np.minimum(*counts).sum())


def found_in(cells: Iterable[int], known: Iterable[int]) -> int:
    """How many of the cells, with their repeats, occur among the known ones at all.

    >>> found_in([1, 1, 2, 3], {1, 2})
    3
    """
    known = known if isinstance(known, set | dict) else set(known)
    cells = list(cells)
    return len(cells) - sum(1 for _ in filterfalse(known.__contains__, cells))


def agreeing(target: Counter[_Row], prediction: Counter[_Row]) -> int:
    """How many distinct rows occur equally often in both, and at least once.

    >>> agreeing(Counter("aab"), Counter("aabbc"))
    1
    """
    get = prediction.get
    return sum(count == get(row) for row, count in target.items())


def cardinality(target: int, prediction: int) -> float:
    """Rows of the smaller table by rows of the larger; 1 where both have none."""
    return min(target, prediction) / max(target, prediction) if target or prediction else 1.0
