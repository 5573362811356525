"""Newton's method for the likelihood of Bradley and Terry, many tables of wins at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

_LIMIT: Final = 200
_CELLS_AT_ONCE: Final = 1_000_000


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
    import numpy as np

    tables, models, _ = wins.shape
    strengths, converged, most = np.zeros((tables, models)), np.zeros(tables, dtype=bool), 0
    rows = max(1, _CELLS_AT_ONCE // models**2)
    for at in range(0, tables, rows):
        part = slice(at, at + rows)
        strengths[part], converged[part], taken = _solve_block(wins[part], start[part], tolerance)
        most = max(most, taken)
    return Solved(strengths - strengths.mean(axis=1, keepdims=True), converged, most)


def _solve_block(wins: Array, start: Array, tolerance: float) -> tuple[Array, Array, int]:
    import numpy as np

    strengths, moving, iteration = start.astype(float), np.arange(len(wins)), 0
    won, battles = wins.sum(axis=2), wins + wins.transpose(0, 2, 1)
    if wins.shape[1] < 2:
        return strengths, np.ones(len(wins), dtype=bool), 0
    while len(moving) and iteration < _LIMIT:
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
    import numpy as np

    behind = strengths[:, None, :] - strengths[:, :, None]
    # Beyond e^700 a double overflows; what lies there is 0 in every sum.
    share = 1 / (1 + np.exp(np.clip(behind, -700, 700)))
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
    moved = np.abs(step[:, :, None] - step[:, None, :])
    moved[battles <= 0] = 0.0
    return step, moved.max(axis=(1, 2))
