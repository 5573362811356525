"""Splits English and Chinese text into sentences, without a dictionary or a model.

A sentence ends at 。！？ and the closing quotes and brackets after it, at . ! ? before white space, and where a block
ends: at a blank line, around a heading, a list entry or a table row. A full stop does not end a sentence in "Dr. Wu",
"e.g. this", "Fig. 3", "1. first" and "J. Smith"; in "the U.S." and "etc." it does only before a word that begins
sentences. A single line break ends a sentence unless the line looks wrapped: it is long, and the next line continues
like a sentence.

It takes one pass, in time linear in the length of any text.

`cut` splits a sentence that exceeds a budget of tokens between clauses, and a clause that still exceeds it between
characters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Final

from steelyard.types import token_weight

_CLOSING: Final = "\"'”’」』）)】》〉］\\]*_"
_STOP: Final = re.compile(rf"[。！？｡．]+[…。！？｡{_CLOSING}]*|[.!?]+[…!?{_CLOSING}]*|[\n\f\v\x85\u2028\u2029]")
_BREAKS: Final = frozenset("\n\f\v\x85\u2028\u2029")
_NOTES: Final = re.compile(r"(?:\[\d{1,3}\])*")
_MARKER: Final = re.compile(
    r" {0,9}(?:#{1,6}[ \t]|[-*+•·–—][ \t]|\d{1,4}[.)、．][ \t]?|[(（]\w{1,3}[)）]|[|>]|```|~~~)"
)
_HEADING: Final = re.compile(r" {0,3}#{1,6}[ \t]")
_RULE: Final = re.compile(r"[ \t]*(?:[-*_=][ \t]*){3,}$", re.MULTILINE)
_ROW: Final = re.compile(r"[^\S\n]*\S[^\n]*?(?:\t| \| )")
_ENUMERATED: Final = re.compile(r"[ \t]*(?:\d{1,4}|[A-Za-z]|[ivx]{1,5})$")
_WORD_BEFORE: Final = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]$|[^\W_]+$")
_LONGEST_WORD: Final = 24
"""Number of characters examined before and after a full stop; the limit avoids quadratic time for long lines."""
_WRAPPED: Final = 40
"""Width in columns from which a line may have been wrapped; Chinese characters take two."""


def sentences(text: str) -> Iterator[tuple[int, int]]:
    r"""Start and end of each sentence, without the white space around it.

    Every character except white space is in exactly one sentence. A closing quote and a note mark such as [3] belong to
    the sentence before them.

    >>> text = "Dr. Wu paid 3.14. “Really?” 他说：“好。”走了\n\n# End"
    >>> [text[start:end] for start, end in sentences(text)]
    ['Dr. Wu paid 3.14.', '“Really?”', '他说：“好。”', '走了', '# End']
    """
    start = line = 0
    for match in _STOP.finditer(text):
        at, end = match.span()
        if text[at] in _BREAKS:
            ends = _ends_line(text, line, at)
            line = end
        else:
            end = _NOTES.match(text, end).end() if text[at] in ".!?" else end  # type: ignore[union-attr]  # matches ""
            ends = _ends_wide(text, end) if text[at] > "\x7f" else _ends_narrow(text, max(line, start), at, end)
        if ends:
            yield from _trimmed(text, start, end)
            start = end
    yield from _trimmed(text, start, len(text))


def _trimmed(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    start, stop = trimmed(text, start, stop)
    if start < stop:
        yield start, stop


def _ends_line(text: str, line: int, at: int) -> bool:
    """Whether the line break at `at` ends a sentence; `line` is the offset of its line."""
    after = text[at + 1 : at + 2]
    if text[at] != "\n" or not after or after in _BREAKS:
        return True
    if _HEADING.match(text, line) or _MARKER.match(text, at + 1) or _RULE.match(text, at + 1):
        return True
    if text[line] == "|" or _ROW.match(text, line, at) or _ROW.match(text, at + 1):
        return True
    return _columns(text[line : line + _WRAPPED], at - line) < _WRAPPED or _next_word(text, at + 1) == ""


def _columns(head: str, length: int) -> int:
    """The width of a line in columns, exact below `_WRAPPED`."""
    return length if length >= _WRAPPED else len(head[:length]) + sum(char > "\u2e7f" for char in head[:length])


def _next_word(text: str, at: int) -> str:
    """Up to 24 characters from the next word on, on this line or the next ones; "" at a blank line or the end."""
    return text[at : at + 2 * _LONGEST_WORD].partition("\n\n")[0].lstrip()[:_LONGEST_WORD]


def _ends_wide(text: str, end: int) -> bool:
    """Whether 。 or a similar mark ends a sentence: it does not if a comma follows the closing quote."""
    return text[end : end + 1] not in {"，", "、", "；", "：", ",", ";", ":"}


def _ends_narrow(text: str, start: int, at: int, end: int) -> bool:
    """Whether . ! ? at `at`, with closing marks up to `end`, end a sentence; it or its line began at `start`."""
    if end < len(text) and not text[end].isspace() and text[end] < "\u2e80":
        return False
    follows = _next_word(text, end)
    if follows[:1].islower():
        return False
    if text[at] != "." or end - at > 1:
        return True
    before = text[max(start, at - _LONGEST_WORD) : at]
    if at - start < _LONGEST_WORD and _ENUMERATED.match(before):
        return False
    word = _WORD_BEFORE.search(before)
    return word is None or not follows or _may_end(word[0], follows)


def _may_end(word: str, follows: str) -> bool:
    """Whether a full stop after `word` ends a sentence if the text `follows` comes next."""
    low = word.lower()
    if low in _words("never_last"):
        return False
    if low in _words("before_number") and follows[:1].isdigit():
        return False
    initial = (len(word) == 1 and word.isupper()) or "." in word
    if low in _words("maybe_last") or initial:
        opener = re.match(r"\W*(\w*)", follows)
        return opener is not None and opener[1].lower() in _words("openers")
    return True


@cache
def _words(kind: str) -> frozenset[str]:
    """The words of one kind in `full_stops.json`, which decide whether a full stop next to them ends a sentence."""
    return frozenset(json.loads(files("steelyard.retrieval").joinpath("full_stops.json").read_text("utf-8"))[kind])


_CLAUSE: Final = re.compile(r"[^，、,:：\s]*[，、,:：\s]*")


def cut(text: str, start: int, stop: int, budget: int) -> Iterator[tuple[int, int]]:
    """Split `text[start:stop]` into pieces within a budget of estimated tokens: at clauses, else at characters.

    Joined, the pieces are that text; white space belongs to the clause before it.
    """
    begin = end = start
    weight = 0.0
    for match in _CLAUSE.finditer(text, start, stop):
        clause = token_weight(match[0])
        if end > begin and weight + clause > budget:
            yield begin, end
            begin, weight = end, 0.0
        weight += clause
        while weight > budget:
            step = _fitting(text, begin, budget)
            weight -= token_weight(text[begin:step])
            yield begin, step
            begin = step
        end = match.end()
    if end > begin:
        yield begin, end


def _fitting(text: str, start: int, budget: int) -> int:
    """The end of the longest piece from `start` within the budget; at least one character long."""
    if text[start : start + 4 * budget].isascii():
        return min(start + 4 * budget, len(text))
    end, weight = start, 0.0
    while weight <= budget and end < len(text):
        weight += 0.25 if text[end] < "\x80" else 1.0
        end += 1
    return max(start + 1, end - 1)


def trimmed(text: str, start: int, stop: int) -> tuple[int, int]:
    """The same piece without the white space around it."""
    while start < stop and text[start].isspace():
        start += 1
    while stop > start and text[stop - 1].isspace():
        stop -= 1
    return start, stop
