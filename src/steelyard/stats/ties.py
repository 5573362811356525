"""The interval of a mean of wins, ties and losses, with a tie as half a win; only the clustered one needs numpy.

Student's t is not used: one tie among wins gives a spread so small that 19 wins and a tie get a narrower interval than
20 wins. A score interval computes the variance at each mean that it tests, and not at the observed one.
"""

# Why it is so, and what was rejected: docs/decisions/stats-own-code.md

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from steelyard.stats.intervals import (
    Interval,
    balanced_clusters,
    check_level,
    clustered_spread,
    is_without_spread,
    score_interval,
    wilson_clustered,
)
from steelyard.stats.quantiles import normal_quantile, t_quantile

_PRECISION: Final = 1e-13
_LARGEST_CORRECTION: Final = 1.5
"""In half wins, for a single tie. Less leaves cells below 94 % coverage at 10 to 20 comparisons and rates near 1."""


def wilson_with_ties(wins: int, ties: int, losses: int, level: float = 0.95) -> Interval:
    """Score interval of the mean P(win) + P(tie) / 2; without ties it is Wilson's interval of the win rate.

    With x the observed mean (wins + ties / 2) / n and z the normal quantile of (1 + level) / 2, all means m with

        |x - m| <= z sqrt(V(m) / n) + h,     V(m) = (p + q - (p - q)^2) / 4,

    where p and q are the probabilities of a win and a loss that fit the data best among those with the mean m:
    p = q + d, d = 2m - 1, and q is the larger root of

        2n q^2 + ((2n - wins + losses) d - wins - losses) q - losses d (1 - d) = 0.

    h is a continuity correction: 0 without ties, else c / 2n with c = min(3/2, 1 + n / 20) (1 + 1 / ties) / 2. With a
    single tie the mean moves in steps of a whole win, with many ties in steps of half a win. Smaller sets get less,
    so that no limit rises by more than 0.01 when a win becomes a tie or a tie becomes a loss. With at least as many
    wins as losses the lower limit is never below Wilson's with all ties lost, so it does not rise at all; with at
    least as many losses the upper limit is never above Wilson's with all ties won.

    Args:
        wins: comparisons won, at least 0.
        ties: comparisons without a winner, each half a win.
        losses: comparisons lost. No comparison at all gives [0, 1].
        level: confidence level in (0, 1).

    Source: T. Tango, "Equivalence test and confidence interval for the difference in proportions for the paired-sample
    design", Statistics in Medicine 17, 891-908, 1998: wins and losses are his discordant pairs, and m = (1 + d) / 2.
    The continuity correction is ours; coverage and width by exact enumeration are in docs/reference/measurements.md.

    >>> wilson_with_ties(19, 0, 0).rounded(4), wilson_with_ties(19, 1, 0).rounded(4)
    ((0.8318, 1.0), (0.7639, 1.0))

    Of ties alone q = 1 - 2m below 1/2, and (q - 2h)^2 = z^2 q (1 - q) / n; for n = 10: 2h = 0.0825, q = 0.38393.

    >>> wilson_with_ties(0, 10, 0).rounded(4)
    (0.308, 0.692)
    """
    check_level(level)
    if min(wins, ties, losses) < 0:
        raise ValueError(f"counts cannot be negative: {wins} wins, {ties} ties, {losses} losses")
    if wins + ties + losses == 0:
        return Interval(0.0, 1.0)
    return score_interval_with_ties(wins, ties, losses, normal_quantile((1 + level) / 2))


def wilson_with_ties_clustered(values: ArrayLike, *, clusters: ArrayLike, level: float = 0.95) -> Interval:
    """The interval of `wilson_with_ties` over values that are not independent; without ties `wilson_clustered`.

    The same limits from as many independent comparisons as would have the clustered standard error,

        n_eff = min(n, v / SE^2), and G' where SE = 0,     v = mean of the squared deviations of the n values,

    with wins, ties and losses in their observed shares, and with t in place of z as in `wilson_clustered`.

    Args:
        values: 0, 1/2 or 1, one per comparison.
        clusters: a number per value, equal within a cluster. A single cluster gives [0, 1].
        level: confidence level in (0, 1).

    Raises:
        ValueError: another value, or no value.

    Source: as `wilson_with_ties` and `wilson_clustered`.

    Eight values with v = 1/8 in four clusters with SE^2 = 1/96 keep n_eff = min(8, 12) = 8.

    >>> wilson_with_ties_clustered([1, 1, 0.5, 1, 1, 0.5, 1, 0], clusters=[0, 0, 1, 1, 2, 2, 3, 3]).rounded(2)
    (0.25, 0.97)
    """
    check_level(level)
    data = np.asarray(values, dtype=float)
    if not np.isin(data, (0.0, 0.5, 1.0)).all():
        raise ValueError("a comparison must be 1 (win), 0.5 (tie) or 0 (loss)")
    spread = clustered_spread(data, clusters)
    wins, ties = float(np.mean(data == 1)), float(np.mean(data == 0.5))
    if not ties or spread.clusters < 2:
        return wilson_clustered(data, clusters=clusters, level=level)
    balanced = balanced_clusters(clusters)
    alike = is_without_spread(data, spread)
    n = balanced if alike else min(float(spread.n), float(data.var()) / spread.error**2)
    t = t_quantile((1 + level) / 2, max(1.0, balanced - 1))
    return score_interval_with_ties(n * wins, n * ties, n * (1 - wins - ties), t)


def score_interval_with_ties(wins: float, ties: float, losses: float, z: float) -> Interval:
    """Both limits; counts may be fractions with a positive sum, and without ties it is `score_interval`."""
    n = wins + ties + losses
    if not ties:
        return score_interval(wins / n, n, z)
    correction = min(_LARGEST_CORRECTION, 1 + n / 20) * (1 + 1 / max(1.0, ties)) / (4 * n)
    low = _lower_limit((wins, ties, losses), z, correction)
    high = 1 - _lower_limit((losses, ties, wins), z, correction)
    # Applying both bounds would lower the coverage, to 90 % at n = 11: the limit nearer to an end of the scale has to
    # stay where it is.
    if wins >= losses:
        low = max(low, score_interval(wins / n, n, z).low)
    if wins <= losses:
        high = min(high, score_interval((wins + ties) / n, n, z).high)
    return Interval(low, high)


def _lower_limit(counts: tuple[float, float, float], z: float, correction: float) -> float:
    """The smallest mean that the score test does not reject, by halving; 1 minus it, mirrored, is the upper limit.

    Args:
        counts: of wins, ties and losses.
        z: normal or t quantile.
        correction: for continuity, in units of the mean.
    """
    wins, ties, losses = counts
    n = wins + ties + losses
    corrected = (wins + ties / 2) / n - correction
    low, high = 0.0, max(0.0, corrected)
    while high - low > _PRECISION:
        mean = (low + high) / 2
        if corrected - mean > z * math.sqrt(_variance_at(mean, wins, ties, losses) / n):
            low = mean
        else:
            high = mean
    return low


def _variance_at(mean: float, wins: float, ties: float, losses: float) -> float:
    """The variance of one comparison under the most likely probabilities with this mean."""
    n, difference = wins + ties + losses, 2 * mean - 1
    half = ((2 * n - wins + losses) * difference - wins - losses) / (4 * n)
    product = losses * difference * (1 - difference) / (2 * n)
    lost = math.sqrt(max(0.0, half * half + product)) - half
    # Rounding aside, the root is a probability, and so is that of a win.
    lost = min(max(lost, 0.0, -difference), (1 - difference) / 2)
    return (2 * lost + difference - difference * difference) / 4
