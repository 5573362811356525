"""Splits documents into pieces of whole sentences, up to a budget of tokens, with their offsets.

A `Passage` never crosses a heading and is small, for looking up single facts. A `Chunk` is text for a model to read: it
crosses headings if its budget has room, may overlap its neighbour, and knows its page.

`sentences` reads English and Chinese, without a dictionary or a model. A sentence ends at 。！？ and the closing quotes
and brackets after it, at . ! ? before white space, and where a block ends: at a blank line, around a heading, a list
entry or a table row. A full stop does not end a sentence in "Dr. Wu", "e.g. this", "Fig. 3", "1. first" and "J. Smith";
in "the U.S." and "etc." it does only before a word that begins sentences. A single line break ends a sentence unless
the line looks wrapped: it is long, and the next line continues like a sentence. It takes one pass, in time linear in
the length of any text.

`cut` splits a sentence that exceeds a budget of tokens between clauses, and a clause that still exceeds it between
characters.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import Final, NamedTuple

from steelyard.types import token_weight

_CLOSING: Final = "\"'”’」』）)】》〉］\\]*_"
_STOP: Final = re.compile(rf"[。！？｡．]+[…。！？｡{_CLOSING}]*|[.!?]+[…!?{_CLOSING}]*|[\n\f\v\x85\u2028\u2029]")
_BREAKS: Final = frozenset("\n\f\v\x85\u2028\u2029")
_NOTES: Final = re.compile(r"(?:\[\d{1,3}\])*")
_MARKER: Final = re.compile(
    r" {0,9}(?:#{1,6}[ \t]|[-*+•·–—][ \t]|\d{1,4}[.)、．][ \t]?|[(（]\w{1,3}[)）]|[|>]|```|~~~)"
)
_HEADING_START: Final = re.compile(r" {0,3}#{1,6}[ \t]")
_RULE: Final = re.compile(r"[ \t]*(?:[-*_=][ \t]*){3,}$", re.MULTILINE)
_ROW: Final = re.compile(r"[^\S\n]*\S[^\n]*?(?:\t| \| )")
_ENUMERATED: Final = re.compile(r"[ \t]*(?:\d{1,4}|[A-Za-z]|[ivx]{1,5})$")
_WORD_BEFORE: Final = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]$|[^\W_]+$")
_LONGEST_WORD: Final = 24
"""Number of characters examined before and after a full stop; the limit avoids quadratic time for long lines."""
_WRAPPED: Final = 40
"""Width in columns from which a line may have been wrapped; Chinese characters take two."""


def sentences(text: str) -> Iterator[tuple[int, int]]:
    r"""Start and end of each sentence, without the white space around it.

    Every character except white space is in exactly one sentence. A closing quote and a note mark such as [3] belong to
    the sentence before them.

    >>> text = "Dr. Wu paid 3.14. “Really?” 他说：“好。”走了\n\n# End"
    >>> [text[start:end] for start, end in sentences(text)]
    ['Dr. Wu paid 3.14.', '“Really?”', '他说：“好。”', '走了', '# End']
    """
    start = line = 0
    for match in _STOP.finditer(text):
        at, end = match.span()
        if text[at] in _BREAKS:
            ends = _ends_line(text, line, at)
            line = end
        else:
            end = _NOTES.match(text, end).end() if text[at] in ".!?" else end  # type: ignore[union-attr]  # matches ""
            ends = _ends_wide(text, end) if text[at] > "\x7f" else _ends_narrow(text, max(line, start), at, end)
        if ends:
            yield from _trimmed(text, start, end)
            start = end
    yield from _trimmed(text, start, len(text))


def _trimmed(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    start, stop = trimmed(text, start, stop)
    if start < stop:
        yield start, stop


def _ends_line(text: str, line: int, at: int) -> bool:
    """Whether the line break at `at` ends a sentence; `line` is the offset of its line."""
    after = text[at + 1 : at + 2]
    if text[at] != "\n" or not after or after in _BREAKS:
        return True
    if _HEADING_START.match(text, line) or _MARKER.match(text, at + 1) or _RULE.match(text, at + 1):
        return True
    if text[line] == "|" or _ROW.match(text, line, at) or _ROW.match(text, at + 1):
        return True
    return _columns(text[line : line + _WRAPPED], at - line) < _WRAPPED or _next_word(text, at + 1) == ""


def _columns(head: str, length: int) -> int:
    """The width of a line in columns, exact below `_WRAPPED`."""
    return length if length >= _WRAPPED else len(head[:length]) + sum(char > "\u2e7f" for char in head[:length])


def _next_word(text: str, at: int) -> str:
    """Up to 24 characters from the next word on, on this line or the next ones; "" at a blank line or the end."""
    return text[at : at + 2 * _LONGEST_WORD].partition("\n\n")[0].lstrip()[:_LONGEST_WORD]


def _ends_wide(text: str, end: int) -> bool:
    """Whether 。 or a similar mark ends a sentence: it does not if a comma follows the closing quote."""
    return text[end : end + 1] not in {"，", "、", "；", "：", ",", ";", ":"}


def _ends_narrow(text: str, start: int, at: int, end: int) -> bool:
    """Whether . ! ? at `at`, with closing marks up to `end`, end a sentence; it or its line began at `start`."""
    if end < len(text) and not text[end].isspace() and text[end] < "\u2e80":
        return False
    follows = _next_word(text, end)
    if follows[:1].islower():
        return False
    if text[at] != "." or end - at > 1:
        return True
    before = text[max(start, at - _LONGEST_WORD) : at]
    if at - start < _LONGEST_WORD and _ENUMERATED.match(before):
        return False
    word = _WORD_BEFORE.search(before)
    return word is None or not follows or _may_end(word[0], follows)


def _may_end(word: str, follows: str) -> bool:
    """Whether a full stop after `word` ends a sentence if the text `follows` comes next."""
    low = word.lower()
    if low in _words("never_last"):
        return False
    if low in _words("before_number") and follows[:1].isdigit():
        return False
    initial = (len(word) == 1 and word.isupper()) or "." in word
    if low in _words("maybe_last") or initial:
        opener = re.match(r"\W*(\w*)", follows)
        return opener is not None and opener[1].lower() in _words("openers")
    return True


@cache
def _words(kind: str) -> frozenset[str]:
    """The words of one kind in `full_stops.json`, which decide whether a full stop next to them ends a sentence."""
    return frozenset(json.loads(files("steelyard.retrieval").joinpath("full_stops.json").read_text("utf-8"))[kind])


_CLAUSE: Final = re.compile(r"[^，、,:：\s]*[，、,:：\s]*")


def cut(text: str, start: int, stop: int, budget: int) -> Iterator[tuple[int, int]]:
    """Split `text[start:stop]` into pieces within a budget of estimated tokens: at clauses, else at characters.

    Joined, the pieces are that text; white space belongs to the clause before it.
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
    """The end of the longest piece from `start` within the budget; at least one character long."""
    if text[start : start + 4 * budget].isascii():
        return min(start + 4 * budget, len(text))
    end, weight = start, 0.0
    while weight <= budget and end < len(text):
        weight += 0.25 if text[end] < "\x80" else 1.0
        end += 1
    return max(start + 1, end - 1)


