"""Pieces of a document: whole sentences, up to a budget of tokens, with the places they stand at.

A `Passage` never crosses a heading and is small: single facts are looked up in it. A `Chunk` is what a model is given
to read: it crosses headings where its budget has room, may overlap its neighbour, and knows its page.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, NamedTuple

from steelyard.retrieval.sentences import cut, sentences, trimmed
from steelyard.types import token_weight

_HEADING: Final = re.compile(r"^ {0,3}(#{1,6})[ \t]+(\S.*)$", re.MULTILINE)
_SENTENCE: Final = re.compile(r"[^\n。！？!?；]*?(?:[。！？!?；]+[”’」』）)\"']*|(?<!\d)\.(?=\s)|\n+|$)", re.DOTALL)
_FENCE_OR_HEADING: Final = re.compile(r"^ {0,3}(?:(#{1,6})[ \t]+(\S.*)|(`{3,}|~{3,}).*)$", re.MULTILINE)

CHUNK_TOKENS: Final = 1024
OVERLAP_TOKENS: Final = 128
"""An eighth of a chunk, some five sentences: an answer that needs two neighbouring sentences stands whole in one of
two chunks, and a model that reads several of them reads little twice."""


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
    """(headings, start, end) of the text between two headings."""
    path: list[tuple[int, str]] = []
    start = 0
    for match in _HEADING.finditer(text):
        yield " > ".join(title for _, title in path), start, match.start()
        level = len(match[1])
        path = [*(heading for heading in path if heading[0] < level), (level, _title(match[2]))]
        start = match.end()
    yield " > ".join(title for _, title in path), start, len(text)


def _title(text: str) -> str:
    """A heading without the number signs that may close it."""
    title = text.rstrip()
    bare = title.rstrip("#")
    return bare.rstrip() if bare.endswith((" ", "\t")) else title


def _pieces(text: str, start: int, stop: int, budget: int) -> Iterator[tuple[int, int]]:
    """Sentences without surrounding blanks; one over the budget is split."""
    for match in _SENTENCE.finditer(text, start, stop):
        begin, end = trimmed(text, *match.span())
        if begin == end:
            continue
        if token_weight(text[begin:end]) <= budget:
            yield begin, end
        else:
            pieces = (trimmed(text, *piece) for piece in cut(text, begin, end, budget))
            yield from (piece for piece in pieces if piece[0] < piece[1])


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
    """The last pieces within the overlap, which the next chunk repeats; never all of them."""
    return [piece for piece in held[1:] if token_weight(text[piece[0] : held[-1][1]]) <= overlap]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document that is indexed, retrieved and given to a model.

    Args:
        id: 16 hexadecimal digits that stand for the document's name, the place and the text.
        document: the document's name.
        text: `document[start:end]` of the document's text.
        start: offset of its first character.
        end: offset behind its last one.
        page: 1-based page that it begins on; None where the document has none.
        heading: the headings in force at its start, joined by " > "; one that it begins with is among them.
    """

    id: str
    document: str
    text: str
    start: int
    end: int
    page: int | None = None
    heading: str = ""

    @property
    def indexed(self) -> str:
        """What is searched: the headings belong to it, since a section often names its subject nowhere else."""
        return f"{self.heading}\n{self.text}" if self.heading else self.text

    @property
    def source(self) -> dict[str, str | int | None]:
        """The chunk's location in the form of the sources of outputs and samples."""
        return {"id": self.id, "document": self.document, "start": self.start, "end": self.end, "page": self.page}


