"""The plainest replies, read at once: a line "Rating: 4" first or last, and beside it nothing that could be a rating.

It says what the whole reader would say, in a seventh of the time, or leaves the reply to that one: most replies to
prompts that ask for a rating on a line of its own are of this kind.
"""

from __future__ import annotations

import re
from typing import Final

from steelyard.text.rating_verdict import Scale, Verdict

_LINE: Final = re.compile(
    r"(?P<lead>[ \t]{0,4}(?:\*\*)?)(?P<label>(?:(?:my|the) )?(?:(?:final|overall) )?(?:rating|score)|[a-z]{4,20})"
    r"(?:\*\*)?:(?:\*\*)? {0,2}(?P<digits>\d{1,2}(?:\.\d)?)(?:\*\*)?"
    r"(?:(?:/| \(?out of )(?P<top>\d{1,3})\)?)?\.?[ \t]{0,4}",
    re.IGNORECASE,
)
_SUSPECT: Final = re.compile(
    r"[\[\]{}<>|\"`$\\]|\brat(?:e|ing)|scor|\bstars?\b|\bpoints?\b|grade|\bmarks?\b|out of|final|overall|correct|revis"
    r"|chang|\bwait\b|actually|instead|mistake|missed|misread|thought|sorry|cannot|can't|unable|example|form\b|task"
    r"|source text|make sure|\bnow\b|\bgiv|deserv|award|assign|worth|would|should|\bif\b|[:=]\s{0,3}\d"
    r"|(?<![\d.,])\d{1,3}(?:\.\d+)?(?!\d|\s[a-z]{3}|(?:st|nd|rd|th)\b|(?<=\n\d)\.\s[a-z]{2})"
    r"|\b(?:zero|two|three|four|five|six|seven|eight|nine|ten)\b(?!\s[a-z]{3})"
    r"|(?<!first )(?<!second )(?<!last )(?<!other )(?<!this )\bone\b(?!\s[a-z]{3})"
)
"""Whatever may state, take back, quote or echo a rating, or refuse one; in lower case."""
_TRIMMED: Final = " \t\n\r:;,.|-–—*_`\"'{}[]()"


def plain_rating(text: str, scale: Scale, *, name: str, finish: str) -> Verdict | None:
    r"""The verdict of a plain reply; None where the whole reader has to look.

    Args:
        text: the reply.
        scale: what was asked for.
        name: of the aspect; a label must be that or "rating" or "score".
        finish: why the reply ended; one that was cut off is never plain.

    >>> plain_rating("It leaves out the date.\n\nRating: 4", Scale(), name="", finish="stop").value
    4.0
    >>> plain_rating("I would give it a 3.\nRating: 4", Scale(), name="", finish="stop") is None
    True
    """
    if finish == "length" or not text.isascii():
        return None
    start, end = 0, len(text.rstrip())
    first, last = text.find("\n", 0, end), text.rfind("\n", 0, end)
    place = last + 1
    match = _LINE.fullmatch(text, place, end)
    if match is None and first > 0:
        match, place = _LINE.fullmatch(text, start, first), start
    if match is None or not _is_asked(match["label"], name):
        return None
    if (match["top"] and float(match["top"]) != scale.high) or float(match["digits"]) not in scale:
        return None
    before, after = text[: match.start()], text[match.end() :]
    if _SUSPECT.search(f"{before}\n{after}".lower()):
        return None
    reason = (before.rstrip(" \t\n*-#_[("), after.lstrip(_TRIMMED))
    told = "\n".join(part for part in reason if part.strip()).strip()
    return Verdict("scored", float(match["digits"]), span=match.span("digits"), form="labelled", reason=told)


def _is_asked(label: str, name: str) -> bool:
    return label.lower().endswith(("rating", "score")) or label.lower() == name.lower()