def trimmed(text: str, start: int, stop: int) -> tuple[int, int]:
    """The same piece without the white space around it."""
    while start < stop and text[start].isspace():
        start += 1
    while stop > start and text[stop - 1].isspace():
        stop -= 1
    return start, stop


_HEADING: Final = re.compile(r"^ {0,3}(#{1,6})[ \t]+(\S.*)$", re.MULTILINE)
_SENTENCE: Final = re.compile(r"[^\n。！？!?；]*?(?:[。！？!?；]+[”’」』）)\"']*|(?<!\d)\.(?=\s)|\n+|$)", re.DOTALL)
_FENCE_OR_HEADING: Final = re.compile(r"^ {0,3}(?:(#{1,6})[ \t]+(\S.*)|(`{3,}|~{3,}).*)$", re.MULTILINE)

CHUNK_TOKENS: Final = 1024
OVERLAP_TOKENS: Final = 128
"""An eighth of a chunk, about five sentences: an answer that needs two neighbouring sentences is complete in one of two
chunks, and a model that reads several chunks reads little twice."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document: `text` is `document[start:end]`, `heading` the headings above it, joined by " > "."""

    text: str
    start: int
    end: int
    heading: str = ""

    @property
    def indexed(self) -> str:
        """The text that is searched; it includes the headings, as a section often does not name its subject itself."""
        return f"{self.heading}\n{self.text}" if self.heading else self.text


