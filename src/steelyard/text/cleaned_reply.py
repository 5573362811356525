"""A reply made ready for reading, without moving any of its characters.

`fold` writes plain letters and marks for full-width, circled and bold ones; `clean_reply` also blanks reasoning, markup
and copied examples, and keeps the beginning and the end of a long reply. Whatever is taken away is replaced by spaces,
or lies outside the window, so each offset leads back to the reply as it came. `Condensed` drops spaces and punctuation
for comparing texts and still knows where each character stood.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from types import MappingProxyType
from typing import Final

from steelyard.text.choice_patterns import (
    EXAMPLE,
    HEADED_ANSWER,
    HEADED_REASONING,
    MARKS,
    REASONING,
    STRUCK,
    TURN_ENDS,
)

_MARKDOWN: Final = "*`#"
_INVISIBLE: Final = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00a0\u3000\0"
_QUOTES: Final = MappingProxyType({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "『": '"', "』": '"', "İ": "i"})
_COMPATIBLE: Final = ((0xFF01, 0xFF5F), (0x24B6, 0x24EA), (0x1D400, 0x1D800))
_CAPITALS_IN_SHAPES: Final = (0x1F110, 0x1F130, 0x1F150, 0x1F170)
_ALPHABET: Final = 26
_WORD: Final = re.compile(r"[^\W_]+")
_KEPT: Final = re.compile(r"[^\s$\"'\\{},.;:!?，。、；：！？()（）\[\]【】]+")
_MATHS: Final = re.compile(r"[\d+\-*/=<>^√π±−]")
_MARK_IN_NUMBER: Final = re.compile(r"(?<=\d)\.(?=\d)")
_KEPT_HEAD: Final = 8_000
_KEPT_TAIL: Final = 16_000
_EXAMPLE_WORDS: Final = ("例", "xample", "XAMPLE", "e.g", "E.G", "比如")
_BOLD: Final = re.compile(r"\*\*(?=[^*\s])")


def _pairs() -> Iterator[tuple[int, str]]:
    for first, end in _COMPATIBLE:
        for code in range(first, end):
            plain = unicodedata.normalize("NFKC", chr(code))
            if len(plain) == 1:
                yield code, plain
    for first in _CAPITALS_IN_SHAPES:
        for place in range(_ALPHABET):
            yield first + place, chr(ord("A") + place)
    for mark in _MARKDOWN + _INVISIBLE:
        yield ord(mark), " "
    for quote, plain in _QUOTES.items():
        yield ord(quote), plain


def fold(text: str) -> str:
    """`text` with plain letters and marks in place of full-width, circled and bold ones; its length is unchanged.

    Markdown emphasis and invisible characters become spaces.

    >>> fold("Ｂ） Ⓒ 𝐃 **A**")
    'B) C D   A  '
    """
    return text.translate(_FOLDED)


def is_formula(text: str) -> bool:
    """Whether signs carry meaning in `text`, so that "-1" and "1" must not be taken for the same.

    >>> is_formula("x = -1"), is_formula("the daughter, only")
    (True, False)
    """
    return _MATHS.search(text) is not None


@dataclass(frozen=True, slots=True)
class Condensed:
    """A text without its spaces and punctuation, in lower case, that can be traced back.

    Args:
        text: what is left.
        starts: where each run of kept characters begins in `text`.
        origins: where the same run begins in the folded original.
    """

    text: str
    starts: tuple[int, ...]
    origins: tuple[int, ...]

    def origin(self, place: int) -> int:
        """Offset in the original of the character at `place`."""
        run = bisect_right(self.starts, place) - 1
        return self.origins[run] + place - self.starts[run]


def condense(folded: str, *, signs: bool = False) -> Condensed:
    """`folded` reduced to its letters and digits; with `signs` also mathematical signs and decimal points.

    >>> condense("The Answer, is: x-1.").text
    'theanswerisx1'
    >>> condense("x - 1.5.", signs=True).text
    'x-1·5'
    """
    lowered = folded.lower()
    if signs:
        lowered = _MARK_IN_NUMBER.sub("·", lowered)
    runs = [(match.start(), match.group()) for match in (_KEPT if signs else _WORD).finditer(lowered)]
    ends = tuple(accumulate((len(run) for _, run in runs), initial=0))
    return Condensed("".join(run for _, run in runs), ends[:-1], tuple(start for start, _ in runs))


@dataclass(frozen=True, slots=True)
class CleanedReply:
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
        return place + self.offset + (self.gap if self.gap and place >= _KEPT_HEAD else 0)


def clean_reply(reply: str) -> CleanedReply:
    """Fold `reply`, blank its reasoning, markup and copied example, and keep its beginning and end."""
    folded, unfinished = without_reasoning(fold(reply))
    folded = _own_turn(_without_heading(folded))
    offset = len(folded) - len(folded.lstrip())
    text = folded.strip()
    gap = max(0, len(text) - _KEPT_HEAD - _KEPT_TAIL)
    if gap:
        text = text[:_KEPT_HEAD] + text[_KEPT_HEAD + gap :]
    if "~~" in text or "</" in text:
        text = STRUCK.sub(_blank, text)
    if any(mark in text for mark in "<\\_["):
        text = MARKS.sub(_blank, text)
    if any(word in text for word in _EXAMPLE_WORDS):
        text = EXAMPLE.sub(_blank, text)
    bold = tuple(match.start() - offset for match in _BOLD.finditer(reply)) if "**" in reply and not gap else ()
    return CleanedReply(text, offset, gap, unfinished, bold)


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


_FOLDED: Final[Mapping[int, str]] = MappingProxyType(dict(_pairs()))
