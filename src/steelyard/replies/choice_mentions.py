"""The one option letter that a reply speaks of: its answer where no phrase declares one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from steelyard.replies.choice_letters import (
    LONE,
    MOST_MENTIONS,
    NAMED,
    is_close_only,
    is_in_option,
    is_range,
    is_word,
)
from steelyard.replies.evidence import DECLARES, Candidate, Strength, is_against
from steelyard.replies.grammar import languages_in
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


def only_letter(page: ChoicePage) -> Candidate | None:
    """The one letter that is spoken of as an option, where nothing is said against it.

    Not in a language whose denials are known only next to a declared answer.
    """
    if not _FEW_DENIALS.isdisjoint(languages_in(page.text)):
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
    pattern_of = LONE if len(page.text) <= SHORT else NAMED
    for match in islice(pattern_of.finditer(page.text), MOST_MENTIONS):
        start, end = match.span(match.lastgroup or 0)
        is_text = is_word(page.text, start, end) or is_range(page.text, start, end) or is_in_option(page, start)
        if not (is_text or page.is_listed(start)):
            yield start, end


def _speaks_against(page: ChoicePage, start: int, end: int) -> bool:
    """Whether the words around a letter deny it, or call its option wrong."""
    if is_against(page.text, start) or page.is_rejected((page.text[start],), end):
        return True
    return is_close_only(page.text, start, end)
