"""The text of pages whose lines are known with their places: what a person would copy from them.

A line is joined with the next one where the next one's first word would not have fitted behind it, at the same size
and one line further down; a hyphen at its end goes unless the word is written with it elsewhere. Otherwise a line
stays a line, and a larger distance or another size parts paragraphs. Doubtful cases stay apart: a line break too many
costs a reader less than two entries of a list run into one. A row of a table is a line, its cells parted by tabs.

Lines in small type whose number counts along with the pages, at one height, are dropped. Other lines that stand at one
height on many pages are kept once: what is said at the top of every page may be said nowhere else.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Final, NamedTuple

_LIGATURES: Final = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "\xa0": " ", "\xad": ""}
)
_HYPHEN: Final = "\x02"
"""What the reader puts for a hyphen at the end of a line, which it has joined with the next one then."""
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
"""Lines at the top and at the bottom of a page that are looked at for headers and footers."""
_FEWEST: Final = 3
_SHARE: Final = 0.4
"""Of the pages must have a line for it to be a header: left and right pages often have different ones."""


class Line(NamedTuple):
    """A line of a page; lengths in points, upwards and to the right.

    Args:
        text: as it stands there.
        left: where it begins.
        top: height of its first character's baseline.
        right: where it ends.
        bottom: height of its last character's baseline: another one where the reader joined two lines at a hyphen.
        size: of its last character's font, in points; the first may be a bullet.
        word: width of its first word.
        cells: of a table's row; 1 for prose.
    """

    text: str
    left: float
    top: float
    right: float
    bottom: float
    size: float
    word: float
    cells: int = 1


def join_pages(pages: Sequence[Sequence[Line]]) -> tuple[str, tuple[int, ...]]:
    r"""The text of a document and the offset at which each of its pages begins.

    Pages are parted by a blank line, or by a line break where a sentence runs on. A page without text begins where the
    next one does.

    >>> join_pages([[Line("One", 0, 9, 9, 9, 9, 9)], [], [Line("Two", 0, 9, 9, 9, 9, 9)]])
    ('One\n\nTwo', (0, 5, 5))
    """
    compounds = {found for page in pages for line in page for found in _COMPOUND.findall(line.text)}
    parts: list[str] = []
    starts: list[int] = []
    length = 0
    for page in _without_repeats([[_cleaned(line, compounds) for line in page] for page in pages]):
        body = _body([line for line in page if line.text])
        if body and parts:
            gap = "\n" if _runs_on(parts[-1], body) else "\n\n"
            parts.append(gap)
            length += len(gap)
            starts = [length if one == length - len(gap) else one for one in starts]
        starts.append(length)
        if body:
            parts.append(body)
            length += len(body)
    return "".join(parts), tuple(starts)


def _cleaned(line: Line, compounds: set[str]) -> Line:
    text = _BROKEN.sub(lambda found: _mended(found[1], found[2], compounds), line.text)
    text = _UNSEEN.sub("", text.replace(_HYPHEN, "-").translate(_LIGATURES))
    return line._replace(text=_BLANKS.sub(lambda found: "\t" if "\t" in found[0] else " ", text).strip())


def _mended(before: str, after: str, compounds: set[str]) -> str:
    """The word that was broken at a line's end; a hyphen stays in one that is written so elsewhere, and in names."""
    whole = f"{before}-{after}"
    return before + after if after[:1].islower() and not before.isdigit() and whole not in compounds else whole


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
    """The right edges of a page's columns, which no one states: the furthest line that begins nearby in that size."""

    def __init__(self, lines: Sequence[Line]) -> None:
        found: dict[int, dict[int, float]] = defaultdict(dict)
        for line in lines:
            column = found[round(line.size)]
            place = round(line.left / 8)
            column[place] = max(line.right, column.get(place, line.right))
        self._found = {size: sorted(column.items()) for size, column in found.items()}

    def right(self, line: Line) -> float:
        """Where the column of `line` ends."""
        column = self._found[round(line.size)]
        place = round(line.left / 8)
        first = bisect_left(column, (place - 4, float("-inf")))
        return max(right for at, right in column[first : first + 9] if at <= place + 4)


def _gap(above: Line, below: Line, edges: _Edges) -> str:
    """What stands between two lines: a blank, nothing (Chinese), a line break or a blank line."""
    down = above.bottom - below.top
    size = max(above.size, 1.0)
    if abs(down) < 0.2 * size and below.left >= above.right:
        return "\t" if below.left - above.right > 1.5 * size else " "
    if abs(above.size - below.size) > 0.1 * size or down > 1.9 * size:
        return "\n\n"
    if down < 0:
        return _seam(above.text, below.text) if _runs_on(above.text, below.text) else "\n\n"
    if max(above.cells, below.cells) > 1:
        return "\n"
    blank = 0.0 if _seam(above.text, below.text) == "" else 0.25 * size
    full = above.right + blank + below.word > edges.right(above) - 0.1 * size
    hangs = 4.0 if _ENTRY.match(above.text) else 1.2
    if not full or _ENTRY.match(below.text) or below.left - above.left > hangs * size:
        return "\n"
    return _seam(above.text, below.text)


def _seam(before: str, after: str) -> str:
    """A blank, but none beside a Chinese character or mark."""
    return "" if before[-1:] > "\u2e7f" or after[:1] > "\u2e7f" else " "


def _runs_on(before: str, after: str) -> bool:
    """Whether a sentence evidently goes on from one page or column to the next."""
    return not _FINAL.search(before[-8:]) and after[:1].islower()


def _without_repeats(pages: Sequence[Sequence[Line]]) -> Iterator[list[Line]]:
    dropped = _repeats(pages)
    kept = [[line for at, line in enumerate(page) if (no, at) not in dropped] for no, page in enumerate(pages)]
    yield from kept if any(kept) else map(list, pages)


def _repeats(pages: Sequence[Sequence[Line]]) -> set[tuple[int, int]]:
    """Page and line of what is dropped."""
    seen: dict[tuple[str, int], dict[int, int]] = defaultdict(dict)
    for no, page in enumerate(pages):
        for at in _edge_lines(page):
            seen[_NUMBER.sub("#", page[at].text), round(page[at].top)][no] = at
    dropped: set[tuple[int, int]] = set()
    for places in seen.values():
        if len(places) >= _FEWEST:
            dropped.update(_droppable(pages, places))
    return dropped


def _edge_lines(page: Sequence[Line]) -> set[int]:
    """The lines at the top and at the bottom of a page."""
    by_height = sorted(range(len(page)), key=lambda at: page[at].top)
    return {*by_height[:_EDGE], *by_height[-_EDGE:]}


def _droppable(pages: Sequence[Sequence[Line]], places: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """All of them where a number counts the pages, all but the first where they are equal, else none."""
    texts = {no: pages[no][at].text for no, at in places.items()}
    counted = [_counts(text, no) for no, text in texts.items()]
    if set.intersection(*counted) and all(_is_small(pages[no], at) for no, at in places.items()):
        yield from places.items()
    elif len(places) >= _SHARE * len(pages) and len(set(texts.values())) == 1:
        yield from list(places.items())[1:]


def _counts(text: str, no: int) -> set[int]:
    """By how much a number where page numbers stand is ahead of the 0-based page `no`."""
    return {int(found[1] or found[2] or found[3]) - no for found in _PAGE_NUMBER.finditer(text)}


def _is_small(page: Sequence[Line], at: int) -> bool:
    """Whether a line is not larger than most of its page: a heading such as "Step 3" may count along as well."""
    return page[at].size <= 1.05 * median(line.size for line in page)
