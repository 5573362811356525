"""Is the answer supported by the retrieved contexts? As a whole, or claim by claim.

`Faithfulness` gives one YES or NO by create and refine. The procedure is that of LlamaIndex' FaithfulnessEvaluator: the
first window of contexts creates a verdict, each further one refines it. Deviations: the verdict is parsed, never
searched for as a substring ("No, yesterday's report ..." is no); YES ends the procedure, since further contexts cannot
take support away; the judge sees the question, without which a short answer claims nothing; a further window comes with
the reasons so far, so that two windows can support an answer together; a reply that cannot be parsed has no verdict,
where LlamaIndex counts it as unsupported; of an answer for which nothing was retrieved the judge is asked whether it
claims anything.

`ClaimFaithfulness` extracts the claims of the answer and judges each.

    claim_faithfulness = supported claims / claims

Source: Es et al. 2023, "RAGAS: Automated Evaluation of Retrieval Augmented Generation", section 3 (faithfulness).
Deviations: an answer that claims nothing is not applicable (Ragas: NaN, DeepEval: 1); a claim whose verdict cannot be
read makes the score unparsed, with its bounds, and is never left out of the share; contexts that do not fit one window
are judged window by window, and a claim that one window supports is supported. A claim that only two windows together
support counts as unsupported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

from steelyard.constraints import Share
from steelyard.prompts.conversation import transcript_of
from steelyard.prompts.language import Language
from steelyard.replies.answer_text import answer_of
from steelyard.replies.listing import distinct_texts, read_listing
from steelyard.replies.verdict import Verdict
from steelyard.scorers.judges.declared import AskingScorer, PromptForm, at_least, count_yes, is_most, majority
from steelyard.scorers.judges.judge import takes_model, together
from steelyard.scorers.judges.verdicts import (
    LONGEST_REASON,
    claims_nothing,
    claims_without_passages,
    contexts_of,
    first_unparsed,
    form_of,
    not_applicable,
    nothing_to_support,
    read_numbered,
    score_of,
    unparsed_verdict,
    yes_no_in,
)
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
            unsettled = [no for no, steps in enumerate(repeats) if not _supported(steps)]
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


def _supported(steps: Sequence[Verdict]) -> bool:
    return any(step.value == 1 for step in steps)


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


_CLAIMS_NAME: Final = "claim_faithfulness"
_TAKING: Final = "claims"
_JUDGING: Final = "claim_verdicts"


@dataclass(frozen=True, slots=True)
class _Claims:
    """Claims and verdicts of one repeat.

    Args:
        texts: the claims.
        verdicts: the verdict on each claim so far; empty before the first window.
        problem: why there are no claims to judge, where they could not be read.
    """

    texts: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    problem: Verdict | None = None

    @property
    def open(self) -> tuple[int, ...]:
        """Positions of the claims that no window has supported yet."""
        if not self.verdicts:
            return tuple(range(len(self.texts)))
        return tuple(no for no, verdict in enumerate(self.verdicts) if verdict.value != 1)


@takes_model
@dataclass(frozen=True, slots=True)
class ClaimFaithfulness(AskingScorer):
    """The share of an answer's claims that the retrieved contexts support.

    One call takes the claims from the answer, and one for each window of contexts judges those that no earlier window
    supports. For an answer that claims nothing the question does not apply. Claims for which nothing was retrieved are
    unsupported; if no output of the run has contexts, the target does not return them, and the question applies to
    none.

    Args:
        threshold: the least share that passes, in [0, 1]; null: nothing passes or fails.
        window_tokens: estimated tokens of the contexts that one call shows, 50 or more.
        claims_template: the user's own prompt that takes the claims from the answer; it may name {{question}},
            {{answer}} and {{mark}}.
        template: the user's own prompt that judges them; it may name {{contexts}}, {{claims}} (numbered), {{count}}
            and {{mark}}.
    """

    stage_info: ClassVar[StageInfo] = StageInfo(mock_reply="1. NO")

    asks: ClassVar[Mapping[str, PromptForm]] = {
        _TAKING: PromptForm(("question", "answer"), template="claims_template"),
        _JUDGING: PromptForm(("contexts", "claims"), ("count",)),
    }

    threshold: Share | None = None
    window_tokens: WindowTokens = 3000
    claims_template: Path | str = ""
    template: Path | str = ""

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """The share of claims."""
        return (ScoreInfo(_CLAIMS_NAME, (0.0, 1.0), threshold=self.threshold),)

    async def __call__(self, sample: Sample, output: Output, ask: Asks) -> Score:
        """Judge one answer."""
        answer = answer_of(output)
        packed = windows(contexts_of(sample, output), self.window_tokens)
        if (unjudged := nothing_to_support(_CLAIMS_NAME, output, packed)) is not None:
            return unjudged
        question = transcript_of(sample.input)
        language = self.judge.language_for(question, answer)
        messages = self.prompts[_TAKING].messages(language, {"question": question, "answer": answer})
        repeats = list(await self.judge.repeated(partial(self._take, ask, messages)))
        for window in packed:
            unsettled = [no for no, claims in enumerate(repeats) if claims.open]
            calls = [partial(self._judge, ask, language, window, repeats[no]) for no in unsettled]
            for no, claims in zip(unsettled, await together(calls), strict=True):
                repeats[no] = claims
        if packed:
            return self._score(repeats, answer)
        unsupported = Verdict("scored", 0.0, label="no", reason="nothing was retrieved")
        score = self._score([replace(c, verdicts=(unsupported,) * len(c.texts)) for c in repeats], answer)
        if score.outcome == "not_applicable":
            return claims_nothing(_CLAIMS_NAME)
        return score if score.value is None else claims_without_passages(score)

    async def _take(self, ask: Asks, messages: list[Mapping[str, Any]]) -> _Claims:
        """The claims of the answer; a truncated list lacks some of them, so it counts as unparsed."""
        reply = await self.judge.ask(ask, messages)
        listing = read_listing(reply.text)
        if reply.finish == "length" or not (listing.entries or listing.empty_said):
            return _Claims(problem=unparsed_verdict(reply))
        return _Claims(distinct_texts(listing.entries))

    async def _judge(self, ask: Asks, language: Language, window: ContextWindow, before: _Claims) -> _Claims:
        """Verdicts on the open claims; an earlier verdict stays if this window's cannot be parsed."""
        positions = before.open
        values = {
            "contexts": window.shown(),
            "claims": "\n".join(f"{no}. {before.texts[position]}" for no, position in enumerate(positions, start=1)),
            "count": str(len(positions)),
        }
        messages = self.prompts[_JUDGING].messages(language, values)
        reply = await self.judge.ask(ask, messages, schema=self.judge.numbered_schema(len(positions)))
        verdicts = list(before.verdicts or [Verdict("unparsed")] * len(before.texts))
        for position, verdict in zip(positions, read_numbered(reply, len(positions)), strict=True):
            had_no_value = bool(before.verdicts) and before.verdicts[position].value is None
            if verdict.value == 1 or not had_no_value:
                verdicts[position] = verdict
        return replace(before, verdicts=tuple(verdicts))

    def _score(self, repeats: Sequence[_Claims], answer: str) -> Score:
        claiming = [claims for claims in repeats if claims.texts or claims.problem]
        if not claiming:
            return not_applicable(_CLAIMS_NAME, "nothing claimed", lacks="claims")
        detail: dict[str, Any] = {"claims": _listed(repeats)}
        if len(claiming) < len(repeats):
            detail["nothing_claimed"] = len(repeats) - len(claiming)
        verdicts = [_share(claims) for claims in claiming]
        if all(verdict.value is None for verdict in verdicts) and claiming[0].texts:
            detail["bounds"] = _bounds(claiming[0])
        return score_of(_CLAIMS_NAME, verdicts, candidate=answer, passes=at_least(self.threshold), detail=detail)


