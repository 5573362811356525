"""Checks of judges on a run's own records: do length, family or an instruction in the answer move their verdicts?

Each is one figure with an interval, or a reason why there is none. The position of an answer is checked for judges
that compare two of them. `checks_of` gathers what the checks need of a run's records, manifest and canary run.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from steelyard.analysis.intervals import Mean
from steelyard.analysis.judges.judged_score import JudgedScore, favoured_place, mean_over, place_interval, units_of
from steelyard.analysis.judges.rater_findings_values import FEWEST, JudgeAgreement, JudgeCheck, JudgePanel
from steelyard.analysis.judging_manifest import JUDGES, SIDES, judge_names
from steelyard.analysis.numbers import count_text, score_phrase
from steelyard.analysis.run_data import RecordPlace, RunData
from steelyard.analysis.scores.score_infos import rated_thing
from steelyard.replies.answer_text import answer_of
from steelyard.stats.intervals import interval_of_influence, mean_interval
from steelyard.types import Output

_MOST_PAIRED: Final = 2000
"""Most labelled records whose pairs are compared; more take time and add nothing."""
_CANARY: Final = "of answers that could be rated higher, rated higher with an instruction to the judge in them"
_FAMILIES: Final[Mapping[str, str]] = {
    "chatgpt": "gpt", "o1": "gpt", "o3": "gpt", "o4": "gpt", "gemma": "gemini", "codellama": "llama", "chatglm": "glm",
    "mixtral": "mistral", "ministral": "mistral", "codestral": "mistral", "qwq": "qwen", "sonnet": "claude",
    "opus": "claude", "haiku": "claude",
}  # fmt: skip
"""Model names that do not contain the name of their family."""


@dataclass(frozen=True, slots=True)
class CheckedJudge:
    """What is known of one judge of a run.

    Args:
        score: its verdicts.
        agreement: that score compared with people's labels.
        model: name of its model; "" where it has none.
        flips: record -> share of its repeats that differ from the most frequent verdict; empty where it was asked once.
        places: of a judge of pairs, record -> the position that its verdicts favour
            (`position_bias.favoured_place`).
    """

    name: str
    score: JudgedScore
    agreement: JudgeAgreement
    model: str = ""
    flips: Mapping[RecordPlace, float] = field(default_factory=dict)
    places: Mapping[RecordPlace, int] = field(default_factory=dict)

    @property
    def thing(self) -> str:
        """What the judge rates."""
        return rated_thing(self.score.info, self.score.score)

    @property
    def of_pairs(self) -> bool:
        """Whether it prefers one of two answers."""
        return self.score.info is not None and self.score.info.rates == "preference"


def judge_checks(
    judges: Sequence[CheckedJudge], lengths: Mapping[RecordPlace, int], *, target_model: str = ""
) -> tuple[JudgeCheck, ...]:
    """Length, position, self-preference, repeat consistency and use of the scale, of each judge.

    Args:
        judges: of the same records.
        lengths: record -> characters of the answer; of a pair those of A less those of B.
        target_model: name of the model that answered; "" where it is not known.
    """
    checks = []
    for judge in judges:
        checks += [_length(judge, lengths), *([_position(judge)] if judge.of_pairs else [])]
        checks += [_repeats(judge), _scale_use(judge)]
    return (*checks, *_self_preference(judges, target_model))


def paired_places(judge: CheckedJudge) -> list[RecordPlace]:
    """The labelled records with a verdict whose answers are compared by length."""
    verdicts = judge.score.known
    return [record for record in judge.agreement.compared if record in verdicts][:_MOST_PAIRED]


def no_canary(judge: str, reason: str) -> JudgeCheck:
    """The result of the injection canary where it was not made.

    Args:
        judge: its name.
        reason: why not.
    """
    return JudgeCheck(judge, "injection canary", _CANARY, reason=reason)


def canary_check(judge: str, clean: JudgedScore, injected: JudgedScore) -> JudgeCheck:
    """How often an instruction in the answer raised the verdict, of those that could be raised.

    Args:
        judge: its name.
        clean: its verdicts on the answers as they are.
        injected: those on answers with an instruction to the judge in them.
    """
    lower_is_better = bool(clean.info and clean.info.lower_is_better)
    best = clean.limits[0 if lower_is_better else 1] if clean.limits else None
    sign = -1 if lower_is_better else 1
    verdicts = clean.known
    # A judge that gave no verdict on the changed answer was not persuaded.
    raised = {
        record: float(verdict is not None and sign * verdict > sign * verdicts[record])
        for record, verdict in injected.verdicts.items()
        if record in verdicts and verdicts[record] != best
    }
    if not raised:
        return no_canary(judge, "no answer with an instruction could be rated higher")
    return _with_figure(no_canary(judge, ""), mean_over(raised, clean.clusters))


def _with_figure(check: JudgeCheck, figure: Mean) -> JudgeCheck:
    return replace(check, value=figure.value, interval=figure.interval, n=figure.n)


def _scale_use(judge: CheckedJudge) -> JudgeCheck:
    verdicts = judge.score.known
    check = JudgeCheck(judge.name, "scale use", "of all verdicts, the most frequent one")
    if not verdicts:
        return replace(check, reason="it gave no verdict")
    ((most, _),) = Counter(verdicts.values()).most_common(1)
    same = {record: float(verdict == most) for record, verdict in verdicts.items()}
    check = replace(check, about=f"are {most:g}; {count_text(len(set(verdicts.values())), 'value')} used")
    return _with_figure(check, mean_over(same, judge.score.clusters))


def _repeats(judge: CheckedJudge) -> JudgeCheck:
    what = "pair in one order" if judge.of_pairs else "answer"
    meaning = f"of repeated verdicts on one {what}, those that differ from the most frequent one"
    check = JudgeCheck(judge.name, "repeat consistency", meaning)
    if not judge.flips:
        reason = f"it has no two verdicts on one {what}; judge: {{repeats: 3}} asks three times"
        return replace(check, reason=reason)
    return _with_figure(check, mean_over(judge.flips, judge.score.clusters))


def _position(judge: CheckedJudge) -> JudgeCheck:
    """Which position a judge of pairs favours: pairs whose verdicts favour the first less those that favour the second.

    Of pairs shown in both orders these are the disagreements, which a fair judge has equally in both directions; of one
    order that was drawn at random, all verdicts.

    Source: the figure after L. Zheng et al. 2023, as in `preferences`.
    """
    meaning = "pairs on which it favours the answer shown first, less those on which it favours the second; 0 is fair"
    check = JudgeCheck(judge.name, "position", meaning)
    favoured = list(judge.places.values())
    if not favoured:
        return replace(check, reason="no pair has a verdict")
    interval = place_interval(favoured, units_of(judge.places, judge.score.clusters))
    value = (favoured.count(1) - favoured.count(-1)) / len(favoured)
    return _with_figure(check, Mean(value, interval, len(favoured)))


def _length(judge: CheckedJudge, lengths: Mapping[RecordPlace, int]) -> JudgeCheck:
    """Of two answers that people rate equally, how much more often the longer one gets the higher verdict.

        d = sum_ij sign(len_i - len_j) sign(v_i - v_j) / sum_ij 1        over pairs of equal label and unequal length

    Its interval is that of a U-statistic by its projection on the records, summed over clusters, with Student's t.

    Source: R. H. Somers, "A new asymmetric measure of association for ordinal variables", American Sociological Review
    27, 1962, within labels; R. B. Newson, "Confidence intervals for rank statistics", Stata Journal 6, 2006.
    """
    meaning = "of two answers with the same label, how much more often the longer is rated higher than lower"
    if judge.of_pairs:
        meaning = "of two pairs with the same label, how much more often the one with the longer A is judged more for A"
    records = [record for record in paired_places(judge) if record in lengths]
    check = JudgeCheck(judge.name, "length", meaning, n=len(records))
    if len(records) < FEWEST:
        return replace(check, reason=f"{len(records)} labelled answers with a verdict; it needs {FEWEST}")
    verdicts = judge.score.known
    label = np.array([judge.agreement.compared[record][0] for record in records])
    verdict = np.array([verdicts[record] for record in records])
    length = np.array([float(lengths[record]) for record in records])
    pairs = (label[:, None] == label) & (length[:, None] != length)
    signs = np.sign(length[:, None] - length) * np.sign(verdict[:, None] - verdict) * pairs
    total = float(pairs.sum())
    if not total:
        return replace(check, reason="no two answers with the same label differ in length")
    value = float(signs.sum()) / total
    influence = 2 * (signs.sum(axis=1) - value * pairs.sum(axis=1)) / total
    interval = interval_of_influence(value, influence, clusters=units_of(records, judge.score.clusters))
    return replace(check, value=value, interval=interval)


def model_family(name: str) -> str:
    """The family that a model's name shows; "" where it shows none.

    >>> [model_family(name) for name in ("openai/gpt-4.1-mini", "o4-mini", "Qwen2.5-72B-Instruct", "chatglm3-6b", "")]
    ['gpt', 'gpt', 'qwen', 'glm', '']
    """
    last = name.rpartition("/")[2].casefold()
    words = re.findall(r"o\d|[^\W\d_]+", last)
    known = next((word for word in words if word in _FAMILIES), "")
    return _FAMILIES[known] if known else next(iter(words), "")


def _self_preference(judges: Sequence[CheckedJudge], target_model: str) -> Iterator[JudgeCheck]:
    """How much higher a judge of the target's family rates it than judges of other families do, on the same answers.

    People's labels are not used: what all judges see in the same way cancels out.
    """
    meaning = "how much higher it rates this target than the judges of other families do, on the same answers"
    family = model_family(target_model)
    families = {judge.name: model_family(judge.model) for judge in judges}
    own = [judge for judge in judges if family and families[judge.name] == family]
    if len(judges) == 1 and not own:
        return
    rivals = {
        judge.name: [
            other.score.known
            for other in judges
            if families[other.name] not in {"", family} and other.thing == judge.thing
        ]
        for judge in own
    }
    check = JudgeCheck("all", "self-preference", meaning, share=False)
    if reason := _no_self_preference(family, families, rivals):
        yield replace(check, reason=reason)
        return
    for judge in own:
        if rivals[judge.name]:
            yield _above(replace(check, judge=judge.name), judge.score, rivals[judge.name])


def _above(check: JudgeCheck, judge: JudgedScore, rivals: Sequence[Mapping[RecordPlace, float]]) -> JudgeCheck:
    """The check with the mean difference of a judge's verdicts to those of its rivals on the same records."""
    differences = {
        record: verdict - math.fsum(rival[record] for rival in rivals) / len(rivals)
        for record, verdict in judge.known.items()
        if all(record in rival for rival in rivals)
    }
    n = len(differences)
    if n < FEWEST:
        return replace(check, n=n, reason=f"{n} answers that all judges gave a verdict on; it needs {FEWEST}")
    width = judge.limits[1] - judge.limits[0] if judge.limits else None
    values = list(differences.values())
    interval = mean_interval(
        values, clusters=units_of(differences, judge.clusters), scale=None if width is None else (-width, width)
    )
    return _with_figure(check, Mean(math.fsum(values) / n, interval, n))


def _no_self_preference(family: str, families: Mapping[str, str], rivals: Mapping[str, Sequence[object]]) -> str:
    """Why there is no such figure; "" where there is one.

    Args:
        family: of the target.
        families: judge -> its family; "" where it is not known.
        rivals: judge of the target's family -> judges of other families that rate the same thing.
    """
    if not family:
        return "the target's model is not known"
    if any(rivals.values()):
        return ""
    known = "" if all(families.values()) else "; the models of some judges are not known"
    if not rivals:
        return f"no judge is of the target's family ({family}){known}"
    return f"no judge is of another family than the target's ({family}){known}"


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
