"""Rows -> summaries and histograms, computed over columns: 100,000 rows take some hundredths of a second."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import numpy as np

from steelyard.analysis.intervals import USUAL, Intervals, Mean, rate_standard_error, standard_error
from steelyard.analysis.numbers import count_text
from steelyard.analysis.scores.score_columns import CODES, RowOutcome, ScoreColumns, ScoreRow, by_appearance
from steelyard.analysis.scores.score_infos import over_of, range_of
from steelyard.analysis.scores.score_summary_values import NO_GROUP, Over, ScoreSummary
from steelyard.plain_json import field_values
from steelyard.stats.arrays import Array
from steelyard.stats.binomial import wilson_with_ties, wilson_with_ties_clustered
from steelyard.stats.intervals import (
    Interval,
    clustered_spread,
    is_without_spread,
    mean_interval,
    wilson_clustered,
)
from steelyard.stats.means import weighted_mean
from steelyard.stats.stratified import stratified_mean
from steelyard.types import ScoreInfo

ANSWERED: Final = (CODES["scored"],)
OVERALL: Final = (*ANSWERED, CODES["unparsed"], CODES["refused"])
WITH_ERRORS: Final = (*OVERALL, CODES["error"])


def summarize(
    rows: Iterable[ScoreRow] | ScoreColumns,
    *,
    infos: Mapping[str, ScoreInfo] | None = None,
    intervals: Intervals = USUAL,
) -> tuple[tuple[ScoreSummary, ...], dict[str, tuple[ScoreSummary, ...]]]:
    """Every score over all rows, and per score over each of its groups, in order of first appearance.

    Args:
        rows: one by one, read once, or as columns.
        infos: per score, what its scorer declared. One without an info is on [0, 1] as long as its values are, and has
            all replies as its denominator.
        intervals: how the intervals of the means are computed.

    >>> rows = [ScoreRow("fr", "", "", 0, "right", "scored", 1.0), ScoreRow("it", "", "", 0, "right", "refused", None)]
    >>> print(summarize(rows)[0][0])
    right 0.50 [0.09, 0.91] n=2, 0 errors, 1 refused
    """
    columns = rows if isinstance(rows, ScoreColumns) else ScoreColumns.of(rows)
    overall: list[ScoreSummary] = []
    groups: dict[str, tuple[ScoreSummary, ...]] = {}
    for name in columns.scores:
        column = _Column.of(columns, name, _ScoreReading.of((infos or {}).get(name), intervals))
        overall.append(column.summary(name))
        if by_group := column.group_summaries(name):
            groups[name] = by_group
    return tuple(overall), groups


@dataclass(frozen=True, slots=True)
class _ScoreReading:
    """How a score's values are averaged: denominator, scale (None for [0, 1] or none) and kind of interval."""

    over: Over
    scale: Interval | None
    intervals: Intervals
    unbounded: bool = False
    weighted: bool = False

    @classmethod
    def of(cls, info: ScoreInfo | None, intervals: Intervals) -> _ScoreReading:
        """The reading of a score as its scorer declared it."""
        scale = Interval(*range_of(info))
        unbounded, weighted = (info.unbounded, info.weighted) if info is not None else (False, False)
        return cls(over_of(info), None if scale == UNIT else scale, intervals, unbounded, weighted)

    @property
    def scaled(self) -> bool:
        """Whether values of 0 and 1 are not a rate."""
        return self.scale is not None or self.unbounded

    @property
    def missing_value(self) -> float:
        """The value of an unparsed reply in a mean over all replies."""
        return self.scale.low if self.scale and self.over == "scored" else 0.0

    def ends(self, tally: _GroupCounts) -> Interval | None:
        """Lowest and highest value that the score can take, 0 and infinity for a count; None where it is not known."""
        if self.unbounded and self.scale is None:
            return Interval(0.0, math.inf)
        if self.scale is None:
            return UNIT if tally.unit else None
        # A reply that counts as 0 widens a scale that begins above it.
        return self.scale if self.over == "scored" else Interval(min(self.scale.low, 0.0), max(self.scale.high, 0.0))


