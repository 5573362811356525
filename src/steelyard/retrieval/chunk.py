"""Passages of a document: whole sentences under one heading, up to a budget of tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from steelyard.text.token_estimate import token_weight

_HEADING: Final = re.compile(r"^ {0,3}(#{1,6})[ \t]+(\S.*)$", re.MULTILINE)
_SENTENCE: Final = re.compile(r"[^\n。！？!?；]*?(?:[。！？!?；]+[”’」』）)\"']*|(?<!\d)\.(?=\s)|\n+|$)", re.DOTALL)
_CLAUSE: Final = re.compile(r"[^，、,:：\s]*[，、,:：\s]*")


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document: `text` is `document[start:end]`, `heading` the headings above it, joined by " > "."""

    text: str
    start: int
    end: int
    heading: str = ""

    @property
    def indexed(self) -> str:
        """What is searched: the headings belong to it, since a section often names its subject nowhere else."""
        return f"{self.heading}\n{self.text}" if self.heading else self.text


def split_passages(text: str, *, budget: int = 160, overlap: int = 0) -> tuple[Passage, ...]:
    r"""Split a Markdown or plain text.

    Sentences are never cut, unless one alone is over the budget; then it is cut between clauses, and a clause over
    the budget at characters. No passage crosses a heading.

    Args:
        text: the document.
        budget: estimated tokens of a passage, 1 or more; an ASCII character is a quarter, any other one is one.
        overlap: estimated tokens of whole sentences at the end of a passage that begin the next one; below `budget`.

    Raises:
        ValueError: the budget is below 1, or the overlap negative or not below the budget.

    >>> [(one.heading, one.text) for one in split_passages("# 乾\n乾为天。自强不息。\n# 坤\n坤为地。", budget=5)]
    [('乾', '乾为天。'), ('乾', '自强不息。'), ('坤', '坤为地。')]
    """
    if budget < 1 or not 0 <= overlap < budget:
        raise ValueError(f"budget {budget} and overlap {overlap}: expected 0 <= overlap < budget, budget 1 or more")
    return tuple(
        Passage(text[start:end], start, end, heading)
        for heading, begin, stop in _sections(text)
        for start, end in _gather(text, _pieces(text, begin, stop, budget), budget, overlap)
    )


def _sections(text: str) -> Iterator[tuple[str, int, int]]:
    """Headings above, start and end of the text between two headings."""
    path: list[tuple[int, str]] = []
    start = 0
    for match in _HEADING.finditer(text):
        yield " > ".join(title for _, title in path), start, match.start()
        level = len(match[1])
        path = [*(one for one in path if one[0] < level), (level, _title(match[2]))]
        start = match.end()
    yield " > ".join(title for _, title in path), start, len(text)


def _title(text: str) -> str:
    """A heading without the number signs that may close it."""
    whole = text.rstrip()
    bare = whole.rstrip("#")
    return bare.rstrip() if bare.endswith((" ", "\t")) else whole


def _pieces(text: str, start: int, stop: int, budget: int) -> Iterator[tuple[int, int]]:
    """Sentences without the blanks around them, those over the budget cut up."""
    for match in _SENTENCE.finditer(text, start, stop):
        begin, end = _trim(text, *match.span())
        if begin == end:
            continue
        if token_weight(text[begin:end]) <= budget:
            yield begin, end
        else:
            trimmed = (_trim(text, *piece) for piece in _cut(text, begin, end, budget))
            yield from (piece for piece in trimmed if piece[0] < piece[1])


def _cut(text: str, start: int, stop: int, budget: int) -> Iterator[tuple[int, int]]:
    begin = end = start
    for match in _CLAUSE.finditer(text, start, stop):
        if end > begin and token_weight(text[begin : match.end()]) > budget:
            yield begin, end
            begin = end
        while (step := _fitting(text, begin, budget)) < match.end():
            yield begin, step
            begin = step
        end = match.end()
    if end > begin:
        yield begin, end


def _fitting(text: str, start: int, budget: int) -> int:
    """The end of the longest piece from `start` within the budget, at least one character on."""
    end, weight = start, 0.0
    while weight <= budget and end < len(text):
        weight += 0.25 if text[end] < "\x80" else 1.0
        end += 1
    return max(start + 1, end - 1)


def _trim(text: str, start: int, stop: int) -> tuple[int, int]:
    while start < stop and text[start].isspace():
        start += 1
    while stop > start and text[stop - 1].isspace():
        stop -= 1
    return start, stop


def _gather(text: str, pieces: Iterator[tuple[int, int]], budget: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Runs of pieces within the budget."""
    held: list[tuple[int, int]] = []
    for piece in pieces:
        if held and token_weight(text[held[0][0] : piece[1]]) > budget:
            yield held[0][0], held[-1][1]
            held = _tail(text, held, overlap)
            while held and token_weight(text[held[0][0] : piece[1]]) > budget:
                held = held[1:]
        held.append(piece)
    if held:
        yield held[0][0], held[-1][1]


def _tail(text: str, held: Sequence[tuple[int, int]], overlap: int) -> list[tuple[int, int]]:
    """The last pieces within the overlap, never all of them."""
    return [piece for piece in held[1:] if token_weight(text[piece[0] : held[-1][1]]) <= overlap]
