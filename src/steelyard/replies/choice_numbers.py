"""Options that a reply gives by their numbers: `答案：③`, `①③`, `the answer is 2`, `정답은 4번`."""

from __future__ import annotations

import re
from typing import Final

from steelyard.replies.choice_letters import MOST_MENTIONS
from steelyard.replies.evidence import CONFIRMED, DECLARES, LEADS, REJECTED, Candidate, Strength, decide
from steelyard.replies.grammar import source
from steelyard.replies.options import ChoicePage, restated

_STEM: Final = "[甲乙丙丁戊己]"
"""A heavenly stem, by which Chinese lists number their entries."""
_STEMS_BEHIND: Final = rf"(?:(?:[、,;]|和|与|及)?{_STEM}){{0,5}}"
_NUMBER: Final = re.compile(
    r"[1-9](?!\d|\s?[%°a-zA-Z]|[.,/:]\d|\s?[-+*×÷/=]\s?\d)|[①-⑨]"
    rf"|{_STEM}(?={_STEMS_BEHIND}\s*(?:[。.,;:)、\n<]|选项|项|$))"
)
_NUMBER_ROWS: Final = ("123456789", "①②③④⑤⑥⑦⑧⑨", "甲乙丙丁戊己")
_COUNTER: Final = rf"\s?{source('choice', 'counter')}"
"""Behind a number that means an option: `4번`."""
_NUMBERS_JOINED: Final = r"(?:[、,;]|和|与|及|와|과|및|또는|and\b)"
_NEXT_NUMBER: Final = re.compile(
    rf"(?:{_COUNTER})?\s?{_NUMBERS_JOINED}?\s?(?P<number>[①-⑨]|{_STEM})"
    rf"|(?:{_COUNTER})?\s?{_NUMBERS_JOINED}\s?(?P<digit>[1-9])(?![\d.%])"
)
_COUNTED: Final = re.compile(_COUNTER)
_NUMBER_LABEL: Final = re.compile(rf"^[ \t]{{0,4}}(?P<number>[1-9]){_COUNTER}[ \t]{{0,2}}[:.\n–-]", re.MULTILINE)
"""A counted number at the beginning of a line: `3번: ...`."""
_NUMBER_ALONE: Final = re.compile(rf"(?:{_COUNTER})?[ ).。、\n]*\Z")
_TEXT_BEHIND_NUMBER: Final = re.compile(
    rf"\s?[.、)][ \t]{{0,8}}(?![①-⑨]|{_STEM}{_STEMS_BEHIND}(?:\W|\Z)|[1-9]\s*(?:[、,;。.]|\Z|\n))[\"'“‘(\[]{{0,3}}(\w+)"
)


def numbered(page: ChoicePage) -> Candidate | None:
    """`答案：③`, `①③`, `the answer is 2`, `정답은 4번`, where numbers mean nothing else in this question."""
    matches = list(_NUMBER.finditer(page.text))
    ends = (
        matches if len(matches) <= MOST_MENTIONS else [*matches[: MOST_MENTIONS // 2], *matches[-MOST_MENTIONS // 2 :]]
    )
    return decide([candidate for match in ends if (candidate := _number_given(page, match))], page.text)


def _number_given(page: ChoicePage, match: re.Match[str]) -> Candidate | None:
    row = next(row for row in _NUMBER_ROWS if match.group() in row)
    number = row.index(match.group())
    counted = _COUNTED.match(page.text, match.end())
    named = page.options == tuple(row[: len(page.options)])
    if number >= len(page.options) or not (counted or named or not any(sign in page.asked for sign in row)):
        return None
    other = _TEXT_BEHIND_NUMBER.match(page.text, match.end())
    restates = restated(page.text, match.end(), page.options[number]) > match.end()
    if other and not restates and (page.several or other[1] != page.labels[number]):
        return None  # the number of an entry, as in `1. A⏎2. C`
    letters, end = _numbers_from(page, match, row)
    strength = _number_strength(page, match, letters, end)
    if not letters or strength is None or REJECTED.match(page.text, end):
        return None
    return Candidate(letters, match.start(), end, strength, "numbered")


def _number_strength(page: ChoicePage, match: re.Match[str], letters: tuple[str, ...], end: int) -> Strength | None:
    """How plainly the numbers up to `end` are given; None where they only occur."""
    opens = not page.text[: match.start()].strip(" (\n")
    if (opens and _NUMBER_ALONE.match(page.text, end)) or DECLARES.before(page.text, match.start()):
        return Strength.DECLARED
    if _COUNTED.match(page.text, match.end()) is None:
        return Strength.DECLARED if opens and len(letters) > 1 and CONFIRMED.match(page.text, end) else None
    if CONFIRMED.match(page.text, end) or any(lead.before(page.text, match.start()) for lead in LEADS):
        return Strength.ANNOUNCED
    return Strength.ANNOUNCED if opens and _opens_alone(page, match, end) else None


def _opens_alone(page: ChoicePage, match: re.Match[str], end: int) -> bool:
    """Whether a counted number opens the reply as its answer, and not as the first of those that are gone through."""
    labels = {label["number"] for label in _NUMBER_LABEL.finditer(page.text)}
    behind = _NUMBER_LABEL.match(page.text, match.start())
    if behind is None or labels != {match.group()}:
        return False
    text = page.behind(page.labels[int(match.group()) - 1], behind.end()) if match.group().isascii() else end
    return match.group() != "1" or text > behind.end() or "\n" in behind.group()


def _numbers_from(page: ChoicePage, first: re.Match[str], row: str) -> tuple[tuple[str, ...], int]:
    """The options whose numbers stand together from `first` on, as in `①③` and `①、③`; () where one is no option's."""
    numbers, end = [row.index(first.group())], first.end()
    while (following := _NEXT_NUMBER.match(page.text, end)) is not None:
        number = following[following.lastgroup or 0]
        if number not in row:
            break
        numbers.append(row.index(number))
        end = following.end()
    if max(numbers) >= len(page.labels):
        return (), end
    return tuple(page.labels[number] for number in sorted(set(numbers))), end
