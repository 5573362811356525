"""How often a score took each value: what a mean of ratings does not tell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from steelyard.stats.intervals import Interval
from steelyard.summary.rows import ScoreRow
from steelyard.types import Json

UNIT: Final = Interval(0.0, 1.0)
"""The scale of a score that names none."""
_MOST_VALUES: Final = 12
_BINS: Final = 10


@dataclass(frozen=True, slots=True)
class Histogram:
    """One score's values over a run.

    Args:
        scale: lowest and highest value.
        whole: whether each bin is one whole value, as on a scale of 1 to 5; else it is a tenth of the scale.
        bins: (the whole value, or the bin's low edge; how many records), from the lowest on, empty ones too.
        between: values that were not whole and count at the nearest whole one, a half at the upper.
        unparsed: records without a value, likewise `refused`, `not_applicable` and `errors`.
    """

    scale: Interval
    whole: bool
    bins: tuple[tuple[float, int], ...]
    between: int = 0
    unparsed: int = 0
    refused: int = 0
    not_applicable: int = 0
    errors: int = 0

    @property
    def scored(self) -> int:
        """Records with a value."""
        return sum(count for _, count in self.bins)

    @property
    def total(self) -> int:
        """Records that the score was asked of, with a value or without."""
        return self.scored + self.unparsed + self.refused + self.not_applicable + self.errors

    def to_json(self) -> dict[str, Json]:
        """Plain JSON; each bin is a list of its value and its count."""
        counts = ("whole", "between", "scored", "unparsed", "refused", "not_applicable", "errors")
        return {
            "scale": list(self.scale),
            "bins": [list(one) for one in self.bins],
            **{name: getattr(self, name) for name in counts},
        }


class HistogramTally:
    """Counts one score's rows as they come.

    Whole values where both ends of the scale are whole and 2 to 12 apart, else ten equal bins; a value on the border
    of two bins is in the upper one, the highest value in the last. A value outside the scale counts at its end.

    >>> tally = HistogramTally("rating", Interval(1, 5))
    >>> for value in (4.0, 3.5, 3.4, 1.0):
    ...     tally.add(ScoreRow("s", "", "", 0, "rating", "scored", value))
    >>> tally.found().bins, tally.found().between
    (((1.0, 1), (2.0, 0), (3.0, 1), (4.0, 2), (5.0, 0)), 2)
    """

    __slots__ = ("_between", "_counts", "_left_out", "_name", "_scale", "_whole")

    def __init__(self, name: str, scale: Interval = UNIT) -> None:
        self._name = name
        self._scale = scale
        # A scale of 0 to 1 has two whole values, and everything between them is what its histogram is for.
        whole = float(scale.low).is_integer() and float(scale.high).is_integer()
        self._whole = whole and 2 <= scale.high - scale.low <= _MOST_VALUES
        self._counts = [0] * (int(scale.high - scale.low) + 1 if self._whole else _BINS)
        self._between = 0
        self._left_out = {"unparsed": 0, "refused": 0, "not_applicable": 0, "error": 0}

    def add(self, row: ScoreRow) -> None:
        """Count a row of this score, or an error of a whole record; any other is passed over."""
        if row.name not in {self._name, ""}:
            return
        if row.value is None:
            self._left_out[row.outcome] += 1
            return
        self._counts[min(len(self._counts) - 1, max(0, self._place(row.value)))] += 1
        self._between += self._whole and not row.value.is_integer()

    def _place(self, value: float) -> int:
        if self._whole:
            return math.floor(value - self._scale.low + 0.5)
        return math.floor(_BINS * (value - self._scale.low) / (self._scale.high - self._scale.low) + 1e-9)

    def found(self) -> Histogram:
        """The histogram of what was counted."""
        step = 1.0 if self._whole else (self._scale.high - self._scale.low) / _BINS
        bins = tuple((round(self._scale.low + at * step, 9), count) for at, count in enumerate(self._counts))
        left_out = self._left_out
        return Histogram(
            self._scale,
            self._whole,
            bins,
            self._between,
            left_out["unparsed"],
            left_out["refused"],
            left_out["not_applicable"],
            left_out["error"],
        )
