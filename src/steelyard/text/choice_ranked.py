"""Replies that weigh all options: a share for each (`A - 10%, B - 80%`), or an order (`from best to worst: B, A`)."""

from __future__ import annotations

import re
from typing import Final

from steelyard.text.choice_reading import ChoiceReading, Reply

_SHARE: Final = re.compile(
    r"(?:\A|[\n,;])[ \t]{0,8}(?:[-•]\s{0,3})?(?:and\s)?(?:option\s)?\(?(?P<letter>[A-Z])(?![A-Za-z])[).:]?"
    r"[^\n%,;=]{0,80}?[-–—:=(\s]\s?(?P<share>\d{1,3}(?:\.\d{1,4})?)\s?(?P<sign>%|(?=[)\s,;]|$))"
)
_DOWN: Final = re.compile(
    r"\b(?:from\s)?(?:best|most)\b[^.:\n]{0,40}\bto\s(?:the\s)?(?:worst|least)\b|\bdescending\b|\bbest first\b"
)
_UP: Final = re.compile(
    r"\b(?:worst|least)\b[^.:\n]{0,40}\bto\s(?:the\s)?(?:best|most)\b|\bascending\b|\bworst first\b"
)
_ORDER: Final = re.compile(r"\b(?P<first>[A-Z])\)?(?:\s{0,2}(?P<sign>[,>≥])\s{0,2}\(?[A-Z]\b\)?){2,25}")
_ORDERING: Final = ("rank", "order", "best", "most", "descending", "likel", "prefer")
_FIGURE: Final = re.compile(r"\d")
_ALL: Final = 1.0
_LEAD: Final = 120


def ranked(this: Reply) -> ChoiceReading | None:
    """The option with the largest share, or the first of an order that runs from the best."""
    if this.several:
        return None
    return _by_share(this) or _by_order(this)


def _by_share(this: Reply) -> ChoiceReading | None:
    """Where options hold figures themselves, a list of them would look the same, and nothing is read."""
    if "%" not in this.text and "." not in this.text:
        return None
    found = list(_SHARE.finditer(this.text))
    if len(found) < max(2, this.count - 1) or any(_FIGURE.search(option) for option in this.options):
        return None
    shares = {match["letter"]: float(match["share"]) for match in found}
    percent = [bool(match["sign"]) for match in found]
    fractions = not any(percent) and all(share <= _ALL for share in shares.values())
    beyond = any(ord(letter) - ord("A") >= this.count for letter in shares)
    if len(shares) != len(found) or beyond or not (all(percent) or fractions):
        return None
    most = max(shares.values())
    best = [match for match in found if shares[match["letter"]] == most]
    if len(best) > 1:
        return this.other("unparsed", "ranked", best[0].span("letter"), "two options are given the same share")
    return this.found((best[0]["letter"],), "ranked", best[0].span("letter"), inferred=True)


def _by_order(this: Reply) -> ChoiceReading | None:
    lowered = this.text.lower()
    if not any(word in lowered for word in _ORDERING):
        return None
    for match in _ORDER.finditer(this.text):
        lead = this.text[max(0, match.start() - _LEAD) : match.start()].lower().rsplit("\n\n", 1)[-1]
        falls = _DOWN.search(lead) or (match["sign"] == ">" and re.search(r"\brank|\border|\blikel|\bprefer", lead))
        if falls and not _UP.search(lead) and ord(match["first"]) - ord("A") < this.count:
            return this.found((match["first"],), "ranked", match.span("first"), inferred=True)
    return None
