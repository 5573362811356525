"""What each rule for multiple-choice replies is given, and what it gives back."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, Literal

from steelyard.text.choice_patterns import (
    FOLLOW_UP,
)
from steelyard.text.cleaned_reply import CleanedReply, condense, fold

_MOST_LABELS: Final = 400
_LETTER_OR_DIGIT: Final = re.compile(r"[^\W_]")
_STOPS: Final = frozenset("\n.;:。!?,]")
_LABEL: Final = re.compile(r"(?:(?<=\n)|(?<=^)|(?<=[;。?:\])是\s]))[ \t]{0,8}[-•·]?[ \t]{0,8}[(\[]?([A-Z])\s?[.:)、\]]")
_LED_TO: Final = re.compile(
    r"\b(?:is|be|are|was|choose|select|pick|option|answer|with|leaves|only|not|or|and)\s{1,3}[(\[]?$", re.IGNORECASE
)
Status = Literal["answered", "several", "none_of_these", "refused", "unparsed", "empty"]


def follow_up(text: str, after: int) -> int:
    """Where the first further question begins behind `after`; the length of `text` where there is none."""
    found = FOLLOW_UP.search(text, after)
    return found.start() if found else len(text)


def option_list(text: str, options: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Where the reply lists the options again: per label, from it to the end of its option's text.

    It is a list where labels run A, B, C ... for all options but one at most, and for two at least. A label within a
    line counts only where the option's own text follows, so that `It is not A. It is not B. It is C.` is none.
    """
    if "A" not in text or "B" not in text:
        return ()
    regions: list[tuple[int, int]] = []
    run: list[tuple[int, int, int]] = []
    for match in islice(_LABEL.finditer(text), _MOST_LABELS):
        place = ord(match.group(1)) - ord("A")
        if place >= len(options) or _LED_TO.search(text, max(0, match.start(1) - 12), match.start(1)):
            continue
        if not (end := _own_text(text, match, options[place])):
            continue
        if place != len(run):
            regions += _as_list(text, run, len(options))
            run = []
        if place == len(run):
            run.append((match.start(), match.end(), end))
    regions += _as_list(text, run, len(options))
    return tuple(regions)


def _own_text(text: str, label: re.Match[str], option: str) -> int:
    """Where the option's text behind its label ends; the label's end where another stands there, 0 within a line."""
    if (end := restated(text, label.end(), option)) > label.end():
        return end
    before = text[max(0, label.start() - 8) : label.start()].rstrip(" \t")
    return label.end() if label.start() == 0 or before[-1:] in _STOPS else 0


def restated(text: str, start: int, option: str) -> int:
    """Where the text of `option`, or its first 60 letters, ends that stands at `start`; `start` if it does not."""
    first, own = _LETTER_OR_DIGIT.search(text, start, start + 12), _LETTER_OR_DIGIT.search(option)
    if not first or not own or first.group().lower() != fold(own.group()).lower():
        return start
    wanted = condense(fold(option)).text[:60]
    rest = condense(text[start : start + 300])
    if not wanted or not rest.text.startswith(wanted):
        return start
    return start + rest.origin(len(wanted) - 1) + 1


def _as_list(text: str, run: list[tuple[int, int, int]], count: int) -> list[tuple[int, int]]:
    """`run` where it is a list; `answer: A. ...` with the other options on lines of their own is none."""
    if len(run) < max(2, count - 1):
        return []
    first, second = run[0][0], run[1][0]
    announced = text[first - 1 : first] in {":", "是", "]"} and first > 0
    return [] if announced and "\n" in text[first:second] else [(start, end) for start, _, end in run]


def within(place: int, regions: Sequence[tuple[int, int]]) -> bool:
    """Whether `place` lies in one of `regions`, which are sorted by where they start and end."""
    before = bisect_right(regions, place, key=_start)
    return before > 0 and place < regions[before - 1][1]


def _start(region: tuple[int, int]) -> int:
    return region[0]


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
class ChoiceReply:
    """One reply with everything that a rule may look at.

    Args:
        memo: what one rule found and another looks at, too; by the name of what it is.
    """

    cleaned: CleanedReply
    options: Sequence[str]
    question: str
    several: bool
    listed: tuple[tuple[int, int], ...]
    memo: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def text(self) -> str:
        """The folded page; every offset of a rule counts from its beginning."""
        return self.cleaned.text

    @property
    def count(self) -> int:
        """How many options there are; the last letter follows from it."""
        return len(self.options)

    def reading(
        self, letters: Sequence[str], rule: str, place: tuple[int, int], *, inferred: bool = False
    ) -> ChoiceReading:
        """A reading of `letters`; more than one is `several` unless the question allows it."""
        status: Status = "answered" if len(letters) == 1 or self.several else "several"
        confidence: Literal["explicit", "inferred"] = "inferred" if inferred else "explicit"
        reason = "" if status == "answered" else "the reply gives more than one option"
        return ChoiceReading(tuple(letters), status, rule, self.cleaned.span(*place), confidence, reason)

    def without_letter(self, status: Status, rule: str, place: tuple[int, int], reason: str) -> ChoiceReading:
        """A reading without a letter."""
        return ChoiceReading((), status, rule, self.cleaned.span(*place), None, reason)
