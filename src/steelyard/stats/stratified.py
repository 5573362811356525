"""The mean of group means, a macro average, and the share of a whole that was sampled in strata, with intervals.

A group of four questions weighs as much as one of four hundred, so the small groups determine the interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from steelyard.stats.arrays import Array
from steelyard.stats.binomial import clopper_pearson, score_interval_with_ties
from steelyard.stats.intervals import Interval, check_counts, check_level, check_values
from steelyard.stats.quantiles import t_quantile


class StratifiedMean(NamedTuple):
    """A mean of group means with its interval.

    Args:
        mean: of the group means, each with equal weight.
        interval: None where the spread is not known.
        error: the standard error behind the interval.
        df: degrees of freedom of its t quantile.
        strata: groups with a value.
    """

    mean: float
    interval: Interval | None
    error: float
    df: float
    strata: int


def stratified_mean(
    values: ArrayLike,
    strata: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
    scale: tuple[float, float] | None = (0.0, 1.0),
    rate: bool = True,
) -> StratifiedMean:
    """The unweighted mean of the means of H groups, with an interval by cluster.

    With m_h the mean of the n_h values of group h, which come from G_h clusters, and m the mean of the m_h:

        e_ch = sqrt(G_h / (G_h - 1)) * sum_{i in c and h} (s_i - m_h) / (H n_h)
        SE^2 = sum_c (sum_h e_ch)^2

    which for independent values is the variance of a stratified sample, sum_h v_h with v_h = s_h^2 / (H^2 n_h); a
    cluster that reaches over several groups counts as one. Groups of a single cluster have no spread of their own:
    they form one stratum together. A group of zeros alone, or ones alone, has v_h = q (1 - q) / (H^2 G_h) with
    q = (G_h m_h + 2 m) / (G_h + 2), as equal values do not show that there are no others; ties alone likewise.

    A rate gets the limits of `wilson_with_ties` (without ties Wilson's) for n_eff = (m (1 - m) - T / 4) / SE^2 trials,
    T the mean share of ties, other means m +- t SE; with t at (sum v_h)^2 / sum(v_h^2 / (G_h - 1)) degrees of freedom.

    Args:
        values: n >= 1 finite numbers.
        strata: a number per value, equal within a group.
        clusters: a number per value, equal within a cluster; None means that each value is its own cluster.
        level: confidence level in (0, 1).
        scale: lowest and highest possible value, where they are known.
        rate: whether the values are zeros and ones, or halves for ties.

    Source: W. G. Cochran, "Sampling techniques", 3rd edition, 1977, sections 5.3 and 5.4 (variance, degrees of freedom
    after Satterthwaite) and 5A.12 (groups of one, collapsed); effective n after Korn and Graubard 1998. The variance of
    groups without spread is ours. Measured coverage is in docs/reference/measurements.md.

    >>> macro = stratified_mean([1] * 9 + [0] + [1, 0, 1, 0], [0] * 10 + [1] * 4)
    >>> round(macro.mean, 2), macro.interval.rounded(2)
    (0.7, (0.28, 0.93))
    """
    check_level(level)
    data = np.asarray(values, dtype=float)
    check_values(data)
    groups = np.unique(np.asarray(strata), return_inverse=True)[1]
    parts = _parts_of_values(data, groups) if clusters is None else _parts_of_clusters(data, groups, clusters)
    mean, count = float(parts.means.mean()), len(parts.means)
    _pool_singles(parts, mean)
    total = np.bincount(parts.unit, weights=parts.sums)
    ties = np.bincount(groups, weights=rate * (data == 0.5)) / np.bincount(groups)
    flat = _flat(parts, mean, ties) if rate else np.zeros(count)
    # Not `total @ total`: a BLAS sums by the number of its threads, which also cost more than they save.
    variance = (float((total**2).sum()) + float(flat.sum())) / count**2
    own = np.bincount(parts.stratum, weights=parts.sums**2, minlength=count) + flat
    squares = float((own**2 / np.maximum(parts.sizes - 1, 1)).sum())
    # Without spread, or with one whose square underflows: the number of values minus that of groups.
    df = float(own.sum() ** 2 / squares) if squares else max(1.0, float(parts.sizes.sum()) - count)
    estimate = _Estimate(mean, variance, df, float(ties.mean()), parts.sizes.tolist(), int(np.ptp(parts.unit)) + 1)
    return StratifiedMean(mean, _interval(estimate, level, scale, rate=rate), math.sqrt(variance), df, count)


class _Parts(NamedTuple):
    """An entry per cluster and group of equal values: `stratum`, `unit`, `sums`; `means`, `sizes` (G_h) per group."""

    stratum: Array
    unit: Array
    sums: Array
    means: Array
    sizes: Array


class _Estimate(NamedTuple):
    mean: float
    variance: float
    df: float
    ties: float
    sizes: Sequence[int]
    units: int


def _parts_of_values(data: Array, groups: Array) -> _Parts:
    """The parts where each value is its own cluster."""
    counts = np.bincount(groups)
    means = np.bincount(groups, weights=data) / counts
    factor = np.sqrt(counts / np.maximum(counts - 1, 1))
    sums = (data - means[groups]) / counts[groups] * factor[groups]
    return _Parts(groups, np.arange(len(data)), sums, means, counts)


def _parts_of_clusters(data: Array, groups: Array, clusters: ArrayLike) -> _Parts:
    units = np.unique(np.asarray(clusters), return_inverse=True)[1]
    counts = np.bincount(groups)
    means = np.bincount(groups, weights=data) / counts
    pairs, at = np.unique(groups * (int(units.max()) + 1) + units, return_inverse=True)
    stratum, unit = np.divmod(pairs, int(units.max()) + 1)
    sizes = np.bincount(stratum)
    factor = np.sqrt(sizes / np.maximum(sizes - 1, 1))
    sums = np.bincount(at, weights=(data - means[groups]) / counts[groups]) * factor[stratum]
    return _Parts(stratum, unit, sums, means, sizes)


def _pool_singles(parts: _Parts, mean: float) -> None:
    """Give groups of one cluster the spread of their means; a single such group its distance from the mean."""
    single = np.flatnonzero(parts.sizes == 1)
    if not len(single):
        return
    centre = parts.means[single].mean() if len(single) > 1 else mean
    factor = math.sqrt(len(single) / max(len(single) - 1, 1))
    at = np.isin(parts.stratum, single)
    parts.sums[at] = (parts.means[parts.stratum[at]] - centre) * factor


def _flat(parts: _Parts, mean: float, ties: Array) -> Array:
    """The variance assumed for groups without spread (all wins, ties or losses); 0 for all other groups.

    Two average values of all groups are added; with q and s the new mean and mean square, v = (s - q^2) / G_h.
    """
    # The square of 0, 1/2 and 1 is the value itself, minus a quarter for a tie.
    squares = mean - float(ties.mean()) / 4
    shrunk = (parts.sizes * parts.means + 2 * mean) / (parts.sizes + 2)
    shrunk_squares = (parts.sizes * parts.means**2 + 2 * squares) / (parts.sizes + 2)
    alike = np.isin(parts.means, (0.0, 1.0)) | (ties == 1)
    flat: Array = np.where((parts.sizes > 1) & alike, (shrunk_squares - shrunk**2) / parts.sizes, 0.0)
    return flat


def _interval(estimate: _Estimate, level: float, scale: tuple[float, float] | None, *, rate: bool) -> Interval | None:
    sizes = estimate.sizes
    if estimate.units == 1:
        return Interval(0.0, 1.0) if rate else None
    t = t_quantile((1 + level) / 2, max(1.0, estimate.df))
    balanced = len(sizes) ** 2 / math.fsum(1 / size for size in sizes)
    if estimate.variance > 1e-24 and not rate:
        half = t * math.sqrt(estimate.variance)
        low, high = estimate.mean - half, estimate.mean + half
        return Interval(max(low, scale[0]), min(high, scale[1])) if scale else Interval(low, high)
    if scale is None or math.isinf(scale[1]):
        return None
    width = scale[1] - scale[0]
    share = min(1.0, max(0.0, (estimate.mean - scale[0]) / width))
    spread = estimate.variance / width**2
    alone = share * (1 - share) - estimate.ties / 4
    n = alone / spread if spread > 1e-24 and alone > 0 else balanced
    wins = max(0.0, share - estimate.ties / 2)
    losses = max(0.0, 1 - wins - estimate.ties)
    low, high = score_interval_with_ties(n * wins, n * estimate.ties, n * losses, t)
    return Interval(scale[0] + width * low, scale[0] + width * high)


class SampledStratum(NamedTuple):
    """A part of a whole: how many units it has, how many were inspected, and how many of these have the property."""

    size: int
    seen: int
    having: int


class StratifiedShare(NamedTuple):
    """A share of the whole with its interval; `value` is None where no unit was inspected."""

    value: float | None
    interval: Interval


def stratified_share(strata: Sequence[SampledStratum], level: float = 0.95) -> StratifiedShare:
    """The share of units with a property, weighted back to the sizes of the strata.

        p = sum_h W_h p_h        low = p - sqrt(sum_h (f_h W_h (p_h - l_h))^2)

    W_h is the size of stratum h over that of the whole, p_h = having / seen, l_h its lower limit by Clopper and
    Pearson, and f_h = sqrt((size - seen) / (size - 1)) its finite population correction: a stratum that was inspected
    completely has no error. The upper limit likewise. Of a stratum without inspected units, p_h is the mean of the
    others, its limits are 0 and 1.

    Exact limits, as strata are small and properties rare: of 300 populations with three strata, of which 10 to 50
    units are inspected, the interval holds the share in 93 to 100 % of draws. With Wilson's limits, which are a tenth
    narrower, it does in 85 to 100 %.

    Args:
        strata: at least one unit in all; 0 <= having <= seen <= size of each.
        level: confidence level in (0, 1).

    Raises:
        ValueError: invalid counts, or a level outside (0, 1).

    Source: W. G. Cochran, "Sampling techniques", 3rd edition, 1977, sections 5.2 and 2.6; the limits are joined by
    MOVER, G. Y. Zou, W. Huang and X. Zhang, "A note on confidence interval estimation for a linear function of
    binomial proportions", Computational Statistics and Data Analysis 53, 2009. The treatment of uninspected strata
    is ours.

    >>> stratified_share([SampledStratum(100, 50, 25), SampledStratum(900, 50, 0)]).interval.rounded(3)
    (0.04, 0.113)
    """
    check_level(level)
    nonempty = [stratum for stratum in strata if stratum.size > 0]
    for stratum in nonempty:
        check_counts(stratum.having, stratum.seen)
        if stratum.seen > stratum.size:
            raise ValueError(f"a stratum of {stratum.size:,} cannot have {stratum.seen:,} inspected units")
    total, seen = sum(stratum.size for stratum in nonempty), sum(stratum.size for stratum in nonempty if stratum.seen)
    if not seen:
        return StratifiedShare(None, Interval(0.0, 1.0))
    estimate = sum(stratum.size * stratum.having / stratum.seen for stratum in nonempty if stratum.seen) / seen
    below = above = 0.0
    for size, inspected, having in nonempty:
        weight = size / total
        share = having / inspected if inspected else estimate
        low, high = clopper_pearson(having, inspected, level) if inspected else (0.0, 1.0)
        correction = (size - inspected) / (size - 1) if size > 1 else float(inspected == 0)
        below += correction * (weight * (share - low)) ** 2
        above += correction * (weight * (high - share)) ** 2
    return StratifiedShare(
        estimate, Interval(max(0.0, estimate - math.sqrt(below)), min(1.0, estimate + math.sqrt(above)))
    )
