"""Paired differences: the same samples under two conditions. McNemar and Newcombe on `math`, the rest on numpy.

Pairing matters: with 60 pairs right twice, 16 and 6 right once and 18 never, the paired standard error of the
difference is 0.046, that of two independent sets of 100 would be 0.064.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from steelyard.stats.arrays import Array
from steelyard.stats.binomial import binomial_test, log_chance
from steelyard.stats.bootstrap import bca_bootstrap, blocks_of, cluster_sums, percentile_bootstrap, worth_grouping
from steelyard.stats.intervals import Interval, check_level, clustered_spread, wilson, wilson_clustered

_COUNTED_OUT: Final = 13
"""Most clusters for which all signs are tried: 2^13 = 8,192 ways, fewer than would be drawn at random."""
_FINEST: Final = 60
"""Sums of means over up to 6 repeats are whole numbers of a 60th."""
_MOST_CELLS: Final = 500_000_000
"""Clusters times sum: 0.4 s, as long as the draws take."""


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """Two-sided exact p-value of McNemar's test: are the pairs that differ split evenly?

    With n = b + c pairs that differ and k = min(b, c): p = min(1, 2 * sum_{i <= k} C(n, i) / 2^n); 1 when n = 0.

    Args:
        only_first: b, pairs that only the first side solved.
        only_second: c, pairs that only the second side solved.

    Source: Q. McNemar, Psychometrika 12, 1947; the exact binomial form, not the chi-squared approximation.

    >>> round(mcnemar_exact(16, 6), 6)
    0.052479
    """
    if min(only_first, only_second) < 0:
        raise ValueError(f"counts of pairs cannot be negative: {only_first}, {only_second}")
    return binomial_test(min(only_first, only_second), only_first + only_second)


def mcnemar_mid_p(only_first: int, only_second: int) -> float:
    """Two-sided mid-p-value of McNemar's test: the exact one with half the chance of the observed split.

    With n = b + c pairs that differ and k = min(b, c): p = 2 * sum_{i <= k} C(n, i) / 2^n - C(n, k) / 2^n; 1 when n = 0
    or b = c. The exact test is conservative: at a nominal 5 % it has 1 to 4 % false alarms on up to some hundred
    pairs. This one has 3 to 5 %, rarely a little more.

    Args:
        only_first: b, pairs that only the first side solved.
        only_second: c, pairs that only the second side solved.

    Source: M. W. Fagerland, S. Lydersen and P. Laake, "The McNemar test for binary matched-pairs data", BMC Medical
    Research Methodology 13:91, 2013. For b = c they give 1 - C(n, k) / 2^(n + 1); here it is 1, twice one half.

    >>> round(mcnemar_mid_p(16, 6), 6)
    0.03469
    """
    exact = mcnemar_exact(only_first, only_second)
    if only_first == only_second:
        return 1.0
    return exact - math.exp(log_chance(min(only_first, only_second), only_first + only_second, 0.5))


def newcombe_paired(both: int, only_first: int, only_second: int, neither: int, level: float = 0.95) -> Interval:
    """Interval of the difference first - second between two rates over the same pairs.

    With Wilson intervals (l1, u1), (l2, u2) of the two rates p1, p2 and the correlation phi of the table:

        low  = p1 - p2 - sqrt((p1 - l1)^2 - 2 phi (p1 - l1)(u2 - p2) + (u2 - p2)^2)
        high = p1 - p2 + sqrt((p2 - l2)^2 - 2 phi (p2 - l2)(u1 - p1) + (u1 - p1)^2)

    phi = q / sqrt(product of the four marginal totals), q = both * neither - only_first * only_second; a positive q
    is first lowered by n / 2, but not below 0; phi = 0 when a marginal total is 0. No pairs give [-1, 1].

    Source: R. G. Newcombe, "Improved confidence intervals for the difference between binomial proportions based on
    paired data", Statistics in Medicine 17, 2635-2650, 1998, method 10.

    >>> newcombe_paired(59, 6, 16, 80).rounded(4)
    (-0.1186, -0.0046)
    """
    check_level(level)
    if min(both, only_first, only_second, neither) < 0:
        raise ValueError("counts of pairs cannot be negative")
    n = both + only_first + only_second + neither
    if n == 0:
        return Interval(-1.0, 1.0)
    first, second = both + only_first, both + only_second
    p1, p2, phi = first / n, second / n, _phi(both, only_first, only_second, neither)
    (l1, u1), (l2, u2) = wilson(first, n, level), wilson(second, n, level)
    difference = (only_first - only_second) / n
    down, up = difference_reach(p1 - l1, u2 - p2, phi), difference_reach(p2 - l2, u1 - p1, phi)
    return Interval(max(-1.0, difference - down), min(1.0, difference + up))


def _phi(both: int, only_first: int, only_second: int, neither: int) -> float:
    margins = (both + only_first) * (only_second + neither) * (both + only_second) * (only_first + neither)
    if margins == 0:
        return 0.0
    q = float(both * neither - only_first * only_second)
    if q > 0:
        q = max(0.0, q - (both + only_first + only_second + neither) / 2)
    return q / math.sqrt(margins)


def newcombe_clustered(first: ArrayLike, second: ArrayLike, *, clusters: ArrayLike, level: float = 0.95) -> Interval:
    """Interval of the difference first - second between two rates over the same pairs, in clusters.

    The equation of `newcombe_paired`, with limits from `wilson_clustered` in place of Wilson's, and with the
    correlation of the two rates' clustered errors in place of that of the table: with e and f the sums of a cluster's
    deviations from either rate,

        phi = C / (SE1 SE2),    C = G / (G - 1) * sum_g e_g f_g / n^2

    where a positive C is first lowered by 1 / (2 n n_eff), but not below 0; n_eff = sqrt(p1 (1 - p1) p2 (1 - p2)) /
    (SE1 SE2), at most n. With a pair per cluster this is `newcombe_paired` with t in place of z. It keeps its level
    from ten clusters on, where the bootstrap by cluster falls to 0.9.

    Args:
        first: zeros and ones, one per pair.
        second: of the other side, in the same order.
        clusters: a number per pair, equal within a cluster.
        level: confidence level in (0, 1).

    A single cluster gives [-1, 1].

    Source: Newcombe 1998, method 10, on clustered limits as in Z. Yang, X. Sun and J. W. Hardin, "Confidence intervals
    for the difference of marginal probabilities in clustered matched-pair binary data", Pharmaceutical Statistics 11,
    2012; their limits and correlation are other estimates of the same quantities.

    >>> newcombe_clustered([1, 1, 1, 0, 1, 0], [1, 0, 0, 0, 1, 0], clusters=[1, 1, 2, 2, 3, 3]).rounded(2)
    (-0.45, 0.76)
    """
    spread1, spread2 = clustered_spread(first, clusters), clustered_spread(second, clusters)
    l1, u1 = wilson_clustered(first, clusters=clusters, level=level)
    l2, u2 = wilson_clustered(second, clusters=clusters, level=level)
    if spread1.clusters < 2:
        return Interval(-1.0, 1.0)
    difference, phi = spread1.mean - spread2.mean, _clustered_phi(first, second, clusters)
    low = difference_reach(spread1.mean - l1, u2 - spread2.mean, phi)
    high = difference_reach(spread2.mean - l2, u1 - spread1.mean, phi)
    return Interval(max(-1.0, difference - low), min(1.0, difference + high))


def _clustered_phi(first: ArrayLike, second: ArrayLike, clusters: ArrayLike) -> float:
    spread1, spread2 = clustered_spread(first, clusters), clustered_spread(second, clusters)
    errors = spread1.error * spread2.error
    if errors <= 0:
        return 0.0
    (sums1, sizes), (sums2, _) = cluster_sums(first, clusters), cluster_sums(second, clusters)
    products = float((sums1 - spread1.mean * sizes) @ (sums2 - spread2.mean * sizes))
    covariance = spread1.clusters / (spread1.clusters - 1) * products / spread1.n**2
    if covariance > 0:
        alone = math.sqrt(spread1.mean * (1 - spread1.mean) * spread2.mean * (1 - spread2.mean))
        covariance = max(0.0, covariance - 1 / (2 * spread1.n * min(spread1.n, alone / errors)))
    return covariance / errors


def difference_reach(reach1: float, reach2: float, phi: float) -> float:
    """The distance of a limit from a difference, given the distances of the limits of its two rates."""
    return math.sqrt(max(0.0, reach1**2 - 2 * phi * reach1 * reach2 + reach2**2))


def bootstrap_difference(
    differences: ArrayLike, *, clusters: ArrayLike | None = None, level: float = 0.95, seed: int = 0
) -> Interval | None:
    """`percentile_bootstrap` of paired differences second - first (or the reverse), one per pair.

    >>> bootstrap_difference([1] * 16 + [-1] * 6 + [0] * 78).rounded(2)
    (0.01, 0.19)
    """
    _expect_pairs(differences)
    return percentile_bootstrap(differences, clusters=clusters, level=level, seed=seed)


def bca_difference(
    differences: ArrayLike, *, clusters: ArrayLike | None = None, level: float = 0.95, seed: int = 0
) -> Interval | None:
    """`bca_bootstrap` of paired differences second - first (or the reverse), one per pair.

    >>> bca_difference([1] * 16 + [-1] * 6 + [0] * 78).rounded(2)
    (0.01, 0.19)
    """
    _expect_pairs(differences)
    return bca_bootstrap(differences, clusters=clusters, level=level, seed=seed)


def _expect_pairs(differences: ArrayLike) -> None:
    if len(np.asarray(differences)) == 0:
        raise ValueError("a difference needs at least one pair")


def sign_flip(differences: ArrayLike, *, clusters: ArrayLike | None = None, seed: int = 0) -> float:
    """Two-sided p-value of the hypothesis that swapping the two sides of a pair changes nothing.

    Each cluster's sum of differences gets a sign, + or -. Up to 13 clusters with a sum other than 0, all 2^G ways are
    tried, and p is the share whose sum is at least as far from 0 as the observed sum. Above that the share is computed
    exactly where all sums are multiples of one number, as those of zeros and ones are: the chances of the sum of the
    positive ones come from adding cluster after cluster. Other sums get signs that are drawn, B = 9,999 times (fewer
    above 2,000 clusters, down to 999): p = (1 + number of such draws) / (1 + B). It is 1 when all differences are 0.

    Args:
        differences: one per pair.
        clusters: a number per pair, equal within a cluster, flipped together; None means that pairs are independent.
        seed: of numpy's default generator.

    Source: R. A. Fisher, "The Design of Experiments", 1935, section 21; the sums after M. Pagano and D. Tritchler, "On
    obtaining permutation distributions in polynomial time", JASA 78, 1983; the added 1 after B. Phipson and
    G. K. Smyth, Statistical Applications in Genetics and Molecular Biology 9, 2010.

    >>> sign_flip([0, 0, 0]), round(sign_flip([1] * 16 + [-1] * 6), 6)  # of single pairs it is McNemar's
    (1.0, 0.052479)
    """
    _expect_pairs(differences)
    signed = cluster_sums(differences, clusters)[0]
    sums = np.abs(signed)
    sums = sums[sums > 1e-12 * sums.max()]
    # Sums of the same numbers in another order differ by rounding; they must count as equal.
    reach = abs(float(signed.sum())) - 1e-9 * float(sums.sum())
    if len(sums) <= _COUNTED_OUT:
        return float(np.mean(np.abs(_every_sign(len(sums)) @ sums) >= reach))
    if (exact := _of_whole_sums(sums, reach)) is not None:
        return exact
    sizes, counts = np.unique(sums, return_counts=True)
    rng = np.random.default_rng(seed)
    grouped, extreme, blocks = worth_grouping(counts, len(sums)), 0, blocks_of(len(sums))
    for rows in blocks:
        if grouped:
            flipped = (2 * rng.binomial(counts, 0.5, size=(rows, len(counts))) - counts) @ sizes
        else:
            flipped = (2 * rng.integers(0, 2, size=(rows, len(sums)), dtype=np.int8) - 1) @ sums
        extreme += int(np.count_nonzero(np.abs(flipped) >= reach))
    return (1 + extreme) / (1 + sum(blocks))


def _of_whole_sums(sums: Array, reach: float) -> float | None:
    """The exact share of signs with which these sums reach so far; None where they are no multiples of one number."""
    relative = sums / sums.min()
    fits = (n for n in range(1, _FINEST + 1) if np.abs(relative * n - np.rint(relative * n)).max() < 1e-9 * n)
    finest = next(fits, 0)
    whole = np.rint(relative * finest).astype(int)
    total = int(whole.sum())
    if not finest or total * len(whole) > _MOST_CELLS:
        return None
    chances = np.ones(1)
    for size in whole.tolist():
        half = np.append(chances / 2, np.zeros(size))
        half[size:] += chances / 2
        chances = half
    off = np.abs(2 * np.arange(total + 1) - total)
    return float(chances[off * sums.min() / finest >= reach].sum())


def _every_sign(clusters: int) -> Array:
    """A row of -1 and 1 for each way to sign so many numbers."""
    bits = np.arange(1 << clusters)[:, None] >> np.arange(clusters)
    signs: Array = 2.0 * (bits & 1) - 1
    return signs
