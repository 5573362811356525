"""Runs -> Comparison: every run against the first, over the samples they share.

    alignment            which samples make a pair, how many do, and why others do not
    differences          two vectors of values -> difference, interval, test
    paired_scores        one score over these samples, and replies without a value
    multiplicity         p-values corrected for the tests made together
    costs                time, calls and tokens
    comparison_warnings  in what else the runs differ
    comparison_wording   the conclusion in one sentence

The order matters: p-values of all runs are corrected together before a verdict or a sentence is made of any of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.analysis.comparison.alignment import (
    AlignedRuns,
    ComparedRun,
    align,
    names_of,
    overlap_of,
    shared_samples,
)
from steelyard.analysis.comparison.comparison_values import (
    ChangedIds,
    Comparison,
    FurtherDifferences,
    PairComparison,
    PairedDifference,
    RunPair,
    ScoreDifference,
    Verdict,
)
from steelyard.analysis.comparison.comparison_warnings import comparison_warnings
from steelyard.analysis.comparison.comparison_wording import (
    by_conversation_sentence,
    comparison_sentence,
    moved_scores_sentence,
    separate_sentence,
)
from steelyard.analysis.comparison.costs import CostDifference, CostPair, cost_differences, drawn_samples
from steelyard.analysis.comparison.decided_runs import as_decided, decision_on
from steelyard.analysis.comparison.differences import (
    PairedValues,
    changed_sides,
    paired_difference,
    verdict_of,
    with_needed,
)
from steelyard.analysis.comparison.grid import grid_of
from steelyard.analysis.comparison.multiplicity import (
    adjust_groups,
    adjust_pairs,
    adjust_runs,
    adjust_scores,
    group_notes,
    run_notes,
    score_notes,
)
from steelyard.analysis.comparison.paired_scores import (
    ComparedScore,
    MissingBySample,
    clusters_of,
    compared_score,
    paired_values,
)
from steelyard.analysis.comparison.sample_costs import sample_costs
from steelyard.analysis.comparison.settings import setting_differences
from steelyard.analysis.comparison.turn_differences import turn_differences
from steelyard.analysis.judges.jury_scores import with_jury
from steelyard.analysis.retrieval_matches import RETRIEVAL_SCORES
from steelyard.analysis.run_data import HoldsRunData, RunData, data_of
from steelyard.analysis.scores.score_columns import by_appearance
from steelyard.analysis.scores.score_summary_values import NO_GROUP
from steelyard.analysis.summary.run_summary import summarize_run, with_juries
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.errors import ConfigError, did_you_mean

Array = NDArray[Any]


def compare(
    *runs: RunData | HoldsRunData,
    score: str | None = None,
    level: float = 0.95,
    align_by: str = "",
    groups: Sequence[str] = (),
    summaries: Sequence[RunSummary] = (),
) -> Comparison:
    """Compare every run with the first, over the samples that they share.

    The headline compares what the score's headline counts: by default an unparsed or refused reply as not solved.
    Repeats of a sample are averaged. A sample that failed on either side is left out and counted. The other scores
    that both runs have are compared likewise, and so are time, calls and tokens. Runs of prompts x models are compared
    as a grid too: which prompt, which cells are as good as the best, and which of these is the cheapest.

    Args:
        runs: at least two, or handles on them; the first is the baseline.
        score: what is compared in full, also the score of a jury (`correct_jury`); None is the baseline's primary
            score.
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
    name, sides = _checked_runs(runs, score, level, groups, summaries)
    tested = [_tested_pair(sides[0], other, name, align_by, level) for other in sides[1:]]
    headlines = adjust_runs([pair.headline for pair in tested])
    pairs = _compared_pairs(tested, headlines, level)
    return replace(_comparison(name, sides, pairs, groups, run_notes(pairs)), grid=grid_of(sides, name, level))


def compare_all_pairs(
    *runs: RunData | HoldsRunData,
    score: str | None = None,
    level: float = 0.95,
    align_by: str = "",
    groups: Sequence[str] = (),
    summaries: Sequence[RunSummary] = (),
) -> Comparison:
    """Compare every two of several runs on one score, in addition to `compare` with the first.

    The p-values of all pairs are corrected together after Holm, so that the chance of any false difference among them
    stays below 1 - level; those against the first run are among them and get the same correction.

    Args:
        runs: at least two, or handles on them.
        score: what is compared; None is the first run's primary score.
        level: as in `compare`.
        align_by: as in `compare`.
        groups: as in `compare`.
        summaries: as in `compare`.

    Raises:
        ConfigError: as in `compare`.
    """
    name, sides = _checked_runs(runs, score, level, groups, summaries)
    against_first = [_tested_pair(sides[0], other, name, align_by, level) for other in sides[1:]]
    others = [_over_turns(_tested_headline(*pair, name, align_by, level), level) for pair in combinations(sides[1:], 2)]
    tested = [*against_first, *others]
    headlines = adjust_pairs([pair.headline for pair in tested])
    pairs = _compared_pairs(against_first, headlines[: len(against_first)], level)
    all_pairs = tuple(_run_pair(pair, headline, level) for pair, headline in zip(tested, headlines, strict=True))
    return replace(_comparison(name, sides, pairs, groups, ()), all_pairs=all_pairs)


