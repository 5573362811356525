"""Correlation of two lists of numbers, and the cluster bootstrap of coefficients of correlation and of agreement.

Ratings are collapsed to patterns first: of 1,000 pairs of ratings from 1 to 5 at most 25 differ. A coefficient is then
a function of how often each pattern occurs, so that a resample is a row of weights and many of them are one product of
matrices.

Pairs in which either number is None or NaN are left out and counted. Where one of the lists does not vary, there is no
correlation: the value is None, with a reason, and never NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from steelyard.stats.arrays import Array
from steelyard.stats.bootstrap import worth_grouping
from steelyard.stats.intervals import Interval, check_level

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
    return collapse(np.stack(sides, axis=1), clusters)


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


Statistic = Callable[["Array"], "Array"]
"""Weights (resamples x patterns) -> a value per resample, NaN where the coefficient is not defined."""

_RESAMPLES: Final = 1_999
"""A fifth of those for means, as each one is ranked or tabulated again; limits are off by 0.06 standard errors."""
_DRAWS: Final = 10_000_000
"""Units drawn in total: above 5,000 units there are fewer resamples, down to 999."""
_NO_SPREAD: Final = 1e-9
"""Coefficients that differ by less are equal: their sums differ by the order of addition only."""
_CELLS_AT_ONCE: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient of correlation or agreement with its bootstrap interval.

    Args:
        name: `pearson`, `spearman`, `kendall_tau_b`, `cohen_kappa` or `krippendorff_alpha`.
        value: in [-1, 1]; None where it is not defined, and `reason` says why.
        interval: at `level`; None where there is none, and `reason` says why.
        n: units (pairs of ratings) that it is computed from.
        missing: units that were left out because a rating is None or NaN.
        clusters: independent clusters that were resampled; `n` where units are independent.
        resamples: how many were drawn; 0 where there is no value.
        undefined: of these, resamples in which the coefficient is not defined (all ratings equal). The interval is
            computed from the others.
        level: of the interval.
        reason: why the value or the interval is None; "" where both are there.
    """

    name: str
    value: float | None
    interval: Interval | None
    n: int
    missing: int
    clusters: int
    resamples: int
    undefined: int
    level: float = 0.95
    reason: str = ""

    def __str__(self) -> str:
        value = "-" if self.value is None else f"{self.value:.2f}"
        limits = " [{:.2f}, {:.2f}]".format(*self.interval) if self.interval else ""
        left_out = f", {self.missing} missing" if self.missing else ""
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.name} {value}{limits} n={self.n}{left_out}{reason}"


class Ratings(NamedTuple):
    """Units with the ratings of each rater, collapsed to patterns.

    Args:
        patterns: patterns x raters; codes or numbers, NaN where a rater gave no rating.
        counts: how many units have each pattern.
        pattern: the number of each unit's pattern.
        cluster: the number of each unit's cluster, from 0; None where every unit is independent.
        clusters: how many clusters there are.
        missing: units that were left out.
    """

    patterns: Array
    counts: Array
    pattern: Array
    cluster: Array | None
    clusters: int
    missing: int

    @property
    def n(self) -> int:
        """Units."""
        return len(self.pattern)


def collapse(table: Array, clusters: ArrayLike | Sequence[Any] | None) -> Ratings:
    """Drop the units with fewer than two ratings, and count equal ones together.

    Args:
        table: units x raters, NaN where there is no rating.
        clusters: of any kind, equal within a cluster; None: units are independent.

    Raises:
        ValueError: the number of clusters is not that of the units.
    """
    used = (~np.isnan(table)).sum(axis=1) >= 2
    cluster = None
    if clusters is not None:
        names = list(clusters)  # type: ignore[arg-type]  # a sequence or an array of anything that can be hashed
        if len(names) != len(table):
            raise ValueError(f"there are {len(table)} units and {len(names)} clusters: give one cluster per unit")
        numbers: dict[Any, int] = {}
        cluster = np.array(
            [numbers.setdefault(name, len(numbers)) for name, use in zip(names, used, strict=True) if use], dtype=int
        )
    used_rows = table[used]
    patterns, pattern, counts = np.unique(used_rows, axis=0, return_inverse=True, return_counts=True)
    count = len(used_rows) if cluster is None else int(cluster.max(initial=-1)) + 1
    missing = int((~used).sum())
    return Ratings(patterns, counts.astype(float), pattern.reshape(-1), cluster, count, missing)


