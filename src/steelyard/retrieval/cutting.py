"""Sentences that are over the budget, cut between clauses, and clauses that are, cut at characters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from steelyard.text.token_estimate import token_weight

_CLAUSE: Final = re.compile(r"[^，、,:：\s]*[，、,:：\s]*")


def cut(text: str, start: int, stop: int, budget: int) -> Iterator[tuple[int, int]]:
    """Pieces of `text[start:stop]` within a budget of estimated tokens: of whole clauses, else of characters.

    One behind the other they are that text; blanks go with the clause before them.
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
    """The end of the longest piece from `start` within the budget, at least one character on."""
    if text[start : start + 4 * budget].isascii():
        return min(start + 4 * budget, len(text))
    end, weight = start, 0.0
    while weight <= budget and end < len(text):
        weight += 0.25 if text[end] < "\x80" else 1.0
        end += 1
    return max(start + 1, end - 1)


def trimmed(text: str, start: int, stop: int) -> tuple[int, int]:
    """The same piece without the blanks around it."""
    while start < stop and text[start].isspace():
        start += 1
    while stop > start and text[stop - 1].isspace():
        stop -= 1
    return start, stop
