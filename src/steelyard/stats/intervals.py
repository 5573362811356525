"""Confidence intervals for one rate or one mean. Pure functions; only the clustered ones need numpy."""

# Why it is so, and what was rejected: docs/decisions/stats-own-code.md

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.stats.quantiles import normal_quantile, t_quantile

_ROUNDING: Final = 1e-12


class Interval(NamedTuple):
    """A closed range `low <= high`; equal to the plain tuple `(low, high)`."""

    low: float
    high: float

    def rounded(self, digits: int) -> tuple[float, float]:
        """Both limits rounded to `digits` decimals, as a plain tuple for display and tests.

        >>> Interval(0.0945, 0.9055).rounded(2)
        (0.09, 0.91)
        """
        return round(self.low, digits), round(self.high, digits)


class Spread(NamedTuple):
    """A mean and its standard error, computed from `n` values in `clusters` independent clusters."""

    mean: float
    error: float
    n: int
    clusters: int


def wilson(successes: int, n: int, level: float = 0.95) -> Interval:
    """Wilson score interval of a rate: all rates that a score test at 1 - level does not reject.

    With p = successes / n and z the normal quantile of (1 + level) / 2:

        centre = (p + z^2 / 2n) / (1 + z^2 / n)
        half   = z / (1 + z^2 / n) * sqrt(p (1 - p) / n + z^2 / 4n^2)

    Args:
        successes: 0 <= successes <= n. Ties are not successes: drop them first.
        n: number of independent trials; 0 gives [0, 1], as nothing is known.
        level: confidence level in (0, 1).

    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22, 1927. No
    continuity correction; clamped to [0, 1], where rounding would leave 1e-17 for 0 successes.

    >>> wilson(1, 2).rounded(2)
    (0.09, 0.91)
    """
    check_level(level)
    check_counts(successes, n)
    if n == 0:
        return Interval(0.0, 1.0)
    return score_interval(successes / n, n, normal_quantile((1 + level) / 2))


def score_interval(p: float, n: float, z: float) -> Interval:
    """Wilson's equation for a share `p` of `n` independent trials, which need not be whole, and a quantile `z`."""
    shrink = 1 + z * z / n
    centre = (p + z * z / (2 * n)) / shrink
    half = z / shrink * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    # At p = 0 and p = 1 the limit is 0 or 1 exactly; rounding would miss it by 1e-17.
    low = 0.0 if p <= 0 else max(0.0, centre - half)
    high = 1.0 if p >= 1 else min(1.0, centre + half)
    return Interval(low, high)


def clustered_spread(values: ArrayLike, clusters: ArrayLike | None = None) -> Spread:
    """The mean of `values` and its standard error when values of one cluster are not independent.

    With e_i = s_i - mean, over the G clusters g of n values:

        SE^2 = G / (G - 1) * sum_g (sum_{i in g} e_i)^2 / n^2          (CR1; infinite for G = 1)

    Args:
        values: n >= 1 finite numbers.
        clusters: a number per value, equal within a cluster; None means that each value is its own cluster.

    Raises:
        ValueError: no value, or one that is not finite.

    Source: K.-Y. Liang and S. L. Zeger, Biometrika 73, 1986, with the G / (G - 1) correction; for evaluations,
    E. Miller, "Adding error bars to evals", 2024, section 2.2.

    >>> clustered_spread([1, 1, 0, 1, 0, 1, 1, 1, 0, 0, 1, 0], [0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 3, 3]).error.__round__(6)
    0.178226
    """
    data = np.asarray(values, dtype=float)
    check_values(data)
    n = len(data)
    mean = float(data.mean())
    sums = data - mean
    if clusters is not None:
        index = np.unique(np.asarray(clusters), return_inverse=True)[1]
        sums = np.bincount(index, weights=sums).astype(float)
    count = len(sums)
    error = math.sqrt(count / (count - 1) * float(sums @ sums)) / n if count > 1 else math.inf
    return Spread(mean, error, n, count)


def mean_interval(
    values: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
    scale: tuple[float, float] | None = None,
) -> Interval | None:
    """Student's t interval of a mean, by cluster: mean +- t(G - 1) * SE with the error of `clustered_spread`.

    Where all clusters have the same mean, SE = 0. That does not show that there is no spread: an interval without width
    would claim certainty, and a rule on it would hold. Without a known scale there is then no interval. On a scale
    [lo, hi] the widest spread with that mean is that of values at both ends, which are a rate: the result is Wilson's
    interval of (mean - lo) / (hi - lo) over G trials, with t in place of z, put back on the scale; it equals
    `wilson_clustered` where all are right.

    Args:
        values: n >= 1 finite numbers.
        clusters: a number per value, equal within a cluster; None means that each value is its own cluster.
        level: confidence level in (0, 1).
        scale: lowest and highest possible value, where they are known; the limits never leave it. A count has the
            scale (0, infinity).

    Returns None for fewer than two clusters, and for equal means where no highest value is known.

    Source: Student, "The probable error of a mean", Biometrika 6, 1908; by cluster as in `clustered_spread`. Keeping
    the limits on the scale and the interval of equal values are ours.

    >>> mean_interval([1.0, 2.0, 3.0]).rounded(3), mean_interval([1.0, 2.0, 3.0], scale=(0.0, math.inf)).rounded(3)
    ((-0.484, 4.484), (0.0, 4.484))
    >>> mean_interval([5, 5, 5, 5, 5, 5, 5, 5, 5, 5], scale=(1, 5)).rounded(2)
    (3.65, 5.0)
    """
    check_level(level)
    spread = clustered_spread(values, clusters)
    return interval_of_spread(spread, float(np.abs(np.asarray(values, dtype=float)).max()), level=level, scale=scale)


