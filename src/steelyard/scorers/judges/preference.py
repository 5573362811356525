"""Preference: which of two answers does a judge prefer, or does it call them equal?

A judge sees the answers by position only, in one order or in both. Here positions become sides again: of the order `BA`
the first position is side B.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple

from steelyard.constraints import ScoreName, Seed, TextList
from steelyard.errors import ConfigError, expect_number
from steelyard.prompts.conversation import transcript_of
from steelyard.prompts.fenced_prompt import FencedPrompt
from steelyard.prompts.language import Language
from steelyard.prompts.template import own_words, placeholders
from steelyard.prompts.trajectory import read_trajectory, shorten, windowed_transcript
from steelyard.replies.judge_reply import Verdict
from steelyard.replies.preference import read_preference
from steelyard.replies.verdict_like import neutralised, verdict_like
from steelyard.scorers.judges.declared import (
    LONGEST_REASON,
    AskingScorer,
    PromptForm,
    form_of,
    not_applicable,
    reference_of,
    unless_stopped,
)
from steelyard.scorers.judges.judge import takes_model, together
from steelyard.scorers.preference import VALUES, Label, Sides, of_answers, sides_of
from steelyard.types import Asks, Message, Output, Sample, Score, ScoreInfo, StageInfo

_TOKENS: Final = 1024
"""Reasons come before the verdict, so a reply that is cut off has none: a few sentences take 100 to 300 tokens."""
_ENCLOSED: Final = re.compile(
    r"(?:【|\\(?:boxed|fbox)\s{0,2}\{|<(?:answer|choice|preference|decision|result)>)\s{0,6}\{?"
    r"(?=\s{0,6}(?:[A-Ca-cＡ-Ｃ12１２]|tie|draw|平))",
    re.IGNORECASE,
)
"""Markup around a letter that an answer may contain for its own purposes and that would be read as a verdict."""


@takes_model
@dataclass(frozen=True, slots=True)
class Preference(AskingScorer):
    """Which of two answers a judge prefers: 1 for side A, 0 for side B, 0.5 for neither.

    The judge sees the answers by their places, never who gave them, and marks in them that look like a verdict are made
    unreadable. With both orders, verdicts that differ make the pair `inconsistent`: it counts half, and is reported
    apart from ties. A pair with a side that failed or refused is not judged. A verdict that cannot be read leaves the
    pair `unparsed`. Where the judge is asked several times, the verdict of an order is that of more than half of its
    parsed replies; without such a majority the pair is `inconsistent`.

    Args:
        criteria: what makes an answer better, as a text or a list of texts. Empty: helpfulness, correctness, relevance
            and depth.
        reference: whether the judge sees the sample's reference. `auto`: where the sample has one; true: always, and
            samples without one are not applicable; false: never.
        orders: `both` asks twice, with each side first once. `random` asks once, with a side first that is drawn by
            `seed` and the sample's id: half the price, and no disagreement between the orders can be seen.
        seed: for the order.
        template: a prompt of your own; names `{{answer_a}}` and `{{answer_b}}`, and may use `{{question}}` and
            `{{reference}}` (all four fenced; a reference that is not shown is empty), `{{criteria}}` and `{{mark}}`.
            It asks for `[[A]]`, `[[B]]` or, for a tie, `[[C]]`.
        name: of the score.
        transcript_tokens: where it is above 0, the judge is shown the messages of both agents before their answers,
            each within so many estimated tokens; the middle of a longer transcript is left out. A pair with a side that
            keeps no messages is not applicable then. Only the suite `pairwise` hands the messages over.
        style: count headings, list items and bold passages, so that reports control for them beside length.
    """

    stage_info: ClassVar[StageInfo] = StageInfo(mock_reply="[[A]]", compares_pairs=True)

    asks: ClassVar[Mapping[str, PromptForm]] = {
        "preference": PromptForm(
            ("question", "reference", "answer_a", "answer_b"), ("criteria",), needed=("answer_a", "answer_b")
        )
    }

    criteria: Annotated[str | tuple[str, ...], TextList(most=50, or_text=True), own_words] = ""
    reference: Literal["auto"] | bool = "auto"
    orders: Literal["both", "random"] = "both"
    seed: Seed = 0
    template: Path | str = ""
    name: ScoreName = "preference"
    transcript_tokens: int = 0
    style: bool = False

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """1 for side A, 0 for side B, 0.5 for neither."""
        return (ScoreInfo(self.name, (0.0, 1.0), rates="preference"),)

    def check(self) -> None:
        """Check the transcripts and the prompt.

        Raises:
            ConfigError: a size out of its range, or a prompt that cannot be trusted or leaves out what was asked for.
        """
        if self.transcript_tokens != 0:
            expect_number("transcript_tokens", self.transcript_tokens, 200, 1_000_000, whole=True)
        AskingScorer.check(self)
        if self.template:
            used_names = dict(placeholders(self.prompts["preference"].text("en")))
            for key, is_set in (("criteria", bool(self.criteria)), ("reference", self.reference is True)):
                if is_set and key not in used_names:
                    raise ConfigError(f"{key} is set, but the prompt does not name {{{{{key}}}}}")

    @property
    def prompts(self) -> dict[str, FencedPrompt]:
        """The prompts that are sent, by their names in the manifest; with the criteria where none are set."""
        criteria_prompt = {} if self.criteria else {"criteria": self._packaged_criteria}
        return {"preference": self.prompt("preference", self.asks["preference"]), **criteria_prompt}

    async def __call__(self, sample: Sample, output: Output, ask: Asks) -> Score:
        """Judge one pair."""
        sides = sides_of(self.name, output)
        if isinstance(sides, Score):
            return sides
        shown = self._with_transcripts(sides, sample, output) if self.transcript_tokens else sides
        if isinstance(shown, Score):
            return shown
        reference = "" if self.reference is False else reference_of(sample)
        if self.reference is True and not reference:
            return not_applicable(self.name, "the sample has no reference")
        prompts = self._prompts(sample, shown, reference)

        async def once(messages: list[Message]) -> Verdict:
            reply = await self.judge.ask(ask, messages, schema=self.judge.preference_schema(), max_tokens=_TOKENS)
            return unless_stopped(read_preference(reply.text, finish=reply.finish), reply)

        repeats, messages = self.judge.repeats, list(prompts.values())
        # Equal answers make one prompt of both orders: it is asked once, and its verdict counts for each.
        distinct = messages[:1] if messages[0] == messages[-1] else messages
        verdicts = await together([partial(once, prompt) for prompt in distinct for _ in range(repeats)])
        by_prompt = [verdicts[at * repeats : (at + 1) * repeats] for at in range(len(distinct))]
        orders = [order_of(shown, by_prompt[min(at, len(distinct) - 1)]) for at, shown in enumerate(prompts)]
        asked_for = form_of(verdicts)
        form = {"asked_for": asked_for} if asked_for else {}
        return self._score(sides, orders, {**form, **of_answers(sample, sides, style=self.style)})

    def _with_transcripts(self, sides: Sides, sample: Sample, output: Output) -> Sides | Score:
        """Both answers behind the messages that led to them; not applicable where a side keeps none."""
        language = self.judge.language_for(transcript_of(sample.input), *sides)
        texts = []
        for side, answer in zip("AB", sides, strict=True):
            trajectory = read_trajectory(Output(answer, metadata=output.metadata[side]))
            if isinstance(trajectory, str):
                return not_applicable(self.name, f"{side}: {trajectory}", lacks="a trajectory")
            window = windowed_transcript(trajectory.messages, self.transcript_tokens, language)
            texts.append(f"{window.text}\n({window.note})\n\n{shorten(answer, self.transcript_tokens)}")
        return Sides(*texts)

    def _prompts(self, sample: Sample, sides: Sides, reference: str) -> dict[Shown, list[Message]]:
        """The messages to send, by order."""
        question = transcript_of(sample.input)
        language = self.judge.language_for(question, *sides)
        prompt = self.prompts["preference"]
        prompts: dict[Shown, list[Message]] = {}
        for shown in self._orders(sample):
            first, second = sides.shown(shown)
            values = {
                "question": question,
                "reference": reference,
                "answer_a": _disarmed(first),
                "answer_b": _disarmed(second),
                "criteria": self._criteria(language),
            }
            prompts[shown] = prompt.messages(language, values)
        return prompts

    def _orders(self, sample: Sample) -> tuple[Shown, ...]:
        if self.orders == "both":
            return ("AB", "BA")
        drawn = blake2b(f"{self.seed}\0{sample.id}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return ("AB",) if drawn[0] & 1 else ("BA",)

    def _criteria(self, language: Language) -> str:
        criteria = self.criteria
        if not criteria:
            return self._packaged_criteria.text(language)
        return (
            criteria.strip()
            if isinstance(criteria, str)
            else "\n".join(f"- {' '.join(criterion.split())}" for criterion in criteria)
        )

    def _score(self, sides: Sides, orders: Sequence[Order], extra: Mapping[str, Any]) -> Score:
        verdict = combined(orders)
        reason = explained(orders)[:LONGEST_REASON]
        detail: dict[str, Any] = {"by": "judge", "orders": [order.detail() for order in orders]}
        detail["columns"] = {
            f"{self.name}_label": verdict.label,
            f"{self.name}_reason": reason,
            **{f"{self.name}_{order.shown}": order.reason[:LONGEST_REASON] for order in orders},
        }
        detail |= extra
        likes = (
            f"{side}: {likeness}" for side, text in zip("AB", sides, strict=True) if (likeness := verdict_like(text))
        )
        if like := next(likes, ""):
            detail["verdict_like"] = like[:200]
        if verdict.outcome != "scored":
            why_unparsed = {"kind": verdict.kind} if verdict.kind else {}
            return Score(self.name, None, outcome=verdict.outcome, reason=reason, detail=detail | why_unparsed)
        detail["label"] = verdict.label
        return Score(self.name, VALUES[verdict.label], reason=reason, detail=detail)

    @property
    def _packaged_criteria(self) -> FencedPrompt:
        return FencedPrompt("preference_criteria", "", (), earlier=self.judge.earlier_prompts)


def _disarmed(answer: str) -> str:
    """The answer with marks that look like a verdict defused, so that a quotation of it is not read as a verdict."""
    return _ENCLOSED.sub(r"\g<0>·", neutralised(answer))


Shown = Literal["AB", "BA"]
DIVIDED: Final = "divided"
"""The kind of an order whose repeats were parsed but have no majority."""
_SLOTS: Final = {"A": 1, "B": 2}


@dataclass(frozen=True, slots=True)
class Order:
    """The judge's verdict on a pair in one order.

    Args:
        shown: which side stood first.
        verdict: the side that it prefers, `tie`, or "" where nothing was read or its repeats are divided.
        slot: the place that won, 1 or 2; 0 where none did.
        outcome: `scored`, `unparsed` or `refused`.
        kind: why it was not read, or `divided`.
        reason: the judge's own words, in which A and B are places.
        repeats: the verdict of each repeat, "" where it was not read; empty for a single one.
    """

    shown: Shown
    verdict: str
    slot: int
    outcome: str
    kind: str = ""
    reason: str = ""
    repeats: tuple[str, ...] = ()

    def detail(self) -> dict[str, Any]:
        """Plain JSON, as it is stored in the score's detail."""
        values = asdict(self)
        repeats = list(values.pop("repeats"))
        return values | ({"repeats": repeats} if repeats else {})


