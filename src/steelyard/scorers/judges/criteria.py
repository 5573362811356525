"""Judges of an answer in one call: by its reference, or by criteria of the user's own.

`Correctness` gives one holistic verdict from 1 to 5 with reasoning. The rule (not relevant to the query: 1; relevant
with mistakes: 2 to 3; relevant and fully correct: 4 to 5; passing from 4.0 on) is that of LlamaIndex'
CorrectnessEvaluator; the words of the prompt are ours. Deviations: the rating is found anywhere in a reply, not only in
its first line; a rating outside the scale is unparsed; without a reference the question does not apply, where
LlamaIndex judges against a placeholder.

`Rubric` has described levels, `Guideline` a list of sentences. `ErrorJudge` and `ErrorPattern` look for one kind of
error, by a definition with examples or by a pattern. Error analysis makes them: people note what is wrong with records,
group the notes under codes, and a code becomes a scorer whose verdicts can be compared with the notes
(docs/how-to/error-analysis.md). Both score 1 where the answer is free of the error, so that more is better, as for
every rate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

from steelyard.constraints import Filled, ScoreName, TextList, Within, check_options
from steelyard.errors import ConfigError, expect_number
from steelyard.prompts.conversation import transcript_of
from steelyard.prompts.template import OwnWords, own_words, refuse_file_names
from steelyard.replies.answer_text import answer_of, text_of
from steelyard.replies.judge_reply import Scale, Verdict
from steelyard.scorers.formats import Regex, undecided
from steelyard.scorers.judges.declared import (
    BETWEEN,
    REASON_TOKENS,
    TOKENS_EACH,
    Case,
    CaseScorer,
    PromptForm,
    Repeats,
    at_least,
    contexts_of,
    count_yes,
    is_most,
    majority,
    no_answer,
    not_applicable,
    numbered,
    rating,
    reference_of,
    scored,
    yes_no_in,
    yes_or_no,
)
from steelyard.scorers.judges.judge import takes_model
from steelyard.scorers.lexical import unscored
from steelyard.scorers.patterns import TIMEOUT_S, Flag, compile_pattern
from steelyard.session.replies import refused_before
from steelyard.types import INLINE, PASSAGES, Output, Reply, Sample, Score, ScoreInfo, StageInfo

_SCALE: Final = Scale(1, 5)
_CORRECTNESS_NAMES: Final = ("correctness", "correct")


@takes_model
@dataclass(frozen=True, slots=True)
class Correctness(CaseScorer):
    """Correctness of an answer against its reference: `correctness` from 1 to 5; `correct` is 1 if that passes, else 0.

    A sample without a reference is not applicable; a list of references holds alternatives. A blank answer is 1, since
    it answers nothing; no call is made for it.

    Args:
        threshold: the least rating that passes.
        template: the user's own prompt; it may name {{question}}, {{reference}} (alternatives are parted by a line OR,
            in Chinese 或), {{answer}} and {{mark}}.
    """

    short_key: ClassVar[str] = "value"
    stage_info: ClassVar[StageInfo] = StageInfo(mock_reply="5")
    asks: ClassVar[Mapping[str, PromptForm]] = {"correctness": PromptForm(("question", "reference", "answer"))}
    shows_images: ClassVar[bool] = True

    threshold: Annotated[float, Within(_SCALE.low, _SCALE.high)] = 4.0
    template: Path | str = ""

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """The rating, and whether it passes."""
        return (
            ScoreInfo("correctness", (_SCALE.low, _SCALE.high), threshold=self.threshold, histogram=True),
            ScoreInfo("correct", (0.0, 1.0), threshold=1.0, labels=("right", "wrong")),
        )

    def case(self, sample: Sample, output: Output) -> Case | Sequence[Score]:
        """An answer and its reference; a blank answer needs no judge."""
        if not reference_of(sample):
            return [not_applicable(name, "the sample has no reference answer") for name in _CORRECTNESS_NAMES]
        if refused_before(output):
            return [no_answer(name) for name in _CORRECTNESS_NAMES]
        question, answer = transcript_of(sample.input), answer_of(output)
        language = self.judge.language_for(question, answer)
        values = {
            "question": question,
            "reference": reference_of(sample, between=BETWEEN[language]),
            "answer": answer,
        }
        case = Case("correctness", language, values, rating(_SCALE), at_least(self.threshold))
        if not answer.strip():
            return self.scores(case, [(Verdict("scored", _SCALE.low, form="blank", reason="the answer is blank"),)])
        return case

    def scores(self, case: Case, repeats: Repeats) -> Sequence[Score]:
        """Both scores; with repeats `correct` follows from the mean rating, so that it is still 1 or 0."""
        rated = scored(case, repeats)
        value = None if rated.passed is None else float(rated.passed)
        detail = {key: rated.detail[key] for key in ("kind", "verdict_like") if key in rated.detail}
        return [rated, Score("correct", value, rated.passed, rated.outcome, reason=rated.reason, detail=detail)]


_UNNAMED: Final = "rubric"


@takes_model
@dataclass(frozen=True, slots=True)
class Rubric(CaseScorer):
    """A rating of an answer on levels that are each described in words.

    Args:
        name: of the score.
        question: what is judged: "Is the tone right for a complaint?". Empty: the name says it.
        levels: value -> description, two or more: `{"1": "curt or rude", "3": "civil", "5": "warm and to the point"}`.
            Values may have decimals; the highest is the best.
        allow_between: whether a value between two levels may be given; else such a rating is out of scale.
        reference: whether the judge sees the sample's reference; samples without one are not applicable then.
        contexts: whether it sees the passages that the answer was made from; likewise.
        threshold: the lowest score that passes; null: nothing passes or fails.
        template: a prompt of your own; may use `{{question}}`, `{{contexts}}`, `{{reference}}`, `{{answer}}` (all
            fenced; what is not shown is empty), `{{criterion}}` (what is judged), `{{levels}}`, `{{metric}}` and
            `{{mark}}`.
    """

    asks: ClassVar[Mapping[str, PromptForm]] = {
        "rubric": PromptForm(("question", "contexts", "reference", "answer"), ("criterion", "levels", "metric"))
    }
    shows_images: ClassVar[bool] = True

    name: ScoreName = _UNNAMED
    question: OwnWords = ""
    levels: Mapping[str, str] = field(default_factory=dict)
    allow_between: bool = False
    reference: bool = False
    contexts: bool = False
    threshold: float | None = None
    template: Path | str = ""

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """A rating from the lowest to the highest level."""
        ends = (min(self._values), max(self._values)) if self.levels else None
        return (ScoreInfo(self.name, ends, threshold=self.threshold, histogram=True),)

    @property
    def stage_info(self) -> StageInfo:
        """The mock reply of a dry run: the highest level."""
        return StageInfo(mock_reply=f"{max(self._values, default=0):g}")

    def check(self) -> None:
        """Check the levels and the prompt.

        Raises:
            ConfigError: nothing says what is judged, fewer than two levels, one that is not a number or has no
                description, a threshold off the scale, or a prompt that cannot be trusted.
        """
        if not self.question.strip() and self.name == _UNNAMED:
            raise ConfigError("question: describe what is judged, or give the rubric a name that describes it")
        if len(self.levels) < 2:
            raise ConfigError('levels: two or more, as {"1": "what makes a 1", "5": "what makes a 5"}')
        for value, text in self.levels.items():
            if not isfinite(_number(value)):
                raise ConfigError(f"levels: {value!r} is not a number")
            if not isinstance(text, str) or not text.strip():
                raise ConfigError(f"levels: {value} needs a description")
        if len(set(self._values)) < len(self.levels):
            raise ConfigError("levels: the same value is described twice")
        refuse_file_names(levels=self.levels)
        if self.threshold is not None:
            expect_number("threshold", self.threshold, min(self._values), max(self._values))
        CaseScorer.check(self)

    def case(self, sample: Sample, output: Output) -> Case | Score:
        """An answer, with the reference and the passages where the judge is to see them."""
        contexts = contexts_of(sample, output) if self.contexts else ()
        reference = reference_of(sample) if self.reference else ""
        if self.reference and not reference:
            return not_applicable(self.name, "the sample has no reference")
        if refused_before(output):
            return no_answer(self.name)
        if self.contexts and not contexts:
            return not_applicable(self.name, "there are no contexts", lacks=PASSAGES)
        question, answer = transcript_of(sample.input), answer_of(output)
        shown = {
            "question": question,
            "contexts": "\n\n".join(contexts),
            "reference": reference,
            "answer": answer,
            **self._words,
        }
        scale = Scale(min(self._values), max(self._values))
        form = rating(scale, REASON_TOKENS, self.name, None if self.allow_between else self._values)
        return Case(self.name, self.judge.language_for(question, answer), shown, form, at_least(self.threshold))

    @property
    def _values(self) -> tuple[float, ...]:
        return tuple(_number(value) for value in self.levels)

    @property
    def _words(self) -> dict[str, str]:
        ordered = sorted(self.levels.items(), key=lambda level: _number(level[0]))
        return {
            "criterion": self.question.strip() or self.name,
            "levels": "\n".join(f"{_number(value):g}: {' '.join(text.split())}" for value, text in ordered),
            "metric": self.name,
        }


def _number(value: Any) -> float:
    """A level's value; NaN if it is not a number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


