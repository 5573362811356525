"""Runs -> Comparison: every run against the first, over the samples they share.

    alignment            which samples make a pair, how many do, and why others do not
    differences          two vectors of values -> difference, interval, test, corrected for the tests made together
    paired_scores        one score over these samples, and replies without a value
    costs                time, calls and tokens
    comparison_warnings  in what else the runs differ
    comparison_wording   the conclusion in words

The order matters: p-values of all runs are corrected together before a verdict or a sentence is made of any of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

import numpy as np

from steelyard.analysis.comparison.alignment import AlignedRuns, align, overlap_of
from steelyard.analysis.comparison.comparison_values import (
    ChangedIds,
    Comparison,
    Conclusion,
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
)
from steelyard.analysis.comparison.costs import CostDifference, cost_differences, drawn_samples, sample_costs
from steelyard.analysis.comparison.differences import (
    PairedValues,
    ScoreMeaning,
    adjust_groups,
    adjust_headlines,
    adjust_scores,
    changed_sides,
    group_notes,
    paired_difference,
    run_notes,
    score_notes,
    verdict_of,
    with_needed,
)
from steelyard.analysis.comparison.grid import grid_of
from steelyard.analysis.comparison.paired_scores import (
    MissingBySample,
    as_decided,
    clusters_of,
    decision_on,
    paired_values,
    score_meaning,
)
from steelyard.analysis.comparison.sample_scores import RunBySample
from steelyard.analysis.comparison.settings import setting_differences
from steelyard.analysis.comparison.turn_differences import turn_differences
from steelyard.analysis.judges.jury import with_jury
from steelyard.analysis.retrieval_matches import RETRIEVAL_SCORES
from steelyard.analysis.run_data import HoldsRunData, RunData, data_of
from steelyard.analysis.scores.score_columns import by_appearance
from steelyard.analysis.scores.score_summary_values import NO_GROUP
from steelyard.analysis.summary.run_summary import summarize_run, with_juries
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.errors import ConfigError, did_you_mean
from steelyard.plain_json import field_values
from steelyard.stats.arrays import Array

_LEVEL: Final = 0.95


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
    aligned = [align(sides[0], other, align_by) for other in sides[1:]]
    headlines = adjust_headlines([_headline(pair, name, level) for pair in aligned], "runs")
    pairs = _compared_pairs(aligned, headlines, name, level)
    return replace(_comparison(name, sides, pairs, groups, run_notes(pairs)), grid=grid_of(aligned, name, level))


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
    aligned = [align(*pair, align_by) for pair in combinations(sides, 2)]  # those with the first run come first
    headlines = adjust_headlines([_headline(pair, name, level) for pair in aligned], "pairs")
    pairs = _compared_pairs(aligned[: len(sides) - 1], headlines[: len(sides) - 1], name, level)
    all_pairs = tuple(_run_pair(*pair, name, level) for pair in zip(aligned, headlines, strict=True))
    return replace(_comparison(name, sides, pairs, groups, ()), all_pairs=all_pairs)


def _compared_pairs(
    aligned: Sequence[AlignedRuns], headlines: Sequence[PairedDifference], name: str, level: float
) -> tuple[PairComparison, ...]:
    """Everything about each pair, given the corrected differences of their headlines."""
    scores = adjust_scores([_score_differences(runs, name, level) for runs in aligned], level)
    turns = adjust_scores([turn_differences(runs, level) for runs in aligned], level)
    return tuple(
        _compare_pair(runs, name, headline, of_records, of_turns, level=level)
        for runs, headline, of_records, of_turns in zip(aligned, headlines, scores, turns, strict=True)
    )


def _comparison(
    name: str,
    sides: Sequence[RunBySample],
    pairs: tuple[PairComparison, ...],
    groups: Sequence[str],
    notes: Sequence[str],
) -> Comparison:
    return Comparison(
        sides[0].summary,
        tuple(other.summary for other in sides[1:]),
        name,
        pairs,
        (*([f"Only samples of {' and '.join(groups)} are compared."] if groups else []), *notes),
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
) -> tuple[str, list[RunBySample]]:
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
        known = [score.group for score in summary.groups.get(name, ())]
        for group in groups:
            if group not in known:
                hint = did_you_mean(group, known) if known else ": it has no groups"
                raise ConfigError(f"run {summary.run} ({summary.target}) has no group {group!r}{hint}")
    return name, [RunBySample.of(run, summary, groups) for run, summary in zip(compared, summaries, strict=True)]


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


def headline_difference(
    runs: tuple[RunData, RunData],
    summaries: tuple[RunSummary, RunSummary],
    score: str,
    *,
    group: str = "",
    over_turns: bool = False,
) -> tuple[PairedDifference, Verdict]:
    """The difference of two runs on one score and its verdict at 95 %, without the rest of `compare`.

    Args:
        runs: the baseline and the other run.
        summaries: of both.
        score: the score's name; both have it.
        group: only samples of this group; "" is all.
        over_turns: compare a score of single turns over all turns, not by its means over conversations.
    """
    groups = (group,) if group and group != NO_GROUP else ()
    baseline, other = (RunBySample.of(run, summary, groups) for run, summary in zip(runs, summaries, strict=True))
    headline = _headline(align(baseline, other, ""), score, _LEVEL, over_turns=over_turns and not group)
    return headline, verdict_of(headline, _LEVEL)


def _headline(runs: AlignedRuns, name: str, level: float, *, over_turns: bool = True) -> PairedDifference:
    """The difference of the score that is compared in full.

    A score of single turns is compared over all turns, as gates and histories have it, unless a rule ended the runs.
    """
    headline = _over_records(runs, name, level)
    turns = _over_turns(turn_differences(runs, level, name), name) if over_turns and headline.stopped is None else None
    return turns or headline


def _over_records(runs: AlignedRuns, name: str, level: float) -> PairedDifference:
    """The headline over records: of a score of turns, of its means over conversations, whatever their length."""
    meaning = score_meaning(name, (runs.baseline, runs.other))
    pairs = paired_values(runs, meaning.name, meaning.over)
    difference = with_needed(_all_pairs_difference(runs, meaning, pairs, level), pairs, level)
    decision = decision_on(runs.baseline, runs.other, name)
    return difference if decision is None else as_decided(difference, decision)


def _all_pairs_difference(
    runs: AlignedRuns, meaning: ScoreMeaning, pairs: PairedValues, level: float
) -> PairedDifference:
    missing = MissingBySample.of(runs, meaning).among()
    return paired_difference(pairs, level=level, meaning=meaning, missing=missing)


def _over_turns(turns: Sequence[ScoreDifference], name: str) -> PairedDifference | None:
    """The difference of a score over all turns; None where it is none of turns, or both runs share no conversation."""
    return next((score.difference for score in turns if score.score == name and score.difference.n), None)


def _run_pair(runs: AlignedRuns, headline: PairedDifference, name: str, level: float) -> RunPair:
    """What is said of two runs on their headline alone."""
    before, after, verdict = runs.baseline.run, runs.other.run, verdict_of(headline, level)
    sentence = comparison_sentence(headline, verdict, score=name, names=runs.names, level=level)
    conclusion = Conclusion(verdict, sentence)
    return RunPair(before.id, before.target, after.id, after.target, name, headline, conclusion)


def _score_differences(runs: AlignedRuns, name: str, level: float) -> tuple[ScoreDifference, ...]:
    """The differences of every other score that both runs have."""
    differences = []
    for score in runs.baseline.summary.own_scores:
        if score.name == name or not runs.other.summary.score(score.name):
            continue
        meaning = score_meaning(score.name, (runs.baseline, runs.other))
        difference = _all_pairs_difference(runs, meaning, paired_values(runs, meaning.name, meaning.over), level)
        sides = ((runs.baseline, runs.first), (runs.other, runs.second))
        valued = [run.sums_of(meaning.name).means(meaning.over)[indices] for run, indices in sides]
        alone = int((~np.isnan(valued[0])).sum()) - difference.n, int((~np.isnan(valued[1])).sum()) - difference.n
        verdict = verdict_of(difference, level)
        differences.append(ScoreDifference(meaning.name, meaning.over, alone, difference, verdict))
    return tuple(differences)


def _compare_pair(
    runs: AlignedRuns,
    name: str,
    headline: PairedDifference,
    scores: tuple[ScoreDifference, ...],
    turns: tuple[ScoreDifference, ...],
    *,
    level: float,
) -> PairComparison:
    """The full comparison of two runs, given the differences corrected for the tests of other runs."""
    baseline, other = runs.baseline, runs.other
    meaning, pair = score_meaning(name, (baseline, other)), _run_pair(runs, headline, name, level)
    is_over_turns = headline.stopped is None and _over_turns(turns, name) is not None
    by_conversation = _over_records(runs, name, level) if is_over_turns else None
    pairs = paired_values(runs, name, meaning.over)
    answered = paired_values(runs, name, "scored")
    overlap = overlap_of(runs, name, meaning.over, (by_conversation or headline).n)
    improved, regressed = (pairs.indices[chosen] for chosen in changed_sides(pairs, meaning))
    sentence = pair.sentence + by_conversation_sentence(by_conversation, level)
    sentence += moved_scores_sentence(scores, name, runs.names[1]) + _matching_warnings(runs, name)
    return PairComparison(
        **field_values(replace(pair, conclusion=Conclusion(pair.verdict, sentence))),
        over=meaning.over,
        overlap=overlap,
        changed=ChangedIds(
            tuple(baseline.ids(runs.first[improved])),
            tuple(baseline.ids(runs.first[regressed])),
            _other_ids(runs, np.concatenate([improved, regressed])),
        ),
        further=FurtherDifferences(
            paired_difference(
                answered, level=level, meaning=meaning, missing=headline.missing if meaning.over == "scored" else None
            ),
            adjust_groups(_groups(pairs, runs, meaning, level)),
            scores,
            _costs(runs, level),
            turns,
            by_conversation,
        ),
        settings=setting_differences(baseline.run.manifest, other.run.manifest),
        warnings=(*runs.notes, *comparison_warnings(runs, overlap, meaning.name)),
        level=level,
    )


def _groups(
    pairs: PairedValues, runs: AlignedRuns, meaning: ScoreMeaning, level: float
) -> tuple[PairedDifference, ...]:
    """A difference per group, in order of first appearance; nothing where no sample names one."""
    groups = runs.baseline.groups.at(runs.first)
    codes, order = by_appearance(groups.codes[pairs.indices], len(groups.names))
    names = [groups.names[code] for code in order.tolist()]
    if not any(names):
        return ()
    missing = MissingBySample.of(runs, meaning)
    return tuple(
        paired_difference(
            pairs.part(codes == number),
            level=level,
            group=name or NO_GROUP,
            meaning=meaning,
            missing=missing.among(groups.are(name)),
        )
        for number, name in enumerate(names)
    )


def _matching_warnings(runs: AlignedRuns, score: str) -> str:
    """Why retrieval scores of the two are likely wrong: a sentence about them never appears without it."""
    if score not in RETRIEVAL_SCORES:
        return ""
    warnings = [run.summary.matching_warning(score) for run in (runs.baseline, runs.other)]
    return "".join(f" Warning: {warning}{'' if warning.endswith('?') else '.'}" for warning in warnings if warning)


def _costs(runs: AlignedRuns, level: float) -> tuple[CostDifference, ...]:
    """Cost differences over the pairs that failed on neither side; where there are many, over a seeded draw of them."""
    baseline, other = runs.baseline, runs.other
    if baseline.run.bodies is None or other.run.bodies is None:
        return ()
    if baseline.run.records is None or other.run.records is None:
        return ()
    drawn = drawn_samples(runs.first)
    first = baseline.numbers[runs.first[drawn]].tolist()
    second = other.numbers[runs.second[drawn]].tolist()
    before = sample_costs(baseline.run.records, baseline.run.bodies, first)
    after = sample_costs(other.run.records, other.run.bodies, second)
    clusters = clusters_of(runs)
    known = [
        (before[number], after[other_number], index if clusters is None else int(clusters[index]))
        for index, number, other_number in zip(drawn, first, second, strict=True)
        if number in before and other_number in after
    ]
    first_costs, second_costs, units = zip(*known, strict=True) if known else ((), (), ())
    counted = not (baseline.summary.calls.asks_itself or other.summary.calls.asks_itself)
    return cost_differences(first_costs, second_costs, clusters=units, level=level, counted=counted)


def _other_ids(runs: AlignedRuns, indices: Array) -> dict[str, str]:
    """Baseline's id -> the other run's, at these indices of the alignment, where the two are not equal."""
    ids = runs.baseline.ids(runs.first[indices]), runs.other.ids(runs.second[indices])
    return {first: second for first, second in zip(*ids, strict=True) if first != second}