@dataclass(frozen=True, slots=True)
class _GroupCounts:
    """Counts of one group's rows: enough for a rate whose rows are independent.

    Args:
        counts: rows per outcome.
        total: sum of the values.
        binary: whether every value is 0 or 1.
        ties: whether every value is 0, 1/2 or 1, as a preference with ties; true where `binary` is.
        unit: whether every value lies in [0, 1].
    """

    counts: tuple[int, ...]
    total: float
    binary: bool
    ties: bool
    unit: bool

    def __add__(self, other: _GroupCounts) -> _GroupCounts:
        counts = tuple(count + other_count for count, other_count in zip(self.counts, other.counts, strict=True))
        binary, ties, unit = self.binary and other.binary, self.ties and other.ties, self.unit and other.unit
        return _GroupCounts(counts, self.total + other.total, binary, ties, unit)

    def rows(self, codes: tuple[int, ...]) -> int:
        """How many have one of these outcomes."""
        return sum(self.counts[code] for code in codes)


def _tallies(indices: Array, codes: Array, values: Array, *, size: int, scaled: bool) -> list[_GroupCounts]:
    """Counts for each of `size` groups; `values` are NaN where there is none."""
    width = len(CODES)
    counts = np.bincount(indices * width + codes, minlength=size * width).reshape(size, width).tolist()
    # Summed in the order of the rows, one after the other: the same numbers whatever else is counted.
    totals = np.bincount(indices, weights=np.nan_to_num(values), minlength=size).tolist()
    other = (values != 0) & (values != 1) & ~np.isnan(values)
    between = np.bincount(indices[other], minlength=size) > 0
    apart_from_ties = np.bincount(indices[other & (values != 0.5)], minlength=size) > 0
    outside = np.bincount(indices[(values < 0) | (values > 1)], minlength=size) > 0
    return [
        _GroupCounts(
            tuple(counts[at]),
            totals[at],
            binary=not (scaled or between[at]),
            ties=not (scaled or apart_from_ties[at]),
            unit=not outside[at],
        )
        for at in range(size)
    ]


