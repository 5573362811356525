"""Runs -> Comparison: every run against the first, over the samples they share.

    alignment            which samples make a pair, how many do, and why others do not
    differences          two vectors of values -> difference, interval, test
    multiplicity         p-values corrected for the tests made together
    costs                time, calls and tokens
    comparison_warnings  in what else the runs differ
    comparison_wording   the conclusion in one sentence

The order matters: p-values of all runs are corrected together before a verdict or a sentence is made of any of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steelyard.analysis.alignment import AlignedRuns, ComparedRun, align, names_of, overlap_of, shared_samples
from steelyard.analysis.comparison_values import (
    Comparison,
    MissingVerdicts,
    PairComparison,
    PairedDifference,
    ScoreDifference,
)
from steelyard.analysis.comparison_warnings import comparison_warnings
from steelyard.analysis.comparison_wording import comparison_sentence, moved_scores_sentence, separate_sentence
from steelyard.analysis.costs import CostDifference, CostPair, cost_differences, drawn_samples
from steelyard.analysis.differences import (
    PairedValues,
    ScoreMeaning,
    changed_sides,
    paired_difference,
    verdict_of,
    with_needed,
)
from steelyard.analysis.histograms import UNIT
from steelyard.analysis.multiplicity import group_notes, over_groups, over_runs, over_scores, run_notes, score_notes
from steelyard.analysis.retrieval_matches import RETRIEVAL_SCORES
from steelyard.analysis.run_protocols import ComparableRun
from steelyard.analysis.score_columns import by_appearance
from steelyard.analysis.score_infos import score_infos
from steelyard.analysis.settings import phrases_of, setting_differences
from steelyard.analysis.stopped_runs import as_decided, decision_on
from steelyard.analysis.summary_values import NO_GROUP, Over, RunSummary
from steelyard.errors import ConfigError, did_you_mean
from steelyard.stats.intervals import Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

_MAJORITY: Final = 0.5


def compare(
    *runs: ComparableRun,
    score: str | None = None,
    level: float = 0.95,
    align_by: str = "",
    groups: Sequence[str] = (),
    summaries: Sequence[RunSummary] = (),
) -> Comparison:
    """Every run against the first, over the samples they share.

    The headline compares what the score's headline counts: by default an unparsed or refused reply as not solved.
    Repeats of a sample are averaged. A sample that failed on either side is left out and counted. The other scores
    that both runs have are compared likewise, and so is what the runs took.

    Args:
        runs: at least two; the first is the baseline.
        score: what is compared in full; None is the baseline's primary score.
        level: confidence level of the intervals in (0, 1); a verdict needs p < 1 - level, corrected after Holm where
            several runs are compared with the first.
        align_by: what makes two samples a pair: `id`, `content`, a key of their metadata, or "" for ids, and content
            where hardly any id is shared.
        groups: only samples of these groups; none for all.
        summaries: of the runs, where the caller has them already.

    Raises:
        ConfigError: fewer than two runs, a run without that score, no such group, or a key that is not in the samples
            or does not tell them apart.
    """
    if len(runs) < 2:
        raise ConfigError(f"a comparison needs two runs or more, not {len(runs)}")
    if not 0 < level < 1:
        raise ConfigError(f"a confidence level lies between 0 and 1 (0.95 for 95 %), not {level}")
    summaries = tuple(summaries) or tuple(run.summary() for run in runs)
    name = score or summaries[0].primary
    for summary in summaries:
        _check_score(summary, name)
        _check_groups(summary, name, groups)
    baseline, *others = (ComparedRun.of(run, summary, groups) for run, summary in zip(runs, summaries, strict=True))
    tested = _corrected([_tested_pair(baseline, other, name, align_by, level) for other in others], level)
    pairs = tuple(_compare_pair(pair, level=level) for pair in tested)
    return Comparison(
        summaries[0],
        summaries[1:],
        name,
        pairs,
        (*_subset_notes(groups), *run_notes(pairs)),
        group_notes(pairs),
        score_notes(pairs),
        tuple(groups),
    )


def _check_score(summary: RunSummary, name: str) -> None:
    known = [score.name for score in summary.scores]
    if not known:
        raise ConfigError(f"run {summary.run} ({summary.target}) has no scores, so there is nothing to compare")
    if name not in known:
        raise ConfigError(f"run {summary.run} ({summary.target}) has no score {name!r}{did_you_mean(name, known)}")


def _check_groups(summary: RunSummary, name: str, groups: Sequence[str]) -> None:
    known = [score.group for score in summary.groups.get(name, ())]
    for group in groups:
        if group not in known:
            hint = did_you_mean(group, known) if known else ": it has no groups"
            raise ConfigError(f"run {summary.run} ({summary.target}) has no group {group!r}{hint}")


def _subset_notes(groups: Sequence[str]) -> tuple[str, ...]:
    return (f"Only samples of {' and '.join(groups)} are compared.",) if groups else ()


class _ScoreKind(NamedTuple):
    """A score as a comparison must know it.

    Args:
        name: the score's name.
        over: what its headline is over.
        meaning: scale, direction and threshold.
        ends: lowest and highest value; None where they are not known.
    """

    name: str
    over: Over
    meaning: ScoreMeaning
    ends: Interval | None


def _kind(name: str, runs: Sequence[ComparedRun]) -> _ScoreKind:
    """What is known of a score; its headline is that of the first run that has it."""
    scores = [score for run in runs if (score := run.summary.score(name)) is not None]
    infos = [info for run in runs if (info := score_infos(run.run.manifest).get(name)) is not None]
    scale = next((score.scale for score in scores if score.scale), None)
    threshold = next((info.threshold for info in infos if info.threshold is not None), None)
    if threshold is None and all(score.binary for score in scores):
        # The mean of a 0/1 score over repeats passes where most repeats do.
        threshold = _MAJORITY
    meaning = ScoreMeaning(scale is not None, any(info.lower_is_better for info in infos), threshold)
    ends = scale or (UNIT if all(score.is_share for score in scores) else None)
    return _ScoreKind(name, scores[0].over if scores else "all", meaning, ends)


@dataclass(frozen=True, slots=True)
class _TestedPair:
    """Two aligned runs with their differences, tested but not yet put into words."""

    runs: AlignedRuns
    kind: _ScoreKind
    headline: PairedDifference
    scores: tuple[ScoreDifference, ...]


def _tested_pair(baseline: ComparedRun, other: ComparedRun, name: str, align_by: str, level: float) -> _TestedPair:
    both = (baseline, other)
    alignment = align(baseline, other, align_by, names_of(baseline.run, other.run))
    runs = AlignedRuns(baseline, other, alignment)
    kind = _kind(name, both)
    pairs = _paired_values(runs, kind.name, kind.over)
    missing = _Missing.of(runs, kind).among()
    headline = paired_difference(pairs, level=level, meaning=kind.meaning, missing=missing)
    headline = with_needed(headline, pairs, level)
    if (decision := decision_on(baseline, other, name)) is not None:
        headline = as_decided(headline, decision)
    own = [score.name for score in baseline.summary.own_scores if score.name != name]
    further = [score for score in own if other.summary.score(score)]
    return _TestedPair(
        runs, kind, headline, tuple(_score_difference(runs, _kind(score, both), level) for score in further)
    )


def _corrected(pairs: Sequence[_TestedPair], level: float) -> list[_TestedPair]:
    headlines = over_runs([pair.headline for pair in pairs])
    scores = over_scores([pair.scores for pair in pairs], level)
    return [
        replace(pair, headline=headline, scores=several)
        for pair, headline, several in zip(pairs, headlines, scores, strict=True)
    ]


def _paired_values(runs: AlignedRuns, score: str, over: Over) -> PairedValues:
    """The samples with a value on both sides; cluster and group are the baseline's."""
    import numpy as np

    before = runs.baseline.scores.sums_of(score).means(over)[runs.alignment.first]
    after = runs.other.scores.sums_of(score).means(over)[runs.alignment.second]
    indices = np.flatnonzero(~(np.isnan(before) | np.isnan(after)))
    clusters = _clusters(runs)
    return PairedValues(indices, before[indices], after[indices], None if clusters is None else clusters[indices])


