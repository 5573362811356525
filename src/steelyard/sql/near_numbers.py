"""Finds the numbers of several tables that are equal within a tolerance, so that they can share a key.

A tolerance is not an equivalence: a can equal b and b equal c without a equalling c. Keys need one, and there are two:

    near_numbers    joins the numbers of a chain of equal ones: what it tells apart differs by the rule
    split_chains    splits the chains whose ends differ: what it joins is equal by the rule, each number to each

At 1e-12 a chain is one sum in several orders, and has nothing to split.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from steelyard.plain_json import grouped
from steelyard.sql.equality import Number, is_integer, numbers_equal

_FEW: Final = 200
"""Up to so many numbers are sorted and compared one by one, as numpy's overhead is larger than that."""
_SLACK: Final = 1.0001
"""Candidates are looked for a little further than the tolerance, for what rounding may add; then they are compared."""
_LONG_INTEGER: Final = 10**9
_WHOLE_FLOATS: Final = 2.0**53


def near_numbers(
    numbers: Iterable[float | Decimal], integers: Callable[[], Iterable[int]], tolerance: float
) -> dict[Number, Number]:
    """Map each number that equals another one, without being the same, to the one that stands for both.

    Linear but for sorting the numbers that are not integers.

    Args:
        numbers: floats and Decimals of `plain_number`, NaN apart.
        integers: returns the ints among the cells; called only where one of them may be near a number.
        tolerance: relative, above 0; see `CellEquality`.

    >>> near_numbers([0.3, 0.1 + 0.2, 3.0000000000000004, 7.5], lambda: [3, 4], 1e-12)
    {3.0000000000000004: 3, 0.30000000000000004: 0.3}
    """
    distinct = set(numbers)
    few = len(distinct) <= _FEW or any(type(number) is not float for number in distinct)
    runs = _runs_of_few(distinct, tolerance) if few else _runs_of_many(distinct, tolerance)
    if not runs.near_integers:
        return runs.aliases
    groups = _Groups()
    known_integers = set(integers())
    short = sorted({*runs.whole_floats, *(number for number in known_integers if abs(number) <= _LONG_INTEGER)})
    for number, integer in _near_integers(runs.near_integers, short, tolerance):
        groups.join(runs.aliases.get(number, number), integer)
    for number in runs.near_integers:
        nearest = round(number)
        if abs(nearest) > _LONG_INTEGER and nearest in known_integers and numbers_equal(number, nearest, tolerance):
            groups.join(runs.aliases.get(number, number), nearest)
    joined = groups.representatives()
    return {**joined, **{number: joined.get(first, first) for number, first in runs.aliases.items()}}


def split_chains(
    aliases: Mapping[Number, Number], integers: Callable[[], Iterable[int]], tolerance: float
) -> dict[Number, Number]:
    """Split the chains of `near_numbers` into groups of numbers that are all equal to each other, from below.

    Args:
        aliases: its result.
        integers: returns the ints among the cells.
        tolerance: as there.

    Returns:
        A map like `aliases`; equal to it where each chain is such a group already.

    >>> chains = near_numbers([100.5, 100.25, 101.5], lambda: [], 0.01)
    >>> chains, split_chains(chains, lambda: [], 0.01)
    ({100.5: 100.25, 101.5: 100.25}, {100.5: 100.25})
    """
    # The first of a chain is its smallest number, unless that is an integer: a number near it is near to all between.
    open_chains = {
        first
        for number, first in aliases.items()
        if not (
            type(number) is type(first) is float
            and number - first <= tolerance * max(number, -first)
            and not first.is_integer()
        )
    }
    groups = dict(aliases)
    if not open_chains:
        return groups
    integer_of: dict[Number, Number] = {integer: integer for integer in integers()}
    members: dict[Number, list[Number]] = {first: [integer_of.get(first, first)] for first in open_chains}
    for number, first in aliases.items():
        if first in open_chains:
            members[first].append(integer_of.get(number, number))
            del groups[number]
    for chain in members.values():
        for group in _equal_groups(sorted(chain), tolerance):
            chosen = next((number for number in group if is_integer(number)), group[0])
            groups.update((number, chosen) for number in group if number != chosen)
    return groups


def _equal_groups(chain: Sequence[Number], tolerance: float) -> Iterator[list[Number]]:
    """Sorted numbers in groups: each number is equal to the smallest and to the integer of its group."""
    group: list[Number] = []
    integer: list[Number] = []
    for number in chain:
        others = [*group[:1], *integer]
        if is_integer(number):
            others = group
        if group and not all(numbers_equal(number, other, tolerance) for other in others):
            yield group
            group, integer = [], []
        group.append(number)
        if is_integer(number):
            integer = [number]
    if group:
        yield group


class _Runs(NamedTuple):
    """What the numbers that are not integers have to do with each other and with integers.

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
    floats = np.unique(np.fromiter(distinct, dtype=float, count=len(distinct)))
    floats = floats[np.isfinite(floats)]
    is_whole = (floats == np.rint(floats)) & (np.abs(floats) < _WHOLE_FLOATS)
    broken = floats[~is_whole]
    size = np.abs(broken)
    with np.errstate(over="ignore"):
        joined = np.diff(broken) <= tolerance * np.maximum(size[:-1], size[1:])
    starts = np.concatenate([[True], ~joined])[: len(broken)]
    first = broken[np.maximum.accumulate(np.where(starts, np.arange(len(broken)), 0))]
    aliases = dict(zip(broken[~starts].tolist(), first[~starts].tolist(), strict=True))
    # The nearest integer tells, unless the tolerance reaches several.
    reach = np.maximum(tolerance * _SLACK * size / (1 - tolerance), 2e-6 * (size > _LONG_INTEGER))
    near = (np.abs(broken - np.rint(broken)) <= reach) & (size < _WHOLE_FLOATS)
    return _Runs(aliases, broken[near].tolist(), floats[is_whole].tolist())


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
        members = grouped((self._root(number), number) for number in list(self._parents))
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
