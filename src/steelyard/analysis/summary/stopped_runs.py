"""Summaries of runs that a stopping rule ended: their fixed-n intervals and tests are removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from steelyard.analysis.intervals import Mean
from steelyard.analysis.scores.score_summary_values import ScoreSummary
from steelyard.analysis.stopping import Stopping
from steelyard.analysis.summary.exam_values import Exam

_SEQUENCE = "confidence sequence, as the run ended when it was decided"
_NONE = "no interval, as a stopping rule ended the run"


Groups = dict[str, tuple[ScoreSummary, ...]]


def as_stopped(
    scores: Sequence[ScoreSummary], groups: Groups, stopping: Stopping | None
) -> tuple[tuple[ScoreSummary, ...], Groups]:
    """The scores of a run and of its groups, without the intervals that `stopping` invalidates."""
    if stopping is None:
        return tuple(scores), groups
    stopped_groups = {
        name: tuple(_as_stopped(score, stopping) for score in several) for name, several in groups.items()
    }
    return tuple(_as_stopped(score, stopping) for score in scores), stopped_groups


def _as_stopped(score: ScoreSummary, stopping: Stopping) -> ScoreSummary:
    """The summary of a score in a run that `stopping` ended.

    The mean that was decided on has its confidence sequence. Its other means, any other score and groups have no
    interval where the run ended early: one for a fixed number of samples would not hold.
    """
    if score.name != stopping.score or score.group or stopping.against:
        return _bare(score) if stopping.used < stopping.planned else score
    headline = replace(score.headline, interval=stopping.interval if score.headline.n else None, standard_error=None)
    return replace(
        score,
        answered=_without(score.answered) if score.over == "all" else headline,
        overall=headline if score.over == "all" else _without(score.overall),
        with_errors=_without(score.with_errors),
        macro=score.macro and _without(score.macro),
        note=_SEQUENCE,
    )


def _bare(score: ScoreSummary) -> ScoreSummary:
    return replace(
        score,
        answered=_without(score.answered),
        overall=_without(score.overall),
        with_errors=_without(score.with_errors),
        macro=score.macro and _without(score.macro),
        note=_NONE,
    )


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
