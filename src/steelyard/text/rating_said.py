"""Ratings that a sentence gives: "I would rate it a 4 out of 5", "它值4分"."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from steelyard.text.rating_aspects import Subject
from steelyard.text.rating_claims import Around, Claim, ClaimStrength
from steelyard.text.rating_numbers import RatingNumber
from steelyard.text.rating_words import (
    ARTICLE,
    CLOSES,
    CONCLUDES,
    DENIAL,
    DESCRIBES,
    DIRECT,
    GIVES,
    LINKS,
    NOUN,
    OF,
    OF_A_TEAM,
    OPENING,
    PREDICATE,
    VERB,
)

_REACH: Final = 110
_SHORT: Final = 4
_TAIL: Final = 60
_JUST_BEFORE: Final = 36
_DENIED_WITHIN: Final = 40
_DENIED_WITHIN_CHINESE: Final = 12
_COMMA: Final = re.compile(r"[,;:，、\d]")
_A_OR_AS: Final = re.compile(r"(?<![a-z])(?:an?\s(?:\w{1,12}\s)?|as\s)\Z", re.IGNORECASE)
_RATED: Final = re.compile(
    r"\b(?:i|let's|let\sus|summary|response|answer|it|this|text|dialogue|reply|output|candidate|translation|conversation|story)\b",
    re.IGNORECASE,
)
_CHINESE_UNITS: Final = frozenset({"分", "星", "颗星", "个星", "级", "颗 星"})
_CHINESE_BEFORE: Final = re.compile(r"[\u4e00-\u9fff][^\n]{0,3}\Z")
_CHINESE_LINK: Final = re.compile(r"[为是:]\s?\Z")
_CHINESE_END: Final = re.compile(r"\s{0,2}(?:\Z|[.,;。，；!\n)(/])")
_ENDS: Final = re.compile(r"[\"')\]]{0,2}\s{0,2}(?:\Z|[.!,;\n。])")
_LEVEL: Final = re.compile(
    r"\b(?:corresponds?\sto|falls?\s(?:in|into|under|at)|is\sat|matches|reaches|meets)\s(?:the\s)?(?:level|score|category|grade|band)\s\Z",
    re.IGNORECASE,
)
_LEVEL_OF: Final = re.compile(r"\s(?:of|on|in)\s(?:the|your|this)\s(?:rubric|scale|criteria)", re.IGNORECASE)
_RATES_ALONE: Final = re.compile(r"rate|score", re.IGNORECASE)
_RATES: Final = re.compile(r"rat|scor|grad|giv|gave|assign|award", re.IGNORECASE)
_OPENS: Final = re.compile(
    r"[^A-Za-z\u4e00-\u9fff]*|\s*(?:so|overall|therefore|thus|hence|just|only|只|给|我给)[,:]?\s*(?:an?\s)?",
    re.IGNORECASE,
)
_ABOUT_OTHERS: Final = re.compile(
    r"\b(?:he|she|they|film|movie|book|team|player|school|hotel|restaurant|game|song|album|company|country|student"
    r"|patient|critics?|reviewers?|magazine|paper|imdb|article)\b",
    re.IGNORECASE,
)
_FOR: Final = re.compile(
    r"(?:\s(?:for|in|on)\s(?:its\s|the\s)?|\s?[(])(?P<aspect>[A-Za-z\u4e00-\u9fff]{2,24})", re.IGNORECASE
)
_ONE_OF: Final = re.compile(r"(?:\A\s*|[,;]\s|\band\s)(?:an?\s)?\Z", re.IGNORECASE)
_FULL_MARKS: Final = re.compile(r"(?:得到?了?|获得?了?|给(?:出|予)?了?|打)满分\Z")
_APART: Final = re.compile(r"(?:\A|[,，:])\s*\Z")
_PARTS: Final = re.compile(r"[,;，、]|\b(?:and|while|but|whereas)\b", re.IGNORECASE)
_ASPECT_IS: Final = re.compile(
    r"\b(?P<aspect>[A-Za-z]{4,24})\s(?:of|is|was|at|as|=|(?:would|should)\sbe|to\sbe)\s(?:an?\s)?\Z", re.IGNORECASE
)
_NO_RATHER: Final = re.compile(
    r"(?:\A|[.,;…—-])\s?(?:no|wait|actually|rather|sorry|make\sthat|i\smean)[,:]?\s(?:an?\s|it's\s(?:an?\s)?)?\Z",
    re.IGNORECASE,
)
_SO: Final = re.compile(r"[,;]\s(?:so|thus|therefore|hence)[,:]?\s(?:an?\s)?\Z", re.IGNORECASE)
_COUNT_NOUN: Final = re.compile(r"\s{0,2}(?:of\s|[a-z]{3,20}s\b)", re.IGNORECASE)
_COVERS: Final = re.compile(
    r"\b(?:cover|captur|includ|mention|address|contain|omit|miss|list|nam|support|identif|repeat|reproduc|report)\w{0,3}\s"
    r"(?:only\s|about\s|just\s|all\s|correctly\s|right\s)?\Z",
    re.IGNORECASE,
)
"""Verbs behind which a fraction counts what the judged text has: "covers 4 of 5 points"."""
_A_PLACE: Final = re.compile(r"\s(?:hotel|restaurant|general)", re.IGNORECASE)


def said(this: Around) -> Claim | None:
    """A number in a sentence that gives a rating."""
    if DESCRIBES.match(this.right):
        return None
    if this.number.unit in _CHINESE_UNITS or _CHINESE_BEFORE.search(this.here[-5:]):
        found = _in_chinese(this)
        if found is not None:
            return found
    predicate = PREDICATE.match(this.right) is not None or (
        _LEVEL.search(this.here[-_TAIL:]) is not None and _LEVEL_OF.match(this.right) is not None
    )
    if not (predicate or CLOSES.match(this.right)) or _denied(this) or _is_result(this.number):
        return None
    if predicate:
        return _claim(this, len(this.here), "predicate")
    return (
        _by_noun(this)
        or _by_verb(this)
        or _by_article(this)
        or _by_aspect(this)
        or _counted(this)
        or _corrected(this)
        or _concluded(this)
        or _for_aspect(this)
    )


def _is_result(number: RatingNumber) -> bool:
    """Whether it is the result of a game: "3-2" and "2-2" are no ranges, as those run upwards."""
    return number.bounds is not None and number.bounds[0] >= number.bounds[1]


def _denied(this: Around) -> bool:
    tail = _COMMA.split(this.here[-_DENIED_WITHIN:])[-1]
    return bool(tail) and DENIAL.search(tail) is not None


def _for_aspect(this: Around) -> Claim | None:
    """One of several: "4 for fluency and 3 for coherence", "4 (fluency), 3 (coherence)"."""
    match = _FOR.match(this.right)
    if match is None or _is_vague(this) or not this.aspects.names(match["aspect"]) or not _ONE_OF.search(this.here):
        return None
    subject, other = this.aspects.of_label(match["aspect"])
    return Claim(this.number, ClaimStrength.SAID, subject, other, "for_aspect", begin=this.number.start)


def _is_vague(this: Around) -> bool:
    """Whether it is a number word that could as well count something."""
    return this.number.written == "word" and this.number.top is None and not this.number.unit


def _by_noun(this: Around) -> Claim | None:
    tail = this.here[-_TAIL:]
    links = LINKS.search(tail)
    match = _last(NOUN, this.here)
    if match is None or not (links or (match.end() == len(this.here.rstrip()) and not _is_vague(this))):
        return None
    return _claim(this, match.start(), "noun") if len(this.here) - match.end() <= _REACH else None


def _by_verb(this: Around) -> Claim | None:
    direct = DIRECT.search(this.here[-_JUST_BEFORE:]) or _by_name(this)
    match = _last(VERB, this.here) if direct else None
    if match is None or len(this.here) - match.end() > _REACH:
        return None
    if _is_vague(this) and not _A_OR_AS.search(this.here[-20:]) and not _rates_in_a_word(this, match):
        return None
    sure = this.number.top is not None or this.number.unit
    if (
        not sure
        and this.number.value is not None
        and this.number.value not in this.scale
        and not _RATES.match(match.group())
    ):
        return None
    if OF_A_TEAM.match(match.group()) and not sure and not (_RATED.search(this.here) or this.aspects.names(this.here)):
        return None
    return _claim(this, match.start(), "verb")


def _rates_in_a_word(this: Around, verb: re.Match[str]) -> bool:
    """Whether a sentence ends with its rating: "I would rate the summary three."""
    return _RATES_ALONE.fullmatch(verb.group()) is not None and _ENDS.match(this.right) is not None


