"""Preference: which of two answers does a judge prefer, or does it call them equal?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from steelyard.errors import ConfigError, expect_number
from steelyard.scorers.judges.judge import Judge, together
from steelyard.scorers.judges.summing_up import not_applicable, reference_of, unless_stopped
from steelyard.scorers.preference_orders import Order, Shown, combined, order_of, told
from steelyard.scorers.preference_sides import VALUES, Sides, alike, sides_of
from steelyard.text.fenced_prompt import FencedPrompt
from steelyard.text.language import Language
from steelyard.text.prompt_files import question_of
from steelyard.text.rating import Verdict, read_preference
from steelyard.text.template import placeholders
from steelyard.text.verdict_like import neutralised, verdict_like
from steelyard.types import Asks, Message, Output, Sample, Score

_TOKENS: Final = 1024
"""Reasons stand before the verdict, so a reply that is cut off has none: a few sentences take 100 to 300 tokens."""
_LONGEST_REASON: Final = 2000
_MOST_CRITERIA: Final = 50
_ENCLOSED: Final = re.compile(
    r"(?:【|\\(?:boxed|fbox)\s{0,2}\{|<(?:answer|choice|preference|decision|result)>)\s{0,6}\{?"
    r"(?=\s{0,6}(?:[A-Ca-cＡ-Ｃ12１２]|tie|draw|平))",
    re.IGNORECASE,
)
"""Marks in which an answer may rightly put its own letter, and in which a judge's verdict would be read."""


@dataclass(frozen=True, slots=True)
class Preference:
    """Which of two answers a judge prefers: 1 for side A, 0 for side B, 0.5 where neither.

    The judge sees the answers by their places, never who gave them, and marks in them that look like a verdict are
    made unreadable. With both orders, verdicts that differ make the pair `inconsistent`: it counts half, and is told
    apart from a tie. A pair with a side that failed or refused is not judged. A verdict that cannot be read leaves the
    pair `unparsed`. Where the judge is asked several times, an order says what more than half of the verdicts that were
    read say; without such a majority the pair is `inconsistent`.

    Args:
        judge: the model that judges.
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
    """

    over: ClassVar[str] = "scored"
    of_pairs: ClassVar[bool] = True
    rehearsal: ClassVar[str] = "[[A]]"

    judge: Judge = Judge()
    criteria: str | tuple[str, ...] = ""
    reference: Literal["auto"] | bool = "auto"
    orders: Literal["both", "random"] = "both"
    seed: int = 0
    template: Path | str = ""
    name: str = "preference"

    @property
    def score_name(self) -> str:
        """The name given."""
        return self.name

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: no name, criteria that say nothing, an order or a reference that there is not, a seed that is
                no whole number, or a prompt that cannot be trusted or leaves out what was asked for.
        """
        if not self.name.strip() or not self.name.isprintable():
            raise ConfigError(f"name: a score has a printable name, not {self.name!r}")
        self._check_criteria()
        if self.reference not in ("auto", True, False):
            raise ConfigError(f"reference: expected auto, true or false, but got {self.reference!r}")
        if self.orders not in {"both", "random"}:
            raise ConfigError(f"orders: expected 'both' or 'random', but got {self.orders!r}")
        expect_number("seed", self.seed, 0, whole=True)
        self._prompt.check()
        if self.template:
            named = dict(placeholders(self._prompt.text("en")))
            for key, asked in (("criteria", bool(self.criteria)), ("reference", self.reference is True)):
                if asked and key not in named:
                    raise ConfigError(f"{key} is set, but the prompt does not name {{{{{key}}}}}")

    def _check_criteria(self) -> None:
        given: Any = self.criteria
        if isinstance(given, str):
            return
        if not isinstance(given, tuple | list) or len(given) > _MOST_CRITERIA:
            raise ConfigError(f"criteria: a text, or a list of at most {_MOST_CRITERIA} texts, not {given!r:.80}")
        if not all(isinstance(one, str) and one.strip() for one in given):
            raise ConfigError("criteria: each is a text that says something")

    def manifest(self) -> dict[str, Any]:
        """The prompt, the criteria where they are ours, and their hashes."""
        ours = {} if self.criteria else {"criteria": FencedPrompt("preference_criteria", "", ()).manifest()}
        return {"prompts": {"preference": self._prompt.manifest(), **ours}}

    async def __call__(self, sample: Sample, output: Output, ask: Asks) -> Score:
        """Judge one pair."""
        sides = sides_of(self.name, output)
        if isinstance(sides, Score):
            return sides
        reference = "" if self.reference is False else reference_of(sample)
        if self.reference is True and not reference:
            return not_applicable(self.name, "the sample has no reference")
        prompts = self._prompts(sample, sides, reference)

        async def once(messages: list[Message]) -> Verdict:
            reply = await self.judge.ask(ask, messages, max_tokens=_TOKENS)
            return unless_stopped(read_preference(reply.text, finish=reply.finish), reply)

        repeats = self.judge.repeats
        calls = [partial(once, messages) for messages in prompts.values() for _ in range(repeats)]
        verdicts = await together(calls)
        orders = [
            order_of(shown, verdicts[place * repeats : (place + 1) * repeats]) for place, shown in enumerate(prompts)
        ]
        return self._score(sides, orders)

    def _prompts(self, sample: Sample, sides: Sides, reference: str) -> dict[Shown, list[Message]]:
        """What is sent, by order."""
        question = question_of(sample.input)
        language = self.judge.language_for(question, *sides)
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
            prompts[shown] = self._prompt.messages(language, values)
        return prompts

    def _orders(self, sample: Sample) -> tuple[Shown, ...]:
        if self.orders == "both":
            return ("AB", "BA")
        drawn = blake2b(f"{self.seed}\0{sample.id}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return ("AB",) if drawn[0] & 1 else ("BA",)

    def _criteria(self, language: Language) -> str:
        given = self.criteria
        if not given:
            return FencedPrompt("preference_criteria", "", ()).text(language)
        return given.strip() if isinstance(given, str) else "\n".join(f"- {' '.join(one.split())}" for one in given)

    def _score(self, sides: Sides, orders: Sequence[Order]) -> Score:
        found = combined(orders)
        reason = told(orders)[:_LONGEST_REASON]
        detail: dict[str, Any] = {"by": "judge", "orders": [one.to_json() for one in orders]}
        detail["columns"] = {
            f"{self.name}_label": found.label,
            f"{self.name}_reason": reason,
            **{f"{self.name}_{one.shown}": one.reason[:_LONGEST_REASON] for one in orders},
        }
        likes = (
            f"{side}: {likeness}" for side, text in zip("AB", sides, strict=True) if (likeness := verdict_like(text))
        )
        if like := next(likes, ""):
            detail["verdict_like"] = like[:200]
        if alike(sides):
            detail["alike"] = True
        if found.outcome != "scored":
            unread = {"kind": found.kind} if found.kind else {}
            return Score(self.name, None, outcome=found.outcome, reason=reason, detail=detail | unread)
        detail["label"] = found.label
        return Score(self.name, VALUES[found.label], reason=reason, detail=detail)

    @property
    def _prompt(self) -> FencedPrompt:
        fenced = ("question", "reference", "answer_a", "answer_b")
        return FencedPrompt("judge_preference", self.template, fenced, ("criteria",), ("answer_a", "answer_b"))


def _disarmed(answer: str) -> str:
    """`answer` with its verdict marks made unreadable, so that a judge that quotes it says nothing by that."""
    return _ENCLOSED.sub(r"\g<0>·", neutralised(answer))
