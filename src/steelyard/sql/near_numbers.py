"""Finds the numbers of several tables that are equal within a tolerance, so that they can share a key.

A tolerance is no equivalence: a can equal b and b equal c without a equalling c. Keys need one, so numbers that a chain
of equal numbers joins share a key: whatever is told apart does differ by the rule, and what is joined differs by a few
tolerances at most. At 1e-12 such chains hold one sum in several orders, and nothing else.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Final, NamedTuple

from steelyard.sql.equality import Number, is_integer, numbers_equal

_FEW: Final = 200
"""So many numbers are sorted and compared one by one; numpy takes longer to begin."""
_SLACK: Final = 1.0001
"""Candidates are looked for a little further than the tolerance, for what rounding may add; then they are compared."""
_LONG_INTEGER: Final = 10**9
_WHOLE_FLOATS: Final = 2.0**53


def near_numbers(
    numbers: Iterable[float | Decimal], integers: Callable[[], Iterable[int]], tolerance: float
) -> dict[Number, Number]:
    """Map each number that equals another one, without being the same, to the one that stands for both.

    Linear but for sorting the numbers that are no integers.

    Args:
        numbers: floats and Decimals of `plain_number`, NaN apart.
        integers: returns the ints among the cells; called only where one of them may be near a number.
        tolerance: relative, above 0; see `CellEquality`.

    >>> near_numbers([0.3, 0.1 + 0.2, 3.0000000000000004, 7.5], lambda: [3, 4], 1e-12)
    {0.30000000000000004: 0.3, 3.0000000000000004: 3}
    """
    distinct = set(numbers)
    few = len(distinct) <= _FEW or any(type(number) is not float for number in distinct)
    runs = _runs_of_few(distinct, tolerance) if few else _runs_of_many(distinct, tolerance)
    if not runs.near_integers:
        return runs.aliases
    groups = _Groups()
    known = set(integers())
    short = sorted({*runs.whole_floats, *(number for number in known if abs(number) <= _LONG_INTEGER)})
    for number, integer in _near_integers(runs.near_integers, short, tolerance):
        groups.join(runs.aliases.get(number, number), integer)
    for number in runs.near_integers:
        nearest = round(number)
        if abs(nearest) > _LONG_INTEGER and nearest in known and numbers_equal(number, nearest, tolerance):
            groups.join(runs.aliases.get(number, number), nearest)
    joined = groups.representatives()
    return {**joined, **{number: joined.get(first, first) for number, first in runs.aliases.items()}}


class _Runs(NamedTuple):
    """What the numbers that are no integers have to do with each other and with integers.

    Args:
        aliases: number -> the smallest number of the chain of equal ones that it belongs to, others than itself.
        near_integers: those that may equal an integer, sorted.
        whole_floats: the floats that are integers.
    """

    aliases: dict[Number, Number]
    near_integers: Sequence[Number]
    whole_floats: Sequence[Number]


def _runs_of_few(distinct: Iterable[Number], tolerance: float) -> _Runs:
    finite = [number for number in distinct if abs(number) != math.inf]
    broken = sorted(number for number in finite if not is_integer(number))
    aliases: dict[Number, Number] = {}
    for lower, higher in pairwise(broken):
        if numbers_equal(lower, higher, tolerance):
            aliases[higher] = aliases.get(lower, lower)
    return _Runs(aliases, broken, [number for number in finite if is_integer(number)])


def _runs_of_many(distinct: Collection[Number], tolerance: float) -> _Runs:
    """The same of floats alone, with the formula of `numbers_equal` over whole arrays."""
    import numpy as np

    floats = np.unique(np.fromiter(distinct, dtype=float, count=len(distinct)))
    floats = floats[np.isfinite(floats)]
    whole = (floats == np.rint(floats)) & (np.abs(floats) < _WHOLE_FLOATS)
    broken = floats[~whole]
    size = np.abs(broken)
    with np.errstate(over="ignore"):
        joined = np.diff(broken) <= tolerance * np.maximum(size[:-1], size[1:])
    starts = np.concatenate([[True], ~joined])[: len(broken)]
    first = broken[np.maximum.accumulate(np.where(starts, np.arange(len(broken)), 0))]
    aliases = dict(zip(broken[~starts].tolist(), first[~starts].tolist(), strict=True))
    # The nearest integer tells, unless the tolerance reaches several.
    reach = np.maximum(tolerance * _SLACK * size / (1 - tolerance), 2e-6 * (size > _LONG_INTEGER))
    near = (np.abs(broken - np.rint(broken)) <= reach) & (size < _WHOLE_FLOATS)
    return _Runs(aliases, broken[near].tolist(), floats[whole].tolist())


class _Groups:
    """Numbers that were joined with others, directly or by a chain."""

    def __init__(self) -> None:
        self._parents: dict[Number, Number] = {}

    def join(self, first: Number, second: Number) -> None:
        root, other = self._root(first), self._root(second)
        if root != other:
            self._parents[other] = root

    def _root(self, number: Number) -> Number:
        parents = self._parents
        parents.setdefault(number, number)
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number

    def representatives(self) -> dict[Number, Number]:
        """Number -> the integer of its group, else the smallest number of it; the representatives are left out."""
        members: dict[Number, list[Number]] = {}
        for number in list(self._parents):
            members.setdefault(self._root(number), []).append(number)
        aliases: dict[Number, Number] = {}
        for group in members.values():
            chosen = min(group, key=lambda number: (not is_integer(number), number))
            aliases.update((number, chosen) for number in group if number != chosen)
        return aliases


def _near_integers(
    numbers: Sequence[Number], integers: Sequence[Number], tolerance: float
) -> Iterator[tuple[Number, Number]]:
    """Pairs of a number and an integer that are equal; both are sorted, and each integer is met about once."""
    met = 0
    for number in numbers:
        middle = float(number)
        reach = tolerance * abs(middle) * _SLACK / (1 - tolerance)
        first, end = bisect_left(integers, middle - reach), bisect_right(integers, middle + reach)
        # Those before the last one met hang together already, by the numbers before this one.
        for integer in integers[max(first, met - 1) : end]:
            if numbers_equal(number, integer, tolerance):
                yield number, integer
        met = max(met, end)
