"""Which pieces of a document are boilerplate: nothing about its subject can be asked of them.

Five kinds, recognised by their form in English and Chinese: `licence` (terms of a licence or a disclaimer), `contents`
(a table of contents), `index` (terms with page numbers), `references` (a list of cited works), `copyright` (the page
that names publisher, rights and ISBN). A section whose heading is the name of a kind is one, whatever it holds.

What it costs to be wrong differs: boilerplate that is kept gives questions which a person rejects, prose that is left
out is never asked about. So a piece is left out only where its form is plain, and the report counts the pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from typing import Final, Literal

from steelyard.generate.phrases import phrase

Kind = Literal["", "licence", "contents", "index", "references", "copyright"]

_KINDS: Final[tuple[Kind, ...]] = ("licence", "contents", "index", "references", "copyright")
_NUMBERING: Final = r"(?:(?:appendix\s+)?(?:[a-z]|[\d.]+|[ivx]+|附录\s*\w?)[\s.:：、]+)?"
_LONGEST_HEADING: Final = 90
_LICENCE_DENSITY: Final = 0.9
"""Licence phrases per hundred words; of 158 chunks of licences 153 have so many, of 593 chunks of manuals none."""
_LEAST_PHRASES: Final = 3
_NOTICE_WORDS: Final = 120
_NOTICE_DENSITY: Final = 3.0
"""A notice that names a licence is short and has hardly a sentence without such a phrase."""

_PAGED_LINE: Final = re.compile(
    r"\S.{0,120}?(?:\s?(?:\.\s?){3,}|…{1,}|·{3,}|\t|\s{2,}|\s)\s*(?:\d{1,4}|[ivxlc]{1,6})\s*"
)
_DOTTED_LINE: Final = re.compile(r"\S.{0,120}?(?:(?:\s?\.){4,}|…{2,}|·{4,})\s*(?:\d{1,4}|[ivxlc]{1,6})?\s*")
_NUMBERED_LINE: Final = re.compile(
    r"(?:(?:chapter|part|section|appendix)\s+\w{1,4}\b|\d{1,2}(?:\.\d{1,2}){0,4}\.?\s|[A-H](?:\.\d{1,2})+\s"
    r"|第.{1,4}[章节篇部])",
    re.IGNORECASE,
)
_LINK_LINE: Final = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s*\[[^\]]{1,120}\]\(#?[^)]{0,200}\)\s*")
_LEADER: Final = re.compile(r"(?:(?:\s?\.){4,}|…{2,}|·{4,})\s*(\d{1,4})\b")
_LEAST_LEADERS: Final = 4
_LEADERS_DENSITY: Final = 5.0
_PAGES: Final = r"\*{0,2}\d{1,4}(?:\s?[-–]\s?\d{1,4})?"
_INDEX_LINE: Final = re.compile(rf"\S.{{0,90}}?(?:,|:|(?:\s?\.){{3,}})\s*{_PAGES}(?:,\s*{_PAGES})*\s*")
_SEE_LINE: Final = re.compile(r".{1,80},? see(?: also)? .{1,80}", re.IGNORECASE)

_ENTRY: Final = re.compile(r"\s*(?:\[[\w+-]{1,12}\]|\(?\d{1,3}[.)]\s|[-*•]\s)")
_KEY: Final = re.compile(r"\s*\[[\w+-]{1,12}\]")
_ADDRESS: Final = re.compile(r"https?://|\bwww\.|\bdoi\b", re.IGNORECASE)
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d[a-z]?\b")
_WORD: Final = re.compile(r"[^\W\d_]+|\d+")
_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_COPYRIGHT_WORDS: Final = 300
"""A page of rights is short; a longer piece that has one in it has more to ask about."""


def heading_kind(title: str) -> Kind:
    """The kind of boilerplate that a section is by its heading alone; "" if it is none.

    >>> heading_kind("Appendix B GNU Free Documentation License"), heading_kind("参考文献"), heading_kind("Rain gauges")
    ('licence', 'references', '')
    """
    plain = " ".join(title.strip(" #*_:：").split())
    if len(plain) > _LONGEST_HEADING or _pattern("no_headings").search(plain):
        return ""
    return next((kind for kind in _KINDS if _heading(kind).fullmatch(plain)), "")


def boilerplate_kind(text: str) -> Kind:
    r"""The kind of boilerplate that a piece of a document is by its form; "" if it is none.

    Args:
        text: a piece of some paragraphs, as it stands in the document.

    >>> boilerplate_kind("1 Rain ..... 1\n1.1 Gauges ..... 2\n2 Snow ..... 7\n3 Wind ..... 9\nIndex ..... 12")
    'contents'
    >>> boilerplate_kind("The rim of the gauge stands 30 cm above the ground.")
    ''
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    words = _words(text)
    if not words:
        return ""
    forms: tuple[tuple[Kind, bool], ...] = (
        ("contents", _is_contents(lines)),
        ("index", _is_index(lines)),
        ("licence", _is_licence(text, words)),
        ("copyright", words <= _COPYRIGHT_WORDS and _is_copyright(lines, words)),
        ("references", _is_references(lines, words)),
    )
    return _leaders_kind(text, words) or next((kind for kind, fits in forms if fits), "")


