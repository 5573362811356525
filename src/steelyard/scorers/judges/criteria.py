"""Judges by criteria of the user's own: a rubric of described levels, or a list of guidelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any, ClassVar, Final

from steelyard.errors import ConfigError, expect_number
from steelyard.prompts.conversation import transcript_of
from steelyard.prompts.fenced_prompt import FencedPrompt, prompts_manifest
from steelyard.prompts.template import refuse_file_names
from steelyard.replies.answer_text import answer_of
from steelyard.replies.rating import read_rating
from steelyard.replies.verdict import Scale, Verdict
from steelyard.scorers.judges.judge import (
    Judge,
    combined_verdict,
    contexts_of,
    no_answer,
    not_applicable,
    read_numbered,
    reference_of,
    score_of,
    takes_model,
    unless_stopped,
)
from steelyard.session.replies import refused_before
from steelyard.types import PASSAGES, Asks, Output, Reply, Sample, Score, ScoreInfo, StageInfo

_UNNAMED: Final = "rubric"
_REASON_TOKENS: Final = 512
_FENCED: Final = ("question", "contexts", "reference", "answer")


@takes_model
@dataclass(frozen=True, slots=True)
class Rubric:
    """A rating of an answer on levels that are each described in words.

    Args:
        judge: the model that judges.
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
        system: a system message before it, as a text or a file, which may name the same values.
    """

    judge: Judge = Judge()
    name: str = _UNNAMED
    question: str = ""
    levels: Mapping[str, str] = field(default_factory=dict)
    allow_between: bool = False
    reference: bool = False
    contexts: bool = False
    threshold: float | None = None
    template: Path | str = ""
    system: Path | str = ""

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
        """Check the settings.

        Raises:
            ConfigError: no name, fewer than two levels, one that is not a number or has no description, a threshold off
                the scale, or a prompt that cannot be trusted.
        """
        if not self.name.strip() or not self.name.isprintable():
            raise ConfigError(f"name: a score has a printable name, not {self.name!r}")
        if not self.question.strip() and self.name == _UNNAMED:
            raise ConfigError("question: describe what is judged, or give the rubric a name that describes it")
        self._check_levels()
        refuse_file_names(question=self.question, levels=self.levels)
        if self.threshold is not None:
            expect_number("threshold", self.threshold, min(self._values), max(self._values))
        self._prompt.check()

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

    @property
    def prompts(self) -> dict[str, FencedPrompt]:
        """The prompts that are sent, by their names in the manifest."""
        return {"rubric": self._prompt}

    def manifest(self) -> dict[str, Any]:
        """The prompts and their hashes."""
        return prompts_manifest(**self.prompts)

    async def __call__(self, sample: Sample, output: Output, ask: Asks) -> Score:
        """Judge one answer."""
        contexts = contexts_of(sample, output) if self.contexts else ()
        reference = reference_of(sample) if self.reference else ""
        if self.reference and not reference:
            return not_applicable(self.name, "the sample has no reference")
        if refused_before(output):
            return no_answer(self.name)
        if self.contexts and not contexts:
            return not_applicable(self.name, "there are no contexts", lacks=PASSAGES)
        shown = {
            "question": transcript_of(sample.input),
            "contexts": "\n\n".join(contexts),
            "reference": reference,
            "answer": answer_of(output),
        }
        language = self.judge.language_for(shown["question"], shown["answer"])
        messages = self._prompt.messages(language, {**shown, **self._words})
        messages = self.judge.shown_images(messages, sample)
        threshold = self.threshold
        return score_of(
            self.name,
            await self.judge.verdicts(
                ask, messages, self._read, schema=self.judge.rating_schema(), max_tokens=_REASON_TOKENS
            ),
            candidate=shown["answer"],
            passes=None if threshold is None else lambda value: value >= threshold,
        )

    def _read(self, reply: Reply) -> Verdict:
        """The rating in a reply; a value between two levels is out of scale unless `allow_between` is set."""
        scale = Scale(min(self._values), max(self._values))
        verdict = unless_stopped(read_rating(reply.text, scale, name=self.name, finish=reply.finish), reply)
        if verdict.value is None or self.allow_between or verdict.value in self._values:
            return verdict
        reason = f"{verdict.value:g} is not one of the levels. {verdict.reason}".strip()
        return replace(verdict, outcome="unparsed", value=None, kind="out_of_scale", reason=reason)

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

    @property
    def _prompt(self) -> FencedPrompt:
        return self.judge.prompt(
            "rubric", self.template, _FENCED, ("criterion", "levels", "metric"), system=self.system
        )


def _number(value: Any) -> float:
    """A level's value; NaN if it is not a number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


