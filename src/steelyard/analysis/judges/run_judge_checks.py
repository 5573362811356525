"""Checks the judges of a stored run: gathers what the checks need of its records, its manifest and its canary run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from steelyard.analysis.judges.findings import JudgeAgreement, JudgeCheck, JudgePanel
from steelyard.analysis.judges.judge_checks import CheckedJudge, canary_check, judge_checks, no_canary, paired_places
from steelyard.analysis.judges.judged_score import JudgedScore
from steelyard.analysis.judges.position_bias import favoured_place
from steelyard.analysis.judging_manifest import JUDGES, SIDES, judge_names
from steelyard.analysis.numbers import score_phrase
from steelyard.analysis.run_data import RecordPlace, RunData
from steelyard.replies.answer_text import answer_of
from steelyard.types import Output


def checks_of(run: RunData, held: Sequence[JudgeAgreement], panels: Sequence[JudgePanel]) -> tuple[JudgeCheck, ...]:
    """Checks of every judge of a run: of the members of a panel where there is one, else of each score with labels.

    Args:
        run: the run.
        held: its scores compared with people's labels.
        panels: its several judges of one thing; empty where there are none.
    """
    if panels:
        panel = max(panels, key=lambda candidate: (bool(candidate.differences), bool(candidate.against)))
        members = {judge.name: judge.agreement for judge in panel.judges if not judge.is_jury}
        models = _models(run.manifest)
    else:
        members = {score_phrase(agreement.score): agreement for agreement in held if not agreement.problem}
        models = {name: _model_of_score(run.manifest, agreement.score) for name, agreement in members.items()}
    if not members:
        return ()
    checked = [
        CheckedJudge(
            name,
            JudgedScore.of(run.scores, agreement.score, run.score_infos.get(agreement.score)),
            agreement,
            models.get(name, ""),
            _flips(run, agreement.score),
            _favoured_places(run, agreement.score),
        )
        for name, agreement in members.items()
    ]
    answered = run.manifest if run.label_context.judged is None else run.label_context.judged
    checks = judge_checks(checked, _lengths(run, checked), target_model=_model_in(answered.get("target")))
    checks = (*checks, *_canaries(run, checked)) if run.kind == JUDGES else checks
    things = {judge.name: judge.thing for judge in checked}
    common_thing = next(iter(things.values())) if len(set(things.values())) == 1 else ""
    return tuple(replace(check, thing=things.get(check.judge, common_thing)) for check in checks)


def _models(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Judge -> the name of its model."""
    scorers = manifest.get("scorers", {})
    return {name: _model_in(scorers.get(stage)) for stage, name in judge_names(manifest).items()}


def _model_of_score(manifest: Mapping[str, Any], score: str) -> str:
    """The name of the model that gave a score; "" where the manifest does not tell.

    A manifest names the model of each scorer, but not which scorer gave which score: the model is known where the score
    has the name of its stage, or where all scorers of the run ask one model.
    """
    scorers = manifest.get("scorers", {})
    if score in scorers:
        return _model_in(scorers[score])
    models = {name for described in scorers.values() if (name := _model_in(described))}
    return models.pop() if len(models) == 1 else ""


def _model_in(described: Any) -> str:
    """The name of the first model in a manifest's description of a target or a scorer; "" where it has none."""
    if isinstance(described, list):
        return next((name for part in described if (name := _model_in(part))), "")
    if not isinstance(described, Mapping):
        return ""
    model = described.get("model")
    fields = next(iter(model.values()), None) if isinstance(model, Mapping) and len(model) == 1 else model
    if isinstance(fields, Mapping) and isinstance(fields.get("name"), str):
        return str(fields["name"])
    return next((name for part in described.values() if (name := _model_in(part))), "")


def _lengths(run: RunData, judges: Sequence[CheckedJudge]) -> dict[RecordPlace, int]:
    """Record -> characters of its answer, for records that are compared by length: bodies are slow to read."""
    compared = {place for judge in judges for place in paired_places(judge)}
    if not compared or run.bodies is None:
        return {}
    records = run.bodies.records({sample for sample, _ in compared})
    return {
        (record.sample.id, record.repeat): _length_of(record.output) for record in records if record.output is not None
    }


def _length_of(output: Output) -> int:
    """Characters of an answer; of a pair those of A less those of B."""
    value = output.value
    if isinstance(value, Mapping) and value.keys() >= {*SIDES}:
        length_a, length_b = (len(answer_of(Output(value[side]))) for side in SIDES)
        return length_a - length_b
    return len(answer_of(output))


def _favoured_places(run: RunData, score: str) -> dict[RecordPlace, int]:
    """Record -> the place that a judge of pairs favours; empty of one that sees single answers."""
    # Where one of a pair's two orders is unparsed, the other alone does not tell which place is favoured.
    scored = (row for row in run.scores.judged_rows(score) if row.outcome == "scored")
    favoured = {(row.sample, row.repeat): favoured_place(row.detail.get("orders") or ()) for row in scored}
    return {place: position for place, position in favoured.items() if position is not None}


def _flips(run: RunData, score: str) -> dict[RecordPlace, float]:
    """Record -> share of the repeated verdicts that differ from the most frequent one; empty without repeats."""
    shares = {(row.sample, row.repeat): _flip_rate(row.detail) for row in run.scores.judged_rows(score)}
    return {place: share for place, share in shares.items() if share is not None}


def _flip_rate(detail: Mapping[str, Any]) -> float | None:
    """Flip rate from a score's detail; for a pair over all its orders, each with a most frequent verdict of its own."""
    rate = detail.get("flip_rate")
    if isinstance(rate, int | float):
        return float(rate)
    repeats = [[side for side in order.get("repeats", ()) if side] for order in detail.get("orders") or ()]
    several = [Counter(sides) for sides in repeats if len(sides) > 1]
    verdicts = sum(counts.total() for counts in several)
    return 1 - sum(max(counts.values()) for counts in several) / verdicts if verdicts else None


def _canaries(run: RunData, judges: Sequence[CheckedJudge]) -> Iterator[JudgeCheck]:
    injected = run.label_context.canary
    for judge in judges:
        if injected is None:
            yield no_canary(judge.name, "no answer was given an instruction; steelyard judges --canary 0.2 does so")
        elif judge.score.score not in injected.scores:
            yield no_canary(judge.name, "there is no verdict of it on such answers")
        else:
            changed = JudgedScore.of(injected, judge.score.score, judge.score.info)
            yield canary_check(judge.name, judge.score, changed)
