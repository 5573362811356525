"""Reads which option a reply to a multiple-choice question gives: Chinese and English, one reader.

A reply is read by the rules below in turn; the first that finds something holds, and its name is kept. A reply in
which none finds anything is `unparsed`: a wrong reading is worse than none, and nothing is ever guessed.

Source: the order of the rules follows what failed in twenty published readers on 7,700 labelled replies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from steelyard.text.choice_inferred import declared_text, judged, leading_text, only_letter, only_text
from steelyard.text.choice_json import by_json
from steelyard.text.choice_named import by_number, declared, none_of_them, refused
from steelyard.text.choice_near import near_text
from steelyard.text.choice_page import open_page, option_list
from steelyard.text.choice_ranked import ranked
from steelyard.text.choice_reading import ChoiceReading, Reply
from steelyard.text.choice_shown import emphasised, shown
from steelyard.text.choice_statements import statements
from steelyard.text.choice_ticked import ticked

__all__ = ["RULES", "ChoiceReading", "read_choice"]

_MIN_OPTIONS: Final = 2
_MAX_OPTIONS: Final = 26


def read_choice(reply: str, options: Sequence[str], *, question: str = "", several: bool = False) -> ChoiceReading:
    """Read which option `reply` gives.

    Args:
        reply: any text.
        options: the texts of the options, 2 to 26; the first is A.
        question: its text, where known: tells a question for the wrong statement, and what is merely repeated.
        several: whether more than one option may be right.

    Raises:
        ValueError: fewer than 2 or more than 26 options.

    >>> read_choice("I first thought B. So the answer is (C).", ["a", "b", "c", "d"]).letters
    ('C',)
    >>> read_choice("选项B和C错误，故选D。", ["天", "地", "雷", "风"]).letters
    ('D',)
    >>> read_choice("Paris, of course.", ["Rome", "Paris"]).confidence
    'inferred'
    """
    if not _MIN_OPTIONS <= len(options) <= _MAX_OPTIONS:
        raise ValueError(f"a question has 2 to 26 options, not {len(options)}")
    page = open_page(reply)
    if not page.text.strip():
        reason = "the reply broke off inside its reasoning" if page.unfinished else "the reply is empty"
        return ChoiceReading((), "empty", reason=reason)
    this = Reply(page, options, question, several, option_list(page.text, options))
    for rule in RULES:
        if (reading := rule(this)) is not None:
            return reading
    return ChoiceReading((), "unparsed", reason="no option is named or quoted as the answer")


RULES: Final[tuple[Callable[[Reply], ChoiceReading | None], ...]] = (
    by_json,
    ticked,
    ranked,
    declared,
    declared_text,
    leading_text,
    near_text,
    by_number,
    shown,
    none_of_them,
    statements,
    refused,
    judged,
    emphasised,
    only_letter,
    only_text,
)
"""What is tried, in order."""
