"""Reads lists that models wrote: questions, claims, steps, and the verdicts on numbered claims.

A reply that says that there is nothing to list is told from one in which no list can be read: the first is a result,
the second is none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from steelyard.replies.clean import readable
from steelyard.replies.grammar import pattern
from steelyard.text.listed_json import LONGEST_LIST, JsonList, json_list, texts_of
from steelyard.text.listed_lines import clean_entry, listed_lines

__all__ = ["Listing", "distinct_texts", "read_list", "read_listing"]

_WHAT: Final = r"(?:claims?|statements?|facts?|questions?|assertions?|propositions?)"
_WHAT_ZH: Final = r"(?:陈述|声明|主张|论断|事实|问题|断言|论点|内容)"
_SUBJECT: Final = r"(?:the|this) (?:text|answer|response|passage|context|statement|reply|input)"
_NOTHING: Final = re.compile(
    rf"[\s\-*_#>.\d)\[({{\"']{{0,12}}(?:(?:{_WHAT}|answer|{_WHAT_ZH})\s?[:：]\s*)?"
    r"(?:none|n/?a|nil|nothing|null|empty(?: list)?|\[\s*\]"
    rf"|(?:there (?:are|is|were) |i (?:found|find|see) )?(?:none|no|not any"
    rf"|zero)\b[^.\n]{{0,60}}?\b{_WHAT}\b[^.\n]{{0,100}}"
    rf"|{_SUBJECT} (?:itself )?(?:contains|makes|has|includes|states|provides|offers"
    rf"|(?:does not|doesn't|did not) (?:actually )?(?:contain|make|include|have|state|provide|offer))"
    rf" (?:no|any)\b[^.\n]{{0,60}}?\b{_WHAT}\b[^.\n]{{0,60}}"
    r"|(?:该|这段|这个|此|所给|上述)?(?:回答|文本|答案|文中|其中|话|段落|内容)?(?:里|中)?"
    r"(?:并?(?:没有|未|无)(?:作出|做出|提出|给出|包含|陈述|说出)?|不包含|不存在|不含)(?:过|了)?(?:任何)?(?:可|能)?(?:以)?(?:被)?"
    rf"(?:验证|核实|提取|检验|查证)?(?:的)?(?:事实性?|客观|具体|独立)?的?{_WHAT_ZH}?)"
    r"[\s.。!！\"')\]}*_]{0,12}\Z",
    re.IGNORECASE,
)
_NOTHING_THEN: Final = re.compile(
    rf"[.!]\s(?:so |therefore,? |thus,? |hence,? )?(?:there are|it (?:makes|contains"
    rf"|states)) no (?:\w{{3,12}} )?{_WHAT}"
    r"(?: to (?:list|extract|check))?[\s.!]{0,4}\Z",
    re.IGNORECASE,
)
_BROKEN_JSON: Final = re.compile(r"(?:`{3,}\w{0,10}\s{0,9})?(?:\[\s{0,9}[\"{]|\{\s{0,9}\")")
_LONGEST_NOTHING: Final = 240
_PUNCTUATION_KEPT: Final = re.compile(r"[^\W_]|(?<![\w)])[-−](?=\d)|(?<=\d)[.,:/](?=\d)|[%#&@+<>=|~^°±×÷√≤≥≠€£¥$]")


@dataclass(frozen=True, slots=True)
class Listing:
    """What was read of a list.

    Args:
        entries: its texts in the order they stand, without numbering, bold and quotes; duplicates are kept.
        form: how they were written; "none" where no list can be read.
        empty_said: whether the reply says that there is nothing to list (`[]`, `None`, `没有声明`).
    """

    entries: tuple[str, ...] = ()
    form: Literal["json", "numbered", "bulleted", "lines", "none"] = "none"
    empty_said: bool = False


def read_listing(text: str) -> Listing:
    """The list in a reply, with how it was written.

    Args:
        text: any text. Reasoning before the answer is left out; a reply that broke off inside it holds no list.

    >>> read_listing("No verifiable claims.")
    Listing(entries=(), form='lines', empty_said=True)
    >>> read_listing("I'm sorry, but I cannot help with that.").form
    'none'
    """
    start, end, _ = readable(text)
    shown = text[start:end][:LONGEST_LIST]
    if (found := json_list(shown)) is not None:
        return _of_json(found)
    if not shown or _BROKEN_JSON.match(shown):
        return Listing()
    if _says_nothing(shown):
        return Listing((), "lines", empty_said=True)
    lines = listed_lines(shown)
    entries = tuple(entry for _, entry in lines.entries)
    if not entries or (lines.form == "lines" and pattern("choice", "refusal").search(shown[:1000])):
        return Listing()
    return _or_empty(entries, lines.form)


def _of_json(found: JsonList) -> Listing:
    entries = tuple(map(clean_entry, texts_of(found.values)))
    if entries:
        return _or_empty(entries, "json")
    return Listing((), "json", empty_said=True) if found.closed and not found.values else Listing()


def read_list(text: str, *, most: int | None = None) -> tuple[str, ...]:
    r"""The entries of the list that a model wrote; empty where there is none.

    Args:
        text: any text: numbered, bulleted, one entry a line, or JSON, with whatever a model writes around it.
        most: at most so many entries, the first ones; None is all.

    >>> read_list("Sure, here are 2 questions:\n1. Who wrote Emma?\n2. When?\n\nLet me know!")
    ('Who wrote Emma?', 'When?')
    """
    return read_listing(text).entries[:most]


def distinct_texts(texts: Iterable[str]) -> tuple[str, ...]:
    """`texts` without those that differ from an earlier one in case, width, blanks or punctuation only.

    Marks that carry meaning count: decimal points, signs of numbers, `%`, `#`, `+` and mathematical signs.

    >>> distinct_texts(["What is C?", "what is c", "What is C#?", "Is it 1.5?", "Is it 15?"])
    ('What is C?', 'What is C#?', 'Is it 1.5?', 'Is it 15?')
    """
    kept: dict[str, str] = {}
    for text in texts:
        plain = unicodedata.normalize("NFKC", text).casefold()
        kept.setdefault("".join(_PUNCTUATION_KEPT.findall(plain)) or text, text)
    return tuple(kept.values())


def _says_nothing(shown: str) -> bool:
    if len(shown) > _LONGEST_NOTHING:
        return False
    return _NOTHING.match(shown) is not None or _NOTHING_THEN.search(shown) is not None


def _or_empty(entries: tuple[str, ...], form: Literal["json", "numbered", "bulleted", "lines"]) -> Listing:
    """An empty list where all that is listed is `None`."""
    if len(entries) == 1 and _says_nothing(entries[0]):
        return Listing((), form, empty_said=True)
    return Listing(entries, form)
