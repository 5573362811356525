"""Scores multiple-choice questions: by the letter that a reply names, or by the likelihood of each option.

A reply that cannot be read is neither guessed nor silently counted as wrong: its score is `unparsed` with a kind, and
the headline rate, whose denominator is all samples, counts it as not solved.
"""

# Why it is so, and what was rejected: docs/decisions/analysis-rates.md

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal, get_args

from steelyard.errors import ConfigError, did_you_mean
from steelyard.prompts.conversation import question_of
from steelyard.prompts.sample_values import option_label
from steelyard.replies.answer_key import OR
from steelyard.replies.answer_pattern import compile_answer_pattern, read_by_pattern
from steelyard.replies.choice import ChoiceReading, read_choice
from steelyard.replies.clean import fold
from steelyard.replies.other_tools import RULES
from steelyard.types import INLINE, LACKS, STOPPED, Output, Sample, Score, ScoreInfo, StageInfo

_NAME: Final = "solve_rate"
_CREDIT: Final = "partial_credit"
_BUILT_IN: Final = "built_in_rule"
_MIN_OPTIONS: Final = 2
_MAX_OPTIONS: Final = 26
RULES_DIFFER: Final = "rules_differ"
"""`Score.detail["kind"]` of a verdict by a pattern where the rule alone reads the reply in another way."""
_SEPARATORS: Final = frozenset(" ,、;/&|+.()")


Key = tuple[str, ...]
"""Alternatives, any of which is right; each is sorted letters that are wanted together."""
Rule = Literal["steelyard", "strict_only_letter", "last_letter", "first_option"]
OtherRule = Literal["strict_only_letter", "last_letter", "first_option"]
Credit = Literal["", "jaccard", "subset"]


@dataclass(frozen=True, slots=True)
class Choice:
    """Share of questions whose reply gives exactly the reference's letters.

    Where a sample's metadata has `several: True`, more than one option may be right, and a reply that gives one or more
    is an answer; a suite's samples have it where their exam says so. Without it, questions whose reference has one
    letter want one.

    Args:
        rule: how replies are read: `steelyard`, or a rule of other tools by which published figures were made
            (`strict_only_letter`, `last_letter`, `first_option`).
        also_scored: rules of other tools whose rates are shown next to ours, as scores of their names.
        credit: adds the score `partial_credit` for questions with several right options: `jaccard` is the share of the
            letters read or expected that are both; `subset` the share of the expected that were read, 0 if any is
            wrong.
        pattern: a regular expression (RE2) of your own with a group `answer`. Its last match decides, and `rule` where
            it matches nowhere; the rate by `rule` alone is shown next to it, as the score `built_in_rule`.

    >>> sample = Sample("1", "Capital of France?", "B", choices=("Rome", "Paris"))
    >>> Choice()(sample, Output("I would choose option B.")).value
    1.0
    >>> scores = Choice(also_scored=("last_letter",))(sample, Output("B, as All know"))
    >>> [(score.name, score.value) for score in scores]
    [('solve_rate', 1.0), ('last_letter', 0.0)]
    """

    stage_info: ClassVar[StageInfo] = StageInfo(name=_NAME, inline=True)

    rule: Rule = "steelyard"
    also_scored: tuple[OtherRule, ...] = ()
    credit: Credit = ""
    pattern: str = ""

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """`solve_rate`, then partial credit and the rules of other tools where they are configured."""
        solved = ScoreInfo(_NAME, (0.0, 1.0), threshold=1.0, denominator="all", exam=True)
        partial = (ScoreInfo(_CREDIT, (0.0, 1.0), denominator="all"),) if self.credit else ()
        names = (*((_BUILT_IN,) if self.pattern else ()), *self.also_scored)
        others = (replace(solved, name=name, exam=False, also_scored=True) for name in names)
        return (solved, *partial, *others)

    def check(self) -> None:
        """Validate the options.

        Raises:
            ConfigError: an unknown rule or credit, a repeated rule, or a pattern that cannot be used.
        """
        for key, value, allowed in (
            ("rule", self.rule, get_args(Rule)),
            *(("also_scored", other_rule, get_args(OtherRule)) for other_rule in self.also_scored),
            ("credit", self.credit, get_args(Credit)),
        ):
            if value not in allowed:
                raise ConfigError(f"{key}: there is no {value!r}{did_you_mean(str(value), allowed)}")
        if len(set(self.also_scored)) < len(self.also_scored):
            raise ConfigError("also_scored: a rule is named twice")
        if self.pattern:
            compile_answer_pattern(self.pattern)

    def __call__(self, sample: Sample, output: Output) -> Score | list[Score]:
        """Read the reply and compare it with `sample.reference`: "B", "AC" (a set), "A or C" (any of them)."""
        expected, problem = _key(sample)
        if problem:
            infos = self.score_infos
            scores = [Score(info.name, None, outcome="not_applicable", reason=problem) for info in infos]
            return scores if len(scores) > 1 else scores[0]
        text, finish = _text(output.value), str(output.metadata.get("finish", ""))
        question, several = question_of(sample.input), _may_be_several(sample, expected)
        if self.rule == "steelyard":
            by_rule = read_choice(text, sample.choices, question=question, several=several, finish=finish)
        else:
            by_rule = _by_rule(self.rule, text, len(sample.choices))
        reading = by_rule
        if self.pattern:
            found = read_by_pattern(text, self.pattern, sample.choices, question=question, several=several)
            reading = found or by_rule
        solved = _score(reading, sample, expected, finish)
        others = [_partial(solved, reading, expected, self.credit)] if self.credit else []
        if self.pattern:
            if (reading.status, reading.letters) != (by_rule.status, by_rule.letters) and solved.outcome == "scored":
                solved = replace(solved, detail={**solved.detail, "kind": RULES_DIFFER})
            others.append(_score(by_rule, sample, expected, finish, name=_BUILT_IN))
        others += [_score_by_rule(name, sample, text, expected) for name in self.also_scored]
        return [solved, *others] if others else solved


