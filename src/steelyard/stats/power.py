"""Sample sizes for questions about rates, and the smallest difference that a given number of samples can show.

Power is the chance that a test at 1 - `level` finds a difference of the given size. The smallest detectable difference
is the true difference that is found with that chance: smaller ones may be missed.
Needs only `math`, except for `smallest_detectable_difference` and `samples_to_show`, which read the data. Of means the
t test's power is exact (noncentral t), as the normal approximation overstates it for few samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from steelyard.stats.binomial import share_up_to
from steelyard.stats.intervals import check_level, clustered_spread
from steelyard.stats.quantiles import normal_quantile, normal_share, t_quantile

_CLOSE: Final = 1e-10


def samples_for_rates(first: float, second: float, *, level: float = 0.95, power: float = 0.8) -> int:
    """Samples that each of two independent sets needs to tell the rates `first` and `second` apart.

        n = (z_a sqrt(2 m (1 - m)) + z_b sqrt(p1 (1 - p1) + p2 (1 - p2)))^2 / (p1 - p2)^2,    m = (p1 + p2) / 2

    with the normal quantiles z_a of (1 + level) / 2 and z_b of `power`.

    Source: J. L. Fleiss, B. Levin and M. C. Paik, "Statistical Methods for Rates and Proportions", 3rd edition, 2003,
    equation 4.14, without continuity correction.

    >>> samples_for_rates(0.80, 0.85)
    906
    """
    z_a, z_b = _quantiles(level, power)
    check_rates(first, second)
    difference = _apart(first, second)
    middle = (first + second) / 2
    spread = z_a * math.sqrt(2 * middle * (1 - middle)) + z_b * math.sqrt(_variance(first) + _variance(second))
    return _rounded_up((spread / difference) ** 2)


def pairs_for_rates(only_first: float, only_second: float, *, level: float = 0.95, power: float = 0.8) -> int:
    """Pairs that McNemar's test needs where a share `only_first` of them is solved by the first side alone.

    With the discordance d = only_first + only_second and the difference e = only_first - only_second:

        n = (z_a sqrt(d) + z_b sqrt(d - e^2))^2 / e^2

    Two sides that agree on most samples need far fewer than two independent sets: 469 pairs instead of 906 samples
    each for 0.80 against 0.85, if they differ on 15 %.

    Source: R. J. Connor, "Sample size for testing differences in proportions for the paired-sample design", Biometrics
    43, 1987.

    >>> pairs_for_rates(0.05, 0.10)
    469
    """
    z_a, z_b = _quantiles(level, power)
    check_rates(only_first, only_second, only_first + only_second)
    discordance, difference = only_first + only_second, _apart(only_first, only_second)
    spread = z_a * math.sqrt(discordance) + z_b * math.sqrt(discordance - difference**2)
    return _rounded_up((spread / difference) ** 2)


def samples_for_rate(rate: float, against: float = 0.5, *, level: float = 0.95, power: float = 0.8) -> int:
    """Samples needed to tell one rate from a fixed value, such as a win rate from one half.

        n = (z_a sqrt(p0 (1 - p0)) + z_b sqrt(p (1 - p)))^2 / (p - p0)^2

    Source: Fleiss, Levin and Paik 2003, equation 2.13, without continuity correction.

    >>> samples_for_rate(0.55)
    783
    """
    z_a, z_b = _quantiles(level, power)
    check_rates(rate, against)
    difference = _apart(rate, against)
    spread = z_a * math.sqrt(_variance(against)) + z_b * math.sqrt(_variance(rate))
    return _rounded_up((spread / difference) ** 2)


def sign_test_power(n: int, rate: float, *, level: float = 0.95) -> float:
    """The chance that the exact two-sided sign test on `n` decided pairs has p <= 1 - level, at a true win rate `rate`.

    >>> round(sign_test_power(6, 0.9), 6) == round(0.9**6 + 0.1**6, 6)
    True
    """
    check_level(level)
    check_rates(rate)
    fewest = _rejected_up_to(n, 1 - level)
    if rate in {0.0, 1.0}:
        return float(fewest >= 0)
    return min(1.0, share_up_to(fewest, n, rate) + share_up_to(fewest, n, 1 - rate))


def decided_pairs_for_win_rate(rate: float, *, level: float = 0.95, power: float = 0.8) -> int:
    """The fewest decided pairs with which the exact sign test tells the win rate `rate` from one half.

    A few pairs more can have a little less power, as the p-values of a count come in steps.

    >>> decided_pairs_for_win_rate(0.7)
    49
    """
    about = samples_for_rate(rate, level=level, power=power)
    # Upwards one by one, as power does not grow with every pair; from below the approximation, which for rates from
    # 0.51 to 0.99 exceeds the exact number by at most half its square root.
    n = max(1, about - 3 * math.isqrt(about) - 5)
    while sign_test_power(n, rate, level=level) < power:
        n += 1
    return n


def detectable_win_rate(n: int, *, level: float = 0.95, power: float = 0.8) -> float | None:
    """The smallest true win rate above one half that the exact sign test on `n` decided pairs finds.

    None where even a side that always wins is not distinguishable from chance: below 6 pairs at 95 %.

    >>> round(detectable_win_rate(49), 2)
    0.7
    """
    if not sign_test_power(n, 1.0, level=level) >= power:
        return None
    return crossing(lambda rate: sign_test_power(n, rate, level=level) - power, 0.5, 1.0)


def detectable_rate(n: int, against: float = 0.5, *, level: float = 0.95, power: float = 0.8) -> float | None:
    """The smallest true rate above `against` that `n` independent samples tell from it, by the normal approximation.

    None where there is none up to 1. For one below, use `1 - detectable_rate(n, 1 - against)`.

    >>> round(detectable_rate(783), 3)
    0.55
    """
    z_a, z_b = _quantiles(level, power)
    check_rates(against)

    def surplus(rate: float) -> float:
        spread = z_a * math.sqrt(_variance(against)) + z_b * math.sqrt(_variance(rate))
        return (rate - against) * math.sqrt(n) - spread

    return crossing(surplus, against, 1.0) if n > 0 and surplus(1.0) >= 0 else None


def detectable_rates(n: int, first: float, *, level: float = 0.95, power: float = 0.8) -> float | None:
    """The smallest difference upwards from the rate `first` that two independent sets of `n` samples show.

    None where there is none up to 1. For one downwards, give 1 - first.

    >>> round(detectable_rates(906, 0.8), 3)
    0.05
    """
    z_a, z_b = _quantiles(level, power)
    check_rates(first)

    def surplus(difference: float) -> float:
        second = first + difference
        middle = first + difference / 2
        spread = z_a * math.sqrt(2 * _variance(middle)) + z_b * math.sqrt(_variance(first) + _variance(second))
        return difference * math.sqrt(n) - spread

    return crossing(surplus, 0.0, 1 - first) if n > 0 and surplus(1 - first) >= 0 else None


def detectable_paired_rates(n: int, discordance: float, *, level: float = 0.95, power: float = 0.8) -> float | None:
    """The smallest difference between two rates that McNemar's test shows on `n` pairs.

    The equation of `pairs_for_rates` solved for the difference. A difference cannot exceed the share of pairs that
    differ: where the observed share is too small for any, it is taken to be as large as the difference itself, all
    of them in favour of one side.

    Args:
        n: pairs.
        discordance: share of pairs on which the sides differ, as observed or expected.
        level: of the test.
        power: chance to find a difference of that size.

    Returns None where there is none up to 1, below 4 pairs at 95 %.

    >>> round(detectable_paired_rates(469, 0.15), 3)
    0.05
    """
    z_a, z_b = _quantiles(level, power)
    check_rates(discordance)

    def surplus(difference: float) -> float:
        share = max(discordance, difference)
        return difference * math.sqrt(n) - z_a * math.sqrt(share) - z_b * math.sqrt(share - difference**2)

    return crossing(surplus, 0.0, 1.0) if n > 0 and surplus(1.0) >= 0 else None


def crossing(function: Callable[[float], float], low: float, high: float) -> float:
    """Where an increasing function, not positive at `low` nor negative at `high`, crosses 0: to 1e-10, from above.

    By the secant through both ends, where the value at an end that stays is halved (the Illinois algorithm), and by
    halving the interval at every fourth step: about 10 values of the function where halving alone needs 36.

    Source: M. Dowell and P. Jarratt, "A modified regula falsi method for computing the root of an equation", BIT 11,
    1971.
    """
    below, above = function(low), function(high)
    steps = 0
    rose: bool | None = None  # whether the last step moved the lower end
    while high - low > _CLOSE:
        steps += 1
        share = 0.5 if steps % 4 == 0 or below == above else below / (below - above)
        # A step that is too short to see would leave the other end where it is.
        middle = min(max(low + share * (high - low), low + _CLOSE / 2), high - _CLOSE / 2)
        value = function(middle)
        if value >= 0:
            below /= 2 if rose is False else 1
            high, above, rose = middle, value, False
        else:
            above /= 2 if rose is True else 1
            low, below, rose = middle, value, True
    return high


def check_rates(*rates: float) -> None:
    """Refuse a rate given in percent or out of range."""
    for rate in rates:
        if not 0 <= rate <= 1:
            raise ValueError(f"a rate lies between 0 and 1, not {rate}")


def check_power(power: float) -> None:
    """Refuse a power given in percent, or one that needs no data."""
    if not 0 < power < 1:
        raise ValueError(f"power lies between 0 and 1 (0.8 for 80 %), not {power}")


def _quantiles(level: float, power: float) -> tuple[float, float]:
    check_level(level)
    check_power(power)
    return normal_quantile((1 + level) / 2), normal_quantile(power)


def _variance(rate: float) -> float:
    return rate * (1 - rate)


def _apart(first: float, second: float) -> float:
    if first == second:
        raise ValueError(f"equal rates cannot be told apart by any number of samples: {first}")
    return abs(first - second)


def _rounded_up(samples: float) -> int:
    """Round up, to at least 1; a whole number up to rounding errors stays as it is."""
    return max(1, math.ceil(samples * (1 - 1e-12)))


def _rejected_up_to(n: int, alpha: float) -> int:
    """The largest number of wins, below half of `n`, at which the two-sided sign test has p <= alpha; -1 if none."""
    rejected, spared = -1, n // 2 + 1
    while spared - rejected > 1:
        wins = (rejected + spared) // 2
        if 2 * wins < n and 2 * share_up_to(wins, n, 0.5) <= alpha * (1 + 1e-12):
            rejected = wins
        else:
            spared = wins
    return rejected


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