def split_passages(text: str, *, budget: int = 160, overlap: int = 0) -> tuple[Passage, ...]:
    r"""Split a Markdown or plain text into passages.

    A sentence is cut only if it exceeds the budget: between clauses, and a clause that exceeds the budget between
    characters. No passage crosses a heading.

    Args:
        text: the document.
        budget: maximum estimated tokens of a passage, 1 or more; an ASCII character is a quarter, any other one is one.
        overlap: estimated tokens of whole sentences at the end of a passage that also begin the next; below `budget`.

    Raises:
        ValueError: the budget is below 1, or the overlap negative or not below the budget.

    >>> [(part.heading, part.text) for part in split_passages("# 乾\n乾为天。自强不息。\n# 坤\n坤为地。", budget=5)]
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
    """Sentences without surrounding white space; one that exceeds the budget is split."""
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
    run: list[tuple[int, int]] = []
    for piece in pieces:
        if run and token_weight(text[run[0][0] : piece[1]]) > budget:
            yield run[0][0], run[-1][1]
            # The last pieces within the overlap, which the next chunk repeats; never all of them.
            run = [kept for kept in run[1:] if token_weight(text[kept[0] : run[-1][1]]) <= overlap]
            while run and token_weight(text[run[0][0] : piece[1]]) > budget:
                run = run[1:]
        run.append(piece)
    if run:
        yield run[0][0], run[-1][1]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document that is indexed, retrieved and given to a model.

    Args:
        id: 16 hexadecimal digits, a digest of the document's name, the position and the text.
        document: the document's name.
        text: the document's text from `start` to `end`.
        start: offset of its first character.
        end: offset after its last character.
        page: 1-based page on which it begins; None if the document has no pages.
        heading: the headings above its start, joined by " > ", including a heading with which it begins.
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
        """The text that is searched; it includes the headings, as a section often does not name its subject itself."""
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
    r"""Split a document into chunks of whole sentences; too long a sentence is cut as in `split_passages`.

    A chunk that is more than half full ends before a heading, and then nothing is repeated, because the text before a
    heading belongs to another section. No chunk ends with a heading if the heading can begin the next one.

    Args:
        text: the document's text.
        document: its name.
        tokens: maximum estimated tokens of a chunk, 1 or more; an ASCII character is a quarter, any other one is one.
        overlap: estimated tokens of whole sentences that a chunk may share with the one before, at most half of
            `tokens`.
        pages: offsets at which pages begin, ascending; empty without pages.
        span: start and end of a part of the text; only sentences that begin in it are used; None is all.

    Raises:
        ValueError: the budget is below 1, or the overlap negative or above half of it.

    >>> [(part.start, part.end, part.text) for part in split_chunks("One two. Three. Four.", tokens=4, overlap=2)]
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
    """The offset of a heading line, and the path of headings from there on."""

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
    run: list[_Piece] = []
    for piece in pieces:
        full = bool(run) and piece.after - run[0].before > budget
        # A heading begins a new chunk only if the current one is half full; else short sections become tiny chunks.
        splits_at_heading = bool(run) and piece.is_heading and 2 * (run[-1].after - run[0].before) > budget
        if full or splits_at_heading:
            count, next_start = _split_run(run, piece.after - budget, 0 if splits_at_heading else overlap)
            yield run[0].start, run[count - 1].end
            run = run[next_start:]
        run.append(piece)
    if run:
        yield run[0].start, run[-1].end


def _split_run(run: Sequence[_Piece], floor: float, overlap: int) -> tuple[int, int]:
    """The number of pieces that a chunk keeps, and the index of the piece with which the next one begins.

    Args:
        run: the pieces, not empty.
        floor: the next chunk has room only for pieces that begin at this weight or after it.
        overlap: maximum weight of the pieces that are in both chunks.
    """
    count = len(run)
    body = next((index for index in range(count, 0, -1) if not run[index - 1].is_heading), 0)
    # Headings at the end go with the text below them.
    if 0 < body < count and run[body].before >= floor:
        return body, body
    floor = max(floor, run[-1].after - overlap)
    next_start = count
    while next_start > 1 and run[next_start - 1].before >= floor:
        next_start -= 1
    return count, next_start