@dataclass(frozen=True, slots=True)
class _Column:
    """The rows of one score; where rows depend on each other, the counts alone do not give the interval.

    Args:
        reading: how the values are averaged.
        groups: in order of first appearance.
        tallies: counts per group.
        indices: group of each row.
        codes: its outcome.
        values: its value, or what an unparsed reply counts as.
        units: equal for rows that depend on each other.
        clustered: whether there are such rows.
        weights: what each row weighs; None where all weigh the same. A failed record weighs what the others do on
            average, as its scorer was not asked.
        lowest: the least value of each row.
    """

    reading: _ScoreReading
    groups: tuple[str, ...]
    tallies: Sequence[_GroupCounts]
    indices: Array
    codes: Array
    values: Array
    units: Array
    clustered: bool
    weights: Array | None = None
    lowest: Array | None = None

    @classmethod
    def of(cls, columns: ScoreColumns, name: str, reading: _ScoreReading) -> _Column:
        at = columns.rows_of(name)
        indices, order = by_appearance(columns.groups.codes[at], len(columns.groups.names))
        codes, values = columns.outcome[at], columns.value[at]
        units = columns.units(at)
        depends = bool((columns.repeat[at] > 0).any()) or not columns.clusters.are("")[at].all()
        weights, lowest = _weights(columns.only(at)) if reading.weighted else (None, None)
        return cls(
            reading,
            tuple(columns.groups.names[code] for code in order.tolist()),
            _tallies(indices, codes, values, size=len(order), scaled=reading.scaled),
            indices,
            codes,
            np.where(np.isnan(values), reading.missing_value, values),
            units,
            clustered=depends and int(units.max(initial=-1)) + 1 < len(at),
            weights=weights,
            lowest=lowest,
        )

    def summary(self, name: str) -> ScoreSummary:
        """The summary over all rows."""
        nothing = _GroupCounts((0,) * len(CODES), 0.0, binary=True, ties=True, unit=True)
        return self._summary_of(reduce(_GroupCounts.__add__, self.tallies, nothing), None, (name, ""))

    def group_summaries(self, name: str) -> tuple[ScoreSummary, ...]:
        """One per group; none where no sample names one."""
        if not any(self.groups):
            return ()
        return tuple(
            self._summary_of(self.tallies[index], index, (name, group or NO_GROUP))
            for index, group in enumerate(self.groups)
        )

    def _summary_of(self, tally: _GroupCounts, index: int | None, names: tuple[str, str]) -> ScoreSummary:
        scored, not_applicable, unparsed, refused, errors = tally.counts
        n = tally.rows(OVERALL)
        answered, overall, with_errors = (self._mean(tally, index, among) for among in (ANSWERED, OVERALL, WITH_ERRORS))
        return ScoreSummary(
            name=names[0],
            group=names[1],
            scored=scored,
            not_applicable=not_applicable,
            unparsed=unparsed,
            refused=refused,
            errors=errors,
            n=n,
            total=sum(tally.counts),
            binary=tally.binary,
            answered=answered,
            overall=overall,
            with_errors=with_errors,
            bounds=self._bounds(tally, n) if self.weights is None else self._weighted_bounds(index),
            over=self.reading.over,
            note=self._note(tally, index),
            scale=self.reading.scale,
            macro=self._macro(tally) if index is None else None,
            weight=None if self.weights is None else float(self.weights[self._counted(index, self._headline)].sum()),
        )

    @property
    def _headline(self) -> tuple[int, ...]:
        """Outcomes of the rows behind the headline."""
        return OVERALL if self.reading.over == "all" else ANSWERED

    def _bounds(self, tally: _GroupCounts, n: int) -> Interval | None:
        ends = self.reading.ends(tally)
        if not n or ends is None or math.isinf(ends.high):
            return None
        unknown = tally.counts[CODES["unparsed"]]
        if self.reading.over == "scored":
            unknown += tally.counts[CODES["refused"]]
        return Interval((tally.total + unknown * ends.low) / n, (tally.total + unknown * ends.high) / n)

    def _weighted_bounds(self, index: int | None) -> Interval | None:
        """Between all unparsed replies at their lowest, as wrong answers, and all of them right."""
        counted, weights, lowest = self._counted(index, OVERALL), self.weights, self.lowest
        if weights is None or lowest is None or not counted.any():
            return None
        weights, unread = weights[counted], self.codes[counted] == CODES["unparsed"]
        gained = float((weights * self.values[counted])[~unread].sum())
        least, most = (float((weights * end)[unread].sum()) for end in (lowest[counted], 1.0))
        return Interval((gained + least) / weights.sum(), (gained + most) / weights.sum())

    def _macro(self, tally: _GroupCounts) -> Mean | None:
        """The macro average: the mean of the groups' means; None where fewer than two have a value."""
        if len(self.tallies) < 2:
            return None
        values, units, groups = self._vectors(None, self._headline)
        if not len(groups) or groups.min() == groups.max():
            return None
        rate, ends = tally.ties, UNIT if tally.ties else self.reading.ends(tally)
        if self.weights is not None and self.lowest is not None:
            counted = self._counted(None, self._headline)
            values = _linearised(values, self.weights[counted], groups)
            rate, ends = False, Interval(float(self.lowest[counted].min()), 1.0)
        stratified = stratified_mean(values, groups, clusters=units if self.clustered else None, scale=ends, rate=rate)
        error = stratified.error if math.isfinite(stratified.error) else None
        return Mean(stratified.mean, stratified.interval, stratified.strata, error)

    def _mean(self, tally: _GroupCounts, index: int | None, among: tuple[int, ...]) -> Mean:
        n = tally.rows(among)
        if n == 0:
            return Mean(None, None, 0)
        if self.weights is not None:
            return self._weighted_mean(index, among)
        if tally.binary and not self.clustered:
            rate_interval = self.reading.intervals.of_rate(int(tally.total), n)
            return Mean(tally.total / n, rate_interval, n, rate_standard_error(tally.total, n))
        values, units, _ = self._vectors(index, among)
        error = standard_error(values, units)
        if tally.binary:
            return Mean(tally.total / n, wilson_clustered(values, clusters=units), n, error)
        if tally.ties:
            return Mean(float(values.mean()), self._interval_with_ties(values, units), n, error)
        interval = mean_interval(values, clusters=units, scale=self.reading.ends(tally))
        return Mean(float(values.mean()), interval, n, error)

    def _weighted_mean(self, index: int | None, among: tuple[int, ...]) -> Mean:
        counted = self._counted(index, among)
        values, units, _ = self._vectors(index, among)
        weights, lowest = (np.zeros(0) if column is None else column[counted] for column in (self.weights, self.lowest))
        least = float(weights @ lowest / weights.sum())
        found = weighted_mean(values, weights, clusters=units if self.clustered else None, scale=(least, 1.0))
        return Mean(found.mean, found.interval, len(values), found.error if math.isfinite(found.error) else None)

    def _interval_with_ties(self, values: Array, units: Array) -> Interval:
        if self.clustered:
            return wilson_with_ties_clustered(values, clusters=units)
        wins, ties, losses = (int((values == value).sum()) for value in (1.0, 0.5, 0.0))
        return wilson_with_ties(wins, ties, losses)

    def _note(self, tally: _GroupCounts, index: int | None) -> str:
        if self.weights is not None:
            return "weighted by points"
        if tally.binary and not self.clustered:
            return "" if self.reading.intervals.rates == "wilson" else "Clopper-Pearson interval"
        counted = self._headline
        values, numbers, _ = self._vectors(index, counted)
        units = int(numbers.max(initial=-1)) + 1
        among = count_text(units, "independent cluster" if self.clustered else "sample")
        if self.clustered:
            among = f"{tally.rows(counted)} rows in {among}"
        if tally.binary:
            return f"effective-n Wilson interval over {among}"
        if tally.ties:
            return f"{'effective-n score' if self.clustered else 'score'} interval with ties over {among}"
        if units > 1 and is_without_spread(values, clustered_spread(values, numbers)):
            scaled = math.isfinite((self.reading.ends(tally) or (0.0, math.inf))[1])
            return f"no spread over {among}: {'Wilson interval on the scale' if scaled else 'no interval'}"
        return f"t interval over {among}"

    def _vectors(self, index: int | None, among: tuple[int, ...]) -> tuple[Array, Array, Array]:
        """Values, unit numbers and group numbers of the rows that count."""
        counted = self._counted(index, among)
        # Numbered by first appearance among these: sums, and so reports, do not depend on which other rows there are.
        units, _ = by_appearance(self.units[counted], len(self.units))
        return self.values[counted], units, self.indices[counted]

    def _counted(self, index: int | None, among: tuple[int, ...]) -> Array:
        """Whether each row counts: it has one of these outcomes, and is of the group."""
        counted: Array = np.isin(self.codes, among)
        return counted if index is None else counted & (self.indices == index)


def _linearised(values: Array, weights: Array, groups: Array) -> Array:
    """Values whose plain mean and spread in each group are those of the weighted mean."""
    counts, totals = np.bincount(groups), np.bincount(groups, weights=weights)
    shares = weights * (counts / np.where(totals > 0, totals, 1.0))[groups]
    means = (np.bincount(groups, weights=values * shares) / np.maximum(counts, 1))[groups]
    linearised: Array = means + shares * (values - means)
    return linearised


def _weights(rows: ScoreColumns) -> tuple[Array, Array]:
    """What each row weighs, and its least value."""
    weights = rows.numbers("weight")
    known = weights[~np.isnan(weights)]
    return np.where(np.isnan(weights), known.mean() if len(known) else 1.0, weights), rows.numbers("lowest", 0.0)


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
        return field_values(self) | {"scored": self.scored}


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
