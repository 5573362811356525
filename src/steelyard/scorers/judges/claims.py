"""Takes the claims from a text, and checks each against passages or against another text.

The steps of every judge that counts claims: of an answer or of a reference, supported by passages or by the other one.
A claim whose verdict cannot be read makes the share unparsed, with its bounds, and is never left out of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from steelyard.prompts.fenced_prompt import FencedPrompt
from steelyard.prompts.language import Language
from steelyard.replies.judge_reply import Verdict
from steelyard.replies.listing import distinct_texts, read_listing
from steelyard.scorers.judges.declared import count_yes
from steelyard.scorers.judges.judge import Judge, together
from steelyard.scorers.judges.verdicts import (
    first_unparsed,
    form_of,
    not_applicable,
    read_numbered,
    score_of,
    unparsed_verdict,
)
from steelyard.scorers.judges.windows import ContextWindow
from steelyard.types import Asks, Score

TAKING: Final = "claims"
"""The prompt that takes claims from a text; it shows {{question}} and {{answer}}."""
IN_PASSAGES: Final = "claim_verdicts"
"""The prompt that checks them against passages; it shows {{contexts}}, {{claims}} and {{count}}."""
IN_TEXT: Final = "claims_in_text"
"""The prompt that checks them against a text; it shows {{question}}, {{text}}, {{claims}} and {{count}}."""
UNSUPPORTED: Final = Verdict("scored", 0.0, label="no", reason="nothing was retrieved")


@dataclass(frozen=True, slots=True)
class Claims:
    """Claims of a text and the verdicts on them, in one repeat.

    Args:
        texts: the claims.
        verdicts: the verdict on each claim so far; empty before the first check.
        problem: why there are no claims to judge, where they could not be read.
    """

    texts: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    problem: Verdict | None = None

    @property
    def open(self) -> tuple[int, ...]:
        """Positions of the claims that no check has supported yet."""
        if not self.verdicts:
            return tuple(range(len(self.texts)))
        return tuple(no for no, verdict in enumerate(self.verdicts) if verdict.value != 1)

    def all_with(self, verdict: Verdict) -> Claims:
        """The same claims with one verdict on each."""
        return replace(self, verdicts=(verdict,) * len(self.texts))


@dataclass(frozen=True, slots=True)
class ClaimSteps:
    """The calls about the claims of one sample.

    Args:
        judge: the model that is asked.
        ask: of the runner.
        prompts: of the scorer, by name.
        question: that the texts answer.
        language: of the prompts.
    """

    judge: Judge
    ask: Asks
    prompts: Mapping[str, FencedPrompt]
    question: str
    language: Language

    async def taken(self, text: str) -> Sequence[Claims]:
        """The claims of an answer, in each repeat; a truncated list lacks some of them, so it counts as unparsed.

        Raises:
            ModelError: a call failed for good; likewise below.
        """
        messages = self.prompts[TAKING].messages(self.language, {"question": self.question, "answer": text})

        async def take() -> Claims:
            reply = await self.judge.ask(self.ask, messages)
            listing = read_listing(reply.text)
            if reply.finish == "length" or not (listing.entries or listing.empty_said):
                return Claims(problem=unparsed_verdict(reply))
            return Claims(distinct_texts(listing.entries))

        return await self.judge.repeated(take)

    async def in_text(self, repeats: Sequence[Claims], text: str) -> Sequence[Claims]:
        """Check the claims of each repeat against a text that answers the question; a blank one supports none."""
        if not text.strip():
            return [claims.all_with(replace(UNSUPPORTED, reason="the answer is blank")) for claims in repeats]
        return await self._checked(repeats, IN_TEXT, {"question": self.question, "text": text})

    async def in_passages(self, repeats: Sequence[Claims], packed: Sequence[ContextWindow]) -> Sequence[Claims]:
        """Check the claims window by window; without windows nothing supports them."""
        if not packed:
            return [claims.all_with(UNSUPPORTED) for claims in repeats]
        for window in packed:
            repeats = await self._checked(repeats, IN_PASSAGES, {"contexts": window.shown()})
        return repeats

    async def _checked(self, repeats: Sequence[Claims], prompt: str, shown: Mapping[str, str]) -> Sequence[Claims]:
        """One more check of the claims that are still open, in all repeats together."""
        checked = list(repeats)
        unsettled = [no for no, claims in enumerate(repeats) if claims.open]
        calls = [partial(self._check, prompt, shown, repeats[no]) for no in unsettled]
        for no, claims in zip(unsettled, await together(calls), strict=True):
            checked[no] = claims
        return checked

    async def _check(self, prompt: str, shown: Mapping[str, str], before: Claims) -> Claims:
        """Verdicts on the open claims; an earlier verdict stays if this check's cannot be parsed."""
        positions = before.open
        values = {
            **shown,
            "claims": "\n".join(f"{no}. {before.texts[position]}" for no, position in enumerate(positions, start=1)),
            "count": str(len(positions)),
        }
        messages = self.prompts[prompt].messages(self.language, values)
        reply = await self.judge.ask(self.ask, messages, schema=self.judge.numbered_schema(len(positions)))
        verdicts = list(before.verdicts or [Verdict("unparsed")] * len(before.texts))
        for position, verdict in zip(positions, read_numbered(reply, len(positions)), strict=True):
            had_no_value = bool(before.verdicts) and before.verdicts[position].value is None
            if verdict.value == 1 or not had_no_value:
                verdicts[position] = verdict
        return replace(before, verdicts=tuple(verdicts))


