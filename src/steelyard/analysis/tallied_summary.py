"""Summaries from counts: how often each score had each outcome and value in each group, counted by a database.

Where every row is independent of the others, means, intervals and histograms need only these counts: neither numpy nor
a row in memory, whatever the size of the run. A run that needs more (repeats, clusters, resampled intervals, letters in
several orders) has no tallied summary, and its rows are read as columns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from steelyard.analysis.histograms import UNIT, Histogram, histogram_of_counts
from steelyard.analysis.intervals import USUAL, Intervals, Mean, rate_standard_error
from steelyard.analysis.score_columns import CODES, Answered, RowOutcome
from steelyard.analysis.summary import ANSWERED, OVERALL, GroupCounts, ScoreReading, SummarizedScore
from steelyard.analysis.summary_values import ScoreSummary
from steelyard.stats.intervals import Interval, Spread, interval_of_spread, spread_of_counts
from steelyard.stats.stratified import stratified_mean_of_counts
from steelyard.stats.ties import wilson_with_ties
from steelyard.types import ScoreInfo

_ROUNDING: Final = 1e-12


class ScoreTally(NamedTuple):
    """The number of equal rows of one score.

    Args:
        group: of their samples.
        outcome: of the rows.
        value: a number other than NaN; None where there is none.
        n: how many.
        answered: what the scorer of an exam stored; None for any other score.
    """

    group: str
    outcome: RowOutcome
    value: float | None
    n: int
    answered: Answered | None = None


class NeedsRowsError(Exception):
    """The counts of a score are not enough for what is needed: its rows have to be read."""


def summarize_tallies(
    tallies: Mapping[str, Sequence[ScoreTally]],
    *,
    infos: Mapping[str, ScoreInfo],
    intervals: Intervals = USUAL,
) -> tuple[tuple[ScoreSummary, ...], dict[str, tuple[ScoreSummary, ...]]]:
    """What `summarize` returns, from counts.

    Args:
        tallies: per score, in order of first appearance of scores and, within a score, of groups.
        infos: per score, what its scorer declared.
        intervals: how the intervals of the means are computed.

    Raises:
        NeedsRowsError: an interval is to be resampled.

    >>> right = [ScoreTally("", "scored", 1.0, 1), ScoreTally("", "refused", None, 1)]
    >>> print(summarize_tallies({"right": right}, infos={})[0][0])
    right 0.50 [0.09, 0.91] n=2, 0 errors, 1 refused
    """
    overall: list[ScoreSummary] = []
    groups: dict[str, tuple[ScoreSummary, ...]] = {}
    for name, of_score in tallies.items():
        score = _TalliedScore.of(of_score, ScoreReading.of(infos.get(name), intervals))
        overall.append(score.summary(name))
        if by_group := score.group_summaries(name):
            groups[name] = by_group
    return tuple(overall), groups


@dataclass(frozen=True, slots=True)
class _TalliedScore(SummarizedScore):
    """The tallies of one score by group."""

    reading: ScoreReading
    groups: tuple[str, ...]
    tallies: tuple[GroupCounts, ...]
    by_group: tuple[tuple[ScoreTally, ...], ...]

    @classmethod
    def of(cls, tallies: Sequence[ScoreTally], reading: ScoreReading) -> _TalliedScore:
        by_group: dict[str, list[ScoreTally]] = {}
        for tally in tallies:
            by_group.setdefault(tally.group, []).append(tally)
        counts = tuple(_group_counts(of_group, scaled=reading.scaled) for of_group in by_group.values())
        return cls(reading, tuple(by_group), counts, tuple(map(tuple, by_group.values())))

    def _values(self, index: int | None, among: tuple[int, ...]) -> dict[float, int]:
        """How often each value occurs among the rows that count, of a group or of all."""
        chosen = self.by_group if index is None else (self.by_group[index],)
        values: dict[float, int] = {}
        for tally in (tally for of_group in chosen for tally in of_group):
            if CODES[tally.outcome] in among:
                value = self.reading.missing_value if tally.value is None else tally.value
                values[value] = values.get(value, 0) + tally.n
        return values

    def _mean(self, tally: GroupCounts, index: int | None, among: tuple[int, ...]) -> Mean:
        n = tally.rows(among)
        if n == 0:
            return Mean(None, None, 0)
        if tally.binary:
            rate = self.reading.intervals.of_rate(int(tally.total), n)
            return Mean(tally.total / n, rate, n, rate_standard_error(tally.total, n))
        values = self._values(index, among)
        spread = spread_of_counts(values)
        error = spread.error if math.isfinite(spread.error) else None
        if self.reading.intervals.means != "t":
            raise NeedsRowsError
        if tally.ties:
            interval: Interval | None = wilson_with_ties(*(values.get(value, 0) for value in (1.0, 0.5, 0.0)))
        else:
            interval = interval_of_spread(spread, _largest(values), scale=self.reading.ends(tally))
        return Mean(spread.mean, interval, n, error)

    def _note(self, tally: GroupCounts, index: int | None) -> str:
        if tally.binary:
            return self.reading.intervals.rate_words
        values = self._values(index, OVERALL if self.reading.over == "all" else ANSWERED)
        n = sum(values.values())
        among = f"{n} samples"
        spread = spread_of_counts(values) if n else Spread(0.0, math.inf, 0, 0)
        alike = n > 1 and spread.error <= _ROUNDING * _largest(values)
        if tally.ties:
            return f"score interval with ties over {among}"
        if alike:
            scaled = self.reading.ends(tally) is not None
            return f"no spread over {among}: {'Wilson interval on the scale' if scaled else 'no interval'}"
        return f"{self.reading.intervals.mean_words} over {among}"

    def _macro(self, tally: GroupCounts) -> Mean | None:
        if len(self.tallies) < 2:
            return None
        among = OVERALL if self.reading.over == "all" else ANSWERED
        values = [counts for index in range(len(self.tallies)) if (counts := self._values(index, among))]
        if len(values) < 2:
            return None
        ends = UNIT if tally.ties else self.reading.ends(tally)
        macro = stratified_mean_of_counts(values, scale=ends, rate=tally.ties)
        error = macro.error if math.isfinite(macro.error) else None
        return Mean(macro.mean, macro.interval, macro.strata, error)


def _group_counts(tallies: Sequence[ScoreTally], *, scaled: bool) -> GroupCounts:
    counts = [0] * len(CODES)
    for tally in tallies:
        counts[CODES[tally.outcome]] += tally.n
    values = {tally.value for tally in tallies if tally.value is not None}
    return GroupCounts(
        tuple(counts),
        math.fsum(tally.value * tally.n for tally in tallies if tally.value is not None),
        binary=not scaled and values <= {0.0, 1.0},
        ties=not scaled and values <= {0.0, 0.5, 1.0},
        unit=all(0 <= value <= 1 for value in values),
    )


def _largest(values: Mapping[float, int]) -> float:
    return max(map(abs, values), default=0.0)


def tallied_histograms(
    tallies: Mapping[str, Sequence[ScoreTally]], infos: Mapping[str, ScoreInfo]
) -> dict[str, Histogram]:
    """What `histograms` returns, from counts."""
    drawn = {}
    for name, info in infos.items():
        if info.histogram and name in tallies:
            values: dict[float, int] = {}
            outcomes: dict[RowOutcome, int] = {}
            for tally in tallies[name]:
                outcomes[tally.outcome] = outcomes.get(tally.outcome, 0) + tally.n
                if tally.value is not None:
                    values[tally.value] = values.get(tally.value, 0) + tally.n
            drawn[name] = histogram_of_counts(values, outcomes, Interval(*(info.range or UNIT)))
    return {name: histogram for name, histogram in drawn.items() if histogram.total}
