"""Letters that a reply only begins to speak of: the walk through the options that breaks off."""

from __future__ import annotations

import re
from typing import Final

from steelyard.text.choice_letters import Group

_EN: Final = re.IGNORECASE
_ENDS: Final = re.compile(r"[.!?。)\]\"'>:;|]\s*\Z")
_STARTS_TO_SAY: Final = re.compile(
    r"[)\]]?\s?(?:[-–—:.,]\s|\([^)\n]{0,80}\)\s)?(?:[^.!?。\n]{0,120}?\s)?(?:is|are|was|states?|says?"
    r"|describes?|refers?|means|suggests?"
    r"|implies|involves|requires|would|can|could|has|does|claims?|talks|mentions|represents?|seems|appears|this|it|the"
    r"|an?|needs|also|might|may|because|since|as|and|or|but|which|that|to|of|in|for|not)\b[^.!?。\n]{0,160}\Z",
    _EN,
)
_OTHER: Final = re.compile(r"(?<![A-Za-z'])(?!A\s|I\s)[A-Z](?![A-Za-z'])")
_LABEL: Final = re.compile(r"[(\[]?[A-Z][).:\]]\s{0,3}\Z")
_INTRO: Final = re.compile(
    r"\b(?:look(?:ing)? at|consider(?:ing)?|analy[sz](?:e|ing)|examin(?:e|ing)|evaluat(?:e|ing)"
    r"|go(?:ing)? (?:over|through)"
    r"|break(?:ing)? down|review(?:ing)?|discuss(?:ing)?|assess(?:ing)?|here are|weigh(?:ing)?|compar(?:e"
    r"|ing)|walk(?:ing)? through"
    r"|explor(?:e|ing)|check(?:ing)?|explain(?:ing)?|these are|the following are)\b[^.:\n]{0,40}?\b(?:options?|choices?"
    r"|alternatives?|answers?|statements?|possibilities|them|each|one by one)\b[^.:\n]{0,40}(?:[:.]|\n)\s{0,4}"
    r"(?:\d{1,2}[.)]\s{0,2}|[-•]\s{0,2})?(?:options?\s|choices?\s)?[(\[]?\Z",
    _EN,
)


def is_cut_off(text: str, group: Group) -> bool:
    """Whether nothing is said of the letter, because the reply ends in the middle of a walk through the options.

    Args:
        text: the page.
        group: a letter in it.

    >>> is_cut_off("Let us look at each option: A. Bronze, this is", Group(("A",), 28, 29))
    True
    """
    if not _is_open(text):
        return False
    if begins_walk(text, group.start):
        return True
    return _OTHER.search(text, 0, group.start) is not None and _STARTS_TO_SAY.match(text, group.end) is not None


def begins_walk(text: str, start: int) -> bool:
    """Whether the label or option's text at `start` is the first of a walk, in a reply that ends without a stop."""
    if not _is_open(text):
        return False
    label = _LABEL.search(text, max(0, start - 6), start)
    stop = label.start() if label else start
    return _INTRO.search(text, max(0, stop - 140), stop) is not None


def _is_open(text: str) -> bool:
    return _ENDS.search(text, max(0, len(text) - 4)) is None
