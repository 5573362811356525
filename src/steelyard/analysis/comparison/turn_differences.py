"""How two runs differ in scores of the single turns of conversations.

Conversations of two runs differ in length, so conversations are paired and not turns; a cluster is as in `turns`.
"""

# Why it is so, and what was rejected: docs/decisions/analysis-pairs.md

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from steelyard.analysis.comparison.alignment import AlignedRuns
from steelyard.analysis.comparison.comparison_values import Methods, MissingVerdicts, PairedDifference, ScoreDifference
from steelyard.analysis.comparison.differences import verdict_of
from steelyard.analysis.comparison.sample_scores import RunBySample
from steelyard.analysis.scores.score_columns import ScoreRow
from steelyard.analysis.scores.score_infos import over_of, range_of, score_infos
from steelyard.analysis.summary.repeats_and_turns import turn_rows
from steelyard.stats.intervals import Interval
from steelyard.stats.means import clustered_difference
from steelyard.types import ScoreInfo

NEWCOMBE: Final = "Newcombe's interval by conversation"
T_INTERVAL: Final = "t interval by conversation"
SIGN_FLIP: Final = "sign-flip permutation by conversation"


def turn_differences(runs: AlignedRuns, level: float, score: str = "") -> tuple[ScoreDifference, ...]:
    """The difference of two runs in each score of turns that both have, over the conversations of both.

    Args:
        runs: the two runs.
        level: of the intervals.
        score: this one alone; "" is all.
    """
    names = [turns.score.name for turns in runs.baseline.summary.details.turns if score in {"", turns.score.name}]
    other_names = {turns.score.name for turns in runs.other.summary.details.turns}
    differences = (_difference(runs, name, level) for name in names if name in other_names)
    return tuple(difference for difference in differences if difference is not None)


class _Side(NamedTuple):
    """The turns of a run in conversations that count.

    Args:
        values: value of each turn that counts, with the number of its conversation.
        missing: number of the conversation of each turn without a known value.
    """

    values: list[tuple[float, int]]
    missing: list[int]


def _difference(runs: AlignedRuns, score: str, level: float) -> ScoreDifference | None:
    info = score_infos(runs.baseline.run.manifest).get(score) or ScoreInfo(score)
    first, second = (
        dict.fromkeys(side.ids(indices)) for side, indices in
        ((runs.baseline, runs.first), (runs.other, runs.second))
    )  # fmt: skip
    units = _units(runs.baseline, runs.first)
    if runs.baseline.run.records is None or runs.other.run.records is None:
        return None  # a baseline's file holds no turns
    sides = [
        _side(side.run.scores.judged_rows(score), score, dict(zip(ids, units, strict=True)), info)
        for side, ids in ((runs.baseline, first), (runs.other, second))
    ]
    shared = {unit for _, unit in sides[0].values} & {unit for _, unit in sides[1].values}
    alone = [len({unit for _, unit in side.values} - shared) for side in sides]
    difference = _compared(sides[0], sides[1], shared, info, level)
    return ScoreDifference(score, over_of(info), (alone[0], alone[1]), difference, verdict_of(difference, level))


def _units(side: RunBySample, indices: Any) -> list[int]:
    """The number of the conversation, or of the cluster, of each aligned sample."""
    ids = side.ids(indices)
    clusters = side.clusters
    names = [clusters.names[code] for code in clusters.codes[indices].tolist()]
    numbers: dict[tuple[bool, str], int] = {}
    keys = [(bool(cluster), cluster or ident) for cluster, ident in zip(names, ids, strict=True)]
    return [numbers.setdefault(key, len(numbers)) for key in keys]


def _side(rows: Iterable[ScoreRow], score: str, units: Mapping[str, int], info: ScoreInfo) -> _Side:
    values: list[tuple[float, int]] = []
    missing: list[int] = []
    counts_all = info.denominator == "all"
    for row in turn_rows((row for row in rows if row.sample in units), score):
        unit = units[row.sample]
        if row.value is not None:
            values.append((row.value, unit))
        elif row.group and row.outcome in {"unparsed", "refused"}:
            if counts_all:
                values.append((0.0, unit))
            if row.outcome == "unparsed" or not counts_all:
                missing.append(unit)
    return _Side(values, missing)


def _compared(first: _Side, second: _Side, shared: set[int], info: ScoreInfo, level: float) -> PairedDifference:
    if not shared:
        return PairedDifference("", 0, lower_is_better=info.lower_is_better)
    before, after = ([pair for pair in side.values if pair[1] in shared] for side in (first, second))
    numbers = [value for value, _ in (*before, *after)]
    unit = range_of(info) == (0.0, 1.0) and not info.unbounded and min(numbers) >= 0 and max(numbers) <= 1
    rate = unit and all(value in {0.0, 1.0} for value in numbers)
    means = clustered_difference(_columns(after), _columns(before), rate=rate, level=level)
    return PairedDifference(
        group="",
        n=means.clusters,
        baseline=means.second,
        other=means.first,
        difference=means.difference,
        interval=means.interval,
        p=means.p,
        unit=unit,
        methods=Methods(NEWCOMBE if rate else T_INTERVAL, SIGN_FLIP),
        lower_is_better=info.lower_is_better,
        missing=_missing((first, second), (before, after), shared, info),
        standard_error=means.error if means.clusters > 1 else None,
    )


def _columns(pairs: list[tuple[float, int]]) -> tuple[list[float], list[int]]:
    return [value for value, _ in pairs], [unit for _, unit in pairs]


def _missing(
    sides: tuple[_Side, _Side], values: tuple[list[tuple[float, int]], ...], shared: set[int], info: ScoreInfo
) -> MissingVerdicts | None:
    """Turns without a known value in the conversations of both runs, and the bounds of the difference."""
    counts = [sum(unit in shared for unit in side.missing) for side in sides]
    if not any(counts):
        return None
    counts_all = info.denominator == "all"
    replies = [len(known) + (0 if counts_all else count) for known, count in zip(values, counts, strict=True)]
    bounds = None
    if info.range is not None:
        ends = [
            [(sum(value for value, _ in known) + count * end) / n for end in info.range]
            for known, count, n in zip(values, counts, replies, strict=True)
        ]
        bounds = Interval(ends[1][0] - ends[0][1], ends[1][1] - ends[0][0])
    return MissingVerdicts(counts[0], counts[1], sum(replies), bounds)
