"""Tests whether a rate is the same at every place: between samples, or within samples tried at several places.

For position bias of multiple-choice answers a place is the letter of the right option.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from steelyard.stats.arrays import Array

_FEWEST_EXPECTED: Final = 5.0
"""Cochran 1954; see `between_places`."""
_FEWEST_TRIALS: Final = 24
"""Tate and Brown 1970; see `within_samples`."""
_DRAWS: Final = 9_999
"""One less than a round number, since the observed arrangement counts as a draw: p-values are multiples of 1/10,000."""
_MOST_SHUFFLED: Final = 5_000
"""Most values that are shuffled `_DRAWS` times, one draw after another: 5,000 take 1.3 s."""
_ROUNDING: Final = 1e-9


class HomogeneityTest(NamedTuple):
    """The result of a test that all places have the same rate.

    Args:
        name: of the test.
        statistic: chi-squared; 0 where nothing varies.
        df: its degrees of freedom; 0 where there is nothing to compare.
        p: probability of a statistic at least as large; 1 where df is 0.
    """

    name: str
    statistic: float
    df: int
    p: float


def chi_squared_tail(x: float, df: int) -> float:
    """P(X >= x) for the chi-squared distribution with a whole number of degrees of freedom.

    By the finite sums of Abramowitz and Stegun 1964, 26.4.4 and 26.4.5.

    >>> round(chi_squared_tail(3.841459, 1), 6), round(chi_squared_tail(7.814728, 3), 6)
    (0.05, 0.05)
    """
    if df < 1 or x <= 0:
        return 1.0
    half = x / 2
    if df % 2:
        total, term = math.erfc(math.sqrt(half)), math.sqrt(half / math.pi) * 2 * math.exp(-half)
        start = 3
    else:
        total, term = 0.0, math.exp(-half)
        start = 2
    for k in range(start, df + 1, 2):
        total += term
        term *= half / (k / 2)
    return min(1.0, total)


def between_places(values: ArrayLike, places: ArrayLike) -> HomogeneityTest:
    """Pearson's chi-squared test of equal rates, for samples that were each tried at one place.

        X^2 = sum_l n_l (m_l - m)^2 / (sum_i (x_i - m)^2 / n),    df = places - 1

    which for zeros and ones is the usual test of a contingency table. Where fewer than 5 successes or failures are
    expected at a place, the p-value is that of 9,999 seeded permutations instead, except for more than 5,000 values
    that are not all zeros and ones, where they would take too long.

    Args:
        values: in [0, 1], one per sample.
        places: a number per sample.

    Source: K. Pearson, Philosophical Magazine 50, 1900; the rule of 5 after W. G. Cochran, Biometrics 10, 1954.

    >>> between_places([1] * 8 + [0] * 2 + [1] * 3 + [0] * 7, [0] * 10 + [1] * 10).statistic.__round__(4)
    5.0505
    """
    data = np.asarray(values, dtype=float)
    index = np.unique(np.asarray(places), return_inverse=True)[1]
    counts = np.bincount(index) if len(index) else np.zeros(0, dtype=int)
    if len(counts) < 2 or np.ptp(data) < _ROUNDING:
        return HomogeneityTest("chi-squared", 0.0, 0, 1.0)
    mean = float(data.mean())
    spread = float(((data - mean) ** 2).mean())

    def statistic(sums: Array) -> Array:
        of_all: Array = (counts * (sums / counts - mean) ** 2).sum(axis=-1) / spread
        return of_all

    observed, df = float(statistic(np.bincount(index, weights=data))), len(counts) - 1
    binary = bool(np.isin(data, (0.0, 1.0)).all())
    expected = float(counts.min()) * min(mean, 1 - mean)
    if expected >= _FEWEST_EXPECTED or (not binary and len(data) > _MOST_SHUFFLED):
        return HomogeneityTest("chi-squared", observed, df, chi_squared_tail(observed, df))
    rng = np.random.default_rng(0)
    if binary:  # how many of the ones fall to each place, all draws at once
        sums = rng.multivariate_hypergeometric(counts, int(data.sum()), size=_DRAWS, method="marginals")
    else:
        sums = np.array([np.bincount(index, weights=rng.permutation(data)) for _ in range(_DRAWS)])
    return HomogeneityTest("permutation", observed, df, _share(observed, statistic(sums)))


def within_samples(values: ArrayLike, places: ArrayLike, samples: ArrayLike) -> HomogeneityTest:
    """Cochran's Q, for values in [0, 1] of samples tried at several places, not necessarily all.

    With x_sl the mean of sample s at place l, over the k_s places that it was tried at, and m_s and v_s the mean and
    the variance (k_s - 1 in the denominator) of these:

        U_l = sum_s (x_sl - m_s),    V = sum_s v_s (I - 1 1' / k_s) on the places of s,    Q = U' V^- U,    df = rank V

    For zeros and ones at the same places in every sample this is Cochran's Q. The difficulty of a sample is the same at
    all its places and cancels. Where fewer than 24 values are in samples that vary at all, the p-value is that of
    9,999 seeded permutations within samples instead.

    Args:
        values: in [0, 1].
        places: a number per value.
        samples: a number per value.

    Source: W. G. Cochran, Biometrika 37, 1950; the permutation distribution of ranks with gaps after J. Durbin, British
    Journal of Psychology, Statistical Section 4, 1951; the rule of 24 after M. W. Tate and S. M. Brown, JASA 65, 1970.

    >>> table = [[1, 1, 0], [1, 1, 0], [1, 0, 0], [1, 1, 1], [1, 1, 0], [0, 1, 0]] * 2
    >>> test = within_samples(sum(table, []), [0, 1, 2] * 12, [i // 3 for i in range(36)])
    >>> round(test.statistic, 3), test.df
    (12.8, 2)
    """
    table = _table(values, places, samples)
    tried = ~np.isnan(table)
    several = tried.sum(axis=1) > 1
    table, tried = table[several], tried[several]
    count = tried.sum(axis=1, keepdims=True)
    centred = np.where(tried, table - np.nansum(table, axis=1, keepdims=True) / np.maximum(count, 1), 0.0)
    variances = (centred**2).sum(axis=1) / np.maximum(count[:, 0] - 1, 1)
    varying = variances > _ROUNDING
    if not varying.any():
        return HomogeneityTest("Cochran's Q", 0.0, 0, 1.0)
    centred, tried, variances = centred[varying], tried[varying], variances[varying]
    k = tried.sum(axis=1)
    weighted = tried * variances[:, None]
    covariance = np.diag(weighted.sum(axis=0)) - (weighted / k[:, None]).T @ tried
    inverse = np.linalg.pinv(covariance, rcond=_ROUNDING)
    df = int(np.linalg.matrix_rank(covariance, tol=_ROUNDING * float(np.abs(covariance).max())))

    sums = centred.sum(axis=0)
    observed = float(sums @ inverse @ sums)
    if int(k.sum()) >= _FEWEST_TRIALS:
        return HomogeneityTest("Cochran's Q", observed, df, chi_squared_tail(observed, df))
    drawn = _shuffled(centred, tried, np.random.default_rng(0))
    return HomogeneityTest("permutation", observed, df, _share(observed, ((drawn @ inverse) * drawn).sum(axis=1)))


def _table(values: ArrayLike, places: ArrayLike, samples: ArrayLike) -> Array:
    """A row per sample and a column per place with the mean of its values; NaN where it was not tried."""
    data = np.asarray(values, dtype=float)
    names, column = np.unique(np.asarray(places), return_inverse=True)
    _, row = np.unique(np.asarray(samples), return_inverse=True)
    size = (int(row.max()) + 1 if len(row) else 0, len(names))
    cell = row * size[1] + column
    counts = np.bincount(cell, minlength=size[0] * size[1])
    sums = np.bincount(cell, weights=data, minlength=size[0] * size[1])
    table: Array = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan).reshape(size)
    return table


def _shuffled(centred: Array, tried: Array, rng: Any) -> Array:
    """Sums by place for all draws; each draw permutes the values of a row among its own places."""
    sums = np.zeros((_DRAWS, centred.shape[1]))
    for values, places in zip(centred, tried, strict=True):
        sums[:, places] += rng.permuted(np.tile(values[places], (_DRAWS, 1)), axis=1)
    return sums


def _share(observed: float, drawn: Array) -> float:
    """The p-value of a permutation test: the share of draws at least as large, the observed one included."""
    return float((1 + (drawn >= observed * (1 - _ROUNDING)).sum()) / (_DRAWS + 1))
