r"""Answers that are a list of options: `A. text⏎C. text`, `A⏎C`, `(A) text (C) text`.

Models that may give several options often reply with nothing but the options they choose, each with its letter. Such a
list goes on where the next letter follows in the same form as the one before: with its option's own text, or alone.
Letters rise along it, so that an answer with the options repeated below it (`C⏎A. ...⏎B. ...`) is no list.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from steelyard.replies.options import ChoicePage, condense

_LABELLED: Final = re.compile(r"[^\w]{0,16}(?:选项|[Oo]ption\s)?[(\[]?(?P<letter>[A-Z])(?:\s?[.:)、\]]{1,2}|(?=\s))")
"""The next option of a list, with a label before its text."""
_LONE: Final = re.compile(
    r"[)\]]?(?:\s?[.:、。,;]?\s{1,3}|[.。])(?:[-•·*\]]\s{0,3})?[(\[]?(?P<letter>[A-Z])(?![A-Za-z0-9])"
    r"(?!\s?(?![A-Z](?![A-Za-z0-9]))[A-Za-z0-9一-鿿])"
)
"""The next letter of a list that holds letters alone."""
_LINE: Final = re.compile(
    r"\n\s{0,20}(?:[-•·*\]]\s{0,3})?(?:选项|[Oo]ption\s)?[(\[]?(?P<letter>[A-Z])\s?[.:)、\]]{1,2}"
)
_ENDS_LINE: Final = re.compile(r"[)\]]?\s?[.。,;]?[ \t]*(?:\n|<|\Z)")
_ENDS_ENTRY: Final = re.compile(r"[^\w\n<]{0,8}(?:\n|<|\Z)|[^\w\n]{1,8}(?:选项|[Oo]ption\s)?(?=[A-Z]\s?[.:)、\]])")
_MOST_LINES: Final = 60
_LABEL_WITHIN: Final = 40
_LEAST_TEXT: Final = 4
"""Letters or ideograms: a shorter beginning of an option's text may be there by chance."""


def listed_after(page: ChoicePage, letter: str, end: int, stop: int) -> tuple[tuple[str, ...], int]:
    """The options of a list that goes on behind `letter`, which ends at `end`, and where the last of them ends.

    The list must fill its lines: behind the last option nothing else may stand in its line. () where none goes on.
    """
    behind = _entry_end(page, letter, end)
    letters, last = _follow(page, letter, behind, stop, with_texts=behind > end)
    if not letters and page.several and page.behind(letter, end) > end:
        return _explained(page, letter, end, stop)
    return letters, last


def _explained(page: ChoicePage, letter: str, end: int, stop: int) -> tuple[tuple[str, ...], int]:
    """Options with their own texts at the beginning of later lines, each explained and none called wrong."""
    letters, last = [letter], end
    for match in islice(_LINE.finditer(page.text, end, stop), _MOST_LINES):
        behind = page.behind(match["letter"], match.end())
        if behind == match.end():
            continue
        if match["letter"] <= letters[-1] or page.is_rejected((match["letter"],), match.end()):
            return (), end
        letters.append(match["letter"])
        last = behind
    return (tuple(letters[1:]), last) if len(letters) < len(page.labels) else ((), end)


def _follow(page: ChoicePage, letter: str, end: int, stop: int, *, with_texts: bool) -> tuple[tuple[str, ...], int]:
    letters: list[str] = []
    position = end
    while (match := (_LABELLED if with_texts else _LONE).match(page.text, position, stop)) is not None:
        following = match["letter"]
        if following not in page.labels or following <= (letters[-1] if letters else letter):
            return (), end
        position = match.end()
        if with_texts:
            behind = _entry_end(page, following, position)
            if behind == position:
                return (), end
            position = behind
        letters.append(following)
    if not letters or not (_ENDS_ENTRY if with_texts else _ENDS_LINE).match(page.text, position):
        return (), end
    return tuple(letters), position


def _entry_end(page: ChoicePage, letter: str, end: int) -> int:
    """Where the option's own text, or a beginning of it that fills its line, ends behind `letter`; else `end`."""
    option = page.condensed(letter)
    shown = condense(page.text[end : end + _LABEL_WITHIN + 3 * len(option)])
    if option and shown.text.startswith(option):
        behind = end + shown.origin(len(option) - 1) + 1
        return behind if _ENDS_ENTRY.match(page.text, behind) else end
    stop = page.text.find("\n", end)
    stop = len(page.text) if stop < 0 else stop
    line = condense(page.text[end:stop]).text
    return stop if len(line) >= _LEAST_TEXT and option.startswith(line) else end
