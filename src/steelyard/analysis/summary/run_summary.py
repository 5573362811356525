"""The summary of a run, computed from its `RunData`: the only way in which a summary is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from steelyard.analysis.intervals import Intervals, Mean
from steelyard.analysis.judges.rater_findings import rater_findings
from steelyard.analysis.retrieval_matches import RETRIEVAL_SCORES, SourceMatchCounts
from steelyard.analysis.run_data import TARGET, RunData
from steelyard.analysis.scores.score_columns import CODES, DAMAGED_DETAIL, ROW_OUTCOMES, RowOutcome, ScoreColumns, Texts
from steelyard.analysis.scores.score_infos import levels_in, names_where
from steelyard.analysis.scores.score_summary import histograms, summarize
from steelyard.analysis.scores.score_summary_values import NO_GROUP, Consistency, GroupLevel, ScoreSummary, TurnSummary
from steelyard.analysis.stopping import Stopping
from steelyard.analysis.summary.classification import calibrations, classifications
from steelyard.analysis.summary.contingency import contingency_tables
from steelyard.analysis.summary.exam import exams
from steelyard.analysis.summary.exam_values import Exam
from steelyard.analysis.summary.people_labels import labelled_summary
from steelyard.analysis.summary.repeats_and_turns import pass_rates, turn_summary
from steelyard.analysis.summary.run_summary_values import ModelCalls, RecordFindings, RunSummary, ScoreDetails
from steelyard.escaping import cell_text
from steelyard.types import BETWEEN_LEVELS, LACKS, OUTCOMES

RESULT_SCORES: Final = frozenset({"result", "execution_accuracy"})
"""Scores that compare the results of two queries."""
_ORIGINS: Final = {"file": "source", "sheet": "sheet"}
"""Level of groups -> the key of metadata that says the same."""
_ASKS_ITSELF: Final = frozenset({"function", "langchain", "llama_index"})
"""Targets that run code of users or frameworks, by their names in a manifest."""


def summarize_run(data: RunData) -> RunSummary:
    """Means, intervals, counts and findings of a run.

    Where labels of people count in place of scores (`with_labels`), it says what they changed.
    """
    infos = data.score_infos
    scores, groups = summarize(data.scores, infos=infos, intervals=Intervals.of(data.manifest))
    scores, groups = as_stopped(scores, groups, data.stopping)
    order = {name: position for position, name in enumerate(data.manifest.get("scores") or ())}
    scores = tuple(sorted(scores, key=lambda score: order.get(score.name, len(order))))
    summary = RunSummary(
        run=data.id,
        suite=data.suite,
        target=data.target,
        tags=data.tags,
        state=data.state,
        reason=data.reason,
        created=data.created,
        counts=data.counts,
        scores=scores,
        groups=groups,
        primary=data.primary,
        stopping=data.stopping,
        details=ScoreDetails(
            labels={
                name: labels
                for name in names_where(infos, lambda info: info.named_verdicts)
                if (labels := counted_texts(data, "label", [name]))
            },
            spreads=histograms(data.scores, infos),
            contingency_tables=contingency_tables(data.scores, infos, data.manifest.get("crossed", ())),
            breakdowns=_breakdowns(data, order),
            levels=group_levels(data),
            consistency=_consistency(data),
            exams=tuple(exam_as_stopped(exam, data.stopping) for exam in exams(data.scores, scores, infos)),
            classifications=classifications(data.scores, infos),
            calibrations=calibrations(data.scores, infos),
            also_scored=names_where(infos, lambda info: info.also_scored),
            turns=_turn_summaries(data),
            pass_rates=pass_rates(data),
        ),
        records=RecordFindings(
            # Other scores may fail to parse the same replies for other reasons: the primary score's are shown.
            unparsed_kinds=_unparsed_kinds(data, [data.primary]) or _unparsed_kinds(data, _own_scores(data)),
            lacking=_lacking(data, scores),
            open_references=_open_references(data),
            matched=_matched(data, scores),
            damaged=data.damaged,
        ),
        calls=ModelCalls(
            stages=data.stages,
            framework=data.framework,
            asks_itself=_asks_itself(data),
            reply_forms=_reply_forms(data),
            endpoints=data.manifest.get("calls", {}),
        ),
        raters=rater_findings(data.before_labels or data),
    )
    return summary if data.before_labels is None else labelled_summary(summary, data, data.before_labels)


def counted_texts(data: RunData, key: str, names: Iterable[str], outcome: RowOutcome | None = None) -> dict[str, int]:
    """How many records have each text at `key` in the detail of such a score; most frequent first.

    A score without a text counts under its outcome, a damaged one as "damaged"; scores of one record with the same text
    count once.

    Args:
        data: the run.
        key: of the details.
        names: scores that count.
        outcome: only scores with it; None is all but errors.
    """
    columns, counting = data.scores, {*names}
    known = [code for code, name in enumerate(columns.names) if name in counting]
    counted = columns.outcome != CODES["error"] if outcome is None else columns.outcome == CODES[outcome]
    rows = np.flatnonzero(np.isin(columns.name, known) & counted)
    texts: dict[str, int] = {}
    # Per different detail and outcome the number of its text: there are few of them.
    width = len(CODES)
    pairs, at = np.unique(columns.detail[rows] * width + columns.outcome[rows], return_inverse=True)
    numbers = np.asarray(
        [
            texts.setdefault(_text_at(columns.details[pair // width], key) or ROW_OUTCOMES[pair % width], len(texts))
            for pair in pairs.tolist()
        ],
        dtype=np.int64,
    )
    repeats = int(columns.repeat.max(initial=0)) + 1
    records = columns.sample[rows].astype(np.int64) * repeats + columns.repeat[rows]
    # With counts: without them numpy first imports its masked arrays, a sixtieth of the start of a run and 2 MiB.
    distinct, _ = np.unique(records * max(len(texts), 1) + numbers[at], return_counts=True)
    counts = np.bincount(distinct % max(len(texts), 1), minlength=len(texts)).tolist()
    named = {
        text.replace("_", " ") if text in OUTCOMES else text: count for text, count in zip(texts, counts, strict=True)
    }
    return dict(sorted(named.items(), key=lambda pair: (-pair[1], pair[0])))


def _text_at(detail: Mapping[str, Any], key: str) -> str:
    """The text at `key` in the detail of a score; "" where there is none."""
    value = "damaged" if detail is DAMAGED_DETAIL else detail.get(key, "")
    return value if isinstance(value, str) else ""


def _own_scores(data: RunData) -> list[str]:
    """All scores but those that read the same replies by another tool's rule."""
    also_scored = names_where(data.score_infos, lambda info: info.also_scored)
    return [name for name in data.scores.names if name and name not in also_scored]


