"""Rules for replies that name their answer, or say that there is none, or refuse to give one."""

from __future__ import annotations

import re
from typing import Final

from steelyard.text.choice_declared import Declaration, declarations, holding, numbered, opens_with
from steelyard.text.choice_leading import leading_letters
from steelyard.text.choice_page import follow_up, within
from steelyard.text.choice_patterns import (
    CONCLUSION,
    DENIED,
    NONE_IS_WEAK,
    NONE_OF_THEM,
    NONE_OPTION,
    REFUSAL,
    REFUSAL_WORDS,
)
from steelyard.text.choice_reading import ChoiceReading, Reply
from steelyard.text.choice_verdicts import verdicts_in
from steelyard.text.normal import fold

_WORDS: Final = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
_ORDINAL: Final = re.compile(
    rf"(?:(?P<whole>\A\W{{0,6}}(?:the\s)?)|\b(?:is|be|choose|select|pick|with|prefer|say)\s(?:the\s)?|(?:选|是"
    rf"|为)|(?P<subject>\bthe\s|(?=第)))"
    rf"(?:(?P<word>{'|'.join(_WORDS)})\s(?:answer\s)?(?:option|choice|answer|alternative|one)\b"
    rf"|第(?P<sign>[一二三四五六七八九十])(?:个|项)?(?:选项|项|个))"
    r"(?(whole)\W{0,4}\Z|(?(subject)\s{0,2}(?:(?:is|seems|would be|must be)\s(?:the\s)?(?:most\s)?(?:correct"
    r"|right|best|answer|true|most|accurate)"
    r"|(?:是|为|才是)?(?:正确|对的|符合|答案))|(?=\W|\Z)))",
    re.IGNORECASE,
)
_LABELS: Final = re.compile("[1-9①-⑨甲乙丙丁戊己]")
_MARKER: Final = re.compile(r"[\[【](?:正确|最终)?答案[\]】]\s{0,3}:?\s{0,3}(?=[^\sA-Za-z:])")


def declared(this: Reply) -> ChoiceReading | None:
    """`The answer is B`, `故选B`, a letter at the very beginning, and `none of them` in their place."""
    found = [one for one in declarations(this.text, this.options) if not within(one.group.start, this.listed)]
    leading = leading_letters(this.text, this.options, this.listed)
    if leading and not leading.beyond:
        found.insert(0, Declaration(4, "leading", leading, 0))
    if not found:
        return None
    end = follow_up(this.text, found[0].group.end)
    one = holding([each for each in found if each.start < end], this.text)
    if one is None or (one.weak and verdicts_in(this).right.keys() - {*one.group.letters}):
        return None
    if (instead := _marked_otherwise(this, one, end)) or (instead := _none_at_last(this, one, end)):
        return instead
    place = (one.group.start, one.group.end)
    if one.group.beyond:
        return this.other("unparsed", one.rule, place, "the reply names an option that the question does not have")
    return this.found(one.group.letters, one.rule, place)


def _opens(one: Declaration) -> bool:
    return one.rank == 4 and opens_with(one.start)


def _marked_otherwise(this: Reply, one: Declaration, end: int) -> ChoiceReading | None:
    """An answer marker (`【答案】`) behind the declaration, with no letter in it."""
    markers = [match for match in _MARKER.finditer(this.text, 0, end) if match.start() > one.group.end]
    if not markers or _opens(one):
        return None
    start = markers[-1].end()
    stop = start + len(this.text[start:end].split("\n", 1)[0])
    if NONE_OF_THEM.search(this.text, start, stop):
        return this.other("none_of_these", "declared", (start, stop), "the reply says that no option fits")
    return this.other("unparsed", "declared", (start, stop), "the answer marker is followed by no option")


def _none_at_last(this: Reply, one: Declaration, end: int) -> ChoiceReading | None:
    """`Therefore, none of the options is correct`, said after a letter was named."""
    if one.rule == "leading" or any(NONE_OPTION.search(option) for option in this.options):
        return None
    for match in NONE_OF_THEM.finditer(this.text, one.group.end, end):
        before = this.text[max(0, match.start() - 30) : match.start()]
        if CONCLUSION.search(before + " ") and not NONE_IS_WEAK.search(
            this.text, max(0, match.start() - 4), match.end()
        ):
            place = match.span()
            return this.other("none_of_these", "none_of_these", place, "the reply says that no option fits")
    return None


def by_number(this: Reply) -> ChoiceReading | None:
    """An option named by number, where numbers mean nothing else in this question."""
    whole = this.question + "".join(this.options)
    if (match := _by_place(this.text)) and not DENIED.search(this.text, max(0, match.start() - 24), match.start()):
        return _by_ordinal(this, match)
    if not _LABELS.search(this.text):
        return None
    found = [one for one in numbered(this.text, this.options) if not one.group.beyond]
    if not found:
        bare = re.fullmatch(r"[\s(（]*([1-9①-⑨甲乙丙丁])[\s).。、]*", this.text)
        if bare:
            return _as_number(this, whole, bare.group(1), bare.span(1))
        return None
    end = follow_up(this.text, found[0].group.end)
    one = holding([each for each in found if each.start < end], this.text)
    if one is None:
        return None
    return _as_number(this, whole, this.text[one.group.start], (one.group.start, one.group.end))


def _by_place(text: str) -> re.Match[str] | None:
    lowered = text.lower()
    return _ORDINAL.search(text) if "第" in text or any(word in lowered for word in _WORDS) else None


def _by_ordinal(this: Reply, match: re.Match[str]) -> ChoiceReading | None:
    word, sign = match["word"], match["sign"]
    number = _WORDS.index(word.lower()) if word else "一二三四五六七八九十".index(sign)
    if number >= this.count or any((word or sign) in fold(option).lower() for option in this.options):
        return None
    return this.found((chr(ord("A") + number),), "numbered", match.span("word" if word else "sign"), inferred=True)


def _as_number(this: Reply, whole: str, label: str, place: tuple[int, int]) -> ChoiceReading | None:
    for row in ("123456789", "①②③④⑤⑥⑦⑧⑨", "甲乙丙丁"):
        number = row.find(label)
        if 0 <= number < this.count:
            if any(mark in whole for mark in row):
                return None
            return this.found((chr(ord("A") + number),), "numbered", place, inferred=True)
    return None


def none_of_them(this: Reply) -> ChoiceReading | None:
    """The reply says that no option fits; where an option says just that, it is the one."""
    said = (one for one in NONE_OF_THEM.finditer(this.text) if not within(one.start(), this.listed))
    match = next((one for one in said if not NONE_IS_WEAK.search(this.text, max(0, one.start() - 4), one.end())), None)
    if match is None:
        return None
    saying = [number for number, option in enumerate(this.options) if NONE_OPTION.search(fold(option))]
    if len(saying) == 1:
        return this.found((chr(ord("A") + saying[0]),), "none_of_these", match.span(), inferred=True)
    return this.other("none_of_these", "none_of_these", match.span(), "the reply says that no option fits")


def refused(this: Reply) -> ChoiceReading | None:
    """The model declines, and nothing in the reply names an option after all."""
    lowered = this.text.lower()
    match = REFUSAL.search(this.text) if any(word in lowered for word in REFUSAL_WORDS) else None
    return match and this.other("refused", "refused", match.span(), "the model declined to answer")