def _is_licence(text: str, words: int) -> bool:
    phrases = [match[0].casefold() for match in _pattern("licence").finditer(text)]
    density = 100 * len(phrases) / words
    if words <= _NOTICE_WORDS:
        return len(phrases) >= 2 and density >= _NOTICE_DENSITY
    return len(set(phrases)) >= _LEAST_PHRASES and density >= _LICENCE_DENSITY


def _leaders_kind(text: str, words: int) -> Kind:
    """`contents` or `index` of a text full of dot leaders with page numbers, however its lines were broken.

    The pages of a table of contents grow; those of an index jump.
    """
    pages = [int(match[1]) for match in _LEADER.finditer(text)]
    if len(pages) < _LEAST_LEADERS or 100 * len(pages) / words < _LEADERS_DENSITY:
        return ""
    grows = sum(later >= earlier for earlier, later in pairwise(pages))
    return "contents" if grows >= 0.85 * (len(pages) - 1) else "index"


def _is_contents(lines: list[str]) -> bool:
    """Whether most lines are titles with leaders or page numbers behind them, or links within the document."""
    if len(lines) < 4:
        return False
    dotted = _share(lines, _DOTTED_LINE)
    if dotted >= 0.5 or (_share(lines, _LINK_LINE) >= 0.75 and len(lines) >= 5):
        return True
    numbered = [line for line in lines if _NUMBERED_LINE.match(line)]
    return len(lines) >= 6 and _share(lines, _PAGED_LINE) >= 0.8 and 2 * len(numbered) >= len(lines) and _ascend(lines)


def _ascend(lines: Iterable[str]) -> bool:
    """Whether the numbers at the ends of lines grow, as those of pages do and those of a table's last column do not."""
    pages = [int(match[1]) for line in lines if (match := re.search(r"(\d{1,4})\s*\Z", line))]
    steps = [later >= earlier for earlier, later in pairwise(pages)]
    return len(steps) >= 4 and sum(steps) >= 0.9 * len(steps)


def _is_index(lines: list[str]) -> bool:
    """Whether most lines are terms with page numbers, in the order of the alphabet."""
    if len(lines) < 6:
        return False
    entries = [line for line in lines if _INDEX_LINE.fullmatch(line) or _SEE_LINE.fullmatch(line)]
    if len(entries) < 0.7 * len(lines):
        return False
    heads = [line.strip("*_ \"'").casefold()[:2] for line in entries]
    ordered = sum(later >= earlier for earlier, later in pairwise(heads))
    return ordered >= 0.75 * (len(heads) - 1)


def _is_references(lines: list[str], words: int) -> bool:
    """Whether nearly every entry names a year and something that only a cited work has."""
    entries: list[str] = []
    for line in lines:
        if _ENTRY.match(line) or not entries:
            entries.append(line)
        else:
            entries[-1] += f" {line}"
    cited = sum(map(_is_cited, entries))
    return len(entries) >= 4 and cited >= 0.7 * len(entries) and words <= 60 * len(entries)


def _is_cited(entry: str) -> bool:
    """Whether an entry is a cited work; one with a mark such as [3] needs no more than a year or an address."""
    if _KEY.match(entry):
        return bool(_YEAR.search(entry) or _ADDRESS.search(entry))
    return bool(_YEAR.search(entry) and _pattern("cited").search(entry))


def _is_copyright(lines: list[str], words: int) -> bool:
    """Whether lines with two signs of rights or more make up at least half of the words."""
    signs = {match[0].casefold() for line in lines for match in _pattern("rights").finditer(line)}
    of_rights = sum(_words(line) for line in lines if _pattern("rights").search(line))
    return len(signs) >= 2 and 2 * of_rights >= words


def _words(text: str) -> int:
    """Words, two Chinese characters counted as one."""
    return len(_WORD.findall(_HAN.sub(" ", text))) + (len(_HAN.findall(text)) + 1) // 2


def _share(lines: list[str], pattern: re.Pattern[str]) -> float:
    return sum(pattern.fullmatch(line) is not None for line in lines) / len(lines)


def _pattern(name: str) -> re.Pattern[str]:
    return phrase("boilerplate", name)


@cache
def _heading(kind: Kind) -> re.Pattern[str]:
    return re.compile(rf"{_NUMBERING}{phrase('headings', kind).pattern}\s*", re.IGNORECASE)
