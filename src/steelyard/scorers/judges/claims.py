"""How much of the answer is supported by the retrieved contexts? Claims are taken from it, and each is judged.

    claim_faithfulness = supported claims / claims

Source: Es et al. 2023, "RAGAS: Automated Evaluation of Retrieval Augmented Generation", section 3 (faithfulness).
Deviations: an answer that claims nothing is not applicable (Ragas: NaN, DeepEval: 1); a claim whose verdict cannot be
read makes the score unparsed, with its bounds, and is never left out of the share; contexts that do not fit one window
are judged window by window, and a claim that one window supports is supported. A claim that only two windows together
support is not found to be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

from steelyard.errors import expect_number
from steelyard.scorers.judges.judge import Judge, together
from steelyard.scorers.judges.numbered import first_unread, read_numbered, unread_reply
from steelyard.scorers.judges.summing_up import contexts_of, not_applicable, nothing_to_support, score_of
from steelyard.scorers.judges.windows import Window, check_window, windows
from steelyard.session.answers import answer_of
from steelyard.text.fenced_prompt import FencedPrompt
from steelyard.text.language import Language
from steelyard.text.listed import distinct_texts, read_listing
from steelyard.text.prompt_files import question_of
from steelyard.text.rating import Verdict
from steelyard.types import Asks, Output, Sample, Score

_NAME: Final = "claim_faithfulness"


@dataclass(frozen=True, slots=True)
class _Claims:
    """What one repeat found out.

    Args:
        texts: the claims.
        verdicts: on each, as far as it was asked; empty before the first window.
        problem: why there are no claims to judge, where they could not be read.
    """

    texts: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    problem: Verdict | None = None

    @property
    def open(self) -> tuple[int, ...]:
        """The places of the claims that no window has supported yet."""
        if not self.verdicts:
            return tuple(range(len(self.texts)))
        return tuple(no for no, one in enumerate(self.verdicts) if one.value != 1)


@dataclass(frozen=True, slots=True)
class ClaimFaithfulness:
    """The share of an answer's claims that the retrieved contexts support.

    One call takes the claims from the answer, and one for each window of contexts judges those that no earlier window
    supports. Without contexts, and for an answer that claims nothing, the question does not apply.

    Args:
        judge: who judges.
        threshold: the least share that passes, in [0, 1]; null passes nothing and fails nothing.
        window_tokens: estimated tokens of the contexts that one call shows, 50 or more.
        claims_template: the user's own prompt that takes the claims from the answer; it may name {{question}},
            {{answer}} and {{mark}}.
        template: the user's own prompt that judges them; it may name {{contexts}}, {{claims}} (numbered), {{count}}
            and {{mark}}.
    """

    score_name: ClassVar[str] = _NAME
    over: ClassVar[str] = "scored"
    rehearsal: ClassVar[str] = "1. NO"

    judge: Judge = Judge()
    threshold: float | None = None
    window_tokens: int = 3000
    claims_template: Path | str = ""
    template: Path | str = ""

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: a threshold that is no share, a window that holds nothing, or a prompt that cannot be used.
        """
        if self.threshold is not None:
            expect_number("threshold", self.threshold, 0, 1)
        check_window(self.window_tokens)
        self._taking.check()
        self._judging.check()

    def manifest(self) -> dict[str, Any]:
        """The words that are sent."""
        return {"prompts": {"claims": self._taking.manifest(), "claim_verdicts": self._judging.manifest()}}

    async def __call__(self, sample: Sample, output: Output, ask: Asks) -> Score:
        """Judge one answer."""
        answer = answer_of(output)
        packed = windows(contexts_of(sample, output), self.window_tokens)
        if (unasked := nothing_to_support(_NAME, output, packed)) is not None:
            return unasked
        question = question_of(sample.input)
        language = self.judge.language_for(question, answer)
        messages = self._taking.messages(language, {"question": question, "answer": answer})
        repeats = list(await self.judge.repeated(partial(self._take, ask, messages)))
        for window in packed:
            going = [no for no, one in enumerate(repeats) if one.open]
            calls = [partial(self._judge, ask, language, window, repeats[no]) for no in going]
            for no, found in zip(going, await together(calls), strict=True):
                repeats[no] = found
        return self._score(repeats, answer)

    async def _take(self, ask: Asks, messages: list[Mapping[str, Any]]) -> _Claims:
        """The claims; a list that broke off lacks some, so that it is none."""
        reply = await self.judge.ask(ask, messages)
        listing = read_listing(reply.text)
        if reply.finish == "length" or not (listing.entries or listing.empty_said):
            return _Claims(problem=unread_reply(reply))
        return _Claims(distinct_texts(listing.entries))

    async def _judge(self, ask: Asks, language: Language, window: Window, before: _Claims) -> _Claims:
        """Verdicts on the claims that are still open; one that was read stays where this window's is not."""
        places = before.open
        values = {
            "contexts": window.shown(),
            "claims": "\n".join(f"{no}. {before.texts[place]}" for no, place in enumerate(places, start=1)),
            "count": str(len(places)),
        }
        reply = await self.judge.ask(ask, self._judging.messages(language, values))
        verdicts = list(before.verdicts or [Verdict("unparsed")] * len(before.texts))
        for place, verdict in zip(places, read_numbered(reply, len(places)), strict=True):
            unread_before = bool(before.verdicts) and before.verdicts[place].value is None
            if verdict.value == 1 or not unread_before:
                verdicts[place] = verdict
        return replace(before, verdicts=tuple(verdicts))

    def _score(self, repeats: Sequence[_Claims], answer: str) -> Score:
        claiming = [one for one in repeats if one.texts or one.problem]
        if not claiming:
            return not_applicable(_NAME, "nothing claimed")
        told: dict[str, Any] = {"claims": _listed(repeats)}
        if len(claiming) < len(repeats):
            told["nothing_claimed"] = len(repeats) - len(claiming)
        verdicts = [_share(one) for one in claiming]
        if all(one.value is None for one in verdicts) and claiming[0].texts:
            told["bounds"] = _bounds(claiming[0])
        least = self.threshold
        passes = None if least is None else lambda value: value >= least
        return score_of(_NAME, verdicts, candidate=answer, passes=passes, detail=told)

    @property
    def _taking(self) -> FencedPrompt:
        return FencedPrompt("judge_claims", self.claims_template, fenced=("question", "answer"))

    @property
    def _judging(self) -> FencedPrompt:
        return FencedPrompt("judge_claim_verdicts", self.template, fenced=("contexts", "claims"), plain=("count",))


