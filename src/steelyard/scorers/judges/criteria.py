"""Judges by criteria of the user's own: a rubric of described levels, or a list of guidelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

from steelyard.constraints import ScoreName, TextList
from steelyard.errors import ConfigError, expect_number
from steelyard.prompts.conversation import transcript_of
from steelyard.prompts.template import OwnWords, own_words, refuse_file_names
from steelyard.replies.answer_text import answer_of
from steelyard.replies.judge_reply import Scale, Verdict
from steelyard.scorers.judges.declared import (
    REASON_TOKENS,
    TOKENS_EACH,
    AskingScorer,
    Case,
    PromptForm,
    Repeats,
    at_least,
    count_yes,
    numbered,
    rating,
    scored,
)
from steelyard.scorers.judges.judge import takes_model
from steelyard.scorers.judges.verdicts import contexts_of, no_answer, not_applicable, reference_of
from steelyard.session.replies import refused_before
from steelyard.types import PASSAGES, Output, Sample, Score, ScoreInfo, StageInfo

_UNNAMED: Final = "rubric"


@takes_model
@dataclass(frozen=True, slots=True)
class Rubric(AskingScorer):
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
        self._check_levels()
        if self.threshold is not None:
            expect_number("threshold", self.threshold, min(self._values), max(self._values))
        AskingScorer.check(self)

    def _check_levels(self) -> None:
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
class Guideline(AskingScorer):
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