def interval_of_spread(
    spread: Spread, largest: float, *, level: float = 0.95, scale: tuple[float, float] | None = None
) -> Interval | None:
    """The interval of `mean_interval` where mean and standard error are known.

    Args:
        spread: of the values.
        largest: largest absolute value, by which a spread is distinguished from rounding.
        level: confidence level in (0, 1).
        scale: as in `mean_interval`.
    """
    if spread.clusters < 2:
        return None
    t = t_quantile((1 + level) / 2, spread.clusters - 1)
    if spread.error <= _ROUNDING * largest:
        return _of_one_mean(spread, t, scale)
    low, high = spread.mean - t * spread.error, spread.mean + t * spread.error
    return Interval(max(low, scale[0]), min(high, scale[1])) if scale else Interval(low, high)


def interval_of_influence(
    value: float, influence: NDArray[Any], *, clusters: ArrayLike | None = None, level: float = 0.95
) -> Interval | None:
    """Student's t interval of a statistic in [-1, 1] from the influence of each row on it, by cluster.

    Args:
        value: of the statistic.
        influence: of each row; they sum to about 0.
        clusters: a number per row from 0, equal within a cluster; None means that each row is its own cluster.
        level: confidence level in (0, 1).

    Returns None for fewer than two clusters, and where no row has an influence.

    Source: a t interval with the variance of a sum over clusters, CR1; of a mean it is `mean_interval`.

    >>> import numpy as np
    >>> interval_of_influence(0.75, np.array([-3, 1, 1, 1]) / 16).rounded(3), mean_interval([0, 1, 1, 1]).rounded(3)
    ((-0.046, 1.0), (-0.046, 1.546))
    """
    sums = influence if clusters is None else np.bincount(np.asarray(clusters), weights=influence)
    if len(sums) < 2 or not sums.any():
        return None
    half = t_quantile((1 + level) / 2, len(sums) - 1) * math.sqrt(len(sums) / (len(sums) - 1) * float(sums @ sums))
    return Interval(max(-1.0, value - half), min(1.0, value + half))


def is_without_spread(values: ArrayLike, spread: Spread) -> bool:
    """Whether all clusters have the same mean up to rounding, so that `spread` does not measure the error."""
    return spread.error <= _ROUNDING * float(np.abs(np.asarray(values, dtype=float)).max())


def _of_one_mean(spread: Spread, t: float, scale: tuple[float, float] | None) -> Interval | None:
    if scale is None or math.isinf(scale[1]) or not scale[0] <= spread.mean <= scale[1]:
        return None
    width = scale[1] - scale[0]
    low, high = score_interval((spread.mean - scale[0]) / width, spread.clusters, t)
    return Interval(scale[0] + width * low, scale[0] + width * high)


def wilson_clustered(values: ArrayLike, *, clusters: ArrayLike, level: float = 0.95) -> Interval:
    """Wilson's interval of a rate over values that are not independent (repeats, paraphrases, rotations).

    Wilson's equation with the number of independent trials that would give the clustered standard error,

        n_eff = min(n, p (1 - p) / SE^2), and G' where SE = 0,

    and the quantile of t with G' - 1 (at least 1) degrees of freedom in place of z. G' = n^2 / sum_g n_g^2 is the
    number of clusters, G, where all are of one size, and less where a few large ones dominate the mean. It keeps its
    level from about ten clusters on, where the plain CR1 interval falls to 0.92, and is no wider on average.

    Args:
        values: zeros and ones.
        clusters: a number per value, equal within a cluster.
        level: confidence level in (0, 1).

    A single cluster gives [0, 1].

    Source: effective sample size after E. L. Korn and B. I. Graubard, Survey Methodology 24, 1998 (they put it into the
    exact interval instead); clusters of unequal size after L. Kish, "Survey Sampling", 1965, and A. V. Carter,
    K. T. Schnepel and D. G. Steigerwald, Review of Economics and Statistics 99, 2017.

    >>> wilson_clustered([1] * 40, clusters=[i // 4 for i in range(40)]).rounded(2)  # 10 / (10 + 2.262157^2) = 0.6615
    (0.66, 1.0)
    """
    check_level(level)
    mean, error, n, count = clustered_spread(values, clusters)
    if count < 2:
        return Interval(0.0, 1.0)
    alike = is_without_spread(values, Spread(mean, error, n, count))
    balanced = balanced_clusters(clusters)
    effective = balanced if alike else min(n, mean * (1 - mean) / error**2)
    return score_interval(mean, effective, t_quantile((1 + level) / 2, max(1.0, balanced - 1)))


def balanced_clusters(clusters: ArrayLike) -> float:
    """The number of clusters of equal size with the same effective weight, after Kish."""
    sizes = np.unique(np.asarray(clusters), return_counts=True)[1].astype(float)
    return float(sizes.sum() ** 2 / (sizes @ sizes))


def check_values(data: NDArray[Any]) -> None:
    """Refuse values that have no mean.

    A NaN would make every result NaN, and a p-value 0, as no resample counts as extreme as it.

    Raises:
        ValueError: no value, or one that is not finite.
    """
    if len(data) == 0:
        raise ValueError("a mean needs at least one value")
    if not np.isfinite(data).all():
        raise ValueError("a mean needs finite numbers; these contain NaN or infinity")


def check_level(level: float) -> None:
    """Refuse a confidence level given in percent or out of range."""
    if not 0 < level < 1:
        raise ValueError(f"a confidence level lies between 0 and 1 (0.95 for 95 %), not {level}")


def check_counts(successes: int, n: int) -> None:
    """Refuse more successes than trials, and negative ones."""
    if not 0 <= successes <= n:
        raise ValueError(f"successes must lie between 0 and n, not {successes} of {n}")
