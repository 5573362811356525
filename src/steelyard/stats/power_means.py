"""Sample sizes for questions about means, and the smallest difference that given data can show.

The t test's power is exact (noncentral t), as the normal approximation overstates it for few samples. Needs only
`math`, except for `smallest_detectable_difference`, which reads the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from steelyard.stats.intervals import check_level, clustered_spread
from steelyard.stats.power import check_power, crossing, detectable_paired_rates, pairs_for_rates
from steelyard.stats.quantiles import normal_quantile, normal_share, t_quantile

_MOST: Final = 1 << 40
"""The first power of two above the 1e12 of the message; `_fewest` doubles."""
_NEGLIGIBLE: Final = 1e-18
_MANY: Final = 5_000


def t_test_power(noncentrality: float, df: float, *, level: float = 0.95) -> float:
    """The chance that a two-sided t test finds a true difference of `noncentrality` standard errors.

    With S = sqrt(V / df), V chi-squared with df degrees of freedom, and t the quantile of (1 + level) / 2:

        power = E[P(Z > t S - d)] + E[P(Z > t S + d)]

    by the trapezoid rule over log S, exact to about 12 digits as the integrand is smooth and vanishes at both ends.

    Args:
        noncentrality: d >= 0, the true difference / its true standard error.
        df: degrees of freedom, at least 1.
        level: of the test.

    Source: the definition of the noncentral t distribution, e.g. Abramowitz and Stegun 1964, 26.7.9.

    >>> round(t_test_power(2.8, 1e6), 3)
    0.8
    """
    check_level(level)
    t = t_quantile((1 + level) / 2, df)
    scale = math.log(2) + df / 2 * math.log(df / 2) - math.lgamma(df / 2)
    step = min(0.25 / math.sqrt(df), 0.5 / (1 + abs(noncentrality)))

    def term(at: int) -> float:
        log_s = at * step
        weight = math.exp(scale + df * log_s - df / 2 * math.exp(2 * log_s))
        reach = t * math.exp(log_s)
        return weight * (normal_share(noncentrality - reach) + normal_share(-noncentrality - reach))

    total = term(0)
    for side in (1, -1):
        at = side
        # Beyond its peak the integrand only decreases; log S = 0 is within a step or two of the peak of the weight.
        while (value := term(at)) > _NEGLIGIBLE or abs(at) * step < 4 / math.sqrt(df):
            total += value
            at += side
    return min(1.0, total * step)


def samples_for_mean(difference: float, sd: float, *, level: float = 0.95, power: float = 0.8) -> int:
    """Samples with which a t test tells a mean from a fixed value, or pairs with which it tells two means apart.

    Args:
        difference: the true difference, other than 0.
        sd: the standard deviation of the values; for pairs, of their differences.
        level: of the test.
        power: chance to find it.

    >>> samples_for_mean(0.5, 1)
    34
    """
    size = _size(difference, sd)
    return _fewest(lambda n: t_test_power(size * math.sqrt(n), n - 1, level=level), power)


def samples_for_means(difference: float, sd: float, *, level: float = 0.95, power: float = 0.8) -> int:
    """Samples that each of two independent sets needs for a t test to tell their means apart.

    Args:
        difference: the true difference, other than 0.
        sd: the standard deviation of the values, taken to be equal in both.
        level: of the test.
        power: chance to find it.

    >>> samples_for_means(0.5, 1)
    64
    """
    size = _size(difference, sd)
    return _fewest(lambda n: t_test_power(size * math.sqrt(n / 2), 2 * n - 2, level=level), power)


def detectable_mean(n: int, sd: float, *, level: float = 0.95, power: float = 0.8) -> float | None:
    """The smallest difference that a t test on `n` samples or pairs shows.

    Args:
        n: samples or pairs; independent ones, so clusters where there are such.
        sd: the standard deviation of the values; for pairs, of their differences.
        level: of the test.
        power: chance to find it.

    Returns None for fewer than two samples, or without any spread: such data do not show what is small.

    >>> round(detectable_mean(34, 1), 2)
    0.5
    """
    if n < 2 or not sd > 0:
        return None
    return _detectable(n - 1, level, power) * sd / math.sqrt(n)


def detectable_means(n: int, sd: float, *, level: float = 0.95, power: float = 0.8) -> float | None:
    """The smallest difference between the means of two independent sets of `n` samples that a t test shows.

    None for fewer than two samples or without any spread.

    >>> round(detectable_means(64, 1), 2)
    0.5
    """
    if n < 2 or not sd > 0:
        return None
    return _detectable(2 * n - 2, level, power) * sd * math.sqrt(2 / n)


def smallest_detectable_difference(
    differences: ArrayLike, *, clusters: ArrayLike | None = None, level: float = 0.95, power: float = 0.8
) -> float | None:
    """The smallest true mean difference that this many pairs with this spread would show.

    For the differences -1, 0 and 1 of a 0/1 score over independent pairs it is McNemar's, with the discordance that was
    observed. For all else it is the t test's with the standard error by cluster.

    Args:
        differences: one per pair.
        clusters: a number per pair, equal within a cluster; None means that pairs are independent.
        level: of the test.
        power: chance to find a difference of that size.

    Returns None where it cannot be computed: no pair, a single cluster, no spread.

    >>> round(smallest_detectable_difference([1] * 16 + [-1] * 6 + [0] * 78), 2)
    0.13
    """
    check_level(level)
    check_power(power)
    values = np.asarray(differences, dtype=float)
    if len(values) == 0:
        return None
    if clusters is None and np.isin(values, (-1.0, 0.0, 1.0)).all():
        return detectable_paired_rates(len(values), float(np.abs(values).mean()), level=level, power=power)
    spread = clustered_spread(values, clusters)
    if spread.clusters < 2:
        return None
    return detectable_mean(spread.clusters, spread.error * math.sqrt(spread.clusters), level=level, power=power)


def samples_to_show(
    differences: ArrayLike, *, clusters: ArrayLike | None = None, level: float = 0.95, power: float = 0.8
) -> int | None:
    """How many pairs with this spread would show a true mean difference as large as the observed one.

    For the differences -1, 0 and 1 of a 0/1 score over independent pairs it is McNemar's number, with the discordance
    that was observed. For all else it is the t test's number of clusters, times the pairs that a cluster has here.

    Args:
        differences: one per pair.
        clusters: a number per pair, equal within a cluster; None means that pairs are independent.
        level: of the test.
        power: chance to find it.

    Returns None where there is no difference to show, or no spread.

    >>> samples_to_show([1] * 15 + [-1] * 10 + [0] * 145)
    1332
    """
    values = np.asarray(differences, dtype=float)
    mean = float(values.mean()) if len(values) else 0.0
    if abs(mean) < _NEGLIGIBLE:
        return None
    if clusters is None and np.isin(values, (-1.0, 0.0, 1.0)).all():
        shares = float((values > 0).mean()), float((values < 0).mean())
        return pairs_for_rates(*shares, level=level, power=power)
    spread = clustered_spread(values, clusters)
    if spread.clusters < 2 or not spread.error > 0:
        return None
    deviation = spread.error * math.sqrt(spread.clusters)
    rough = ((normal_quantile((1 + level) / 2) + normal_quantile(power)) * deviation / mean) ** 2
    # From here on the t distribution is the normal one to three digits.
    exact = rough < _MANY and samples_for_mean(mean, deviation, level=level, power=power)
    return math.ceil((exact or rough) * spread.n / spread.clusters)


# Most scores and groups of a comparison have the same number of pairs.
@lru_cache(maxsize=256)
def _detectable(df: float, level: float, power: float) -> float:
    """The noncentrality at which the t test has the given power."""
    check_level(level)
    check_power(power)
    # An upper bound: few degrees of freedom widen both the test's limit and its statistic.
    most = 2 * (t_quantile((1 + level) / 2, df) + abs(t_quantile(power, df)) + 1)
    return crossing(lambda size: t_test_power(size, df, level=level) - power, 0.0, most)


def _size(difference: float, sd: float) -> float:
    if difference == 0 or not sd > 0:
        raise ValueError(f"a sample size needs a difference other than 0 and sd > 0, not {difference} and {sd}")
    return abs(difference) / sd


def _fewest(power_of: Callable[[int], float], power: float) -> int:
    """The smallest n from 2 on at which `power_of` reaches `power`."""
    check_power(power)
    short, enough = 1, 2
    while power_of(enough) < power:
        short, enough = enough, 2 * enough
        if enough > _MOST:
            raise ValueError("no number of samples below 1e12 shows a difference so small")
    while enough - short > 1:
        middle = (short + enough) // 2
        if power_of(middle) < power:
            short = middle
        else:
            enough = middle
    return enough
