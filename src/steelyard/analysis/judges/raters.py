"""Finds out what judges and people say of a run: how they agree, and how judges compare with people's labels."""

from __future__ import annotations

from steelyard.analysis.intervals import Intervals
from steelyard.analysis.judges.findings import JudgeAgreement, RaterFindings
from steelyard.analysis.judges.judge_agreement import judge_agreements
from steelyard.analysis.judges.jury_scores import jury_summaries
from steelyard.analysis.judges.rater_agreement import agreements
from steelyard.analysis.judges.run_judge_checks import checks_of
from steelyard.analysis.judges.run_panels import judge_panels, jury_held_to_people
from steelyard.analysis.judging_manifest import jury_scores_of
from steelyard.analysis.run_data import RunData


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


def held_to_people(
    run: RunData, *, score: str = "", against: str = "", half_width: float | None = None
) -> tuple[JudgeAgreement, ...]:
    """Each score that people labelled, compared with their labels; empty where a rule ended the run early.

    Args:
        run: the run.
        score: only this one, that of a jury included.
        against: labels of this name; "" takes those of the score.
        half_width: target half-width of a corrected mean's interval; None is 0.05 of the score's range.

    Raises:
        ConfigError: `score` is that of a jury, and its judges rate on different scales.
    """
    if run.stopped_early:
        return ()
    if score in jury_scores_of(run.manifest):
        agreement = jury_held_to_people(run, score=score, against=against, half_width=half_width)
        return () if agreement is None else (agreement,)
    if not run.labels:
        return ()
    return judge_agreements(
        run.scores,
        run.score_infos,
        run.labels,
        draw=run.draw_of(run.labels),
        score=score,
        against=against,
        half_width=half_width,
    )