def _by_rule(rule: str, text: str, count: int) -> ChoiceReading:
    letter = RULES[rule](text, count)
    if letter:
        return ChoiceReading((letter,), "answered", rule, None, "explicit")
    status: Literal["empty", "unparsed"] = "unparsed" if text.strip() else "empty"
    return ChoiceReading((), status, rule, reason="this rule reads no letter; its tool counts the reply as wrong")


def _score_by_rule(rule: str, sample: Sample, text: str, expected: Key) -> Score:
    reading = _by_rule(rule, text, len(sample.choices))
    return _score(reading, sample, expected, "", name=rule)


def _partial(solved: Score, reading: ChoiceReading, expected: Key, credit: str) -> Score:
    if solved.value is None:
        return replace(solved, name=_CREDIT)
    values = [_credit(set(reading.letters), set(letters), credit) for letters in expected]
    value, reason = max(values, key=lambda pair: pair[0])
    return Score(_CREDIT, value, reason=reason)


def _credit(letters: set[str], expected_letters: set[str], credit: str) -> tuple[float, str]:
    if credit == "jaccard":
        value = len(letters & expected_letters) / len(letters | expected_letters)
    else:
        value = len(letters) / len(expected_letters) if letters <= expected_letters else 0.0
    right, wrong = len(letters & expected_letters), len(letters - expected_letters)
    return value, f"{right} of {len(expected_letters)} right, {wrong} wrong"


def _score(reading: ChoiceReading, sample: Sample, expected: Key, finish: str, *, name: str = _NAME) -> Score:
    detail = _detail(reading, sample, expected)
    if reading.status == "refused" or (reading.status == "empty" and finish in STOPPED):
        reason = reading.reason if reading.status == "refused" else "a content filter stopped the reply"
        return Score(name, None, outcome="refused", reason=reason, detail=detail)
    if reading.status in {"answered", "none_of_these"}:
        solved = "".join(reading.letters) in expected
        reason = _verdict(reading, expected)
        return Score(name, float(solved), passed=solved, reason=reason, detail=detail)
    truncated = finish == "length" and reading.status != "several"
    kind = "truncated" if truncated else reading.status
    reason = "the reply was cut off before it gave an answer" if truncated else reading.reason
    return Score(name, None, outcome="unparsed", reason=reason, detail={**detail, "kind": kind})


def _detail(reading: ChoiceReading, sample: Sample, expected: Key) -> dict[str, Any]:
    letters = "".join(reading.letters)
    detail = {
        "letters": letters,
        "status": reading.status,
        "rule": reading.rule,
        "span": list(reading.span) if reading.span else None,
        "confidence": reading.confidence,
        "wanted": OR.join(expected),
        "options": len(sample.choices),
    }
    order = sample.metadata.get("order")
    if isinstance(order, str) and len(order) == len(sample.choices):
        detail["original"] = "".join(sorted(order[ord(letter) - ord("A")] for letter in letters))
    return detail


def _verdict(reading: ChoiceReading, expected: Key) -> str:
    right = OR.join(expected)
    if reading.status == "none_of_these":
        return f"says that no option fits · correct {right}"
    how = "" if reading.confidence == "explicit" else " (inferred)"
    letters = "".join(reading.letters)
    return f"answered {letters}{how} · correct {right}"


def _may_be_several(sample: Sample, expected: Key) -> bool:
    """What the exam says of the question; samples that do not say are read as their reference is."""
    several = sample.metadata.get("several")
    return several if isinstance(several, bool) else any(len(letters) > 1 for letters in expected)


