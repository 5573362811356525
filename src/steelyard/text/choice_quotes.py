"""Which option's text a reply quotes, where it names no letter.

Both are condensed (no spaces, no punctuation, one case); options with figures or signs keep their signs. Where one
option's text contains another's, the longest match wins. A text in the question, or one that is denied, is no answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from steelyard.text.choice_page import Page, within
from steelyard.text.choice_patterns import MARKS
from steelyard.text.normal import Condensed, condense, fold, is_formula

_DISTINCT: Final = 7.0
_IDEOGRAM_WEIGHT: Final = 3.5
_IDEOGRAM: Final = re.compile(r"[\u3400-\u9fff]")
_FIGURE: Final = re.compile(r"\d")
_COMMAND: Final = re.compile(r"\\[a-z]{1,20}")
_LATIN: Final = re.compile(r"[a-z]")
_DENIED: Final = re.compile(
    r"(?:\bnot|n't|\bcannot|\bnever|\brather than|\binstead of|\bneither|\bnor|\bno|不|不是|并非|而非|不属于"
    r"|不构成|未|非|无)"
    r"\s*(?:是|属于|构成|应|应当|能|可以|能够|会|the|a|an|to|be|simply|just|(?:think|believe|say"
    r"|feel)(?:\sthat)?(?:\sit(?:\sis|'s))?)?\s*[\"'(]?\s*$"
    r"|(?:\bnot|n't|\bcannot|\bnever|\bneither)\s[\w\s]{1,30}\s(?:n?or)\s(?:an?\s|the\s)?$",
    re.IGNORECASE,
)
_REJECTED: Final = re.compile(
    r"[\"')。.]?\s?(?:is|are|was|的说法是|是|这一说法是|的说法|的表述|这个选项)?\s?(?:the\s)?(?:incorrect"
    r"|wrong|false|not\b|错误|不正确|不对)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Quote:
    """The text of option `letter` at `start`..`end` of the page."""

    letter: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Wanted:
    letter: str
    text: str
    signs: bool


def quotes(
    page: Page, options: Sequence[str], question: str, skipped: Sequence[tuple[int, int]] = ()
) -> tuple[Quote, ...]:
    """Every quotation of an option's text that may be an answer, in order.

    Args:
        page: the reply.
        options: the texts of the options.
        question: the question's text; what stands in it is no answer.
        skipped: regions of the page that restate the list of options.
    """
    condensed = {signs: condense(page.text, signs=signs) for signs in {is_formula(one) for one in options}}
    asked = {signs: condense(fold(question), signs=signs).text for signs in condensed}
    wanted = _wanted(options)
    repeated = [one for one in wanted if one.text in asked[one.signs]]
    if len(repeated) >= len(wanted) - 1:  # the question's text lists the options itself
        repeated = []
    found: list[Quote] = []
    for one in wanted:
        if one in repeated:
            continue
        found += _places(page.text, condensed[one.signs], one)
    return tuple(sorted(_longest(found, skipped), key=lambda one: one.start))


def is_distinct(option: str) -> bool:
    """Whether the option's text says so much that a long reply will not hold it by chance.

    Two ideograms, one with a long figure (`1993年`) or seven letters do; bare figures, of which reasoning is full,
    do not.
    """
    plain = _COMMAND.sub(" ", fold(option).lower())
    ideograms = len(_IDEOGRAM.findall(plain))
    figures = len(_FIGURE.findall(plain)) if ideograms else 0
    return _IDEOGRAM_WEIGHT * ideograms + len(_LATIN.findall(plain)) + figures >= _DISTINCT


def _wanted(options: Sequence[str]) -> list[_Wanted]:
    """Options that can be told apart by their text."""
    forms = []
    for number, option in enumerate(options):
        signs = is_formula(option)
        plain = MARKS.sub(" ", fold(option)).strip()
        forms.append(_Wanted(chr(ord("A") + number), condense(plain, signs=signs).text, signs))
    texts = [one.text for one in forms]
    return [one for one in forms if one.text and texts.count(one.text) == 1]


def _places(text: str, condensed: Condensed, wanted: _Wanted) -> list[Quote]:
    found = []
    place = condensed.text.find(wanted.text)
    while place >= 0:
        start, end = condensed.origin(place), condensed.origin(place + len(wanted.text) - 1) + 1
        if _stands_alone(text, start, end) and not _is_denied(text, start, end):
            found.append(Quote(wanted.letter, start, end))
        place = condensed.text.find(wanted.text, place + len(wanted.text))
    return found


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Not a part of a longer word or number."""
    before, after = text[start - 1 : start], text[end : end + 1]
    if _joined(before, text[start]) or _joined(after, text[end - 1]):
        return False
    if (
        text[start].isdigit()
        and before in {".", "-", "−", ","}
        and text[max(0, start - 2)].isdigit() is (before in {".", ","})
    ):
        return False
    return not (text[end - 1].isdigit() and after in {".", ","} and text[end + 1 : end + 2].isdigit())


def _joined(outside: str, inside: str) -> bool:
    return bool(outside) and outside.isascii() and outside.isalnum() and inside.isascii() and inside.isalnum()


def _is_denied(text: str, start: int, end: int) -> bool:
    """Denied before, or called wrong after it; `X 不属于 ...` only repeats what such a question asks for."""
    return bool(_DENIED.search(text, max(0, start - 48), start) or _REJECTED.match(text, end))


def _longest(found: Sequence[Quote], skipped: Sequence[tuple[int, int]]) -> list[Quote]:
    """Quotations that lie in no longer one and in no skipped region."""
    kept: list[Quote] = []
    for one in sorted(found, key=lambda quote: (quote.start, -quote.end)):
        if kept and one.end <= kept[-1].end:
            continue
        kept.append(one)
    return [one for one in kept if not within(one.start, skipped)]
