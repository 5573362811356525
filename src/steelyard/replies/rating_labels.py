"""Ratings in a mark that prompts ask for, or behind a label: "[RESULT] 4", "Coherence: 4", "Score (1-5): 4"."""

from __future__ import annotations

import re
from typing import Final

from steelyard.replies.evidence import Candidate, Strength
from steelyard.replies.rating_evidence import Around

_LABEL_WITHIN: Final = 90
_MOST_WORDS: Final = 10
_SEPARATED_WITHIN: Final = 80
_SHORT: Final = 60
_BRACKETS: Final = re.compile(r"(?P<double>\[\s?\[\s{0,3}|【\[)\Z|(?P<boxed>\bboxed\s?\{[\s{]{0,16})\Z")
_TAG: Final = re.compile(r"<(?P<label>[A-Za-z_\u4e00-\u9fff]{1,30})>\s{0,20}\Z")
_TAG_ENDS: Final = re.compile(r"\s{0,20}(?:<|\Z)|[ \t]{0,4}\n")
_RESULT: Final = re.compile(r"\s*(?:results?|score|rating|评分|得分|结果)\s*", re.IGNORECASE)
_LEADS: Final = (" a", " an", " is", " at", " about", " around")
_LED: Final = re.compile(
    r"(?<=[:=|>–—-])[ \t]{1,3}(?:an?|is|at|about|around)\Z|(?<![a-z\n])(?:an?|is|at|about|around)\Z", re.IGNORECASE
)
_DASHED: Final = re.compile(r"[ \t][-–—]{1,2}\Z|—\Z|\.{2,}\Z|[-=]+>\Z|[:=|→⇒ \n]*[:=|→⇒]\Z")
_LABEL_GRADE: Final = re.compile(
    r"[:=]\s{0,4}(?![Tt]he\s)[A-Za-z\u4e00-\u9fff]+(?:\s[A-Za-z]+){0,2}\s{0,2}[(\-–]\s{0,2}\Z"
)
"""The name of a level between a label and its number: "Rating: Good (4)"."""
_BARE_LABEL: Final = re.compile(
    r"(?:\A|[\n.;,。，:(|]|\band\b)\s{0,8}(?:[-•>]\s)?(?P<label>[A-Za-z]{4,20}(?:[ \t][A-Za-z]{2,20}){0,4}(?=[\s(])"
    r"|[\u4e00-\u9fff]{2,12})[\s(]{0,4}\Z"
)
_SCALED: Final = re.compile(
    r"\s(?:out of|(?:on|from|using|with) (?:a|the) (?:\S{1,8} )?scale|from \d|in the range)\b.*\Z", re.IGNORECASE
)
_BARE_UNITS: Final = re.compile(r"points?|stars?|values?|answer|results?|overall|total|average|mean", re.IGNORECASE)
"""Words that label a number only with a separator: "Points: 4", but not "Main points (1 point)"."""
_DOUBTFUL: Final = re.compile(r"\s*(?:(?:the|my|your|final) )?(?:response|output|level)\s*", re.IGNORECASE)
"""Labels of a rating or of a text."""
_ENTRY: Final = re.compile(r"[.)]\s{1,3}[^\W\d]")
_NEXT_LINE: Final = re.compile(r":\s{0,4}\n[ \t]{0,4}\Z")
"""Below a heading a lone "1." begins a list of one entry."""
_RATING_ENDS: Final = re.compile(r"(?:scores?|ratings?|评分)\s*\Z", re.IGNORECASE)
_OUTCOME: Final = re.compile(r"结果[是为:]\s?\Z")
"""With a unit behind its number it is the result of a calculation."""
_BARE_ENDS: Final = re.compile(
    r"\s{0,2}(?:\Z|[.,;!\n()/。，]|out\b|because|and\b|as\b|since|for\b|[-–—]\s|(?=[A-Z])(?!\w*\s?:)\w)"
)


def structured(this: Around) -> Candidate | None:
    """A number in a mark that prompts ask for: [[4]], a box, a tag, behind [RESULT]."""
    left = this.left
    last = left.rstrip()[-1:]
    if last in {"[", "{"} and (match := _BRACKETS.search(left, max(0, len(left) - 40))):
        start = max(0, len(left) - len(this.here))
        label = left[start : match.start()] or _label(left[: match.start()])[0]
        return this.candidate(match.start(), Strength.STRUCTURED, match.lastgroup or "", label)
    if last == ">" and (match := _TAG.search(left, max(0, len(left) - 60))) and _TAG_ENDS.match(this.right):
        return this.candidate(match.start(), Strength.STRUCTURED, "tag", match["label"])
    if last == "]" and (found := _enclosed(left.rstrip())) and _RESULT.fullmatch(found[0]):
        return this.candidate(found[1], Strength.STRUCTURED, "enclosed", found[0])
    return None


