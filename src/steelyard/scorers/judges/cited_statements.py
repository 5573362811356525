"""The sentences of an answer that state something, each with the passages that its citation marks name.

A mark belongs to the sentence that it stands in or behind; one that begins a line, or stands in a sentence that ends in
a colon, to the sentence that follows. No statements are: questions without marks; what ends in a colon; headings,
header rows of tables, fenced code, and a list of sources behind the text (with its heading, or as footnotes
`[^1]: Handbook`), with the marks in them. Inline code holds no marks and is no statement alone.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from steelyard.replies.citations import Citation, read_citations
from steelyard.retrieval.sentences import sentences

_COLONS: Final = (":", "：")
_NO_STATEMENT: Final = ("?", "？", *_COLONS)
_NEXT_WORD: Final = 40

_CODE_BLOCK: Final = re.compile(
    r"^[ \t]*(?P<fence>`{3,}+|~{3,}+)[^`\n]*$(?:[\s\S]*?(?:^[ \t]*(?P=fence)[`~]*[ \t\r]*$)|[\s\S]*)", re.MULTILINE
)
_INLINE_CODE: Final = re.compile(r"`[^`\n]+`")
_TITLE: Final = (
    r"^[ \t]*(?:#{1,6}[ \t]+)?[*_(（]{0,3}"
    r"(?:(?:cited[ ])?(?:sources?|references?|citations?|footnotes?)(?:[ ](?:used|cited))?"
    r"|works[ ]cited|bibliography|参考(?:资料|文献|来源)|(?:资料|引用|信息)?来源|引用|出处|脚注)[ \t]?[*_]{0,3}"
)
_ENTRY: Final = r"(?:[-*+•][ \t]|\d{1,3}[.)、．]|[\[【(（])"
_CONTINUED: Final = r"(?:\n(?:[ ]{2}|\t)[ \t]*+(?![-*+•\d\[【(（#|`])\S[^\n]*+)*+"
_SOURCE_LIST: Final = re.compile(
    rf"{_TITLE}[:：]?[*_]{{0,3}}[ \t\r]*(?:(?:\n[ \t\r]*+)++{_ENTRY}[^\n]*+{_CONTINUED})++",
    re.IGNORECASE | re.MULTILINE,
)
_SOURCE_LINE: Final = re.compile(
    rf"(?P<title>{_TITLE}[:：][*_]{{0,3}}[ \t]*)(?P<listed>[\[【(（][^\n]*)$", re.IGNORECASE | re.MULTILINE
)
_LINES_WITHOUT_STATEMENTS: Final = re.compile(
    rf"^[ \t]*\[(?:\^[^\]\n]{{1,40}}\]:|\d{{1,3}}\]:[ \t]*<?https?://)[^\n]*+{_CONTINUED}"  # footnotes, links
    r"|^[ ]{0,3}#{1,6}[ \t][^\n]*"
    r"|^[^\n|]*\|[^\n]*(?=\n[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t\r]*$)",
    re.MULTILINE,
)
_COLON_ENDS_LINE: Final = re.compile(r"[:：][*_ \t\r]*\n")
_NOT_BREAK: Final = re.compile(r"[^\n]")

Passages = tuple[int, ...]
"""Positions of passages, from 0."""


@dataclass(frozen=True, slots=True)
class CitedStatement:
    """A sentence of an answer.

    Args:
        text: without its marks.
        cited: positions of the passages that it cites, from 0, each once.
        unknown: how many of the numbers that it cites no passage has.
    """

    text: str
    cited: Passages
    unknown: int

    @property
    def checks(self) -> tuple[Passages, ...]:
        """The sets of passages against which it is checked: all that it cites, each alone, and all but each."""
        alone = [(passage,) for passage in self.cited]
        without = [tuple(other for other in self.cited if other != passage) for passage in self.cited]
        return tuple(dict.fromkeys(passages for passages in (self.cited, *alone, *without) if passages))


def statements(answer: str, passages: int, first: int = 1) -> list[CitedStatement]:
    r"""The sentences of an answer that state something, with what each cites.

    Args:
        answer: with its marks.
        passages: how many there are.
        first: the number of the first one.

    >>> [(stated.text, stated.cited, stated.unknown) for stated in statements("It rains [1]. Wind blows.[2][9]", 2)]
    [('It rains.', (0,), 0), ('Wind blows.', (1,), 1)]
    >>> [(stated.text, stated.cited) for stated in statements("Summary:\n[1] It rains.\n\nSources:\n[1] Handbook", 2)]
    [('It rains.', (0,))]
    """
    prose = _prose(answer)
    without_code = _INLINE_CODE.sub(_blanked, prose)
    marks = read_citations(without_code)
    ends = [0, *(mark.end for mark in marks)]
    between = [prose[end : mark.start] + " " * (mark.end - mark.start) for end, mark in zip(ends, marks, strict=False)]
    text = "".join([*between, prose[ends[-1] :]])
    lines = _lines_begun(text, marks)
    spans = [(start, end) for start, end in sentences(_with_breaks(text, marks, lines)) if _has_words(text[start:end])]
    cited: dict[int, list[Citation]] = {}
    for mark, line in zip(marks, lines, strict=True):
        cited.setdefault(_sentence_of(mark, line is not None, text, spans), []).append(mark)
    return [
        _statement(_joined(text[start:end]), cited.get(no, ()), passages, first)
        for no, (start, end) in enumerate(spans)
        if no in cited or (_has_words(without_code[start:end]) and not _ends_in(text[start:end], _NO_STATEMENT))
    ]


def _prose(answer: str) -> str:
    """The answer with blanks in the place of code blocks and of lines that state nothing; offsets and lines stay."""
    text = _CODE_BLOCK.sub(_blanked, answer)
    # "Sources:" at the beginning may be what the question asks for.
    begin = len(text) - len(text.lstrip())
    text = _SOURCE_LIST.sub(lambda match: match.group() if match.start() <= begin else _blanked(match), text)
    text = _SOURCE_LINE.sub(lambda match: match.group() if match.start() <= begin else _without_title(match), text)
    return _LINES_WITHOUT_STATEMENTS.sub(_blanked, text)


def _blanked(match: re.Match[str]) -> str:
    return _NOT_BREAK.sub(" ", match.group())


def _without_title(match: re.Match[str]) -> str:
    """Of "Sources: [1], [2]" the marks, which belong to the text before; of "Sources: [1] Handbook" nothing."""
    marks = read_citations(match["listed"])
    ends = [0, *(mark.end for mark in marks)]
    starts = [*(mark.start for mark in marks), len(match["listed"])]
    if any(_has_words(match["listed"][end:start]) for end, start in zip(ends, starts, strict=True)):
        return _blanked(match)
    return " " * len(match["title"]) + match["listed"]


def _lines_begun(text: str, marks: Sequence[Citation]) -> list[int | None]:
    """For each mark that begins a line, the offset of the line break before it, -1 in the first line; else None."""
    lines: list[int | None] = []
    end, line = 0, -1
    begins = True
    for mark in marks:
        last_break = text.rfind("\n", end, mark.start)
        if last_break >= 0:
            begins, line, end = True, last_break, last_break
        begins = begins and not text[end : mark.start].strip()
        lines.append(line if begins else None)
        end = mark.end
    return lines


def _with_breaks(text: str, marks: Sequence[Citation], lines: Sequence[int | None]) -> str:
    """The text with a sure end of sentence behind a colon that ends a line, and before a line that a mark begins.

    Elsewhere a long line without a full stop may go on in the next one, as it does if that begins with a small letter.
    """
    characters = list(text)
    for match in _COLON_ENDS_LINE.finditer(text):
        characters[match.end() - 1] = "\v"
    for mark, line in zip(marks, lines, strict=True):
        if line is not None and line >= 0 and not text[mark.end : mark.end + _NEXT_WORD].lstrip()[:1].islower():
            characters[line] = "\v"
    return "".join(characters)


def _sentence_of(mark: Citation, begins_line: bool, text: str, spans: Sequence[tuple[int, int]]) -> int:  # noqa: FBT001  # of the mark
    """The number of the sentence that a mark belongs to."""
    next_one = bisect_right(spans, mark.start, key=lambda span: span[0])
    if next_one == 0:
        return 0
    number, last = next_one - 1, len(spans) - 1
    start, end = spans[number]
    if number < last and mark.start >= end and begins_line and text.find("\n", mark.end, spans[next_one][0]) < 0:
        return next_one
    return next_one if number < last and _ends_in(text[start:end], _COLONS) else number


def _has_words(text: str) -> bool:
    return any(map(str.isalnum, text))


def _ends_in(sentence: str, stops: tuple[str, ...]) -> bool:
    return sentence.rstrip("*_ ").endswith(stops)


def _statement(text: str, marks: Sequence[Citation], passages: int, first: int) -> CitedStatement:
    numbers = dict.fromkeys(number - first for mark in marks for number in mark.numbers)
    cited = tuple(number for number in numbers if 0 <= number < passages)
    return CitedStatement(text, cited, len(numbers) - len(cited))


def _joined(text: str) -> str:
    """A sentence on one line, without the blanks that its marks left before punctuation."""
    words = " ".join(text.split())
    for stop in ".,;:!?。，；：！？":
        words = words.replace(f" {stop}", stop)
    return words.lstrip(":： ")  # "[1]: It rains."
