"""The difference of two means over the same clusters, which may have more values under one condition than the other.

Conversations of two systems are of different length: their turns make no pairs, but the conversations do.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.stats.intervals import (
    Interval,
    check_level,
    check_values,
    clustered_spread,
    mean_interval,
    wilson_clustered,
)
from steelyard.stats.paired import difference_reach, sign_flip

Array = NDArray[Any]


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
