"""Findings about the raters of a run: how judges and people agree, and how judges compare with people's labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from steelyard.analysis.intervals import Intervals
from steelyard.analysis.judges.judge_agreement import judge_agreements
from steelyard.analysis.judges.judge_agreement_values import JudgeAgreement
from steelyard.analysis.judges.judge_panel_values import JudgeCheck, JudgePanel
from steelyard.analysis.judges.jury_scores import jury_summaries
from steelyard.analysis.judges.rater_agreement import agreements
from steelyard.analysis.judges.rater_agreement_values import Agreement
from steelyard.analysis.judges.run_judge_checks import checks_of
from steelyard.analysis.judges.run_panels import judge_panels
from steelyard.analysis.run_data import RunData
from steelyard.analysis.scores.score_summary_values import LabelEffect, ScoreSummary


@dataclass(frozen=True, slots=True)
class RaterFindings:
    """What judges and people say of a run; of these, all but `agreement` are empty where a rule ended the run.

    Args:
        agreement: of judges and people, for each thing that two or more of them rated.
        held_to_people: each score that people labelled, compared with their labels.
        panels: several judges of one thing, compared with the same labels.
        checks: whether something else than the answer influences the verdicts of judges.
        jury_scores: of each panel with a jury, the mean of its verdicts, then that of each group.
        labelled: where people's verdicts on replies are counted, what they changed; None where only the scores are.
    """

    agreement: tuple[Agreement, ...] = ()
    held_to_people: tuple[JudgeAgreement, ...] = ()
    panels: tuple[JudgePanel, ...] = ()
    checks: tuple[JudgeCheck, ...] = ()
    jury_scores: tuple[ScoreSummary, ...] = ()
    labelled: LabelEffect | None = None

    def agreement_with_people(self, name: str) -> JudgeAgreement | None:
        """A score or a jury compared with people's labels; None where nobody labelled it."""
        juries = {panel.jury_score: panel.jury.agreement for panel in self.panels if panel.jury is not None}
        by_score = {agreement.score: agreement for agreement in self.held_to_people} | juries
        return by_score.get(name)


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
