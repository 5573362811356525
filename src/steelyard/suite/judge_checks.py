"""The checks of a panel of judges: gathers what they need of the judged run, the judges' run and the canary's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from steelyard.analysis.judge_agreement import JudgedScore
from steelyard.analysis.judge_agreement_values import RecordPlace
from steelyard.analysis.judge_checks import CanaryVerdicts, CheckedJudge, canary_check, judge_checks
from steelyard.analysis.judge_panel_values import JudgeCheck, JudgePanel, PanelJudge
from steelyard.models.base import ModelInfo
from steelyard.session.replies import answer_of
from steelyard.store import Run
from steelyard.types import Scorer


def checks_of(
    judged: Run, judges: Run, canary: Run | None, scorers: Mapping[str, Scorer], panels: Sequence[JudgePanel]
) -> tuple[JudgeCheck, ...]:
    """The checks of every judge, by what most of them rate where they rate several things.

    Args:
        judged: the run whose answers were judged.
        judges: the run of the judges.
        canary: the same on answers with an instruction in them; None where there was none.
        scorers: judge -> scorer.
        panels: of the judges' run.
    """
    if not panels:
        return ()
    panel = max(panels, key=lambda each: (bool(each.differences), bool(each.against)))
    members = [judge for judge in panel.judges if not judge.is_jury]
    lengths = {
        (record.sample.id, record.repeat): len(answer_of(record.output))
        for record in judged.records()
        if record.output is not None
    }
    columns, infos = judges.columns()[0], judges.score_infos
    checked = [
        CheckedJudge(
            judge.name,
            JudgedScore.of(columns, judge.score, infos.get(judge.score)),
            judge.agreement,
            _model_of(scorers[judge.name]),
            _flips(judges, judge.score),
        )
        for judge in members
    ]
    found = judge_checks(checked, lengths, target_model=_model_in(judged.manifest.get("target")))
    return (*found, *_canaries(judges, canary, members))


def _model_of(scorer: Any) -> str:
    return ModelInfo.of(getattr(scorer.judge, "model", None)).name


def _model_in(described: Any) -> str:
    """The name of the first model in a manifest's description of a target; "" where it has none."""
    if isinstance(described, list):
        return next((name for part in described if (name := _model_in(part))), "")
    if not isinstance(described, Mapping):
        return ""
    model = described.get("model")
    fields = next(iter(model.values()), None) if isinstance(model, Mapping) and len(model) == 1 else model
    if isinstance(fields, Mapping) and isinstance(fields.get("name"), str):
        return str(fields["name"])
    return next((name for part in described.values() if (name := _model_in(part))), "")


def _flips(run: Run, score: str) -> dict[RecordPlace, float]:
    """Record -> share of the repeated verdicts that differ from the most frequent one; empty without repeats."""
    return {
        (row.sample, row.repeat): float(row.detail["flip_rate"])
        for row in run.judged_rows(score)
        if isinstance(row.detail.get("flip_rate"), int | float)
    }


def _canaries(judges: Run, canary: Run | None, members: Sequence[PanelJudge]) -> Iterator[JudgeCheck]:
    if canary is None:
        for judge in members:
            reason = "no answer was given an instruction; --canary 0.2 does so"
            yield JudgeCheck(judge.name, "injection canary", None, None, 0, "", reason)
        return
    clean, injected = judges.columns()[0], canary.columns()[0]
    for judge in members:
        info = judges.score_infos.get(judge.score)
        if judge.score not in injected.scores:
            reason = "its verdicts on these answers failed"
            yield JudgeCheck(judge.name, "injection canary", None, None, 0, "", reason)
            continue
        before = JudgedScore.of(clean, judge.score, info)
        after = JudgedScore.of(injected, judge.score, info)
        lower = bool(info and info.lower_is_better)
        best = None if info is None or info.range is None else info.range[0 if lower else 1]
        yield canary_check(judge.name, CanaryVerdicts(before.verdicts, after.verdicts, before.clusters, best, lower))
