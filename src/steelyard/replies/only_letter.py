"""Reads the one letter that a reply speaks of as an option: the weakest sign of an answer that is a letter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Final

from steelyard.replies.choice_letters import (
    JOINT,
    LONE,
    MOST_MENTIONS,
    NAMED,
    is_close_only,
    is_in_option,
    is_named_wrong,
    is_range,
    is_word,
)
from steelyard.replies.evidence import DECLARES, REJECTED, Candidate, Strength, is_against
from steelyard.replies.grammar import FLAGS, any_of, languages_in, lexicon
from steelyard.replies.options import SENTENCE_END, SHORT, ChoicePage

_FEW_DENIALS: Final = frozenset({"es", "fr", "de", "ja"})
"""Of 255 sentences that give no single answer, 75 were read by it; Korean and Portuguese are measured with it."""
_TAKEN: Final = re.compile(
    r"(?:选项|项)?[)\]\"'}>$]{0,3}(?:\s{0,2}(?:[.,;:!\n。，、(<\-–—]|\Z)|\s(?:because|since|as|due"
    r"|is (?:the|my|what|where|how|correct|right|true|best|better|most)"
    r"|seems|would|fits|matches|describes|and|but|given|for|in|on|here)\b|[一-鿿])",
    re.IGNORECASE,
)
"""Behind a letter that may be what the reply gives; `B is too broad` only speaks of it."""
_DENIED_ELSEWHERE: Final = re.compile(
    r"(?:\b(?:non|niet|nicht|pas|no (?:es|sería)|nie|inte|ikke|nem|není|nije|nu|bukan|không|не|ні|ليس\w?)|ไม่ใช่|नहीं)"
    r"[\s—–-]{0,3}(?:(?:l')?[^\W\d]{1,6}\s){0,2}[\s(\"']{0,3}\Z",
    re.IGNORECASE,
)
"""Before a letter: `non è B`, where no other phrases are known, or no word tells the language."""
_SINGULAR: Final = re.compile(r"[)\]]?\s(?:is|was)\b", re.IGNORECASE)
"""Behind the last of several letters: what is said there is said of that one alone."""


@cache
def _against_elsewhere() -> re.Pattern[str]:
    """What may speak against a letter in languages that have no lexicon of their own."""
    return re.compile(any_of(lexicon("closings")["against"]), FLAGS)


def only_letter(page: ChoicePage) -> Candidate | None:
    """The one letter that is spoken of as an option, where nothing is said against it.

    Not in a language whose denials are known only next to a declared answer.
    """
    if not _FEW_DENIALS.isdisjoint(languages_in(page.text)) or _against_elsewhere().search(page.text):
        return None
    spans = list(_lone_letters(page))
    if any(page.text[start] not in page.labels for start, _ in spans):
        return None  # a symbol is among them, and so may be the others
    if any(DECLARES.is_conditional(page.text, start) for start, _ in spans):
        return None
    against = {page.text[start] for start, end in spans if _speaks_against(page, start, end)}
    letters = {page.text[start] for start, _ in spans}
    if len(page.text) <= SHORT:
        letters -= against
    if len(letters) != 1 or letters & against:
        return None
    for start, end in reversed(spans):
        if page.text[start] in letters and _TAKEN.match(page.text, end) and not _is_cut(page, start, end):
            return Candidate((page.text[start],), start, end, Strength.MENTIONED, "only_letter")
    return None


def _is_cut(page: ChoicePage, start: int, end: int) -> bool:
    """Whether the reply breaks off at the letter, in a sentence that another one precedes on its line."""
    line = page.text.rfind("\n", 0, start) + 1
    at_end = not page.text[end:].strip(")]\"' ")
    return page.breaks_off(start) or (at_end and SENTENCE_END.search(page.text, line, start) is not None)


def _lone_letters(page: ChoicePage) -> Iterator[tuple[int, int]]:
    """Where letters are spoken of as options; in a short reply any lone capital letter that is not a word."""
    is_short = len(page.text) <= SHORT
    for match in islice((LONE if is_short else NAMED).finditer(page.text), MOST_MENTIONS):
        named = match.span(match.lastgroup or 0)
        joint = None if is_short else JOINT.match(page.text, named[0])  # `Options A, B and C`, where A alone is named
        others = LONE.finditer(page.text, named[1], joint.end()) if joint else ()
        for start, end in (named, *(other.span() for other in others)):
            is_text = is_word(page.text, start, end) or is_range(page.text, start, end) or is_in_option(page, start)
            if not (is_text or page.is_listed(start)):
                yield start, end


def _speaks_against(page: ChoicePage, start: int, end: int) -> bool:
    """Whether the words around a letter deny it, or call its option wrong."""
    if is_against(page.text, start) or is_named_wrong(page, start):
        return True
    if _DENIED_ELSEWHERE.search(page.text, max(0, start - 24), start):
        return True
    joint = JOINT.match(page.text, start)
    behind = joint.end() if joint and not _SINGULAR.match(page.text, joint.end()) else end
    if page.is_rejected((page.text[start],), end) or REJECTED.match(page.text, behind):
        return True
    return is_close_only(page.text, start, end)
