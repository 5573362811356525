"""Bradley-Terry ratings: battles between pairs of models -> one strength per model.

Coded battles and their counts; which models can be compared at all; the maximum of the likelihood by Newton's method,
for one table of wins or many. Intervals, rank ranges and shared places are in `ranking_order`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from steelyard.stats.arrays import Array

PRIOR: Final = 0.5
"""Virtual ties per compared pair where the likelihood has no maximum."""
ELO_CENTRE: Final = 1000.0
ELO_POINTS: Final = 400 / math.log(10)
"""Elo points in one natural-log unit: 400 points are odds of ten to one."""
_MOST_ITERATIONS: Final = 200
_CELLS_AT_ONCE: Final = 1_000_000
"""Numbers of one array, 8 MB; `_step` holds several of that size."""


class Battles(NamedTuple):
    """Battles as arrays of model numbers; `coded` builds and checks them.

    Args:
        first: a model's number, 0 <= number < models.
        second: the other model's number.
        score: of the first model, in [0, 1]: 1 won, 0 lost, 0.5 neither.
        models: how many there are.
        weight: how many battles each counts for; None is 1.
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
    """Fitted Bradley-Terry strengths, with convergence and connectivity.

    Args:
        strengths: natural-log units; model a beats b with the odds exp(strengths[a] - strengths[b]). They sum to 0
            in each component and cannot be compared between components.
        converged: the last step moved no compared pair by more than 1e-9.
        iterations: of Newton's method, the most that a component took.
        prior: virtual ties that were added per compared pair of the models in `separable`; 0 where none were.
        separable: models of components in which some never lost to the others, so that the likelihood has no maximum.
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
    """Build battles from columns, and check them.

    Args:
        first: numbers of models; see `Battles` for this and the others.
        second: the same.
        score: of the first.
        models: None is one more than the largest number.
        weight: positive.
        cluster: any numbers.

    Raises:
        ValueError: columns of different lengths, a number out of range, a model against itself, a score outside
            [0, 1] or a weight that is not positive.
    """
    codes = [np.asarray(side, dtype=np.int64).reshape(-1) for side in (first, second)]
    scores = np.asarray(score, dtype=float).reshape(-1)
    weights = None if weight is None else np.asarray(weight, dtype=float).reshape(-1)
    clusters = None if cluster is None else np.asarray(cluster).reshape(-1)
    columns = [*codes, scores, *(column for column in (weights, clusters) if column is not None)]
    if len({len(column) for column in columns}) > 1:
        raise ValueError(f"the columns of battles differ in length: {[len(column) for column in columns]}")
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
    return min(int(code.min()) for code in codes), max(int(code.max()) for code in codes)


def count_battles(battles: Battles) -> Array:
    """Wins per ordered pair, models x models: `[a, b]` is how often a beat b, a tie being half a win for both.

    >>> count_battles(coded([0, 0, 1], [1, 1, 0], [1, 0.5, 0])).tolist()
    [[0.0, 2.5], [0.5, 0.0]]
    """
    n = battles.models
    pair = battles.first * n + battles.second
    won = battles.score if battles.weight is None else battles.score * battles.weight
    wins = np.bincount(pair, weights=won, minlength=n * n).reshape(n, n)
    fought = np.bincount(pair, weights=battles.weight, minlength=n * n).reshape(n, n)
    # Rounding can make the losses slightly negative: 1 - 0.1 - 0.9 need not be 0.
    counts: Array = wins + np.maximum(fought - wins, 0.0).T
    return counts


def bradley_terry(wins: ArrayLike, *, prior: float | None = None) -> BradleyTerry:
    """The maximum-likelihood strengths r of P(a beats b) = 1 / (1 + exp(r_b - r_a)), ties as half a win for both.

    Each component of models that battles link is fitted separately. Where a part of a component never lost to the
    others, the likelihood has no maximum; there a weak prior is added, 0.5 virtual ties per compared pair, which
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
    table = np.array(wins, dtype=float)
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise ValueError(f"expected a square table of wins, models x models, not the shape {table.shape}")
    if not (np.isfinite(table).all() and (table >= 0).all()):
        raise ValueError("numbers of wins must be finite and not negative")
    if prior is not None and not (prior > 0 and math.isfinite(prior)):
        raise ValueError(f"a prior must be a positive number of virtual ties per compared pair, not {prior}")
    np.fill_diagonal(table, 0.0)
    components, strengths = linked(table), np.zeros(len(table))
    converged, iterations = True, 0
    separable: list[int] = []
    for models in components:
        part = table[np.ix_(models, models)]
        has_maximum = len(models) < 2 or len(strongly_connected(part)) < 2
        if not has_maximum:
            separable += models
        if prior is not None or not has_maximum:
            part += (PRIOR if prior is None else prior) / 2 * ((part + part.T) > 0)
        fit = solve(part[None], np.zeros((1, len(models))))
        strengths[list(models)] = fit.strengths[0]
        converged, iterations = converged and bool(fit.converged[0]), max(iterations, fit.iterations)
    prior_used = prior if prior is not None else PRIOR if separable else 0.0
    return BradleyTerry(strengths, converged, iterations, prior_used, tuple(sorted(separable)), components)