def order_of(shown: Shown, verdicts: Sequence[Verdict]) -> Order:
    """The verdict of one order: with repeats the one that more than half of the parsed verdicts give.

    Args:
        shown: which side stood first.
        verdicts: one per repeat; their labels are places, `A` the first.

    >>> order_of("BA", [Verdict("scored", 1.0, "A")]).verdict
    'B'
    """
    read = [verdict for verdict in verdicts if verdict.value is not None]
    repeats = tuple(_side(verdict.label, shown) if verdict.value is not None else "" for verdict in verdicts)
    repeats = repeats if len(verdicts) > 1 else ()
    if not read:
        first = next((verdict for verdict in verdicts if verdict.outcome == "unparsed"), verdicts[0])
        kind = "" if first.outcome == "refused" else first.kind or "none"
        return Order(shown, "", 0, first.outcome, kind, _line(first.reason), repeats)
    label, count = Counter(verdict.label for verdict in read).most_common(1)[0]
    if 2 * count <= len(read):
        return Order(shown, "", 0, "scored", DIVIDED, _line(read[0].reason), repeats)
    reason = next(verdict.reason for verdict in read if verdict.label == label)
    return Order(shown, _side(label, shown), _SLOTS.get(label, 0), "scored", "", _line(reason), repeats)


