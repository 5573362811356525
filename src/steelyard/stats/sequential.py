"""Early stop: tests, valid after every observation, of whether a mean is above or below a threshold.

Testing after each reply and stopping at the first p < 0.05 gives a wrong result for a fair coin in four runs of ten.
Here a gambler bets against "the mean is m", with odds that are fair if this is true. If it is, the capital passes
2 / alpha with probability alpha / 2 at most, however often one tests; so the limits hold at all moments at once.

With x_t in [0, 1] and m_t the mean that the null hypothesis expects of the next observation, the capital is

    K_t(m) = 1/16 sum_c prod_{i <= t} (1 + c_i (x_i / m_i - 1))     against "the mean is at most m"

and the same of 1 - x against "at least m". The 16 bets c run from .02 to .95 in geometric steps: one of them is close
to the best for any distance from m, so no bet has to be chosen. An observation equal to m does not change the capital.

- population: observations are independent draws, m_t = m and c_t = c.
- full: the observations are a fixed set of N in random order, drawn without replacement, and the mean is that of all
  N. Then m_t = (N m - S_{t-1}) / (N - t + 1), the mean of the values to come, and c_t = min(.95, c N / (N - t + 1)):
  the fewer values are to come, the further their mean can be from m_t, so the bets grow. At t = N the mean is known.

Source: I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by betting", JRSS B 86, 2024,
sections 4 and 5 (without replacement), and "Confidence sequences for sampling without replacement", NeurIPS 2020.
Deviations: a mixture over a grid of fixed bets in place of one adaptive bet, two one-sided tests at alpha / 2 in place
of the hedged sum, and the growth of the bets without replacement. Any bet that is fixed before x_t is seen is valid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Interval, check_level

Decision = Literal["", "above", "below", "equal"]

_LARGEST_BET: Final = 0.95
_BETS: Final = tuple(0.02 * (_LARGEST_BET / 0.02) ** (k / 15) for k in range(16))
_EXACT: Final = 1e-9
"""Two sums that differ by less are equal: the rounding error of a million fractions."""
_STEPS_AT_ONCE: Final = 1_024
"""16 bets on this many observations fit into the cache of a processor."""
_RESOLUTION: Final = 1e-10


class BettingTest:
    """Sequential test of whether a mean lies above or below a threshold, valid after every observation.

    The first moment with a decision is the first at which `confidence_sequence` leaves the threshold out. Where the
    mean is not the threshold, the decision is wrong in at most (1 - level) / 2 of all runs; where it is, a decision
    that it lies above or below is made in at most 1 - level of them.

    Args:
        threshold: strictly between 0 and 1.
        level: confidence level in (0, 1), of both sides together.
        total: None asks about the population that the observations are drawn from. A number asks about the mean of
            exactly so many values, which must come in random order; it is decided by the last one at the latest.

    Attributes:
        n: observations used so far.
        decision: "" while open, then "above" or "below"; "equal" only with `total`, when all have been seen and their
            mean is the threshold (their sum to 1e-9).

    Raises:
        ValueError: a threshold, level or total out of range.

    >>> test = BettingTest()
    >>> for _ in range(9):
    ...     test.observe(1.0)
    >>> test.n, test.decision
    (9, 'above')
    """

    __slots__ = ("_above", "_below", "_goal", "_lost", "_offered", "_sum", "decision", "n", "threshold", "total")

    def __init__(self, threshold: float = 0.5, *, level: float = 0.95, total: int | None = None) -> None:
        check_level(level)
        if not 0 < threshold < 1:
            raise ValueError(f"a threshold must lie strictly between 0 and 1, not at {threshold}")
        if total is not None and total < 1:
            raise ValueError(f"a full set must have at least one value, not {total}")
        self.threshold = threshold
        self.total = total
        self.n = 0
        self.decision: Decision = ""
        self._goal = _goal(level)
        self._above = [0.0] * len(_BETS)
        self._below = [0.0] * len(_BETS)
        self._offered = 0
        self._sum = 0.0
        self._lost = 0.0

    def observe(self, x: float) -> None:
        """Add the next observation; ignored after a decision.

        Raises:
            ValueError: x is not in [0, 1], or comes after `total` others.
        """
        if not 0 <= x <= 1:
            raise ValueError(f"an observation must lie between 0 and 1, not at {x}")
        if self._offered == self.total:
            raise ValueError(f"all {self.total} values of the full set have been observed")
        self._offered += 1
        if self.decision:
            return
        above, below = self._bet(x)
        self.n += 1
        self._add(x)
        self.decision = self._certain() or ("above" if above else "below" if below else "")

    def _bet(self, x: float) -> tuple[bool, bool]:
        """Place the bets on x; whether the capital now refutes each of the two null hypotheses."""
        if self.total is None:
            remaining, needed, bets = 1, self.threshold, _BETS
        else:
            remaining = self.total - self.n
            needed = self.total * self.threshold - self._sum - self._lost
            growth = self.total / remaining
            bets = tuple(min(_LARGEST_BET, bet * growth) for bet in _BETS)
        # Where the values to come need to average 0 (or 1), no bet is possible: only `_certain` decides.
        if needed > _EXACT:
            self._above = _stake(self._above, bets, x * remaining / needed)
        if remaining - needed > _EXACT:
            self._below = _stake(self._below, bets, (1 - x) * remaining / (remaining - needed))
        return _refuted(self._above, self._goal), _refuted(self._below, self._goal)

    def _add(self, x: float) -> None:
        """Add x by Neumaier's summation: the total of a million fractions is exact to 1e-9."""
        total = self._sum + x
        self._lost += (self._sum - total) + x if self._sum >= x else (x - total) + self._sum
        self._sum = total

    def _certain(self) -> Decision:
        """The decision that no further value can change; "" while there is none."""
        if self.total is None:
            return ""
        surplus = self._sum + self._lost - self.total * self.threshold
        left = self.total - self.n
        if surplus > _EXACT:
            return "above"
        if surplus + left < -_EXACT:
            return "below"
        return "" if left else "equal"


