"""Several things measured on the same samples: the differences of all pairs, with intervals that hold together.

The intervals hold together after Bonferroni, so that one of the things may be picked by them: the best of several is
partly the luckiest. Judges are chosen by it, and so are the cells of a grid.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Interval, interval_of_influence, mean_interval, wilson, wilson_clustered
from steelyard.stats.paired import newcombe_clustered, newcombe_paired


@dataclass(frozen=True, slots=True)
class JointDifference:
    """By how much the first of two things is better than the second, over the same samples.

    Args:
        first: name of a thing.
        second: of another.
        value: first minus second, of values in [0, 1].
        interval: which holds together with those of all other pairs.
        n: samples.
    """

    first: str
    second: str
    value: float
    interval: Interval | None
    n: int

    def seen_from(self, name: str) -> JointDifference:
        """The same difference with this one of the two as the first.

        >>> JointDifference("a", "b", 0.25, Interval(0.125, 0.5), 40).seen_from("b").interval
        Interval(low=-0.5, high=-0.125)
        """
        if name == self.first:
            return self
        limits = Interval(-self.interval.high, -self.interval.low) if self.interval else None
        return JointDifference(self.second, self.first, -self.value, limits, self.n)


@dataclass(frozen=True, slots=True)
class JointValues:
    """Values in [0, 1] of several things on the same samples, higher being better.

    Args:
        values: (things, samples).
        binary: whether there are no other values than 0 and 1.
        clusters: a number per sample; None where samples are independent.
        weights: of the samples; None where all are equal.
    """

    values: Array
    binary: bool
    clusters: Array | None = None
    weights: Array | None = None

    def mean(self, values: Array, level: float, *, second: Array | None = None) -> tuple[float, Interval | None]:
        """The mean of one thing's values, or that of its difference to a second one, with the interval."""
        differences = values if second is None else values - second
        if self.weights is not None:
            share = self.weights / self.weights.sum()
            mean = float(share @ differences)
            return mean, interval_of_influence(mean, share * (differences - mean), clusters=self.clusters, level=level)
        mean = float(differences.mean())
        if not self.binary:
            scale = (0.0, 1.0) if second is None else (-1.0, 1.0)
            return mean, mean_interval(differences, clusters=self.clusters, level=level, scale=scale)
        if second is None:
            if self.clusters is not None:
                return mean, wilson_clustered(values, clusters=self.clusters, level=level)
            return mean, wilson(int(values.sum()), len(values), level)
        if self.clusters is not None:
            return mean, newcombe_clustered(values, second, clusters=self.clusters, level=level)
        both_right, only_first = int((values * second).sum()), int((values * (1 - second)).sum())
        only_second = int(((1 - values) * second).sum())
        neither = len(values) - both_right - only_first - only_second
        return mean, newcombe_paired(both_right, only_first, only_second, neither, level)

    def differences(self, names: Sequence[str], level: float) -> tuple[JointDifference, ...]:
        """The difference of every pair, in order.

        Args:
            names: of the things.
            level: at which all intervals hold together.
        """
        pairs = list(combinations(range(len(names)), 2))
        joint_level = 1 - (1 - level) / max(1, len(pairs))
        n = self.values.shape[1]
        return tuple(
            JointDifference(
                names[first],
                names[second],
                *self.mean(self.values[first], joint_level, second=self.values[second]),
                n,
            )
            for first, second in pairs
        )


def advantages(name: str, differences: Sequence[JointDifference]) -> Iterator[tuple[float, Interval | None]]:
    """By how much one thing is better than each other one, with the interval."""
    for difference in differences:
        if name in {difference.first, difference.second}:
            own = difference.seen_from(name)
            yield own.value, own.interval


def is_not_worse(name: str, differences: Sequence[JointDifference], margin: float) -> bool:
    """Whether one thing is shown to be worse than no other by `margin` or more.

    Where a pair has no interval, only an equal one is known not to be worse.
    """
    return all(
        (interval.low if interval else -math.inf if value else 0.0) > -margin
        for value, interval in advantages(name, differences)
    )