def _key(sample: Sample) -> tuple[Key, str]:
    """The reference as a key, or why there is nothing to compare with."""
    if not _MIN_OPTIONS <= len(sample.choices) <= _MAX_OPTIONS:
        return (), f"a multiple-choice question has 2 to 26 options, this one has {len(sample.choices)}"
    if sample.reference is None or not str(sample.reference).strip():
        return (), "the sample has no reference"
    last = chr(ord("A") + len(sample.choices) - 1)
    readings = []
    for part in str(sample.reference).split(OR):
        letters = {character for character in fold(part).upper() if character not in _SEPARATORS}
        if not letters or not all("A" <= letter <= last for letter in letters):
            return (), f"the reference {str(sample.reference)[:40]!r} is not a letter from A to {last}"
        readings.append("".join(sorted(letters)))
    return tuple(sorted(set(readings))), ""


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
    """Three accuracies from option likelihoods, each 1 where the reference's option has the highest likelihood.

    `acc` takes the highest log probability. `acc_norm` divides it first by the option text's number of characters, and
    `acc_bytes` by its number of UTF-8 bytes, since the probability of a text falls with its length. Where likelihoods
    are of letters, all three are the same. Of equal options the first is taken.

    Source: lm-evaluation-harness 0.4.13, `process_results` of multiple-choice tasks in `lm_eval/api/task.py`: there
    `acc_norm` is over `len(text)`, which is characters, and `acc_bytes` over bytes. L. Gao, "Multiple Choice
    Normalization in LM Evaluation" (EleutherAI, 2021), describes `acc_norm` with bytes; published figures come from the
    code. In both, the delimiter between prompt and option is not measured. Deviation: a question with several right
    options is not applicable; there, any of them counts.

    >>> likelihood = {"by": "texts", "logprobs": {"A": -4.0, "B": -6.0}}
    >>> sample = Sample("1", "Where?", "B", choices=("Rome", "Saint-Denis"))
    >>> scores = LikelihoodAccuracy()(sample, Output("A", (), {"likelihood": likelihood}))
    >>> [(score.name, score.value) for score in scores]
    [('acc', 0.0), ('acc_norm', 1.0), ('acc_bytes', 1.0)]
    """

    score_infos: ClassVar[tuple[ScoreInfo, ...]] = tuple(
        ScoreInfo(name, (0.0, 1.0), threshold=1.0, denominator="all", headline=name == "acc")
        for name in _LIKELIHOOD_SCORES
    )
    stage_info: ClassVar[StageInfo] = INLINE

    def __call__(self, sample: Sample, output: Output) -> list[Score]:
        """Compare the likeliest option with `sample.reference`, one letter."""
        likelihood = output.metadata.get("likelihood")
        if not isinstance(likelihood, Mapping):
            reason = "the output holds no likelihoods; they come from a likelihood target"
            return _all("not_applicable", reason, {LACKS: "likelihoods"})
        letters = [option_label(no) for no in range(len(sample.choices))]
        if not set(str(sample.reference).split(OR)) <= set(letters):
            return _all("not_applicable", f"the reference {str(sample.reference)[:40]!r} is not one option's letter")
        logprobs = likelihood.get("logprobs")
        if not isinstance(logprobs, Mapping) or not logprobs:
            return _all("unparsed", str(likelihood.get("problem", "no option has a likelihood")), {"kind": "no letter"})
        return [_likelihood_score(name, sample, likelihood, logprobs) for name in _LIKELIHOOD_SCORES]


def _all(outcome: Any, reason: str, detail: Mapping[str, Any] | None = None) -> list[Score]:
    return [Score(name, None, outcome=outcome, reason=reason, detail=detail or {}) for name in _LIKELIHOOD_SCORES]


def _likelihood_score(name: str, sample: Sample, likelihood: Mapping[str, Any], logprobs: Mapping[str, float]) -> Score:
    by_text = likelihood.get("by") == "texts" and name != "acc"
    lengths = dict.fromkeys(logprobs, 1)
    if by_text:
        lengths = {letter: _length(name, sample.choices[ord(letter) - ord("A")]) for letter in logprobs}
    if not all(lengths.values()):
        return Score(name, None, outcome="not_applicable", reason=_EMPTY)
    values = {letter: value / lengths[letter] for letter, value in logprobs.items()}
    highest = max(values.values())
    best = [letter for letter, value in values.items() if value == highest]
    solved = best[0] in str(sample.reference).split(OR)
    reason = f"{best[0]} is the most probable" + ("" if solved else f" · correct {sample.reference}")
    if len(best) > 1:
        reason += f"; equal: {', '.join(best)}"
    if name == "acc" and likelihood.get("missing"):
        reason += (
            f"; {', '.join(likelihood['missing'])} not listed, with at most {likelihood.get('rest', 0):.2g} together"
        )
    copied_keys = ("by", "probabilities", "missing", "rest", "shared") if name == "acc" else ()
    detail = {key: likelihood[key] for key in copied_keys if key in likelihood}
    return Score(
        name,
        float(solved),
        passed=solved,
        reason=reason,
        detail={"letters": best[0], "wanted": sample.reference, **detail},
    )


def _length(name: str, text: str) -> int:
    return len(text) if name == "acc_norm" else len(text.encode("utf-8", "surrogatepass"))
