"""What a reader of multiple-choice replies gives back, and what each of its rules is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from steelyard.text.choice_page import Page

Status = Literal["answered", "several", "none_of_these", "refused", "unparsed", "empty"]


@dataclass(frozen=True, slots=True)
class ChoiceReading:
    """What was read in one reply.

    Args:
        letters: the options that the reply gives, in order; never one that the question does not have.
        status: `several` where it gives more than one and one was asked for; `empty` where it says nothing.
        rule: the name of the rule that read it, "" where none did.
        span: where it stands in the reply as it came, as (start, end); None where nothing was read.
        confidence: `explicit` where the reply names the option as its answer, `inferred` where that follows from
            the only letter or text that it mentions; None where no letter was read.
        reason: for a person, where nothing was read.
    """

    letters: tuple[str, ...]
    status: Status
    rule: str = ""
    span: tuple[int, int] | None = None
    confidence: Literal["explicit", "inferred"] | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply with everything that a rule may look at.

    Args:
        memo: what one rule found and another looks at, too; by the name of what it is.
    """

    page: Page
    options: Sequence[str]
    question: str
    several: bool
    listed: tuple[tuple[int, int], ...]
    memo: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def text(self) -> str:
        """The folded page; every offset of a rule counts from its beginning."""
        return self.page.text

    @property
    def count(self) -> int:
        """How many options there are; the last letter follows from it."""
        return len(self.options)

    def found(
        self, letters: Sequence[str], rule: str, place: tuple[int, int], *, inferred: bool = False
    ) -> ChoiceReading:
        """A reading of `letters`; more than one is `several` unless the question allows it."""
        status: Status = "answered" if len(letters) == 1 or self.several else "several"
        confidence: Literal["explicit", "inferred"] = "inferred" if inferred else "explicit"
        reason = "" if status == "answered" else "the reply gives more than one option"
        return ChoiceReading(tuple(letters), status, rule, self.page.span(*place), confidence, reason)

    def other(self, status: Status, rule: str, place: tuple[int, int], reason: str) -> ChoiceReading:
        """A reading without a letter."""
        return ChoiceReading((), status, rule, self.page.span(*place), None, reason)
