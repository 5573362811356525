"""Uncertainty of ratings: intervals, which model ranks above which, rank ranges, and ties in rank.

The uncertainty due to the choice of prompts comes from fits on clusters with random weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Interval, check_level
from steelyard.stats.quantiles import normal_quantile, t_quantile
from steelyard.stats.ranking import Battles, BradleyTerry, bradley_terry, count_battles, solve

RESAMPLES: Final = 1000
_FEWEST: Final = 200
_WORK: Final = 2_000_000_000
_LEAST: Final = 1e-6
_DENSE: Final = 20_000_000
_NUMBERS_AT_ONCE: Final = 4_000_000


class Ranking(NamedTuple):
    """Fitted strengths with intervals, rank ranges and sets of models that do not differ significantly.

    Args:
        fit: the strengths.
        wins: per ordered pair, as from `count_battles`.
        intervals: of each strength; None for a model with fewer than two clusters, whose spread is not known.
        above: models x models; `[a, b]` says that a is above b. All of these hold at once at the level.
        ranks: per model the best and the worst rank that the data allow at the level, 1 being the best; all at once.
        sets: maximal runs of neighbours, by strength, of which no two differ significantly; a model may belong to
            several, and a set of one is a model that differs from both its neighbours.
        resamples: number of resamples for the intervals; 0 where there are none.
        clusters: number of independent clusters.
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
    """Rate models by their battles, with intervals and rank ranges.

    Strengths are fitted again on resampled clusters (`resample`). A quantity with the resampled quantiles l, m and h
    at (1 - level) / 2, 1/2 and (1 + level) / 2 gets, as two halves of a normal distribution would,

        low = m - f (m - l),  high = m + f (h - m),    f = t(G - 1) / z * sqrt(G / (G - 1))

    with the quantiles t and z of (1 + level) / 2 and the number G of clusters behind it: of the model, and for a
    difference of the two models the smaller one. f is 1 for many clusters and corrects that
    resampling few of them gives too narrow intervals. The interval is widened where it does not contain the strength.

    a is above b when the interval of their difference is above 0. These intervals hold at once for all pairs: z is
    replaced by the number that the largest standardised deviation over all pairs exceeds in a share of 1 - level of
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
        part, own_clusters = _only(battles, picked), clusters.model[picked]
        strengths = fit.strengths[picked]
        draws = resample(part, wins[np.ix_(picked, picked)], strengths, resamples=resamples, seed=seed)
        drawn = max(drawn, len(draws))
        for model, interval in zip(models, _intervals(draws, strengths, own_clusters, level), strict=True):
            intervals[model] = interval
        above[np.ix_(picked, picked)] = told_apart(draws, own_clusters, level)
    above = _closed(above & (fit.strengths[:, None] > fit.strengths))
    return Ranking(fit, wins, tuple(intervals), above, _ranks(above), _sets(fit, above), drawn, total)


def _only(battles: Battles, models: Array) -> Battles:
    """The battles among these models, which are renumbered from 0."""
    if len(models) == battles.models:
        return battles
    number = np.full(battles.models, -1)
    number[models] = np.arange(len(models))
    among = number[battles.first] >= 0
    weight, cluster = (None if column is None else column[among] for column in (battles.weight, battles.cluster))
    first, second = (number[side[among]] for side in (battles.first, battles.second))
    return Battles(first, second, battles.score[among], len(models), weight, cluster)


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
        clusters: per model, the number of clusters in which it has battles.
        level: at which all of them hold.
    """
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
    different: Array = upper | lower.T
    return different


def _halves(values: Array, level: float) -> tuple[Array, Array, Array]:
    """Median, and the standard deviations of the normal halves that have the level's quantiles below and above it."""
    low, middle, high = np.quantile(values, [(1 - level) / 2, 0.5, (1 + level) / 2], axis=0)
    z = normal_quantile((1 + level) / 2)
    return middle, np.maximum((middle - low) / z, 1e-12), np.maximum((high - middle) / z, 1e-12)


