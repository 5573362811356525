"""Which of the retrieved contexts are of use for the question, and do they come first? One verdict for each.

    context_relevance = contexts of use / contexts
    context_precision = sum over ranks k of (precision@k * v_k) / contexts of use,  v_k = 1 where context k is of use

Source of the second: Ragas, "Context Precision" (documentation of the metric, version 0.4), the average precision of
information retrieval over what was retrieved; Ragas divides by the number of contexts of use plus 1e-10, so that it is
0 where none is: so is ours. Deviations: one call judges all contexts of a window, where Ragas makes one for each;
neither the reference nor the answer is shown, so that the verdict is on the retrieval alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, Final

from steelyard.scorers.judges.judge import Judge, together
from steelyard.scorers.judges.numbered import read_numbered, together_read
from steelyard.scorers.judges.summing_up import contexts_of, not_applicable, score_of
from steelyard.scorers.judges.windows import Window, check_window, windows
from steelyard.text.fenced_prompt import FencedPrompt
from steelyard.text.language import Language
from steelyard.text.prompt_files import question_of
from steelyard.text.rating import Verdict
from steelyard.types import Asks, Output, Sample, Score

_NAMES: Final = ("context_relevance", "context_precision")
_BLANK: Final = Verdict("scored", 0.0, label="no", form="blank", reason="the context is blank")


@dataclass(frozen=True, slots=True)
class ContextRelevance:
    """The share of retrieved contexts that are of use, and whether those come first: two scores in [0, 1].

    It needs neither reference nor answer. Without contexts the question does not apply; where the verdict on one
    cannot be read, both scores are unparsed.

    Args:
        judge: who judges.
        window_tokens: estimated tokens of the contexts that one call shows, 50 or more; a context that does not fit one
            window is of use if a part of it is.
        template: the user's own prompt; it may name {{question}}, {{contexts}} (numbered from 1), {{count}} and
            {{mark}}.
    """

    score_names: ClassVar[tuple[str, ...]] = _NAMES
    over: ClassVar[str] = "scored"
    rehearsal: ClassVar[str] = "1. YES"

    judge: Judge = Judge()
    window_tokens: int = 3000
    template: Path | str = ""

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: a window that holds nothing, or a prompt that cannot be used.
        """
        check_window(self.window_tokens)
        self._prompt.check()

    def manifest(self) -> dict[str, Any]:
        """The words that are sent."""
        return {"prompts": {"context_relevance": self._prompt.manifest()}}

    async def __call__(self, sample: Sample, output: Output, ask: Asks) -> Sequence[Score]:
        """Judge what was retrieved for one question."""
        contexts = contexts_of(sample, output)
        packed = windows(contexts, self.window_tokens)
        if not packed:
            return [not_applicable(name, "there are no contexts") for name in _NAMES]
        question = question_of(sample.input)
        language = self.judge.language_for(question)
        calls = [partial(self._judge, ask, (question, language), window) for window in packed] * self.judge.repeats
        replies = await together(calls)
        starts = range(0, len(replies), len(packed))
        repeats = [_by_context(len(contexts), packed, replies[start : start + len(packed)]) for start in starts]
        candidate, detail = "\n\n".join(contexts), {"contexts": _listed(repeats)}

        def score(name: str, value: Callable[[Sequence[float]], float]) -> Score:
            verdicts = [together_read(one, value([each.value or 0.0 for each in one])) for one in repeats]
            return score_of(name, verdicts, candidate=candidate, detail=detail)

        return [score("context_relevance", fmean), score("context_precision", average_precision)]

    async def _judge(self, ask: Asks, about: tuple[str, Language], window: Window) -> tuple[Verdict, ...]:
        question, language = about
        count = len(window.numbers)
        values = {"question": question, "contexts": window.renumbered().shown(), "count": str(count)}
        return read_numbered(await self.judge.ask(ask, self._prompt.messages(language, values)), count)

    @property
    def _prompt(self) -> FencedPrompt:
        return FencedPrompt("judge_context_relevance", self.template, fenced=("question", "contexts"), plain=("count",))


def average_precision(of_use: Sequence[float]) -> float:
    """Mean of precision@k over the ranks k that are of use; 0 where none is.

    Args:
        of_use: 1 or 0 by rank.

    Ranks 1 and 3 of use: (1/1 + 2/3) / 2.

    >>> round(average_precision([1, 0, 1]), 4), average_precision([0, 0])
    (0.8333, 0.0)
    """
    ranks = [rank for rank, value in enumerate(of_use, start=1) if value]
    return fmean(hits / rank for hits, rank in enumerate(ranks, start=1)) if ranks else 0.0


def _by_context(n: int, packed: Sequence[Window], replies: Sequence[Sequence[Verdict]]) -> tuple[Verdict, ...]:
    """One verdict for each context: of its parts the first YES, else the first that was not read, else NO."""
    found: dict[int, list[Verdict]] = {number: [] for number in range(1, n + 1)}
    for window, verdicts in zip(packed, replies, strict=True):
        for number, verdict in zip(window.numbers, verdicts, strict=True):
            found[number].append(verdict)
    return tuple(_of_parts(parts) for parts in found.values())


def _of_parts(parts: Sequence[Verdict]) -> Verdict:
    yes = next((one for one in parts if one.value == 1), None)
    unread = next((one for one in parts if one.value is None), None)
    return yes or unread or (parts[0] if parts else _BLANK)


def _listed(repeats: Sequence[Sequence[Verdict]]) -> list[dict[str, Any]]:
    """Each context's verdict, "" where none was read."""
    return [
        {"context": number, "verdict": one.label, "reason": one.reason if one.label else ""}
        | ({"repeat": no} if len(repeats) > 1 else {})
        for no, verdicts in enumerate(repeats, start=1)
        for number, one in enumerate(verdicts, start=1)
    ]
