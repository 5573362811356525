"""Reads what a model wrote when it was asked why: one reason, or reasons gathered under causes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from steelyard.generate.questions import read_answer
from steelyard.text.sql_fences import readable

_MOST_REASON: Final = 1_000
_MOST_NAME: Final = 80
_MOST_LINE: Final = 2_000
"""A hundred numbers take 400 characters; a longer line is no list of them, and is slow to look at."""
_LABEL: Final = re.compile(r"\A[\s*_#]*(?:reason|cause|原因|理由|说明)[*_]*\s*[:：][*_]*\s*", re.IGNORECASE)
_LINE: Final = re.compile(
    r"[ \t]*(?:[-*•]|\(?\d+[.)、]|#+)?[ \t]*(?P<name>\S.*?)[ \t*_\"“”]*[:：][ \t*_]*"
    r"(?P<numbers>(?:(?:nos?|numbers?|编号|第)\.?\s*)?[#\d][#\d\s,，、;；和and&–—-]*)[.。]?[ \t]*"
)
_NUMBER: Final = re.compile(r"(\d+)\s*[-–—]\s*(\d+)|(\d+)")


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a sample failed; `kind` says why there is none: `empty`, `refused` or `truncated`."""

    text: str
    kind: str = ""


def read_reason(text: str, *, finish: str = "stop") -> Reason:
    r"""The reason in a reply, on one line, without reasoning before it and without a label.

    Args:
        text: any text.
        finish: why the model stopped; a reason that was cut off is none.

    >>> read_reason("**Reason:** It reads miles\nfor kilometres.").text
    'It reads miles for kilometres.'
    >>> read_reason("I'm sorry, but I can't help with that.").kind
    'refused'
    """
    kind = read_answer(text, finish=finish).defect.removeprefix("answer_")
    if kind in {"empty", "refused", "truncated"}:
        return Reason("", kind)
    start, end, _ = readable(text)
    shown = " ".join(_LABEL.sub("", text[start:end]).split())
    if not shown:
        return Reason("", "empty")
    return Reason(shown if len(shown) <= _MOST_REASON else f"{shown[: _MOST_REASON - 1]}…")


def read_causes(text: str, count: int) -> dict[str, tuple[int, ...]]:
    r"""Cause -> the numbers that were put under it, of 1 to `count`; what is no such line is left out.

    A number that stands under several causes counts for the first. Lines with the same name are one cause.

    >>> read_causes("1. **Wrong unit**: 1, 3-4\n- no source: 2, 3, 9", 5)
    {'Wrong unit': (1, 3, 4), 'no source': (2,)}
    """
    start, end, _ = readable(text)
    found: dict[str, tuple[int, ...]] = {}
    names: dict[str, str] = {}
    taken: set[int] = set()
    for line in text[start:end].splitlines():
        match = _LINE.fullmatch(line) if len(line) <= _MOST_LINE else None
        if match is None:
            continue
        name = cause_name(match["name"])
        numbers = [one for one in _numbers(match["numbers"], count) if one not in taken]
        if name and numbers:
            known = names.setdefault(name.casefold(), name)
            taken.update(numbers)
            found[known] = (*found.get(known, ()), *dict.fromkeys(numbers))
    return found


def cause_name(text: str) -> str:
    """The name of a cause without marks around it, on one line, not longer than a line."""
    name = " ".join(text.strip(" \t*_\"'“”「」`").split())
    return name if len(name) <= _MOST_NAME else f"{name[: _MOST_NAME - 1]}…"


def _numbers(text: str, count: int) -> list[int]:
    """Every number and range in a text that is among 1 to `count`."""
    found: list[int] = []
    for first, last, single in _NUMBER.findall(text):
        low, high = (int(single[:9]), int(single[:9])) if single else (int(first[:9]), int(last[:9]))
        found += range(max(1, low), min(high, count) + 1)
    return found
