"""Is the answer supported by the retrieved contexts? YES or NO, by create and refine.

The procedure is that of LlamaIndex' FaithfulnessEvaluator: the first window of contexts creates a verdict, each further
one refines it. Deviations: the verdict is read, never searched for as a substring ("No, yesterday's report ..." is
no); YES ends the procedure, since further contexts cannot take support away; the judge sees the question, without
which a short answer claims nothing; a further window comes with the reasons so far, so that two windows can support an
answer together; what cannot be read is no verdict, where LlamaIndex counts it as unsupported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final

from steelyard.scorers.judges.judge import Judge, together
from steelyard.scorers.judges.summing_up import contexts_of, nothing_to_support, score_of, unless_stopped
from steelyard.scorers.judges.windows import Window, check_window, windows
from steelyard.session.answers import answer_of
from steelyard.text.fenced_prompt import FencedPrompt
from steelyard.text.prompt_files import question_of
from steelyard.text.rating import Verdict, read_yes_no
from steelyard.types import Asks, Output, Sample, Score

_NAME: Final = "faithfulness"
_LONGEST_REASON: Final = 2000
"""Characters of the reasons so far that a further window is shown with."""


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """Whether an answer is supported by what was retrieved for it: 1 or 0.

    Without contexts, and for a blank answer, the question does not apply. A step that cannot be read counts only where
    no other says YES: it might have been YES itself, so the score is then unparsed. Of repeats the majority is taken; a
    draw is NO.

    Args:
        judge: who judges.
        window_tokens: estimated tokens of the contexts that one call shows, 50 or more; longer ones go on in further
            calls.
        template: the user's own prompt for the first window; it may name {{question}}, {{contexts}}, {{answer}} and
            {{mark}}.
        refine_template: the user's own prompt for each further window; it may also name {{reason}}: the reasons so far.
    """

    score_name: ClassVar[str] = _NAME
    over: ClassVar[str] = "scored"
    words: ClassVar[Mapping[str, tuple[str, str]]] = MappingProxyType({_NAME: ("supported", "unsupported")})
    rehearsal: ClassVar[str] = "NO"

    judge: Judge = Judge()
    window_tokens: int = 3000
    template: Path | str = ""
    refine_template: Path | str = ""

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: a window that holds nothing, or a prompt that cannot be used.
        """
        check_window(self.window_tokens)
        self._create.check()
        self._refine.check()

    def manifest(self) -> dict[str, Any]:
        """The words that are sent."""
        return {"prompts": {_NAME: self._create.manifest(), "faithfulness_refine": self._refine.manifest()}}

    async def __call__(self, sample: Sample, output: Output, ask: Asks) -> Score:
        """Judge one answer."""
        answer = answer_of(output)
        packed = windows(contexts_of(sample, output), self.window_tokens)
        if (unasked := nothing_to_support(_NAME, output, packed)) is not None:
            return unasked
        material = {"question": question_of(sample.input), "answer": answer}
        repeats: list[tuple[Verdict, ...]] = [()] * self.judge.repeats
        for window in packed:
            going = [no for no, steps in enumerate(repeats) if not _supported(steps)]
            calls = [partial(self._step, ask, material, window, repeats[no]) for no in going]
            for no, verdict in zip(going, await together(calls), strict=True):
                repeats[no] = (*repeats[no], verdict)
        trace = [entry for no, steps in enumerate(repeats, start=1) for entry in _trace(packed, steps, no)]
        if len(repeats) == 1:
            trace = [{key: value for key, value in entry.items() if key != "repeat"} for entry in trace]
        return self._score(repeats, answer, {"trace": trace})

    def _score(self, repeats: Sequence[Sequence[Verdict]], answer: str, detail: Mapping[str, Any]) -> Score:
        """The verdict; of repeats the majority, so that a rate stays one of yes and no."""
        verdicts = [_verdict(steps) for steps in repeats]
        score = score_of(_NAME, verdicts, candidate=answer, passes=lambda value: value > 1 / 2, detail=detail)
        if score.value is None or len(repeats) == 1:
            return score
        how = f"majority of {len(repeats)} repeats"
        return replace(score, value=float(score.value > 1 / 2), detail={**score.detail, "how": how})

    async def _step(self, ask: Asks, material: Mapping[str, str], window: Window, before: Sequence[Verdict]) -> Verdict:
        """The verdict with one window more. Where no earlier one was read there is none to refine."""
        so_far = next((one for one in reversed(before) if one.value is not None), None)
        values = {**material, "contexts": window.shown()}
        if so_far is not None:
            values["reason"] = so_far.reason[:_LONGEST_REASON]
        prompt = self._create if so_far is None else self._refine
        language = self.judge.language_for(*material.values())
        reply = await self.judge.ask(ask, prompt.messages(language, values))
        return unless_stopped(read_yes_no(reply.text, finish=reply.finish), reply)

    @property
    def _create(self) -> FencedPrompt:
        return FencedPrompt(f"judge_{_NAME}", self.template, fenced=("question", "contexts", "answer"))

    @property
    def _refine(self) -> FencedPrompt:
        fenced = ("question", "contexts", "answer", "reason")
        return FencedPrompt("judge_faithfulness_refine", self.refine_template, fenced=fenced)


def _supported(steps: Sequence[Verdict]) -> bool:
    return any(one.value == 1 for one in steps)


def _verdict(steps: Sequence[Verdict]) -> Verdict:
    """YES if any step says so; else the first that was not read, which might have; else the last NO."""
    yes = next((one for one in steps if one.value == 1), None)
    unread = next((one for one in steps if one.value is None), None)
    return yes or unread or steps[-1]


def _trace(packed: Sequence[Window], steps: Sequence[Verdict], repeat: int) -> list[dict[str, Any]]:
    """What each step saw and said."""
    return [
        {
            "repeat": repeat,
            "contexts": list(window.numbers),
            "verdict": step.label,
            "reason": step.reason[:_LONGEST_REASON],
            "outcome": step.outcome,
        }
        for window, step in zip(packed, steps, strict=False)
    ]