def _goal(level: float) -> float:
    """The log of the capital at which one side is decided: 2 / alpha."""
    return math.log(2 / (1 - level))


def _stake(logs: list[float], bets: Sequence[float], ratio: float) -> list[float]:
    """Each bet's log capital after a payout of `ratio` for each unit at stake."""
    gain = ratio - 1
    log = math.log1p
    return [capital + log(bet * gain) for capital, bet in zip(logs, bets, strict=True)]


def _refuted(logs: Sequence[float], goal: float) -> bool:
    """Whether the mean capital of the bets has reached the goal. The cheap test of the largest comes first."""
    return max(logs) >= goal and math.log(sum(math.exp(capital) for capital in logs) / len(logs)) >= goal


def confidence_sequence(
    values: ArrayLike, *, level: float = 0.95, total: int | None = None, at: Sequence[int] | None = None
) -> list[Interval]:
    """Intervals of a mean that all hold together with probability `level`, after any number of observations.

    The interval after t observations is the intersection of all up to then: the limits never widen, and do not depend
    on which other moments are requested. With `total` they also stay within what is possible, from S_t / N to
    (S_t + N - t) / N. Each limit is solved to 1e-10, on the safe side.

    Where the two limits cross, which happens in at most 1 - level of the runs and where the order is not random, the
    interval is the one point between them that is nearest to the mean so far.

    Args:
        values: the observations in their order, each in [0, 1].
        level: confidence level in (0, 1).
        total: None for the mean of the population; N for the mean of the N values of a fixed set in random order.
        at: after how many observations, each from 0 (nothing is known: [0, 1]) to all; None: only after all.

    Raises:
        ValueError: a value outside [0, 1], more values than `total`, or a moment beyond the observations.

    >>> confidence_sequence([1] * 19)[0].rounded(5)
    (0.71803, 1.0)
    """
    check_level(level)
    data = np.asarray(values, dtype=float)
    moments = [len(data)] if at is None else list(at)
    _check(data, total, moments)
    ends = sorted({*moments, *range(_STEPS_AT_ONCE, len(data), _STEPS_AT_ONCE)} - {0})
    lows = _lower_limits(data, total, ends, _goal(level))
    highs = [1 - low for low in _lower_limits(1 - data, total, ends, _goal(level))]
    sums = np.concatenate(([0.0], np.cumsum(data)))
    intervals = {0: Interval(0.0, 1.0)}
    for end, low, high in zip(ends, lows, highs, strict=True):
        point = min(low, max(high, float(sums[end]) / end))
        intervals[end] = Interval(low, high) if low <= high else Interval(point, point)
    return [intervals[moment] for moment in moments]


def _check(data: Array, total: int | None, moments: Sequence[int]) -> None:
    if data.ndim != 1 or not ((data >= 0) & (data <= 1)).all():
        raise ValueError("observations must be one row of numbers between 0 and 1")
    if total is not None and not len(data) <= total:
        raise ValueError(f"{len(data)} observations cannot come from a full set of {total}")
    if any(not 0 <= moment <= len(data) for moment in moments):
        raise ValueError(f"there are {len(data)} observations: no interval after {min(moments)} to {max(moments)}")


