"""The limits of a confidence sequence: up to which mean has the capital of `sequential` refuted every smaller one?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]

LARGEST_BET: Final = 0.95
BETS: Final = tuple(0.02 * (LARGEST_BET / 0.02) ** (k / 15) for k in range(16))
EXACT: Final = 1e-9
"""Two sums that differ by less are equal: what rounding leaves of a million fractions."""
STEPS_AT_ONCE: Final = 1_024
"""16 bets on so many observations fit a processor's cache."""
_RESOLUTION: Final = 1e-10


def lower_limits(data: Array, total: int | None, ends: Sequence[int], goal: float) -> list[float]:
    """The running lower limit of the mean after each of `ends`.

    Args:
        data: observations in [0, 1]; 1 - data gives 1 - the upper limits.
        total: None for the population, N for a fixed set of N.
        ends: rising counts of observations, at least 1.
        goal: log of the capital that refutes.
    """
    game = _Game.of(data, total)
    state = _State(0.0, *game.skip(0.0, 0))
    limit, start, found = 0.0, 0, []
    for end in ends:
        # Where less than the sum so far is asked for, the mean is certain to be larger: there is nothing to bet on.
        certain = float(game.spent[end]) / game.total
        if state.mean < certain + EXACT / game.total:
            mean = certain + EXACT / game.total
            state = _State(mean, *game.skip(mean, start))
        state, raised = _advance(game, state, start, end, goal)
        limit = max(limit, certain, state.mean if raised else 0.0)
        found.append(limit)
        start = end
    return found


class _State(NamedTuple):
    """Each bet's log capital against one mean, and its derivative by that mean."""

    mean: float
    logs: Array
    slopes: Array


class _Game(NamedTuple):
    """What both questions have in common: the payout is r_i = gain_i / (total * m - spent_i), at bets c * growth_i.

    The population has total 1, spent 0 and growth 1; a set of N has gain (N - i + 1) x_i and spent S_{i-1}, which
    is N + 1 long.
    """

    total: float
    gain: Array
    spent: Array
    growth: Array

    @classmethod
    def of(cls, data: Array, total: int | None) -> _Game:
        import numpy as np

        n = len(data)
        if total is None:
            return cls(1.0, data, np.zeros(n + 1), np.ones(n))
        left = total - np.arange(n)
        return cls(float(total), data * left, np.concatenate(([0.0], np.cumsum(data))), total / left)

    def factors(self, mean: float, start: int, end: int) -> tuple[Array, Array, Array]:
        """What each step multiplies each bet's capital by; the derivative of its log by the mean, in two factors."""
        import numpy as np

        need = self.total * mean - self.spent[start:end]
        bets = np.minimum(LARGEST_BET, np.asarray(BETS)[:, None] * self.growth[start:end])
        grown = bets * (self.gain[start:end] / need - 1)
        grown += 1
        lean = np.subtract(1, bets, out=bets)
        lean /= grown
        lean -= 1
        return grown, lean, self.total / need

    def skip(self, mean: float, end: int) -> tuple[Array, Array]:
        """Logs and slopes against `mean` after the first `end` steps."""
        import numpy as np

        logs, slopes = np.zeros(len(BETS)), np.zeros(len(BETS))
        for start in range(0, end, STEPS_AT_ONCE):
            grown, lean, rate = self.factors(mean, start, min(end, start + STEPS_AT_ONCE))
            logs += np.log(grown, out=grown).sum(axis=1)
            slopes += lean @ rate
        return logs, slopes


def _advance(game: _Game, state: _State, start: int, end: int, goal: float) -> tuple[_State, bool]:
    """Raise the mean to the largest that the capital refutes at a moment in (start, end]; also: was it refuted?

    The log of a mixture of convex falling functions of m is one too, and so is the largest over moments. Newton's
    steps from the left therefore never pass the root: each is a valid limit, and few are needed.
    """
    import numpy as np

    mean, logs, slopes = state
    raised = False
    while True:
        grown, lean, rate = game.factors(mean, start, end)
        path = logs[:, None] + np.cumsum(np.log(grown), axis=1)
        top = path.max(axis=0)
        capital = top + np.log(np.exp(path - top).mean(axis=0))
        best = int(capital.argmax())
        excess = float(capital[best]) - goal
        raised = raised or excess >= 0
        shares = np.exp(path[:, best] - capital[best]) / len(BETS)
        steepness = -float(shares @ (slopes + lean[:, : best + 1] @ rate[: best + 1]))
        if excess <= _RESOLUTION * steepness:
            return _State(mean, path[:, -1], slopes + lean @ rate), raised
        mean += excess / steepness
        logs, slopes = game.skip(mean, start)