def _share(claims: _Claims) -> Verdict:
    """Supported claims / claims, where the verdict on each was read."""
    if claims.problem is not None:
        return claims.problem
    reason = "; ".join(
        f"{verdict.label or 'unparsed'}: {text}" for text, verdict in zip(claims.texts, claims.verdicts, strict=True)
    )
    unparsed, form = first_unparsed(claims.verdicts), form_of(claims.verdicts)
    if unparsed is None:
        supported = count_yes(claims.verdicts)
        return Verdict("scored", supported / len(claims.texts), form="claims", reason=reason, asked_for=form)
    if any(verdict.value is not None for verdict in claims.verdicts):
        return Verdict("unparsed", kind="ambiguous", reason=reason, asked_for=form)
    return unparsed


def _bounds(claims: _Claims) -> list[float]:
    """The share if no claim with an unparsed verdict is supported, and if each is."""
    supported = count_yes(claims.verdicts)
    unparsed = sum(verdict.value is None for verdict in claims.verdicts)
    return [supported / len(claims.texts), (supported + unparsed) / len(claims.texts)]


def _listed(repeats: Sequence[_Claims]) -> list[dict[str, Any]]:
    """Each claim with its verdict and reason; "" if unparsed."""
    return [
        {"claim": text, "verdict": verdict.label, "reason": verdict.reason if verdict.label else ""}
        | ({"repeat": no} if len(repeats) > 1 else {})
        for no, claims in enumerate(repeats, start=1)
        for text, verdict in zip(claims.texts, claims.verdicts, strict=True)
    ]