def share_score(
    name: str,
    repeats: Sequence[Claims],
    *,
    candidate: str,
    passes: Callable[[float], bool] | None = None,
    nothing: str = "nothing claimed",
) -> Score:
    """Supported claims / claims; repeats in which nothing is claimed are left out and counted.

    Args:
        name: of the score.
        repeats: the checked claims of each.
        candidate: the text that was judged.
        passes: whether a share is good enough.
        nothing: why the score does not apply if no repeat has a claim.
    """
    claiming = [claims for claims in repeats if claims.texts or claims.problem]
    if not claiming:
        return not_applicable(name, nothing, lacks="claims")
    detail: dict[str, Any] = {"claims": listed(repeats)}
    if len(claiming) < len(repeats):
        detail["nothing_claimed"] = len(repeats) - len(claiming)
    verdicts = [share(claims) for claims in claiming]
    if all(verdict.value is None for verdict in verdicts) and claiming[0].texts:
        detail["bounds"] = _bounds(claiming[0])
    return score_of(name, verdicts, candidate=candidate, passes=passes, detail=detail)


def share(claims: Claims) -> Verdict:
    """Supported claims / claims, where the verdict on each was read."""
    if claims.problem is not None:
        return claims.problem
    return share_of(claims, count_yes(claims.verdicts))


def share_of(claims: Claims, count: int) -> Verdict:
    """`count` / claims, where the verdict on each claim was read; else what could not be read."""
    reason = "; ".join(
        f"{verdict.label or 'unparsed'}: {text}" for text, verdict in zip(claims.texts, claims.verdicts, strict=True)
    )
    unparsed, form = first_unparsed(claims.verdicts), form_of(claims.verdicts)
    if unparsed is None:
        return Verdict("scored", count / len(claims.texts), form="claims", reason=reason, asked_for=form)
    if any(verdict.value is not None for verdict in claims.verdicts):
        return Verdict("unparsed", kind="ambiguous", reason=reason, asked_for=form)
    return unparsed


def _bounds(claims: Claims) -> list[float]:
    """The share if no claim with an unparsed verdict is supported, and if each is."""
    supported = count_yes(claims.verdicts)
    unparsed = sum(verdict.value is None for verdict in claims.verdicts)
    return [supported / len(claims.texts), (supported + unparsed) / len(claims.texts)]


def listed(repeats: Sequence[Claims]) -> list[dict[str, Any]]:
    """Each claim with its verdict and reason; "" if unparsed."""
    return [
        {"claim": text, "verdict": verdict.label, "reason": verdict.reason if verdict.label else ""}
        | ({"repeat": no} if len(repeats) > 1 else {})
        for no, claims in enumerate(repeats, start=1)
        for text, verdict in zip(claims.texts, claims.verdicts, strict=True)
    ]