def _unparsed_kinds(data: RunData, names: Iterable[str]) -> dict[str, int]:
    return counted_texts(data, "kind", names, "unparsed")


def _reply_forms(data: RunData) -> dict[str, dict[str, int]]:
    """Score -> how its judge's replies were asked for -> records; empty where no judge asks for a JSON schema."""
    other_texts = {*(outcome.replace("_", " ") for outcome in OUTCOMES), "damaged"}
    counts = {name: counted_texts(data, "asked_for", [name]) for name in data.manifest.get("scores", ())}
    forms = {
        name: {form: n for form, n in form_counts.items() if form not in other_texts}
        for name, form_counts in counts.items()
    }
    return {name: form_counts for name, form_counts in forms.items() if form_counts}


def _open_references(data: RunData) -> dict[str, int]:
    """Score -> records whose reference query has no unique result; only scores that compare results say so."""
    names = names_where(data.score_infos, lambda info: info.named_verdicts)
    counts = {
        name: counted_texts(data, "reference", [name], "scored").get("not unique", 0)
        for name in names
        if name in RESULT_SCORES
    }
    return {name: count for name, count in counts.items() if count}


def _lacking(data: RunData, scores: Iterable[ScoreSummary]) -> dict[str, dict[str, dict[str, int]]]:
    """Score -> what outputs lack, so that it does not apply to them -> group -> records."""
    counts: dict[str, dict[str, dict[str, int]]] = {}
    for score in scores:
        if not score.not_applicable:
            continue
        for row in data.scores.rows(score.name):
            if row.outcome == "not_applicable" and (lacks := _text_at(row.detail, LACKS)):
                groups = counts.setdefault(score.name, {}).setdefault(lacks, {})
                groups[row.group] = groups.get(row.group, 0) + 1
    return counts