def bootstrap(
    name: str, ratings: Ratings, statistic: Statistic, undefined_reason: str, *, level: float, seed: int
) -> Coefficient:
    """The coefficient of all ratings, and its percentile interval over resampled clusters.

    There is no interval where the coefficient is defined in fewer than half of the resamples, or the same in all:
    perfect agreement of few units resamples to perfect agreement, which says nothing about its spread.

    Why not BCa: over the cells of docs/explanation/agreement.md it holds 94.5 % where this one holds 94.1 %, at the
    same width, and needs the coefficient without each unit in turn, which is not always defined.

    Args:
        name: of the coefficient.
        ratings: what is resampled.
        statistic: the coefficient of each row of weights.
        undefined_reason: why the coefficient of all ratings is not defined, where it is not.
        level: confidence level in (0, 1).
        seed: of numpy's default generator.
    """
    check_level(level)
    counted = (ratings.n, ratings.missing, ratings.clusters)
    value = float(statistic(ratings.counts[None])[0]) if ratings.n else math.nan
    if math.isnan(value):
        reason = undefined_reason if ratings.n else "no unit has enough ratings"
        return Coefficient(name, None, None, *counted, 0, 0, level, reason)
    draws = np.concatenate([statistic(weights) for weights in _resampled(ratings, seed)])
    defined = draws[~np.isnan(draws)]
    undefined = len(draws) - len(defined)
    interval, reason = None, ""
    if ratings.clusters < 2:
        reason = "no interval: there is a single cluster"
    elif 2 * len(defined) < len(draws):
        reason = "no interval: the coefficient is not defined in most resamples"
    elif np.ptp(defined) <= _NO_SPREAD:
        reason = "no interval: every resample gives the same value"
    else:
        low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
        interval = Interval(float(low), float(high))
    return Coefficient(name, value, interval, *counted, len(draws), undefined, level, reason)


def _resampled(ratings: Ratings, seed: int) -> Iterator[Array]:
    """Blocks of weights, resamples x patterns: how often each pattern occurs when clusters are drawn again."""
    rng = np.random.default_rng(seed)
    rows = max(1, _CELLS_AT_ONCE // ratings.n)
    resamples = min(_RESAMPLES, max(999, _DRAWS // ratings.n))
    for start in range(0, resamples, rows):
        size = min(rows, resamples - start)
        if ratings.cluster is None:
            yield _draw(rng, size, ratings.pattern, ratings.counts)
        else:
            clusters = np.arange(ratings.clusters)
            yield _pattern_weights(ratings, _draw(rng, size, clusters, np.ones(ratings.clusters)))


def _draw(rng: np.random.Generator, rows: int, units: Array, counts: Array) -> Array:
    """How often each kind occurs in a resample of the same size; `counts` is how often it occurs in the data."""
    if worth_grouping(counts, len(units)):
        return rng.multinomial(len(units), counts / len(units), size=rows).astype(float)
    drawn = units[rng.integers(0, len(units), size=(rows, len(units)))]
    cells = drawn + len(counts) * np.arange(rows)[:, None]
    return np.bincount(cells.reshape(-1), minlength=rows * len(counts)).reshape(rows, -1).astype(float)


def _pattern_weights(ratings: Ratings, drawn: Array) -> Array:
    """How often each pattern occurs where clusters (columns) are drawn so many times, a row per resample."""
    order = np.argsort(ratings.pattern, kind="stable")
    starts = np.concatenate([[0], np.cumsum(ratings.counts)[:-1]]).astype(int)
    units: Array = drawn[:, ratings.cluster[order]].astype(float)  # type: ignore[index]  # there are clusters here
    weights: Array = np.add.reduceat(units, starts, axis=1)
    return weights
