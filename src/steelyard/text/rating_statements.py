"""Whether a number is stated as a rating by the words around it: in a mark, behind a label, or in a sentence."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from steelyard.replies.verdict import Scale
from steelyard.text.rating_aspects import Aspects, Subject
from steelyard.text.rating_claims import Around, Claim, ClaimStrength
from steelyard.text.rating_labels_before import labelled, structured
from steelyard.text.rating_numbers import RatingNumber
from steelyard.text.rating_page import Page
from steelyard.text.rating_said import said
from steelyard.text.rating_words import (
    AND,
    BETWEEN,
    BETWEEN_BEFORE,
    CHANGED,
    CLOSES,
    MARKED,
    NOUN,
    OR,
    OR_BEFORE,
    STARTED,
    VERB,
)

_CHOICES: Final = re.compile(r"\s?([|/,])\s?\d{1,2}\s?\1\s?\d")
"""The numbers of a form among which a judge should have chosen: "1|2|3"."""
_WINDOW: Final = 180
_BEHIND: Final = 120
_ABOVE: Final = 600


def stated(page: Page, number: RatingNumber, scale: Scale, aspects: Aspects) -> Claim | None:
    """The statement of a rating that `number` is part of; None where it is none."""
    this = _around(page, number, scale, aspects)
    if (match := AND.match(this.right)) and number.value is not None and BETWEEN.search(this.here[-12:]):
        bounds = (number.value, float(match["other"]))
        if sorted(bounds) == [scale.low, scale.high] or not CLOSES.match(this.right, match.end()):
            return None
        strength = ClaimStrength.SAID if VERB.search(this.here) or NOUN.search(this.here) else ClaimStrength.BARE
        between = number._replace(value=None, bounds=bounds)
        return Claim(between, strength, Subject.WHOLE, "", "between", begin=number.start)
    if OR_BEFORE.search(this.here) or BETWEEN_BEFORE.search(this.here[-30:]) or _CHOICES.match(this.right):
        return None
    found = structured(this) or labelled(this) or said(this)
    if found and OR.match(this.right):
        found = replace(found, number=number._replace(value=None))
    return _marked(this, found) if found else None


def _around(page: Page, number: RatingNumber, scale: Scale, aspects: Aspects) -> Around:
    begin = max(0, number.start - _WINDOW)
    left = page.text[begin : number.start]
    here = max(begin, page.sentence(number.start)) - begin
    above = page.text[max(0, number.start - _ABOVE) : number.start]
    return Around(number, left, left[here:], above, page.text[number.end : number.end + _BEHIND], scale, aspects)


def _marked(this: Around, found: Claim) -> Claim:
    final, changed, first = (pattern.search(this.here) is not None for pattern in (MARKED, CHANGED, STARTED))
    return replace(found, final=found.final or final or changed, changed=found.changed or changed, initial=first)
