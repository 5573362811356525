"""How far strengths move when other prompts might have been asked: the fit on clusters with random weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steelyard.stats.ranking import Battles
from steelyard.stats.ranking_newton import solve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

RESAMPLES: Final = 1000
_FEWEST: Final = 200
_WORK: Final = 2_000_000_000
_LEAST: Final = 1e-6
_DENSE: Final = 20_000_000
_NUMBERS_AT_ONCE: Final = 4_000_000


class Units(NamedTuple):
    """Battles by what is resampled, sorted by ordered pair.

    Args:
        cells: the ordered pairs `a * models + b` that have wins, each once.
        starts: where each cell's entries begin.
        unit: of an entry, the number of the cluster, or of the kind of battle where every battle is its own cluster.
        wins: of an entry, the wins of that unit in that cell.
        shape: of a unit, how many clusters it stands for.
    """

    cells: Array
    starts: Array
    unit: Array
    wins: Array
    shape: Array


class Met(NamedTuple):
    """In how many clusters models and pairs of models fought."""

    model: Array
    pair: Array


def resample(battles: Battles, counts: Array, strengths: Array, *, resamples: int | None, seed: int) -> Array:
    """Strengths of resampled battles, resamples x models; for models that are all linked by battles.

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
    import numpy as np

    n, rng = battles.models, np.random.default_rng(seed)
    units, virtual = _units(battles), _virtual(battles, counts)
    work = n**3 + 10 * len(units.unit)
    total = resamples if resamples is not None else int(np.clip(_WORK // work, _FEWEST, RESAMPLES))
    dense = _dense(units)
    rows = max(1, _NUMBERS_AT_ONCE // max(n * n, len(units.unit) if dense is None else len(units.shape)))
    found = []
    for at in range(0, total, rows):
        size = min(rows, total - at)
        drawn = rng.standard_gamma(np.broadcast_to(units.shape, (size, len(units.shape))))
        wins = np.zeros((size, n * n))
        if dense is None:
            wins[:, units.cells] = np.add.reduceat(drawn[:, units.unit] * units.wins, units.starts, axis=1)
        else:
            wins[:, units.cells] = drawn @ dense
        drawn = rng.standard_gamma(np.broadcast_to(virtual.shape, (size, len(virtual.shape))))
        # Small shapes draw numbers that are 0 for a double, which would leave a table without a maximum.
        wins[:, virtual.cells] += np.maximum(drawn, _LEAST) * virtual.size
        start = np.broadcast_to(strengths, (size, n))
        found.append(solve(wins.reshape(size, n, n), start, tolerance=1e-3).strengths)
    return np.concatenate(found)


def met(battles: Battles) -> Met:
    """Count clusters; a battle that names no cluster is one of its own."""
    import numpy as np

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
    """Of each ordered pair that has battles: its cell, the shape of its virtual wins, and their size."""

    cells: Array
    shape: Array
    size: Array


def _virtual(battles: Battles, counts: Array) -> _Virtual:
    import numpy as np

    clusters, fought = met(battles), counts + counts.T
    a, b = np.nonzero(clusters.pair)
    together = clusters.pair[a, b]
    shape = np.minimum(0.5, 1.5 * together / np.minimum(clusters.model[a], clusters.model[b]))
    return _Virtual(a * battles.models + b, shape, fought[a, b] / together)


def _units(battles: Battles) -> Units:
    import numpy as np

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
        _, one, shape = np.unique(kinds, return_index=True, return_counts=True)
        low, high, score, weight, unit = low[one], high[one], score[one], weight[one], np.arange(len(one))
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
    import numpy as np

    size = len(units.shape) * len(units.cells)
    if size > min(_DENSE, 16 * len(units.unit)):
        return None
    table = np.zeros((len(units.shape), len(units.cells)))
    table[units.unit, np.searchsorted(units.starts, np.arange(len(units.unit)), side="right") - 1] = units.wins
    return table
