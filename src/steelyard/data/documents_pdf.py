"""Converts PDF files to text; they are read in a separate process, within limits of time and memory.

pypdfium2 reads a paper of twenty pages in half a second, twenty times as fast as a reader in pure Python, and leaves
fewer broken words. But it is a C++ library: a file may crash it or keep it busy without end, and then only the separate
process is lost (`documents_pdf_process`). The process returns the lines of each page with their positions; here they
become the text that a person would copy from the pages.

A line is joined with the next one if that one has the same size, is one line further down, and its first word would not
have fitted after this line; a hyphen at the end is removed unless the word is written with it elsewhere. Otherwise the
line break stays, and a larger distance or another size separates paragraphs. Doubtful lines are not joined: an extra
line break does less harm than two list entries in one line. A table row is one line, with its cells separated by tabs.

Running headers, footers and page numbers are dropped: lines at the edge of at least three pages, at the same height,
that are equal except for their digits. If the digits differ, they must increase with the pages as page numbers do, or
rise as chapter numbers do, in type that is not larger than the page's: a row of figures, a sentence or a heading may
also recur with other digits, and is not a running header.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

from steelyard.data.limited_process import json_lines_of
from steelyard.errors import DataError

PDF_SECONDS: Final = 300.0
"""A page takes about 20 ms, so that the largest document allowed takes a third of this."""

_MEMORY_BYTES: Final = 4 << 30
_WHY: Final = {
    "encrypted": "is encrypted; save it without a password",
    "damaged": "is damaged, or no PDF",
    "large": "is too large",
}
_LIGATURES: Final = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "\xa0": " ", "\xad": ""}
)
_HYPHEN: Final = "\x02"
"""The reader's character for a hyphen at the end of a line, after which it has joined the next line."""
_UNSEEN: Final = re.compile(r"[\x00\x01\x03-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff\ufeff\u200b]")
_BLANKS: Final = re.compile(r" *\t[ \t]*| {2,}")
_BROKEN: Final = re.compile(r"(\w+)\x02(\w*)")
_COMPOUND: Final = re.compile(r"\w+-\w+")
_ENTRY: Final = re.compile(
    r"(?:[-*•·–—▪●○]|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{2,5})[.)、]|[（(][一二三四五六七八九十\d]+[)）])\s?"
)
_FINAL: Final = re.compile(r"[.!?。！？:：;；][\"'”’」』）)\]]*$")
_NUMBER: Final = re.compile(r"\d+")
_PAGE_NUMBER: Final = re.compile(
    r"^\W{0,3}(\d{1,5})\b|\b(\d{1,5})\W{0,3}$|\b(\d{1,5})(?=\s?(?:/|of|von|sur|页|頁|ページ))"
)
_EDGE: Final = 2
"""Number of heights at the top and at the bottom of a page whose lines may be running headers and footers."""
_ROUNDS: Final = 2
"""Running headers may have three lines: in the second round the line below the first two is at the edge as well."""
_FEWEST: Final = 3
"""Minimum number of pages with a running header: two pages may begin with the same line by chance."""
_LETTERS: Final = 3
"""Minimum number of letters in a line with a rising number: `7 mm` and `12 %` are figures."""
_ROMAN: Final = re.compile(r"\W{0,3}((?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3}))\W{0,3}", re.IGNORECASE)
_ROMAN_DIGITS: Final = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}


class Line(NamedTuple):
    """A line of a page; lengths in points, upwards and to the right.

    Args:
        text: the characters in reading order.
        left: where it begins.
        top: height of its first character's baseline.
        right: where it ends.
        bottom: height of its last character's baseline; differs from `top` if the reader joined two lines at a hyphen.
        size: of its last character's font, in points; the first may be a bullet.
        word: width of its first word.
        cells: number of cells of a table row; 1 for prose.
    """

    text: str
    left: float
    top: float
    right: float
    bottom: float
    size: float
    word: float
    cells: int = 1


def read_pdf(path: Path, *, timeout_s: float = PDF_SECONDS) -> tuple[str, tuple[int, ...]]:
    """The text of a PDF, "" where all its pages are images, and the offsets at which its pages begin.

    Args:
        path: an existing file.
        timeout_s: limit in seconds.

    Raises:
        DataError: it is encrypted, damaged, too large or too slow to read.
    """
    *pages, count = _output_of_reader(path, timeout_s)
    if count != len(pages):
        raise DataError(f"{path.name} could not be read: only {len(pages)} of {count} pages arrived")
    return join_pages([[Line(*line) for line in page] for page in pages])