def _clusters(runs: AlignedRuns) -> Array | None:
    """A number per aligned sample, equal within a cluster; None where no sample names one."""
    import numpy as np

    clusters = runs.baseline.scores.clusters
    alone = clusters.are("")
    if alone.all():
        return None
    return np.where(alone, -1 - np.arange(len(alone)), clusters.codes)[runs.alignment.first]


def _score_difference(runs: AlignedRuns, kind: _ScoreKind, level: float) -> ScoreDifference:
    pairs = _paired_values(runs, kind.name, kind.over)
    missing = _Missing.of(runs, kind).among()
    difference = paired_difference(pairs, level=level, meaning=kind.meaning, missing=missing)
    shared = shared_samples(runs, kind.name)
    not_read = len(shared.first) - difference.n - shared.errors
    return ScoreDifference(kind.name, kind.over, shared.errors, not_read, difference, verdict_of(difference, level))


@dataclass(frozen=True, slots=True)
class _Missing:
    """Replies without a known value, for each aligned sample for which both runs have replies.

    Args:
        indices: of these samples in the alignment.
        sides: missing verdicts of the baseline and of the other run, per sample.
        replies: replies of both runs, per sample.
        low: the least difference other - baseline that the missing verdicts leave possible, per sample; likewise
            `high`. None where the score's range is not known.
    """

    indices: Array
    sides: tuple[Array, Array]
    replies: Array
    low: Array | None
    high: Array | None

    @classmethod
    def of(cls, runs: AlignedRuns, kind: _ScoreKind) -> _Missing:
        import numpy as np

        sums = [run.scores.sums_of(kind.name) for run in (runs.baseline, runs.other)]
        rows = (runs.alignment.first, runs.alignment.second)
        read = [side.read[places] for side, places in zip(sums, rows, strict=True)]
        indices = np.flatnonzero((read[0] > 0) & (read[1] > 0))
        counts = [side[indices] for side in read]
        missing, total = (
            [values[places][indices] for values, places in zip(columns, rows, strict=True)]
            for columns in ([side.missing(kind.over) for side in sums], [side.total for side in sums])
        )
        sides = (missing[0], missing[1])
        if kind.ends is None:
            return cls(indices, sides, counts[0] + counts[1], None, None)
        # Each missing verdict at one end of the scale for the one run and at the other end for the other run.
        (low_before, high_before), (low_after, high_after) = (
            [(total[side] + missing[side] * end) / counts[side] for end in kind.ends] for side in (0, 1)
        )
        return cls(indices, sides, counts[0] + counts[1], low_after - high_before, high_after - low_before)

    def among(self, chosen: Array | None = None) -> MissingVerdicts | None:
        """Those of some samples of the alignment, true or false for each; None where nothing is missing.

        Source of the bounds: C. F. Manski, "Partial Identification of Probability Distributions", 2003, chapter 1:
        the mean of a bounded variable where some outcomes are missing, whatever made them be missing.
        """
        import numpy as np

        at = np.ones(len(self.indices), dtype=bool) if chosen is None else chosen[self.indices]
        baseline, other = (int(side[at].sum()) for side in self.sides)
        if not baseline + other:
            return None
        bounds = None
        if self.low is not None and self.high is not None:
            bounds = Interval(float(self.low[at].mean()), float(self.high[at].mean()))
        return MissingVerdicts(baseline, other, int(self.replies[at].sum()), bounds)


