"""A judge's reply made ready for reading: hidden reasoning and markup blanked, characters folded, a long middle cut.

Whatever is taken away is replaced by blanks or lies in the gap, so that each offset leads back to the reply.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from steelyard.replies.clean import fold
from steelyard.replies.grammar import pattern

_HEAD: Final = 8_000
_TAIL: Final = 12_000
_TAGS: Final = re.compile(r"[<◁](?P<close>/?)(?P<tag>think|thinking|thought|reasoning|scratchpad)[>▷]", re.IGNORECASE)
_SPOKEN: Final = frozenset({"reasoning", "scratchpad"})
"""Tags that prompts ask for; a verdict inside them counts where nothing stands outside."""

_MATHS: Final = re.compile(r"\$(\d{1,3}(?:\.\d{1,2})?(?:\s?/\s?\d{1,3})?)\$")
_QUOTED: Final = re.compile(
    r"(?:(?<=[\s(,:\[—])|^)\"(?=\S)[^\"]{2,1200}\"(?=[\s.,;:!?)\]—。]|$)"
    r"|(?:(?<=[\s(,:\[])|^)'(?=\S)[^'\n]{2,400}'(?=[\s.,;:!?)\]。]|$)"
    r"|(?<=[\u4e00-\u9fff,:\s])\"(?=\S)[^\"]{2,400}\"(?=[\u4e00-\u9fff,。;:!?\s]|$)"
    r"|「[^」]{2,400}」|『[^』\"]{2,400}[』\"]|^[ \t]*+>[ \t][^\n]*+",
    re.MULTILINE,
)
_BLOCK_QUOTE: Final = re.compile(r"^[ \t]*+>[^\n]*+", re.MULTILINE)
_SENTENCE: Final = re.compile(r"[.!?](?=\s)|[。！？!?;；\n|]")


@dataclass(frozen=True, slots=True)
class Page:
    """The readable part of a reply.

    Args:
        text: folded; at most 20,000 characters, the beginning and the end of a longer reply.
        raw: the same characters before they were folded.
        gap: how many characters were left out in the middle.
        unfinished: whether the reply broke off inside its reasoning.
        quoted: where the reply quotes somebody, as (start, end), sorted.
        ends: where its sentences end, sorted.
    """

    text: str
    raw: str
    gap: int
    unfinished: bool
    quoted: Sequence[tuple[int, int]]
    ends: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The same place in the reply as it came."""
        return self._place(start), self._place(end - 1) + 1

    def _place(self, place: int) -> int:
        return place + (self.gap if place >= _HEAD else 0)

    def sentence(self, place: int) -> int:
        """Where the sentence begins in which `place` stands."""
        before = bisect_right(self.ends, place)
        return self.ends[before - 1] if before else 0

    def is_quoted(self, place: int) -> bool:
        """Whether somebody else's words stand at `place`."""
        before = bisect_right(self.quoted, place, key=_start)
        return before > 0 and place < self.quoted[before - 1][1]


def _start(region: tuple[int, int]) -> int:
    return region[0]


def open_page(reply: str) -> Page:
    """The readable part of `reply`."""
    shown, unfinished = _without_reasoning(reply)
    gap = max(0, len(shown) - _HEAD - _TAIL)
    raw = shown[:_HEAD] + shown[_HEAD + gap :] if gap else shown
    text = fold(raw)
    if "$" in text:
        text = _MATHS.sub(r" \1 ", text)
    if "\\" in text or "<" in text or "[" in text:
        text = pattern("page", "markup").sub(_blank, text.replace("\\n", " \n"))
    return Page(text, raw, gap, unfinished, _quotes(text), [match.end() for match in _SENTENCE.finditer(text)])


def _blank(match: re.Match[str]) -> str:
    return " " * (match.end() - match.start())


def _without_reasoning(reply: str) -> tuple[str, bool]:
    """Blank each block of reasoning; a closing mark alone ends one that began with the reply."""
    if "<" not in reply and "◁" not in reply:
        return reply, False
    pieces: list[str] = []
    kept, opened = 0, -1
    spoken = True
    for match in _TAGS.finditer(reply):
        spoken = spoken and match["tag"].lower() in _SPOKEN
        if match["close"]:
            begin = opened if opened >= 0 else 0 if not pieces else match.start()
            pieces += [reply[kept:begin], " " * (match.end() - max(kept, begin))]
            kept, opened = match.end(), -1
        elif opened < 0:
            opened = match.start()
    if opened >= 0:
        return "".join([*pieces, reply[kept:opened], " " * (len(reply) - opened)]), True
    cut = "".join([*pieces, reply[kept:]])
    return (cut, False) if cut.strip() or not spoken else (_TAGS.sub(_blank, reply), False)


def _quotes(text: str) -> list[tuple[int, int]]:
    """Quotations within the reply; one that is the whole reply, or follows a colon at once, is the judge's own."""
    if not any(mark in text for mark in "\"'「『>"):
        return []
    found = []
    fenced = text.lstrip().startswith(">") and not _BLOCK_QUOTE.sub("", text).strip()
    for match in _QUOTED.finditer(text):
        start, end = match.span()
        line = text.rfind("\n", 0, start) + 1
        rest = text.find("\n", end)
        after = text[end : rest if rest >= 0 else len(text)].strip(" .")
        block = match.group().lstrip()[0] == ">"
        own = fenced if block else not after and not text[:start].strip()
        if not own and (end - start > 40 or any(letter.isalpha() for letter in match.group())) and line <= start:
            found.append((start, end))
    return found
