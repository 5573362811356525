"""Correlation of two lists of numbers: Pearson, Spearman and Kendall's tau-b, each with a cluster bootstrap interval.

Pairs in which either number is None or NaN are left out and counted. Where one of the lists does not vary, there is no
correlation: the value is None, with a reason, and never NaN.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.rating_bootstrap import Coefficient, Ratings, bootstrap, collapse

Array = NDArray[Any]

_CONSTANT: Final = "one of the two lists does not vary"
_MOST_PATTERNS: Final = 2_000
"""Most different pairs for which the resamples of tau-b are exact: a product with a matrix of 2,000 x 2,000 signs."""
_ROUNDING: Final = 1e-12


def pearson(
    first: Iterable[float | None],
    second: Iterable[float | None],
    *,
    clusters: Sequence[Any] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Coefficient:
    """Pearson's correlation r of two lists of numbers, with a percentile bootstrap interval by cluster.

        r = sum (x - mean x)(y - mean y) / sqrt(sum (x - mean x)^2 * sum (y - mean y)^2)

    Args:
        first: finite numbers; None or NaN where there is none.
        second: likewise, in the same order.
        clusters: one per pair, equal within a cluster; None: pairs are independent.
        level: confidence level in (0, 1).
        seed: of numpy's default generator; equal seeds give equal intervals.

    Raises:
        ValueError: lists of different lengths, something else than numbers, or infinity.

    Source: K. Pearson, Philosophical Transactions of the Royal Society A 187, 1896; the
    interval after B. Efron and R. J. Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13.

    >>> r = pearson([1, 2, 3, 4, None], [2, 1, 4, 3, 5])  # 3 / sqrt(5 * 5)
    >>> round(r.value, 4), r.n, r.missing
    (0.6, 4, 1)
    """
    ratings = number_pairs(first, second, clusters)
    x, y = (_unit_scaled(side, ratings.counts) for side in ratings.patterns.T)
    sums = np.stack([np.ones(len(x)), x, y, x * x, y * y, x * y], axis=1)

    def statistic(weights: Array) -> Array:
        n, sum_x, sum_y, sum_xx, sum_yy, sum_xy = (weights @ sums).T
        spread_x, spread_y = sum_xx - sum_x**2 / n, sum_yy - sum_y**2 / n
        return _ratio(sum_xy - sum_x * sum_y / n, spread_x, spread_y, least=_ROUNDING * ratings.n)

    return bootstrap("pearson", ratings, statistic, _CONSTANT, level=level, seed=seed)


def spearman(
    first: Iterable[float | None],
    second: Iterable[float | None],
    *,
    clusters: Sequence[Any] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Coefficient:
    """Spearman's rank correlation rho: Pearson's of the ranks, equal numbers having their mean rank.

    Args:
        first: numbers; None or NaN where there is none.
        second: likewise, in the same order.
        clusters: one per pair, equal within a cluster; None: pairs are independent.
        level: confidence level in (0, 1).
        seed: of numpy's default generator.

    Every resample is ranked again.

    Raises:
        ValueError: lists of different lengths, something else than numbers, or infinity.

    Source: C. Spearman, "The proof and measurement of association between two things", American Journal of Psychology
    15, 1904; mean ranks after M. G. Kendall, "Rank Correlation Methods", 1948, chapter 3.

    >>> spearman([10, 20, 30, 40], [1, 3, 2, 100]).value  # 1 - 6 * (0 + 1 + 1 + 0) / (4 * 15)
    0.8
    """
    ratings = number_pairs(first, second, clusters)
    levels = [np.unique(side, return_inverse=True) for side in ratings.patterns.T]

    def statistic(weights: Array) -> Array:
        ranks, spreads = [], []
        for values, codes in levels:
            counts = level_counts(weights, codes.reshape(-1), len(values))
            centred = centred_ranks(counts)
            ranks.append(centred[:, codes.reshape(-1)])
            spreads.append((counts * centred**2).sum(axis=1))
        shared = (weights * ranks[0] * ranks[1]).sum(axis=1)
        return _ratio(shared, spreads[0], spreads[1])

    return bootstrap("spearman", ratings, statistic, _CONSTANT, level=level, seed=seed)


def kendall_tau_b(
    first: Iterable[float | None],
    second: Iterable[float | None],
    *,
    clusters: Sequence[Any] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Coefficient:
    """Kendall's tau-b, a rank correlation: concordant less discordant pairs, corrected for ties.

        tau_b = (C - D) / sqrt((n0 - n1)(n0 - n2)),    n0 = n (n - 1) / 2

    with C concordant and D discordant pairs, and n1, n2 the pairs that are tied in the first and in the second list.

    Args:
        first: numbers; None or NaN where there is none.
        second: likewise, in the same order.
        clusters: one per pair, equal within a cluster; None: pairs are independent.
        level: confidence level in (0, 1).
        seed: of numpy's default generator.

    Above 2,000 different pairs the resampled C - D is its linear part (each number's concordances with all others); the
    error of that is of the order 1 / n. The value is exact, at a cost of n^2: some seconds for 20,000 pairs.

    Raises:
        ValueError: lists of different lengths, something else than numbers, or infinity.

    Source: M. G. Kendall, "The treatment of ties in ranking problems", Biometrika 33, 1945.

    >>> round(kendall_tau_b([1, 2, 2, 3], [1, 2, 3, 3]).value, 4)  # C = 4, D = 0, n0 = 6, n1 = n2 = 1: 4 / 5
    0.8
    """
    ratings = number_pairs(first, second, clusters)
    levels = [np.unique(side, return_inverse=True) for side in ratings.patterns.T]
    codes = [numbers.reshape(-1) for _, numbers in levels]
    exact = len(ratings.counts) <= _MOST_PATTERNS
    signs = _signs(codes, slice(None)) if exact else np.zeros((0, 0))
    balance = signs @ ratings.counts if exact else _balances(codes, ratings.counts)
    total = float(balance @ ratings.counts)

    def statistic(weights: Array) -> Array:
        n = weights.sum(axis=1)
        pairs = n * (n - 1) / 2
        untied = []
        for (values, _), side in zip(levels, codes, strict=True):
            counts = level_counts(weights, side, len(values))
            untied.append(pairs - (counts * (counts - 1)).sum(axis=1) / 2)
        doubled = ((weights @ signs) * weights).sum(axis=1) if exact else 2 * (weights @ balance) - total
        return _ratio(doubled / 2, untied[0], untied[1])

    return bootstrap("kendall_tau_b", ratings, statistic, _CONSTANT, level=level, seed=seed)


def _signs(codes: Sequence[Array], rows: slice) -> Array:
    """For two patterns 1 where they are concordant, -1 where they are discordant, 0 where they tie."""
    first, second = ((side[rows, None] > side).astype(np.int8) - (side[rows, None] < side) for side in codes)
    signs: Array = (first * second).astype(float)
    return signs


def _balances(codes: Sequence[Array], counts: Array) -> Array:
    """For each pattern its concordant less its discordant pairs with all others; in blocks of 1,000 patterns."""
    blocks = range(0, len(counts), 1000)
    return np.concatenate([_signs(codes, slice(start, start + 1000)) @ counts for start in blocks])


def number_pairs(first: Iterable[Any], second: Iterable[Any], clusters: Sequence[Any] | None) -> Ratings:
    """Two lists of numbers as ratings.

    Raises:
        ValueError: lists of different lengths, something else than numbers, or infinity.
    """
    sides = [as_numbers(side) for side in (first, second)]
    if len(sides[0]) != len(sides[1]):
        raise ValueError(f"both lists need the same length, but have {len(sides[0])} and {len(sides[1])} values")
    return collapse(np.stack(sides, axis=1), clusters, fewest=2)


def as_numbers(values: Iterable[Any]) -> Array:
    """Finite numbers as an array, None as NaN.

    Raises:
        ValueError: which value is not a number, or is infinite.
    """
    listed = list(values)
    try:
        numbers = np.array([np.nan if value is None else value for value in listed], dtype=float).reshape(len(listed))
    except (TypeError, ValueError):
        wrong = next(value for value in listed if isinstance(value, str) or not hasattr(value, "__float__"))
        raise ValueError(f"expected numbers, but got {wrong!r:.60}") from None
    if np.isinf(numbers).any():
        raise ValueError("a rating is infinite; expected finite numbers, or None where there is none")
    return numbers


def level_counts(weights: Array, codes: Array, levels: int) -> Array:
    """How often each level of a rater occurs, resamples x levels."""
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(levels))
    counts: Array = np.add.reduceat(weights[:, order], starts, axis=1)
    return counts


def centred_ranks(counts: Array) -> Array:
    """The mean rank of each level less that of all numbers, given how often each level occurs, in order."""
    ranks: Array = counts.cumsum(axis=1) - counts / 2 - counts.sum(axis=1, keepdims=True) / 2
    return ranks


def _unit_scaled(numbers: Array, counts: Array) -> Array:
    """The numbers less their mean, as shares of the largest: sums of squares of large numbers cancel or overflow."""
    if not len(numbers) or np.ptp(numbers) == 0:
        return np.zeros(len(numbers))
    centred = numbers - np.average(numbers, weights=counts)
    scaled: Array = centred / np.abs(centred).max()
    return scaled


def _ratio(shared: Array, spread_first: Array, spread_second: Array, *, least: float = 0.0) -> Array:
    """Shared / sqrt(product of the spreads), kept within [-1, 1] against rounding; NaN where a spread is 0."""
    defined = (spread_first > least) & (spread_second > least)
    product = np.where(defined, spread_first, 1.0) * np.where(defined, spread_second, 1.0)
    return np.where(defined, np.clip(shared / np.sqrt(product), -1.0, 1.0), np.nan)
