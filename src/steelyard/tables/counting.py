"""Counts of equal cells and rows, on rows whose cells are numbers: equal numbers stand for equal cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import chain, filterfalse
from typing import TypeVar

Rows = Sequence[tuple[int, ...]]

_Row = TypeVar("_Row", bound=Hashable)


def cell_counts(rows: Rows) -> Counter[int]:
    """How often each cell occurs."""
    return Counter(chain.from_iterable(rows))


def shared(first: Counter[int], second: Counter[int]) -> int:
    """How many occurrences two counts have in common: sum of min.

    >>> shared(Counter("aab"), Counter("abb"))
    2
    """
    few, many = sorted((first, second), key=len)
    # `get` and not `[]`: a Counter asks a method of Python for every key that it lacks.
    get = many.get
    return sum(min(count, get(key, 0)) for key, count in few.items())


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
