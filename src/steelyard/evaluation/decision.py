"""One decision of early stopping: it reads scores in the drawn order, whatever the order of their arrival.

A sample's value is the mean over its repeats, counted as in the headline: an unparsed reply is 0 where the score is
over all replies. A sample without a value is no evidence. The question `full` counts it as the threshold itself, which
moves the mean of the whole set in neither direction; `population` leaves it out. The mean and the limits that are shown
are those of the samples with a value: the distance from the threshold is divided by the share of such samples so far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final

from steelyard.analysis.stopping import DecidedSide, Stopping
from steelyard.errors import ScorerError
from steelyard.stats.intervals import Interval
from steelyard.stats.sequential import BettingTest, confidence_sequence, difference_to_unit, unit_to_difference
from steelyard.types import Sample

_POINTS: Final = 200
"""Number of points stored of the path of a confidence sequence."""
_NOT_SOLVED: Final = frozenset({"unparsed", "refused"})
"""Outcomes that count as the lowest value where the score is over all replies: the solve rate of an exam."""


@dataclass(frozen=True, slots=True)
class DrawnOrder:
    """The random order in which samples are asked and decisions read them.

    Args:
        places: numbers of the samples in the dataset, in that order.
        units: sizes of the consecutive units that count as one observation each: a sample, or a cluster.
    """

    places: Sequence[int]
    units: Sequence[int]

    @classmethod
    def of(cls, samples: Sequence[Sample], seed: int, *, clustered: bool) -> DrawnOrder:
        """Order samples by a hash of the seed and their id: the same on every machine, whatever the file's order.

        Args:
            samples: the dataset.
            seed: of the draw.
            clustered: samples of one cluster follow each other and are one unit, as they are not independent.
        """
        # The prefixes keep a cluster and a sample with the same name in different units.
        names = [f"c{sample.cluster}" if clustered and sample.cluster else f"s{sample.id}" for sample in samples]
        # The unit's hash comes first, so that its samples follow each other; the second orders them within the unit.
        order = sorted(range(len(samples)), key=lambda no: (_drawn(names[no], seed), _drawn(samples[no].id, seed)))
        units: list[int] = []
        for at, no in enumerate(order):
            if at and names[no] == names[order[at - 1]]:
                units[-1] += 1
            else:
                units.append(1)
        return cls(order, units)


def _drawn(name: str, seed: int) -> bytes:
    return blake2b(f"{seed}\0{name}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


@dataclass(slots=True)
class _Values:
    total: float = 0.0
    counted: int = 0
    repeats: int = 0


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """The claim that is tested: a mean above or below a threshold, or a difference between two targets.

    Args:
        question: `full` or `population`.
        score: whose values.
        targets: one, whose mean is compared with `threshold`; or two, of which the second is compared with the first.
        threshold: in units of the score.
        level: of the decision.
        scale: lowest and highest value of the score.
        over: `all` counts unparsed replies as the lowest value.
    """

    question: Any
    score: str
    targets: tuple[str, ...]
    threshold: float
    level: float
    scale: tuple[float, float] = (0.0, 1.0)
    over: str = "scored"

    def unit_value(self, value: float) -> float:
        """Map a score from its scale to [0, 1]."""
        low, high = self.scale
        return (value - low) / (high - low)


@dataclass(slots=True)
class Decision:
    """Collects values as they arrive, and tests them in the drawn order.

    Attributes:
        hypothesis: what is decided.
        order: in which samples are read.
        repeats: of each sample.
        frontier: index in the order of the next sample to read.
        end: index in the order where records end, since a run has ended there; None is the end of the order.
    """

    hypothesis: Hypothesis
    order: DrawnOrder
    repeats: int
    frontier: int = 0
    end: int | None = None
    _unit: int = 0
    _seen: list[float] = field(default_factory=list)
    _valued: list[int] = field(default_factory=list)
    _values: dict[tuple[str, int], _Values] = field(default_factory=dict)
    _test: BettingTest = field(init=False)

    def __post_init__(self) -> None:
        is_full = self.hypothesis.question == "full"
        self._test = BettingTest(
            self._threshold, level=self.hypothesis.level, total=len(self.order.places) if is_full else None
        )

    @property
    def _threshold(self) -> float:
        return 0.5 if len(self.hypothesis.targets) == 2 else self.hypothesis.unit_value(self.hypothesis.threshold)

    @property
    def is_closed(self) -> bool:
        """Whether it is decided, or no sample is left to read."""
        if self._test.decision or self.frontier >= len(self.order.places):
            return True
        return self.end is not None and self.frontier + self.order.units[self._unit] > self.end

    def reach(self, ahead: int) -> int:
        """The index in the order up to which samples may be asked: `ahead` of the frontier, at least the next unit."""
        return self.frontier + max(ahead, len(self.next_unit))

    def take(self, target: str, no: int, outcome: str, value: float | None) -> None:
        """Add one repeat of one sample.

        Raises:
            ScorerError: a value that is not on the score's scale.
        """
        if self.is_closed:
            return
        values = self._values.setdefault((target, no), _Values())
        values.repeats += 1
        if value is None and outcome in _NOT_SOLVED and self.hypothesis.over == "all":
            value = self.hypothesis.scale[0]
        if value is not None:
            on_scale = self.hypothesis.unit_value(value)
            if not 0 <= on_scale <= 1:
                low, high = self.hypothesis.scale
                raise ScorerError(
                    f"stop_when_decided: {self.hypothesis.score} is {value:g}, outside its scale of {low:g} to {high:g}"
                )
            values.total += on_scale
            values.counted += 1

    @property
    def next_unit(self) -> Sequence[int]:
        """Numbers of the samples in the unit to read next; empty if the decision is closed."""
        if self.is_closed:
            return ()
        return self.order.places[self.frontier : self.frontier + self.order.units[self._unit]]

    def advance(self) -> None:
        """Read every next unit whose records are complete, until one is missing or the decision is made."""
        while not self.is_closed:
            unit = self.next_unit
            if not all(self.has(target, no) for target in self.hypothesis.targets for no in unit):
                return
            # The mean of a unit's samples on [0, 1]; None where none of them has a value on every side.
            values = [value for no in unit if (value := self._sample_value(no)) is not None]
            self._read_unit(sum(values) / len(values) if values else None)
            for target in self.hypothesis.targets:
                for no in unit:
                    del self._values[target, no]
            self.frontier, self._unit = self.frontier + len(unit), self._unit + 1

    def _read_unit(self, value: float | None) -> None:
        observed = self._threshold if value is None and self.hypothesis.question == "full" else value
        if observed is not None:
            self._test.observe(observed)
            self._seen.append(observed)
            self._valued.append((self._valued[-1] if self._valued else 0) + (value is not None))

    def has(self, target: str, no: int) -> bool:
        """Whether all repeats of a sample that was not read yet have arrived."""
        values = self._values.get((target, no))
        return values is not None and values.repeats >= self.repeats

    def _sample_value(self, no: int) -> float | None:
        means = []
        for target in self.hypothesis.targets:
            values = self._values[target, no]
            if not values.counted:
                return None
            means.append(values.total / values.counted)
        return means[0] if len(means) == 1 else difference_to_unit(means[1] - means[0])

    @property
    def used(self) -> Sequence[int]:
        """Numbers of the samples that were read."""
        return self.order.places[: self.frontier]

    def stopping(self, target: str, stored: int) -> Stopping:
        """The decision as it is stored with the run of `target`.

        Args:
            target: one of its targets.
            stored: samples that its run has.
        """
        hypothesis, observed = self.hypothesis, self._seen
        population_size = len(self.order.places) if hypothesis.question == "full" else None
        spread = {max(1, round(len(observed) * at / _POINTS)) for at in range(1, _POINTS + 1)} if observed else set()
        moments = sorted(n for n in spread if self._valued[n - 1])
        limits = (
            confidence_sequence(observed, level=hypothesis.level, total=population_size, at=moments) if moments else []
        )
        means = _means(observed, moments)
        flipped = len(hypothesis.targets) == 2 and target == hypothesis.targets[0]
        points = [
            (n, *self._shown(*self._of_valued(n, mean, interval), flipped=flipped))
            for n, mean, interval in zip(moments, means, limits, strict=True)
        ]
        full_range = self._shown(0.5, Interval(0.0, 1.0), flipped=flipped)
        _, _, low, high = points[-1] if points else (0, *full_range)
        return Stopping(
            question=hypothesis.question,
            score=hypothesis.score,
            threshold=0.0 if len(hypothesis.targets) == 2 else hypothesis.threshold,
            level=hypothesis.level,
            against=next((name for name in hypothesis.targets if name != target), ""),
            planned=len(self.order.places),
            used=self.frontier,
            beyond=max(0, stored - self.frontier),
            side=_OTHER_SIDE[self._side] if flipped else self._side,
            interval=Interval(low, high),
            path=tuple(points),
        )

    @property
    def _side(self) -> DecidedSide:
        """The side of the threshold that was decided; "" if undecided or no sample has a value."""
        return self._test.decision if self._valued and self._valued[-1] else ""

    def _of_valued(self, n: int, mean: float, interval: Interval) -> tuple[float, Interval]:
        """Mean and limits after n observations, for the samples among them that have a value."""
        times, at = n / self._valued[n - 1], self._threshold
        if times == 1:
            return mean, interval
        low, high, middle = (min(1.0, max(0.0, at + (limit - at) * times)) for limit in (*interval, mean))
        return middle, Interval(low, high)

    def _shown(self, mean: float, interval: Interval, *, flipped: bool) -> tuple[float, float, float]:
        """Map mean and limits from [0, 1] to units of the score, or of a difference between two scores."""
        low, high = self.hypothesis.scale
        span = high - low
        if len(self.hypothesis.targets) == 1:
            return low + span * mean, low + span * interval.low, low + span * interval.high
        sign = -span if flipped else span
        ends = sorted(sign * end for end in unit_to_difference(interval))
        return sign * (2 * mean - 1), ends[0], ends[1]


_OTHER_SIDE: Final[Mapping[DecidedSide, DecidedSide]] = {"above": "below", "below": "above", "equal": "equal", "": ""}


def _means(values: Sequence[float], moments: Sequence[int]) -> list[float]:
    """The mean of the first `moment` values, for each moment."""
    means, total, begin = [], 0.0, 0
    for moment in moments:
        total += sum(values[begin:moment])
        begin = moment
        means.append(total / moment)
    return means
