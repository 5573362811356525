"""Reads one rating: numbers, what states them, and one decision."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from steelyard.replies.jsonlike import JsonValue, json_objects
from steelyard.replies.verdict import Kind, Scale, Verdict
from steelyard.text.rating_aspects import Aspects, Subject, aspects_of
from steelyard.text.rating_claims import Claim, ClaimStrength
from steelyard.text.rating_decision import decide, is_inside
from steelyard.text.rating_numbers import RatingNumber, numbers
from steelyard.text.rating_page import Page, open_page
from steelyard.text.rating_places import list_marks, placed, without
from steelyard.text.rating_refusal import is_refusal
from steelyard.text.rating_statements import stated

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
_NAMES: Final = frozenset(
    {"name", "aspect", "criterion", "criteria", "metric", "dimension", "category", "指标", "维度", "方面"}
)
"""Keys under which an object names what it rates."""
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
    page = open_page(text)
    if not page.text.strip():
        return Verdict(
            "unparsed", kind="truncated" if page.unfinished or finish == "length" else "empty", reason=text.strip()
        )
    objects = json_objects(page.text) if "{" in page.text else ()
    entries = [entry for found in objects for entry in _entries(found, page.text)]
    claims = [claim for entry in entries for claim in _of_entry(entry, aspects_of(name))]
    claims += _claims(page, scale, aspects_of(name), objects, cut=finish == "length")
    decided = decide(claims, page, scale)
    if isinstance(decided, str):
        return _unparsed(decided, page, text, finish)
    return _verdict(decided, page, scale, text, finish, entries)


class RatingEntry(NamedTuple):
    """One plain value of a JSON object.

    Args:
        path: the keys that lead to it, outermost first, with the names that its objects give themselves.
        key: the last of them.
        value: the value as written, without quotes.
        start: where the value begins.
        is_text: whether it was written in quotes.
    """

    path: str
    key: str
    value: str
    start: int
    is_text: bool


def _entries(value: JsonValue, text: str, path: tuple[str, ...] = (), last: str = "") -> Iterator[RatingEntry]:
    """The plain values of an object; one in a list has the key of the list."""
    named = [str(item.value)[:60] for key, item in value.items if key.lower() in _NAMES and item.kind == "text"]
    inner = (*path, *named[:1])
    for key, item in value.items:
        if item.kind in {"object", "list"}:
            yield from _entries(item, text, (*inner, key) if key else inner, key or last)
        else:
            names = " ".join((*inner, key or last))
            yield RatingEntry(names, key or last, text[item.start : item.end], item.start, item.kind == "text")


def _claims(page: Page, scale: Scale, aspects: Aspects, objects: Sequence[JsonValue], *, cut: bool) -> list[Claim]:
    """The ratings that the reply states outside of JSON."""
    found = without(numbers(page.text), list_marks(page.text, cut=cut), page)
    claims: list[Claim] = []
    lone = len(found) == 1
    for number in found:
        if any(value.start <= number.start < value.end for value in objects):
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


def _unparsed(why: str, page: Page, text: str, finish: str) -> Verdict:
    if why == "none" and is_refusal(page.text):
        return Verdict("refused", reason=text.strip())
    kind: Kind = "ambiguous" if why == "ambiguous" else "truncated" if finish == "length" or page.unfinished else "none"
    return Verdict("unparsed", kind=kind, reason=text.strip())


def _verdict(one: Claim, page: Page, scale: Scale, text: str, finish: str, entries: Sequence[RatingEntry]) -> Verdict:
    number = one.number
    start, end = page.span(number.start, number.stop)
    reason = _reason(one, page, text, entries)
    if number.value is None:
        return Verdict("unparsed", kind="ambiguous", reason=reason)
    cut = finish == "length" and end >= len(text.rstrip()) and number.written == "digits" and number.value > 0
    if cut and number.value * 10 <= scale.high:
        return Verdict("unparsed", kind="truncated", reason=reason)
    if not is_inside(number, scale):
        return Verdict("unparsed", kind="out_of_scale", reason=reason)
    return Verdict("scored", number.value, span=(start, end), form=one.form, reason=reason)


def _reason(one: Claim, page: Page, text: str, entries: Sequence[RatingEntry]) -> str:
    """What the reply says beside its verdict."""
    told = [entry.value for entry in entries if _REASON_KEY.search(entry.key) and entry.is_text]
    if told and one.form == "json":
        return "\n".join(told)
    if one.form in {"verb", "noun", "article", "counted"}:
        return text.strip()
    start, end = page.span(one.begin, one.number.end)
    return "\n".join(
        part for part in (text[:start].rstrip(" \t\n*-#_[("), text[end:].lstrip(_TRIMMED)) if part.strip()
    ).strip()