def _by_name(this: Around) -> bool:
    """Whether the word before the number is an aspect: "I would rate its fluency 5"."""
    words = this.here[-_TAIL:].split()
    return bool(words) and this.aspects.names(words[-1])


def _by_article(this: Around) -> Claim | None:
    """A number with an article, as in "It is a 4": the article makes a thing of the number."""
    value = this.number.value
    if (value is not None and value not in this.scale) or not ARTICLE.search(this.here[-_TAIL:]):
        return None
    short = len(this.here.split()) <= _SHORT and not _ABOUT_OTHERS.search(this.here)
    if not short and (not _RATED.search(this.here) or _ABOUT_OTHERS.search(this.here) or _is_vague(this)):
        return None
    return _claim(this, len(this.here), "article") if _ENDS.match(this.right) or not _is_vague(this) else None


def _by_aspect(this: Around) -> Claim | None:
    """A number that an aspect is said to be or to have, as in "relevance is 3" and in a count of it."""
    match = _ASPECT_IS.search(this.here[-_TAIL:])
    if match is None or _is_vague(this) or not this.aspects.names(match["aspect"]):
        return None
    return _claim(this, len(this.here) - len(match.group()), "noun")


def _corrected(this: Around) -> Claim | None:
    return replace(_claim(this, len(this.here), "corrected"), changed=True) if _NO_RATHER.search(this.here) else None


