"""A rubric: one holistic verdict by levels that are described in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any, ClassVar, Final

from steelyard.errors import ConfigError, expect_number
from steelyard.scorers.judges.judge import Judge
from steelyard.scorers.judges.summing_up import (
    contexts_of,
    no_answer,
    not_applicable,
    reference_of,
    score_of,
    unless_stopped,
)
from steelyard.session.answers import answer_of, refused_before
from steelyard.text.fenced_prompt import FencedPrompt
from steelyard.text.prompt_files import question_of
from steelyard.text.rating import Scale, Verdict, read_rating
from steelyard.types import Asks, Output, Reply, Sample, Score

_UNNAMED: Final = "rubric"
_REASON_TOKENS: Final = 512
_FENCED: Final = ("question", "contexts", "reference", "answer")


@dataclass(frozen=True, slots=True)
class Rubric:
    """Which of several levels, each described in words, an answer reaches.

    Args:
        judge: the model that judges.
        name: of the score.
        question: what is judged: "Is the tone right for a complaint?". Empty: the name says it.
        levels: value -> description, two or more: `{"1": "curt or rude", "3": "civil", "5": "warm and to the point"}`.
            Values may have decimals; the highest is the best.
        between: whether a value between two levels may be given; else such a rating is out of scale.
        reference: whether the judge sees the sample's reference; samples without one are not applicable then.
        contexts: whether it sees the passages that the answer was made from; likewise.
        threshold: the lowest score that passes; null: nothing passes or fails.
        template: a prompt of your own; may use `{{question}}`, `{{contexts}}`, `{{reference}}`, `{{answer}}` (all
            fenced; what is not shown is empty), `{{criterion}}` (what is judged), `{{levels}}`, `{{metric}}` and
            `{{mark}}`.
    """

    over: ClassVar[str] = "scored"

    judge: Judge = Judge()
    name: str = _UNNAMED
    question: str = ""
    levels: Mapping[str, str] = field(default_factory=dict)
    between: bool = False
    reference: bool = False
    contexts: bool = False
    threshold: float | None = None
    template: Path | str = ""

    @property
    def score_name(self) -> str:
        """The rubric's name."""
        return self.name

    @property
    def scales(self) -> Mapping[str, tuple[float, float]]:
        """The lowest and the highest level."""
        return {self.name: (min(self._values), max(self._values))}

    @property
    def spread(self) -> tuple[str, ...]:
        """The score, which reports show as a histogram."""
        return (self.name,)

    @property
    def rehearsal(self) -> str:
        """A reply that can be read."""
        return f"{max(self._values):g}"

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: no name, fewer than two levels, one that is no number or has no description, a threshold off
                the scale, or a prompt that cannot be trusted.
        """
        if not self.name.strip() or not self.name.isprintable():
            raise ConfigError(f"name: a score has a printable name, not {self.name!r}")
        if not self.question.strip() and self.name == _UNNAMED:
            raise ConfigError("question: say what is judged, or give the rubric a name that says it")
        self._check_levels()
        if self.threshold is not None:
            expect_number("threshold", self.threshold, min(self._values), max(self._values))
        self._prompt.check()

    def _check_levels(self) -> None:
        if len(self.levels) < 2:
            raise ConfigError('levels: two or more, as {"1": "what makes a 1", "5": "what makes a 5"}')
        for value, text in self.levels.items():
            if not isfinite(_number(value)):
                raise ConfigError(f"levels: {value!r} is no number")
            if not isinstance(text, str) or not text.strip():
                raise ConfigError(f"levels: {value} needs a description")
        if len(set(self._values)) < len(self.levels):
            raise ConfigError("levels: the same value is described twice")

    def manifest(self) -> dict[str, Any]:
        """The prompt and its hash."""
        return {"prompts": {"rubric": self._prompt.manifest()}}

    async def __call__(self, sample: Sample, output: Output, ask: Asks) -> Score:
        """Judge one answer."""
        contexts = contexts_of(sample, output) if self.contexts else ()
        reference = reference_of(sample) if self.reference else ""
        if self.reference and not reference:
            return not_applicable(self.name, "the sample has no reference")
        if refused_before(output):
            return no_answer(self.name)
        if self.contexts and not contexts:
            return not_applicable(self.name, "there are no contexts")
        shown = {
            "question": question_of(sample.input),
            "contexts": "\n\n".join(contexts),
            "reference": reference,
            "answer": answer_of(output),
        }
        language = self.judge.language_for(shown["question"], shown["answer"])
        messages = self._prompt.messages(language, {**shown, **self._words})

        async def once() -> Verdict:
            return self._read(await self.judge.ask(ask, messages, max_tokens=_REASON_TOKENS))

        threshold = self.threshold
        return score_of(
            self.name,
            await self.judge.repeated(once),
            candidate=shown["answer"],
            passes=None if threshold is None else lambda value: value >= threshold,
        )

    def _read(self, reply: Reply) -> Verdict:
        """The rating in one reply; one between the levels is out of scale unless it is allowed."""
        scale = Scale(min(self._values), max(self._values))
        verdict = unless_stopped(read_rating(reply.text, scale, name=self.name, finish=reply.finish), reply)
        if verdict.value is None or self.between or verdict.value in self._values:
            return verdict
        reason = f"{verdict.value:g} is none of the levels. {verdict.reason}".strip()
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
        return FencedPrompt("judge_rubric", self.template, _FENCED, ("criterion", "levels", "metric"))


def _number(value: Any) -> float:
    """A level's value; NaN where it is none."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
