"""The exact test of an even split of the decided pairs, by cluster where they depend on each other."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.stats.binomial import binomial_test
from steelyard.stats.paired import sign_flip


def fair_split(won: Sequence[int], units: Sequence[str] | None = None) -> float:
    """Two-sided p-value of the hypothesis that each of these goes either way alike.

    Args:
        won: 1 for the one side, -1 for the other; at least one.
        units: what each belongs to, where some belong together; None means that all are independent, which gives the
            exact binomial test. Else every unit's sum has its sign flipped as a whole.

    >>> f"{100 * fair_split([1] * 19):.5f} %"
    '0.00038 %'
    """
    if units is None or len(set(units)) == len(units):
        return binomial_test(sum(1 for one in won if one > 0), len(won))
    places = {unit: place for place, unit in enumerate(dict.fromkeys(units))}
    return sign_flip(won, clusters=[places[unit] for unit in units])
