"""A reply made ready for reading, without moving any of its characters.

`fold` writes plain letters and marks for full-width, circled and bold ones; `clean` also blanks reasoning, markup and
copied examples, and keeps the beginning and the end of a long reply. What is taken away is replaced by spaces or lies
outside the window, so each offset leads back to the reply as it came.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Final

from steelyard.replies.grammar import lexicon, pattern

_MARKDOWN: Final = "*`#"
_INVISIBLE: Final = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00a0\u3000\0"
_UNSEEN: Final = "\ufeff\u200b\u200c\u200d\u2060"
"""Marks of width zero: whoever reads a reply does not see them around it, and an engine of SQL takes none."""
_QUOTES: Final = MappingProxyType({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "『": '"', "』": '"', "İ": "i"})
_COMPATIBLE: Final = ((0xFF01, 0xFF5F), (0x24B6, 0x24EA), (0x1D400, 0x1D800))
_CAPITALS_IN_SHAPES: Final = (0x1F110, 0x1F130, 0x1F150, 0x1F170)
_ALPHABET: Final = 26
_HEAD: Final = 4_000
_TAIL: Final = 8_000
_MOST_TURNS: Final = 50
_MOST_BLOCKS: Final = 1_000
"""Blocks of reasoning; a reply with more repeats itself without end."""
_TURN_WITHIN: Final = 100_000
"""Characters within which the end of the model's turn is looked for: no model says more in one turn."""
_EXAMPLE_WORDS: Final = ("例", "xample", "XAMPLE")


def _pairs() -> Iterator[tuple[int, str]]:
    for first, end in _COMPATIBLE:
        for code in range(first, end):
            plain = unicodedata.normalize("NFKC", chr(code))
            if len(plain) == 1:
                yield code, plain
    for first in _CAPITALS_IN_SHAPES:
        for number in range(_ALPHABET):
            yield first + number, chr(ord("A") + number)
    for sign in _MARKDOWN + _INVISIBLE:
        yield ord(sign), " "
    for quote, plain in _QUOTES.items():
        yield ord(quote), plain


def fold(text: str) -> str:
    """`text` with plain letters and marks in place of full-width, circled and bold ones; its length is unchanged.

    Markdown emphasis and invisible characters become spaces.

    >>> fold("Ｂ） Ⓒ 𝐃 **A**")
    'B) C D   A  '
    """
    return text.translate(_FOLDED)


@dataclass(frozen=True, slots=True)
class CleanedReply:
    """The readable part of a reply.

    Args:
        text: folded; at most 12,000 characters, the beginning and the end of a longer reply.
        offset: how far its beginning lies from the reply's.
        gap: how many characters were left out in the middle.
        unfinished: whether the reply broke off inside its reasoning.
    """

    text: str
    offset: int
    gap: int
    unfinished: bool

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The same characters in the reply as it came, as (start, end)."""
        return self._original(start), self._original(end - 1) + 1 if end > start else self._original(start)

    def _original(self, offset: int) -> int:
        return offset + self.offset + (self.gap if self.gap and offset >= _HEAD else 0)


def clean(reply: str) -> CleanedReply:
    """Fold `reply`, blank its reasoning, markup and copied example, and keep its beginning and end."""
    visible, unfinished = without_reasoning(reply)
    visible = _own_turn(_without_heading(visible))
    offset = len(visible) - len(visible.lstrip())
    text = visible.strip()
    gap = max(0, len(text) - _HEAD - _TAIL)
    if gap:  # folding costs more than all else on a long reply, so only the window is folded
        text = text[:_HEAD] + text[_HEAD + gap :]
    text = fold(text)
    if "~~" in text or "</" in text:
        text = pattern("page", "struck").sub(_blank, text)
    if any(sign in text for sign in "<\\_["):
        text = pattern("page", "markup").sub(_blank, text)
    if any(word in text for word in _EXAMPLE_WORDS):
        text = pattern("page", "example").sub(_blank, text)
    return CleanedReply(text, offset, gap, unfinished)


def _blank(match: re.Match[str]) -> str:
    return " " * (match.end() - match.start())


def _without_heading(text: str) -> str:
    """Blank what stands under a heading such as `思考过程：`, where a heading of the answer follows it."""
    start = len(text) - len(text.lstrip(" \t\r\n*#_"))
    if not pattern("page", "reasoning_heading").match(fold(text[start : start + 60])):
        return text
    ends = [match.end() for match in pattern("page", "answer_heading").finditer(fold(text))]
    return " " * ends[-1] + text[ends[-1] :] if ends else text


def _own_turn(text: str) -> str:
    """What stands before the end of the model's turn; a mark before which nothing was said ends none."""
    if "<" not in text and "[INST]" not in text and ":" not in text and "：" not in text:
        return text
    start = 0
    for match in islice(pattern("page", "turn_end").finditer(text, 0, _TURN_WITHIN), _MOST_TURNS):
        if pattern("page", "markup").sub(" ", text[start : match.start()]).strip():
            return text[: match.start()]
        start = match.end()
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
    lowered = _lowered(text)
    for opening, closing in lexicon("markup")["reasoning"]["pairs"]:
        pieces, place = [], 0
        first, last = lowered.find(opening), lowered.rfind(closing)
        if last >= 0 and (first < 0 or first > last):
            place = last + len(closing)
            pieces.append(" " * place)
        for _ in range(_MOST_BLOCKS):
            if (start := lowered.find(opening, place)) < 0:
                break
            end = lowered.find(closing, start)
            unfinished = unfinished or end < 0
            stop = len(text) if end < 0 else end + len(closing)
            pieces += [text[place:start], " " * (stop - start)]
            place = stop
        else:
            pieces.append(" " * (max(last + len(closing), place) - place))
            place = max(last + len(closing), place)
        if pieces:
            text = "".join([*pieces, text[place:]])
            lowered = _lowered(text)
    return text, unfinished


def readable(text: str) -> tuple[int, int, bool]:
    """Where the part stands that is no reasoning, and whether the reply broke off inside reasoning.

    It begins behind the last mark that closes reasoning, and ends before one that opens it and is never closed. Marks
    of width zero at its ends are left out.

    >>> readable("<think>a</think>b"), readable("<think>a")
    ((16, 17, False), (0, 0, True))
    """
    if "<" not in text and "◁" not in text and "[" not in text:
        return (*_visible(text, 0, len(text)), False)
    lowered = _lowered(text)
    pairs = lexicon("markup")["reasoning"]["pairs"]
    closed = (at + len(closing) for _, closing in pairs if (at := lowered.rfind(closing)) >= 0)
    start = max(closed, default=0)
    opened = [at for opening, _ in pairs if (at := lowered.find(opening, start)) >= 0]
    return (*_visible(text, start, min(opened, default=len(text))), bool(opened))


def _visible(text: str, start: int, end: int) -> tuple[int, int]:
    """The part between the marks of width zero, and blanks, at its ends."""
    begun = text[start:end].lstrip().lstrip(_UNSEEN + string.whitespace)  # the first is ten times as fast
    return end - len(begun), end - len(begun) + len(begun.rstrip().rstrip(_UNSEEN + string.whitespace))


def _lowered(text: str) -> str:
    """`text` in lower case; as it is where a few letters would become two."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text


_FOLDED: Final[Mapping[int, str]] = MappingProxyType(dict(_pairs()))
