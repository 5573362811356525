"""What a reply states of a rating: the number, how plainly it is stated, and what it rates."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from steelyard.replies.verdict import Scale
from steelyard.text.rating_aspects import Aspects, Subject
from steelyard.text.rating_numbers import RatingNumber

_HEADING: Final = re.compile(
    r"^[ \t]*(?:[-•>][ \t]"
    r"|\d{1,2}[.)][ \t])?[ \t]*([A-Za-z\u4e00-\u9fff][A-Za-z\u4e00-\u9fff \t&-]{2,38}?)[ \t]*:?[ \t]*\n",
    re.MULTILINE,
)


class ClaimStrength(IntEnum):
    """How plainly a rating is stated."""

    HINTED = 1
    BARE = 2
    SAID = 3
    LABELLED = 4
    STRUCTURED = 5


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of a rating.

    Args:
        number: what is stated.
        strength: how plainly.
        subject: what it rates.
        other: the name of another aspect or candidate that it rates; "" where it rates none.
        form: the name of the form.
        final: whether it is marked as final, corrected or concluded.
        changed: whether it takes back an earlier one.
        initial: whether it is marked as not yet final.
        begin: where the statement begins, label included.
    """

    number: RatingNumber
    strength: ClaimStrength
    subject: Subject
    other: str
    form: str
    final: bool = False
    changed: bool = False
    initial: bool = False
    begin: int = 0


@dataclass(frozen=True, slots=True)
class Around:
    """A number with the text on both sides of it.

    Args:
        number: the number.
        left: at most 200 characters before it.
        here: the end of `left` that belongs to the same sentence.
        above: at most 600 characters before it.
        right: at most 120 characters behind it, its unit left out.
        scale: what was asked for.
        aspects: tells what was asked for.
    """

    number: RatingNumber
    left: str
    here: str
    above: str
    right: str
    scale: Scale
    aspects: Aspects

    @property
    def whole_scale(self) -> bool:
        """Whether it says that it is out of the highest value."""
        return self.number.top == self.scale.high

    def heading(self) -> str:
        """The nearest line above that names an aspect and nothing else; "" where there is none."""
        for line in reversed(_HEADING.findall(self.above) if "\n" in self.above else []):
            if self.aspects.names(line):
                return str(line)
        return ""