def _compared_pairs(
    tested: Sequence[_TestedPair], headlines: Sequence[PairedDifference], level: float
) -> tuple[PairComparison, ...]:
    """Everything about each pair, given the corrected differences of their headlines."""
    scores = adjust_scores([pair.scores for pair in tested], level)
    turns = adjust_scores([pair.turns for pair in tested], level)
    return tuple(
        _compare_pair(replace(pair, headline=headline, scores=of_records, turns=of_turns), level=level)
        for pair, headline, of_records, of_turns in zip(tested, headlines, scores, turns, strict=True)
    )


def _comparison(
    name: str,
    sides: Sequence[ComparedRun],
    pairs: tuple[PairComparison, ...],
    groups: Sequence[str],
    notes: Sequence[str],
) -> Comparison:
    return Comparison(
        sides[0].summary,
        tuple(other.summary for other in sides[1:]),
        name,
        pairs,
        (*_subset_notes(groups), *notes),
        group_notes(pairs),
        score_notes(pairs),
        tuple(groups),
    )


def _checked_runs(
    runs: Sequence[RunData | HoldsRunData],
    score: str | None,
    level: float,
    groups: Sequence[str],
    summaries: Sequence[RunSummary],
) -> tuple[str, list[ComparedRun]]:
    """The score's name and the runs with what is read of them.

    Raises:
        ConfigError: fewer than two runs, a run without the score, no such group, or no such level.
    """
    if len(runs) < 2:
        raise ConfigError(f"a comparison needs two runs or more, not {len(runs)}")
    if not 0 < level < 1:
        raise ConfigError(f"a confidence level lies between 0 and 1 (0.95 for 95 %), not {level}")
    compared = [data_of(run) for run in runs]
    summaries = tuple(summaries) or tuple(map(summarize_run, compared))
    name = score or summaries[0].primary
    if any(_is_of_jury(name, summary) for summary in summaries):
        compared, summaries = _with_juries(compared, summaries, name)
    for summary in summaries:
        _check_score(summary, name, baseline=summaries[0])
        _check_groups(summary, name, groups)
    return name, [ComparedRun.of(run, summary, groups) for run, summary in zip(compared, summaries, strict=True)]


def _is_of_jury(name: str, summary: RunSummary) -> bool:
    """Whether a score is that of the run's jury, and not yet among its scores."""
    return any(score.name == name for score in summary.raters.jury_scores) and all(
        score.name != name for score in summary.scores
    )


def _with_juries(
    runs: Sequence[RunData], summaries: Sequence[RunSummary], name: str
) -> tuple[list[RunData], tuple[RunSummary, ...]]:
    """The runs and their summaries with the scores of their juries among the others.

    Raises:
        ConfigError: labels of people count in place of scores.
    """
    if any(summary.raters.labelled is not None for summary in summaries):
        raise ConfigError(
            f"{name} is the verdict of several judges, in whose place labels of people do not count: compare it "
            "without labels"
        )
    return [with_jury(run) for run in runs], tuple(with_juries(summary) for summary in summaries)


def _check_score(summary: RunSummary, name: str, *, baseline: RunSummary) -> None:
    known = [score.name for score in summary.scores]
    if not known:
        raise ConfigError(f"run {summary.run} ({summary.target}) has no scores, so there is nothing to compare")
    if name not in known and summary.suite != baseline.suite:
        raise ConfigError(
            f"run {baseline.run} ({baseline.target}) is of suite {baseline.suite!r} and run {summary.run} "
            f"({summary.target}) of suite {summary.suite!r}, which has no score {name!r}: only runs with the same "
            "scores can be compared"
        )
    if name not in known:
        known += [score.name for score in summary.raters.jury_scores if not score.group]
        raise ConfigError(f"run {summary.run} ({summary.target}) has no score {name!r}{did_you_mean(name, known)}")