def _share(found: _Claims) -> Verdict:
    """Supported claims / claims, where the verdict on each was read."""
    if found.problem is not None:
        return found.problem
    reason = "; ".join(
        f"{one.label or 'unread'}: {text}" for text, one in zip(found.texts, found.verdicts, strict=True)
    )
    unread = first_unread(found.verdicts)
    if unread is None:
        supported = sum(one.value == 1 for one in found.verdicts)
        return Verdict("scored", supported / len(found.texts), form="claims", reason=reason)
    if any(one.value is not None for one in found.verdicts):
        return Verdict("unparsed", kind="ambiguous", reason=reason)
    return unread


def _bounds(found: _Claims) -> list[float]:
    """The share if no unread claim is supported, and if each is."""
    supported = sum(one.value == 1 for one in found.verdicts)
    unread = sum(one.value is None for one in found.verdicts)
    return [supported / len(found.texts), (supported + unread) / len(found.texts)]


def _listed(repeats: Sequence[_Claims]) -> list[dict[str, Any]]:
    """Each claim with its verdict, "" where none was read."""
    return [
        {"claim": text, "verdict": one.label, "reason": one.reason if one.label else ""}
        | ({"repeat": no} if len(repeats) > 1 else {})
        for no, found in enumerate(repeats, start=1)
        for text, one in zip(found.texts, found.verdicts, strict=True)
    ]
