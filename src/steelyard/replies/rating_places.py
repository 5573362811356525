"""Ratings that are told by where they stand: the whole reply, its first words, a line of their own, its last word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from steelyard.replies.evidence import Candidate, Strength
from steelyard.replies.grammar import words
from steelyard.replies.rating_aspects import Subject
from steelyard.replies.rating_evidence import Around, StatedRating
from steelyard.replies.rating_numbers import RatingNumber

_SHORT: Final = 60
_LAST_SIGNS: Final = 10
"""Characters before a number that tell whether a sentence ends there."""
_ALONE: Final = re.compile(
    r"\s*(?P<entry>\d{1,2}[.)]\s{1,4})?(?i:(?:maybe|probably|perhaps|about|around|approximately|roughly|likely)\s"
    r"|大概|大约|约)?[<\s\-–—•+>\"'(\[{_~≈$:=→|【]*\Z"
)
_LINE_ENDS: Final = re.compile(r"吧?[\s.)\]}\"'!_$|】。,;：:*>+]*(?:\n|\Z)")
_GOES_ON: Final = re.compile(
    r"\s{0,2}(?!,\s?\d)(?:[.:,;)\]\"'!。，]{1,2}\s{0,3}|\s?[-–—=]{1,2}\s{0,3}|\s?\(|\n)(?=\S)|\s{1,4}(?=because"
    r"|on\sa\sscale|as\s|since|for\s|due|stars|[A-Z\u4e00-\u9fff])"
)
_CLOSES_SENTENCE: Final = re.compile(
    r"(?:[.!?。！？…→]|(?<!:):(?=\s)|(?<=[\u4e00-\u9fff]):|[-–—]>|\d\s?=|(?<=\D)\]|[^\s(]{2}\))\s{0,3}[\"'(\[]?\s?\Z"
    r"|(?:\n|->|=>)\s{0,3}\Z"
)
_TIME: Final = re.compile(r"\d[:.]\Z|(?<![\w])[A-Za-z]\s?[:=.]\s?\Z")
_UNKNOWN_LABEL: Final = re.compile(r"\W*[A-Z][\w'-]{0,24}(?:\s[\w'-]{1,20}){0,3}\s?:\s*")
_SHORT_LABEL: Final = re.compile(r"[A-Za-z\u4e00-\u9fff][^\d\n]{0,40}?(?P<sign>[(:=\-–—])(?P<blank>\s{0,2})\Z")
_AMONG_NUMBERS: Final = re.compile(r"\s{0,9}\n[\s•-]{0,9}\d{1,3}[\s.]{0,9}(?:\n|\Z)")
_BELOW_NUMBERS: Final = re.compile(r"(?:\A|\n)[ \t•-]{0,9}\d{1,3}[ \t.]{0,9}\n[\s•-]{0,9}\Z")
_LEVEL: Final = re.compile(r"\s?=\s?[A-Za-z\u4e00-\u9fff]")
_COUNTED: Final = re.compile(r"\s(?:of\s|(?!this|was|has|does)[a-z]{3,20}s\b)")
"""What makes a fraction a count: "2/3 of the claims", "4/5 facts"."""
_ENTRY: Final = re.compile(r"[.)]\s{1,3}[^\W\d]")
"""A lone "1." within a reply begins a list that was cut off, or has one entry."""
_FIRST_MARK: Final = re.compile(r"1[.)、:：）]")
"""Every list has a first entry; looking for it is ten times as fast as looking for marks."""
_LIST_MARK: Final = re.compile(
    r"(?:^|\n|(?<=[.;:!?])\s|(?<=[:;。；：])(?<!\d[:;])(?=\d))[ \t]{0,8}(?:[-•]\s)?"
    r"[(（]?(?P<digits>\d{1,2})[.)、:：）](?!\d)"
)
_LABEL_BEFORE: Final = re.compile(r"[A-Za-z)]:\s?\Z")
"""Only a first entry stands behind a colon: "3. It is short. Rating: 4." has three entries."""
_LAST_LINE: Final = re.compile(r"\n[ \t]{0,8}(?P<digits>\d{1,2})\s{0,9}\Z")


@cache
def _stops() -> re.Pattern[str]:
    """The end of a line, or a new sentence."""
    return re.compile(rf"{_LINE_ENDS.pattern}|[.!)\]\"]{{0,3}}\s{{1,4}}(?:{'|'.join(words('opening'))})\b")


def list_marks(text: str, *, cut: bool = False) -> frozenset[int]:
    r"""Where the numbers of numbered lists stand: each belongs to a run 1, 2 ...

    Args:
        text: the reply.
        cut: whether the reply broke off: a bare number at its end is then the next entry.

    >>> sorted(list_marks("4. Good.\n1. It is short.\n2. It is right."))
    [9, 25]
    """
    if _FIRST_MARK.search(text) is None:
        return frozenset()
    kept: set[int] = set()
    run: list[int] = []
    for match in _LIST_MARK.finditer(text):
        value, place = int(match["digits"]), match.start("digits")
        if value != 1 and _LABEL_BEFORE.search(text, max(0, match.start() - 4), place):
            continue
        if value == 1:
            run = [place]
        elif run and value == len(run) + 1:
            run.append(place)
            kept.update(run)
    last = _LAST_LINE.search(text) if cut and run else None
    if cut:  # a lone "1." is then the first entry of a list, and a bare number below entries the next one
        kept.update(run)
    if last and int(last["digits"]) == len(run) + 1:
        kept.add(last.start("digits"))
    return frozenset(kept)


def placed(this: Around, *, lone: bool) -> Candidate | None:
    """The candidate of a number by its place; None where the place says nothing.

    Args:
        this: the number and what stands around it.
        lone: whether the reply has no other number.
    """
    text, number = this.page.text, this.number
    line = max(text.rfind("\n", 0, number.start) + 1, number.start - _SHORT)
    before = text[line : number.start]
    opens = number.start <= this.page.opens
    if _LINE_ENDS.match(text, number.end) and (match := _ALONE.fullmatch(before)):
        return _alone(this, (match["entry"] or "").strip(), opens=opens)
    if opens and _leads_text(this):
        listed = number.value == 1 and this.right[:1] == "." and number.top is None and not number.unit
        return _placed(number, Strength.CONCLUDED if listed else Strength.DECLARED, "leading")
    closes = _CLOSES_SENTENCE.search(text, max(line - 1, number.start - _LAST_SIGNS), number.start)
    if closes and not number.is_vague and this.behind("graded_behind"):
        return _placed(number, Strength.CONCLUDED, "graded", final=True)
    if number.written == "word" or not _stops().match(text, number.end) or this.before("counts", _SHORT):
        return None
    return _closing(this, line, closes=closes is not None, lone=lone)


def _closing(this: Around, line: int, *, closes: bool, lone: bool) -> Candidate | None:
    """A number at the end of its line, which begins at `line`, or of a short reply."""
    text, number = this.page.text, this.number
    before = text[line : number.start]
    if this.page.phrases("graded").search(before.lower()):
        return _placed(number, Strength.CONCLUDED if text[:line].strip() else Strength.DECLARED, "graded")
    if _TIME.search(before) or (number.value == 1 and not number.unit and _ENTRY.match(text, number.end)):
        return None
    inside = number.value is not None and not this.is_foreign
    if inside and closes and (lone or _UNKNOWN_LABEL.fullmatch(before) is None):
        return _placed(number, Strength.CONCLUDED, "last", final=True)
    return _short(this, before) if lone else None


def _short(this: Around, before: str) -> Candidate | None:
    """The only number of a reply whose first line is a label that is not known."""
    text = this.page.text
    line = text.lstrip().partition("\n")[0]
    if len(line) > _SHORT or text[: this.number.start].strip() not in line:
        return None
    match = _SHORT_LABEL.search(before)
    alone = len(line) == len(text.strip())
    if match is None or not (alone or (match["blank"] and match["sign"] not in "(=")):
        return None
    return _placed(this.number, Strength.MENTIONED, "short")


def _alone(this: Around, entry: str, *, opens: bool) -> Candidate:
    """A number that has a line of its own; in a list it is one of several."""
    text, number = this.page.text, this.number
    above = text[max(0, number.start - 24) : number.start]
    if not entry and (_AMONG_NUMBERS.match(text, number.end) or _BELOW_NUMBERS.search(above)):
        entry = str(number.start)
    closes = this.page.closes <= number.end
    strength = Strength.DECLARED if opens else Strength.ANNOUNCED if closes else Strength.CONCLUDED
    return _placed(number, Strength.CONCLUDED if entry else strength, "alone", entry, final=closes and not opens)


def _leads_text(this: Around) -> bool:
    """Whether the reply opens with the number as its rating and goes on with words about it."""
    number, text = this.number, this.page.text
    goes_on = _GOES_ON.match(text, number.end) is not None
    if number.value is None:
        return goes_on
    if number.is_vague:
        return not this.is_foreign and this.right[:1] in {".", ":", "!"}
    listed = this.right[:1] in {")", "、"} and "(" not in text[max(0, number.start - 2) : number.start]
    if (this.is_foreign and number.top is None) or listed or this.describes:
        return False
    if number.top is not None and _COUNTED.match(this.right):
        return False
    return goes_on or number.top is not None or number.unit.startswith(("star", "point", "分", "星"))


def _placed(
    number: RatingNumber, strength: Strength, source: str, entry: str = "", *, final: bool = False
) -> Candidate:
    value = StatedRating(number, Subject.OTHER if entry else Subject.WHOLE, entry, final=final)
    return Candidate(value, number.start, number.end, strength, source)


def without_marks(found: Sequence[RatingNumber], text: str, *, cut: bool) -> list[RatingNumber]:
    """`found` without the numbers of lists and of a scale whose levels are named ("1 = poor")."""
    marks = list_marks(text, cut=cut)
    levels = {number.start for number in found if _LEVEL.match(text, number.end)}
    return [
        number
        for number in found
        if (number.top or number.start not in marks)
        and not (number.start in levels and len(levels) > 1)
        and not text.startswith("]_", number.end)
    ]
