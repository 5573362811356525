"""Scores multiple-choice questions: by the letter that a reply names, or by the likelihood of each option.

A reply that cannot be read is neither guessed nor silently counted as wrong: its score is `unparsed` with a kind, and
the headline rate, whose denominator is all samples, counts it as not solved.
"""

# Why it is so, and what was rejected: docs/decisions/analysis-rates.md

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any, ClassVar, Final, Literal

from steelyard.errors import ConfigError
from steelyard.prompts.conversation import question_of
from steelyard.prompts.sample_values import option_label
from steelyard.replies.answer_key import OR, Credit, credit_of, points_of
from steelyard.replies.answer_pattern import compile_answer_pattern, read_by_pattern
from steelyard.replies.answer_text import read_confidence, text_of
from steelyard.replies.choice import ChoiceReading, read_choice
from steelyard.replies.clean import fold
from steelyard.replies.other_tools import RULES
from steelyard.types import INLINE, LACKS, STOPPED, Output, Sample, Score, ScoreInfo, StageInfo

_NAME: Final = "solve_rate"
_CREDIT: Final = "partial_credit"
POINTS: Final = "points"
"""The score of the points, and the key of a sample's metadata with what it is worth."""
CONFIDENCE: Final = "confidence"
"""The key of an output's metadata with how sure its answer is, in [0, 1]."""
_DIGITS: Final = 3
"""Of a stored probability: summaries hold each different one once."""
DEDUCTION: Final = "deduction"
"""The key of a sample's metadata with the points that a wrong answer costs."""
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
        credit: how much of a question that may have several right options an answer solves: `all` or nothing; `subset`
            is the share of the expected letters that were read, 0 if any is wrong; `per_option` the share of the
            options, chosen or not, that agree with the key; `jaccard` the share of the letters read or expected that
            are both. Any but `all` adds the score `partial_credit`.
        points: adds the score `points`: the share of the points in the metadata's `points` (1 if there are none) that
            an answer gets by `credit`. An answer without any credit costs the metadata's `deduction`; a reply that
            cannot be read, or a refusal, is an empty answer. A suite sets it where its exam has columns for them.
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
    credit: Credit = "all"
    pattern: str = ""
    points: bool = False

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """`solve_rate`, then points, partial credit and the rules of other tools where they are configured."""
        solved = ScoreInfo(_NAME, (0.0, 1.0), threshold=1.0, denominator="all", exam=True)
        partial = (ScoreInfo(_CREDIT, (0.0, 1.0), denominator="all"),) if self.credit != "all" else ()
        points = (ScoreInfo(POINTS, denominator="all", weighted=True),) if self.points else ()
        names = (*((_BUILT_IN,) if self.pattern else ()), *self.also_scored)
        others = (replace(solved, name=name, exam=False, also_scored=True) for name in names)
        return (solved, *points, *partial, *others)

    def check(self) -> None:
        """Validate the options.

        Raises:
            ConfigError: a repeated rule, or a pattern that cannot be used.
        """
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
        text, finish = text_of(output), str(output.metadata.get("finish", ""))
        question, several = question_of(sample.input), _may_be_several(sample, expected)
        if self.rule == "steelyard":
            by_rule = read_choice(text, sample.choices, question=question, several=several, finish=finish)
        else:
            by_rule = _by_rule(self.rule, text, len(sample.choices))
        reading = by_rule
        if self.pattern:
            by_pattern = read_by_pattern(text, self.pattern, sample.choices, question=question, several=several)
            reading = by_pattern or by_rule
        solved = _with_confidence(_score(reading, sample, expected, finish), output, text)
        credit = self.credit if several else "all"
        others = [_points(solved, sample, credit)] if self.points else []
        others += [_partial(solved, reading, sample, expected, credit)] if self.credit != "all" else []
        if self.pattern:
            if (reading.status, reading.letters) != (by_rule.status, by_rule.letters) and solved.outcome == "scored":
                solved = replace(solved, detail={**solved.detail, "kind": RULES_DIFFER})
            others.append(_score(by_rule, sample, expected, finish, name=_BUILT_IN))
        others += [_score_by_rule(name, sample, text, expected) for name in self.also_scored]
        return [solved, *others] if others else solved


