"""Agreement between raters (judges, people): Cohen's kappa and Krippendorff's alpha, with cluster bootstrap intervals.

Both compare the observed disagreement with the one expected by chance: 1 is perfect agreement, 0 is chance level, below
0 is worse. A correlation (`correlation`) ignores that a rater is always one point stricter; these do not. Ratings that
are None or NaN are missing: kappa leaves the pair out, alpha uses the ratings of the other raters.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Final, Literal, NamedTuple, get_args

import numpy as np

from steelyard.stats.arrays import Array
from steelyard.stats.correlation import (
    Coefficient,
    Ratings,
    Statistic,
    as_numbers,
    bootstrap,
    centred_ranks,
    collapse,
    level_counts,
)

KappaWeights = Literal["linear", "quadratic"]
RatingScale = Literal["nominal", "ordinal", "interval"]

_MOST_CATEGORIES: Final = 200
_EQUAL: Final = "all ratings are equal, so no disagreement is expected by chance"


def cohen_kappa(  # noqa: PLR0913  # two lists, what the ratings are, and how the interval is made
    first: Iterable[Hashable | None],
    second: Iterable[Hashable | None],
    *,
    weights: KappaWeights | None = None,
    categories: Sequence[Hashable] | None = None,
    clusters: Sequence[Any] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Coefficient:
    """Cohen's kappa of two raters, plain or weighted, with a percentile bootstrap interval by cluster.

        kappa = 1 - sum_ij v_ij o_ij / sum_ij v_ij e_ij

    with o_ij the share of units that the first rater puts into category i and the second into j, e_ij the product of
    the shares of i and j, and v_ij the disagreement of two categories: 1 (plain), their distance (linear) or its square
    (quadratic). The distance of numbers is their difference; with `categories` it is that of their positions.

    Args:
        first: a category per unit: a text, a number, True or False; None or NaN where there is none.
        second: those of the other rater, in the same order.
        weights: None is plain. Weighted kappa is for ordered categories: numbers, or texts with `categories`.
        categories: all categories in order; None: numbers are their own order.
        clusters: one per unit, equal within a cluster; None: units are independent.
        level: confidence level in (0, 1).
        seed: of numpy's default generator; equal seeds give equal intervals.

    Raises:
        ValueError: lists of different lengths, unknown weights, a category that is not among `categories`, texts with
            weights and no `categories`, or more than 200 categories.

    Source: J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20,
    1960; weighted, Psychological Bulletin 70, 1968. Deviation from scikit-learn: it takes the positions of the
    categories that occur, so that 1, 2, 5 are one apart each; here 2 and 5 are three apart.

    >>> first, second = ["yes"] * 25 + ["no"] * 25, ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    >>> kappa = cohen_kappa(first, second)  # (0.7 - 0.5) / (1 - 0.5)
    >>> round(kappa.value, 4)
    0.4
    >>> round(cohen_kappa([1, 2, 3, 3], [1, 2, 3, 1], weights="quadratic").value, 4)  # 1 - 4 * 4 / 26
    0.3846
    """
    if weights is not None and weights not in get_args(KappaWeights):
        raise ValueError(f"weights is None, 'linear' or 'quadratic', not {weights!r}")
    coded = _coded([list(first), list(second)], categories, ordered=weights is not None)
    if len(coded.positions) > _MOST_CATEGORIES:
        raise ValueError(
            f"kappa takes up to {_MOST_CATEGORIES} categories, but there are {len(coded.positions)}: for such "
            "numbers use a correlation, or krippendorff_alpha(..., scale='interval')"
        )
    ratings = collapse(coded.table, clusters)
    statistic = _kappa(ratings, coded.positions, weights)
    return bootstrap("cohen_kappa", ratings, statistic, _EQUAL, level=level, seed=seed)


def _kappa(ratings: Ratings, positions: Array, weights: KappaWeights | None) -> Statistic:
    codes = ratings.patterns.astype(int)
    distances = np.abs(positions[:, None] - positions)
    cost = (distances > 0).astype(float) if weights is None else distances if weights == "linear" else distances**2
    one_hot = [np.eye(len(positions))[side] for side in codes.T]
    observed = cost[codes[:, 0], codes[:, 1]]

    def statistic(counts: Array) -> Array:
        n = counts.sum(axis=1)
        expected = ((counts @ one_hot[0] @ cost) * (counts @ one_hot[1])).sum(axis=1)
        return _one_less(n * (counts @ observed), expected)

    return statistic


def krippendorff_alpha(
    ratings: Iterable[Iterable[Hashable | None]],
    *,
    scale: RatingScale = "nominal",
    categories: Sequence[Hashable] | None = None,
    clusters: Sequence[Any] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Coefficient:
    """Krippendorff's alpha of any number of raters, with a percentile bootstrap interval by cluster.

        alpha = 1 - D_o / D_e

    D_o is the mean disagreement of two ratings of one unit, D_e that of any two ratings:

        D_o = 1 / n sum_u 1 / (m_u - 1) sum_{i, j in u} d(i, j)        D_e = 1 / (n (n - 1)) sum_{i, j} d(i, j)

    over the n ratings in units with m_u >= 2 of them. d is 1 for different ratings (nominal), the squared difference of
    numbers (interval), or the squared difference of their mean ranks among all n ratings (ordinal), which is the same
    as Krippendorff's sum over the categories between them.

    Args:
        ratings: one list per rater, all of one length, a rating per unit; None or NaN where a rater has none.
        scale: what the ratings are: categories, ordered categories, or numbers with equal steps.
        categories: in order, for an ordinal scale of texts; None: numbers are their own order.
        clusters: one per unit, equal within a cluster; None: units are independent.
        level: confidence level in (0, 1).
        seed: of numpy's default generator.

    Units with fewer than two ratings say nothing about agreement and are left out; `missing` counts them.

    Raises:
        ValueError: fewer than two raters, lists of different lengths, an unknown scale, a rating that is not among
            `categories`, or one that is not a number where the scale needs numbers.

    Source: K. Krippendorff, "Computing Krippendorff's Alpha-Reliability", University of Pennsylvania, 2011. Deviation:
    units (or clusters) are resampled, and all of alpha is computed again; A. F. Hayes and K. Krippendorff, "Answering
    the call for a standard reliability measure for coding data", 2007, resample disagreements and keep D_e. Units
    after A. Zapf, S. Castell, L. Morawietz and A. Karch, BMC Medical Research Methodology 16, 2016.

    >>> first = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    >>> second = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    >>> round(krippendorff_alpha([first, second]).value, 3)  # Krippendorff 2011, section A: 1 - 19 * 8 / (2 * 14 * 6)
    0.095
    """
    if scale not in get_args(RatingScale):
        raise ValueError(f"scale is one of {', '.join(get_args(RatingScale))}, not {scale!r}")
    raters = [list(rater) for rater in ratings]
    if len(raters) < 2:
        raise ValueError(f"agreement needs two raters or more, but there is {len(raters)}")
    coded = _coded(raters, categories, ordered=scale != "nominal")
    table = coded.table
    if scale == "interval":
        table = np.where(np.isnan(table), np.nan, coded.positions[np.nan_to_num(table).astype(int)])
    collapsed = collapse(table, clusters)
    statistic = {"nominal": _nominal, "ordinal": _ordinal, "interval": _interval}[scale](collapsed)
    return bootstrap("krippendorff_alpha", collapsed, statistic, _EQUAL, level=level, seed=seed)


class _Coded(NamedTuple):
    """Ratings as category codes, units x raters, NaN where there is none; and the position of each category."""

    table: Array
    positions: Array


def _coded(raters: Sequence[Sequence[Any]], categories: Sequence[Any] | None, *, ordered: bool) -> _Coded:
    lengths = [len(rater) for rater in raters]
    if len(set(lengths)) > 1:
        raise ValueError(f"all raters need a rating (or None) per unit, but they have {lengths}")
    if categories is None and ordered:
        try:
            numbers = np.stack([as_numbers(rater) for rater in raters], axis=1)
        except ValueError as error:
            raise ValueError(f"{error}; give the order of categories that are texts: categories=[...]") from None
        values = np.unique(numbers[~np.isnan(numbers)])
        return _Coded(np.where(np.isnan(numbers), np.nan, np.searchsorted(values, numbers)), values)
    codes = {category: code for code, category in enumerate(categories or ())}
    table = np.full((lengths[0], len(raters)), np.nan)
    for column, rater in enumerate(raters):
        for unit, rating in enumerate(rater):
            if rating is None or (isinstance(rating, float) and math.isnan(rating)):
                continue
            if categories is not None and rating not in codes:
                raise ValueError(f"the rating {rating!r} is not one of the categories {list(categories)!r:.200}")
            table[unit, column] = codes.setdefault(rating, len(codes))
    return _Coded(table, np.arange(len(codes), dtype=float))


def _nominal(ratings: Ratings) -> Statistic:
    values, codes = _levels(ratings)
    present = codes >= 0
    # Patterns x categories: how many raters of the unit chose each.
    chosen = np.zeros((len(codes), len(values)))
    np.add.at(chosen, (np.nonzero(present)[0], codes[present]), 1)
    raters = chosen.sum(axis=1)
    observed = (raters**2 - (chosen**2).sum(axis=1)) / (raters - 1)

    def statistic(counts: Array) -> Array:
        totals = counts @ chosen
        n = totals.sum(axis=1)
        return _one_less((n - 1) * (counts @ observed), n**2 - (totals**2).sum(axis=1))

    return statistic


def _interval(ratings: Ratings) -> Statistic:
    present = ~np.isnan(ratings.patterns)
    # Centred, as sums of squares of large numbers cancel.
    numbers = np.where(present, ratings.patterns - np.nanmean(ratings.patterns) if present.any() else 0.0, 0.0)
    raters, sums, squares = present.sum(axis=1), numbers.sum(axis=1), (numbers**2).sum(axis=1)
    observed = 2 * raters / (raters - 1) * (squares - sums**2 / raters)

    def statistic(counts: Array) -> Array:
        n, total, spread = counts @ raters, counts @ sums, counts @ squares
        return _one_less((n - 1) * (counts @ observed), 2 * (n * spread - total**2))

    return statistic


def _ordinal(ratings: Ratings) -> Statistic:
    values, codes = _levels(ratings)
    present = codes >= 0
    raters = present.sum(axis=1)
    flat = codes[present]
    unit = np.nonzero(present)[0]

    def statistic(counts: Array) -> Array:
        levels = level_counts(counts[:, unit], flat, len(values))
        ranks = centred_ranks(levels)
        sums, squares = np.zeros_like(counts), np.zeros_like(counts)
        for rater, has_rating in zip(codes.T, present.T, strict=True):
            ranked = np.where(has_rating, ranks[:, rater], 0.0)
            sums, squares = sums + ranked, squares + ranked**2
        observed = 2 * raters / (raters - 1) * (squares - sums**2 / raters)
        n = counts @ raters
        # The ranks are centred, so that their sum is 0 and D_e needs their squares alone.
        return _one_less((n - 1) * (counts * observed).sum(axis=1), 2 * n * (levels * ranks**2).sum(axis=1))

    return statistic


def _levels(ratings: Ratings) -> tuple[Array, Array]:
    """The different ratings in order, and for each pattern and rater the number of its rating, -1 where it has none."""
    present = ~np.isnan(ratings.patterns)
    values = np.unique(ratings.patterns[present])
    return values, np.where(present, np.searchsorted(values, ratings.patterns), -1)


def _one_less(observed: Array, expected: Array) -> Array:
    """1 - observed / expected; NaN where no disagreement is expected."""
    defined = expected > 1e-9 * np.maximum(np.abs(observed), 1e-3)
    return np.where(defined, 1 - observed / np.where(defined, expected, 1.0), np.nan)
