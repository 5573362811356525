"""Scores replies to multiple-choice questions: solved, not solved, or not to be read.

A reply that cannot be read is never counted as wrong in silence and never guessed: it is `unparsed` with its kind,
and the headline rate, which is over all samples, counts it as not solved.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal, get_args

from steelyard.errors import ConfigError, did_you_mean
from steelyard.text.choice import ChoiceReading, read_choice
from steelyard.text.choice_rules import RULES
from steelyard.text.normal import fold
from steelyard.types import Output, Sample, Score

_NAME: Final = "solve_rate"
_CREDIT: Final = "partial_credit"
_MIN_OPTIONS: Final = 2
_MAX_OPTIONS: Final = 26
_SEPARATORS: Final = frozenset(" ,、;/&|+.()")
_STOPPED: Final = frozenset({"content_filter", "refusal"})


Rule = Literal["steelyard", "strict_only_letter", "last_letter", "first_option"]
Beside = Literal["strict_only_letter", "last_letter", "first_option"]
Credit = Literal["", "jaccard", "subset"]


@dataclass(frozen=True, slots=True)
class Choice:
    """Share of questions whose reply gives exactly the reference's letters.

    Args:
        rule: how replies are read: `steelyard`, or a rule of other tools by which published figures were made
            (`strict_only_letter`, `last_letter`, `first_option`).
        beside: rules of other tools whose rates are shown beside ours, as scores of their names.
        credit: adds the score `partial_credit` for questions with several right options: `jaccard` is the share of the
            letters read or wanted that are both; `subset` the share of the wanted that were read, 0 if one is wrong.

    >>> sample = Sample("1", "Capital of France?", "B", choices=("Rome", "Paris"))
    >>> Choice()(sample, Output("I would choose option B.")).value
    1.0
    >>> [(one.name, one.value) for one in Choice(beside=("last_letter",))(sample, Output("B, as All know"))]
    [('solve_rate', 1.0), ('last_letter', 0.0)]
    """

    inline: ClassVar[bool] = True
    score_name: ClassVar[str] = "solve_rate"
    exam: ClassVar[tuple[str, ...]] = ("solve_rate",)
    over: ClassVar[str] = "all"

    rule: Rule = "steelyard"
    beside: tuple[Beside, ...] = ()
    credit: Credit = ""

    @property
    def score_names(self) -> tuple[str, ...]:
        """`solve_rate`, then what was asked for beside it."""
        return (_NAME, *((_CREDIT,) if self.credit else ()), *self.beside)

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: an unknown rule or credit, or a rule that is named twice.
        """
        for key, value, known in (
            ("rule", self.rule, get_args(Rule)),
            *(("beside", one, get_args(Beside)) for one in self.beside),
            ("credit", self.credit, get_args(Credit)),
        ):
            if value not in known:
                raise ConfigError(f"{key}: there is no {value!r}{did_you_mean(str(value), known)}")
        if len(set(self.beside)) < len(self.beside):
            raise ConfigError("beside: a rule is named twice")

    def __call__(self, sample: Sample, output: Output) -> Score | list[Score]:
        """Read the reply and compare it with `sample.reference`, a text of letters such as "B" or "AC"."""
        names = self.score_names
        wanted, problem = _reference(sample)
        if problem:
            scores = [Score(name, None, outcome="not_applicable", reason=problem) for name in names]
            return scores if len(names) > 1 else scores[0]
        text = _text(output.value)
        reading = self._read(sample, text, several=len(wanted) > 1)
        solved = _score(reading, sample, wanted, str(output.metadata.get("finish", "")))
        if len(names) == 1:
            return solved
        partial = [_partial(solved, reading, wanted, self.credit)] if self.credit else []
        return [solved, *partial, *(_beside(name, sample, text, wanted) for name in self.beside)]

    def _read(self, sample: Sample, text: str, *, several: bool) -> ChoiceReading:
        if self.rule != "steelyard":
            return _by_rule(self.rule, text, len(sample.choices))
        question = sample.input if isinstance(sample.input, str) else ""
        return read_choice(text, sample.choices, question=question, several=several)


