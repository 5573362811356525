"""Whether the words around a letter or text that a reply mentions leave room for its being the answer.

`Option B is offensive`, `I disagree with B` and `that is a good question` mention one option alone, and give none.
"""

from __future__ import annotations

import re
from typing import Final

from steelyard.text.choice_patterns import FINE, FITS

_EN: Final = re.IGNORECASE
_BEHIND_LETTER: Final = re.compile(r"[)\]\"'}>$]{0,3}\s{1,3}(?=[a-z])(?P<words>[^.!?\n]{1,120})")
_GOES_ON: Final = re.compile(
    r"(?:because|since|as|due|for|in|on|of|from|among|given|based|here|instead|to|by|according|where|which|that|with|if"
    r"|and|or|but|not|than|rather|only|alone|option|seems|appears|looks|sounds|at|out|under|over|when"
    r"|then|i|it|this|the"
    r"|are)\b",
    _EN,
)
_TAKEN: Final = re.compile(
    rf"(?:\w{{1,14}}ly\s|also\s|alone\s|still\s){{0,2}}(?:{FITS}|says?|has|have|contains?|lists?|gives?"
    rf"|names?|shows?|follows?"
    r"|remains?|applies|includes?|makes?|provides?|refers?|meets?|holds?|wins?|indicates?|means?|concerns?|involves?)\b"
    r"|(?:is|was|would be|must be|should be|will be|has to be|seems to be|may be|might be|could be)\s"
    rf"(?:\w{{1,14}}ly\s|indeed\s|also\s)?(?:the|my|what|where|it|how|in|on|supported|consistent|your"
    rf"|called|known|given"
    rf"|shown|used|true|preferable|better|superior|more|most|an?\s(?!mistake|stereotyp|problem|harmful|flawed|bad|poor)"
    rf"|{FINE})\b",
    _EN,
)
_AGAINST: Final = re.compile(
    r"\b(?:disagree(?:s|d)?\swith|disagreement with|avoid(?:ing)?|reject(?:ing|s)?|dispute"
    r"|object(?:ing)? to|oppos(?:e|ed|ing)(?: to)?"
    r"|doubt(?:ful)?(?:\s(?:that|if|whether))?|argue against|advise against|recommend against"
    r"|steer clear of|stay away from"
    r"|wary of|such as|unlike|contrary to|(?:don't|do not|never)\s(?:choose|pick|select|say|answer"
    r"|go with|use|take))"
    r"\s(?:it(?:'s|\sis)\s|an?\s|the\s)?(?:options?\s|choices?\s|answers?\s|\()?[(\"']{0,2}$",
    _EN,
)
_SURE: Final = re.compile(r"\b(?:no|not|little|without(?: a)?|n't|beyond)\s(?:\w{1,10}\s){0,2}doubt", _EN)
_ASKS: Final = re.compile(
    r"(?:^|[.!\n]\s{0,3})(?:(?:but|so|and|or)\s)?(?:is|are|could|would|should|can|why|what|does|do|did"
    r"|might|was|how|which"
    r"|who|where)\b[^.!?\n]{0,100}$",
    _EN,
)
_ASKED: Final = re.compile(r"[)\]\"']{0,2}[^.!?\n]{0,60}\?")
_CLOSED: Final = re.compile(
    r"[\"')\]]{0,2}(?:\s{0,2}[.,;:!?\n()\-–—<]|\s{0,3}\Z|\s(?:because|since|as|due|than|in my|for me"
    r"|about (?:it|this)|it|this|that|them|with"
    r"|overall|and|but|given|on)\b)",
    _EN,
)
_QUOTES: Final = frozenset("\"'")
_REACH: Final = 120


def takes_letter(text: str, start: int, end: int) -> bool:
    """Whether the letter at `start`..`end` may be what the reply gives.

    >>> takes_letter("Option B is offensive.", 7, 8), takes_letter("Option B is the tort.", 7, 8)
    (False, True)
    """
    before = text[max(0, start - _REACH) : start]
    if (_AGAINST.search(before) and not _SURE.search(before)) or (_ASKS.search(before) and _ASKED.match(text, end)):
        return False
    behind = _BEHIND_LETTER.match(text, end)
    return behind is None or bool(_GOES_ON.match(behind["words"]) or _TAKEN.match(behind["words"]))


def takes_text(text: str, start: int, end: int) -> bool:
    """Whether a common word at `start`..`end` is said by itself: `it's good`, and not `a good question`.

    >>> takes_text("It's good.", 5, 9), takes_text("A good question.", 2, 6)
    (True, False)
    """
    if not text[end - 1].isascii() or (text[start - 1 : start] in _QUOTES and text[end : end + 1] in _QUOTES):
        return True
    before = text[max(0, start - _REACH) : start]
    return _CLOSED.match(text, end) is not None and not (_AGAINST.search(before) and not _SURE.search(before))