def _with_confidence(solved: Score, output: Output, text: str) -> Score:
    """The score with how sure the answer is: as the output's metadata has it, else as the reply states it.

    Raises:
        ValueError: the metadata holds no probability.
    """
    stated = output.metadata.get(CONFIDENCE)
    if stated is None:
        stated = read_confidence(text)
    elif isinstance(stated, bool) or not isinstance(stated, int | float) or not 0 <= stated <= 1:
        raise ValueError(f"the output's {CONFIDENCE} is {stated!r}; write a probability between 0 and 1, 0.85 for 85 %")
    if stated is None or solved.value is None:
        return solved
    return replace(solved, detail={**solved.detail, "probability": round(stated, _DIGITS)})


def _by_rule(rule: str, text: str, count: int) -> ChoiceReading:
    letter = RULES[rule](text, count)
    if letter:
        return ChoiceReading((letter,), "answered", rule, None, "explicit")
    status: Literal["empty", "unparsed"] = "unparsed" if text.strip() else "empty"
    return ChoiceReading((), status, rule, reason="this rule reads no letter; its tool counts the reply as wrong")


def _score_by_rule(rule: str, sample: Sample, text: str, expected: Key) -> Score:
    reading = _by_rule(rule, text, len(sample.choices))
    return _score(reading, sample, expected, "", name=rule)


def _partial(solved: Score, reading: ChoiceReading, sample: Sample, expected: Key, credit: Credit) -> Score:
    if solved.value is None:
        return replace(solved, name=_CREDIT)
    letters, options = "".join(reading.letters), len(sample.choices)
    value = credit_of(letters, OR.join(expected), options, credit)
    return Score(_CREDIT, value, reason=f"credit {value:.3g} for {letters or 'no option'}, {credit.replace('_', ' ')}")


def _points(solved: Score, sample: Sample, credit: Credit) -> Score:
    """The share of the question's points; an answer that cannot be read is an empty one: nothing is deducted."""
    points, deduction = (worth_of(sample, name) for name in (POINTS, DEDUCTION))
    if not points:
        if deduction:
            raise ValueError(f"sample {sample.id!r} is worth 0 points and has a deduction of {deduction:g}")
        return Score(POINTS, None, outcome="not_applicable", reason="the question is worth 0 points")
    copied = ("letters", "wanted", "options", "kind", "original")
    detail = {key: solved.detail[key] for key in copied if key in solved.detail}
    detail |= {"weight": points, "lowest": -deduction / points, "credit": credit}
    if solved.value is None:
        return replace(solved, name=POINTS, detail=detail)
    letters, wanted, options = (solved.detail[key] for key in ("letters", "wanted", "options"))
    value = points_of(letters, wanted, options, credit, detail["lowest"])
    return Score(POINTS, value, reason=f"{value * points:g} of {points:g} points", detail=detail)


def worth_of(sample: Sample, name: str) -> float:
    """A sample's points or deduction: what its metadata says, else 1 point and no deduction.

    Args:
        sample: the sample.
        name: `points` or `deduction`.

    Raises:
        ValueError: it is no number, negative, or not finite.
    """
    value = sample.metadata.get(name, float(name == POINTS))
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < inf:
        raise ValueError(f"sample {sample.id!r}: metadata {name} is {value!r}; write a number, 0 or more")
    return float(value)


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


_LIKELIHOOD_SCORES: Final = ("acc", "acc_norm", "acc_bytes")
_MUTUAL: Final = "acc_mutual_info"
_EMPTY: Final = "one of the options has no text, so nothing can be divided by its length"


