"""Ratings behind a label: "Coherence: 4", "[RESULT] 4", "Score (1-5): 4", and numbers in marks made for verdicts."""

from __future__ import annotations

import re
from typing import Final

from steelyard.text.rating_aspects import Subject
from steelyard.text.rating_claims import Around, Claim, ClaimStrength
from steelyard.text.rating_words import CLOSES, COUNTS, DESCRIBES, NO_RATING, RATING

_DOUBLE: Final = re.compile(r"\[\s?\[\s{0,3}\Z")
_BOXED: Final = re.compile(r"\bboxed\s?\{[\s{]{0,16}\Z")
_TAG: Final = re.compile(r"<(?P<label>[A-Za-z_\u4e00-\u9fff]{1,30})>\s{0,20}\Z")
_TAG_ENDS: Final = re.compile(r"\s{0,20}(?:<|\Z)|[ \t]{0,4}\n")
_RESULT: Final = re.compile(r"results?|score|rating|评分|得分|结果", re.IGNORECASE)
_LED: Final = re.compile(r"(?<![a-z])(?:an?|is|at|about|around)\s{1,2}\Z", re.IGNORECASE)
_DASHED: Final = re.compile(r"[ \t][-–—]{1,2}\Z|—\Z|\.{2,}\Z")
_BARE_LABEL: Final = re.compile(
    r"(?:\A|[\n.;,。，:(|]|\band\b)\s{0,8}(?:[-•>]\s)?(?P<label>[A-Za-z]{4,20}(?:[ \t][A-Za-z]{2,20}){0,4}(?=[\s(])"
    r"|[\u4e00-\u9fff]{2,12})[\s(]{0,4}\Z"
)
_BARE_ENDS: Final = re.compile(
    r"\s{0,2}(?:\Z|[.,;!\n()/。，]|out\b|because|and\b|as\b|since|for\b|(?:The|This|It|There|However|Overall|While"
    r"|Although|Though|In|But|Here|Explanation|Reason\w*|Because|Let|Please|Note|Its|Both|Each|All|No|Not|Since|As"
    r"|For|We|My|Also)\b)"
)
_NAMED_BEHIND: Final = re.compile(
    r"\s?[(\[](?P<aspect>[A-Za-z\u4e00-\u9fff]{2,24})[)\]]|[\])}]{0,2}\s(?:for|to)\s(?:the\s)?(?P<thing>\w{2,24}(?:\s\w{1,3})?)"
)
_UNITS: Final = re.compile(r"points?|stars?|values?|answer|results?", re.IGNORECASE)
"""Words that label a number only with a separator: "Points: 4", but not "Main points (1 point)"."""
_COUNTED: Final = re.compile(r"\s(?:of\s(?:the|its|these|those|all|them)\b|(?:[a-z]{3,14}\s)?[a-z]{3,20}s\b)")
"""What makes a number at the beginning of a text a count: "Evaluation: 2 of the 4 facts are wrong"."""
_OUTCOME: Final = re.compile(r"结果[是为:]\s?\Z")
"""With a unit behind its number it is the result of a calculation."""
_ENTRY: Final = re.compile(r"[.)]\s{1,3}[^\W\d]")
_ON_NEXT_LINE: Final = re.compile(r":\s{0,4}\n[ \t]{0,4}\Z")
"""Below a heading a lone "1." begins a list of one entry."""
_EXACT: Final = re.compile(r"(?:scores?|ratings?|评分)\s*\Z", re.IGNORECASE)
_VERBS: Final = re.compile(r"\b(?:not|if|than|cannot|would|to\sget)\b|如果|不能", re.IGNORECASE)
_SCALED: Final = re.compile(
    r"\s(?:out\sof|(?:on|from|using|with)\s(?:a|the)\s(?:\S{1,8}\s)?scale|from\s\d|in\sthe\srange)\b.*\Z", re.IGNORECASE
)
_GRADED: Final = re.compile(
    r"[:=]\s{0,4}(?!(?i:the)\s)[A-Za-z\u4e00-\u9fff]+(?:\s[A-Za-z]+){0,2}\s{0,2}[(\-–]\s{0,2}\Z"
)
"""The name of a level between a label and its number: "Rating: Good (4)"."""
_BOUNDARY: Final = "\n:;!?。；！？|="
_WRAPS: Final = " \t\n<\"'([{$~≈_"
_LONGEST: Final = 90
_GAP: Final = 80


def structured(this: Around) -> Claim | None:
    """A number in a mark that prompts ask for: [[4]], a box, a tag, behind [RESULT]."""
    last = this.left.rstrip()[-1:]
    if last in {"[", "{"}:
        return _marked(this)
    if last == ">" and (match := _TAG.search(this.left[-60:])) and _TAG_ENDS.match(this.right):
        return _claim(this, match["label"], len(this.left) - len(match.group()), ClaimStrength.STRUCTURED, "tag")
    if last == "]" and (found := _enclosed(this.left.rstrip())) and _RESULT.fullmatch(found[0].strip()):
        return _claim(this, *found, ClaimStrength.STRUCTURED, "enclosed")
    return None