_MOST: Final = 50
_TOKENS_EACH: Final = 150
"""A verdict with its reason in one sentence takes about 40; Chinese takes more."""


@takes_model
@dataclass(frozen=True, slots=True)
class Guideline:
    """The share of guidelines that an answer follows; it passes if it follows all.

    One call judges each guideline in turn. Where the verdict on one of them cannot be read the score is unparsed, with
    bounds in `detail`: no share is computed over fewer guidelines.

    Args:
        judge: the model that judges.
        guidelines: each a sentence that an answer keeps to or not: "Names its sources."
        name: of the score.
        template: a prompt of your own; may use `{{question}}` and `{{answer}}` (both fenced), `{{guidelines}}`
            (numbered), `{{count}}` and `{{mark}}`.
        system: a system message before it, as a text or a file, which may name the same values.
    """

    short_key: ClassVar[str] = "guidelines"

    judge: Judge = Judge()
    guidelines: tuple[str, ...] = ()
    name: str = "guideline"
    template: Path | str = ""
    system: Path | str = ""

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """The share of guidelines that the answer follows; it passes with all of them."""
        return (ScoreInfo(self.name, (0.0, 1.0), threshold=1.0),)

    @property
    def stage_info(self) -> StageInfo:
        """The mock reply of a dry run: every guideline is followed."""
        return StageInfo(mock_reply="\n".join(f"{no}. YES: kept." for no in range(1, len(self.guidelines) + 1)))

    def check(self) -> None:
        """Check the settings.

        Raises:
            ConfigError: no name, no guideline or a blank one, or a prompt that cannot be trusted.
        """
        if not self.name.strip() or not self.name.isprintable():
            raise ConfigError(f"name: a score has a printable name, not {self.name!r}")
        guidelines: Any = self.guidelines  # a single text would be taken for a list of letters
        if not isinstance(guidelines, tuple | list) or not 0 < len(guidelines) <= _MOST:
            raise ConfigError(f"guidelines: a list of 1 to {_MOST} texts, not {guidelines!r:.80}")
        if not all(isinstance(text, str) and text.strip() for text in guidelines):
            raise ConfigError("guidelines: each must be a text that is not blank")
        refuse_file_names(guidelines=self.guidelines)
        self._prompt.check()

    @property
    def prompts(self) -> dict[str, FencedPrompt]:
        """The prompts that are sent, by their names in the manifest."""
        return {"guideline": self._prompt}

    def manifest(self) -> dict[str, Any]:
        """The prompts and their hashes."""
        return prompts_manifest(**self.prompts)

    async def __call__(self, sample: Sample, output: Output, ask: Asks) -> Score:
        """Judge one answer by all guidelines."""
        if refused_before(output):
            return no_answer(self.name)
        question, answer = transcript_of(sample.input), answer_of(output)
        count = len(self.guidelines)
        values = {
            "question": question,
            "answer": answer,
            "guidelines": "\n".join(
                f"{no}. {' '.join(guideline.split())}" for no, guideline in enumerate(self.guidelines, start=1)
            ),
            "count": str(count),
        }
        messages = self._prompt.messages(self.judge.language_for(question, answer), values)
        messages = self.judge.shown_images(messages, sample)
        read = partial(read_numbered, n=count)
        schema = self.judge.numbered_schema()
        repeats = await self.judge.verdicts(ask, messages, read, schema=schema, max_tokens=_TOKENS_EACH * count)
        return score_of(
            self.name,
            [combined_verdict(verdicts, _followed(verdicts) / count) for verdicts in repeats],
            candidate=answer,
            passes=lambda value: value >= 1,
            detail=self._detail(repeats),
        )

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
            followed, count = _followed(repeats[0]), len(self.guidelines)
            unparsed = sum(verdict.value is None for verdict in repeats[0])
            detail |= {
                "kept": followed,
                "unread": unparsed,
                "bounds": [followed / count, (followed + unparsed) / count],
            }
        return detail

    @property
    def _prompt(self) -> FencedPrompt:
        return self.judge.prompt(
            "guideline", self.template, ("question", "answer"), ("guidelines", "count"), system=self.system
        )


def _followed(verdicts: Sequence[Verdict]) -> int:
    return sum(verdict.value == 1 for verdict in verdicts)


def _line(guideline: str, verdict: Verdict) -> dict[str, Any]:
    read = verdict.value is not None
    return {"guideline": guideline, "verdict": verdict.label if read else "", "reason": verdict.reason if read else ""}