@dataclass(frozen=True, slots=True)
class LikelihoodAccuracy:
    """Accuracies from option likelihoods, each 1 where the reference's option has the highest likelihood.

    `acc` takes the highest log probability. `acc_norm` divides it first by the option text's number of characters, and
    `acc_bytes` by its number of UTF-8 bytes, since the probability of a text falls with its length. Where likelihoods
    are of letters, all three are the same. Of equal options the first is taken. `acc_mutual_info` takes the highest
    log P(option | question) - log P(option), the pointwise mutual information, for likelihoods with an `unconditional`.

    Args:
        mutual_info: adds `acc_mutual_info`. A suite sets it for targets that ask the options without the question.

    Source: lm-evaluation-harness 0.4.13, `process_results` of multiple-choice tasks in `lm_eval/api/task.py`: there
    `acc_norm` is over `len(text)`, which is characters, and `acc_bytes` over bytes. L. Gao, "Multiple Choice
    Normalization in LM Evaluation" (EleutherAI, 2021), describes `acc_norm` with bytes; published figures come from the
    code. In both, the delimiter between prompt and option is not measured. Mutual information after A. Holtzman et al.,
    "Surface Form Competition" (EMNLP 2021), section 4. Deviation: a question with several right options is not
    applicable; there, any of them counts.

    >>> likelihood = {"by": "texts", "logprobs": {"A": -4.0, "B": -6.0}}
    >>> sample = Sample("1", "Where?", "B", choices=("Rome", "Saint-Denis"))
    >>> scores = LikelihoodAccuracy()(sample, Output("A", (), {"likelihood": likelihood}))
    >>> [(score.name, score.value) for score in scores]
    [('acc', 0.0), ('acc_norm', 1.0), ('acc_bytes', 1.0)]
    """

    stage_info: ClassVar[StageInfo] = INLINE

    mutual_info: bool = False

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """`acc`, which reports show first, and the other accuracies."""
        info = ScoreInfo("acc", (0.0, 1.0), threshold=1.0, denominator="all")
        others = tuple(replace(info, name=name) for name in self._names[1:])
        return (replace(info, headline=True, confidence=True), *others)

    @property
    def _names(self) -> tuple[str, ...]:
        return (*_LIKELIHOOD_SCORES, *([_MUTUAL] if self.mutual_info else []))

    def __call__(self, sample: Sample, output: Output) -> list[Score]:
        """Compare the likeliest option with `sample.reference`, one letter."""
        likelihood = output.metadata.get("likelihood")
        if not isinstance(likelihood, Mapping):
            reason = "the output holds no likelihoods; they come from a likelihood target"
            return self._all("not_applicable", reason, {LACKS: "likelihoods"})
        letters = [option_label(no) for no in range(len(sample.choices))]
        if not set(str(sample.reference).split(OR)) <= set(letters):
            reason = f"the reference {str(sample.reference)[:40]!r} is not one option's letter"
            return self._all("not_applicable", reason)
        logprobs = likelihood.get("logprobs")
        if not isinstance(logprobs, Mapping) or not logprobs:
            problem = str(likelihood.get("problem", "no option has a likelihood"))
            return self._all("unparsed", problem, {"kind": "no letter"})
        return [_likelihood_score(name, sample, likelihood, logprobs) for name in self._names]

    def _all(self, outcome: Any, reason: str, detail: Mapping[str, Any] | None = None) -> list[Score]:
        return [Score(name, None, outcome=outcome, reason=reason, detail=detail or {}) for name in self._names]


def _likelihood_score(name: str, sample: Sample, likelihood: Mapping[str, Any], logprobs: Mapping[str, float]) -> Score:
    alone = likelihood.get("unconditional") or {}
    if name == _MUTUAL and alone.keys() != logprobs.keys():
        reason = "the options were not asked without the question (unconditional of a likelihood target)"
        return Score(name, None, outcome="not_applicable", reason=reason, detail={LACKS: "unconditional likelihoods"})
    by_length = likelihood.get("by") == "texts" and name in {"acc_norm", "acc_bytes"}
    lengths = dict.fromkeys(logprobs, 1)
    if by_length:
        lengths = {letter: _length(name, sample.choices[ord(letter) - ord("A")]) for letter in logprobs}
    if not all(lengths.values()):
        return Score(name, None, outcome="not_applicable", reason=_EMPTY)
    values = {letter: value / lengths[letter] for letter, value in logprobs.items()}
    if name == _MUTUAL:
        values = {letter: value - alone[letter] for letter, value in logprobs.items()}
    highest = max(values.values())
    best = [letter for letter, value in values.items() if value == highest]
    solved = best[0] in str(sample.reference).split(OR)
    most = "gains most by the question" if name == _MUTUAL else "is the most probable"
    reason = f"{best[0]} {most}" + ("" if solved else f" · correct {sample.reference}")
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
        detail={"letters": best[0], "wanted": sample.reference, **detail, **_probability(name, likelihood, best[0])},
    )


def _probability(name: str, likelihood: Mapping[str, Any], letter: str) -> dict[str, float]:
    """The probability of the likeliest option among all that have one."""
    probability = likelihood.get("probabilities", {}).get(letter)
    return {"probability": round(probability, _DIGITS)} if name == "acc" and probability is not None else {}


def _length(name: str, text: str) -> int:
    return len(text) if name == "acc_norm" else len(text.encode("utf-8", "surrogatepass"))