def _compare_pair(pair: _TestedPair, *, level: float) -> PairComparison:
    """Everything that two runs show together, given the differences corrected for the tests of other runs."""
    import numpy as np

    runs, kind, headline = pair.runs, pair.kind, pair.headline
    baseline, other, alignment = runs.baseline, runs.other, runs.alignment
    verdict = verdict_of(headline, level)
    pairs = _paired_values(runs, kind.name, kind.over)
    answered = _paired_values(runs, kind.name, "scored")
    overlap = overlap_of(runs, kind.name, headline.n)
    settings = setting_differences(baseline.run.manifest, other.run.manifest)
    improved, regressed = (pairs.indices[chosen] for chosen in changed_sides(pairs, kind.meaning))
    sentence = comparison_sentence(headline, verdict, score=kind.name, names=runs.names, level=level)
    sentence += "" if headline.n else _separate_sets(runs, kind.name)
    sentence += moved_scores_sentence(pair.scores, kind.name, runs.names[1]) + _matching_warnings(runs, kind.name)
    return PairComparison(
        baseline=baseline.run.id,
        baseline_target=baseline.run.target,
        other=other.run.id,
        other_target=other.run.target,
        score=kind.name,
        over=kind.over,
        **overlap._asdict(),
        headline=headline,
        answered_both=paired_difference(
            answered, level=level, meaning=kind.meaning, missing=headline.missing if kind.over == "scored" else None
        ),
        groups=over_groups(_groups(pairs, runs, kind, level)),
        improvements=tuple(baseline.ids(alignment.first[improved])),
        regressions=tuple(baseline.ids(alignment.first[regressed])),
        warnings=(*alignment.notes, *comparison_warnings(runs, overlap, kind.name)),
        verdict=verdict,
        sentence=sentence,
        level=level,
        aligned=alignment.by,
        differs=phrases_of(settings),
        settings=settings,
        scores=pair.scores,
        costs=_costs(runs, level),
        other_ids=_other_ids(runs, np.concatenate([improved, regressed])),
    )


