"""What takes its force from a letter that is named: others' views, conditions that do not hold, an unwilling model.

`Some would say A`, `had there been contact, the answer would be A` and `I cannot say that it is A` name an answer
word for word as a declaration does. What stands in front, in the same sentence, tells the difference.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Final

_EN: Final = re.IGNORECASE
_REACH: Final = 200
_SENTENCE: Final = re.compile(r"[.!?。\n](?=\s|$|\n)|\n|。")
_CLAUSE: Final = re.compile(
    r"[,;:]|\b(?:but|however|yet|though|although|so|therefore|hence|thus|because|since|then|while|nevertheless"
    r"|still|instead|otherwise|and(?!\s(?:will|would|do|cannot|can't|won't|should|must|neither)\b))\b",
    _EN,
)
_HINTS: Final = re.compile(
    r"if|had|were|some|other|might|may|many|people|student|tempt|glance|sight|obvious|naive|with|critic|opponent"
    r"|propon|not|n't|refus|doubt|declin|unable|relucta|hesita|wrong|propriat|ethic|possible|proper|fair"
    r"|avoid|refrain|never"
    r"|initial|intuiti|common|could",
    _EN,
)
_SPEAKING: Final = (
    r"(?:say|state|claim|confirm|conclude|choose|select|pick|answer|tell|determine|suggest|endorse|assert|agree"
    r"|recommend|give|support|go with|opt|declare|argue|imply|name|take|vote|settle|decide|respond|assume|consider)"
)
_UNSUITED: Final = (
    r"(?:(?:not|n't|never|hardly|neither)\s(?:\w{1,12}\s){0,2}?(?:appropriate|ethical|right|fair|possible|proper"
    r"|acceptable|advisable|responsible|respectful|productive|helpful|correct|accurate|wise|useful|constructive"
    r"|my place|permissible|suitable|reasonable|moral)"
    r"|(?:inappropriate|unethical|impossible|improper|irresponsible|unfair|disrespectful|harmful|wrong|misleading"
    r"|unwise|immoral|offensive|unjust|inaccurate|incorrect|a mistake))"
)
_UNWILLING: Final = re.compile(
    rf"\b(?:i|we|one|you|it|model|assistant|ai)\s(?:\w{{1,12}}ly\s){{0,2}}(?:cannot|can\s?not|can't|could\snot|couldn't"
    rf"|won't|will\snot|should\snot|shouldn't|must\snot|do\snot|don't|would\snot|wouldn't)\s(?!hesitate"
    rf"|help\b|deny|doubt"
    rf"|see\b)[^.,;:\n]{{0,60}}?\b{_SPEAKING}\b"
    r"|(?:\b(?:i|we|must|will|would|to|am|be|ai)|'m|'re)\s(?:\w{1,12}\s){0,3}?(?:refuse|refusing|decline"
    r"|declining|unable|unwilling|reluctant|hesitant|hesitate|not\s(?:able|going|willing"
    r"|prepared|ready|comfortable|here|inclined|qualified|in a position|allowed|programmed"
    r"|designed))\s(?:\w{1,12}\s){0,4}?"
    r"(?:to|in|with)\b"
    rf"|\b{_UNSUITED}\s(?:of\s\w{{1,12}}\s|for\s(?:\w{{1,12}}\s){{1,3}})?(?:to|that)\b"
    r"|(?<!no )(?<!not )(?<!n't )(?<!little )\bdoubt\b(?!\sthat\sit\sis\s(?:not|n't))|\b(?:don't|do not"
    r"|never)\s(?:choose|pick|select)\b"
    r"|\b(?:avoid|refrain(?:ing)?\sfrom|against)\s(?:\w{1,12}\s){0,2}?(?:\w{3,12}ing)\b",
    _EN,
)
_NOT_HESITANT: Final = re.compile(r"\b(?:not|n't|never|without)\s(?:be\s|in the least\s)?hesita\w{1,6}\s\w", _EN)
_OTHERS: Final = re.compile(
    r"(?:some(?:\s(?:people|students|readers|experts|scholars|argue|say|would|may|might|could|will|of them))"
    r"|others?|certain\s(?:people|groups)|critics|opponents|proponents|supporters|skeptics)\b[^.\n]{0,60}?"
    r"\b(?:say|think|argue|believe|claim|answer|choose|assume|suggest|hold|feel|prefer|maintain|pick|select"
    r"|consider)s?\b",
    _EN,
)
_APPEARANCE: Final = re.compile(
    r"\b(?:(?:one|you|we|many|most|people|students|readers|beginners|it|this|that)\s(?:\w{1,12}\s){0,2}?"
    r"(?:might|may|could)|(?:many|most|people|students)\s(?:\w{1,12}\s){0,2}?would)\s(?:\w{1,12}ly\s"
    r"|first\s|be\s|also\s){0,3}"
    r"(?:tempt\w{0,4}|say|think|argue|believe|assume|answer|choose|guess|pick|seem|appear|look|expect|suppose)\b"
    r"|\btempt(?:ing|ed)\b|\bat first\b"
    r"|\b(?:first|initial)\s(?:glance|sight|thought|guess|instinct|impression|reading)\b"
    r"|\bon the face of it\b|\bintuitively\b|\b(?:obvious|naive|intuitive|common|apparent|tempting"
    r"|popular|usual|typical"
    r"|seemingly \w{1,12})\s(?:wrong\s)?(?:answer|choice|option|guess|mistake|misconception|response)\b",
    _EN,
)
_CONDITION: Final = re.compile(r"\b(?:if|unless|suppose|supposing|in case)\b", _EN)
_UNREAL: Final = re.compile(
    r"\bif\b|(?:^|[.!?\n,;]\s?|\bbut\s)(?P<had>had|were)\s(?:there|it|he|she|they|the|this|that|we|an?)\b"
    r"|\b(?P<without>without)\b",
    _EN,
)
_PAST: Final = re.compile(r"\b(?:had|were|was|did)\b", _EN)
_WOULD: Final = re.compile(r"\bwould\b", _EN)
_ASKED_TO: Final = (
    r"(?:forced|pressed|pushed|made|asked|required|obliged|compelled|had to|have to|has to|must|need to|needed to"
    r"|were to|was to|am to|choose|pick|guess|select|answer|decide|speculate|respond|bet)"
)
EXCUSED: Final = rf"\s(?:i|we|one|you|forced|pressed|pushed|asked)\b[^.\n]{{0,24}}\b(?:{_ASKED_TO}|to)\b"
"""Behind `if`: a condition that only excuses a choice (`B if I had to choose`)."""

_EXCUSE: Final = re.compile(rf"\b(?:if|when|were)\b[^.,\n]{{0,40}}?\b{_ASKED_TO}\b", _EN)


class Doubt(IntEnum):
    """How much of an answer is left of a letter that is named."""

    NONE = 0
    WEAK = 1
    """An answer only where the reply gives no other: `at first glance, A`, `if so, A`."""
    DENIED = 2


def doubt(text: str, start: int, end: int) -> Doubt:
    """What the words in front, in the same sentence, make of a letter.

    Args:
        text: the page.
        start: where the declaration begins, or the letter.
        end: where the letter stands.

    >>> doubt("Some would say it is A.", 16, 21), doubt("If I had to choose, A", 20, 20)
    (<Doubt.DENIED: 2>, <Doubt.NONE: 0>)
    """
    first = max(0, start - _REACH)
    stops = [match.end() for match in _SENTENCE.finditer(text, first, start)]
    before = text[stops[-1] if stops else first : end]
    if not _HINTS.search(before):
        return Doubt.NONE
    cut = len(before) - (end - start)
    breaks = [match.end() for match in _CLAUSE.finditer(before, 0, cut)]
    clause = before[breaks[-1] if breaks else 0 :]
    if _UNWILLING.search(clause) and not _NOT_HESITANT.search(clause):
        return Doubt.DENIED
    if _OTHERS.search(clause):
        return Doubt.DENIED
    if _EXCUSE.search(before):
        return Doubt.NONE
    if _is_counterfactual(before):
        return Doubt.DENIED
    return Doubt.WEAK if _APPEARANCE.search(clause) or _CONDITION.search(before) else Doubt.NONE


def _is_counterfactual(before: str) -> bool:
    """`if there had been ..., it would`: one word after the other, so that the time stays linear."""
    if "would have been" in before:
        return True
    if not (unreal := _UNREAL.search(before)):
        return False
    past = unreal if unreal["had"] or unreal["without"] else _PAST.search(before, unreal.end())
    return past is not None and _WOULD.search(before, past.end()) is not None