def labelled(this: Around) -> Candidate | None:
    """A number behind the label of a rating or of an aspect: "Coherence: 4", "Score (1-5) = 4", "Rating 4"."""
    if (this.describes and this.right.lstrip()[:1] != "(") or (not this.closes and this.number.written == "word"):
        return None
    graded = this.left.rstrip()[-1:] in {"(", "-", "–"}
    found = label_before(this.left) or _bare_label(this)
    found = found or (label_before(_LABEL_GRADE.sub(":", this.left)) if graded else None)
    if found is None or not _is_rating(this, _SCALED.sub("", found[0])):
        return None
    counts = not this.closes and this.behind("count_noun")
    entry = this.number.value == 1 and _ENTRY.match(this.right) and _NEXT_LINE.search(this.left)
    if counts or entry or (_OUTCOME.search(this.here) and this.right[:1] >= "\u4e00"):
        return None
    return this.candidate(found[1], Strength.DECLARED, "labelled", found[0])


def label_before(left: str) -> tuple[str, int] | None:
    """The label that ends `left` together with its separator, and where it begins.

    >>> label_before("It is short. Rating (1-5): ")
    ('Rating', 13)
    """
    tail = left.rstrip(" \t\n<\"'([{$~≈_")
    if tail[-6:].lower().endswith(_LEADS) and (match := _LED.search(tail)):
        tail = tail[: match.start()].rstrip(" \t<\"'([{$~≈_")
    separator = _DASHED.search(tail, max(0, len(tail) - 6))
    if len(left) - len(tail) > _SEPARATED_WITHIN:
        return None
    if separator is None:
        return _enclosed(tail) if tail[-1:] in {"]", "】"} else None
    label = tail[: separator.start()].rstrip()
    if label[-1:] in {")", "]", "】"}:  # the scale behind the label, or a label in brackets
        opened = max(label.rfind(mark, max(0, len(label) - 160)) for mark in "([【")
        if opened >= 0 and "\n" not in label[opened:]:
            before = _label(label[:opened].rstrip())
            return before if before[0].strip() else _enclosed(label)
    return _label(label)


def _label(text: str) -> tuple[str, int]:
    """The words that end `text`, back to the nearest boundary, and where they begin."""
    boundaries = [text.rfind(sign) + 1 for sign in "\n:;!?。；！？|="]
    start = max(len(text) - _LABEL_WITHIN, 0, text.rfind(". ") + 2 if ". " in text else 0, *boundaries)
    label = text[start:].lstrip(" \t-•>\"'([")
    return label, len(text) - len(label)


def _enclosed(text: str) -> tuple[str, int] | None:
    """The label inside the brackets that end `text`."""
    opened = max(text.rfind(mark, max(0, len(text) - 44)) for mark in "[【(")
    return (text[opened + 1 : -1], opened) if opened >= 0 and "\n" not in text[opened:] else None


def _bare_label(this: Around) -> tuple[str, int] | None:
    """A label without a separator: "Rating 4" at the beginning of a line or sentence."""
    words_before = this.left[-_SHORT:].rstrip(" (\n\t").split()
    if not words_before or not _BARE_ENDS.match(this.right):
        return None
    bare = this.page.phrases("label").search(words_before[-1].lower()) and not _BARE_UNITS.match(words_before[-1])
    if not bare and not this.page.aspects.asked(" ".join(words_before[-5:])):
        return None
    match = _BARE_LABEL.search(this.left, max(0, len(this.left) - 80))
    return (
        (match["label"], match.start("label")) if match and (bare or this.page.aspects.asked(match["label"])) else None
    )


def _is_rating(this: Around, label: str) -> bool:
    if not label.strip() or this.page.phrases("no_number").search(label.lower()):
        return False
    asked = this.page.aspects.asked(label)
    noun = this.page.phrases("label").search(label[-_SHORT:].lower())
    exact = asked or _RATING_ENDS.search(label)
    if not exact and this.page.phrases("counts").search(label.lower()):
        return False
    if _DOUBTFUL.fullmatch(label):
        return _BARE_ENDS.match(this.right) is not None or this.right.lstrip()[:1] in {"-", "–"}
    if label.strip() == "A":
        return re.search(r"(?:\A|\n)A\b[^\n]{0,6}\Z", this.left) is not None
    if len(label.split()) > _MOST_WORDS and not this.page.phrases("label").search(label[-30:].lower()):
        return False
    return bool(noun) or asked or bool(this.page.aspects.others(label[-50:]))