def _output_of_reader(path: Path, timeout_s: float) -> Sequence[Any]:
    """The JSON values that the reader process wrote.

    Raises:
        DataError: it reported an error, crashed or took too long.
    """
    module = "steelyard.data.documents_pdf_process"
    values = json_lines_of(module, path, _MEMORY_BYTES, timeout_s, reader="PDF reader")
    last = values[-1] if values else None
    if isinstance(last, dict):
        raise DataError(f"{path.name} {_WHY[last['error']]}: {last['message']}")
    if not isinstance(last, int):
        raise DataError(f"{path.name} could not be read: nothing arrived")
    return values


def join_pages(pages: Sequence[Sequence[Line]]) -> tuple[str, tuple[int, ...]]:
    r"""The text of a document and the offset at which each of its pages begins.

    Pages are separated by a blank line, or by a line break if a sentence continues on the next page. A page without
    text has the offset of the next one.

    >>> join_pages([[Line("One", 0, 9, 9, 9, 9, 9)], [], [Line("Two", 0, 9, 9, 9, 9, 9)]])
    ('One\n\nTwo', (0, 5, 5))
    """
    compounds = {word for page in pages for line in page for word in _COMPOUND.findall(line.text)}
    parts: list[str] = []
    starts: list[int] = []
    length = 0
    for page in _without_repeats([[_cleaned(line, compounds) for line in page] for page in pages]):
        body = _body([line for line in page if line.text])
        if body and parts:
            gap = "\n" if _runs_on(parts[-1], body) else "\n\n"
            parts.append(gap)
            length += len(gap)
            starts = [length if start == length - len(gap) else start for start in starts]
        starts.append(length)
        if body:
            parts.append(body)
            length += len(body)
    return "".join(parts), tuple(starts)


def _cleaned(line: Line, compounds: set[str]) -> Line:
    text = _BROKEN.sub(lambda match: _mended(match[1], match[2], compounds), line.text)
    text = _UNSEEN.sub("", text.replace(_HYPHEN, "-").translate(_LIGATURES))
    return line._replace(text=_BLANKS.sub(lambda match: "\t" if "\t" in match[0] else " ", text).strip())


def _mended(before: str, after: str, compounds: set[str]) -> str:
    """The word that was broken at a line's end; the hyphen stays if the word has it elsewhere, and in names."""
    hyphenated = f"{before}-{after}"
    return (
        before + after if after[:1].islower() and not before.isdigit() and hyphenated not in compounds else hyphenated
    )


def _body(lines: Sequence[Line]) -> str:
    """The text of a page."""
    if not lines:
        return ""
    edges = _Edges(lines)
    parts = [lines[0].text]
    for above, below in pairwise(lines):
        parts += [_gap(above, below, edges), below.text]
    return "".join(parts)


class _Edges:
    """The right edges of a page's columns, estimated from the widest line of the same size that begins nearby."""

    def __init__(self, lines: Sequence[Line]) -> None:
        columns: dict[int, dict[int, float]] = defaultdict(dict)
        for line in lines:
            column = columns[round(line.size)]
            bucket = round(line.left / 8)
            column[bucket] = max(line.right, column.get(bucket, line.right))
        self._columns = {size: sorted(column.items()) for size, column in columns.items()}

    def right(self, line: Line) -> float:
        """Where the column of `line` ends."""
        column = self._columns[round(line.size)]
        bucket = round(line.left / 8)
        first = bisect_left(column, (bucket - 4, float("-inf")))
        return max(right for at, right in column[first : first + 9] if at <= bucket + 4)


def _gap(above: Line, below: Line, edges: _Edges) -> str:
    """The separator of two lines: a space, nothing (Chinese), a line break or a blank line."""
    down = above.bottom - below.top
    size = max(above.size, 1.0)
    # On the same baseline: cells of a row, or a line that the reader has cut in two.
    if abs(down) < 0.2 * size and below.left >= above.right:
        return "\t" if below.left - above.right > 1.5 * size else " "
    # Another size, or more than a line's height apart: a heading, or the next paragraph.
    if abs(above.size - below.size) > 0.1 * size or down > 1.9 * size:
        return "\n\n"
    # Upwards: the next column begins.
    if down < 0:
        return _seam(above.text, below.text) if _runs_on(above.text, below.text) else "\n\n"
    if max(above.cells, below.cells) > 1:
        return "\n"
    blank = 0.0 if _seam(above.text, below.text) == "" else 0.25 * size
    # The first word below would not have fitted above: the line was wrapped, and the paragraph continues.
    full = above.right + blank + below.word > edges.right(above) - 0.1 * size
    # The later lines of a list entry are indented to its text; in prose a larger indent begins another block.
    hangs = 4.0 if _ENTRY.match(above.text) else 1.2
    if not full or _ENTRY.match(below.text) or below.left - above.left > hangs * size:
        return "\n"
    return _seam(above.text, below.text)


