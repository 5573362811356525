"""A reply made ready for reading: folded, without reasoning and markup, cut to a size that can be read in time.

Whatever is taken away is replaced by spaces, or lies outside the window, so each offset leads back to the reply.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from steelyard.text.choice_patterns import EXAMPLE, FOLLOW_UP, MARKS, REASONING
from steelyard.text.normal import fold

_HEAD: Final = 16_000
_TAIL: Final = 32_000
_LABEL: Final = re.compile(r"(?:(?<=\n)|(?<=^)|(?<=[;。?:\])是\s]))[ \t]*[(\[]?([A-Z])\s?[.:)、\]]")

_LED_TO: Final = re.compile(r"\b(?:is|be|are|was|choose|select|option|answer)\s{0,3}$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Page:
    """The readable part of a reply.

    Args:
        text: folded; at most 48,000 characters, the beginning and the end of a longer reply.
        offset: how far its beginning lies from the reply's.
        gap: how many characters were left out in the middle.
        unfinished: whether the reply broke off inside its reasoning.
    """

    text: str
    offset: int
    gap: int
    unfinished: bool

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The same place in the reply as it came."""
        return self._place(start), self._place(end - 1) + 1 if end > start else self._place(start)

    def _place(self, place: int) -> int:
        return place + self.offset + (self.gap if self.gap and place >= _HEAD else 0)


def open_page(reply: str) -> Page:
    """Fold `reply`, blank its reasoning, markup and copied example, and keep its beginning and end."""
    folded, unfinished = without_reasoning(fold(reply))
    offset = len(folded) - len(folded.lstrip())
    text = folded.strip()
    gap = max(0, len(text) - _HEAD - _TAIL)
    if gap:
        text = text[:_HEAD] + text[_HEAD + gap :]
    for pattern in (MARKS, EXAMPLE):
        text = pattern.sub(_blank, text)
    return Page(text, offset, gap, unfinished)


def _blank(match: re.Match[str]) -> str:
    return " " * (match.end() - match.start())


def without_reasoning(text: str) -> tuple[str, bool]:
    """Blank each block of reasoning, and say whether the last one is unfinished.

    One without its opening mark begins the reply, one without its closing mark ends it.

    >>> without_reasoning("<think>B?</think>A"), without_reasoning("A<think>B?")
    (('                 A', False), ('A         ', True))
    """
    if "<" not in text and "◁" not in text:
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


def option_list(text: str, count: int) -> tuple[tuple[int, int], ...]:
    """Where the options' labels stand when the reply lists the options again; empty when it does not.

    It is a list where labels run A, B, C ... for all options but one at most, and for two at least.
    """
    labels = [(match.group(1), match.start(), match.end()) for match in _LABEL.finditer(text)]
    regions: list[tuple[int, int]] = []
    run: list[tuple[int, int]] = []
    for letter, start, end in labels:
        if ord(letter) - ord("A") != len(run):
            regions += _as_list(text, run, count)
            run = []
        if ord(letter) - ord("A") == len(run):
            run.append((start, end))
    regions += _as_list(text, run, count)
    return tuple(regions)


def _as_list(text: str, run: list[tuple[int, int]], count: int) -> list[tuple[int, int]]:
    """`run` where it is a list; `answer: A. ...` with the other options on lines of their own is none."""
    if len(run) < max(2, count - 1):
        return []
    first, second = run[0][0], run[1][0]
    if _LED_TO.search(text, max(0, first - 12), first):
        return []
    announced = text[first - 1 : first] in {":", "是", "]"} and first > 0
    return [] if announced and "\n" in text[first:second] else run


def within(place: int, regions: Sequence[tuple[int, int]]) -> bool:
    """Whether `place` lies in one of `regions`, which are sorted by where they start and end."""
    before = bisect_right(regions, place, key=_start)
    return before > 0 and place < regions[before - 1][1]


def _start(region: tuple[int, int]) -> int:
    return region[0]
