"""Means whose values weigh differently, and the difference of two means over the same clusters, with intervals.

Questions of an exam may be worth different numbers of points. Conversations of two systems are of different length:
their turns make no pairs, but the conversations do.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from steelyard.stats.arrays import Array
from steelyard.stats.intervals import (
    Interval,
    Spread,
    check_level,
    check_values,
    clustered_spread,
    interval_of_spread,
    mean_interval,
    score_interval,
    wilson_clustered,
)
from steelyard.stats.paired import difference_reach, sign_flip
from steelyard.stats.quantiles import normal_quantile, t_quantile

_ROUNDING: Final = 1e-12


class WeightedMean(NamedTuple):
    """A weighted mean with its interval.

    Args:
        mean: sum of weight times value over the sum of the weights.
        interval: None where the spread is not known.
        error: its standard error; infinite for a single cluster.
        effective: the number of clusters of equal weight that would be as informative, after Kish.
    """

    mean: float
    interval: Interval | None
    error: float
    effective: float


def weighted_mean(
    values: ArrayLike,
    weights: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
    scale: tuple[float, float] | None = None,
) -> WeightedMean:
    """The mean of values that weigh differently, the weights taken as they are given.

    With m = sum w_i s_i / sum w_i, and W_g and e_g the sums of w_i and of w_i (s_i - m) / sum w_i over cluster g:

        SE^2 = G / (G - 1) * sum_g e_g^2,      G' = (sum_g W_g)^2 / sum_g W_g^2

    Zeros and ones get Wilson's equation with G' trials; in clusters, with the trials that would give SE, as in
    `wilson_clustered`. Other values get Student's interval with G' - 1 degrees of freedom. With equal weights these are
    `wilson`, `wilson_clustered` and `mean_interval`.

    Args:
        values: n >= 1 finite numbers.
        weights: of each, 0 or more.
        clusters: a number per value, equal within a cluster; None means that each value is its own cluster.
        level: confidence level in (0, 1).
        scale: lowest and highest possible value, where they are known; the limits never leave it.

    Raises:
        ValueError: no value, one that is not finite, a negative weight, or weights that sum to 0.

    Source: the ratio of two sums by cluster, W. G. Cochran, "Sampling Techniques", 3rd edition, 1977, section 6.3;
    the effective number after L. Kish, "Survey Sampling", 1965, section 11.7. Its use in Wilson's equation is ours.

    >>> weighted_mean([1, 1, 0], [5, 2, 3]).mean, weighted_mean([1, 0], [3, 3]).interval.rounded(2)
    (0.7, (0.09, 0.91))
    """
    check_level(level)
    data, w = np.asarray(values, dtype=float), np.asarray(weights, dtype=float)
    check_values(data)
    if not np.isfinite(w).all() or (w < 0).any():
        raise ValueError("a weight is a finite number, 0 or more")
    total = float(w.sum())
    if total <= 0:
        raise ValueError("the weights sum to 0, so there is no mean")
    mean = float(w @ data) / total
    sums, sizes = w * (data - mean) / total, w
    if clusters is not None:
        at = np.unique(np.asarray(clusters), return_inverse=True)[1]
        sums, sizes = (np.bincount(at, weights=part).astype(float) for part in (sums, w))
    count = int((sizes > 0).sum())
    effective = total**2 / float((sizes**2).sum())
    error = float(np.sqrt(count / (count - 1) * (sums**2).sum())) if count > 1 else float("inf")
    spread = Spread(mean, error, len(data), count)
    if not np.isin(data, (0.0, 1.0)).all():
        return WeightedMean(mean, _of_means(spread, effective, level, scale), error, effective)
    if clusters is None:
        return WeightedMean(mean, score_interval(mean, effective, normal_quantile((1 + level) / 2)), error, effective)
    most = total**2 / float((w**2).sum())
    return WeightedMean(mean, _of_clusters(spread, effective, most, level), error, effective)


def _of_clusters(spread: Spread, effective: float, most: float, level: float) -> Interval:
    """Wilson's equation with the trials that would give the clustered error, at most as many as single values give."""
    if spread.clusters < 2:
        return Interval(0.0, 1.0)
    mean, error = spread.mean, spread.error
    trials = min(most, mean * (1 - mean) / error**2) if error > _ROUNDING else effective
    return score_interval(mean, trials, t_quantile((1 + level) / 2, max(1.0, effective - 1)))


def _of_means(spread: Spread, effective: float, level: float, scale: tuple[float, float] | None) -> Interval | None:
    """Student's interval with effective - 1 degrees of freedom; that of `mean_interval` where there is no spread."""
    if spread.clusters < 2 or spread.error <= _ROUNDING:
        return interval_of_spread(spread, 1.0, level=level, scale=scale)
    half = t_quantile((1 + level) / 2, max(1.0, effective - 1)) * spread.error
    low, high = spread.mean - half, spread.mean + half
    return Interval(max(low, scale[0]), min(high, scale[1])) if scale else Interval(low, high)


