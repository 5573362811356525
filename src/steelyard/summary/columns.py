"""Rows -> summaries in one pass, compact enough to stand beside a run of 100,000 samples."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, get_args

from steelyard.stats.intervals import (
    Interval,
    clustered_spread,
    is_without_spread,
    wilson_clustered,
)
from steelyard.stats.stratified import stratified_mean
from steelyard.summary.histograms import UNIT
from steelyard.summary.intervals import USUAL, Intervals
from steelyard.summary.means import Mean
from steelyard.summary.rows import RowOutcome, ScoreRow
from steelyard.summary.values import NO_GROUP, Over, ScoreSummary

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CODES: Final = {outcome: code for code, outcome in enumerate(get_args(RowOutcome))}
_ANSWERED: Final = (_CODES["scored"],)
_OVERALL: Final = (*_ANSWERED, _CODES["unparsed"], _CODES["refused"])
_WITH_ERRORS: Final = (*_OVERALL, _CODES["error"])


def summarize(
    rows: Iterable[ScoreRow],
    *,
    over: Mapping[str, Over] | None = None,
    scales: Mapping[str, Sequence[float]] | None = None,
    intervals: Intervals = USUAL,
) -> tuple[tuple[ScoreSummary, ...], dict[str, tuple[ScoreSummary, ...]]]:
    """Every score over all rows, and per score over each of its groups, in order of first appearance.

    Args:
        rows: read once; each takes about 30 bytes while this runs.
        over: per score, whether the headline counts all replies or what was scored; `all` where it is not named.
        scales: per score that is not on [0, 1], its lowest and highest value.
        intervals: which stand beside the means.

    >>> rows = [ScoreRow("fr", "", "", 0, "right", "scored", 1.0), ScoreRow("it", "", "", 0, "right", "refused", None)]
    >>> print(summarize(rows)[0][0])
    right 0.50 [0.09, 0.91] n=2, 0 errors, 1 refused
    """
    columns: dict[str, _Column] = {}
    nameless: list[ScoreRow] = []
    for row in rows:
        if not row.name:
            nameless.append(row)
            continue
        column = columns.get(row.name)
        if column is None:
            column = columns[row.name] = _Column(_Reading.of(row.name, over or {}, scales or {}, intervals))
        column.add(row)
    overall: list[ScoreSummary] = []
    groups: dict[str, tuple[ScoreSummary, ...]] = {}
    for name, column in columns.items():
        for row in nameless:
            column.add(row)
        column.settle()
        overall.append(column.summary(name))
        if found := column.group_summaries(name):
            groups[name] = found
    return tuple(overall), groups


@dataclass(frozen=True, slots=True)
class _Reading:
    """How a score's values are to be taken; `scale` is None where it names none but [0, 1]."""

    over: Over
    scale: Interval | None
    intervals: Intervals

    @classmethod
    def of(
        cls, name: str, over: Mapping[str, Over], scales: Mapping[str, Sequence[float]], intervals: Intervals
    ) -> _Reading:
        scale = Interval(*scales[name]) if name in scales else UNIT
        return cls(over.get(name, "all"), None if scale == UNIT else scale, intervals)

    @property
    def unread(self) -> float:
        """What a reply that was not read counts as in a mean over all."""
        return self.scale.low if self.scale and self.over == "scored" else 0.0

    def ends(self, tally: _Tally) -> Interval | None:
        """Between which every value lies; None where that is not known."""
        if self.scale is None:
            return UNIT if tally.unit else None
        return self.scale if self.over == "scored" else None


class _Tally:
    """Counts of one group's rows: enough for a rate whose rows are independent."""

    __slots__ = ("binary", "counts", "total", "unit")

    def __init__(self, *, binary: bool = True) -> None:
        self.counts = [0] * len(_CODES)
        self.total = 0.0
        self.binary = binary
        self.unit = True

    def merge(self, other: _Tally) -> None:
        self.counts = [mine + yours for mine, yours in zip(self.counts, other.counts, strict=True)]
        self.total += other.total
        self.binary &= other.binary
        self.unit &= other.unit

    def rows(self, codes: tuple[int, ...]) -> int:
        return sum(self.counts[code] for code in codes)


