"""Why a person should look at a record: rules over its scores, which name every reason.

A rule needs no scorer's code: it reads what scores declare (`ScoreInfo`) and keep (`Score.detail`), so it works for a
stored run of any suite.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from steelyard.analysis.numbers import kind_text, percent_text
from steelyard.plain_json import grouped, to_json
from steelyard.types import Record, Score, ScoreInfo

REASONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "inferred": "the letter was inferred from an option's text",
        "several": "the reply names several options",
        "unparsed": "unreadable",
        "refused": "the model or a content filter refused",
        "rules_differ": "the pattern of the exam and the built-in rule read the reply in different ways",
        "tolerance": "right only within the tolerance for numbers",
        "type_rule": "right only by a rule that makes values of two types equal",
        "not_unique": "the reference query has more than one right result",
        "metrics_disagree": "right by one definition of execution accuracy and wrong by another",
        "judges_disagree": "two judges of the same thing disagree",
        "judge_undecided": "repeated calls of a judge disagree",
        "repeats_disagree": "repeats of the sample have other verdicts",
        "inconsistent": "the judge prefers another answer when their order is swapped",
        "wrong_with_source": "the source was retrieved, and the answer is wrong",
        "right_without_source": "the answer is right, and its source was not retrieved",
        "near_threshold": "the score is close to its threshold",
    }
)
"""Reason -> what it means, in the order in which records and lists name them."""
_RESULTS: Final = frozenset({"result", "execution_accuracy"})
"""Scores that compare the results of two queries."""
_RIGHT_BY_RULE: Final[Mapping[str, str]] = MappingProxyType(
    {"within_tolerance": "tolerance", "equal_by_rule": "type_rule", "equal_by_type_rule": "type_rule"}
)
"""Kind, flag or label of a verdict on two results -> reason, where the results are right by a rule alone."""
_TIES: Final = frozenset({"same_up_to_ties", "limit_tie"})
_NOT_UNIQUE: Final = "not unique"
"""`Score.detail["reference"]` where the reference query has more than one right result."""
_ACCURACIES: Final = ("result", "ex_spider", "ex_bird", "ex_qatch")
"""Definitions of execution accuracy that should agree; `ex_spider_keep_distinct` differs on purpose."""
_FAR: Final = 0.25
"""Judges disagree if they are further apart than this share of the scale: on a scale of 1 to 5, by two or more."""
_NEAR: Final = 0.05
"""A score is near its threshold within this share of its range."""
_RETRIEVED: Final = "hit_rate"


class ReviewReason(NamedTuple):
    """One reason, a key of `REASONS`, with what is special about this record ("" where nothing is)."""

    key: str
    about: str = ""

    def __str__(self) -> str:
        text = self.key.replace("_", " ")
        return f"{text} ({self.about})" if self.about else text


@dataclass(frozen=True, slots=True)
class ReviewRules:
    """The rules for the records of one run.

    Args:
        infos: what its scorers declared, by score.
        primary: its headline score, "" where it has none.
        same_question: groups of scores whose judges were asked the same.
    """

    infos: Mapping[str, ScoreInfo]
    primary: str = ""
    same_question: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(cls, manifest: Mapping[str, Any], infos: Mapping[str, ScoreInfo]) -> ReviewRules:
        """The rules for a run.

        Args:
            manifest: of the run.
            infos: what its scorers declared, by score.
        """
        return cls(infos, str(manifest.get("primary") or next(iter(infos), "")), _same_questions(manifest, infos))

    def reasons(self, record: Record, repeats: Sequence[Record] = ()) -> tuple[ReviewReason, ...]:
        """Why a person should look at a record; empty where nothing is doubtful.

        Args:
            record: one that failed has no scores, so none is given for the missing ones.
            repeats: all repeats of its sample.
        """
        rules = (
            *(self._without_verdict, self._compared_results, self._metrics_disagree, self._judges_disagree),
            *(self._judge_undecided, self._inconsistent, self._retrieval, self._near_threshold),
        )
        reasons = [reason for rule in rules for reason in rule(record)]
        reasons += self._repeats_disagree(record, repeats)
        order = list(REASONS)
        return tuple(sorted(dict.fromkeys(reasons), key=lambda reason: order.index(reason.key)))

    def _own(self, record: Record) -> Iterator[Score]:
        """The record's scores without those by the rule of another tool."""
        return (score for score in record.scores if not self._info(score).also_scored)

    def _info(self, score: Score) -> ScoreInfo:
        return self.infos.get(score.name) or ScoreInfo(score.name)

    def _without_verdict(self, record: Record) -> Iterator[ReviewReason]:
        for outcome in ("unparsed", "refused"):
            scores = [score for score in self._own(record) if score.outcome == outcome]
            # Scores are named only where others have a verdict: then one judge of several failed.
            if scores:
                partial = len(scores) < len(record.scores)
                kind = str(scores[0].detail.get("kind") or "")
                kind = "" if kind == outcome else kind_text(kind)
                names = ", ".join(score.name for score in scores) if partial else ""
                yield ReviewReason(outcome, ": ".join(part for part in (names, kind) if part))

    def _compared_results(self, record: Record) -> Iterator[ReviewReason]:
        for score in self._own(record):
            if score.name not in _RESULTS:
                continue
            marks = _verdict_marks(score)
            if score.passed:
                yield from (ReviewReason(_RIGHT_BY_RULE[mark]) for mark in marks if mark in _RIGHT_BY_RULE)
            if marks & _TIES or score.detail.get("reference") == _NOT_UNIQUE:
                yield ReviewReason("not_unique")

    def _metrics_disagree(self, record: Record) -> Iterator[ReviewReason]:
        verdicts = {score.name: score.passed for score in record.scores if score.name in _ACCURACIES}
        right, wrong = ([name for name, passed in verdicts.items() if passed is is_right] for is_right in (True, False))
        if right and wrong:
            yield ReviewReason("metrics_disagree", f"right by {', '.join(right)}, wrong by {', '.join(wrong)}")

    def _judges_disagree(self, record: Record) -> Iterator[ReviewReason]:
        values = {score.name: score.value for score in record.scores}
        for names in self.same_question:
            ratings = {name: value for name in names if (value := values.get(name)) is not None}
            if ratings and max(ratings.values()) - min(ratings.values()) > _FAR * self._width(names[0]):
                yield ReviewReason("judges_disagree", ", ".join(f"{name} {value:g}" for name, value in ratings.items()))

    def _judge_undecided(self, record: Record) -> Iterator[ReviewReason]:
        for score in self._own(record):
            rate = score.detail.get("flip_rate")
            if isinstance(rate, int | float) and rate > 0:
                yield ReviewReason("judge_undecided", f"{score.name}: {percent_text(rate, 0)} of the calls differ")

    def _inconsistent(self, record: Record) -> Iterator[ReviewReason]:
        if any(score.detail.get("label") == "inconsistent" for score in self._own(record)):
            yield ReviewReason("inconsistent")

    def _retrieval(self, record: Record) -> Iterator[ReviewReason]:
        retrieved = next((score.passed for score in record.scores if score.name == _RETRIEVED), None)
        answer = self._answer(record)
        if retrieved is None or answer is None or answer.passed is None or retrieved == answer.passed:
            return
        yield ReviewReason("wrong_with_source" if retrieved else "right_without_source", answer.name)

    def _answer(self, record: Record) -> Score | None:
        """The headline, unless that is about retrieval: then the first judged score that passes or fails."""
        primary = next((score for score in record.scores if score.name == self.primary), None)
        if primary is not None and primary.passed is not None and primary.name != _RETRIEVED:
            return primary
        judged = (score for score in record.scores if score.passed is not None and score.name != _RETRIEVED)
        return next((score for score in judged if score.name in {"correct", "correctness"}), None)

    def _near_threshold(self, record: Record) -> Iterator[ReviewReason]:
        for score in self._own(record):
            info = self._info(score)
            if score.value is None or info.threshold is None or info.range is None or info.threshold in info.range:
                continue  # a threshold at an end of the range: nothing is just beyond it
            if 0 < abs(score.value - info.threshold) <= _NEAR * self._width(score.name):
                yield ReviewReason("near_threshold", f"{score.name} {score.value:.3g}, threshold {info.threshold:g}")

    def _repeats_disagree(self, record: Record, repeats: Iterable[Record]) -> Iterator[ReviewReason]:
        verdicts = {
            score.passed
            for repeat in (record, *repeats)
            for score in repeat.scores
            if score.name == self.primary and score.passed is not None
        }
        if len(verdicts) > 1:
            yield ReviewReason("repeats_disagree", self.primary)

    def _width(self, name: str) -> float:
        low, high = self.infos[name].range or (0.0, 1.0)
        return high - low