def elo(strength: float) -> float:
    """A strength on the scale of Elo: 1000 is the mean, 400 points are odds of ten to one.

    >>> round(elo(0.7406), 1)
    1128.7
    """
    return ELO_CENTRE + ELO_POINTS * strength


def linked(wins: Array) -> tuple[tuple[int, ...], ...]:
    """Sets of models linked by battles, each sorted, in order of their first model.

    Between two of these sets nothing was ever compared, so no rating of the one says anything about the other.

    Args:
        wins: n x n, `wins[a, b]` > 0 where a has beaten b or tied with it.

    >>> import numpy as np
    >>> linked(np.array([[0, 0, 2], [0, 0, 0], [0, 0, 0]]))
    ((0, 2), (1,))
    """
    compared = (wins > 0) | (wins.T > 0)
    return _peeled(compared, compared)


def strongly_connected(wins: Array) -> tuple[tuple[int, ...], ...]:
    """Largest sets in which every model has beaten every other, directly or by a chain; in order of their first model.

    The likelihood of Bradley and Terry has a maximum, and only one, exactly where there is a single such set: if one
    part never loses to the others, its ratings grow without limit.

    Source: L. R. Ford, "Solution of a ranking problem from binary comparisons", American Mathematical Monthly 64,
    1957.

    >>> import numpy as np
    >>> strongly_connected(np.array([[0, 1, 2], [1, 0, 2], [0, 0, 0]]))
    ((0, 1), (2,))
    """
    beat = wins > 0
    return _peeled(beat, beat.T)


def _peeled(forward: Array, backward: Array) -> tuple[tuple[int, ...], ...]:
    """Components, found by removing that of one model and splitting the others by reachability, repeatedly.

    The parts are the models that it reaches, that reach it, and neither; no component spans two of them.

    Source: L. Fleischer, B. Hendrickson and A. Pinar, "On identifying strongly connected components in parallel", 2000.
    """
    components, pending = [], [np.arange(len(forward))]
    while pending:
        remaining = pending.pop()
        if not len(remaining):
            continue
        # Starting in the middle halves a chain in which each model beats all that follow.
        start = len(remaining) // 2
        ahead = _reached(forward[np.ix_(remaining, remaining)], start)
        behind = ahead if forward is backward else _reached(backward[np.ix_(remaining, remaining)], start)
        components.append(tuple(int(model) for model in remaining[ahead & behind]))
        pending += [remaining[ahead & ~behind], remaining[behind & ~ahead], remaining[~ahead & ~behind]]
    return tuple(sorted(components))


def _reached(edges: Array, start: int) -> Array:
    seen = np.zeros(len(edges), dtype=bool)
    seen[start] = True
    new = seen.copy()
    while new.any():
        new = edges[new].any(axis=0) & ~seen
        seen |= new
    return seen


