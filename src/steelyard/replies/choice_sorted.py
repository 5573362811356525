"""Replies that sort the options into right and wrong ones: by marks, by headings, or all but some.

`A ✓ B ✗`, `[x] A`, `正确的有A、C，错误的有B、D`, `All except D`.
What the question asks for decides which of them are the answer.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from steelyard.replies.choice_letters import JOINT, asks_for_wrong, letters_of
from steelyard.replies.evidence import Candidate, Strength, phrases
from steelyard.replies.grammar import FLAGS, source
from steelyard.replies.options import ChoicePage

_RIGHT: Final = r"[✅✔✓☑√]|\[[xX✓√]\]"
_WRONG: Final = r"[❌✗✘❎×☐]|\[ ?\]"
_BETWEEN: Final = r"[ \t\n,;、。.|•·*-]{0,8}"
_LABEL: Final = r"(?:选项|[Oo]ption )?\(?(?P<letter>[A-Z])(?![A-Za-z0-9])(?:选项|项)?[).:、]{0,2}"
_MARK_BEFORE: Final = re.compile(rf"{_BETWEEN}(?:(?P<right>{_RIGHT})|{_WRONG})\ufe0f?[ \t]{{0,2}}{_LABEL}")
_LABEL_BEFORE: Final = re.compile(_BETWEEN + _LABEL)
_MARK_BEHIND: Final = re.compile(rf"[.。]?[ \t]{{0,3}}[(:]?(?:(?P<right>{_RIGHT}|对|正确)|{_WRONG}|错误?)\ufe0f?\)?")
_MARKS_END: Final = re.compile(r"[^\w\n]*(?:\n|\Z)")

_RIGHT_ONES: Final = rf"{source('choice', 'right_ones')}\s?\(?(?P<right>{JOINT.pattern})\)?(?:选项|项)?"
_WRONG_ONES: Final = rf"{source('choice', 'wrong_ones')}\s?\(?(?P<wrong>{JOINT.pattern})\)?(?:选项|项)?"
_THEN: Final = r"[\s,;。.]{1,4}(?:(?:and|while|but|the|而|但)\s?){0,2}"
_HEADINGS: Final = (
    re.compile(rf"{_RIGHT_ONES}{_THEN}{_WRONG_ONES}", FLAGS),
    re.compile(rf"{_WRONG_ONES}{_THEN}{_RIGHT_ONES}", FLAGS),
)
_ALL_BUT: Final = tuple(
    re.compile(
        rf"{source('choice', 'all_but', (language,))}\s?\(?(?P<others>{JOINT.pattern})\)?(?:选项|项)?"
        rf"{source('choice', 'all_but_behind', (language,))}(?=[.。,;!\n]|\s*\Z)",
        FLAGS,
    )
    for language in ("en", "zh")
)
_CALLS_WRONG: Final = re.compile(r"wrong|incorrect|false|错|不", re.IGNORECASE)


def sorted_options(page: ChoicePage) -> Candidate | None:
    """The options marked as right in a reply that marks each it names, or set against the wrong ones by headings."""
    return _marked(page, _MARK_BEFORE, None) or _marked(page, _LABEL_BEFORE, _MARK_BEHIND) or _under_headings(page)


def _marked(page: ChoicePage, entry: re.Pattern[str], mark_behind: re.Pattern[str] | None) -> Candidate | None:
    """The options of a reply that opens with marked ones; None where one has no mark, or letters follow them."""
    is_right: dict[str, bool] = {}
    end = 0
    while (label := entry.match(page.text, end)) is not None and label["letter"] not in is_right:
        behind = page.behind(label["letter"], label.end())
        mark = label if mark_behind is None else mark_behind.match(page.text, behind)
        if mark is None:
            break
        is_right[label["letter"]] = mark["right"] is not None
        end = max(behind, mark.end())
    if not is_right or not _MARKS_END.match(page.text, end):
        return None
    right = [letter for letter, chosen in is_right.items() if chosen]
    return _asked_for(page, right, is_right.keys() - set(right), (0, end))


def _under_headings(page: ChoicePage) -> Candidate | None:
    if next(phrases("choice", "wrong_ones", page.text), None) is None:
        return None
    for headings in _HEADINGS:
        if (match := headings.search(page.text)) is not None:
            return _asked_for(page, letters_of(match["right"]), letters_of(match["wrong"]), match.span())
    return None


def all_but(page: ChoicePage) -> Candidate | None:
    """`All except D`, `除D外都对`: the other options, where several may be right."""
    matches = (phrase.search(page.text) for phrase in _ALL_BUT)
    match = next(filter(None, matches), None) if page.several else None
    if match is None:
        return None
    named = letters_of(match["others"])
    others = [letter for letter in page.labels if letter not in named]
    right, wrong = (named, others) if _CALLS_WRONG.search(match.group()) else (others, named)
    return _asked_for(page, right, wrong, match.span(), "all_but")


def _asked_for(
    page: ChoicePage, right: Collection[str], wrong: Collection[str], span: tuple[int, int], rule: str = "sorted"
) -> Candidate | None:
    """The right ones or the wrong ones, where all are options and no letters are named behind `span`."""
    chosen = wrong if asks_for_wrong(page) else right
    named = {*right, *wrong}
    if not chosen or not named <= set(page.labels) or set(right) & set(wrong) or page.names_options(span[1]):
        return None
    return Candidate(tuple(sorted(chosen)), *span, Strength.CONCLUDED, rule)
