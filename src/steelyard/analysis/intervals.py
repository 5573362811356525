"""A mean with its interval, and the choice of intervals: the defaults, or those that a suite configures."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from steelyard.stats.binomial import clopper_pearson
from steelyard.stats.intervals import Interval, clustered_spread, wilson, wilson_clustered


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over `n` rows with its 95 % CI.

    `value` is None when n is 0; `interval` is None when the spread is unknown (a score that is not a rate, with
    fewer than two independent samples).

    `standard_error` is that of the mean, s / sqrt(n) with s over n - 1, and by cluster (CR1) where samples are not
    independent. It is None for fewer than two independent samples, and where a rule stopped the run early, as it holds
    for a number of samples that was fixed before. Intervals of rates (Wilson) do not use it: for 10 right of 10 it is
    0, while the interval starts at 0.72.
    """

    value: float | None
    interval: Interval | None
    n: int
    standard_error: float | None = None

    def complement(self) -> Mean:
        """The mean of 1 - value: a rate of A as that of B.

        >>> Mean(0.25, Interval(0.125, 0.5), 8).complement()
        Mean(value=0.75, interval=Interval(low=0.5, high=0.875), n=8, standard_error=None)
        """
        interval = Interval(1 - self.interval.high, 1 - self.interval.low) if self.interval else None
        return Mean(None if self.value is None else 1 - self.value, interval, self.n, self.standard_error)


def standard_error(values: ArrayLike, units: ArrayLike | None = None) -> float | None:
    """The standard error of a mean, by cluster; None for fewer than two independent ones.

    Args:
        values: finite numbers.
        units: a number for each, equal for values that depend on each other; None: all are independent.

    >>> round(standard_error([1, 0, 0, 0]), 4), round(standard_error([1, 0, 0, 0], [0, 0, 1, 1]), 4)
    (0.25, 0.25)
    >>> standard_error([1])
    """
    error = clustered_spread(values, units).error
    return error if math.isfinite(error) else None


def rate_standard_error(successes: float, n: int) -> float | None:
    """The standard error of a rate over n independent samples, from its counts: sqrt(p (1 - p) / (n - 1)).

    >>> rate_standard_error(1, 4), rate_standard_error(1, 1)
    (0.25, None)
    """
    return math.sqrt(successes / n * (1 - successes / n) / (n - 1)) if n > 1 else None


def unit_numbers(units: Iterable[Hashable]) -> list[int]:
    """A number for each unit, from 0 in order of first appearance: what belongs to one unit is not independent.

    >>> unit_numbers(["b", "a", "b"])
    [0, 1, 0]
    """
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(unit, len(numbers)) for unit in units]


def share_interval(values: ArrayLike, units: ArrayLike) -> Interval:
    """Wilson's 95 % CI of the share of ones among zeros and ones, by cluster where several belong to one unit.

    Args:
        values: at least one.
        units: a number for each.
    """
    if len(np.unique(units)) == np.size(values):
        return wilson(int(np.sum(values)), np.size(values))
    return wilson_clustered(values, clusters=units)


@dataclass(frozen=True, slots=True)
class Intervals:
    """Which kind of 95 % CI a run's summary shows for rates.

    Args:
        rates: of a rate over independent samples: `wilson`, or `clopper_pearson`, which never covers less than 95 % and
            is wider. A rate in clusters gets Wilson's interval with the effective number of samples in any case.
    """

    rates: Literal["wilson", "clopper_pearson"] = "wilson"

    @classmethod
    def of(cls, manifest: Mapping[str, Any]) -> Self:
        """The kind that a run's manifest names; the default where it names none."""
        named = (manifest.get("options") or {}).get("intervals") or {}
        return cls(named.get("rates", "wilson"))

    def of_rate(self, successes: int, n: int) -> Interval:
        """The 95 % CI of a rate over n >= 1 independent samples."""
        return wilson(successes, n) if self.rates == "wilson" else clopper_pearson(successes, n)


USUAL: Final = Intervals()