def _matched(data: RunData, scores: Iterable[ScoreSummary]) -> SourceMatchCounts | None:
    """How retrieved passages were matched, counted from the first retrieval score; None if it was not scored."""
    name = RETRIEVAL_SCORES[0]
    if not any(score.name == name for score in scores):
        return None
    counts: Counter[str] = Counter()
    long = pairs = 0
    for row in data.scores.rows(name):
        counts[_text_at(row.detail, "matched_by")] += 1
        if type(row.detail.get("long_pairs")) is type(row.detail.get("pairs")) is int:
            long, pairs = long + row.detail["long_pairs"], pairs + row.detail["pairs"]
    return SourceMatchCounts.of(data.target, counts, long_share=long / pairs if pairs else 0.0)


def _consistency(data: RunData) -> dict[str, Consistency]:
    """Score -> how consistently its judge repeated its verdicts; damaged scores are left out."""
    columns = data.scores
    repeats = np.stack([columns.numbers("sd"), columns.numbers("flip_rate")], axis=1)
    known = ~np.isnan(repeats).any(axis=1)
    spreads = {
        name: Consistency.of(repeats[known & (columns.name == columns.names.index(name))].tolist())
        for name in sorted(columns.scores)
    }
    return {name: spread for name, spread in spreads.items() if spread is not None}


def _breakdowns(data: RunData, order: Mapping[str, int]) -> dict[str, dict[str, tuple[ScoreSummary, ...]]]:
    """Key -> score -> a summary per value of that key; no entry for a key that no sample has."""
    # Groups that are files or sheets say what a breakdown by these would say again.
    grouped = {_ORIGINS.get(level) for level in levels_in(data.manifest)}
    keys = [key for key in data.manifest.get("breakdowns", ()) if key not in grouped]
    if not keys or data.bodies is None:
        return {}
    values: dict[str, dict[str, str]] = {key: {} for key in keys}
    for sample in data.bodies.samples(None):
        for key, by_sample in values.items():
            by_sample[sample.id] = cell_text(sample.metadata.get(key))
    by_key = {}
    for key, by_sample in values.items():
        if not any(by_sample.values()):
            continue
        by_value = data.scores.in_groups([by_sample.get(sample, "") for sample in data.scores.samples])
        groups = summarize(by_value, infos=data.score_infos, intervals=Intervals.of(data.manifest))[1]
        by_key[key] = {
            name: tuple(
                replace(group, group=f"(no {key})") if group.group == NO_GROUP else group for group in groups[name]
            )
            for name in sorted(groups, key=lambda name: order.get(name, len(order)))
        }
    return by_key


def _turn_summaries(data: RunData) -> tuple[TurnSummary, ...]:
    """Each score of single turns, over all turns of a run's conversations; empty where it has none."""
    infos = {name: info for name, info in data.score_infos.items() if info.per_turn}
    intervals = Intervals.of(data.manifest)
    summaries = (turn_summary(data.scores.judged_rows(name), info, intervals) for name, info in infos.items())
    return tuple(summary for summary in summaries if summary is not None)


def _asks_itself(data: RunData) -> bool:
    """Whether a target is code that asks models by itself: none of its calls went through the journal."""
    if data.records is None:
        return False  # a baseline's file counts no calls
    used_ask = any(cost.calls for cost in data.stages if cost.stage == TARGET)
    target = data.manifest.get("target")
    # A function of Python is described by its import path, a registered target by its name.
    own_code = isinstance(target, str) or (isinstance(target, Mapping) and not _ASKS_ITSELF.isdisjoint(target))
    return own_code and not used_ask


def with_juries(summary: RunSummary) -> RunSummary:
    """A summary with the means of its juries among its scores."""
    overall = [score for score in summary.raters.jury_scores if not score.group]
    groups = dict(summary.groups)
    for score in summary.raters.jury_scores:
        if score.group:
            groups[score.name] = (*groups.get(score.name, ()), score)
    return replace(summary, scores=(*summary.scores, *overall), groups=groups)


_SEQUENCE = "confidence sequence, as the run ended when it was decided"
_NONE = "no interval, as a stopping rule ended the run"


Groups = dict[str, tuple[ScoreSummary, ...]]


