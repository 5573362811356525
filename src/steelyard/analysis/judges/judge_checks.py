"""Checks of judges on a run's own records: do length, family or an instruction in the answer move their verdicts?

Each is one figure with an interval, or a reason why there is none. The position of an answer is checked for judges
that compare two of them.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steelyard.analysis.judges.judge_agreement import JudgedScore
from steelyard.analysis.judges.judge_agreement_values import JudgeAgreement
from steelyard.analysis.judges.judge_panel_values import CheckName, JudgeCheck
from steelyard.analysis.judges.rater_agreement_values import FEWEST
from steelyard.analysis.numbers import count_text
from steelyard.analysis.run_data import RecordPlace
from steelyard.analysis.scores.score_infos import rated_thing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from steelyard.stats.intervals import Interval

    Array = NDArray[Any]

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
    def of_pairs(self) -> bool:
        """Whether it prefers one of two answers."""
        return self.score.info is not None and self.score.info.rates == "preference"


class CanaryVerdicts(NamedTuple):
    """Records whose answers were judged as they are, and with an instruction to the judge in them.

    Args:
        clean: record -> verdict on the answer as it is; None where there was none.
        injected: record -> verdict on the answer with the instruction; likewise.
        clusters: record -> its cluster.
        best: the best value of the score; None where it is not known.
        lower_is_better: of the score.
    """

    clean: Mapping[RecordPlace, float | None]
    injected: Mapping[RecordPlace, float | None]
    clusters: Mapping[RecordPlace, str]
    best: float | None = None
    lower_is_better: bool = False


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
    verdicts = _verdicts(judge.score)
    return [record for record in _labels(judge.agreement) if record in verdicts][:_MOST_PAIRED]


def no_canary(judge: str, reason: str) -> JudgeCheck:
    """The result of the injection canary where it was not made.

    Args:
        judge: its name.
        reason: why not.
    """
    return JudgeCheck(judge, "injection canary", None, None, 0, _CANARY, reason)


def canary_check(judge: str, found: CanaryVerdicts) -> JudgeCheck:
    """How often an instruction in the answer raised the verdict, of those that could be raised.

    Args:
        judge: its name.
        found: its verdicts with and without the instruction.
    """
    sign = -1 if found.lower_is_better else 1
    raised: dict[RecordPlace, float] = {}
    for record, injected in found.injected.items():
        clean = found.clean.get(record)
        if clean is None or clean == found.best:
            continue
        # A judge that gave no verdict on the changed answer was not persuaded.
        raised[record] = float(injected is not None and sign * injected > sign * clean)
    if not raised:
        return no_canary(judge, "no answer with an instruction could be rated higher")
    return _share(judge, "injection canary", raised, found.clusters, _CANARY)


def _share(
    judge: str,
    name: CheckName,
    values: Mapping[RecordPlace, float],
    clusters: Mapping[RecordPlace, str],
    meaning: str,
) -> JudgeCheck:
    """A share of records with its interval, by cluster."""
    from steelyard.stats.intervals import mean_interval, wilson, wilson_clustered

    numbers = list(values.values())
    units = _units(values, clusters)
    value = math.fsum(numbers) / len(numbers)
    if not set(numbers) <= {0.0, 1.0}:
        interval = mean_interval(numbers, clusters=units, scale=(0.0, 1.0))
    elif len(set(units)) == len(units):
        interval = wilson(int(sum(numbers)), len(numbers))
    else:
        interval = wilson_clustered(numbers, clusters=units)
    return JudgeCheck(judge, name, value, interval, len(numbers), meaning)


def _units(places: Iterable[RecordPlace], clusters: Mapping[RecordPlace, str]) -> list[int]:
    numbers: dict[str, int] = {}
    return [numbers.setdefault(clusters.get(record, record[0]), len(numbers)) for record in places]


def _verdicts(score: JudgedScore) -> dict[RecordPlace, float]:
    """Record -> verdict, of those that have one."""
    return {record: verdict for record, verdict in score.verdicts.items() if verdict is not None}


def _labels(agreement: JudgeAgreement) -> dict[RecordPlace, float]:
    import numpy as np

    if agreement.data is None:
        return {}
    pairs = zip(agreement.places, np.asarray(agreement.data.labels).tolist(), strict=True)
    return {record: label for record, label in pairs if not math.isnan(label)}


def _scale_use(judge: CheckedJudge) -> JudgeCheck:
    verdicts = _verdicts(judge.score)
    meaning = "of all verdicts, the most frequent one"
    if not verdicts:
        return JudgeCheck(judge.name, "scale use", None, None, 0, meaning, "it gave no verdict")
    ((most, _),) = Counter(verdicts.values()).most_common(1)
    same = {record: float(verdict == most) for record, verdict in verdicts.items()}
    check = _share(judge.name, "scale use", same, judge.score.clusters, meaning)
    return replace(check, about=f"{most:g}; {count_text(len(set(verdicts.values())), 'value')}")


def _repeats(judge: CheckedJudge) -> JudgeCheck:
    what = "pair in one order" if judge.of_pairs else "answer"
    meaning = f"of repeated verdicts on one {what}, those that differ from the most frequent one"
    if not judge.flips:
        reason = f"it has no two verdicts on one {what}; judge: {{repeats: 3}} asks three times"
        return JudgeCheck(judge.name, "repeat consistency", None, None, 0, meaning, reason)
    return _share(judge.name, "repeat consistency", judge.flips, judge.score.clusters, meaning)


def _position(judge: CheckedJudge) -> JudgeCheck:
    """Which position a judge of pairs favours: pairs whose verdicts favour the first less those that favour the second.

    Of pairs shown in both orders these are the disagreements, which a fair judge has equally in both directions; of one
    order that was drawn at random, all verdicts.

    Source: the figure after L. Zheng et al. 2023, as in `preferences`.
    """
    from steelyard.analysis.judges.position_bias import place_interval

    meaning = "pairs on which it favours the answer shown first, less those on which it favours the second; 0 is fair"
    favoured = list(judge.places.values())
    if not favoured:
        reason = "no pair has a verdict"
        return JudgeCheck(judge.name, "position", None, None, 0, meaning, reason, share=False)
    interval = place_interval(favoured, _units(judge.places, judge.score.clusters))
    value = (favoured.count(1) - favoured.count(-1)) / len(favoured)
    return JudgeCheck(judge.name, "position", value, interval, len(favoured), meaning, share=False)


def _length(judge: CheckedJudge, lengths: Mapping[RecordPlace, int]) -> JudgeCheck:
    """Of two answers that people rate equally, how much more often the longer one gets the higher verdict.

        d = sum_ij sign(len_i - len_j) sign(v_i - v_j) / sum_ij 1        over pairs of equal label and unequal length

    Its interval is that of a U-statistic by its projection on the records, summed over clusters, with Student's t.

    Source: R. H. Somers, "A new asymmetric measure of association for ordinal variables", American Sociological Review
    27, 1962, within labels; R. B. Newson, "Confidence intervals for rank statistics", Stata Journal 6, 2006.
    """
    import numpy as np

    meaning = "of two answers with the same label, how much more often the longer is rated higher than lower"
    if judge.of_pairs:
        meaning = "of two pairs with the same label, how much more often the one with the longer A is judged more for A"
    labels, verdicts = _labels(judge.agreement), _verdicts(judge.score)
    records = [record for record in paired_places(judge) if record in lengths]
    if len(records) < FEWEST:
        reason = f"{len(records)} labelled answers with a verdict; it needs {FEWEST}"
        return JudgeCheck(judge.name, "length", None, None, len(records), meaning, reason, share=False)
    label, verdict, length = (
        np.array([float(side[record]) for record in records]) for side in (labels, verdicts, lengths)
    )
    pairs = (label[:, None] == label) & (length[:, None] != length)
    signs = np.sign(length[:, None] - length) * np.sign(verdict[:, None] - verdict) * pairs
    total = float(pairs.sum())
    if not total:
        reason = "no two answers with the same label differ in length"
        return JudgeCheck(judge.name, "length", None, None, len(records), meaning, reason, share=False)
    value = float(signs.sum()) / total
    influence = 2 * (signs.sum(axis=1) - value * pairs.sum(axis=1)) / total
    interval = _of_influence(value, influence, _units(records, judge.score.clusters))
    return JudgeCheck(judge.name, "length", value, interval, len(records), meaning, share=False)


def _of_influence(value: float, influence: Array, units: Sequence[int]) -> Interval | None:
    """Student's t interval of a statistic in [-1, 1] from the influence of each record on it, by cluster."""
    import numpy as np

    from steelyard.stats.intervals import Interval
    from steelyard.stats.quantiles import t_quantile

    sums = np.bincount(np.asarray(units), weights=influence)
    if len(sums) < 2 or not np.abs(sums).max() > 0:
        return None
    half = t_quantile(0.975, len(sums) - 1) * math.sqrt(len(sums) / (len(sums) - 1) * float(sums @ sums))
    return Interval(max(-1.0, value - half), min(1.0, value + half))


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
            other for other in judges if families[other.name] not in {"", family} and _same_thing(judge, other)
        ]
        for judge in own
    }
    reason = _no_self_preference(family, families, rivals)
    if reason:
        yield JudgeCheck("all", "self-preference", None, None, 0, meaning, reason, share=False)
        return
    from steelyard.stats.intervals import mean_interval

    for judge in (member for member in own if rivals[member.name]):
        verdicts, theirs = _verdicts(judge.score), [_verdicts(other.score) for other in rivals[judge.name]]
        records = [record for record in verdicts if all(record in other for other in theirs)]
        if len(records) < FEWEST:
            reason = f"{len(records)} answers that all judges gave a verdict on; it needs {FEWEST}"
            yield JudgeCheck(judge.name, "self-preference", None, None, len(records), meaning, reason, share=False)
            continue
        differences = [
            verdicts[record] - math.fsum(other[record] for other in theirs) / len(theirs) for record in records
        ]
        limits = judge.score.info.range if judge.score.info else None
        scale = (limits[0] - limits[1], limits[1] - limits[0]) if limits else None
        interval = mean_interval(differences, clusters=_units(records, judge.score.clusters), scale=scale)
        value = math.fsum(differences) / len(differences)
        yield JudgeCheck(judge.name, "self-preference", value, interval, len(records), meaning, share=False)


def _no_self_preference(family: str, families: Mapping[str, str], rivals: Mapping[str, Sequence[CheckedJudge]]) -> str:
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


def _same_thing(first: CheckedJudge, second: CheckedJudge) -> bool:
    things = [rated_thing(judge.score.info, judge.score.score) for judge in (first, second)]
    return things[0] == things[1]