def difference_to_unit(difference: float) -> float:
    """A difference of two scores in [0, 1], put on the scale of the tests: (difference + 1) / 2, 0.5 for equal.

    Paired scores s, t of two targets decide the sign of their mean difference as x = difference_to_unit(s - t)
    against the threshold 0.5, and whether it passes d against difference_to_unit(d).

    >>> difference_to_unit(-0.5)
    0.25
    """
    if not -1 <= difference <= 1:
        raise ValueError(f"a difference of two scores must lie between -1 and 1, not at {difference}")
    return (difference + 1) / 2


def unit_to_difference(interval: Interval) -> Interval:
    """An interval of a mean of `difference_to_unit`, put back on the scale of the difference.

    >>> unit_to_difference(Interval(0.25, 0.75))
    Interval(low=-0.5, high=0.5)
    """
    return Interval(2 * interval.low - 1, 2 * interval.high - 1)


def _lower_limits(data: Array, total: int | None, ends: Sequence[int], goal: float) -> list[float]:
    """The running lower limit of the mean after each of `ends`.

    Args:
        data: observations in [0, 1]; 1 - data gives 1 - the upper limits.
        total: None for the population, N for a fixed set of N.
        ends: rising counts of observations, at least 1.
        goal: log of the capital that refutes.
    """
    game = _Game.of(data, total)
    state = _State(0.0, *game.skip(0.0, 0))
    limit, start, limits = 0.0, 0, []
    for end in ends:
        # A mean below the sum so far is impossible with a fixed total: there is nothing to bet on.
        certain = float(game.spent[end]) / game.total
        if state.mean < certain + _EXACT / game.total:
            mean = certain + _EXACT / game.total
            state = _State(mean, *game.skip(mean, start))
        state, raised = _advance(game, state, start, end, goal)
        limit = max(limit, certain, state.mean if raised else 0.0)
        limits.append(limit)
        start = end
    return limits


class _State(NamedTuple):
    """Each bet's log capital against one mean, and its derivative by that mean."""

    mean: float
    logs: Array
    slopes: Array


class _Game(NamedTuple):
    """The terms of both questions: the payout is r_i = gain_i / (total * m - spent_i), at bets c * growth_i.

    The population has total 1, spent 0 and growth 1; a set of N has gain (N - i + 1) x_i and spent S_{i-1}, which
    is N + 1 long.
    """

    total: float
    gain: Array
    spent: Array
    growth: Array

    @classmethod
    def of(cls, data: Array, total: int | None) -> _Game:
        n = len(data)
        if total is None:
            return cls(1.0, data, np.zeros(n + 1), np.ones(n))
        remaining = total - np.arange(n)
        return cls(float(total), data * remaining, np.concatenate(([0.0], np.cumsum(data))), total / remaining)

    def factors(self, mean: float, start: int, end: int) -> tuple[Array, Array, Array]:
        """The factor of each bet's capital per step; the derivative of its log by the mean, in two factors."""
        needed = self.total * mean - self.spent[start:end]
        bets = np.minimum(_LARGEST_BET, np.asarray(_BETS)[:, None] * self.growth[start:end])
        grown = bets * (self.gain[start:end] / needed - 1)
        grown += 1
        lean = np.subtract(1, bets, out=bets)
        lean /= grown
        lean -= 1
        return grown, lean, self.total / needed

    def skip(self, mean: float, end: int) -> tuple[Array, Array]:
        """Logs and slopes against `mean` after the first `end` steps."""
        logs, slopes = np.zeros(len(_BETS)), np.zeros(len(_BETS))
        for start in range(0, end, _STEPS_AT_ONCE):
            grown, lean, rate = self.factors(mean, start, min(end, start + _STEPS_AT_ONCE))
            logs += np.log(grown, out=grown).sum(axis=1)
            slopes += lean @ rate
        return logs, slopes


def _advance(game: _Game, state: _State, start: int, end: int, goal: float) -> tuple[_State, bool]:
    """Raise the mean to the largest that the capital refutes at a moment in (start, end]; also: was it refuted?

    The log of a mixture of convex falling functions of m is one too, and so is the largest over moments. Newton's
    steps from the left therefore never pass the root: each is a valid limit, and few are needed.
    """
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
        shares = np.exp(path[:, best] - capital[best]) / len(_BETS)
        steepness = -float(shares @ (slopes + lean[:, : best + 1] @ rate[: best + 1]))
        if excess <= _RESOLUTION * steepness:
            return _State(mean, path[:, -1], slopes + lean @ rate), raised
        mean += excess / steepness
        logs, slopes = game.skip(mean, start)