def _side(slot: str, shown: Shown) -> str:
    return shown[_SLOTS[slot] - 1] if slot in _SLOTS else slot


def _line(text: str) -> str:
    return " ".join(text.split())


class Combined(NamedTuple):
    """The combined verdict of all orders of a pair; it has a label if every order was parsed."""

    outcome: Literal["scored", "unparsed", "refused"]
    label: Label | Literal[""] = ""
    kind: str = ""


def combined(orders: Sequence[Order]) -> Combined:
    """Combine the verdicts of one or two orders.

    `inconsistent` where the verdicts of the two orders differ, whatever they are, and where the repeats of one order
    are divided. One order that was not parsed leaves the pair unparsed: the other alone may show position bias. It is
    `refused` where the judge refused an order and every other one was read, or refused as well.

    >>> combined([Order("AB", "A", 1, "scored"), Order("BA", "tie", 0, "scored")]).label
    'inconsistent'
    """
    unparsed = next((order for order in orders if order.outcome == "unparsed"), None)
    if unparsed is not None:
        return Combined("unparsed", "", unparsed.kind)
    if any(order.outcome == "refused" for order in orders):
        return Combined("refused")
    verdicts = {order.verdict for order in orders}
    label: Any = verdicts.pop()
    return Combined("scored", "inconsistent" if verdicts or label == "" else label)


def explained(orders: Sequence[Order]) -> str:
    """The verdict in one line for a person: the preferred side, the order and the reason.

    Of two orders that agree the reason is that in which A is shown first, so that its A and B are the sides.
    """
    verdict = combined(orders)
    if verdict.outcome != "scored":
        order = next(order for order in orders if order.outcome == verdict.outcome)
        return order.reason or f"the judge {'refused' if verdict.outcome == 'refused' else 'gave no verdict'}"
    if verdict.label == "inconsistent":
        return "; ".join(f"{_named(order)} with {order.shown[0]} shown first" for order in orders)
    first = orders[0]
    where = "in both orders" if len(orders) > 1 else f"with {first.shown[0]} shown first"
    hint = "" if first.shown == "AB" or not first.reason else " (its A is side B)"
    return f"{_named(first)} {where}{hint}{f': {first.reason}' if first.reason else ''}"


def _named(order: Order) -> str:
    return order.verdict or "no majority"
