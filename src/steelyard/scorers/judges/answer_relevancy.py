"""Does the answer answer the question, all of it and nothing else? Two yes-or-no questions in one call.

The questions (does it keep to the subject, does it give what was asked for) and their equal weight are those of
LlamaIndex' AnswerRelevancyEvaluator, whose 0 to 2 is 0, 0.5 and 1 here; the words of the prompt are ours. Deviations:
each verdict is read under its number, where LlamaIndex reads one digit of a sum; an answer that is true but says only
that it does not know gets nothing for the second. Reverse questions by cosine (Ragas) would need a model of embeddings
and reward an answer that repeats the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, Final

from steelyard.errors import expect_number
from steelyard.scorers.judges.judge import Judge
from steelyard.scorers.judges.numbered import read_numbered, together_read
from steelyard.scorers.judges.summing_up import no_answer, score_of
from steelyard.session.answers import answer_of, refused_before
from steelyard.text.fenced_prompt import FencedPrompt
from steelyard.text.prompt_files import question_of
from steelyard.text.rating import Verdict
from steelyard.types import Asks, Output, Sample, Score

_NAME: Final = "answer_relevancy"
_QUESTIONS: Final = 2


@dataclass(frozen=True, slots=True)
class AnswerRelevancy:
    """Whether an answer keeps to the question (half) and gives what was asked for (half): 0, 0.5 or 1.

    It needs no reference and no contexts, and does not ask whether the answer is true. A blank answer is 0; no call is
    made for it.

    Args:
        judge: who judges.
        threshold: the least value that passes, in [0, 1].
        template: the user's own prompt, which asks two questions numbered 1 and 2; it may name {{question}}, {{answer}}
            and {{mark}}.
    """

    score_name: ClassVar[str] = _NAME
    over: ClassVar[str] = "scored"
    rehearsal: ClassVar[str] = "1. YES\n2. YES"

    judge: Judge = Judge()
    threshold: float = 1.0
    template: Path | str = ""

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: a threshold outside [0, 1], or a prompt that cannot be used.
        """
        expect_number("threshold", self.threshold, 0, 1)
        self._prompt.check()

    def manifest(self) -> dict[str, Any]:
        """The words that are sent."""
        return {"prompts": {_NAME: self._prompt.manifest()}}

    async def __call__(self, sample: Sample, output: Output, ask: Asks) -> Score:
        """Judge one answer."""
        answer = answer_of(output)
        if refused_before(output):
            return no_answer(_NAME)
        if not answer.strip():
            return self._score([Verdict("scored", 0.0, form="blank", reason="the answer is blank")], answer)
        question = question_of(sample.input)
        values = {"question": question, "answer": answer}
        messages = self._prompt.messages(self.judge.language_for(question, answer), values)

        async def once() -> tuple[Verdict, ...]:
            return read_numbered(await self.judge.ask(ask, messages), _QUESTIONS)

        found = await self.judge.repeated(once)
        verdicts = [together_read(both, fmean(one.value or 0.0 for one in both)) for both in found]
        return self._score(verdicts, answer, [[one.label for one in both] for both in found])

    def _score(self, verdicts: Sequence[Verdict], answer: str, said: Sequence[Sequence[str]] = ()) -> Score:
        detail = {"verdicts": said[0] if len(said) == 1 else said} if said else {}
        return score_of(_NAME, verdicts, candidate=answer, passes=lambda value: value >= self.threshold, detail=detail)

    @property
    def _prompt(self) -> FencedPrompt:
        return FencedPrompt(f"judge_{_NAME}", self.template, fenced=("question", "answer"))
