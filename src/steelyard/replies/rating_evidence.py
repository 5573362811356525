"""A number of a judge's reply with what stands around it, and what a statement of a rating is."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from steelyard.replies.evidence import Candidate, Strength
from steelyard.replies.grammar import pattern, pattern_in
from steelyard.replies.rating_aspects import Aspects, Subject
from steelyard.replies.rating_numbers import RatingNumber
from steelyard.replies.verdict import Scale

_SENTENCE_ENDS: Final = re.compile(r"[.!?](?=\s)|[。！？!?;；\n|]")
_WRAPS: Final = " \t\n-–—•+>\"'([{_~≈$:=→|【.)]}!】。,;*"
"""Signs around what a reply says."""
_WINDOW, _BEHIND, _ABOVE = 180, 120, 600
"""Characters before a number, behind it, and before it where a heading is looked for."""
_LEAD_WITHIN: Final = 110
_WORD: Final = 24
"""Characters of a verb or noun."""
_LETTERS: Final = (("en", re.compile("[A-Za-z]")), ("zh", re.compile(r"[\u4e00-\u9fff]")))
_HEADING: Final = re.compile(
    r"^[ \t]*(?:[-•>][ \t]|\d{1,2}[.)][ \t])?[ \t]*"
    r"([A-Za-z\u4e00-\u9fff][A-Za-z\u4e00-\u9fff \t&-]{2,38}?)[ \t]*:?[ \t]*\n",
    re.MULTILINE,
)
_PARTS: Final = re.compile(r"[,;，、]|\b(?:and|while|but|whereas)\b", re.IGNORECASE)


class StatedRating(NamedTuple):
    """One statement of a rating; the value of a candidate.

    Args:
        number: what is stated.
        subject: what it rates.
        other: the name of another aspect or candidate that it rates; "" where it rates none.
        final: whether it is marked as final, corrected or concluded.
        changed: whether it takes back an earlier one.
        initial: whether it is marked as not yet final.
    """

    number: RatingNumber
    subject: Subject = Subject.WHOLE
    other: str = ""
    final: bool = False
    changed: bool = False
    initial: bool = False


@dataclass(frozen=True, slots=True)
class RatingPage:
    """What a number's surroundings are read from.

    Args:
        text: of the cleaned reply.
        lowered: the same in lower case.
        ends: where its sentences end, sorted.
        opens: where its first word or number begins, quotation marks and the like left out.
        closes: where its last word or number ends.
        phrases: gives the pattern of a kind of the lexicon, in the languages of the text.
        scale: what was asked for.
        aspects: tells what was asked for.
    """

    text: str
    lowered: str
    ends: Sequence[int]
    opens: int
    closes: int
    phrases: Callable[[str], re.Pattern[str]]
    scale: Scale
    aspects: Aspects


@dataclass(frozen=True, slots=True)
class Around:
    """A number with the text on both sides of it.

    Args:
        page: where it stands.
        number: the number.
        left: at most 180 characters before it.
        here: the end of `left` that belongs to the same sentence, in lower case.
        right: at most 120 characters behind it, its unit left out.
        next: the same in lower case.
        closes: whether what is behind it lets it be a rating; a noun makes it a count.
        describes: whether it is a level of the scale that is explained.
    """

    page: RatingPage
    number: RatingNumber
    left: str
    here: str
    right: str
    next: str
    closes: bool
    describes: bool

    @property
    def whole_scale(self) -> bool:
        """Whether it says that it is out of the highest value."""
        return self.number.top == self.page.scale.high

    @property
    def is_foreign(self) -> bool:
        """Whether it is a number that does not lie on the scale."""
        return self.number.value is not None and self.number.value not in self.page.scale

    def before(self, kind: str, within: int = 0) -> re.Match[str] | None:
        """What of a kind of the lexicon stands in the sentence, or in its last characters."""
        return self.page.phrases(kind).search(self.here, max(0, len(self.here) - within) if within else 0)

    def last(self, kind: str) -> re.Match[str] | None:
        """The last of a kind in the sentence, near enough to lead to the number."""
        match = None
        for match in self.page.phrases(kind).finditer(self.here, max(0, len(self.here) - _LEAD_WITHIN - _WORD)):  # noqa: B007  # the last one is meant
            pass
        return match

    def behind(self, kind: str) -> re.Match[str] | None:
        """What of a kind of the lexicon stands right behind the number."""
        return self.page.phrases(kind).match(self.next)

    def candidate(self, place: int, strength: Strength, source: str, label: str | None = None) -> Candidate:
        """The candidate whose statement begins at `place` of `left`, for what `label` or the sentence names."""
        subject, other = self._of_sentence(place) if label is None else self._of_label(label)
        begin = self.number.start - len(self.left) + place
        return Candidate(StatedRating(self.number, subject, other), begin, self.number.end, strength, source)

    def _of_label(self, label: str) -> tuple[Subject, str]:
        aspects = self.page.aspects
        named = self.named_behind()
        if named and not aspects.asked(label):
            label = named
        subject, other = aspects.of_label(label.replace("_", " "))
        if subject is Subject.WHOLE:  # the nearest line above that names an aspect and nothing else
            above = self.page.text[max(0, self.number.start - _ABOVE) : self.number.start]
            headings = _HEADING.findall(above) if "\n" in above else []
            named = next((heading for heading in reversed(headings) if aspects.names(heading)), "")
            return aspects.of_label(named) if named else (subject, other)
        return subject, other

    def _of_sentence(self, place: int) -> tuple[Subject, str]:
        """What stands behind the number, before the verb, or opens the sentence."""
        aspects = self.page.aspects
        opening = self.page.phrases("about_before").match(self.here)
        for named in (self.named_behind(), opening[1] if opening else ""):
            if named and aspects.names(named):
                return aspects.of_label(named)
        sentence = self.left[len(self.left) - len(self.here) :]
        place = max(0, place - len(self.left) + len(sentence))
        spoken = sentence[place:]
        if aspects.asked(spoken):
            return Subject.ASKED, ""
        other = aspects.others(spoken[:_LEAD_WITHIN])
        return (Subject.OTHER, other) if other else aspects.of_label(_PARTS.split(sentence[:place])[-1][-40:])

    def named_behind(self) -> str:
        """The aspect or candidate that follows the number: "4 for fluency", "4 (fluency)"."""
        match = self.behind("about_behind")
        named = str(next(filter(None, match.groups()), "")) if match else ""
        return named if named and self.page.aspects.names(named) else ""


def around(page: RatingPage, number: RatingNumber) -> Around:
    """What stands around `number`."""
    begin = max(0, number.start - _WINDOW)
    left = page.text[begin : number.start]
    ended = bisect_right(page.ends, number.start)
    here = page.lowered[max(begin, page.ends[ended - 1] if ended else 0) : number.start]
    right, behind = (text[number.end : number.end + _BEHIND] for text in (page.text, page.lowered))
    closes = pattern("rating", "closes").match(right) is not None
    describes = page.phrases("describes").match(behind) is not None
    return Around(page, number, left, here, right, behind, closes, describes)


def rating_page(text: str, scale: Scale, aspects: Aspects) -> RatingPage:
    """The page of a cleaned reply."""
    languages = (*(name for name, letter in _LETTERS if letter.search(text)), "markup")
    ends = [match.end() for match in _SENTENCE_ENDS.finditer(text)]
    lowered = text.lower()
    opens, closes = len(text) - len(text.lstrip(_WRAPS)), len(text.rstrip(_WRAPS))
    return RatingPage(
        text,
        lowered if len(lowered) == len(text) else text,
        ends,
        opens,
        closes,
        partial(pattern_in, languages, "rating"),
        scale,
        aspects,
    )