def _by_rule(rule: str, text: str, count: int) -> ChoiceReading:
    letter = RULES[rule](text, count)
    if letter:
        return ChoiceReading((letter,), "answered", rule, None, "explicit")
    status: Literal["empty", "unparsed"] = "unparsed" if text.strip() else "empty"
    return ChoiceReading((), status, rule, reason="this rule reads no letter; its tool counts the reply as wrong")


def _beside(rule: str, sample: Sample, text: str, wanted: tuple[str, ...]) -> Score:
    reading = _by_rule(rule, text, len(sample.choices))
    return _score(reading, sample, wanted, "", name=rule)


def _partial(solved: Score, reading: ChoiceReading, wanted: tuple[str, ...], credit: str) -> Score:
    if solved.value is None:
        return replace(solved, name=_CREDIT)
    read, right = set(reading.letters), set(wanted)
    if credit == "jaccard":
        value = len(read & right) / len(read | right)
    else:
        value = len(read) / len(right) if read <= right else 0.0
    return Score(_CREDIT, value, reason=f"{len(read & right)} of {len(right)} right, {len(read - right)} wrong")


def _score(reading: ChoiceReading, sample: Sample, wanted: tuple[str, ...], finish: str, *, name: str = _NAME) -> Score:
    detail = _detail(reading, sample, wanted)
    if reading.status == "refused" or (reading.status == "empty" and finish in _STOPPED):
        reason = reading.reason if reading.status == "refused" else "a content filter stopped the reply"
        return Score(name, None, outcome="refused", reason=reason, detail=detail)
    if reading.status in {"answered", "none_of_these"}:
        solved = reading.letters == wanted
        reason = _verdict(reading, wanted)
        return Score(name, float(solved), passed=solved, reason=reason, detail=detail)
    truncated = finish == "length" and reading.status != "several"
    kind = "truncated" if truncated else reading.status
    reason = "the reply was cut off before it gave an answer" if truncated else reading.reason
    return Score(name, None, outcome="unparsed", reason=reason, detail={**detail, "kind": kind})


def _detail(reading: ChoiceReading, sample: Sample, wanted: tuple[str, ...]) -> dict[str, Any]:
    letters = "".join(reading.letters)
    detail = {
        "letters": letters,
        "status": reading.status,
        "rule": reading.rule,
        "span": list(reading.span) if reading.span else None,
        "confidence": reading.confidence,
        "wanted": "".join(wanted),
        "options": len(sample.choices),
    }
    order = sample.metadata.get("order")
    if isinstance(order, str) and len(order) == len(sample.choices):
        detail["original"] = "".join(sorted(order[ord(letter) - ord("A")] for letter in letters))
    return detail


def _verdict(reading: ChoiceReading, wanted: tuple[str, ...]) -> str:
    if reading.status == "none_of_these":
        return f"says that none fits, {''.join(wanted)} is right"
    how = "" if reading.confidence == "explicit" else " (inferred)"
    read = "".join(reading.letters)
    return f"{read}{how} is right" if reading.letters == wanted else f"{read}{how}, {''.join(wanted)} is right"


def _reference(sample: Sample) -> tuple[tuple[str, ...], str]:
    """The reference's letters in order, or why there is nothing to compare with."""
    if not _MIN_OPTIONS <= len(sample.choices) <= _MAX_OPTIONS:
        return (), f"a multiple-choice question has 2 to 26 options, this one has {len(sample.choices)}"
    if sample.reference is None or not str(sample.reference).strip():
        return (), "the sample has no reference"
    letters = {one for one in fold(str(sample.reference)).upper() if one not in _SEPARATORS}
    last = chr(ord("A") + len(sample.choices) - 1)
    if not letters or not all("A" <= one <= last for one in letters):
        return (), f"the reference {str(sample.reference)[:40]!r} is no letter from A to {last}"
    return tuple(sorted(letters)), ""


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping | Sequence) and not isinstance(value, bytes):
        return json.dumps(value, ensure_ascii=False, default=str)
    return "" if value is None else str(value)