def _concluded(this: Around) -> Claim | None:
    if not (CONCLUDES.fullmatch(this.here) or _SO.search(this.here)) or not _ENDS.match(this.right):
        return None
    return _claim(this, len(this.here), "concluded")


def _last(pattern: re.Pattern[str], here: str) -> re.Match[str] | None:
    found = None
    for match in pattern.finditer(here):
        found = match
    return found


def _in_chinese(this: Around) -> Claim | None:
    tail = this.here[-_DENIED_WITHIN:]
    denied = DENIAL.search(_COMMA.split(tail[-_DENIED_WITHIN_CHINESE:])[-1])
    if denied and not _FULL_MARKS.search(tail):
        return None
    if this.number.unit and _APART.search(tail) and _CHINESE_END.match(this.right):
        return replace(_claim(this, len(this.here), "counted"), strength=ClaimStrength.BARE)
    match = GIVES.search(tail)
    if match is None or not (this.number.unit or _CHINESE_LINK.search(tail)):
        return None
    if not this.number.unit and _CHINESE_END.match(this.right) is None:
        return None
    return _claim(this, len(this.here) - len(tail) + match.start(), "verb")


def _counted(this: Around) -> Claim | None:
    """Stars, or a number that is out of the highest value, where no sentence leads to it."""
    number = this.number
    stars = number.written == "stars" or (number.unit.startswith("star") and not _A_PLACE.match(this.right))
    if stars and number.written != "stars" and not _OPENS.fullmatch(this.here) and not this.whole_scale:
        return None
    if not (this.whole_scale or (stars and number.bounds is None)):
        return None
    if not stars and (_COUNT_NOUN.match(this.right) or _COVERS.search(this.here[-_TAIL:])):
        return None
    return _claim(this, len(this.here), "counted")


def _claim(this: Around, place: int, form: str) -> Claim:
    """The claim of a sentence; what it rates stands behind the number, before the verb, or opens the sentence."""
    subject, other = _subject(this, place)
    begin = this.number.start - len(this.here) + place
    return Claim(this.number, ClaimStrength.SAID, subject, other, form, begin=begin)


def _subject(this: Around, place: int) -> tuple[Subject, str]:
    aspects = this.aspects
    for match in (_FOR.match(this.right), OF.match(this.right), OPENING.match(this.here)):
        if match and (aspects.asked(match["aspect"]) or aspects.others(match["aspect"])):
            return aspects.of_label(match["aspect"])
    spoken = this.here[place:]
    if aspects.asked(spoken):
        return Subject.ASKED, ""
    other = aspects.others(spoken[:_REACH])
    return (Subject.OTHER, other) if other else aspects.of_label(_PARTS.split(this.here[:place])[-1][-40:])
