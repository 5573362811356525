"""Ratings that a sentence gives: "I would rate it a 4 out of 5", "it deserves a score of 4", "它值4分"."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Final

from steelyard.replies.evidence import Candidate, Strength
from steelyard.replies.grammar import FLAGS, pattern, words
from steelyard.replies.rating_evidence import Around, StatedRating
from steelyard.replies.rating_labels import labelled, structured

_LEAD_WITHIN: Final = 110
_JUST_BEFORE: Final = 40
_DENIED_WITHIN, _DENIED_WITHIN_CHINESE = 40, 12
_SHORT: Final = 60
_AND: Final = re.compile(r"\s(?:and|&)\s(?:an?\s)?(\d{1,3}(?:\.\d{1,2})?)", re.IGNORECASE)
_BETWEEN: Final = re.compile(r"\bbetween\s(?:an?\s)?\Z", re.IGNORECASE)
_OR: Final = re.compile(r"\s(?:or|to)\s(?:(?:maybe|perhaps|possibly|even|an?)\s){1,2}\d(?!\d)", re.IGNORECASE)
_SECOND: Final = re.compile(
    r"\bbetween\s(?:an?\s)?\d[\d.]{0,4}\s(?:and|&)\s(?:an?\s)?\Z"
    r"|\d\s(?:or|to)\s(?:(?:maybe|perhaps|possibly|even|an?)\s){1,2}\Z",
    re.IGNORECASE,
)
"""The second of two numbers of which the judge does not choose one: "between 3 and 4", "a 3 or maybe a 4"."""
_CHOICES: Final = re.compile(r"\s?([|/,])\s?\d{1,2}\s?\1\s?\d")
"""The numbers of a form among which a judge should have chosen: "1|2|3"."""
_LEVEL_OF: Final = re.compile(r"\s(?:of|on|in)\s(?:the|your|this)\s")
_COMMA: Final = re.compile(r"[,;:，、\d]")
_ENDS: Final = re.compile(r"[\"')\]]{0,2}\s{0,2}(?:\Z|[.!,;\n。])")
_A_OR_AS: Final = re.compile(r"(?<![a-z])(?:an?\s(?:\w{1,12}\s)?|as\s)\Z", re.IGNORECASE)
_RATE: Final = re.compile(r"rate|score", re.IGNORECASE)
_RATES: Final = re.compile(r"rat|scor|grad|giv|gave|assign|award|result", re.IGNORECASE)
_SPEAKER: Final = re.compile(r"\b(?:i|let's|let us|it|this)\b", re.IGNORECASE)
_ONE_OF: Final = re.compile(r"(?:\A\s*|[,;]\s|\band\s)(?:an?\s)?\Z", re.IGNORECASE)
_OPENS: Final = re.compile(
    r"[^A-Za-z\u4e00-\u9fff]*|\s*(?:so|overall|therefore|thus|hence|just|only|只|给|我给)[,:]?\s*(?:an?\s)?",
    re.IGNORECASE,
)
_CHINESE_UNITS: Final = ("分", "星", "颗", "个", "级")
_CHINESE_BEFORE: Final = re.compile(r"[\u4e00-\u9fff][^\n]{0,3}\Z")
_CHINESE_LINK: Final = re.compile(r"[为是:]\s?\Z")
_CHINESE_ENDS: Final = re.compile(r"\s{0,2}(?:\Z|[.,;。，；!\n)(/])")
_APART: Final = re.compile(r"(?:\A|[,，:])\s*\Z")


def stated(this: Around) -> Candidate | None:
    """The statement of a rating that a number is part of; None where it is none."""
    number = this.number
    tail = this.here[-30:]
    between = "between" in tail
    if between and number.value is not None and _BETWEEN.search(tail) and (match := _AND.match(this.right)):
        bounds = (number.value, float(match[1]))
        if sorted(bounds) == [this.page.scale.low, this.page.scale.high]:
            return None
        if not pattern("rating", "closes").match(this.right, match.end()):
            return None
        strength = Strength.ANNOUNCED if this.last("verb") or this.last("noun") else Strength.CONCLUDED
        value = StatedRating(number._replace(value=None, bounds=bounds))
        return Candidate(value, number.start, number.end, strength, "between")
    second = (between or " or " in tail or " to " in tail) and _SECOND.search(tail)
    if second or _CHOICES.match(this.right):
        return None
    found = structured(this) or labelled(this) or said(this)
    if found and _OR.match(this.right):
        return replace(found, value=found.value._replace(number=number._replace(value=None)))
    return found


def marked(this: Around, candidate: Candidate) -> Candidate:
    """A stated candidate with what its sentence says of it: final, changed or not yet final."""
    final, changed, initial = (this.before(kind) is not None for kind in ("final", "changed", "initial"))
    changed = changed or candidate.value.changed
    value = candidate.value._replace(final=final or changed, changed=changed, initial=initial)
    return replace(candidate, value=value)


def said(this: Around) -> Candidate | None:
    """A number in a sentence that gives a rating: "I would rate it a 4 out of 5", "它值4分"."""
    if this.describes:
        return None
    found = _in_chinese(this)
    if found is None and (this.behind("predicate") or (_LEVEL_OF.match(this.right) and this.before("level", _SHORT))):
        return this.candidate(len(this.left), Strength.ANNOUNCED, "predicate")
    bounds = this.number.bounds
    game = bounds is not None and bounds[0] >= bounds[1]  # ranges run upwards, results of games need not
    if found or game or not this.closes or _is_denied(this, _DENIED_WITHIN):
        return found
    readings = (_by_lead, _by_article, _by_aspect, _counted, _concluded)
    found = next(filter(None, (reading(this) for reading in readings)), None)
    return None if found and this.before("supposed") else found


def _is_denied(this: Around, within: int) -> bool:
    tail = _COMMA.split(this.here[-within:])[-1]
    return bool(tail) and this.page.phrases("denied").search(tail) is not None


def _given(this: Around, start: int, source: str) -> Candidate:
    """The candidate of a sentence whose statement begins at `start` of `here`."""
    return this.candidate(len(this.left) - len(this.here) + start, Strength.ANNOUNCED, source)


def _by_lead(this: Around) -> Candidate | None:
    """A number that a verb or a noun of rating leads to."""
    link, noun = this.before("link", _SHORT), this.last("noun")
    follows = noun and noun.end() == len(this.here.rstrip()) and not this.number.is_vague
    if noun and (link or follows) and len(this.here) - noun.end() <= _LEAD_WITHIN:
        return _given(this, noun.start(), "noun")
    words_before = this.here[-_SHORT:].split()
    if not (this.before("direct", _JUST_BEFORE) or (words_before and this.page.aspects.names(words_before[-1]))):
        return None
    verb, weak = this.last("verb"), this.last("weak_verb")
    if weak and (verb is None or verb.start() < weak.start()):
        verb = weak
    if verb is None or len(this.here) - verb.end() > _LEAD_WITHIN:
        return None
    sure = this.number.top is not None or bool(this.number.unit)
    if this.number.is_vague:
        sure = bool(_A_OR_AS.search(this.here[-20:]) or (_RATE.fullmatch(verb.group()) and _ENDS.match(this.right)))
    elif not sure and not this.is_foreign:
        sure = verb is not weak or _is_rated(this.here) or this.page.aspects.names(this.here)
    elif not sure:
        sure = _RATES.match(verb.group()) is not None
    return _given(this, verb.start(), "verb") if sure else None


def _is_rated(text: str) -> bool:
    return _SPEAKER.search(text) is not None or _rated_things().search(text) is not None


@cache
def _rated_things() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(words('rated')[:14])})\b", FLAGS)


def _by_article(this: Around) -> Candidate | None:
    """A number with an article, as in "It is a 4": the article makes a thing of the number."""
    if this.is_foreign or not this.before("article", _SHORT) or this.before("elsewhere"):
        return None
    if len(this.here.split()) > 4 and (this.number.is_vague or not _is_rated(this.here)):
        return None
    return _given(this, len(this.here), "article") if _ENDS.match(this.right) or not this.number.is_vague else None


def _by_aspect(this: Around) -> Candidate | None:
    """A number that an aspect is said to be or to have: "relevance is 3", and "4 for fluency and 3 for coherence"."""
    if this.number.is_vague:
        return None
    match = this.before("aspect_is", _SHORT)
    if match and this.page.aspects.names(match[1]):
        return _given(this, match.start(), "noun")
    named = this.named_behind()
    if named and _ONE_OF.search(this.here):
        return this.candidate(len(this.left), Strength.ANNOUNCED, "for_aspect", named)
    return None


def _counted(this: Around) -> Candidate | None:
    """Stars, or a number that is out of the highest value, where no sentence leads to it."""
    number = this.number
    drawn = number.written == "stars"
    stars = drawn or (
        number.unit.startswith("star") and not re.match(r"\s(?:hotel|restaurant|general)", this.right, FLAGS)
    )
    if stars and not drawn and not this.whole_scale and not _OPENS.fullmatch(this.here):
        return None
    if not this.whole_scale and (not stars or number.bounds):
        return None
    if not stars and (this.behind("count_noun") or this.before("covers", _SHORT)):
        return None
    return _given(this, len(this.here), "counted")


def _concluded(this: Around) -> Candidate | None:
    """A number that a conclusion or a correction leads to: "Overall, a 4.", "a 4, no, a 3"."""
    if this.before("corrected"):
        found = _given(this, len(this.here), "corrected")
        return replace(found, value=found.value._replace(changed=True))
    match = this.before("concludes", _SHORT)
    if not match or (match.start() and match.group()[0] not in ",;") or not _ENDS.match(this.right):
        return None
    return _given(this, len(this.here), "concluded")


def _in_chinese(this: Around) -> Candidate | None:
    """A number with a Chinese unit, or behind Chinese words."""
    tail = this.here[-_DENIED_WITHIN:]
    if not (this.number.unit.startswith(_CHINESE_UNITS) or _CHINESE_BEFORE.search(tail)):
        return None
    if _is_denied(this, _DENIED_WITHIN_CHINESE) and not this.page.phrases("full_marks").search(tail):
        return None
    ends = _CHINESE_ENDS.match(this.right)
    if this.number.unit and ends and _APART.search(tail):
        return replace(_given(this, len(this.here), "counted"), strength=Strength.CONCLUDED)
    match = this.page.phrases("gives").search(tail)
    if match is None or not (this.number.unit or (ends and _CHINESE_LINK.search(tail))):
        return None
    return _given(this, len(this.here) - len(tail) + match.start(), "verb")