class _Column:
    """One score's rows, column by column: where they turn out to depend on each other, tallies are not enough."""

    __slots__ = ("clustered", "codes", "depends", "group_index", "indices", "reading", "tallies", "units", "values")

    def __init__(self, reading: _Reading) -> None:
        self.reading = reading
        self.tallies: list[_Tally] = []
        self.group_index: dict[str, int] = {}
        self.indices = array("i")
        self.codes = array("b")
        self.values = array("d")
        # Rows of one unit depend on each other. 64-bit hashes stand for the names: among 100,000 names any two are
        # equal with a probability of 3e-10, and would then only share a cluster.
        self.units = array("q")
        self.depends = False
        self.clustered = False

    def add(self, row: ScoreRow) -> None:
        _, group, cluster, repeat, _, outcome, value = row
        index = self.group_index.setdefault(group, len(self.tallies))
        if index == len(self.tallies):
            self.tallies.append(_Tally(binary=self.reading.scale is None))
        tally, code = self.tallies[index], _CODES[outcome]
        tally.counts[code] += 1
        if value is not None:
            tally.total += value
            if value not in {0.0, 1.0}:
                tally.binary = False
                tally.unit &= 0 <= value <= 1
        self.indices.append(index)
        self.codes.append(code)
        self.values.append(self.reading.unread if value is None else value)
        self.units.append(hash(("cluster", cluster)) if cluster else hash(row.sample))
        self.depends = self.depends or repeat > 0 or bool(cluster)

    def settle(self) -> None:
        """Call once, after the last row: counting the units takes a set of them."""
        self.clustered = self.depends and len(set(self.units)) < len(self.units)

    def summary(self, name: str) -> ScoreSummary:
        whole = _Tally()
        for tally in self.tallies:
            whole.merge(tally)
        return self._summary_of(whole, None, (name, ""))

    def group_summaries(self, name: str) -> tuple[ScoreSummary, ...]:
        if not any(self.group_index):
            return ()
        return tuple(
            self._summary_of(self.tallies[index], index, (name, group or NO_GROUP))
            for group, index in self.group_index.items()
        )

    def _summary_of(self, tally: _Tally, index: int | None, names: tuple[str, str]) -> ScoreSummary:
        scored, not_applicable, unparsed, refused, errors = tally.counts
        n = tally.rows(_OVERALL)
        answered, overall, with_errors = (
            self._mean(tally, index, among) for among in (_ANSWERED, _OVERALL, _WITH_ERRORS)
        )
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
            bounds=self._bounds(tally, n),
            over=self.reading.over,
            note=self._note(tally, index),
            scale=self.reading.scale,
            macro=self._macro(tally) if index is None else None,
        )

    def _macro(self, tally: _Tally) -> Mean | None:
        """Every group weighs the same; None where fewer than two have a value."""
        if len(self.tallies) < 2:
            return None
        among = _OVERALL if self.reading.over == "all" else _ANSWERED
        values, units, groups = self._vectors(None, among)
        if len(set(groups.tolist())) < 2:
            return None
        ends = UNIT if tally.binary else self.reading.ends(tally)
        found = stratified_mean(
            values, groups, clusters=units if self.clustered else None, scale=ends, rate=tally.binary
        )
        return Mean(found.mean, found.interval, found.strata)

    def _bounds(self, tally: _Tally, n: int) -> Interval | None:
        ends = self.reading.ends(tally)
        if not n or ends is None:
            return None
        unread = tally.counts[_CODES["unparsed"]]
        if self.reading.over == "scored":
            unread += tally.counts[_CODES["refused"]]
        return Interval((tally.total + unread * ends.low) / n, (tally.total + unread * ends.high) / n)

    def _mean(self, tally: _Tally, index: int | None, among: tuple[int, ...]) -> Mean:
        n = tally.rows(among)
        if n == 0:
            return Mean(None, None, 0)
        if tally.binary and not self.clustered:
            return Mean(tally.total / n, self.reading.intervals.of_rate(int(tally.total), n), n)
        values, units, _ = self._vectors(index, among)
        if tally.binary:
            return Mean(tally.total / n, wilson_clustered(values, clusters=units), n)
        interval = self.reading.intervals.of_mean(values, units, self.reading.ends(tally))
        return Mean(float(values.mean()), interval, n)

    def _note(self, tally: _Tally, index: int | None) -> str:
        if tally.binary and not self.clustered:
            return self.reading.intervals.rate_words
        counted = _OVERALL if self.reading.over == "all" else _ANSWERED
        values, numbers, _ = self._vectors(index, counted)
        units = len(set(numbers.tolist()))
        among = f"{tally.rows(counted)} rows in {units} independent clusters" if self.clustered else f"{units} samples"
        if tally.binary:
            return f"effective-n Wilson interval over {among}"
        if units > 1 and is_without_spread(values, clustered_spread(values, numbers)):
            scaled = self.reading.ends(tally) is not None
            return f"no spread over {among}: {'Wilson interval on the scale' if scaled else 'no interval'}"
        return f"{self.reading.intervals.mean_words} over {among}"

    def _vectors(self, index: int | None, among: tuple[int, ...]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Values, unit numbers and group numbers of the rows that count."""
        import numpy as np

        kept = np.isin(np.frombuffer(self.codes, dtype=np.int8), among)
        groups = np.frombuffer(self.indices, dtype=np.intc)
        if index is not None:
            kept &= groups == index
        values = np.frombuffer(self.values)[kept]
        _, first, units = np.unique(
            np.frombuffer(self.units, dtype=np.int64)[kept], return_index=True, return_inverse=True
        )
        # Hashes differ from process to process. Numbers by first appearance keep sums, and so reports, byte-equal.
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        return values, rank[units], groups[kept].astype(np.int64)
