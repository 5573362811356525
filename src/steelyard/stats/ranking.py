"""Bradley-Terry ratings: battles between pairs of models -> one strength per model.

ranking            coded battles, their counts, the fit
  ranking_graph    which models can be compared at all
  ranking_newton   the maximum, for one table of wins or many
  ranking_resample the fit repeated on resampled clusters
  ranking_order    intervals, rank ranges, and sets that cannot be told apart
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steelyard.stats.ranking_graph import linked, strongly_connected
from steelyard.stats.ranking_newton import solve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[Any]

PRIOR: Final = 0.5
"""Virtual ties per compared pair where the data alone have no maximum."""
ELO_CENTRE: Final = 1000.0
ELO_POINTS: Final = 400 / math.log(10)
"""Elo points in one natural-log unit: 400 points are odds of ten to one."""


class Battles(NamedTuple):
    """Battles as arrays of codes; made and checked by `coded`.

    Args:
        first: a model's number, 0 <= number < models.
        second: the other model's number.
        score: of the first in [0, 1]: 1 it won, 0 it lost, 0.5 neither did.
        models: how many there are.
        weight: how many battles one counts for; None is 1 each.
        cluster: a number per battle, equal where battles are not independent (the same prompt); None means that all
            are independent.
    """

    first: Array
    second: Array
    score: Array
    models: int
    weight: Array | None = None
    cluster: Array | None = None


class BradleyTerry(NamedTuple):
    """Strengths and how they were found.

    Args:
        strengths: natural-log units; model a beats b with the odds exp(strengths[a] - strengths[b]). They sum to 0
            in each component and cannot be compared between components.
        converged: the last step moved no compared pair by more than 1e-9.
        iterations: of Newton's method, the most that a component took.
        prior: virtual ties that were added per compared pair of the models in `separable`; 0 where none were.
        separable: models of components in which some never lost to the rest, so that the data have no maximum.
        components: models linked by battles; more than one means that there is no common order.
    """

    strengths: Array
    converged: bool
    iterations: int
    prior: float
    separable: tuple[int, ...]
    components: tuple[tuple[int, ...], ...]

    @property
    def connected(self) -> bool:
        """Whether all strengths can be compared."""
        return len(self.components) < 2


def coded(
    first: ArrayLike,
    second: ArrayLike,
    score: ArrayLike,
    *,
    models: int | None = None,
    weight: ArrayLike | None = None,
    cluster: ArrayLike | None = None,
) -> Battles:
    """Battles from their columns, checked.

    Args:
        first: numbers of models; see `Battles` for this and the rest.
        second: the same.
        score: of the first.
        models: None is one more than the largest number.
        weight: positive.
        cluster: any numbers.

    Raises:
        ValueError: columns of different lengths, a number out of range, a model against itself, a score outside
            [0, 1] or a weight that is not positive.
    """
    import numpy as np

    codes = [np.asarray(side, dtype=np.int64).reshape(-1) for side in (first, second)]
    scores = np.asarray(score, dtype=float).reshape(-1)
    weights = None if weight is None else np.asarray(weight, dtype=float).reshape(-1)
    clusters = None if cluster is None else np.asarray(cluster).reshape(-1)
    columns = [*codes, scores, *(one for one in (weights, clusters) if one is not None)]
    if len({len(one) for one in columns}) > 1:
        raise ValueError(f"the columns of battles differ in length: {[len(one) for one in columns]}")
    least, largest = _extent(codes)
    count = largest + 1 if models is None else models
    if least < 0 or largest >= count:
        raise ValueError(f"models are numbered 0 to {count - 1}, not {least} to {largest}")
    if len(scores) and not (scores.min() >= 0 and scores.max() <= 1):
        raise ValueError("a battle's score lies between 0 (lost) and 1 (won); 0.5 is a tie")
    if weights is not None and len(weights) and not (weights.min() > 0 and math.isfinite(weights.max())):
        raise ValueError("a battle's weight is a positive number")
    if (codes[0] == codes[1]).any():
        raise ValueError("a battle is between two different models")
    return Battles(codes[0], codes[1], scores, count, weights, clusters)


def _extent(codes: Sequence[Array]) -> tuple[int, int]:
    if not len(codes[0]):
        return 0, -1
    return min(int(one.min()) for one in codes), max(int(one.max()) for one in codes)


def count_battles(battles: Battles) -> Array:
    """Wins per ordered pair, models x models: `[a, b]` is how often a beat b, a tie being half a win for both.

    >>> count_battles(coded([0, 0, 1], [1, 1, 0], [1, 0.5, 0])).tolist()
    [[0.0, 2.5], [0.5, 0.0]]
    """
    import numpy as np

    n = battles.models
    pair = battles.first * n + battles.second
    won = battles.score if battles.weight is None else battles.score * battles.weight
    wins = np.bincount(pair, weights=won, minlength=n * n).reshape(n, n)
    fought = np.bincount(pair, weights=battles.weight, minlength=n * n).reshape(n, n)
    # What is won and what is fought are sums in one order, but 1 - 0.1 - 0.9 need not be 0.
    counts: Array = wins + np.maximum(fought - wins, 0.0).T
    return counts


def bradley_terry(wins: ArrayLike, *, prior: float | None = None) -> BradleyTerry:
    """The maximum-likelihood strengths r of P(a beats b) = 1 / (1 + exp(r_b - r_a)), ties as half a win for both.

    Each component of models that battles link is fitted by itself. Where a part of a component never lost to the
    rest, the likelihood grows without end; there a weak prior is added, 0.5 virtual ties per compared pair, which
    makes the strengths finite and keeps the order, and which the result names.

    Args:
        wins: models x models, as from `count_battles`.
        prior: virtual ties per compared pair, added everywhere; None adds 0.5, and only where there is no maximum.

    Raises:
        ValueError: wins that are negative, not finite or not a square, or a prior that is not positive.

    Source: R. A. Bradley and M. E. Terry, "Rank analysis of incomplete block designs", Biometrika 39, 1952; existence
    after L. R. Ford, American Mathematical Monthly 64, 1957. Ties as half a win give the order of the models that
    model ties (Davidson, Rao and Kupper), not their win probabilities.

    >>> bradley_terry([[0, 3], [1, 0]]).strengths.round(4).tolist()
    [0.5493, -0.5493]
    """
    import numpy as np

    table = np.array(wins, dtype=float)
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise ValueError(f"wins are counted for each ordered pair of models, not in the shape {table.shape}")
    if not (np.isfinite(table).all() and (table >= 0).all()):
        raise ValueError("a number of wins is finite and not negative")
    if prior is not None and not (prior > 0 and math.isfinite(prior)):
        raise ValueError(f"a prior is a positive number of virtual ties per compared pair, not {prior}")
    np.fill_diagonal(table, 0.0)
    components, strengths = linked(table), np.zeros(len(table))
    converged, iterations = True, 0
    separable: list[int] = []
    for models in components:
        part = table[np.ix_(models, models)]
        alone = len(models) < 2 or len(strongly_connected(part)) < 2
        if not alone:
            separable += models
        if prior is not None or not alone:
            part += (PRIOR if prior is None else prior) / 2 * ((part + part.T) > 0)
        found = solve(part[None], np.zeros((1, len(models))))
        strengths[list(models)] = found.strengths[0]
        converged, iterations = converged and bool(found.converged[0]), max(iterations, found.iterations)
    used = prior if prior is not None else PRIOR if separable else 0.0
    return BradleyTerry(strengths, converged, iterations, used, tuple(sorted(separable)), components)


def elo(strength: float) -> float:
    """A strength on the scale of Elo: 1000 is the mean, 400 points are odds of ten to one.

    >>> round(elo(0.7406), 1)
    1128.7
    """
    return ELO_CENTRE + ELO_POINTS * strength
