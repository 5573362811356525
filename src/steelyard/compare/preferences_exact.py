"""The exact test of an even split of the decided pairs, and the least win rate that it would have found."""

from __future__ import annotations

import math
from collections.abc import Sequence

from steelyard.stats.paired import mcnemar_exact, sign_flip


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
        wins = sum(1 for one in won if one > 0)
        return mcnemar_exact(wins, len(won) - wins)
    places = {unit: place for place, unit in enumerate(dict.fromkeys(units))}
    return sign_flip(won, clusters=[places[unit] for unit in units])


def smallest_win_rate(decided: int, *, level: float = 0.95, power: float = 0.8) -> float | None:
    """The least win rate above a half that so many decided pairs would show, by the exact sign test.

    The smallest rate r with P(X >= k; n, r) >= power, where k is the least number of wins with p < 1 - level.

    Args:
        decided: n, decided pairs.
        level: 1 - level is the test's size.
        power: how probable it shall be that the test finds it.

    Returns None where not even n wins of n are evidence (n <= 5 for 0.95).

    >>> round(smallest_win_rate(199), 3), smallest_win_rate(5)
    (0.6, None)
    """
    least = next((k for k in range(decided // 2 + 1, decided + 1) if mcnemar_exact(k, decided - k) < 1 - level), None)
    if least is None:
        return None
    low, high = 0.5, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (low, middle) if _tail(least, decided, middle) >= power else (middle, high)
    return high


def _tail(least: int, n: int, rate: float) -> float:
    """P(X >= least) of the binomial distribution; its terms come from logarithms, so that large n do not overflow."""
    if rate >= 1:
        return 1.0
    logs = [
        math.lgamma(n + 1)
        - math.lgamma(k + 1)
        - math.lgamma(n - k + 1)
        + k * math.log(rate)
        + (n - k) * math.log1p(-rate)
        for k in range(least, n + 1)
    ]
    return min(1.0, math.fsum(math.exp(one) for one in logs))
