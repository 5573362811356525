"""Paired differences: the same samples under two conditions. McNemar and Newcombe on `math`, the rest on numpy.

Pairing matters: with 60 pairs right twice, 16 and 6 right once and 18 never, the paired standard error of the
difference is 0.046, that of two independent sets of 100 would be 0.064.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from steelyard.stats.binomial import binomial_test, log_chance
from steelyard.stats.intervals import Interval, check_level, wilson

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[Any]

RESAMPLES: Final = 9_999
_DRAWS: Final = 20_000_000
_CELLS_AT_ONCE: Final = 2_000_000


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
    or b = c. The exact test is conservative: at a nominal 5 % it raises 2 to 4 % false alarms on dozens of pairs. This
    one raises close to 5 %, rarely a little more.

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
    down = (p1 - l1) ** 2 - 2 * phi * (p1 - l1) * (u2 - p2) + (u2 - p2) ** 2
    up = (p2 - l2) ** 2 - 2 * phi * (p2 - l2) * (u1 - p1) + (u1 - p1) ** 2
    return Interval(max(-1.0, difference - math.sqrt(down)), min(1.0, difference + math.sqrt(up)))


def _phi(both: int, only_first: int, only_second: int, neither: int) -> float:
    margins = (both + only_first) * (only_second + neither) * (both + only_second) * (only_first + neither)
    if margins == 0:
        return 0.0
    q = float(both * neither - only_first * only_second)
    if q > 0:
        q = max(0.0, q - (both + only_first + only_second + neither) / 2)
    return q / math.sqrt(margins)


def bootstrap_difference(
    differences: ArrayLike, *, clusters: ArrayLike | None = None, level: float = 0.95, seed: int = 0
) -> Interval | None:
    """Percentile bootstrap interval of a mean difference, resampling clusters (by default single pairs).

    9,999 times G clusters are drawn with replacement; each draw gives sum of differences / number of pairs. Above
    2,000 clusters there are fewer draws, down to 999, where the limits no longer need them.

    Args:
        differences: second - first (or the reverse), one per pair.
        clusters: a number per pair, equal within a cluster; None means that pairs are independent.
        level: confidence level in (0, 1).
        seed: of numpy's default generator; equal seeds give equal intervals.

    Returns None when all clusters are alike (a single one included): the data say nothing about the spread.

    Source: B. Efron and R. J. Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13; by cluster as in
    A. C. Davison and D. V. Hinkley, "Bootstrap Methods and their Application", 1997, section 3.8.

    >>> bootstrap_difference([1] * 16 + [-1] * 6 + [0] * 78).rounded(2)
    (0.01, 0.19)
    """
    import numpy as np

    check_level(level)
    sums, sizes = _cluster_sums(differences, clusters)
    alike, counts = np.unique(np.stack([sums, sizes]), axis=1, return_counts=True)
    if alike.shape[1] < 2:
        return None
    rng = np.random.default_rng(seed)
    blocks = _blocks(len(sums))
    if _worth_grouping(counts, len(sums)):
        means = [_draw_alike(rng, rows, alike, counts) for rows in blocks]
    else:
        means = [_draw_each(rng, rows, sums, sizes) for rows in blocks]
    low, high = np.quantile(np.concatenate(means), [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


def _draw_alike(rng: Generator, rows: int, alike: Array, counts: Array) -> Array:
    """How often each kind of cluster is drawn: a few numbers per resample where scores are 0 or 1."""
    sums, sizes = alike
    drawn = rng.multinomial(int(counts.sum()), counts / counts.sum(), size=rows)
    means: Array = (drawn @ sums) / (drawn @ sizes)
    return means


def _draw_each(rng: Generator, rows: int, sums: Array, sizes: Array) -> Array:
    drawn = rng.integers(0, len(sums), size=(rows, len(sums)))
    means: Array = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    return means


def sign_flip(differences: ArrayLike, *, clusters: ArrayLike | None = None, seed: int = 0) -> float:
    """Two-sided p-value of the hypothesis that swapping the two sides of a pair changes nothing.

    Each cluster's sum of differences gets a random sign, B = 9,999 times (fewer above 2,000 clusters, down to 999);
    p = (1 + number of sums at least as far from 0 as the observed one) / (1 + B). It is never 0, and 1 when all
    differences are 0.

    Args:
        differences: one per pair.
        clusters: a number per pair, equal within a cluster, flipped together; None means that pairs are independent.
        seed: of numpy's default generator.

    Source: R. A. Fisher, "The Design of Experiments", 1935, section 21; the added 1 after B. Phipson and G. K. Smyth,
    Statistical Applications in Genetics and Molecular Biology 9, 2010.

    >>> sign_flip([0, 0, 0])
    1.0
    """
    import numpy as np

    sums = np.abs(_cluster_sums(differences, clusters)[0])
    observed = abs(float(_cluster_sums(differences, clusters)[0].sum()))
    sizes, counts = np.unique(sums, return_counts=True)
    rng = np.random.default_rng(seed)
    # Sums of the same numbers in another order differ by rounding; they must count as equal.
    reach = observed - 1e-9 * float(sums.sum())
    grouped, extreme, blocks = _worth_grouping(counts, len(sums)), 0, _blocks(len(sums))
    for rows in blocks:
        if grouped:
            flipped = (2 * rng.binomial(counts, 0.5, size=(rows, len(counts))) - counts) @ sizes
        else:
            flipped = (2 * rng.integers(0, 2, size=(rows, len(sums)), dtype=np.int8) - 1) @ sums
        extreme += int(np.count_nonzero(np.abs(flipped) >= reach))
    return (1 + extreme) / (1 + sum(blocks))


def _cluster_sums(differences: ArrayLike, clusters: ArrayLike | None) -> tuple[Array, Array]:
    """Per cluster the sum of its differences and the number of its pairs."""
    import numpy as np

    values = np.asarray(differences, dtype=float)
    if len(values) == 0:
        raise ValueError("a difference needs at least one pair")
    if clusters is None:
        return values, np.ones(len(values))
    index = np.unique(np.asarray(clusters), return_inverse=True)[1]
    return np.bincount(index, weights=values), np.bincount(index).astype(float)


def _worth_grouping(counts: Array, clusters: int) -> bool:
    """A draw per kind of cluster costs about eight times a draw per cluster."""
    return len(counts) * 8 <= clusters


def _blocks(clusters: int) -> list[int]:
    """The number of resamples, split so that a block of one number per cluster stays within 16 MB."""
    resamples = min(RESAMPLES, max(999, _DRAWS // clusters))
    rows = max(1, _CELLS_AT_ONCE // clusters)
    return [min(rows, resamples - start) for start in range(0, resamples, rows)]
