"""Scores multiple-choice questions: by the letter that a reply names, or by the likelihood of each option.

A reply that cannot be read is never counted as wrong in silence and never guessed: it is `unparsed` with its kind,
and the headline rate, which is over all samples, counts it as not solved.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal, get_args

from steelyard.errors import ConfigError, did_you_mean
from steelyard.prompts.conversation import question_of
from steelyard.prompts.sample_values import option_label
from steelyard.registry import accepts_former_keys
from steelyard.text.choice import ChoiceReading, read_choice
from steelyard.text.cleaned_reply import fold
from steelyard.text.other_tools import RULES
from steelyard.types import INLINE, Output, Sample, Score, ScoreInfo, StageInfo

_NAME: Final = "solve_rate"
_CREDIT: Final = "partial_credit"
_MIN_OPTIONS: Final = 2
_MAX_OPTIONS: Final = 26
_SEPARATORS: Final = frozenset(" ,、;/&|+.()")
_STOPPED: Final = frozenset({"content_filter", "refusal"})


Rule = Literal["steelyard", "strict_only_letter", "last_letter", "first_option"]
OtherRule = Literal["strict_only_letter", "last_letter", "first_option"]
Credit = Literal["", "jaccard", "subset"]


@accepts_former_keys
@dataclass(frozen=True, slots=True)
class Choice:
    """Share of questions whose reply gives exactly the reference's letters.

    Args:
        rule: how replies are read: `steelyard`, or a rule of other tools by which published figures were made
            (`strict_only_letter`, `last_letter`, `first_option`).
        also_scored: rules of other tools whose rates are shown next to ours, as scores of their names.
        credit: adds the score `partial_credit` for questions with several right options: `jaccard` is the share of the
            letters read or wanted that are both; `subset` the share of the wanted that were read, 0 if one is wrong.

    >>> sample = Sample("1", "Capital of France?", "B", choices=("Rome", "Paris"))
    >>> Choice()(sample, Output("I would choose option B.")).value
    1.0
    >>> [(one.name, one.value) for one in Choice(also_scored=("last_letter",))(sample, Output("B, as All know"))]
    [('solve_rate', 1.0), ('last_letter', 0.0)]
    """

    stage_info: ClassVar[StageInfo] = StageInfo(name=_NAME, inline=True)

    rule: Rule = "steelyard"
    also_scored: tuple[OtherRule, ...] = ()
    credit: Credit = ""

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """`solve_rate`, then the partial credit and the rules of other tools, as far as they were asked for."""
        solved = ScoreInfo(_NAME, (0.0, 1.0), threshold=1.0, denominator="all", exam=True)
        partial = (ScoreInfo(_CREDIT, (0.0, 1.0), denominator="all"),) if self.credit else ()
        others = (replace(solved, name=rule, exam=False, also_scored=True) for rule in self.also_scored)
        return (solved, *partial, *others)

    @property
    def _names(self) -> tuple[str, ...]:
        return (_NAME, *((_CREDIT,) if self.credit else ()), *self.also_scored)

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: an unknown rule or credit, or a rule that is named twice.
        """
        for key, value, known in (
            ("rule", self.rule, get_args(Rule)),
            *(("also_scored", one, get_args(OtherRule)) for one in self.also_scored),
            ("credit", self.credit, get_args(Credit)),
        ):
            if value not in known:
                raise ConfigError(f"{key}: there is no {value!r}{did_you_mean(str(value), known)}")
        if len(set(self.also_scored)) < len(self.also_scored):
            raise ConfigError("also_scored: a rule is named twice")

    def __call__(self, sample: Sample, output: Output) -> Score | list[Score]:
        """Read the reply and compare it with `sample.reference`, a text of letters such as "B" or "AC"."""
        names = self._names
        wanted, problem = _reference(sample)
        if problem:
            scores = [Score(name, None, outcome="not_applicable", reason=problem) for name in names]
            return scores if len(names) > 1 else scores[0]
        text = _text(output.value)
        if self.rule == "steelyard":
            question = question_of(sample.input)
            reading = read_choice(text, sample.choices, question=question, several=len(wanted) > 1)
        else:
            reading = _by_rule(self.rule, text, len(sample.choices))
        solved = _score(reading, sample, wanted, str(output.metadata.get("finish", "")))
        if len(names) == 1:
            return solved
        partial = [_partial(solved, reading, wanted, self.credit)] if self.credit else []
        return [solved, *partial, *(_score_by_rule(name, sample, text, wanted) for name in self.also_scored)]


def _by_rule(rule: str, text: str, count: int) -> ChoiceReading:
    letter = RULES[rule](text, count)
    if letter:
        return ChoiceReading((letter,), "answered", rule, None, "explicit")
    status: Literal["empty", "unparsed"] = "unparsed" if text.strip() else "empty"
    return ChoiceReading((), status, rule, reason="this rule reads no letter; its tool counts the reply as wrong")