class Solved(NamedTuple):
    """Strengths per table (tables x models, each row summing to 0), whether each converged, and the iterations."""

    strengths: Array
    converged: Array
    iterations: int


def solve(wins: Array, start: Array, *, tolerance: float = 1e-9) -> Solved:
    """The strengths r that maximise sum_ab w_ab log(1 / (1 + exp(r_b - r_a))), for each table w of wins.

    With p_ab the modelled share of a and N_ab = w_ab + w_ba, the gradient is w_a. - sum_b N_ab p_ab and the negated
    Hessian H the Laplacian of the weights N_ab p_ab p_ba. H s = gradient is solved for the step s, of which the part

        t = log(1 + d) / d,    d = max |s_a - s_b| over compared pairs

    is taken. Third derivatives along s are at most d times the second ones, so this part never passes the maximum
    along s: the likelihood grows in every iteration and no line search is needed. Near the end t is 1.

    Args:
        wins: tables x models x models; each table's graph of wins must be strongly connected.
        start: tables x models, where to begin.
        tolerance: a table has converged when its last step moved no compared pair by more, in log units. The error
            left is about the square of that step.

    Source: R. A. Bradley and M. E. Terry, Biometrika 39, 1952; the step after T. Sun and Q. Tran-Dinh, "Generalized
    self-concordant functions", Mathematical Programming 178, 2019, theorem 2 with nu = 2.
    """
    tables, models, _ = wins.shape
    strengths, converged, most = np.zeros((tables, models)), np.zeros(tables, dtype=bool), 0
    rows = max(1, _CELLS_AT_ONCE // models**2)
    for at in range(0, tables, rows):
        part = slice(at, at + rows)
        strengths[part], converged[part], iterations = _solve_block(wins[part], start[part], tolerance)
        most = max(most, iterations)
    return Solved(strengths - strengths.mean(axis=1, keepdims=True), converged, most)


def _solve_block(wins: Array, start: Array, tolerance: float) -> tuple[Array, Array, int]:
    strengths, moving, iteration = start.astype(float), np.arange(len(wins)), 0
    won, battles = wins.sum(axis=2), wins + wins.transpose(0, 2, 1)
    if wins.shape[1] < 2:
        return strengths, np.ones(len(wins), dtype=bool), 0
    while len(moving) and iteration < _MOST_ITERATIONS:
        iteration += 1
        step, reach = _step(strengths[moving], won[moving], battles[moving])
        part = np.where(reach > 0, np.log1p(reach) / np.maximum(reach, 1e-300), 1.0)
        strengths[moving] += part[:, None] * step
        moving = moving[reach > tolerance]
    converged = np.ones(len(wins), dtype=bool)
    converged[moving] = False
    return strengths, converged, iteration


def _step(strengths: Array, won: Array, battles: Array) -> tuple[Array, Array]:
    """The full Newton step, and the most that it moves a compared pair."""
    deficits = strengths[:, None, :] - strengths[:, :, None]
    # Beyond e^700 a double overflows; such terms are 0 in every sum.
    share = 1 / (1 + np.exp(np.clip(deficits, -700, 700)))
    expected = battles * share
    curvature = expected * share.transpose(0, 2, 1)
    total = curvature.sum(axis=2)
    # Strengths are known up to a constant, so the Laplacian has no inverse. The same number added everywhere, of the
    # size of its entries, fixes the sum of the step to that of the gradient, which is 0.
    level = total.mean(axis=1) / strengths.shape[1]
    hessian = level[:, None, None] - curvature
    diagonal = np.arange(strengths.shape[1])
    hessian[:, diagonal, diagonal] += total
    step = np.linalg.solve(hessian, (won - expected.sum(axis=2))[:, :, None])[:, :, 0]
    changes = np.abs(step[:, :, None] - step[:, None, :])
    changes[battles <= 0] = 0.0
    return step, changes.max(axis=(1, 2))