def _reach(z: float, clusters: Array) -> Array:
    """t(G - 1) * sqrt(G / (G - 1)) of the same tail as `z`, for each number G >= 2 of clusters."""
    counts, where = np.unique(np.maximum(clusters, 2), return_inverse=True)
    # A normal tail may be too small for a double; from 1e-12 on the t quantile is wide enough in any case.
    tail = max(math.erfc(z / math.sqrt(2)) / 2, 1e-12)
    reaches = [-t_quantile(tail, float(g - 1)) * math.sqrt(g / (g - 1)) for g in counts]
    return np.array(reaches)[where].reshape(np.shape(clusters))


def _closed(above: Array) -> Array:
    """The transitive closure of `above`: where a is above b and b above c, a is above c."""
    while True:
        steps = above.astype(np.float32)
        further = above | (steps @ steps > 0)
        if (further == above).all():
            return above
        above = further


def _ranks(above: Array) -> tuple[tuple[int, int], ...]:
    better, worse = above.sum(axis=0), above.sum(axis=1)
    return tuple((1 + int(wins), len(above) - int(losses)) for wins, losses in zip(better, worse, strict=True))


def _sets(fit: BradleyTerry, above: Array) -> tuple[tuple[int, ...], ...]:
    sets: list[tuple[int, ...]] = []
    for models in fit.components:
        order = sorted(models, key=lambda model: (-fit.strengths[model], model))
        reached = 0
        for start in range(len(order)):
            end = _run_end(order, start, above)
            if end > reached:
                sets.append(tuple(order[start:end]))
                reached = end
    return tuple(sets)


def _run_end(order: Sequence[int], start: int, above: Array) -> int:
    """The end of the longest run from `start` in which no model is above another."""
    end = start + 1
    while end < len(order) and not above[order[start:end], order[end]].any():
        end += 1
    return end


class Units(NamedTuple):
    """Battles grouped by the units that are resampled, sorted by ordered pair.

    Args:
        cells: the ordered pairs `a * models + b` that have wins, each once.
        starts: where each cell's entries begin.
        unit: of an entry, the number of the cluster, or of the kind of battle where every battle is its own cluster.
        wins: of an entry, the wins of that unit in that cell.
        shape: of a unit: how many clusters it represents.
    """

    cells: Array
    starts: Array
    unit: Array
    wins: Array
    shape: Array


class Met(NamedTuple):
    """Numbers of clusters in which each model, and each pair of models, has battles."""

    model: Array
    pair: Array