@takes_model
@dataclass(frozen=True, slots=True)
class Guideline(CaseScorer):
    """The share of guidelines that an answer follows; it passes if it follows all.

    One call judges each guideline in turn. Where the verdict on one of them cannot be read the score is unparsed, with
    bounds in `detail`: no share is computed over fewer guidelines.

    Args:
        guidelines: each a sentence that an answer keeps to or not: "Names its sources."
        name: of the score.
        template: a prompt of your own; may use `{{question}}` and `{{answer}}` (both fenced), `{{guidelines}}`
            (numbered), `{{count}}` and `{{mark}}`.
    """

    short_key: ClassVar[str] = "guidelines"

    asks: ClassVar[Mapping[str, PromptForm]] = {
        "guideline": PromptForm(("question", "answer"), ("guidelines", "count"))
    }
    shows_images: ClassVar[bool] = True

    guidelines: Annotated[tuple[str, ...], TextList(1, 50), own_words] = ()
    name: ScoreName = "guideline"
    template: Path | str = ""

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """The share of guidelines that the answer follows; it passes with all of them."""
        return (ScoreInfo(self.name, (0.0, 1.0), threshold=1.0),)

    @property
    def stage_info(self) -> StageInfo:
        """The mock reply of a dry run: every guideline is followed."""
        return StageInfo(mock_reply="\n".join(f"{no}. YES: kept." for no in range(1, len(self.guidelines) + 1)))

    def case(self, sample: Sample, output: Output) -> Case | Score:
        """An answer and all guidelines."""
        if refused_before(output):
            return no_answer(self.name)
        question, answer, count = transcript_of(sample.input), answer_of(output), len(self.guidelines)
        values = {
            "question": question,
            "answer": answer,
            "guidelines": "\n".join(
                f"{no}. {' '.join(guideline.split())}" for no, guideline in enumerate(self.guidelines, start=1)
            ),
            "count": str(count),
        }
        language = self.judge.language_for(question, answer)
        return Case(self.name, language, values, numbered(count, TOKENS_EACH * count), at_least(1))

    def scores(self, case: Case, repeats: Repeats) -> Score:
        """The share of guidelines that are followed, with the verdict on each."""
        return scored(case, repeats, self._detail(repeats))

    def _detail(self, repeats: Sequence[Sequence[Verdict]]) -> dict[str, Any]:
        """Each guideline with its verdict and reason, and the bounds of the share where some verdicts are unparsed."""
        detail: dict[str, Any] = {
            "guidelines": [
                _line(guideline, verdict) | ({"repeat": no} if len(repeats) > 1 else {})
                for no, verdicts in enumerate(repeats, start=1)
                for guideline, verdict in zip(self.guidelines, verdicts, strict=True)
            ]
        }
        if all(any(verdict.value is None for verdict in verdicts) for verdicts in repeats):
            followed, count = count_yes(repeats[0]), len(self.guidelines)
            unparsed = sum(verdict.value is None for verdict in repeats[0])
            detail |= {
                "kept": followed,
                "unread": unparsed,
                "bounds": [followed / count, (followed + unparsed) / count],
            }
        return detail


