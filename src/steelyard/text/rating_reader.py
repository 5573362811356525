"""Reads one rating: numbers, what states them, and one decision."""

from __future__ import annotations

import re
from typing import Final

from steelyard.text.rating_aspects import Aspects, Subject, aspects_of
from steelyard.text.rating_claims import Claim, ClaimStrength
from steelyard.text.rating_decision import decide, is_inside
from steelyard.text.rating_json import RatingEntry, Scanned, scan
from steelyard.text.rating_numbers import RatingNumber, numbers
from steelyard.text.rating_page import Page, open_page
from steelyard.text.rating_places import list_marks, placed, without
from steelyard.text.rating_refusal import is_refusal
from steelyard.text.rating_statements import stated
from steelyard.text.rating_verdict import Kind, Scale, Verdict

_KEY: Final = re.compile(
    r"(?:^|[_\s])(?:overall|final|total)?_?(?:scores?|ratings?|grade|mark|points|stars|result|value|verdict|answer"
    r"|evaluation|judg(?:e)?ment|overall|rate)$"
    r"|评分|得分|分数|打分|总分|评级|等级|评价|结果",
    re.IGNORECASE,
)
_NO_KEY: Final = re.compile(
    r"max|min|scale|out_of|range|total_possible|满分|reason|explanation|threshold|confidence|id$|index|count|number"
    r"|year|reference",
    re.IGNORECASE,
)
_REASON_KEY: Final = re.compile(
    r"reason|explanation|feedback|analysis|rationale|justification|comment|thought|理由|原因|解释|分析|说明|评语",
    re.IGNORECASE,
)
_TAKES_BACK: Final = re.compile(
    r"\b(?:wait|actually|final|correct\w*|revis\w+|updat\w+|instead)\b|最终|修正|更正", re.IGNORECASE
)
_NOT_GIVEN: Final = re.compile(
    r"(?P<label>[\w ]{3,40})\s?[:=]\s{0,3}(?:n/?a\b|none\b|not\s(?:applicable|given|rated)|unknown\b|无|不适用)",
    re.IGNORECASE,
)
_YEAR: Final = 4
_FIRST_YEAR: Final = 1000
_PRONOUN: Final = re.compile(
    r"\b(?:the|this|that|which|each|every|any|no|another|first|second|third|last|next|same|other|only|latter|former|good"
    r"|better|wrong|right)\s\Z",
    re.IGNORECASE,
)
"""Words behind which "one" stands for a thing."""
_NOUN_BEHIND: Final = re.compile(r"\s[a-z]{3}")
_NUMBERED: Final = re.compile(
    r"(?:\b(?:step|sentence|paragraph|section|chapter|claim|question|criterion|part|point|fact|article|document|context"
    r"|passage|example|figure|table|page|line|round|version|phase|turn|statement|no\.)"
    r"|\b(?:for|of|to|in|than|and|both|with|while|but|that)\s(?:response|summary|answer|assistant|candidate|model|output|reply"
    r"|dialogue))\s\Z",
    re.IGNORECASE,
)
"""A thing that has the number behind it as its name: "sentence 2", "for response 1"."""
_LEADS: Final = frozenset(':=|-–—>→⇒([{"】')
_JOINED: Final = re.compile(r"(?<=[a-z])(?=[A-Z])|_")
_TRIMMED: Final = " \t\n\r:;,.|-–—*_`\"'{}[]()。，；："


def read_rating(text: str, scale: Scale, *, name: str = "", finish: str = "stop") -> Verdict:
    """Read the rating that a judge gives on `scale`.

    Args:
        text: any text.
        scale: what was asked for; a number outside it is never moved into it.
        name: the aspect that was asked for, as in the prompt; tells its rating from those of other aspects.
        finish: why the model stopped; "length" tells a reply that was cut off from one without a rating.

    >>> read_rating("Coherence: 4", Scale(1, 5), name="Coherence").value
    4.0
    """
    if not text.strip():
        return Verdict("unparsed", kind="truncated" if finish == "length" else "empty")
    return whole_rating(text, scale, name=name, finish=finish)


