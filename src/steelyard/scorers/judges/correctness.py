"""Is the answer right, by a reference answer? One holistic verdict from 1 to 5 with reasoning.

The rule (not relevant to the query: 1; relevant with mistakes: 2 to 3; relevant and fully correct: 4 to 5; passing from
4.0 on) is that of LlamaIndex' CorrectnessEvaluator; the words of the prompt are ours. Deviations: the rating is found
anywhere in a reply, not only in its first line; a rating outside the scale is unparsed; without a reference the
question does not apply, where LlamaIndex judges against a placeholder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final

from steelyard.errors import expect_number
from steelyard.prompts.conversation import transcript_of
from steelyard.prompts.fenced_prompt import FencedPrompt, prompts_manifest
from steelyard.replies.answer_text import answer_of
from steelyard.replies.rating import read_rating
from steelyard.replies.verdict import Scale, Verdict
from steelyard.scorers.judges.judge import (
    Judge,
    no_answer,
    not_applicable,
    reference_of,
    score_of,
    takes_model,
    unless_stopped,
)
from steelyard.session.replies import refused_before
from steelyard.types import Asks, Output, Reply, Sample, Score, ScoreInfo, StageInfo

_SCALE: Final = Scale(1, 5)
_BETWEEN: Final = MappingProxyType({"en": "\nOR\n", "zh": "\n或\n"})
_NAMES: Final = ("correctness", "correct")


@takes_model
@dataclass(frozen=True, slots=True)
class Correctness:
    """Correctness of an answer against its reference: `correctness` from 1 to 5; `correct` is 1 if that passes, else 0.

    A sample without a reference is not applicable; a list of references holds alternatives. A blank answer is 1, since
    it answers nothing; no call is made for it.

    Args:
        judge: the model that judges.
        threshold: the least rating that passes.
        template: the user's own prompt; it may name {{question}}, {{reference}} (alternatives are parted by a line OR,
            in Chinese 或), {{answer}} and {{mark}}.
        system: a system message before it, as a text or a file, which may name the same values.
    """

    short_key: ClassVar[str] = "value"
    stage_info: ClassVar[StageInfo] = StageInfo(mock_reply="5")

    judge: Judge = Judge()
    threshold: float = 4.0
    template: Path | str = ""
    system: Path | str = ""

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """The rating, and whether it passes."""
        return (
            ScoreInfo("correctness", (_SCALE.low, _SCALE.high), threshold=self.threshold, histogram=True),
            ScoreInfo("correct", (0.0, 1.0), threshold=1.0, labels=("right", "wrong")),
        )

    def check(self) -> None:
        """Check the settings.

        Raises:
            ConfigError: a threshold off the scale, or a prompt that cannot be used.
        """
        expect_number("threshold", self.threshold, _SCALE.low, _SCALE.high)
        self._prompt.check()

    @property
    def prompts(self) -> dict[str, FencedPrompt]:
        """The prompts that are sent, by their names in the manifest."""
        return {"correctness": self._prompt}

    def manifest(self) -> dict[str, Any]:
        """The prompts and their hashes."""
        return prompts_manifest(**self.prompts)

    async def __call__(self, sample: Sample, output: Output, ask: Asks) -> Sequence[Score]:
        """Judge one answer."""
        answer = answer_of(output)
        if not reference_of(sample):
            return [not_applicable(name, "the sample has no reference answer") for name in _NAMES]
        if refused_before(output):
            return [no_answer(name) for name in _NAMES]
        if not answer.strip():
            return self._scores([Verdict("scored", _SCALE.low, form="blank", reason="the answer is blank")], answer)
        question = transcript_of(sample.input)
        language = self.judge.language_for(question, answer)
        values = {
            "question": question,
            "reference": reference_of(sample, between=_BETWEEN[language]),
            "answer": answer,
        }
        messages = self._prompt.messages(language, values)
        messages = self.judge.shown_images(messages, sample)
        verdicts = await self.judge.verdicts(ask, messages, _rating_in, schema=self.judge.rating_schema())
        return self._scores(verdicts, answer)

    def _scores(self, verdicts: Sequence[Verdict], answer: str) -> list[Score]:
        """Both scores; with repeats `correct` follows from the mean rating, so that it is still 1 or 0."""
        rated = score_of("correctness", verdicts, candidate=answer, passes=lambda value: value >= self.threshold)
        value = None if rated.passed is None else float(rated.passed)
        detail = {key: rated.detail[key] for key in ("kind", "verdict_like") if key in rated.detail}
        passed = Score("correct", value, rated.passed, rated.outcome, reason=rated.reason, detail=detail)
        return [rated, passed]

    @property
    def _prompt(self) -> FencedPrompt:
        return self.judge.prompt(
            "correctness", self.template, fenced=("question", "reference", "answer"), system=self.system
        )


def _rating_in(reply: Reply) -> Verdict:
    return unless_stopped(read_rating(reply.text, _SCALE, finish=reply.finish), reply)
