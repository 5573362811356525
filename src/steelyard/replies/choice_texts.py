"""Replies that give the text of an option instead of its letter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from steelyard.replies.clean import fold
from steelyard.replies.evidence import DECLARES, REJECTED, SAYS, Candidate, Strength, decide, is_against
from steelyard.replies.grammar import FLAGS, expanded
from steelyard.replies.options import SHORT, ChoicePage, is_distinct, quotes

_OPENING_SIGNS: Final = 2
_MOST_QUOTES: Final = 40
"""Quotations that are looked at from the beginning and from the end: bounds the time for a reply full of them."""
_MOST_NUMBERS: Final = 100
_CLOSED: Final = re.compile(
    r"[\"')\]]{0,2}(?:\s{0,2}[.,;:!\n()–—。，<-]|\s{0,3}\Z"
    r"|\s(?:because|since|as|due|than|in my|for me|about (?:it|this)|and|but|given)\b)",
    re.IGNORECASE,
)
"""Behind a common word that is said by itself: `It's good.`, and not `a good question`."""
_ENDS: Final = re.compile(r"[\"')\]$]{0,3}\s{0,2}[.!。]?\s*\Z")
_IS_BEFORE: Final = re.compile(rf"(?:{expanded('<be>', 'en')}|[=≈:是为]|\\approx)\s{{0,3}}[$\\(\"']{{0,3}}\Z", FLAGS)
_SHOWN_LABEL: Final = re.compile(r"(?:\A|\n|[.!?:]\s{1,3})[ \t]{0,4}[\"'(\[]{0,2}(?P<letter>[A-Z])[).:\]]{1,2}\s{1,3}")
_SHOWN_CLOSED: Final = re.compile(r"[\"')\]]{0,2}\s{0,2}(?:[.!]\s{0,3})?(?:\Z|\n)|[\"')\]]{0,2}[.!]\s{1,3}(?=[A-Z\"])")
_NUMBER: Final = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?")
_BEGINNINGS: Final = frozenset({"the", "a", "an", "i", "it", "this", "that", "we", "to", "in", "of", "based", "as"})
"""Words with which a sentence begins that was cut off: the same words begin an option by chance."""
_WORD: Final = re.compile(r"[\w.%$°]*\w[%°]?")


def declared_text(page: ChoicePage) -> Candidate | None:
    """`The answer is` with the text of one option behind it, or with a number that equals it."""
    return decide(list(_text_candidates(page)), page.text) or decide(list(_value_candidates(page)), page.text)


def _text_candidates(page: ChoicePage) -> Iterator[Candidate]:
    """The texts of options that a phrase gives as the answer, or with which the reply opens."""
    line = len(page.text.split("\n", 1)[0])
    for quote in (*page.quotes[:_MOST_QUOTES], *page.quotes[_MOST_QUOTES:][-_MOST_QUOTES:]):
        letters, span = (page.labels[quote.option],), (quote.start, quote.end)
        if REJECTED.match(page.text, quote.end):
            continue
        if quote.start <= _OPENING_SIGNS and (quote.end >= line - 2 or page.text[quote.end] in ",.;:!。"):
            yield Candidate(letters, *span, Strength.ANNOUNCED, "leading_text")
        elif DECLARES.before(page.text, quote.start):
            yield Candidate(letters, *span, Strength.DECLARED, "declared_text")
        elif _CLOSED.match(page.text, quote.end) and SAYS.before(page.text, quote.start):
            yield Candidate(letters, *span, Strength.ANNOUNCED, "declared_text")


def _value_candidates(page: ChoicePage) -> Iterator[Candidate]:
    """`The answer is 1` where one option is `1.0` and all are numbers."""
    values = [_value(option) for option in page.options]
    if None in values:
        return
    for match in list(_NUMBER.finditer(page.text))[-_MOST_NUMBERS:]:
        value = _value(match.group())
        if values.count(value) == 1 and DECLARES.before(page.text, match.start()):
            letters = (page.labels[values.index(value)],)
            yield Candidate(letters, *match.span(), Strength.DECLARED, "declared_text")


def _value(text: str) -> float | None:
    plain = fold(text).strip(" $.").replace(",", "").replace("−", "-")
    try:
        return float(plain)
    except ValueError:
        return None


def shortened(page: ChoicePage) -> Candidate | None:
    """A whole reply that is the beginning of one option's text: `Neither.` of `Neither A nor B`."""
    words = _words(page.text) if len(page.text) <= SHORT // 2 else []
    if not words or words[0] in _BEGINNINGS or len("".join(words)) == 1:
        return None
    begun = [
        label
        for label, option in zip(page.labels, page.options, strict=True)
        if _words(fold(option))[: len(words)] == words
    ]
    return Candidate((begun[0],), 0, len(page.text), Strength.CONCLUDED, "shortened") if len(begun) == 1 else None


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def shown(page: ChoicePage) -> Candidate | None:
    """The one option that stands there with its letter and its text, as in `I decline. (D) Refused`."""
    spans: dict[str, tuple[int, int]] = {}
    for match in islice(_SHOWN_LABEL.finditer(page.text), _MOST_NUMBERS):
        start, letter = match.start("letter"), match["letter"]
        if letter not in page.labels or page.is_listed(start):
            continue
        end = page.behind(letter, match.end())
        if end > match.end() and _SHOWN_CLOSED.match(page.text, end):
            spans[letter] = (start, end)
    if len(spans) != 1:
        return None
    ((letter, span),) = spans.items()
    if is_against(page.text, span[0]) or page.breaks_off(span[0]):
        return None
    return Candidate((letter,), *span, Strength.MENTIONED, "shown")


def final_text(page: ChoicePage) -> Candidate | None:
    """The text with which the reply ends, where its last sentence concludes with it: `The total is $13,000`."""
    if not page.quotes or page.text[-1] not in ".。":
        return None
    quote = page.quotes[-1]
    before = _IS_BEFORE.search(page.text, max(0, quote.start - 20), quote.start)
    if not before or not _ENDS.match(page.text, quote.end) or is_against(page.text, quote.start):
        return None
    return Candidate((page.labels[quote.option],), quote.start, quote.end, Strength.CONCLUDED, "final_text")


def only_text(page: ChoicePage) -> Candidate | None:
    """The one option whose text is quoted, where it says enough not to be there by chance."""
    standing = [
        quote
        for quote in quotes(page.text, page.options, page.question)
        if not page.is_listed(quote.start)
        and not is_against(page.text, quote.start)
        and not REJECTED.match(page.text, quote.end)
    ]
    if len({quote.option for quote in standing}) != 1 or page.breaks_off(standing[0].start):
        return None
    quote = standing[0]
    others = [option for number, option in enumerate(page.options) if number != quote.option]
    by_itself = len(page.text) <= SHORT and any(_CLOSED.match(page.text, one.end) for one in standing)
    if not by_itself and not is_distinct(page.options[quote.option], others):
        return None
    return Candidate((page.labels[quote.option],), quote.start, quote.end, Strength.MENTIONED, "only_text")