def _line(guideline: str, verdict: Verdict) -> dict[str, Any]:
    read = verdict.value is not None
    return {"guideline": guideline, "verdict": verdict.label if read else "", "reason": verdict.reason if read else ""}


MOST_EXAMPLES: Final = 20
_SHOWN: Final = 60


def _infos(name: str) -> tuple[ScoreInfo, ...]:
    return (ScoreInfo(name, (0.0, 1.0), threshold=1.0, labels=("free of it", "has the error")),)


@takes_model
@dataclass(frozen=True, slots=True)
class ErrorJudge(CaseScorer):
    """Whether an answer is free of one kind of error, by a judge: 1 or 0.

    Args:
        name: of the score.
        definition: what belongs to this kind of error, and what does not.
        examples: of the error, at most 20: an answer that has it, or a note on one. They must not be records that the
            judge is measured on.
        template: a prompt of your own; may use `{{question}}`, `{{contexts}}`, `{{answer}}`, `{{examples}}` (all
            fenced; what is not there is empty), `{{definition}}` and `{{mark}}`.
    """

    stage_info: ClassVar[StageInfo] = StageInfo(mock_reply="Verdict: NO")
    asks: ClassVar[Mapping[str, PromptForm]] = {
        "error_code": PromptForm(("question", "contexts", "answer", "examples"), ("definition",), shared=("examples",))
    }

    name: ScoreName = ""
    definition: Annotated[str, Filled("describe in words this kind of error"), own_words] = ""
    examples: Annotated[tuple[str, ...], TextList(most=MOST_EXAMPLES), own_words] = ()
    template: Path | str = ""

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """One share: 1 is free of the error."""
        return _infos(self.name)

    def case(self, sample: Sample, output: Output) -> Case | Score:
        """An answer, with what it was made from."""
        if refused_before(output):
            return no_answer(self.name)
        question, answer = transcript_of(sample.input), answer_of(output)
        values = {
            "question": question,
            "contexts": "\n\n".join(contexts_of(sample, output)),
            "answer": answer,
            "examples": "\n".join(f"- {' '.join(text.split())}" for text in self.examples),
            "definition": self.definition.strip(),
        }
        form = yes_or_no(REASON_TOKENS, _read)
        return Case(self.name, self.judge.language_for(question, answer), values, form, is_most)

    def scores(self, case: Case, repeats: Repeats) -> Score:
        """The score; of repeats their majority, and a draw counts as the error."""
        return majority(scored(case, repeats), len(repeats))


