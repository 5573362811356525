"""Finds out what judges and people say of a run: how they agree, judges against people's labels, panels of judges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from steelyard.analysis.intervals import Intervals
from steelyard.analysis.judges.judge_agreement import agreement_with_people, judge_agreements, labels_by_people
from steelyard.analysis.judges.judge_checks import checks_of
from steelyard.analysis.judges.judge_panel import JudgeCost, judge_panel
from steelyard.analysis.judges.judged_score import JudgedScore
from steelyard.analysis.judges.jury import jury_as_judge, jury_of, jury_summaries
from steelyard.analysis.judges.rater_agreement import agreements
from steelyard.analysis.judges.rater_findings_values import JudgeAgreement, JudgePanel, RaterFindings
from steelyard.analysis.judging_manifest import JUDGES, judge_names, jury_scores_of
from steelyard.analysis.model_calls import StageCost
from steelyard.analysis.run_data import RunData
from steelyard.analysis.scores.score_infos import judged_things, jury_score, rated_thing, score_infos
from steelyard.errors import ConfigError
from steelyard.types import Label


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


def judge_panels(run: RunData) -> tuple[JudgePanel, ...]:
    """The panel of each thing that several judges of a run rated, where people labelled it or a jury decides it."""
    vote = run.manifest.get("jury", {}).get("vote", "")
    margin = run.manifest.get("jury", {}).get("margin")
    names = judge_names(run.manifest)
    if len(names) < (1 if run.kind == JUDGES else 2):
        return ()

    labels_by_name = labels_by_people(run.labels)
    costs = _costs(run.stages, names)
    panels = []
    for thing, judged in _judged(run, list(dict.fromkeys(names.values()))):
        of_thing = _labels_of(run, thing, judged, labels_by_name)
        if of_thing or vote or run.kind == JUDGES:
            options: dict[str, Any] = {} if margin is None else {"margin": margin}
            draw = run.draw_of(of_thing)
            panels.append(judge_panel(judged, thing, of_thing, draw=draw, costs=costs, vote=vote, **options))
    return tuple(panels)


def jury_held_to_people(
    run: RunData, *, score: str, against: str = "", half_width: float | None = None
) -> JudgeAgreement | None:
    """The verdicts of a run's jury compared with people's labels, as those of one judge; None where nobody labelled.

    Args:
        run: the run; a rule did not end it early.
        score: of the jury, see `jury_scores_of`.
        against: labels of this name; "" takes those of what the judges rate, as for their panel.
        half_width: see `judge_agreement.judge_agreements`.

    Raises:
        ConfigError: there is no jury, as its judges rate on different scales.
    """
    things = _judged(run, list(dict.fromkeys(judge_names(run.manifest).values())))
    thing, judged = next((thing, by_judge) for thing, by_judge in things if jury_score(thing) == score)
    votes = jury_of(thing, judged, run.manifest["jury"]["vote"])
    if not votes.vote:
        raise ConfigError(f"{score}: {votes.why}")
    labels_by_name = labels_by_people(run.labels)
    chosen = labels_by_name.get(against, []) if against else _labels_of(run, thing, judged, labels_by_name)
    if not chosen:
        return None
    agreement = agreement_with_people(jury_as_judge(votes, judged), chosen, run.draw_of(chosen), half_width)
    return replace(agreement, warnings=(*votes.notes, *agreement.warnings))


def _labels_of(
    run: RunData, thing: str, judged: Mapping[str, JudgedScore], labels_by_name: Mapping[str, list[Label]]
) -> list[Label]:
    """The labels that the judges of a thing are compared with."""
    name = next((name for name in _label_names(run, thing, judged) if name in labels_by_name), "")
    if not name and run.kind == JUDGES and len(labels_by_name) == 1:
        return next(iter(labels_by_name.values()))  # the only labels that there are: people rated nothing else
    return labels_by_name.get(name, [])


def _label_names(run: RunData, thing: str, judged: Mapping[str, JudgedScore]) -> Iterator[str]:
    """Names that labels of a thing may have: its own, then those of the scores of this run and of the judged one."""
    yield thing
    yield from (score.score for score in judged.values())
    infos = score_infos(run.label_context.judged) if run.label_context.judged is not None else {}
    yield from (name for name, info in infos.items() if rated_thing(info, name) == thing)


def _judged(run: RunData, judges: Sequence[str]) -> Iterator[tuple[str, dict[str, JudgedScore]]]:
    """(thing, judge -> its score) for each thing that two or more named judges rated."""
    infos, columns = run.score_infos, run.scores
    for thing, scores in judged_things(columns.scores, infos, judges).items():
        if len(scores) > 1 or run.kind == JUDGES:
            yield thing, {judge: JudgedScore.of(columns, of, infos.get(of)) for judge, of in scores.items()}


def _costs(stages: tuple[StageCost, ...], names: Mapping[str, str]) -> dict[str, JudgeCost]:
    """Judge -> what it cost, all its scorers together."""
    costs: dict[str, JudgeCost] = {}
    for stage in stages:
        name = names.get(stage.stage)
        if name is None:
            continue
        so_far = costs.get(name, JudgeCost(money=0.0))
        is_priced = so_far.money is not None and stage.money is not None
        costs[name] = JudgeCost(
            so_far.calls + stage.calls,
            so_far.tokens + stage.input_tokens + stage.output_tokens,
            (so_far.money or 0.0) + (stage.money or 0.0) if is_priced else None,
            stage.currency,
        )
    return costs
