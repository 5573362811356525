"""Which of the ratings that a reply states is its verdict.

What was asked for comes before other aspects, plain statements before hints, corrected and final ones before earlier
ones; a reply that opens with its rating means that one. Whatever is left in doubt is ambiguous.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Final

from steelyard.replies.verdict import Scale
from steelyard.text.rating_aspects import Subject
from steelyard.text.rating_claims import Claim, ClaimStrength
from steelyard.text.rating_numbers import RatingNumber
from steelyard.text.rating_page import Page

_OPENS_WITHIN: Final = 90
_ECHO: Final = re.compile(
    r"\bevaluation\sform\b|\byou\swill\sbe\sgiven\b|\byour\stask\sis\sto\b|\bsource\stext\s?:"
    r"|\bexample(?:\s\d{1,2})?\s?:\s*\n|\bplease\smake\ssure\syou\sread\b"
    r"|\bnow[\s,][^\n]{0,60}:\s*\n|(?:评分表|示例\s?\d{0,2}|你的任务是)\s?[:。]",
    re.IGNORECASE,
)
_ECHO_MARKS: Final = (
    "evaluation form", "you will be given", "your task is", "source text", "example", "please make sure", "now",
    "评分表", "示例", "你的任务",
)  # fmt: skip
"""One of these stands in every echo; looking for them is ten times as fast as the pattern."""

_OR: Final = re.compile(r"[\s\])}*_]{0,6}(?:or|/|to|-)[\s\[({*_]{0,6}", re.IGNORECASE)
_TAKEN_BACK_WITHIN: Final = 400
_TAKES_BACK: Final = re.compile(
    r"\blet\sme\s(?:correct|revise|re-?evaluate|re-?assess|reconsider|fix|update|adjust|change)\b"
    r"|\b(?:i|i've|i\shave)\s(?:made\san?\s(?:mistake|error)|missed|overlooked|misread|misjudged)\b|\bon\ssecond\sthought"
    r"|(?:^|[.!?\n]\s{0,2})(?:wait|sorry|correction)\b[,:.! ]|\bscratch\sthat\b|更正|修正一下|我看错|重新评",
    re.IGNORECASE,
)
"""Words with which a judge takes back a rating before it gives another one."""

_UNFILLED: Final = re.compile(r"(?:\b[\w ]{2,30}|[\u4e00-\u9fff]{2,8})\s?(?:\([^()\n]{0,20}\)\s?)?:[\s\-_\[\]]*\Z")


def decide(claims: Sequence[Claim], page: Page, scale: Scale) -> Claim | str:
    """The claim that holds, or why there is none: "ambiguous" or "none"."""
    claims = _answered(claims, page)
    pool = [one for one in claims if one.subject is not Subject.OTHER]
    if not pool:
        return _of_others(claims)
    changed = [
        one for one in pool if one.changed and one.strength >= ClaimStrength.SAID and one.number.value is not None
    ]
    if changed:
        return max(changed, key=_place)
    top = max(one.strength for one in pool)
    strong = [one for one in pool if one.strength is top]
    asked = [one for one in strong if one.subject is Subject.ASKED]
    chosen = asked or strong
    inside = [one for one in chosen if is_inside(one.number, scale)]
    return _one_of(inside or chosen, page)


def is_inside(number: RatingNumber, scale: Scale) -> bool:
    """Whether a number can be a rating on the scale; a range can, as it stands for one of its numbers."""
    if number.value is None:
        return True
    percent = number.unit in {"%", "percent"}
    foreign = number.top is not None and number.top != scale.high
    return number.value in scale and (scale.high == 100 if percent else not foreign)


def _place(one: Claim) -> int:
    return one.number.start


def _answered(claims: Sequence[Claim], page: Page) -> Sequence[Claim]:
    """Without what belongs to the prompt where the reply repeats it before its answer."""
    lowered = page.text.lower()
    if not any(mark in lowered for mark in _ECHO_MARKS):
        return claims
    echoes = list(_ECHO.finditer(page.text))
    if not echoes or not claims:
        return claims
    first = min(one.begin for one in claims)
    if first < echoes[0].start() and not page.text[:first].strip(" \t\n-*"):
        return [one for one in claims if one.begin < echoes[0].start()]
    if _UNFILLED.search(page.text[-80:]):
        return []
    return [one for one in claims if one.begin >= echoes[-1].start()]


def _of_others(claims: Sequence[Claim]) -> Claim | str:
    """A single rating of one thing is taken for the one that was asked for; of several none is."""
    if not claims:
        return "none"
    if len({(one.other, one.number.value) for one in claims}) > 1:
        strong = [one for one in claims if one.strength is max(each.strength for each in claims)]
        if len({(one.other, one.number.value) for one in strong}) > 1:
            return "ambiguous"
        return strong[0]
    return claims[0]


def _one_of(claims: Sequence[Claim], page: Page) -> Claim | str:
    """The one that holds of statements about the same thing that are equally plain."""
    settled = [one for one in claims if not one.initial] or list(claims)
    points = [one for one in settled if one.number.value is not None]
    if len({one.number.value for one in settled}) == 1:
        return settled[0] if points else "ambiguous"
    if _are_alternatives(settled, page):
        return "ambiguous"
    if taken := _after_taking_back(points, page):
        return taken
    final = [one for one in points if one.final]
    if final and (len({one.number.value for one in final}) == 1 or final[-1] is points[-1]):
        return final[-1]
    if points and points[0] is settled[0] and points[0].form != "json" and _opens(points[0], page):
        return points[0]
    return "ambiguous"


def _are_alternatives(claims: Sequence[Claim], page: Page) -> bool:
    """Whether a judge names a second rating at once: "[[6]] or [[7]]", and "Rating: 4" above "Rating: 2".

    One that is called final, below another, is none of two.
    """
    first, second = sorted(claims, key=_place)[:2]
    if second.final and not first.final:
        return False
    if first.form == second.form == "labelled" and second.begin >= first.number.end:
        return not page.text[first.number.end : second.begin].strip(" \n\t-*_.")
    return _OR.fullmatch(page.text, first.number.end, second.number.start) is not None


def _after_taking_back(points: Sequence[Claim], page: Page) -> Claim | None:
    """The last rating, where the judge says between it and an earlier one that the earlier one was a mistake."""
    ordered = sorted(points, key=_place)
    for one, other in itertools.pairwise(ordered):
        if one.number.value != other.number.value and _TAKES_BACK.search(
            page.text, one.number.end, min(other.begin, one.number.end + _TAKEN_BACK_WITHIN)
        ):
            return ordered[-1]
    return None


def _opens(one: Claim, page: Page) -> bool:
    """Whether nothing but an introduction stands before the claim."""
    before = page.text[: one.number.start].strip()
    return len(before) <= _OPENS_WITHIN and not re.search(r"[.!?]\s+\S[^\n]{20,}|[。！？].{8,}", before[:-1])
