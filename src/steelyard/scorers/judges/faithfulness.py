"""Is the answer supported by the retrieved contexts, as a whole? `judges.claims` asks it claim by claim.

`Faithfulness` gives one YES or NO by create and refine. The procedure is that of LlamaIndex' FaithfulnessEvaluator: the
first window of contexts creates a verdict, each further one refines it. Deviations: the verdict is parsed, never
searched for as a substring ("No, yesterday's report ..." is no); YES ends the procedure, since further contexts cannot
take support away; the judge sees the question, without which a short answer claims nothing; a further window comes with
the reasons so far, so that two windows can support an answer together; a reply that cannot be parsed has no verdict,
where LlamaIndex counts it as unsupported; of an answer for which nothing was retrieved the judge is asked whether it
claims anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

from steelyard.prompts.conversation import transcript_of
from steelyard.replies.answer_text import answer_of
from steelyard.replies.judge_reply import Verdict
from steelyard.scorers.judges.declared import (
    LONGEST_REASON,
    AskingScorer,
    PromptForm,
    claims_nothing,
    claims_without_passages,
    contexts_of,
    is_most,
    majority,
    nothing_to_support,
    score_of,
    yes_no_in,
)
from steelyard.scorers.judges.judge import takes_model, together
from steelyard.scorers.judges.windows import ContextWindow, WindowTokens, windows
from steelyard.types import Asks, Output, Sample, Score, ScoreInfo, StageInfo

_NAME: Final = "faithfulness"
_REFINE: Final = "faithfulness_refine"
_CLAIMS: Final = "answer_claims"


@takes_model
@dataclass(frozen=True, slots=True)
class Faithfulness(AskingScorer):
    """Whether an answer is supported by what was retrieved for it: 1 or 0.

    For a blank answer, and for an abstention for which nothing was retrieved, the question does not apply. An answer
    that claims something though nothing was retrieved is 0; if no output of the run has contexts, the target does not
    return them, and the question applies to none. A step that cannot be read counts only where no other says YES: it
    might have been YES itself, so the score is then unparsed. Of repeats the majority is taken; a draw is NO.

    Args:
        window_tokens: estimated tokens of the contexts that one call shows, 50 or more; longer ones go on in further
            calls.
        template: the user's own prompt for the first window; it may name {{question}}, {{contexts}}, {{answer}} and
            {{mark}}.
        refine_template: the user's own prompt for each further window; it may also name {{reason}}, the reasons so far,
            and {{existing_answer}}, YES or NO.
    """

    score_infos: ClassVar[tuple[ScoreInfo, ...]] = (
        ScoreInfo(_NAME, (0.0, 1.0), threshold=1.0, labels=("supported", "unsupported")),
    )
    stage_info: ClassVar[StageInfo] = StageInfo(mock_reply="NO")

    asks: ClassVar[Mapping[str, PromptForm]] = {
        _NAME: PromptForm(("question", "contexts", "answer")),
        _REFINE: PromptForm(
            ("question", "contexts", "answer", "reason"), ("existing_answer",), template="refine_template"
        ),
        _CLAIMS: PromptForm(("question", "answer"), template="", system=False),
    }

    window_tokens: WindowTokens = 3000
    template: Path | str = ""
    refine_template: Path | str = ""

    async def __call__(self, sample: Sample, output: Output, ask: Asks) -> Score:
        """Judge one answer."""
        answer = answer_of(output)
        packed = windows(contexts_of(sample, output), self.window_tokens)
        if (unjudged := nothing_to_support(_NAME, output, packed)) is not None:
            return unjudged
        material = {"question": transcript_of(sample.input), "answer": answer}
        if not packed:
            return await self._without_passages(ask, material)
        repeats: list[tuple[Verdict, ...]] = [()] * self.judge.repeats
        for window in packed:
            unsettled = [no for no, steps in enumerate(repeats) if not any(step.value == 1 for step in steps)]
            calls = [partial(self._step, ask, material, window, repeats[no]) for no in unsettled]
            for no, verdict in zip(unsettled, await together(calls), strict=True):
                repeats[no] = (*repeats[no], verdict)
        trace = [entry for no, steps in enumerate(repeats, start=1) for entry in _trace(packed, steps, no)]
        if len(repeats) == 1:
            trace = [{key: value for key, value in entry.items() if key != "repeat"} for entry in trace]
        return self._score(repeats, answer, {"trace": trace})

    async def _without_passages(self, ask: Asks, material: Mapping[str, str]) -> Score:
        """0 for an answer that claims something; a draw of repeats is a claim."""
        messages = self.prompts[_CLAIMS].messages(self.judge.language_for(*material.values()), material)
        claims = await self.judge.verdicts(ask, messages, yes_no_in, schema=self.judge.yes_no_schema())
        score = score_of(_NAME, claims, candidate=material["answer"])
        if score.value is None:
            return score
        if score.value < 1 / 2:
            return claims_nothing(_NAME)
        return claims_without_passages(replace(score, value=0.0, passed=False))

    def _score(self, repeats: Sequence[Sequence[Verdict]], answer: str, detail: Mapping[str, Any]) -> Score:
        """The score; with repeats that of the majority, so that it stays 0 or 1."""
        verdicts = [_verdict(steps) for steps in repeats]
        score = score_of(_NAME, verdicts, candidate=answer, passes=is_most, detail=detail)
        return majority(score, len(repeats))

    async def _step(
        self, ask: Asks, material: Mapping[str, str], window: ContextWindow, earlier: Sequence[Verdict]
    ) -> Verdict:
        """The verdict on one more window; it refines the latest parsed verdict, or creates one if there is none."""
        latest = next((step for step in reversed(earlier) if step.value is not None), None)
        values = {**material, "contexts": window.shown()}
        if latest is not None:
            values["reason"] = latest.reason[:LONGEST_REASON]
            values["existing_answer"] = latest.label.upper()
        prompt = self.prompts[_NAME if latest is None else _REFINE]
        language = self.judge.language_for(*material.values())
        reply = await self.judge.ask(ask, prompt.messages(language, values), schema=self.judge.yes_no_schema())
        return yes_no_in(reply)


def _verdict(steps: Sequence[Verdict]) -> Verdict:
    """YES if any step says YES; else the first unparsed step, which might have been YES; else the last NO."""
    yes = next((step for step in steps if step.value == 1), None)
    unparsed = next((step for step in steps if step.value is None), None)
    return yes or unparsed or steps[-1]


def _trace(packed: Sequence[ContextWindow], steps: Sequence[Verdict], repeat: int) -> list[dict[str, Any]]:
    """The contexts shown, the verdict and the reason of each step."""
    return [
        {
            "repeat": repeat,
            "contexts": list(window.numbers),
            "verdict": step.label,
            "reason": step.reason[:LONGEST_REASON],
            "outcome": step.outcome,
        }
        for window, step in zip(packed, steps, strict=False)
    ]