def with_reasons(records: Iterable[Record], rules: ReviewRules) -> Iterator[tuple[Record, tuple[ReviewReason, ...]]]:
    """Each record with an output, and why a person should look at it; no reason where none applies.

    Args:
        records: in the order of samples and repeats.
        rules: of their run.
    """
    for _, repeats in groupby(records, key=lambda record: record.sample.id):
        of_sample = list(repeats)
        for record in of_sample:
            if record.failure is None and record.output is not None:
                yield record, rules.reasons(record, of_sample)


def _verdict_marks(score: Score) -> set[str]:
    """Kind, flags and label of a verdict on two results, all in the spelling of kinds."""
    flags = score.detail.get("flags")
    marks = {str(score.detail.get("kind")), str(score.detail.get("label", "")).replace(" ", "_")}
    return marks | {str(flag) for flag in flags} if isinstance(flags, list | tuple) else marks


def _same_questions(manifest: Mapping[str, Any], infos: Mapping[str, ScoreInfo]) -> tuple[tuple[str, ...], ...]:
    """Groups of scores that rate the same thing: they declare it, or their scorers differ in judge and name alone.

    Only scorers that can be named twice are in a manifest several times; their score has their name.
    """
    groups = grouped((info.rates.encode(), name) for name, info in infos.items() if info.rates)
    scorers = manifest.get("scorers")
    for stage, described in scorers.items() if isinstance(scorers, Mapping) else ():
        for kind, settings in described.items() if isinstance(described, Mapping) else ():
            name = settings.get("name", stage) if isinstance(settings, Mapping) else stage
            if isinstance(settings, Mapping) and "judge" in settings and name in infos:
                question = {key: value for key, value in settings.items() if key not in {"judge", "name"}}
                groups.setdefault(to_json([kind, question]), []).append(str(name))
    return tuple(tuple(names) for names in groups.values() if len(names) > 1)