def _read(reply: Reply) -> Verdict:
    """The verdict of one reply, turned round: the judge says YES where the answer has the error."""
    verdict = yes_no_in(reply)
    if verdict.value is None:
        return verdict
    return replace(verdict, value=1.0 - verdict.value, label="free of it" if verdict.value == 0 else "has the error")


@dataclass(frozen=True, slots=True)
class ErrorPattern:
    r"""Whether an answer is free of one kind of error, by a regular expression that finds the error: 1 or 0.

    Args:
        name: of the score.
        pattern: the regular expression; where it is found, the answer has the error.
        flags: as of `regex`.
        timeout_s: likewise.

    >>> ErrorPattern("apology", r"(?i)\bsorry\b")(Sample("1", "When?"), Output("Sorry, I cannot say.")).value
    0.0
    """

    stage_info: ClassVar[StageInfo] = INLINE

    name: ScoreName
    pattern: str
    flags: tuple[Flag, ...] = ()
    timeout_s: float = TIMEOUT_S

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """One share: 1 is free of the error."""
        return _infos(self.name)

    def check(self) -> None:
        """Check the settings.

        Raises:
            ConfigError: a pattern, flag or time limit that cannot be used.
        """
        check_options(Regex(self.pattern, flags=self.flags, timeout_s=self.timeout_s))

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Look for the error in one output."""
        del sample
        if (score := unscored(self.name, "", output)) is not None:
            return score
        try:
            match = compile_pattern(self.pattern, self.flags).search(text_of(output), timeout=self.timeout_s)
        except TimeoutError:
            return undecided(self.name, f"the pattern was not decided within {self.timeout_s:g} s")
        reason = f"found {match[0][:_SHOWN]!r}" if match else "the pattern is not found"
        return Score(self.name, float(match is None), passed=match is None, reason=reason)