def split_chunks(
    text: str,
    *,
    document: str = "",
    tokens: int = CHUNK_TOKENS,
    overlap: int = OVERLAP_TOKENS,
    pages: Sequence[int] = (),
    span: tuple[int, int] | None = None,
) -> tuple[Chunk, ...]:
    r"""Split a document into chunks of whole sentences; a sentence over the budget is cut as in `split_passages`.

    A chunk that is more than half full ends before a heading, and then nothing is repeated: what stands before a
    heading belongs to another section. No chunk ends with a heading if it can begin the next one.

    Args:
        text: the document's text.
        document: its name.
        tokens: estimated tokens of a chunk at most, 1 or more; an ASCII character is a quarter, any other one is one.
        overlap: estimated tokens of whole sentences that a chunk may share with the one before, at most half of
            `tokens`.
        pages: offsets at which pages begin, ascending; empty where there are none.
        span: only the sentences that begin in this part of the text, from its start to before its end; None is all.

    Raises:
        ValueError: the budget is below 1, or the overlap negative or above half of it.

    >>> [(one.start, one.end, one.text) for one in split_chunks("One two. Three. Four.", tokens=4, overlap=2)]
    [(0, 15, 'One two. Three.'), (9, 21, 'Three. Four.')]
    """
    if tokens < 1 or not 0 <= 2 * overlap <= tokens:
        raise ValueError(f"tokens {tokens} and overlap {overlap}: expected tokens of 1 or more, overlap at most half")
    headings = headings_in(text)
    heading_starts = [heading.start for heading in headings]
    chunks = []
    pieces = _measured_pieces(text, frozenset(heading_starts), tokens, span or (0, len(text)))
    for start, end in _gathered(pieces, tokens, overlap):
        heading_count = bisect_right(heading_starts, start)
        page = bisect_right(pages, start) if pages else None
        path = headings[heading_count - 1].path if heading_count else ""
        body = text[start:end]
        chunks.append(Chunk(identity_of(document, start, end, body), document, body, start, end, page or None, path))
    return tuple(chunks)


def identity_of(document: str, start: int, end: int, text: str) -> str:
    """The id of a chunk: a digest of document, position and text."""
    identity = f"{document}\0{start}\0{end}\0{text}".encode("utf-8", "surrogatepass")
    return blake2b(identity, digest_size=8).hexdigest()


class Heading(NamedTuple):
    """Where a heading line begins, and the path of headings that holds from there on."""

    start: int
    path: str


def headings_in(text: str) -> list[Heading]:
    """Heading lines outside of fenced code, in order."""
    path: list[tuple[int, str]] = []
    headings = []
    fence = ""
    for match in _FENCE_OR_HEADING.finditer(text):
        level, title, mark = match.groups()
        if mark:
            fence = "" if fence and mark.startswith(fence) else fence or mark
        elif not fence:
            path = [*(entry for entry in path if entry[0] < len(level)), (len(level), _title(title))]
            headings.append(Heading(match.start(1), " > ".join(entry for _, entry in path)))
    return headings


class _Piece(NamedTuple):
    """A sentence or a part of one; `before` and `after` are the weights of the text up to its start and its end."""

    start: int
    end: int
    before: float
    after: float
    is_heading: bool


def _measured_pieces(text: str, headings: frozenset[int], budget: int, span: tuple[int, int]) -> Iterator[_Piece]:
    """Sentences with cumulative token weights, so that a chunk's weight is a difference; long ones are split."""
    position, total = 0, 0.0
    for sentence in sentences(text):
        if not span[0] <= sentence[0] < span[1]:
            continue
        for start, end in _within(text, *sentence, budget):
            before = total + token_weight(text[position:start])
            total = before + token_weight(text[start:end])
            position = end
            yield _Piece(start, end, before, total, start in headings)


def _within(text: str, start: int, end: int, budget: int) -> Iterator[tuple[int, int]]:
    if end - start <= budget or token_weight(text[start:end]) <= budget:
        yield start, end
        return
    for piece in cut(text, start, end, budget):
        begin, stop = trimmed(text, *piece)
        if begin < stop:
            yield begin, stop


def _gathered(pieces: Iterator[_Piece], budget: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Start and end of runs of pieces within the budget."""
    held: list[_Piece] = []
    for piece in pieces:
        full = bool(held) and piece.after - held[0].before > budget
        # A heading begins a new chunk only if the current one is half full; else short sections become tiny chunks.
        parts = bool(held) and piece.is_heading and 2 * (held[-1].after - held[0].before) > budget
        if full or parts:
            keep, again = _parted(held, piece.after - budget, 0 if parts else overlap)
            yield held[0].start, held[keep - 1].end
            held = held[again:]
        held.append(piece)
    if held:
        yield held[0].start, held[-1].end


def _parted(held: Sequence[_Piece], floor: float, overlap: int) -> tuple[int, int]:
    """How many of the pieces a chunk keeps, and from which on they begin the next one.

    Args:
        held: the pieces, not empty.
        floor: the next chunk has room only for what begins at this weight or behind it.
        overlap: weight of what may stand in both.
    """
    count = len(held)
    body = next((at for at in range(count, 0, -1) if not held[at - 1].is_heading), 0)
    # Headings at the end go with the text below them.
    if 0 < body < count and held[body].before >= floor:
        return body, body
    floor = max(floor, held[-1].after - overlap)
    again = count
    while again > 1 and held[again - 1].before >= floor:
        again -= 1
    return count, again
