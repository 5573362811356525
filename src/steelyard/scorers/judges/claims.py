"""Scores of claims: of an answer or of its reference, supported by the retrieved passages or by the other one.

    claim_faithfulness = claims of the answer that the passages support / claims of the answer
    context_recall = claims of the reference that the passages support / claims of the reference
    claim_precision = claims of the answer that the reference supports / claims of the answer
    claim_recall = claims of the reference that the answer supports / claims of the reference
    claim_f1 = 2 * precision * recall / (precision + recall), 0 where both are 0 or the answer claims nothing
    noise_sensitivity_relevant = wrong claims of the answer that a relevant passage supports / claims of the answer
    noise_sensitivity_irrelevant = wrong claims that only irrelevant passages support / claims of the answer

A claim of the answer is wrong if the reference does not support it, and a passage is relevant if it supports a claim of
the reference. Wrong claims that no passage supports are in neither of the two last scores. A claim whose verdict cannot
be read makes the share unparsed, with its bounds, and is never left out of it.

Source of the first: Es et al. 2023, "RAGAS: Automated Evaluation of Retrieval Augmented Generation", section 3
(faithfulness). Deviations: an answer that claims nothing is not applicable (Ragas: NaN, DeepEval: 1); contexts that do
not fit one window are judged window by window, and a claim that one window supports is supported. A claim that only two
windows together support counts as unsupported.

Source of the others: Ru et al. 2024, "RAGChecker: A Fine-grained Framework for Diagnosing Retrieval-Augmented
Generation" (arXiv:2408.08067), section 3.3; its claim recall is the context recall of Ragas (documentation of the
metric, version 0.4), which takes sentences instead of claims. Deviations: what has no claims to divide by is not
applicable, where RAGChecker gives 0; for context recall and claim precision, recall and F1 a list of references holds
alternatives, of which the best counts, while for noise sensitivity each alternative counts as right; where the passages
fit one window, claims are checked against all of them together, for noise sensitivity against each alone as there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

from steelyard.constraints import Share
from steelyard.prompts.conversation import transcript_of
from steelyard.prompts.fenced_prompt import FencedPrompt
from steelyard.prompts.language import Language
from steelyard.replies.abstention import is_abstention
from steelyard.replies.answer_text import answer_of
from steelyard.replies.judge_reply import Verdict
from steelyard.replies.listing import distinct_texts, read_listing
from steelyard.scorers.judges.declared import (
    BETWEEN,
    AskingScorer,
    PromptForm,
    at_least,
    claims_nothing,
    claims_without_passages,
    contexts_of,
    count_yes,
    first_unparsed,
    form_of,
    listed,
    no_answer,
    not_applicable,
    nothing_to_support,
    read_numbered,
    reference_of,
    references_of,
    score_of,
    unparsed_verdict,
)
from steelyard.scorers.judges.judge import Judge, takes_model, together
from steelyard.scorers.judges.relevance import is_unanswerable
from steelyard.scorers.judges.windows import ContextWindow, WindowTokens, windows
from steelyard.session.replies import refused_before
from steelyard.types import PASSAGES, Asks, Output, Sample, Score, ScoreInfo, StageInfo

_TAKING: Final = "claims"
_IN_PASSAGES: Final = "claim_verdicts"
_IN_TEXT: Final = "claims_in_text"
_TAKES: Final = {_TAKING: PromptForm(("question", "answer"), template="claims_template")}
"""The prompt that takes claims from a text."""
_CHECKS_IN_PASSAGES: Final = {_IN_PASSAGES: PromptForm(("contexts", "claims"), ("count",))}
"""The prompt that checks them against passages."""
_CHECKS_IN_TEXT: Final = {_IN_TEXT: PromptForm(("question", "text", "claims"), ("count",))}
"""The prompt that checks them against a text that answers the question."""
_NOTHING_SUPPORTED: Final = StageInfo(mock_reply="1. NO")
_UNSUPPORTED: Final = Verdict("scored", 0.0, label="no", reason="nothing was retrieved")


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

    @property
    def judged(self) -> tuple[tuple[str, Verdict], ...]:
        """Each claim with its verdict."""
        return tuple(zip(self.texts, self.verdicts, strict=True))

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

    @classmethod
    def of(cls, scorer: AskingScorer, sample: Sample, ask: Asks, *texts: str) -> ClaimSteps:
        """The calls of a scorer, in the language of the question and the texts."""
        question = transcript_of(sample.input)
        return cls(scorer.judge, ask, scorer.prompts, question, scorer.judge.language_for(question, *texts))

    async def taken(self, text: str) -> Sequence[Claims]:
        """The claims of an answer, in each repeat; a truncated list lacks some of them, so it counts as unparsed.

        Raises:
            ModelError: a call failed for good; likewise below.
        """
        messages = self.prompts[_TAKING].messages(self.language, {"question": self.question, "answer": text})

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
            return [claims.all_with(replace(_UNSUPPORTED, reason="the answer is blank")) for claims in repeats]
        return await self._checked(repeats, _IN_TEXT, {"question": self.question, "text": text})

    async def in_passages(self, repeats: Sequence[Claims], packed: Sequence[ContextWindow]) -> Sequence[Claims]:
        """Check the claims window by window; without windows nothing supports them."""
        if not packed:
            return [claims.all_with(_UNSUPPORTED) for claims in repeats]
        for window in packed:
            repeats = await self._checked(repeats, _IN_PASSAGES, {"contexts": window.shown()})
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
    detail: dict[str, Any] = {"claims": listed("claim", [claims.judged for claims in repeats])}
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
    reason = "; ".join(f"{verdict.label or 'unparsed'}: {text}" for text, verdict in claims.judged)
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


_FAITHFULNESS: Final = "claim_faithfulness"
_RECALL: Final = "context_recall"
_OF_ANSWER: Final = ("claim_f1", "claim_precision", "claim_recall")
_NOISE: Final = ("noise_sensitivity_relevant", "noise_sensitivity_irrelevant")
_NO_REFERENCE: Final = "the sample has no reference answer"
_UNANSWERABLE: Final = "the question is marked as unanswerable, so its reference states no facts"
_REFERENCE_CLAIMS_NOTHING: Final = "the reference claims nothing"


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

    stage_info: ClassVar[StageInfo] = _NOTHING_SUPPORTED
    asks: ClassVar[Mapping[str, PromptForm]] = _TAKES | _CHECKS_IN_PASSAGES

    threshold: Share | None = None
    window_tokens: WindowTokens = 3000
    claims_template: Path | str = ""
    template: Path | str = ""

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """The share of claims."""
        return (ScoreInfo(_FAITHFULNESS, (0.0, 1.0), threshold=self.threshold),)

    async def __call__(self, sample: Sample, output: Output, ask: Asks) -> Score:
        """Judge one answer."""
        answer = answer_of(output)
        packed = windows(contexts_of(sample, output), self.window_tokens)
        if (unjudged := nothing_to_support(_FAITHFULNESS, output, packed)) is not None:
            return unjudged
        steps = ClaimSteps.of(self, sample, ask, answer)
        repeats = await steps.in_passages(await steps.taken(answer), packed)
        score = share_score(_FAITHFULNESS, repeats, candidate=answer, passes=at_least(self.threshold))
        if packed:
            return score
        if score.outcome == "not_applicable":
            return claims_nothing(_FAITHFULNESS)
        return score if score.value is None else claims_without_passages(score)


@takes_model
@dataclass(frozen=True, slots=True)
class ContextRecall(AskingScorer):
    """The share of the reference answer's claims that the retrieved passages support.

    It needs a reference and no sources: what `retrieval` measures by expected passages is judged here. It does not
    apply without a reference, to an unanswerable question, or to a reference that claims nothing. Where nothing was
    retrieved it is 0; if no output of the run has contexts, the target does not return them, and it applies to none.

    Args:
        threshold: the least share that passes, in [0, 1]; null: nothing passes or fails.
        window_tokens: estimated tokens of the contexts that one call shows, 50 or more.
        claims_template: the user's own prompt that takes the claims from the reference; it may name {{question}},
            {{answer}} (the reference) and {{mark}}.
        template: the user's own prompt that judges them; it may name {{contexts}}, {{claims}} (numbered), {{count}}
            and {{mark}}.
    """

    short_key: ClassVar[str] = "value"
    stage_info: ClassVar[StageInfo] = _NOTHING_SUPPORTED
    asks: ClassVar[Mapping[str, PromptForm]] = _TAKES | _CHECKS_IN_PASSAGES

    threshold: Share | None = None
    window_tokens: WindowTokens = 3000
    claims_template: Path | str = ""
    template: Path | str = ""

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """The share of claims."""
        return (ScoreInfo(_RECALL, (0.0, 1.0), threshold=self.threshold),)

    async def __call__(self, sample: Sample, output: Output, ask: Asks) -> Score:
        """Judge what was retrieved for one question."""
        if why := _without_claims(sample):
            return not_applicable(_RECALL, why)
        steps = ClaimSteps.of(self, sample, ask, *references_of(sample))
        contexts = contexts_of(sample, output)
        packed = windows(contexts, self.window_tokens)

        async def judge(reference: str) -> Sequence[Score]:
            repeats = await steps.in_passages(await steps.taken(reference), packed)
            return [
                share_score(
                    _RECALL,
                    repeats,
                    candidate="\n\n".join(contexts),
                    passes=at_least(self.threshold),
                    nothing=_REFERENCE_CLAIMS_NOTHING,
                )
            ]

        (score,) = await _best(references_of(sample), judge)
        return score if packed or score.value is None else claims_without_passages(score)


@takes_model
@dataclass(frozen=True, slots=True)
class ClaimCorrectness(AskingScorer):
    """How far the claims of an answer are those of its reference: `claim_f1`, `claim_precision`, `claim_recall`.

    They do not apply without a reference or to an unanswerable question. An answer that claims nothing has no
    precision, and recall and F1 of 0; of a reference that claims nothing there is no recall and no F1.

    Args:
        threshold: the least F1 that passes, in [0, 1]; null: nothing passes or fails.
        claims_template: the user's own prompt that takes the claims from the answer, and from the reference; it may
            name {{question}}, {{answer}} and {{mark}}.
        template: the user's own prompt that checks the claims of one against the other; it may name {{question}},
            {{text}}, {{claims}} (numbered), {{count}} and {{mark}}.
    """

    stage_info: ClassVar[StageInfo] = _NOTHING_SUPPORTED
    asks: ClassVar[Mapping[str, PromptForm]] = _TAKES | _CHECKS_IN_TEXT

    threshold: Share | None = None
    claims_template: Path | str = ""
    template: Path | str = ""

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """Three shares, of which F1 leads."""
        f1, *shares = _OF_ANSWER
        return (
            ScoreInfo(f1, (0.0, 1.0), threshold=self.threshold, headline=True),
            *(ScoreInfo(name, (0.0, 1.0)) for name in shares),
        )

    async def __call__(self, sample: Sample, output: Output, ask: Asks) -> Sequence[Score]:
        """Judge one answer."""
        if why := _without_claims(sample):
            return [not_applicable(name, why) for name in _OF_ANSWER]
        if refused_before(output):
            return [no_answer(name) for name in _OF_ANSWER]
        answer = answer_of(output)
        steps = ClaimSteps.of(self, sample, ask, answer)
        claimed = await steps.taken(answer) if answer.strip() else [Claims()] * self.judge.repeats

        async def judge(reference: str) -> Sequence[Score]:
            wanted = await steps.taken(reference)
            given = await steps.in_text(claimed, reference)
            return self._scores(given, await steps.in_text(wanted, answer), answer)

        return await _best(references_of(sample), judge)

    def _scores(self, given: Sequence[Claims], wanted: Sequence[Claims], answer: str) -> Sequence[Score]:
        f1, precision, recall = _OF_ANSWER
        scores = [
            share_score(precision, given, candidate=answer, nothing="the answer claims nothing"),
            share_score(recall, wanted, candidate=answer, nothing=_REFERENCE_CLAIMS_NOTHING),
        ]
        verdicts = [_f1(*pair) for pair in zip(given, wanted, strict=True) if pair[1].texts or pair[1].problem]
        if not verdicts:
            return [not_applicable(f1, _REFERENCE_CLAIMS_NOTHING, lacks="claims"), *scores]
        return [score_of(f1, verdicts, candidate=answer, passes=at_least(self.threshold)), *scores]


def _f1(given: Claims, wanted: Claims) -> Verdict:
    """Harmonic mean of precision and recall in one repeat; what could not be read of either."""
    recall = share(wanted)
    precision = share(given) if given.texts or given.problem else Verdict("scored", 0.0, reason="nothing claimed")
    if precision.value is None or recall.value is None:
        return precision if precision.value is None else recall
    total = precision.value + recall.value
    value = 2 * precision.value * recall.value / total if total else 0.0
    reason = f"precision {precision.value:.2f}, recall {recall.value:.2f}"
    return Verdict("scored", value, form="claims", reason=reason, asked_for=recall.asked_for)


@takes_model
@dataclass(frozen=True, slots=True)
class NoiseSensitivity(AskingScorer):
    """The share of an answer's claims that are wrong because of what was retrieved: two scores, the lower the better.

    `noise_sensitivity_relevant` counts wrong claims that a relevant passage supports (it was misread, or holds errors
    beside the answer), `noise_sensitivity_irrelevant` those that only irrelevant passages support. They do not apply
    without a reference, to unanswerable questions, without passages, or where answer or reference claim nothing.

    For each repeat there are three calls, and one for each passage (for each of its windows) if a claim is wrong.

    Args:
        window_tokens: estimated tokens of a passage that one call shows, 50 or more.
        claims_template: the user's own prompt that takes the claims from the answer, and from the reference; it may
            name {{question}}, {{answer}} and {{mark}}.
        template: the user's own prompt that checks the answer's claims against the reference; it may name
            {{question}}, {{text}}, {{claims}} (numbered), {{count}} and {{mark}}.
        passages_template: the user's own prompt that checks claims against one passage; it may name {{contexts}},
            {{claims}}, {{count}} and {{mark}}.
    """

    score_infos: ClassVar[tuple[ScoreInfo, ...]] = tuple(
        ScoreInfo(name, (0.0, 1.0), lower_is_better=True) for name in _NOISE
    )
    stage_info: ClassVar[StageInfo] = _NOTHING_SUPPORTED
    asks: ClassVar[Mapping[str, PromptForm]] = {
        **_TAKES,
        **_CHECKS_IN_TEXT,
        _IN_PASSAGES: replace(_CHECKS_IN_PASSAGES[_IN_PASSAGES], template="passages_template"),
    }

    window_tokens: WindowTokens = 3000
    claims_template: Path | str = ""
    template: Path | str = ""
    passages_template: Path | str = ""

    async def __call__(self, sample: Sample, output: Output, ask: Asks) -> Sequence[Score]:
        """Judge one answer."""
        answer = answer_of(output)
        passages = [text for text in contexts_of(sample, output) if text.strip()]
        if why := _without_claims(sample):
            return [not_applicable(name, why) for name in _NOISE]
        if refused_before(output):
            return [no_answer(name) for name in _NOISE]
        if not passages:
            return [not_applicable(name, "there are no contexts", lacks=PASSAGES) for name in _NOISE]
        if not answer.strip() or is_abstention(answer):
            return [not_applicable(name, "the answer claims nothing", lacks="claims") for name in _NOISE]
        steps = ClaimSteps.of(self, sample, ask, answer)
        reference = reference_of(sample, between=BETWEEN[steps.language])
        given = await steps.in_text(await steps.taken(answer), reference)
        wanted = await steps.taken(reference)
        both = [_together(answered, expected) for answered, expected in zip(given, wanted, strict=True)]
        calls = [partial(steps.in_passages, both, windows([text], self.window_tokens)) for text in passages]
        return _noise(given, wanted, list(zip(*await together(calls), strict=True)), answer)


def _together(given: Claims, wanted: Claims) -> Claims:
    """The claims to check against each passage: the wrong ones of the answer, then those of the reference."""
    wrong = _wrong(given)
    return Claims((*(given.texts[no] for no in wrong), *wanted.texts)) if wrong and wanted.texts else Claims()


def _wrong(given: Claims) -> tuple[int, ...]:
    return tuple(no for no, verdict in enumerate(given.verdicts) if verdict.value == 0)


def _noise(
    given: Sequence[Claims], wanted: Sequence[Claims], passages: Sequence[Sequence[Claims]], answer: str
) -> Sequence[Score]:
    """Both scores.

    Args:
        given: the answer's claims, checked against the reference, of each repeat.
        wanted: the reference's claims.
        passages: of each repeat the claims of `_together`, checked against each passage.
        answer: what is judged.
    """
    counted = [no for no, pair in enumerate(zip(given, wanted, strict=True)) if all(c.texts or c.problem for c in pair)]
    if not counted:
        why = "the answer claims nothing" if not any(c.texts or c.problem for c in given) else _REFERENCE_CLAIMS_NOTHING
        return [not_applicable(name, why, lacks="claims") for name in _NOISE]
    verdicts = [_noise_of(given[no], wanted[no], passages[no]) for no in counted]
    claims = [
        entry | {"reason": f"{_SOURCES.get(source, '')}{entry['reason']}"}
        for no in counted
        for entry, source in zip(listed("claim", [given[no].judged]), _sources(given[no], passages[no]), strict=True)
    ]
    return [
        score_of(name, [pair[which] for pair in verdicts], candidate=answer, detail={"claims": claims})
        for which, name in enumerate(_NOISE)
    ]


_SOURCES: Final = {"relevant": "(from a relevant passage) ", "irrelevant": "(from an irrelevant passage) "}
"""Where a wrong claim comes from -> what stands before the reason."""


def _noise_of(given: Claims, wanted: Claims, passages: Sequence[Claims]) -> tuple[Verdict, Verdict]:
    """The verdicts on one repeat."""
    stopped = given.problem or wanted.problem
    if stopped is None and first_unparsed(given.verdicts) is None:
        stopped = first_unparsed(verdict for checked in passages for verdict in checked.verdicts)
    if stopped is not None:
        return (stopped, stopped)
    sources = _sources(given, passages)
    relevant, irrelevant = (share_of(given, sources.count(source)) for source in ("relevant", "irrelevant"))
    return (relevant, irrelevant)


def _sources(given: Claims, passages: Sequence[Claims]) -> list[str]:
    """For each claim of the answer `right`, or where a wrong one comes from: `relevant`, `irrelevant`, `none`."""
    sources = ["right"] * len(given.texts)
    wrong = _wrong(given)
    for at, no in enumerate(wrong):
        # A passage is relevant if it supports a claim of the reference, which stand behind the wrong ones.
        relevance = [
            any(verdict.value == 1 for verdict in checked.verdicts[len(wrong) :])
            for checked in passages
            if checked.verdicts and checked.verdicts[at].value == 1
        ]
        sources[no] = "relevant" if any(relevance) else "irrelevant" if relevance else "none"
    return sources


def _without_claims(sample: Sample) -> str:
    """Why there are no claims of a reference to compare with; "" where there may be."""
    if not reference_of(sample):
        return _NO_REFERENCE
    return _UNANSWERABLE if is_unanswerable(sample) else ""


async def _best(references: Sequence[str], judge: Callable[[str], Awaitable[Sequence[Score]]]) -> Sequence[Score]:
    """The scores against the alternative that fits best by the first of them.

    One that cannot be read might be the best, so that it counts unless another has 1.
    """
    judged = await together([partial(judge, reference) for reference in references])

    def rank(scores: Sequence[Score]) -> tuple[bool, bool, float]:
        leading = scores[0]
        value = -1.0 if leading.value is None else leading.value
        return (value == 1, leading.outcome in {"unparsed", "refused"}, value)

    return max(judged, key=rank)
