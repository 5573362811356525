"""Exact statistics of a count, k successes in n independent trials, and a score interval where a tie is half a win.

Only the interval by cluster needs numpy. Student's t is not used for ties: one tie among wins gives a spread so small
that 19 wins and a tie get a narrower interval than 20 wins. A score interval computes the variance at each mean that it
tests, and not at the observed one.
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
    check_counts,
    check_level,
    clustered_spread,
    is_without_spread,
    score_interval,
    wilson_clustered,
)
from steelyard.stats.quantiles import beta_quantile, log_beta, normal_quantile, t_quantile

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
    return exact_limits(successes, n, level)


def exact_limits(successes: float, n: float, level: float) -> Interval:
    """The limits of `clopper_pearson`, also of effective counts, which need not be whole."""
    low = beta_quantile((1 - level) / 2, successes, n - successes + 1) if successes > 0 else 0.0
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
