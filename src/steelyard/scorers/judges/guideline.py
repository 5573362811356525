"""Guidelines: does an answer keep to each of them?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from steelyard.errors import ConfigError
from steelyard.scorers.judges.judge import Judge
from steelyard.scorers.judges.numbered import read_numbered, together_read
from steelyard.scorers.judges.summing_up import no_answer, score_of
from steelyard.session.answers import answer_of, refused_before
from steelyard.text.fenced_prompt import FencedPrompt
from steelyard.text.prompt_files import question_of
from steelyard.text.rating import Verdict
from steelyard.types import Asks, Output, Sample, Score

_MOST: Final = 50
_TOKENS_EACH: Final = 150
"""A verdict with its reason in one sentence takes about 40; Chinese takes more."""


@dataclass(frozen=True, slots=True)
class Guideline:
    """The share of guidelines that an answer keeps to; it passes where it keeps to all.

    One call judges each guideline in turn. Where the verdict on one of them cannot be read the score is unparsed, with
    bounds in `detail`: a share is never one of fewer guidelines.

    Args:
        judge: the model that judges.
        guidelines: each a sentence that an answer keeps to or not: "Names its sources."
        name: of the score.
        template: a prompt of your own; may use `{{question}}` and `{{answer}}` (both fenced), `{{guidelines}}`
            (numbered), `{{count}}` and `{{mark}}`.
    """

    over: ClassVar[str] = "scored"

    judge: Judge = Judge()
    guidelines: tuple[str, ...] = ()
    name: str = "guideline"
    template: Path | str = ""

    @property
    def score_name(self) -> str:
        """The name given."""
        return self.name

    @property
    def rehearsal(self) -> str:
        """A reply that can be read."""
        return "\n".join(f"{no}. YES: kept." for no in range(1, len(self.guidelines) + 1))

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: no name, no guideline or a blank one, or a prompt that cannot be trusted.
        """
        if not self.name.strip() or not self.name.isprintable():
            raise ConfigError(f"name: a score has a printable name, not {self.name!r}")
        given: Any = self.guidelines  # a single text would be taken for a list of letters
        if not isinstance(given, tuple | list) or not 0 < len(given) <= _MOST:
            raise ConfigError(f"guidelines: a list of 1 to {_MOST} texts, not {given!r:.80}")
        if not all(isinstance(one, str) and one.strip() for one in given):
            raise ConfigError("guidelines: each is a text that says something")
        self._prompt.check()

    def manifest(self) -> dict[str, Any]:
        """The prompt and its hash."""
        return {"prompts": {"guideline": self._prompt.manifest()}}

    async def __call__(self, sample: Sample, output: Output, ask: Asks) -> Score:
        """Judge one answer by all guidelines."""
        if refused_before(output):
            return no_answer(self.name)
        question, answer = question_of(sample.input), answer_of(output)
        count = len(self.guidelines)
        values = {
            "question": question,
            "answer": answer,
            "guidelines": "\n".join(
                f"{no}. {' '.join(one.split())}" for no, one in enumerate(self.guidelines, start=1)
            ),
            "count": str(count),
        }
        messages = self._prompt.messages(self.judge.language_for(question, answer), values)

        async def once() -> tuple[Verdict, ...]:
            return read_numbered(await self.judge.ask(ask, messages, max_tokens=_TOKENS_EACH * count), count)

        repeats = await self.judge.repeated(once)
        return score_of(
            self.name,
            [together_read(one, _kept(one) / count) for one in repeats],
            candidate=answer,
            passes=lambda value: value >= 1,
            detail=self._told(repeats),
        )

    def _told(self, repeats: Sequence[Sequence[Verdict]]) -> dict[str, Any]:
        """Each guideline with its verdict and the reason for it, and what the share may be where some are unread."""
        told: dict[str, Any] = {
            "guidelines": [
                _line(guideline, verdict) | ({"repeat": no} if len(repeats) > 1 else {})
                for no, verdicts in enumerate(repeats, start=1)
                for guideline, verdict in zip(self.guidelines, verdicts, strict=True)
            ]
        }
        if all(any(one.value is None for one in verdicts) for verdicts in repeats):
            kept, count = _kept(repeats[0]), len(self.guidelines)
            unread = sum(one.value is None for one in repeats[0])
            told |= {"kept": kept, "unread": unread, "bounds": [kept / count, (kept + unread) / count]}
        return told

    @property
    def _prompt(self) -> FencedPrompt:
        return FencedPrompt("judge_guideline", self.template, ("question", "answer"), ("guidelines", "count"))


def _kept(verdicts: Sequence[Verdict]) -> int:
    return sum(one.value == 1 for one in verdicts)


def _line(guideline: str, verdict: Verdict) -> dict[str, Any]:
    read = verdict.value is not None
    return {"guideline": guideline, "verdict": verdict.label if read else "", "reason": verdict.reason if read else ""}