def _seam(before: str, after: str) -> str:
    """A space, or nothing next to a Chinese character or punctuation mark."""
    return "" if before[-1:] > "\u2e7f" or after[:1] > "\u2e7f" else " "


def _runs_on(before: str, after: str) -> bool:
    """Whether a sentence evidently continues from one page or column to the next."""
    return not _FINAL.search(before[-8:]) and after[:1].islower()


def _without_repeats(pages: Sequence[Sequence[Line]]) -> Sequence[Sequence[Line]]:
    """The pages without running headers, footers and page numbers; unchanged if no lines would remain."""
    remaining = pages
    for _ in range(_ROUNDS):
        dropped = _repeats(remaining)
        remaining = [
            [line for index, line in enumerate(page) if (no, index) not in dropped] for no, page in enumerate(remaining)
        ]
    return remaining if any(remaining) else pages


def _repeats(pages: Sequence[Sequence[Line]]) -> set[tuple[int, int]]:
    """The lines to drop, as (page, line)."""
    seen: dict[tuple[str, int], dict[int, int]] = defaultdict(dict)
    for no, page in enumerate(pages):
        for index in _edge_lines(page):
            seen[_NUMBER.sub("#", _numbered(page[index].text)), round(page[index].top)][no] = index
    dropped: set[tuple[int, int]] = set()
    for line_of_page in seen.values():
        if len(line_of_page) >= _FEWEST:
            dropped.update(_droppable(pages, line_of_page))
    return dropped


def _edge_lines(page: Sequence[Line]) -> Iterator[int]:
    """The lines at the top and at the bottom of a page; lines at the same height belong to the same edge."""
    heights = sorted({round(line.top) for line in page})
    edges = {*heights[:_EDGE], *heights[-_EDGE:]}
    return (index for index, line in enumerate(page) if round(line.top) in edges)


def _droppable(pages: Sequence[Sequence[Line]], line_of_page: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """All of the lines if their numbers increase with the pages, else those that are equal on enough pages."""
    texts = {no: _numbered(pages[no][index].text) for no, index in line_of_page.items()}
    if _goes_along(texts) and all(_is_small(pages[no], index) for no, index in line_of_page.items()):
        yield from line_of_page.items()
        return
    counts = Counter(texts.values())
    yield from ((no, index) for no, index in line_of_page.items() if counts[texts[no]] >= _FEWEST)


def _goes_along(texts: Mapping[int, str]) -> bool:
    """Whether a number counts the pages, or all rise with them in lines that are neither sentences nor figures."""
    if set.intersection(*(_counts(text, no) for no, text in texts.items())):
        return True
    first = next(iter(texts.values()))
    if _FINAL.search(first[-8:]) or sum(map(str.isalpha, first)) < _LETTERS:
        return False
    numbers = [[int(digits[:18]) for digits in _NUMBER.findall(text)] for _, text in sorted(texts.items())]
    return numbers == sorted(numbers)


def _numbered(text: str) -> str:
    """The line; if it is only a Roman numeral, its value in digits.

    >>> _numbered("- xiv -"), _numbered("vivid")
    ('14', 'vivid')
    """
    match = _ROMAN.fullmatch(text)
    if not match or not match[1]:
        return text
    values = [_ROMAN_DIGITS[digit] for digit in match[1].lower()]
    return str(sum(-value if value < after else value for value, after in zip(values, [*values[1:], 0], strict=True)))


def _counts(text: str, no: int) -> set[int]:
    """The numbers where page numbers usually are, each minus the 0-based page `no`."""
    return {int(match[1] or match[2] or match[3]) - no for match in _PAGE_NUMBER.finditer(text)}


def _is_small(page: Sequence[Line], at: int) -> bool:
    """Whether a line is not larger than most of its page: a heading such as "Step 3" may increase as well."""
    return page[at].size <= 1.05 * median(line.size for line in page)
