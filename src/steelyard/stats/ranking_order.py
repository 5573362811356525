"""From resampled strengths to what may be said of them: intervals, who is above whom, ranks, and who shares a place."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from steelyard.stats.intervals import Interval, check_level
from steelyard.stats.quantiles import normal_quantile, t_quantile
from steelyard.stats.ranking import Battles, BradleyTerry, bradley_terry, count_battles
from steelyard.stats.ranking_resample import met, resample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]


class Ranking(NamedTuple):
    """A fit with its uncertainty.

    Args:
        fit: the strengths.
        wins: per ordered pair, as from `count_battles`.
        intervals: of each strength; None for a model with fewer than two clusters, of which nothing is known.
        above: models x models; `[a, b]` says that a is above b. All of these hold at once at the level.
        ranks: per model the best and the worst rank that the level leaves open, 1 being the best. All at once, too.
        sets: runs of neighbours in the order of strengths no two of which are told apart, each as long as can be;
            a model may belong to several, and a set of one is a model that is told apart from both its neighbours.
        resamples: behind the intervals; 0 where there are none.
        clusters: independent ones in all.
    """

    fit: BradleyTerry
    wins: Array
    intervals: tuple[Interval | None, ...]
    above: Array
    ranks: tuple[tuple[int, int], ...]
    sets: tuple[tuple[int, ...], ...]
    resamples: int
    clusters: int


def rank(battles: Battles, *, level: float = 0.95, resamples: int | None = None, seed: int = 0) -> Ranking:
    """Rate models by their battles, and say how far the order can be trusted.

    Strengths are fitted again on resampled clusters (`resample`). A quantity with the resampled quantiles l, m and h
    at (1 - level) / 2, 1/2 and (1 + level) / 2 gets, as two halves of a normal distribution would,

        low = m - f (m - l),  high = m + f (h - m),    f = t(G - 1) / z * sqrt(G / (G - 1))

    with the quantiles t and z of (1 + level) / 2 and the number G of clusters behind it: of the model, and for a
    difference of the two models the smaller one. f is 1 for many clusters and repairs what resampling few of them
    gets too narrow. The interval is widened where it does not hold the strength itself.

    a is above b when the interval of their difference is above 0. These intervals hold at once for all pairs: in z's
    place stands the number that the largest standardised deviation over all pairs exceeds in a share of 1 - level of
    the resamples; for two models it is z. As all hold at once, a is above c, too, where a is above b and b above c.
    Best rank = 1 + models above, worst = n - models below.

    Args:
        battles: from `coded`.
        level: confidence level in (0, 1).
        resamples: None is 1,000, fewer where there are many models or battles.
        seed: of numpy's default generator; equal seeds give equal numbers.

    Source: ranks from simultaneous intervals of differences after M. Mogstad, J. P. Romano, A. Shaikh and D. Wilhelm,
    "Inference for ranks", Review of Economic Studies 91, 2024; the sets are the lines of an underlined ranking, as in
    J. W. Tukey's procedure.
    """
    import numpy as np

    check_level(level)
    wins = count_battles(battles)
    fit, n, clusters = bradley_terry(wins), battles.models, met(battles)
    total = len(battles.first) if battles.cluster is None else len(np.unique(battles.cluster))
    intervals: list[Interval | None] = [None] * n
    above, drawn = np.zeros((n, n), dtype=bool), 0
    for models in fit.components:
        picked = np.array(models)
        if len(models) < 2 or clusters.model[picked].max() < 2:
            continue
        part, own = _only(battles, picked), clusters.model[picked]
        strengths = fit.strengths[picked]
        draws = resample(part, wins[np.ix_(picked, picked)], strengths, resamples=resamples, seed=seed)
        drawn = max(drawn, len(draws))
        for model, found in zip(models, _intervals(draws, strengths, own, level), strict=True):
            intervals[model] = found
        above[np.ix_(picked, picked)] = told_apart(draws, own, level)
    above = _closed(above & (fit.strengths[:, None] > fit.strengths))
    return Ranking(fit, wins, tuple(intervals), above, _ranks(above), _sets(fit, above), drawn, total)


def _only(battles: Battles, models: Array) -> Battles:
    """The battles among these models, which are numbered anew."""
    import numpy as np

    if len(models) == battles.models:
        return battles
    number = np.full(battles.models, -1)
    number[models] = np.arange(len(models))
    kept = number[battles.first] >= 0
    weight, cluster = (None if one is None else one[kept] for one in (battles.weight, battles.cluster))
    first, second = (number[side[kept]] for side in (battles.first, battles.second))
    return Battles(first, second, battles.score[kept], len(models), weight, cluster)


def _intervals(draws: Array, strengths: Array, clusters: Array, level: float) -> list[Interval | None]:
    middle, down, up = _halves(draws, level)
    reach = _reach(normal_quantile((1 + level) / 2), clusters)
    limits = zip(strengths, middle - reach * down, middle + reach * up, clusters, strict=True)
    return [
        Interval(float(min(low, strength)), float(max(high, strength))) if count > 1 else None
        for strength, low, high, count in limits
    ]


def told_apart(draws: Array, clusters: Array, level: float) -> Array:
    """`[a, b]`: the interval of strength a - strength b lies above 0, for all pairs at once; see `rank`.

    Args:
        draws: resampled strengths, resamples x models.
        clusters: per model, in how many clusters it fought.
        level: at which all of it holds.
    """
    import numpy as np

    n = draws.shape[1]
    middle, down, up = (np.zeros((n, n)) for _ in range(3))
    largest = np.zeros(len(draws))
    for a in range(n - 1):
        gaps = draws[:, a, None] - draws[:, a + 1 :]
        row = (a, slice(a + 1, n))
        middle[row], down[row], up[row] = _halves(gaps, level)
        off = gaps - middle[row]
        np.maximum(largest, (np.abs(off) / np.where(off < 0, down[row], up[row])).max(axis=1), out=largest)
    common = max(float(np.quantile(largest, level)), normal_quantile((1 + level) / 2))
    behind = np.minimum(clusters[:, None], clusters)
    reach = np.where(behind > 1, _reach(common, np.maximum(behind, 2)), np.inf)
    pairs = np.triu(np.ones((n, n), dtype=bool), 1)
    with np.errstate(invalid="ignore"):
        upper, lower = pairs & (middle - reach * down > 0), pairs & (middle + reach * up < 0)
    found: Array = upper | lower.T
    return found


def _halves(values: Array, level: float) -> tuple[Array, Array, Array]:
    """Median, and the standard deviations of the normal halves that have the level's quantiles below and above it."""
    import numpy as np

    low, middle, high = np.quantile(values, [(1 - level) / 2, 0.5, (1 + level) / 2], axis=0)
    z = normal_quantile((1 + level) / 2)
    return middle, np.maximum((middle - low) / z, 1e-12), np.maximum((high - middle) / z, 1e-12)


