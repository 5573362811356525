"""Which position of a pair a judge's verdicts favour, from the verdicts on both orders."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from steelyard.stats.intervals import Interval
from steelyard.stats.paired import newcombe_clustered, newcombe_paired


def place_interval(ways: Sequence[int], units: Sequence[Hashable]) -> Interval:
    """The interval of the share of pairs that favour the first position minus the share that favour the second.

    Both shares are of the same pairs: it is Newcombe's of a paired difference, by cluster. A bootstrap of three values
    has no spread where a judge never contradicts itself.

    Args:
        ways: of each pair, see `favoured_place`; at least one.
        units: the independent unit of each pair, equal for pairs that depend on each other.
    """
    numbers = {unit: number for number, unit in enumerate(dict.fromkeys(units))}
    if len(numbers) == len(units):
        first, second = ways.count(1), ways.count(-1)
        return newcombe_paired(0, first, second, len(ways) - first - second)
    sides = ([float(way == position) for way in ways] for position in (1, -1))
    return newcombe_clustered(*sides, clusters=[numbers[unit] for unit in units])


def favoured_place(orders: Sequence[Any]) -> int | None:
    """Which position the verdicts on a pair favour: 1 the first, -1 the second, 0 neither.

    Of both orders only verdicts that contradict each other favour one. None where there is no verdict.

    Args:
        orders: the verdict on each order, a mapping with `shown`, `slot` and, where no verdict was read, `outcome`.

    >>> favoured_place([{"shown": "AB", "slot": 1}, {"shown": "BA", "slot": 1}])
    1
    >>> favoured_place([{"shown": "AB", "slot": 1}, {"shown": "BA", "slot": 2}])
    0
    """
    slots = [order.get("slot") for order in with_verdict(orders)]
    leaning = slots.count(1) - slots.count(2)
    return (leaning > 0) - (leaning < 0) if slots else None


def with_verdict(orders: Sequence[Any]) -> list[Mapping[str, Any]]:
    """The orders in which a verdict was read."""
    return [order for order in orders if isinstance(order, Mapping) and order.get("outcome", "scored") == "scored"]
