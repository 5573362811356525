"""Findings about the raters of a run: how judges and people agree, and how judges compare with people's labels."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

from steelyard.analysis.intervals import Intervals

if TYPE_CHECKING:
    from steelyard.analysis.judge_agreement_values import JudgeAgreement
    from steelyard.analysis.judge_panel_values import JudgeCheck, JudgePanel
    from steelyard.analysis.rater_agreement_values import Agreement
    from steelyard.analysis.score_columns import ScoreColumns
    from steelyard.analysis.summary_values import ScoreSummary
    from steelyard.store.judge_checks import CheckedRun
    from steelyard.types import Label


class RaterFindings(NamedTuple):
    """Findings about raters; the fields are those of the same names in `RunSummary`."""

    agreement: tuple[Agreement, ...] = ()
    held_to_people: tuple[JudgeAgreement, ...] = ()
    panels: tuple[JudgePanel, ...] = ()
    checks: tuple[JudgeCheck, ...] = ()
    jury_scores: tuple[ScoreSummary, ...] = ()


def rater_findings(run: CheckedRun, columns: ScoreColumns) -> RaterFindings:
    """All findings about a run's raters.

    Args:
        run: the run.
        columns: its scores.
    """
    from steelyard.analysis.rater_agreement import agreements

    labels = run.labels()
    agreement = agreements(columns, run.score_infos, labels, stopped=_stopped_early(run))
    if _stopped_early(run):
        return RaterFindings(agreement)
    from steelyard.store.judge_panels import judge_panels

    agreements_with_people = held_to_people(run, columns, labels)
    panels = judge_panels(run, columns, labels)
    if not agreements_with_people and not panels:
        return RaterFindings(agreement)
    from steelyard.store.judge_checks import checks_of

    checks = checks_of(run, columns, agreements_with_people, panels)
    return RaterFindings(agreement, agreements_with_people, panels, checks, _jury_scores(run, columns, panels))


def _jury_scores(run: CheckedRun, columns: ScoreColumns, panels: tuple[JudgePanel, ...]) -> tuple[ScoreSummary, ...]:
    if not any(panel.verdicts for panel in panels):
        return ()
    from steelyard.analysis.jury_scores import jury_summaries

    return jury_summaries(columns, run.score_infos, panels, Intervals.of(run.manifest))


def held_to_people(
    run: CheckedRun, columns: ScoreColumns, labels: tuple[Label, ...], **options: Any
) -> tuple[JudgeAgreement, ...]:
    """Each score that people labelled, compared with their labels; empty where a rule ended the run early.

    Args:
        run: the run.
        columns: its scores.
        labels: those that count.
        options: of `analysis.judge_agreement.judge_agreements`.
    """
    if not labels or _stopped_early(run):
        return ()
    from steelyard.analysis.judge_agreement import judge_agreements
    from steelyard.store.judge_panels import draw_of

    return judge_agreements(columns, run.score_infos, labels, draw=draw_of(run, labels), **options)


def raters_state(run: CheckedRun) -> tuple[Hashable, ...]:
    """What `rater_findings` depends on beside the run's own records: its newest label, and that of a judged run."""
    from steelyard.store.judge_checks import canary_of
    from steelyard.store.judge_panels import source_of
    from steelyard.store.labels import newest_label

    labelled, canary = source_of(run) or run, canary_of(run)
    with run.store.reading() as connection:
        newest = newest_label(connection, labelled.num)
    state: tuple[Hashable, ...] = (newest,) if newest else ()
    return (*state, canary.id, canary.done) if canary else state


def _stopped_early(run: CheckedRun) -> bool:
    return run.stopping is not None and run.stopping.used < run.stopping.planned