class ClusteredDifference(NamedTuple):
    """The difference of two means over the same clusters.

    Args:
        first: mean over all values of the first condition; likewise `second`.
        interval: of first - second; None where its spread is not known from the clusters.
        p: two-sided, of the hypothesis that swapping the conditions within a cluster changes nothing.
        clusters: how many there are.
        error: standard error of the difference; infinite for a single cluster.
    """

    first: float
    second: float
    interval: Interval | None
    p: float
    clusters: int
    error: float

    @property
    def difference(self) -> float:
        """The first mean minus the second."""
        return self.first - self.second


def clustered_difference(
    first: tuple[ArrayLike, ArrayLike], second: tuple[ArrayLike, ArrayLike], *, rate: bool, level: float = 0.95
) -> ClusteredDifference:
    """The difference of two means whose values lie in the same G clusters, paired by cluster and not one by one.

    With e_g and f_g the sums of a cluster's deviations from the mean of n1 and of n2 values:

        SE^2 = G / (G - 1) * sum_g (e_g / n1 - f_g / n2)^2

    The interval is Student's with G - 1 degrees of freedom. That of two rates is Newcombe's from the limits of
    `wilson_clustered` and phi = C / (SE1 SE2), C = G / (G - 1) * sum_g e_g f_g / (n1 n2); it stays in [-1, 1]. The test
    flips the sign of each cluster's part of the difference, taken around the mean of all values: with as many values
    on both sides of each cluster that is `sign_flip` by cluster, and the interval that of `newcombe_clustered`.

    Args:
        first: the values, and of each the number of its cluster.
        second: likewise; every cluster occurs on both sides.
        rate: whether all values are 0 or 1.
        level: confidence level in (0, 1).

    Raises:
        ValueError: no value, one that is not finite, or a cluster that one side lacks.

    Source: a ratio of sums over clusters after W. G. Cochran, "Sampling Techniques", 3rd edition, 1977, section 6.3;
    Newcombe 1998, method 10, on clustered limits as in `newcombe_clustered`. Their use for conversations is ours.

    >>> clustered_difference(([1, 1, 0, 1], [0, 0, 1, 2]), ([0, 0, 1], [0, 1, 2]), rate=True).difference.__round__(4)
    0.4167
    """
    check_level(level)
    (values1, at1, n1), (values2, at2, n2), count = _sides(first, second)
    mean1, mean2 = float(values1.mean()), float(values2.mean())
    sums1 = np.bincount(at1, weights=values1 - mean1, minlength=count)
    sums2 = np.bincount(at2, weights=values2 - mean2, minlength=count)
    influence = sums1 / n1 - sums2 / n2
    error = math.sqrt(count / (count - 1) * float(influence @ influence)) if count > 1 else math.inf
    pooled = float((values1.sum() + values2.sum()) / (n1 + n2))
    parts = np.bincount(at1, weights=values1 - pooled, minlength=count) / n1
    parts -= np.bincount(at2, weights=values2 - pooled, minlength=count) / n2
    if rate:
        interval: Interval | None = _of_rates((values1, at1, sums1), (values2, at2, sums2), level)
    else:
        interval = mean_interval(mean1 - mean2 + count * influence, level=level)
    return ClusteredDifference(mean1, mean2, interval, sign_flip(parts), count, error)


def _sides(
    first: tuple[ArrayLike, ArrayLike], second: tuple[ArrayLike, ArrayLike]
) -> tuple[tuple[Array, Array, int], tuple[Array, Array, int], int]:
    """Of each side the values, their cluster numbers (0 to G - 1) and their count; then G."""
    values = [np.asarray(side[0], dtype=float) for side in (first, second)]
    for data in values:
        check_values(data)
    names = [np.unique(np.asarray(side[1]), return_inverse=True) for side in (first, second)]
    if not np.array_equal(names[0][0], names[1][0]):
        raise ValueError("every cluster must have a value on both sides")
    left, right = ((data, name[1], len(data)) for data, name in zip(values, names, strict=True))
    return left, right, len(names[0][0])


def _of_rates(first: tuple[Array, Array, Array], second: tuple[Array, Array, Array], level: float) -> Interval:
    (values1, at1, sums1), (values2, at2, sums2) = first, second
    spread1, spread2 = clustered_spread(values1, at1), clustered_spread(values2, at2)
    if spread1.clusters < 2:
        return Interval(-1.0, 1.0)
    l1, u1 = wilson_clustered(values1, clusters=at1, level=level)
    l2, u2 = wilson_clustered(values2, clusters=at2, level=level)
    p1, p2, errors, phi = spread1.mean, spread2.mean, spread1.error * spread2.error, 0.0
    if errors > 0:
        covariance = spread1.clusters / (spread1.clusters - 1) * float(sums1 @ sums2) / (spread1.n * spread2.n)
        if covariance > 0:  # lowered for few values, as in `newcombe_clustered`
            n, alone = min(spread1.n, spread2.n), math.sqrt(p1 * (1 - p1) * p2 * (1 - p2))
            covariance = max(0.0, covariance - 1 / (2 * n * min(n, alone / errors)))
        phi = covariance / errors
    low, high = difference_reach(p1 - l1, u2 - p2, phi), difference_reach(p2 - l2, u1 - p1, phi)
    return Interval(max(-1.0, p1 - p2 - low), min(1.0, p1 - p2 + high))
