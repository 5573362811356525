"""Exact statistics of a count: k successes in n independent trials. Needs only `math`."""

from __future__ import annotations

import math
from typing import Final

from steelyard.stats.intervals import Interval, check_counts, check_level
from steelyard.stats.quantiles import beta_quantile, log_beta

_EQUAL: Final = 1 + 1e-7
"""Two outcomes count as equally likely within this factor, as in scipy and R: both probabilities are rounded."""


def clopper_pearson(successes: int, n: int, level: float = 0.95) -> Interval:
    """Exact interval of a rate: the rates that neither one-sided binomial test at (1 - level) / 2 rejects.

        low  = quantile of beta(k, n - k + 1) at (1 - level) / 2, and 0 for k = 0
        high = quantile of beta(k + 1, n - k) at (1 + level) / 2, and 1 for k = n

    Its coverage is never below `level`, so it is wider than Wilson's interval: use it where a guarantee is needed.

    Args:
        successes: 0 <= successes <= n.
        n: number of independent trials; 0 gives [0, 1].
        level: confidence level in (0, 1).

    Source: C. J. Clopper and E. S. Pearson, Biometrika 26, 1934.

    >>> clopper_pearson(19, 19).rounded(5)
    (0.82353, 1.0)
    """
    check_level(level)
    check_counts(successes, n)
    low = beta_quantile((1 - level) / 2, successes, n - successes + 1) if successes else 0.0
    high = beta_quantile((1 + level) / 2, successes + 1, n - successes) if successes < n else 1.0
    return Interval(low, high)


def jeffreys(successes: int, n: int, level: float = 0.95) -> Interval:
    """Jeffreys interval of a rate: the central credible interval under the prior beta(1/2, 1/2).

    Its limits are the quantiles of beta(k + 1/2, n - k + 1/2), but 0 for k = 0 and 1 for k = n. It is narrower than
    Wilson's interval for rates near 0 and 1 and holds its level on average only.

    Args:
        successes: 0 <= successes <= n.
        n: number of independent trials; 0 gives [0, 1].
        level: confidence level in (0, 1).

    Source: L. D. Brown, T. T. Cai and A. DasGupta, "Interval estimation for a binomial proportion", Statistical Science
    16, 2001, section 3.1. statsmodels does not put the limits at 0 and 1.

    >>> jeffreys(19, 19).rounded(5)
    (0.87769, 1.0)
    """
    check_level(level)
    check_counts(successes, n)
    a, b = successes + 0.5, n - successes + 0.5
    low = beta_quantile((1 - level) / 2, a, b) if successes else 0.0
    high = beta_quantile((1 + level) / 2, a, b) if successes < n else 1.0
    return Interval(low, high)


def binomial_test(successes: int, n: int, p0: float = 0.5) -> float:
    """Two-sided exact p-value of the hypothesis that each trial succeeds with probability `p0`.

    The probability under `p0` of all counts that are no more likely than the observed one. For p0 = 1/2 this is twice
    the smaller tail, the sign test.

    Args:
        successes: 0 <= successes <= n; ties are dropped first.
        n: number of independent trials; 0 gives 1.
        p0: in [0, 1].

    Source: the method of small p-values, as in R's binom.test and scipy's binomtest.

    >>> f"{binomial_test(19, 19):.7g}"
    '3.814697e-06'
    """
    check_counts(successes, n)
    if not 0 <= p0 <= 1:
        raise ValueError(f"a probability lies between 0 and 1, not {p0}")
    if p0 in {0.0, 1.0}:
        return float(successes == n * p0)
    if p0 > 0.5:
        successes, p0 = n - successes, 1 - p0
    observed = log_chance(successes, n, p0)
    mode = math.floor((n + 1) * p0)
    if successes <= mode:
        lower, upper = successes, _first_as_rare(observed, mode, n, p0)
    else:
        lower, upper = n - _first_as_rare(observed, n - mode, n, 1 - p0), successes
    if lower >= upper - 1:
        return 1.0
    return min(1.0, share_up_to(lower, n, p0) + share_up_to(n - upper, n, 1 - p0))


def log_chance(successes: int, n: int, p: float) -> float:
    """The logarithm of the binomial probability of `successes` in `n`, for 0 < p < 1.

    >>> round(math.exp(log_chance(1, 2, 0.5)), 12)
    0.5
    """
    log_choose = -math.log(n + 1) - log_beta(successes + 1, n - successes + 1)
    return log_choose + successes * math.log(p) + (n - successes) * math.log1p(-p)


def share_up_to(successes: int, n: int, p: float) -> float:
    """The binomial probability of at most `successes`, for 0 < p < 1; 0 for a negative number.

    The largest term comes from logarithms and the others from it by their ratios, so that none under- or overflows.

    >>> round(share_up_to(1, 2, 0.5), 12)
    0.75
    """
    if successes < 0:
        return 0.0
    if successes >= n:
        return 1.0
    if successes > n * p:
        return 1 - share_up_to(n - successes - 1, n, 1 - p)
    share, total = 1.0, 1.0
    for i in range(successes, 0, -1):
        share *= i * (1 - p) / ((n - i + 1) * p)
        total += share
        if share < total * 1e-17:
            break
    return math.exp(log_chance(successes, n, p)) * total


def _first_as_rare(log_limit: float, mode: int, n: int, p: float) -> int:
    """The smallest count from the mode on whose chance is at most exp(log_limit); n + 1 where there is none."""
    limit = log_limit + math.log(_EQUAL)
    low, high = mode - 1, n + 1
    while high - low > 1:
        middle = (low + high) // 2
        if log_chance(middle, n, p) <= limit:
            high = middle
        else:
            low = middle
    return high
