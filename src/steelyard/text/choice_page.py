"""A reply made ready for reading: folded, without reasoning and markup, cut to a size that can be read in time.

Whatever is taken away is replaced by spaces, or lies outside the window, so each offset leads back to the reply.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from steelyard.text.choice_patterns import (
    EXAMPLE,
    FOLLOW_UP,
    HEADED_ANSWER,
    HEADED_REASONING,
    MARKS,
    REASONING,
    STRUCK,
    TURN_ENDS,
)
from steelyard.text.normal import condense, fold

_HEAD: Final = 8_000
_TAIL: Final = 16_000
_EXAMPLE_WORDS: Final = ("例", "xample", "XAMPLE", "e.g", "E.G", "比如")
_BOLD: Final = re.compile(r"\*\*(?=[^*\s])")
_MOST_LABELS: Final = 400
_KEPT: Final = re.compile(r"[^\W_]")
_STOPS: Final = frozenset("\n.;:。!?,]")
_LABEL: Final = re.compile(r"(?:(?<=\n)|(?<=^)|(?<=[;。?:\])是\s]))[ \t]{0,8}[-•·]?[ \t]{0,8}[(\[]?([A-Z])\s?[.:)、\]]")

_LED_TO: Final = re.compile(
    r"\b(?:is|be|are|was|choose|select|pick|option|answer|with|leaves|only|not|or|and)\s{1,3}[(\[]?$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Page:
    """The readable part of a reply.

    Args:
        text: folded; at most 24,000 characters, the beginning and the end of a longer reply.
        offset: how far its beginning lies from the reply's.
        gap: how many characters were left out in the middle.
        unfinished: whether the reply broke off inside its reasoning.
        bold: where bold words begin in `text`; none in a reply of which the middle is left out.
    """

    text: str
    offset: int
    gap: int
    unfinished: bool
    bold: tuple[int, ...] = ()

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The same place in the reply as it came."""
        return self._place(start), self._place(end - 1) + 1 if end > start else self._place(start)

    def _place(self, place: int) -> int:
        return place + self.offset + (self.gap if self.gap and place >= _HEAD else 0)


def open_page(reply: str) -> Page:
    """Fold `reply`, blank its reasoning, markup and copied example, and keep its beginning and end."""
    folded, unfinished = without_reasoning(fold(reply))
    folded = _own_turn(_without_heading(folded))
    offset = len(folded) - len(folded.lstrip())
    text = folded.strip()
    gap = max(0, len(text) - _HEAD - _TAIL)
    if gap:
        text = text[:_HEAD] + text[_HEAD + gap :]
    if "~~" in text or "</" in text:
        text = STRUCK.sub(_blank, text)
    if any(mark in text for mark in "<\\_["):
        text = MARKS.sub(_blank, text)
    if any(word in text for word in _EXAMPLE_WORDS):
        text = EXAMPLE.sub(_blank, text)
    bold = tuple(match.start() - offset for match in _BOLD.finditer(reply)) if "**" in reply and not gap else ()
    return Page(text, offset, gap, unfinished, bold)


def _blank(match: re.Match[str]) -> str:
    return " " * (match.end() - match.start())


def _without_heading(text: str) -> str:
    """Blank what stands under a heading such as `思考过程：`, where a heading of the answer follows it."""
    if not HEADED_REASONING.match(text):
        return text
    ends = [match.end() for match in HEADED_ANSWER.finditer(text)]
    return " " * ends[-1] + text[ends[-1] :] if ends else text


def _own_turn(text: str) -> str:
    """What stands before the end of the model's turn; a mark before which nothing was said ends none."""
    place = 0
    for match in TURN_ENDS.finditer(text):
        if MARKS.sub(" ", text[place : match.start()]).strip():
            return text[: match.start()]
        place = match.end()
    return text


def without_reasoning(text: str) -> tuple[str, bool]:
    """Blank each block of reasoning, and say whether the last one is unfinished.

    One without its opening mark begins the reply, one without its closing mark ends it.

    >>> without_reasoning("<think>B?</think>A"), without_reasoning("A<think>B?")
    (('                 A', False), ('A         ', True))
    """
    if "<" not in text and "◁" not in text and "[" not in text:
        return text, False
    unfinished = False
    for opening, closing in REASONING:
        lowered = text.lower()
        if len(lowered) != len(text):  # a few letters become two
            lowered = text
        pieces, place = [], 0
        first, last = lowered.find(opening), lowered.rfind(closing)
        if last >= 0 and (first < 0 or first > last):
            place = last + len(closing)
            pieces.append(" " * place)
        while (start := lowered.find(opening, place)) >= 0:
            end = lowered.find(closing, start)
            unfinished = unfinished or end < 0
            stop = len(text) if end < 0 else end + len(closing)
            pieces += [text[place:start], " " * (stop - start)]
            place = stop
        text = "".join([*pieces, text[place:]])
    return text, unfinished


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
    first, own = _KEPT.search(text, start, start + 12), _KEPT.search(option)
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