def _marked(this: Around) -> Claim | None:
    for pattern, form in ((_DOUBLE, "double_brackets"), (_BOXED, "boxed")):
        if match := pattern.search(this.left, max(0, len(this.left) - 40)):
            start = max(0, len(this.left) - len(this.here))
            label = this.left[start : match.start()] or _label(this.left[: match.start()])[0]
            return _claim(this, label, match.start(), ClaimStrength.STRUCTURED, form)
    return None


def labelled(this: Around) -> Claim | None:
    """A number behind the label of a rating or of an aspect."""
    if DESCRIBES.match(this.right) and this.right.lstrip()[:1] not in {"(", "（"}:
        return None
    left = _GRADED.sub(":", this.left[-_GAP:]) if this.left.rstrip()[-1:] in {"(", "-", "–"} else ""
    if not CLOSES.match(this.right) and (this.number.written == "word" or _COUNTED.match(this.right)):
        return None
    if this.number.value == 1 and _ENTRY.match(this.right) and _ON_NEXT_LINE.search(this.left):
        return None
    if _OUTCOME.search(this.here) and this.right[:1] >= "\u4e00":
        return None
    found = label_before(this.left) or _bare_label(this) or (label_before(left) if left else None)
    if found is None or not _is_rating(this, _unscaled(found[0])):
        return None
    return _claim(this, *found, ClaimStrength.LABELLED, "labelled")


def label_before(left: str) -> tuple[str, int] | None:
    """The label that ends `left` together with its separator, and where it begins.

    >>> label_before("It is short. Rating (1-5): ")
    ('Rating', 13)
    """
    tail = left.rstrip(_WRAPS)
    match = _LED.search(left.rstrip(_WRAPS[3:]), max(0, len(left) - 30))
    if match and "\n" not in left[max(0, match.start() - 4) : match.start()]:
        tail = left[: match.start()].rstrip(_WRAPS)
    if len(left) - len(tail) > _GAP:
        return None
    cut = tail.rstrip(":=|→⇒ \n") if tail[-1:] in {":", "=", "|", "→", "⇒"} else tail
    if tail.endswith(("->", "=>")):
        cut = tail[:-2].rstrip("-=")
    elif match := _DASHED.search(tail, max(0, len(tail) - 4)):
        cut = tail[: match.start()]
    if cut is tail:
        return _enclosed(tail) if tail[-1:] in {"]", "】"} else None
    cut = cut.rstrip()
    if cut[-1:] in {")", "]", "】"}:
        opened = max(cut.rfind(mark, max(0, len(cut) - 160)) for mark in "([【")
        if opened >= 0 and "\n" not in cut[opened:]:
            before = _label(cut[:opened].rstrip())
            return before if before[0].strip() else _enclosed(cut)
    return _label(cut)


def _label(text: str) -> tuple[str, int]:
    start = max(
        [
            len(text) - _LONGEST,
            0,
            text.rfind(". ") + 2 if ". " in text else 0,
            *(text.rfind(mark) + 1 for mark in _BOUNDARY),
        ]
    )
    label = text[start:]
    return label.lstrip(" \t-•>\"'(["), len(text) - len(label.lstrip(" \t-•>\"'(["))


def _enclosed(text: str) -> tuple[str, int] | None:
    """The label inside the brackets that end `text`."""
    opened = max(text.rfind(mark, max(0, len(text) - 44)) for mark in "[【(")
    return (text[opened + 1 : -1], opened) if opened >= 0 and "\n" not in text[opened:] else None


def _bare_label(this: Around) -> tuple[str, int] | None:
    """A label without a separator: "Rating 4" at the beginning of a line or sentence."""
    if _BARE_ENDS.match(this.right) is None:
        return None
    match = _BARE_LABEL.search(this.left, max(0, len(this.left) - 80))
    if match is None:
        return None
    last = match["label"].rsplit(" ", 1)[-1]
    if not this.aspects.asked(match["label"]) and (not RATING.search(last) or _UNITS.match(last)):
        return None
    return (match["label"], match.start("label")) if not _VERBS.search(match["label"]) else None


def _is_rating(this: Around, label: str) -> bool:
    if not label.strip() or NO_RATING.search(label) or _VERBS.search(label):
        return False
    asked = this.aspects.asked(label)
    if COUNTS.search(label) and not asked and not _EXACT.search(label):
        return False
    rating = RATING.search(label) is not None or (
        label.strip() == "A" and re.search(r"(?:\A|\n)A\b[^\n]{0,6}\Z", this.left) is not None
    )
    if len(label.split()) > 10 and not RATING.search(label[-30:]):
        return False
    return rating or asked or bool(this.aspects.others(label[-50:]))


def _unscaled(label: str) -> str:
    """`label` without the scale that it names: "Score out of 5"."""
    return _SCALED.sub("", label)


def _claim(this: Around, label: str, place: int, strength: ClaimStrength, form: str) -> Claim:
    behind = _NAMED_BEHIND.match(this.right)
    named = (behind["aspect"] or behind["thing"]) if behind else ""
    if named and not this.aspects.asked(label) and this.aspects.names(named):
        label = named
    subject, other = this.aspects.of_label(label.replace("_", " "))
    if subject is Subject.WHOLE and (heading := this.heading()):
        subject, other = this.aspects.of_label(heading)
    return Claim(this.number, strength, subject, other, form, begin=this.number.start - len(this.left) + place)
