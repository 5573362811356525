"""Findings about the raters of a run: how judges and people agree, and how judges compare with people's labels."""

from __future__ import annotations

from typing import Any

from steelyard.analysis.intervals import Intervals
from steelyard.analysis.judge_agreement import judge_agreements
from steelyard.analysis.judge_agreement_values import JudgeAgreement
from steelyard.analysis.jury_scores import jury_summaries
from steelyard.analysis.rater_agreement import agreements
from steelyard.analysis.run_data import RunData
from steelyard.analysis.run_judge_checks import checks_of
from steelyard.analysis.run_panels import judge_panels
from steelyard.analysis.run_summary_values import RaterFindings


def rater_findings(run: RunData) -> RaterFindings:
    """All findings about a run's raters."""
    agreement = agreements(run.scores, run.score_infos, run.labels, stopped=run.stopped_early)
    if run.stopped_early:
        return RaterFindings(agreement)
    with_people, panels = held_to_people(run), judge_panels(run)
    if not with_people and not panels:
        return RaterFindings(agreement)
    checks = checks_of(run, with_people, panels)
    jury_scores = jury_summaries(run.scores, run.score_infos, panels, Intervals.of(run.manifest))
    return RaterFindings(agreement, with_people, panels, checks, jury_scores)


def held_to_people(run: RunData, **options: Any) -> tuple[JudgeAgreement, ...]:
    """Each score that people labelled, compared with their labels; empty where a rule ended the run early.

    Args:
        run: the run.
        options: of `analysis.judge_agreement.judge_agreements`.
    """
    if not run.labels or run.stopped_early:
        return ()
    return judge_agreements(run.scores, run.score_infos, run.labels, draw=run.draw_of(run.labels), **options)