def _check_groups(summary: RunSummary, name: str, groups: Sequence[str]) -> None:
    known = [score.group for score in summary.groups.get(name, ())]
    for group in groups:
        if group not in known:
            hint = did_you_mean(group, known) if known else ": it has no groups"
            raise ConfigError(f"run {summary.run} ({summary.target}) has no group {group!r}{hint}")


def _subset_notes(groups: Sequence[str]) -> tuple[str, ...]:
    return (f"Only samples of {' and '.join(groups)} are compared.",) if groups else ()


@dataclass(frozen=True, slots=True)
class _TestedPair:
    """Two aligned runs with their differences, tested but not yet put into words."""

    runs: AlignedRuns
    kind: ComparedScore
    headline: PairedDifference
    scores: tuple[ScoreDifference, ...]
    turns: tuple[ScoreDifference, ...] = ()
    by_conversation: PairedDifference | None = None


def headline_difference(
    runs: tuple[RunData, RunData],
    summaries: tuple[RunSummary, RunSummary],
    score: str,
    *,
    level: float = 0.95,
    group: str = "",
    over_turns: bool = False,
) -> tuple[PairedDifference, Verdict]:
    """The difference of two runs on one score and its verdict, without the rest of `compare`.

    Args:
        runs: the baseline and the other run.
        summaries: of both.
        score: the score's name; both have it.
        level: of the interval and the verdict.
        group: only samples of this group; "" is all.
        over_turns: compare a score of single turns over all turns, not by its means over conversations.
    """
    groups = (group,) if group and group != NO_GROUP else ()
    baseline, other = (ComparedRun.of(run, summary, groups) for run, summary in zip(runs, summaries, strict=True))
    pair = _tested_headline(baseline, other, score, "", level)
    headline = (_over_turns(pair, level) if over_turns and not group else pair).headline
    return headline, verdict_of(headline, level)


def _tested_headline(baseline: ComparedRun, other: ComparedRun, name: str, align_by: str, level: float) -> _TestedPair:
    """Two runs aligned and tested on the headline alone."""
    sides = (baseline, other)
    alignment = align(baseline, other, align_by, names_of(baseline.run, other.run))
    runs = AlignedRuns(baseline, other, alignment)
    kind = compared_score(name, sides)
    pairs = paired_values(runs, kind.name, kind.over)
    missing = MissingBySample.of(runs, kind).among()
    headline = paired_difference(pairs, level=level, meaning=kind.meaning, missing=missing)
    headline = with_needed(headline, pairs, level)
    if (decision := decision_on(baseline, other, name)) is not None:
        headline = as_decided(headline, decision)
    return _TestedPair(runs, kind, headline, ())


def _tested_pair(baseline: ComparedRun, other: ComparedRun, name: str, align_by: str, level: float) -> _TestedPair:
    """Two runs aligned and tested on the headline and on every other score that both have."""
    pair = _tested_headline(baseline, other, name, align_by, level)
    own = [score.name for score in baseline.summary.own_scores if score.name != name]
    further = [score for score in own if other.summary.score(score)]
    kinds = [compared_score(score, (baseline, other)) for score in further]
    scores = tuple(_score_difference(pair.runs, kind, level) for kind in kinds)
    return replace(_over_turns(pair, level), scores=scores, turns=_turn_differences(pair.runs, level))


def _over_turns(pair: _TestedPair, level: float) -> _TestedPair:
    """Give a score of single turns the difference over all turns as headline, as gates and histories have it.

    The difference of the means over conversations, which have equal weight whatever their length, is kept as well.
    """
    turns = _turn_differences(pair.runs, level, pair.kind.name)
    if not turns or not turns[0].difference.n or pair.headline.stopped is not None:
        return pair
    return replace(pair, headline=turns[0].difference, by_conversation=pair.headline)


def _turn_differences(runs: AlignedRuns, level: float, score: str = "") -> tuple[ScoreDifference, ...]:
    """Differences of the scores of single turns that both runs have, or of one such score."""
    summaries = (runs.baseline.summary, runs.other.summary)
    names = [{turns.score.name for turns in summary.details.turns} for summary in summaries]
    if not names[0] & names[1] or (score and score not in names[0] & names[1]):
        return ()
    return tuple(turns for turns in turn_differences(runs, level) if not score or turns.score == score)


def _run_pair(pair: _TestedPair, headline: PairedDifference, level: float) -> RunPair:
    runs, verdict = pair.runs, verdict_of(headline, level)
    return RunPair(
        baseline=runs.baseline.run.id,
        baseline_target=runs.baseline.run.target,
        other=runs.other.run.id,
        other_target=runs.other.run.target,
        headline=headline,
        verdict=verdict,
        sentence=comparison_sentence(headline, verdict, score=pair.kind.name, names=runs.names, level=level),
    )


