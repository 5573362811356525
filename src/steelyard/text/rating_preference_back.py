"""Whom "the former" and "the latter" mean in a reply that compares two: whoever was named first and second there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal

Back = Literal["AB", "BA", ""]
"""Which of the two the former and the latter are; "" where that cannot be told."""

_SAID: Final = re.compile(r"\b(?:former|latter)\b|前者|后者", re.IGNORECASE)
_ARTICLE: Final = re.compile(r"A\s(?!(?:and|or|but|in|on|to|did|\w*s|\w*ed)\b)[a-z]")
"""A letter that names nobody: "A good point of B is ..."."""
_ENDS: Final = re.compile(r"[.!?;](?=\s)|[。！？；\n]")


def meant_by(text: str, mentions: re.Pattern[str]) -> Back:
    r"""Whom the former and the latter mean, in this order.

    The sentence that names both decides, the nearest one before; where each has sentences of its own, the order in
    which they are named, if the first and the last time agree. A reply that names neither means the prompt's order.

    Args:
        text: the reply, folded.
        mentions: finds the two in it; the group `a` is the first, `b` the second.

    >>> named = re.compile(r"(?P<a>\bA\b)|(?P<b>\bB\b)")
    >>> meant_by("B is long and A is short. The former wins.", named), meant_by("The latter.", named)
    ('BA', 'AB')
    """
    said = list(_SAID.finditer(text))
    if not said:
        return "AB"
    named = [
        (match.start(), "A" if match["a"] else "B")
        for match in mentions.finditer(text)
        if not _ARTICLE.match(text, match.start())
    ]
    found = {_before(text, named, one.start()) for one in {said[0], said[-1]}}
    return found.pop() if len(found) == 1 else ""


def _before(text: str, named: Sequence[tuple[int, str]], place: int) -> Back:
    before = [one for one in named if one[0] < place]
    if not before:
        return "AB"
    sentence: list[str] = []
    ends = [match.end() for match in _ENDS.finditer(text, 0, place)]
    at = len(before)
    for start in [*reversed(ends), 0]:
        while at and before[at - 1][0] >= start:
            at -= 1
            sentence.insert(0, before[at][1])
        if len(set(sentence)) == 2:
            return _order(sentence)
        sentence = []
    first = _order([side for _, side in before])
    last = _order([side for _, side in reversed(before)])
    return first if len({side for _, side in before}) == 2 and first != last else ""


def _order(sides: Sequence[str]) -> Back:
    """The order of a first mention."""
    return "AB" if sides[0] == "A" else "BA"