def as_stopped(
    scores: Sequence[ScoreSummary], groups: Groups, stopping: Stopping | None
) -> tuple[tuple[ScoreSummary, ...], Groups]:
    """The scores of a run and of its groups, without the intervals that `stopping` invalidates."""
    if stopping is None:
        return tuple(scores), groups
    of_groups = {name: tuple(_as_stopped(part, stopping) for part in parts) for name, parts in groups.items()}
    return tuple(_as_stopped(score, stopping) for score in scores), of_groups


def _as_stopped(score: ScoreSummary, stopping: Stopping) -> ScoreSummary:
    """The summary of a score in a run that `stopping` ended.

    The mean that was decided on has its confidence sequence. Its other means, any other score and groups have no
    interval where the run ended early: one for a fixed number of samples would not hold.
    """
    is_decided = score.name == stopping.score and not score.group and not stopping.against
    if not is_decided and stopping.used >= stopping.planned:
        return score
    bare = replace(
        score,
        answered=_without(score.answered),
        overall=_without(score.overall),
        with_errors=_without(score.with_errors),
        macro=score.macro and _without(score.macro),
        note=_SEQUENCE if is_decided else _NONE,
    )
    if not is_decided:
        return bare
    headline = replace(score.headline, interval=stopping.interval if score.headline.n else None, standard_error=None)
    return replace(bare, overall=headline) if score.over == "all" else replace(bare, answered=headline)


def exam_as_stopped(exam: Exam, stopping: Stopping | None) -> Exam:
    """The exam details of a run that was stopped early: shares without intervals, position bias without a test."""
    if stopping is None or stopping.used >= stopping.planned:
        return exam
    letters, rotations, repeats = exam.letters, exam.rotations, exam.repeats
    if letters:
        bare = tuple(replace(letter, recall=_without(letter.recall)) for letter in letters.letters)
        letters = replace(letters, letters=bare, p=None)
    if rotations:
        all_right, majority = _without(rotations.all_right), _without(rotations.majority)
        rotations = replace(rotations, all_right=all_right, majority=majority)
    if repeats:
        repeats = replace(repeats, flipped=_without(repeats.flipped), majority=_without(repeats.majority))
    return replace(exam, letters=letters, rotations=rotations, repeats=repeats)


def _without(mean: Mean) -> Mean:
    return replace(mean, interval=None, standard_error=None)


def group_levels(data: RunData) -> dict[str, tuple[GroupLevel, ...]]:
    """Score -> its levels, the coarsest first; empty for groups of fewer than two levels."""
    names, columns = levels_in(data.manifest), data.scores
    if len(names) < 2:
        return {}
    levels: dict[str, list[GroupLevel]] = {score: [] for score in columns.scores}
    for depth, name in enumerate(names, start=1):
        # The rows in groups of the first levels.
        cut = Texts.of([BETWEEN_LEVELS.join(name.split(BETWEEN_LEVELS)[:depth]) for name in columns.groups.names])
        coarse = replace(columns, groups=Texts(cut.names, cut.codes[columns.groups.codes]))
        overall, groups = _summarized(data, coarse)
        is_finest = depth == len(names)
        macros = {} if is_finest else _macros(data, coarse)
        for score in overall:
            of_score = () if is_finest else groups.get(score.name, ())
            parts = (replace(part, macro=macros[part.group].get(score.name)) for part in of_score)
            levels[score.name].append(GroupLevel(name, score, tuple(parts)))
    return {score: tuple(of_score) for score, of_score in levels.items() if of_score}


def _macros(data: RunData, coarse: ScoreColumns) -> dict[str, dict[str, Mean | None]]:
    """Coarse group -> score -> its mean over the groups of the finest level in it."""
    macros = {}
    for code in np.unique(coarse.groups.codes).tolist():
        overall, _ = _summarized(data, data.scores.only(coarse.groups.codes == code))
        macros[coarse.groups.names[code] or NO_GROUP] = {score.name: score.macro for score in overall}
    return macros


def _summarized(
    data: RunData, columns: ScoreColumns
) -> tuple[Sequence[ScoreSummary], Mapping[str, tuple[ScoreSummary, ...]]]:
    return summarize(columns, infos=data.score_infos, intervals=Intervals.of(data.manifest))