def _score_by_rule(rule: str, sample: Sample, text: str, wanted: tuple[str, ...]) -> Score:
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
    if not letters or not all("A" <= letter <= last for letter in letters):
        return (), f"the reference {str(sample.reference)[:40]!r} is no letter from A to {last}"
    return tuple(sorted(letters)), ""


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping | Sequence) and not isinstance(value, bytes):
        return json.dumps(value, ensure_ascii=False, default=str)
    return "" if value is None else str(value)


_LIKELIHOOD_SCORES: Final = ("acc", "acc_norm", "acc_bytes")
_EMPTY: Final = "one of the options has no text, so nothing can be divided by its length"


@dataclass(frozen=True, slots=True)
class LikelihoodAccuracy:
    """Three scores of what a `likelihood` target found, each 1 where the reference's option is the likeliest.

    `acc` takes the highest log probability. `acc_norm` divides it by the characters of the option's text first, and
    `acc_bytes` by its bytes in UTF-8, for long options have more to lose. By letters all three are the same, as every
    letter has one. The first of equal options is taken.

    Source: lm-evaluation-harness 0.4.13, `process_results` of multiple-choice tasks in `lm_eval/api/task.py`: there
    `acc_norm` is over `len(text)`, which is characters, and `acc_bytes` over bytes. L. Gao, "Multiple Choice
    Normalization in LM Evaluation" (EleutherAI, 2021), says bytes of `acc_norm`; published figures come from the code.
    Options are measured without what stands between them and the prompt, in both. Deviation: a question with several
    right options is not applicable; there, any of them counts.

    >>> found = {"by": "texts", "logprobs": {"A": -4.0, "B": -6.0}}
    >>> sample = Sample("1", "Where?", "B", choices=("Rome", "Saint-Denis"))
    >>> [(one.name, one.value) for one in LikelihoodAccuracy()(sample, Output("A", (), {"likelihood": found}))]
    [('acc', 0.0), ('acc_norm', 1.0), ('acc_bytes', 1.0)]
    """

    score_infos: ClassVar[tuple[ScoreInfo, ...]] = tuple(
        ScoreInfo(name, (0.0, 1.0), threshold=1.0, denominator="all", headline=name == "acc")
        for name in _LIKELIHOOD_SCORES
    )
    stage_info: ClassVar[StageInfo] = INLINE

    def __call__(self, sample: Sample, output: Output) -> list[Score]:
        """Compare the likeliest option with `sample.reference`, one letter."""
        found = output.metadata.get("likelihood")
        if not isinstance(found, Mapping):
            return _all("not_applicable", "the output holds no likelihoods; they come from a likelihood target")
        letters = [option_label(no) for no in range(len(sample.choices))]
        if sample.reference not in letters:
            return _all("not_applicable", f"the reference {str(sample.reference)[:40]!r} is not one option's letter")
        logprobs = found.get("logprobs")
        if not isinstance(logprobs, Mapping) or not logprobs:
            return _all("unparsed", str(found.get("problem", "no option has a likelihood")), {"kind": "no letter"})
        return [_likelihood_score(name, sample, found, logprobs) for name in _LIKELIHOOD_SCORES]


def _all(outcome: Any, reason: str, detail: Mapping[str, Any] | None = None) -> list[Score]:
    return [Score(name, None, outcome=outcome, reason=reason, detail=detail or {}) for name in _LIKELIHOOD_SCORES]


def _likelihood_score(name: str, sample: Sample, found: Mapping[str, Any], logprobs: Mapping[str, float]) -> Score:
    by_text = found.get("by") == "texts" and name != "acc"
    lengths = dict.fromkeys(logprobs, 1)
    if by_text:
        lengths = {letter: _length(name, sample.choices[ord(letter) - ord("A")]) for letter in logprobs}
    if not all(lengths.values()):
        return Score(name, None, outcome="not_applicable", reason=_EMPTY)
    values = {letter: value / lengths[letter] for letter, value in logprobs.items()}
    highest = max(values.values())
    best = [letter for letter, value in values.items() if value == highest]
    solved = best[0] == sample.reference
    reason = f"{best[0]} is the likeliest" + ("" if solved else f", {sample.reference} is right")
    if len(best) > 1:
        reason += f"; equal: {', '.join(best)}"
    if name == "acc" and found.get("missing"):
        reason += f"; {', '.join(found['missing'])} not listed, with at most {found.get('rest', 0):.2g} together"
    kept = ("by", "probabilities", "missing", "rest", "shared") if name == "acc" else ()
    detail = {key: found[key] for key in kept if key in found}
    return Score(
        name,
        float(solved),
        passed=solved,
        reason=reason,
        detail={"letters": best[0], "wanted": sample.reference, **detail},
    )


def _length(name: str, text: str) -> int:
    return len(text) if name == "acc_norm" else len(text.encode("utf-8", "surrogatepass"))
