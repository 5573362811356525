"""A weighted mean with its interval: questions of an exam that are worth different numbers of points."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from steelyard.stats.intervals import (
    Interval,
    Spread,
    check_level,
    check_values,
    interval_of_spread,
    score_interval,
)
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
    if not np.isin(data, (0.0, 1.0)).all():
        return WeightedMean(
            mean, _of_means(Spread(mean, error, len(data), count), effective, level, scale), error, effective
        )
    if clusters is None:
        return WeightedMean(mean, score_interval(mean, effective, normal_quantile((1 + level) / 2)), error, effective)
    if count < 2:
        return WeightedMean(mean, Interval(0.0, 1.0), error, effective)
    most = total**2 / float((w**2).sum())
    trials = min(most, mean * (1 - mean) / error**2) if error > _ROUNDING else effective
    limits = score_interval(mean, trials, t_quantile((1 + level) / 2, max(1.0, effective - 1)))
    return WeightedMean(mean, limits, error, effective)


def _of_means(spread: Spread, effective: float, level: float, scale: tuple[float, float] | None) -> Interval | None:
    """Student's interval with effective - 1 degrees of freedom; that of `mean_interval` where there is no spread."""
    if spread.clusters < 2 or spread.error <= _ROUNDING:
        return interval_of_spread(spread, 1.0, level=level, scale=scale)
    half = t_quantile((1 + level) / 2, max(1.0, effective - 1)) * spread.error
    low, high = spread.mean - half, spread.mean + half
    return Interval(max(low, scale[0]), min(high, scale[1])) if scale else Interval(low, high)