def _reach(z: float, clusters: Array) -> Array:
    """t(G - 1) * sqrt(G / (G - 1)) of the same tail as `z`, for each number G >= 2 of clusters."""
    import numpy as np

    counts, where = np.unique(np.maximum(clusters, 2), return_inverse=True)
    # Where a normal tail is too small for a double, the t tail of a few clusters is what matters, and is wide enough.
    tail = max(math.erfc(z / math.sqrt(2)) / 2, 1e-12)
    found = [-t_quantile(tail, float(g - 1)) * math.sqrt(g / (g - 1)) for g in counts]
    return np.array(found)[where].reshape(np.shape(clusters))


def _closed(above: Array) -> Array:
    """With what follows: as all of it holds at once, a above b and b above c put a above c."""
    import numpy as np

    while True:
        steps = above.astype(np.float32)
        further = above | (steps @ steps > 0)
        if (further == above).all():
            return above
        above = further


def _ranks(above: Array) -> tuple[tuple[int, int], ...]:
    better, worse = above.sum(axis=0), above.sum(axis=1)
    return tuple((1 + int(one), len(above) - int(other)) for one, other in zip(better, worse, strict=True))


def _sets(fit: BradleyTerry, above: Array) -> tuple[tuple[int, ...], ...]:
    found: list[tuple[int, ...]] = []
    for models in fit.components:
        order = sorted(models, key=lambda model: (-fit.strengths[model], model))
        reached = 0
        for start in range(len(order)):
            end = _run_end(order, start, above)
            if end > reached:
                found.append(tuple(order[start:end]))
                reached = end
    return tuple(found)


def _run_end(order: Sequence[int], start: int, above: Array) -> int:
    """Where the longest run from `start` ends in which nobody is above anybody."""
    end = start + 1
    while end < len(order) and not above[order[start:end], order[end]].any():
        end += 1
    return end
