"""Options that a reply shows with letter and text, without calling it the answer, and the one that it prints bold."""

from __future__ import annotations

import re
from typing import Final

from steelyard.text.choice_cut import begins_walk
from steelyard.text.choice_doubt import Doubt, doubt
from steelyard.text.choice_page import restated, within
from steelyard.text.choice_reading import ChoiceReading, Reply
from steelyard.text.choice_verdicts import verdicts_in

_LABEL: Final = re.compile(r"(?:\A|\n|[.!?:]\s{1,3})[ \t]{0,4}[\"'(\[]{0,2}(?P<letter>[A-Z])[).:\]]{1,2}\s{1,3}")
_CLOSED: Final = re.compile(r"[\"')\]]{0,2}\s{0,2}(?:[.!]\s{0,3})?(?:\Z|\n)|[\"')\]]{0,2}[.!]\s{1,3}(?=[A-Z\"])")
_LAST: Final = re.compile(r"(?:[A-Za-z)\"'][.!?]\s{1,3}|\n\s{0,3})[(\"']?(?P<letter>[A-Z])[)\"']?[.!]?\s{0,3}\Z")
_LINE: Final = re.compile(r"\n[ \t]{0,4}(?:[-•]\s)?(?:option\s)?\(?[A-Z][).:]", re.IGNORECASE)
_MOST: Final = 60


def shown(this: Reply) -> ChoiceReading | None:
    """The one option that stands as a sentence of its own, as in `I decline. D. Refused` and `I decline. D`."""
    found: dict[str, tuple[int, int]] = {}
    for tried, match in enumerate(_LABEL.finditer(this.text)):
        letter, place = match["letter"], match.start("letter")
        if tried >= _MOST or ord(letter) - ord("A") >= this.count:
            return None
        end = restated(this.text, match.end(), this.options[ord(letter) - ord("A")])
        if end > match.end() and _CLOSED.match(this.text, end):
            found[letter] = (place, end)
    if not found and (last := _LAST.search(this.text, max(0, len(this.text) - 14))) and not _LINE.search(this.text):
        found[last["letter"]] = last.span("letter")
    if len(found) != 1 or ord(min(found)) - ord("A") >= this.count:
        return None
    ((letter, (start, end)),) = found.items()
    against = within(start, this.listed) or letter in verdicts_in(this).wrong or begins_walk(this.text, start)
    if against or doubt(this.text, start, start) is Doubt.DENIED:
        return None
    return this.found((letter,), "shown", (start, end), inferred=True)


def emphasised(this: Reply) -> ChoiceReading | None:
    """The only bold line of a list of all options."""
    if not this.page.bold or len(this.listed) < max(2, this.count - 1):
        return None
    lines = [
        (start, end) for start, end in this.listed if any(start - 2 <= place <= start + 4 for place in this.page.bold)
    ]
    if len(lines) != 1:
        return None
    start, end = lines[0]
    letter = next((one for one in this.text[start:end] if "A" <= one <= "Z"), "")
    return this.found((letter,), "emphasised", (start, end), inferred=True) if letter else None
