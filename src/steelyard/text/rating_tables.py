"""Ratings in Markdown tables: a number in a cell, named by its row and its column."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_ROW: Final = re.compile(r"^[ \t]*\|?(?P<cells>[^\n|]{0,300}(?:\|[^\n|]{0,600}){1,20})$", re.MULTILINE)
_INDEX: Final = re.compile(r"#|no\.?|nr\.?|№|id|index|序号|编号|", re.IGNORECASE)
"""Heads of a first column that only counts the rows."""
_RULE: Final = re.compile(r"[\s|:\-]+")


@dataclass(frozen=True, slots=True)
class RatingCell:
    """A cell of a table's body: where its text begins, the text, and the names of its row and column."""

    start: int
    text: str
    row: str
    column: str


def cells(text: str) -> list[RatingCell]:
    r"""The cells of every table in `text` that has a ruled head.

    >>> [(one.row, one.column, one.text) for one in cells("|Aspect|Score|\n|--|--|\n|Fluency|4|")]
    [('Fluency', 'Aspect', 'Fluency'), ('Fluency', 'Score', '4')]
    """
    if "|" not in text or "--" not in text:
        return []
    return list(_cells(text))


def _cells(text: str) -> Iterator[RatingCell]:
    head: list[str] = []
    waiting: list[str] = []
    place = -1
    for match in _ROW.finditer(text):
        parts = list(_parts(match))
        if match.start() > place + 1:
            head, waiting = [], []
        place = match.end()
        if _RULE.fullmatch(match["cells"]):
            head = waiting
            continue
        if head:
            named = 1 if len(parts) > 2 and _INDEX.fullmatch(head[0]) else 0
            for number, (start, one) in enumerate(parts):
                yield RatingCell(
                    start, one, parts[named][1] if number >= named else "", head[number] if number < len(head) else ""
                )
        waiting = [one for _, one in parts]


def _parts(match: re.Match[str]) -> Iterator[tuple[int, str]]:
    place = match.start("cells")
    pieces = match["cells"].split("|")
    for number, piece in enumerate(pieces):
        if piece.strip() or number < len(pieces) - 1:
            yield place + len(piece) - len(piece.lstrip()), piece.strip()
        place += len(piece) + 1
