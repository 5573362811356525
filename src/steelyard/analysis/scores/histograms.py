"""Histograms of scores: how often each value occurred, which a mean of ratings hides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from steelyard.analysis.scores.score_columns import CODES, RowOutcome, ScoreColumns
from steelyard.plain_json import field_values
from steelyard.stats.intervals import Interval
from steelyard.types import ScoreInfo

UNIT: Final = Interval(0.0, 1.0)
"""The scale of a score that names none."""
_MOST_VALUES: Final = 12
_BINS: Final = 10
_LEFT_OUT: Final[tuple[RowOutcome, ...]] = ("unparsed", "refused", "not_applicable", "error")


@dataclass(frozen=True, slots=True)
class Histogram:
    """One score's values over a run.

    Args:
        scale: lowest and highest value.
        whole_values: whether each bin is one whole value, as on a scale of 1 to 5; else it is a tenth of the scale.
        bins: (the whole value, or the bin's low edge; how many records), from the lowest on, empty ones too.
        between: values that are not whole and are counted at the nearest whole one, halves at the upper one.
        unparsed: records without a value, likewise `refused`, `not_applicable` and `errors`.
    """

    scale: Interval
    whole_values: bool
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
        """Records to which the score was applied, with a value or without."""
        return self.scored + self.unparsed + self.refused + self.not_applicable + self.errors

    def json_fields(self) -> dict[str, Any]:
        """With the number of values."""
        return field_values(self, whole_values="whole") | {"scored": self.scored}


def histogram(columns: ScoreColumns, score: str, scale: Interval = UNIT) -> Histogram:
    """How often a score took each value; errors of whole records count too.

    Whole values where both ends of the scale are whole and 2 to 12 apart, else ten equal bins; a value on the border
    of two bins is in the upper one, the highest value in the last. A value outside the scale counts at its end.

    >>> from steelyard.analysis.scores.score_columns import ScoreRow
    >>> values = (4.0, 3.5, 3.4, 1.0)
    >>> rows = [ScoreRow(str(at), "", "", 0, "rating", "scored", value) for at, value in enumerate(values)]
    >>> ratings = histogram(ScoreColumns.of(rows), "rating", Interval(1, 5))
    >>> ratings.bins, ratings.between
    (((1.0, 1), (2.0, 0), (3.0, 1), (4.0, 2), (5.0, 0)), 2)
    """
    at = columns.rows_of(score)
    per_code = np.bincount(columns.outcome[at], minlength=len(CODES)).tolist()
    values = columns.value[at][~np.isnan(columns.value[at])]
    low, high = scale
    whole_values, size = _bins(scale)
    indices = np.floor(values - low + 0.5) if whole_values else np.floor(_BINS * (values - low) / (high - low) + 1e-9)
    counts = np.bincount(np.clip(indices, 0, size - 1).astype(int), minlength=size).tolist()
    between = int((values != np.floor(values)).sum()) if whole_values else 0
    step = 1.0 if whole_values else (high - low) / _BINS
    bins = tuple((round(low + at * step, 9), count) for at, count in enumerate(counts))
    return Histogram(scale, whole_values, bins, between, *(per_code[CODES[outcome]] for outcome in _LEFT_OUT))


def _bins(scale: Interval) -> tuple[bool, int]:
    """Whether each bin is one whole value, and how many bins there are."""
    low, high = scale
    # Not on a scale of 0 to 1: its histogram is there to show the values in between.
    whole_values = float(low).is_integer() and float(high).is_integer() and 2 <= high - low <= _MOST_VALUES
    return whole_values, int(high - low) + 1 if whole_values else _BINS


def histograms(columns: ScoreColumns, infos: Mapping[str, ScoreInfo]) -> dict[str, Histogram]:
    """Score -> its histogram, where it declares one; without scores that have no records, as after `rescore`."""
    drawn = {
        name: histogram(columns, name, Interval(*(info.range or UNIT)))
        for name, info in infos.items()
        if info.histogram
    }
    return {name: counts for name, counts in drawn.items() if counts.total}