def _score_difference(runs: AlignedRuns, kind: ComparedScore, level: float) -> ScoreDifference:
    pairs = paired_values(runs, kind.name, kind.over)
    missing = MissingBySample.of(runs, kind).among()
    difference = paired_difference(pairs, level=level, meaning=kind.meaning, missing=missing)
    shared = shared_samples(runs, kind.name)
    not_read = len(shared.first) - difference.n - shared.errors
    return ScoreDifference(kind.name, kind.over, shared.errors, not_read, difference, verdict_of(difference, level))


def _compare_pair(pair: _TestedPair, *, level: float) -> PairComparison:
    """The full comparison of two runs, given the differences corrected for the tests of other runs."""
    runs, kind, headline = pair.runs, pair.kind, pair.headline
    baseline, other, alignment = runs.baseline, runs.other, runs.alignment
    verdict = verdict_of(headline, level)
    pairs = paired_values(runs, kind.name, kind.over)
    answered = paired_values(runs, kind.name, "scored")
    overlap = overlap_of(runs, kind.name, (pair.by_conversation or headline).n)
    improved, regressed = (pairs.indices[chosen] for chosen in changed_sides(pairs, kind.meaning))
    sentence = comparison_sentence(headline, verdict, score=kind.name, names=runs.names, level=level)
    sentence += "" if headline.n else _separate_sets(runs, kind.name)
    sentence += by_conversation_sentence(pair.by_conversation, level)
    sentence += moved_scores_sentence(pair.scores, kind.name, runs.names[1]) + _matching_warnings(runs, kind.name)
    return PairComparison(
        baseline=baseline.run.id,
        baseline_target=baseline.run.target,
        other=other.run.id,
        other_target=other.run.target,
        score=kind.name,
        over=kind.over,
        overlap=overlap,
        headline=headline,
        changed=ChangedIds(
            tuple(baseline.ids(alignment.first[improved])),
            tuple(baseline.ids(alignment.first[regressed])),
            _other_ids(runs, np.concatenate([improved, regressed])),
        ),
        further=FurtherDifferences(
            paired_difference(
                answered, level=level, meaning=kind.meaning, missing=headline.missing if kind.over == "scored" else None
            ),
            adjust_groups(_groups(pairs, runs, kind, level)),
            pair.scores,
            _costs(runs, level),
            pair.turns,
            pair.by_conversation,
        ),
        settings=setting_differences(baseline.run.manifest, other.run.manifest),
        warnings=(*alignment.notes, *comparison_warnings(runs, overlap, kind.name)),
        verdict=verdict,
        sentence=sentence,
        level=level,
    )


def _groups(pairs: PairedValues, runs: AlignedRuns, kind: ComparedScore, level: float) -> tuple[PairedDifference, ...]:
    """A difference per group, in order of first appearance; nothing where no sample names one."""
    groups = runs.baseline.scores.groups.at(runs.alignment.first)
    codes, order = by_appearance(groups.codes[pairs.indices], len(groups.names))
    names = [groups.names[code] for code in order.tolist()]
    if not any(names):
        return ()
    missing = MissingBySample.of(runs, kind)
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
    """Cost differences over the pairs that failed on neither side; where there are many, over a seeded draw of them."""
    baseline, other, alignment = runs.baseline, runs.other, runs.alignment
    if baseline.run.bodies is None or other.run.bodies is None:
        return ()
    if baseline.run.records is None or other.run.records is None:
        return ()
    drawn = drawn_samples(alignment.first)
    first = baseline.scores.numbers[alignment.first[drawn]].tolist()
    second = other.scores.numbers[alignment.second[drawn]].tolist()
    before = sample_costs(baseline.run.records, baseline.run.bodies, first)
    after = sample_costs(other.run.records, other.run.bodies, second)
    clusters = clusters_of(runs)
    pairs = [
        CostPair(index if clusters is None else int(clusters[index]), before[number], after[other_number])
        for index, number, other_number in zip(drawn, first, second, strict=True)
        if number in before and other_number in after
    ]
    counted = not (baseline.summary.calls.asks_itself or other.summary.calls.asks_itself)
    return cost_differences(pairs, level=level, counted=counted)


def _other_ids(runs: AlignedRuns, indices: Array) -> dict[str, str]:
    """Baseline's id -> the other run's, at these indices of the alignment, where the two are not equal."""
    ids = runs.baseline.ids(runs.alignment.first[indices]), runs.other.ids(runs.alignment.second[indices])
    return {first: second for first, second in zip(*ids, strict=True) if first != second}