def resample(battles: Battles, counts: Array, strengths: Array, *, resamples: int | None, seed: int) -> Array:
    """Strengths fitted on resampled battles, resamples x models; for models that are all linked by battles.

    Each cluster gets a random weight, exponential with mean 1 (the Bayesian bootstrap); kinds of battles that occur
    in c clusters of their own get the sum of c such weights, a gamma variable. To either side of each compared pair
    a virtual win of random weight is added, a gamma variable of shape

        min(1/2, 3/2 * c_ab / min(c_a, c_b))

    in units of the pair's mean wins per cluster, where c counts clusters: of the pair, and of each of its models.
    For two models with one battle per cluster this makes the drawn win rate Beta(wins + 1/2, losses + 1/2), the
    posterior of Jeffreys' interval. Without the virtual wins, three wins of three would have no spread at all.

    Args:
        battles: of these models alone.
        counts: their wins, as from `count_battles`.
        strengths: the fit, from which each resample's fit starts.
        resamples: None is 1,000, and fewer, down to 200, where the work is large (more than 120 models or so).
        seed: of numpy's default generator.

    Source: D. B. Rubin, "The Bayesian bootstrap", Annals of Statistics 9, 1981; the virtual wins are ours, chosen by
    simulated coverage.
    """
    n, rng = battles.models, np.random.default_rng(seed)
    units, virtual = _units(battles), _virtual(battles, counts)
    work = n**3 + 10 * len(units.unit)
    total = resamples if resamples is not None else int(np.clip(_WORK // work, _FEWEST, RESAMPLES))
    dense = _dense(units)
    rows = max(1, _NUMBERS_AT_ONCE // max(n * n, len(units.unit) if dense is None else len(units.shape)))
    strengths_drawn = []
    for offset in range(0, total, rows):
        size = min(rows, total - offset)
        drawn = rng.standard_gamma(np.broadcast_to(units.shape, (size, len(units.shape))))
        wins = np.zeros((size, n * n))
        if dense is None:
            wins[:, units.cells] = np.add.reduceat(drawn[:, units.unit] * units.wins, units.starts, axis=1)
        else:
            wins[:, units.cells] = drawn @ dense
        drawn = rng.standard_gamma(np.broadcast_to(virtual.shape, (size, len(virtual.shape))))
        # Small shapes draw numbers that are 0 for a double, and the likelihood would have no maximum.
        wins[:, virtual.cells] += np.maximum(drawn, _LEAST) * virtual.size
        start = np.broadcast_to(strengths, (size, n))
        # The error is about the square of the tolerance: 1e-6, far below the spread of the resamples.
        strengths_drawn.append(solve(wins.reshape(size, n, n), start, tolerance=1e-3).strengths)
    return np.concatenate(strengths_drawn)


def met(battles: Battles) -> Met:
    """Count the clusters of each model and pair; battles without clusters are one cluster each."""
    n = battles.models
    low, high = np.minimum(battles.first, battles.second), np.maximum(battles.first, battles.second)
    pair = low * n + high
    if battles.cluster is None:
        pairs = np.bincount(pair, minlength=n * n).reshape(n, n)
        return Met((pairs + pairs.T).sum(axis=1), pairs + pairs.T)
    cluster = np.unique(battles.cluster, return_inverse=True)[1]
    pairs = np.bincount(np.unique(cluster * n * n + pair) % (n * n), minlength=n * n).reshape(n, n)
    models = np.concatenate([cluster * n + battles.first, cluster * n + battles.second])
    return Met(np.bincount(np.unique(models) % n, minlength=n), pairs + pairs.T)


class _Virtual(NamedTuple):
    """Virtual wins of each ordered pair that has battles: its cell, and the shape and size of the wins."""

    cells: Array
    shape: Array
    size: Array


def _virtual(battles: Battles, counts: Array) -> _Virtual:
    clusters, fought = met(battles), counts + counts.T
    a, b = np.nonzero(clusters.pair)
    together = clusters.pair[a, b]
    shape = np.minimum(0.5, 1.5 * together / np.minimum(clusters.model[a], clusters.model[b]))
    return _Virtual(a * battles.models + b, shape, fought[a, b] / together)


def _units(battles: Battles) -> Units:
    n = battles.models
    swapped = battles.first > battles.second
    low, high = np.where(swapped, (battles.second, battles.first), (battles.first, battles.second))
    score = np.where(swapped, 1 - battles.score, battles.score)
    weight = np.ones(len(score)) if battles.weight is None else battles.weight
    if battles.cluster is None or len(np.unique(battles.cluster)) == len(battles.cluster):
        kinds = low * n + high
        for values in (score, weight):
            distinct, code = np.unique(values, return_inverse=True)
            kinds = kinds * len(distinct) + code
        _, rows, shape = np.unique(kinds, return_index=True, return_counts=True)
        low, high, score, weight, unit = low[rows], high[rows], score[rows], weight[rows], np.arange(len(rows))
    else:
        unit = np.unique(battles.cluster, return_inverse=True)[1]
        shape = np.ones(int(unit.max()) + 1, dtype=np.int64)
    cell = np.concatenate([low * n + high, high * n + low])
    wins = np.concatenate([score * weight, (1 - score) * weight])
    key = cell * len(shape) + np.concatenate([unit, unit])
    key, wins = key[wins > 0], wins[wins > 0]
    entry, where = np.unique(key, return_inverse=True)
    cells, starts = np.unique(entry // len(shape), return_index=True)
    return Units(cells, starts, entry % len(shape), np.bincount(where, weights=wins), shape.astype(float))


def _dense(units: Units) -> Array | None:
    """Units x cells, where enough of it is not 0 for a matrix product to be faster than sums over entries."""
    size = len(units.shape) * len(units.cells)
    if size > min(_DENSE, 16 * len(units.unit)):
        return None
    table = np.zeros((len(units.shape), len(units.cells)))
    table[units.unit, np.searchsorted(units.starts, np.arange(len(units.unit)), side="right") - 1] = units.wins
    return table