def whole_rating(text: str, scale: Scale, *, name: str, finish: str) -> Verdict:
    """The same for any reply that is not blank, plain or not."""
    page = open_page(text)
    if not page.text.strip():
        return Verdict(
            "unparsed", kind="truncated" if page.unfinished or finish == "length" else "empty", reason=text.strip()
        )
    scanned = scan(page.text) if "{" in page.text else Scanned((), ())
    claims = _claims(page, scale, aspects_of(name), scanned, cut=finish == "length")
    decided = decide(claims, page, scale)
    if isinstance(decided, str):
        return _unread(decided, page, text, finish)
    return _verdict(decided, page, scale, text, finish, scanned)


def _claims(page: Page, scale: Scale, aspects: Aspects, scanned: Scanned, *, cut: bool) -> list[Claim]:
    found = without(numbers(page.text), list_marks(page.text, cut=cut), page)
    claims = [one for entry in scanned.entries for one in _of_entry(entry, aspects)]
    lone = len(found) == 1
    for number in found:
        if any(start <= number.start < end for start, end in scanned.regions):
            continue
        if page.is_quoted(number.start) or _is_scale(number, scale):
            continue
        one = stated(page, number, scale, aspects)
        if one is None or one.form == "counted":
            one = _plainer(one, placed(page, number, scale, lone=lone))
        if one:
            claims.append(one)
    return claims


def _plainer(one: Claim | None, other: Claim | None) -> Claim | None:
    """Of two readings of one number that which states it more plainly: "4/5" says more where it opens the reply."""
    if one is None or other is None or one.number.written == "stars":
        return one or other
    return other if other.strength > one.strength and other.subject is not Subject.OTHER else one


def _is_scale(number: RatingNumber, scale: Scale) -> bool:
    """Whether a range is that of the scale, and thus no doubt about a rating."""
    return number.bounds is not None and sorted(number.bounds) == [scale.low, scale.high]


def _of_entry(entry: RatingEntry, aspects: Aspects) -> list[Claim]:
    """The claim of a JSON value, where its key is that of a rating or of an aspect."""
    path = _JOINED.sub(" ", entry.path)
    rated = _KEY.search(entry.key) or aspects.asked(path) or aspects.others(_JOINED.sub(" ", entry.key))
    if not rated or (_NO_KEY.search(entry.key) and not aspects.asked(_JOINED.sub(" ", entry.key))):
        return []
    found = numbers(entry.value)
    if not found or found[0].start > 0 or (len(entry.value) > 40 and found[0].written == "word"):
        return []
    one = found[0]
    rest = entry.value[one.end :].strip(" )")
    if entry.is_text and rest and rest[0].isalnum():
        return []
    subject, other = aspects.of_label(path)
    moved = one._replace(start=one.start + entry.start, stop=one.stop + entry.start, end=one.end + entry.start)
    return [Claim(moved, ClaimStrength.STRUCTURED, subject, other, "json", begin=entry.start)]


def _unread(why: str, page: Page, text: str, finish: str) -> Verdict:
    if why == "none" and is_refusal(page.text):
        return Verdict("refused", reason=text.strip())
    kind: Kind = "ambiguous" if why == "ambiguous" else "truncated" if finish == "length" or page.unfinished else "none"
    return Verdict("unparsed", kind=kind, reason=text.strip())


def _verdict(one: Claim, page: Page, scale: Scale, text: str, finish: str, scanned: Scanned) -> Verdict:
    number = one.number
    start, end = page.span(number.start, number.stop)
    reason = _reason(one, page, text, scanned)
    if number.value is None:
        return Verdict("unparsed", kind="ambiguous", reason=reason)
    cut = finish == "length" and end >= len(text.rstrip()) and number.written == "digits" and number.value > 0
    if cut and number.value * 10 <= scale.high:
        return Verdict("unparsed", kind="truncated", reason=reason)
    if not is_inside(number, scale):
        return Verdict("unparsed", kind="out_of_scale", reason=reason)
    return Verdict("scored", number.value, span=(start, end), form=one.form, reason=reason)


def _reason(one: Claim, page: Page, text: str, scanned: Scanned) -> str:
    """What the reply says beside its verdict."""
    told = [entry.value for entry in scanned.entries if _REASON_KEY.search(entry.key) and entry.is_text]
    if told and one.form == "json":
        return "\n".join(told)
    if one.form in {"verb", "noun", "article", "counted"}:
        return text.strip()
    start, end = page.span(one.begin, one.number.end)
    return "\n".join(
        part for part in (text[:start].rstrip(" \t\n*-#_[("), text[end:].lstrip(_TRIMMED)) if part.strip()
    ).strip()
