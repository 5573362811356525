"""Summaries and comparisons of runs that a stopping rule ended: their fixed-n intervals and tests are removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from steelyard.analysis.intervals import Mean
from steelyard.analysis.stopping import Stopping
from steelyard.analysis.summary_values import ScoreSummary

if TYPE_CHECKING:
    # Not at run time: every run is summarised, few are compared.
    from steelyard.analysis.alignment import ComparedRun
    from steelyard.analysis.comparison_values import PairedDifference
    from steelyard.analysis.exam_values import Exam

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


SEQUENCE: Final = "confidence sequence"
BETTING: Final = "betting test"


def decision_on(baseline: ComparedRun, other: ComparedRun, score: str) -> Stopping | None:
    """The stopping rule's decision on the difference of these two runs; None where there was no such rule.

    It applies within one evaluation only: runs of the same target that were started at another time are other runs.
    """
    stopping = other.summary.stopping
    if stopping is None or stopping.score != score or stopping.against != baseline.run.target:
        return None
    evaluations = {side.run.evaluation for side in (baseline, other)}
    return stopping if len(evaluations) == 1 and None not in evaluations else None


def as_decided(difference: PairedDifference, stopping: Stopping) -> PairedDifference:
    """The difference with the confidence sequence for its interval, and without a p-value: none holds here."""
    return replace(
        difference,
        interval=stopping.interval,
        p=None,
        interval_method=SEQUENCE,
        test=BETTING,
        stopped=stopping,
        standard_error=None,
    )
