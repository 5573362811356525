"""Ratings that are told by where they stand: the whole reply, its first words, a line of their own, its last word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from steelyard.replies.verdict import Scale
from steelyard.text.rating_aspects import Subject
from steelyard.text.rating_claims import Claim, ClaimStrength
from steelyard.text.rating_numbers import RatingNumber
from steelyard.text.rating_page import Page
from steelyard.text.rating_words import COUNTS, DESCRIBES

_WRAPPED: Final = re.compile(
    r"\s*(?P<entry>\d{1,2}[.)]\s{1,4})?(?i:maybe\s|probably\s|perhaps\s|about\s|around\s|approximately\s|roughly\s|likely\s|大概|大约|约)?[<\s\-–—•+>\"'(\[{_~≈$:=→|【]*\Z"
)
_ENDS: Final = re.compile(r"吧?[\s.)\]}\"'!_$|】。,;：:*>+]*(?:\n|\Z)")
_GOES_ON: Final = re.compile(
    r"\s{0,2}(?!,\s?\d)(?:[.:,;)\]\"'!。，]{1,2}\s{0,3}|\s?[-–—=]{1,2}\s{0,3}|\s?\(|\n)(?=\S)|\s{1,4}(?=because"
    r"|on\sa\sscale|as\s|since|for\s|due|stars|[A-Z\u4e00-\u9fff])"
)
_LIST_MARK: Final = re.compile(
    r"(?:^|\n|(?<=[.;:!?])\s|(?<=[:;。；：])(?<!\d[:;])(?=\d))[ \t]{0,8}(?:[-•]\s)?"
    r"[(（]?(?P<digits>\d{1,2})[.)、:：）](?!\d)"
)
_LABEL_BEFORE: Final = re.compile(r"[A-Za-z)]:\s?\Z")
"""Only a first entry stands behind a colon: "3. It is short. Rating: 4." has three entries."""
_LAST_LINE: Final = re.compile(r"\n[ \t]{0,8}(?P<digits>\d{1,2})\s{0,9}\Z")
_FIRST_MARK: Final = re.compile(r"1[.)、:：）]")
"""Every list has a first entry; looking for it is ten times as fast as looking for marks."""
_SENTENCE_BEFORE: Final = re.compile(
    r"(?:[.!?。！？…→]|(?<!:):(?=\s)|(?<=[\u4e00-\u9fff]):|[-–—]>|\d\s?=|(?<=\D)\]|[^\s(]{2}\))\s{0,3}[\"'(\[]?\s?\Z|(?:\n|->|=>)\s{0,3}\Z"
)
_STOPS: Final = re.compile(
    rf"{_ENDS.pattern}|[.!)\]\"]{{0,3}}\s{{1,4}}(?:The|This|It|There|However|Overall|While|Although|Though|In|But"
    rf"|Here|Explanation|Reason\w*|Because|Let|Please|Note|Its|Both|Each|All|No|Not|Since|As|For|We|My|Also)\b"
)
_COUNTED: Final = re.compile(r"\s(?:of\s|(?!this|was|has|does)[a-z]{3,20}s\b)")
"""What makes a fraction a count: "2/3 of the claims", "4/5 facts"."""
_TIME: Final = re.compile(r"\d[:.]\Z|(?<![\w])[A-Za-z]\s?[:=.]\s?\Z")
_UNKNOWN_LABEL: Final = re.compile(r"\W*[A-Z][\w'-]{0,24}(?:\s[\w'-]{1,20}){0,3}\s?:\s*")
_GRADED: Final = re.compile(
    r"(?:^|[:=\n])\s{0,4}(?:(?:very|quite|fairly|somewhat|mostly|partially|highly|not|completely|slightly"
    r"|moderately)\s){0,2}"
    r"(?:poor|bad|fair|good|great|excellent|average|weak|strong|moderate|acceptable|adequate|satisfactory|perfect"
    r"|terrible"
    r"|okay|ok|high|low|medium|neutral|agree|disagree|correct|incorrect|wrong|right|\w{3,20}(?:ent|ive|ing|able|ful"
    r"|ant|ral|ate|ed)"
    r"|优秀|良好|中等|一般|较[好差]|很[好差]|[差好优良中])\s{0,2}(?:[(:,]|[-–—]|=)\s{0,2}\Z",
    re.IGNORECASE,
)
"""The name of a level before its number: "Good (3)"."""
_AMONG_NUMBERS: Final = re.compile(r"\s{0,9}\n[\s•-]{0,9}\d{1,3}[\s.]{0,9}(?:\n|\Z)")
_ENTRY: Final = re.compile(r"[.)]\s{1,3}[^\W\d]")
"""A lone "1." within a reply begins a list that was cut off, or has one entry."""
_BELOW_NUMBERS: Final = re.compile(r"(?:\A|\n)[ \t•-]{0,9}\d{1,3}[ \t.]{0,9}\n[\s•-]{0,9}\Z")
_WRAPS: Final = " \t\n-–—•+>\"'([{_~≈$:=→|【.)]}!】。,;*"
_LEVEL: Final = re.compile(r"\s?=\s?[A-Za-z\u4e00-\u9fff]")
_SHORT: Final = 60
_FIRST_LABEL: Final = re.compile(r"[A-Za-z\u4e00-\u9fff][^\d\n]{0,40}?(?:\s[-–—]|:)\s{1,2}\Z")
"""The same where more lines follow."""
_SHORT_LABEL: Final = re.compile(r"[A-Za-z\u4e00-\u9fff][^\d\n]{0,40}?[(:=\-–—]\s{0,2}\Z")


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
    found = [
        (int(match["digits"]), match.start("digits"))
        for match in _LIST_MARK.finditer(text)
        if match["digits"] == "1" or not _LABEL_BEFORE.search(text, max(0, match.start() - 4), match.start("digits"))
    ]
    kept: set[int] = set()
    expected, run = 1, list[int]()
    for value, place in found:
        if value == expected:
            run.append(place)
            expected += 1
        elif value == 1:
            expected, run = 2, [place]
        if len(run) > 1:
            kept.update(run)
    if cut:  # a lone "1." is then the first entry of a list, and a bare number below entries the next one
        kept.update(run)
        last = _LAST_LINE.search(text)
        if run and last and int(last["digits"]) == expected:
            kept.add(last.start("digits"))
    return frozenset(kept)


def placed(page: Page, number: RatingNumber, scale: Scale, *, lone: bool) -> Claim | None:
    """The claim of a number by its place; None where the place says nothing."""
    text = page.text
    line = max(text.rfind("\n", 0, number.start) + 1, number.start - _SHORT)
    before = text[line : number.start]
    opens = not text[: number.start].strip(_WRAPS)
    ends = _ENDS.match(text, number.end) is not None
    if ends and (wrapped := _WRAPPED.fullmatch(before)):
        return _alone(text, number, (wrapped["entry"] or "").strip(), opens=opens)
    if opens and _leads_text(text, number, scale):
        listed = (
            number.value == 1 and number.top is None and not number.unit and text[number.end : number.end + 1] == "."
        )
        return _claim(number, ClaimStrength.BARE if listed else ClaimStrength.LABELLED, "leading")
    if number.written == "word" or not _STOPS.match(text, number.end) or COUNTS.search(before):
        return None
    if _GRADED.search(before):
        return _claim(number, ClaimStrength.BARE if text[:line].strip() else ClaimStrength.LABELLED, "graded")
    return _closing(text, number, before, scale, lone=lone)


def _closing(text: str, number: RatingNumber, before: str, scale: Scale, *, lone: bool) -> Claim | None:
    """The claim of a number at the end of its line, or of a short reply."""
    if _TIME.search(before) or (number.value == 1 and not number.unit and _ENTRY.match(text, number.end)):
        return None
    if number.value is not None and number.value in scale and _closes_sentence(before, lone=lone):
        return _claim(number, ClaimStrength.BARE, "last", final=True)
    line = text.lstrip().partition("\n")[0]
    label = _SHORT_LABEL if len(line) == len(text.strip()) else _FIRST_LABEL
    if lone and len(line) <= _SHORT and text[: number.start].strip() in line and label.search(before):
        return _claim(number, ClaimStrength.HINTED, "short")
    return None


def _alone(text: str, number: RatingNumber, entry: str, *, opens: bool) -> Claim:
    """The claim of a number that has a line of its own; in a list it is one of several."""
    above = text[max(0, number.start - 24) : number.start]
    if not entry and (_AMONG_NUMBERS.match(text, number.end) or _BELOW_NUMBERS.search(above)):
        entry = str(number.start)
    closes = not text[number.end :].strip(_WRAPS)
    strength = ClaimStrength.LABELLED if opens else ClaimStrength.SAID if closes else ClaimStrength.BARE
    return _claim(number, ClaimStrength.BARE if entry else strength, "alone", final=closes and not opens, entry=entry)


def _closes_sentence(before: str, *, lone: bool) -> bool:
    """Whether the number stands at the end of its line, behind a sentence or a conclusion, and not behind a label."""
    if _SENTENCE_BEFORE.search(before) is None or _TIME.search(before):
        return False
    return lone or _UNKNOWN_LABEL.fullmatch(before) is None


def _leads_text(text: str, number: RatingNumber, scale: Scale) -> bool:
    """Whether the reply opens with the number as its rating and goes on with words about it."""
    behind = text[number.end : number.end + 1]
    goes_on = _GOES_ON.match(text, number.end) is not None
    if number.value is None:
        return goes_on
    if number.written == "word" and not number.unit and number.top is None:
        return number.value in scale and behind in {".", ":", "!"}
    foreign = number.value not in scale and number.top is None
    listed = behind in {")", "、"} and "(" not in text[max(0, number.start - 2) : number.start]
    if foreign or listed or DESCRIBES.match(text, number.end):
        return False
    if number.top is not None and _COUNTED.match(text, number.end):
        return False
    if not goes_on:
        return number.top is not None or number.unit.startswith(("star", "point", "分", "星"))
    return True


def _claim(number: RatingNumber, strength: ClaimStrength, form: str, *, final: bool = False, entry: str = "") -> Claim:
    return Claim(
        number, strength, Subject.OTHER if entry else Subject.WHOLE, entry, form, final=final, begin=number.start
    )


def without(found: Sequence[RatingNumber], marks: frozenset[int], page: Page) -> list[RatingNumber]:
    """`found` without the numbers of lists, of headings ("#2") and of a scale whose levels are named ("1 = poor")."""
    levels = {one.start for one in found if _LEVEL.match(page.text, one.end)}
    levels = levels if len(levels) > 1 else set()
    return [
        one
        for one in found
        if not (one.start in marks and not one.top)
        and one.start not in levels
        and page.raw[max(0, one.start - 1) : one.start] != "#"
        and not page.text.startswith("]_", one.end)
    ]