def _groups(pairs: PairedValues, runs: AlignedRuns, kind: _ScoreKind, level: float) -> tuple[PairedDifference, ...]:
    """A difference per group, in order of first appearance; nothing where no sample names one."""
    groups = runs.baseline.scores.groups.at(runs.alignment.first)
    codes, order = by_appearance(groups.codes[pairs.indices], len(groups.names))
    names = [groups.names[code] for code in order.tolist()]
    if not any(names):
        return ()
    missing = _Missing.of(runs, kind)
    return tuple(
        paired_difference(
            pairs.part(codes == number),
            level=level,
            group=name or NO_GROUP,
            meaning=kind.meaning,
            missing=missing.among(groups.are(name)),
        )
        for number, name in enumerate(names)
    )


def _separate_sets(runs: AlignedRuns, score: str) -> str:
    """What the two show as separate sets, where they share no sample."""
    first, second = runs.baseline.summary.score(score), runs.other.summary.score(score)
    return separate_sentence(first, second, runs.names) if first and second else ""


def _matching_warnings(runs: AlignedRuns, score: str) -> str:
    """Why retrieval scores of the two are likely wrong: a sentence about them never appears without it."""
    if score not in RETRIEVAL_SCORES:
        return ""
    warnings = [run.summary.matching_warning(score) for run in (runs.baseline, runs.other)]
    return "".join(f" Warning: {warning}{'' if warning.endswith('?') else '.'}" for warning in warnings if warning)


def _costs(runs: AlignedRuns, level: float) -> tuple[CostDifference, ...]:
    """Of the pairs that failed on neither side; of many, of some that are drawn by seed."""
    baseline, other, alignment = runs.baseline, runs.other, runs.alignment
    if baseline.usage is None or other.usage is None:
        return ()
    drawn = drawn_samples(alignment.first)
    first = baseline.scores.numbers[alignment.first[drawn]].tolist()
    second = other.scores.numbers[alignment.second[drawn]].tolist()
    before, after = baseline.usage.costs(first), other.usage.costs(second)
    clusters = _clusters(runs)
    pairs = [
        CostPair(index if clusters is None else int(clusters[index]), before[number], after[other_number])
        for index, number, other_number in zip(drawn, first, second, strict=True)
        if number in before and other_number in after
    ]
    counted = not (baseline.summary.asks_itself or other.summary.asks_itself)
    return cost_differences(pairs, level=level, counted=counted)


def _other_ids(runs: AlignedRuns, indices: Array) -> dict[str, str]:
    """Baseline's id -> the other run's, at these indices of the alignment, where the two are not equal."""
    ids = runs.baseline.ids(runs.alignment.first[indices]), runs.other.ids(runs.alignment.second[indices])
    return {first: second for first, second in zip(*ids, strict=True) if first != second}
