"""SQL that stands in a reply as text: in fenced blocks, as a statement of its own, or between backticks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from steelyard.replies.fences import JSON_WORDS, SQL_WORDS, Block, blocks_of
from steelyard.text.sql_reading import Problem, SqlCandidate, Wanted

_READS: Final = (
    r"(?:\(\s*)*+(?:select(?=[\s*(\"'`\[\d:@-])|with\s++(?:recursive\s++)?[\w\"`\[][^\n]{0,200}?"
    r"\bas\s*+(?:(?:not\s++)?materialized\s*+)?\(|values\s*+\()"
)
_WRITES: Final = (
    r"(?:insert\s++(?:or|into)|replace\s++into|update\s++\S++\s++set|delete\s++from|"
    r"(?:create|drop|alter)\s++(?:or|temp|temporary|table|view|index|unique|trigger|virtual|database|schema|sequence|"
    r"macro|function|user|role|type)|pragma|attach|detach|vacuum|explain|begin|commit|rollback|copy|install|load|"
    r"truncate|grant|call|describe|show|summarize|pivot|from\s++[\w.\"]++\s++select)\b"
)
_COMMENTS: Final = r"(?:\s++|--[^\n]*+(?:\n|\Z)|/\*(?s:.*?)(?:\*/|\Z))*+"
_ANY: Final = re.compile(rf"{_COMMENTS}(?:{_READS}|{_WRITES})", re.IGNORECASE)
_LINE: Final = re.compile(
    r"^[ \t>#]*+(?P<item>(?:[*-]|\d{1,2}[.)、])[ \t]++)?+(?:[^\n]{0,80}?[:：\]>][ \t*]*+)?(?P<sql>" + _READS + ")",
    re.IGNORECASE | re.MULTILINE,
)
_TOKEN: Final = re.compile(
    r"'[^']*+(?:'|\Z)|\"[^\"]*+(?:\"|\Z)|(?P<fence>```)|`[^`]*+(?:`|\Z)|--[^\n]*+|/\*(?s:.*?)(?:\*/|\Z)|(?P<semicolon>;)|(?P<bracket>[()])|"
    r"(?P<paragraph>\n[ \t\r]*+\n\s*+)|(?P<stop>\n[ \t*#]*+(?:sql\s?result|result|answer|explanation|note|question|"
    r"解释|说明|注|结果|答案)[ \t*]*+[:：]|\n[ \t]*+(?:this|the|the above|it)[ \t]++(?:sql|query|statement|code|"
    r"returns|selects)\b|\n[ \t]*+(?:note[ \t]++that|please[ \t]++note|let[ \t]++me|i[ \t]++(?:have|used|assumed))\b|"
    r"\n[ \t]*+(?:这条|这个|该|此|上述|以上)[ \t]*+(?:SQL|查询|语句|代码)|[；。]|\[/sql\]|"
    r"</(?:sql|answer|query|code|pre|s)>|<\|\w+\|>|<｜[^\n｜]{1,40}｜>)",
    re.IGNORECASE,
)
_CLAUSE: Final = re.compile(
    r"(?:from|where|group|order|having|limit|offset|union|intersect|except|join|left|right|full|inner|outer|cross|"
    r"natural|on|using|and|or|not|select|with|window|qualify|fetch|values|case|when|then|else|end|in|between|like|as|"
    r"asc|desc|over|partition|set|returning)\b|[(),;*\"'`\[]|--|/\*|[\w.]+\s*+[,=<>(]",
    re.IGNORECASE,
)
_UNFINISHED: Final = re.compile(
    r"(?:[,=<>+\-*/|%]|\b(?:select|distinct|from|join|where|and|or|not|on|by|as|in|like|between|having|limit|union|all|"
    r"intersect|except|with|when|then|else|case))[ \t\r]*+\Z",
    re.IGNORECASE,
)
_FULL_STOP: Final = re.compile(r"(?<=[^\W\d]|[)'\"`])\.\Z")
"""Behind a digit it makes a number of it."""
_PROSE: Final = re.compile(
    r"\s*+(?:Show|Explain|Begin|Commit|Call|Describe|Load|Copy|Install|Grant|Summarize)\b[^;]*+\Z"
)
"""Words that begin sentences more often than statements, unless a `;` says otherwise."""
_WRAPPED: Final = re.compile(rf"\s*+(?P<mark>\*\*|[\"'“‘])(?={_READS})", re.IGNORECASE)
_WRAPS: Final[Mapping[str, str]] = MappingProxyType({"**": "**", '"': '"', "'": "'", "“": "”", "‘": "’"})
_NEAR: Final = 40
_INLINE: Final = re.compile(r"(?<!`)`([^`\n]++)`(?!`)")


def blocks_in(text: str, start: int, end: int, form: Wanted) -> Iterator[SqlCandidate | Problem]:
    """The fenced blocks that hold SQL; beside a query, statements that only repeat the schema are left out."""
    found = [one for one in blocks_of(text, start, end) if _is_sql(text, one)]
    reading = [one for one in found if _is_reading(text, one)]
    for one in reading or found:
        sql = text[one.start : one.end].strip()
        if sql:
            yield SqlCandidate("", sql, "block", (one.start, one.end), broken_off=not one.closed)
        elif form == "block" or len(found) == 1:
            yield Problem("the fenced block is empty", (one.start, one.end))


def statements_in(text: str, start: int, end: int, _: Wanted) -> Iterator[SqlCandidate]:
    """The statements that stand on lines of their own, a label before them or not.

    A statement ends with `;`, or before a paragraph that does not go on with it, or with the reply. What begins like a
    sentence ("Select the ...") or an item of a list counts only where nothing else does: explanations do.
    """
    start, end = _unwrapped(text, start, end)
    opening = None if _PROSE.match(text, start, end) else _ANY.match(text, start, end)
    sound = opening is not None and not _like_a_sentence(opening[0].split(maxsplit=1)[0])
    lines = [] if sound else list(_lines_in(text, start, end))
    if opening and not any(certain for certain, _ in lines):
        first = start + len(text[start:end]) - len(text[start:end].lstrip())
        yield _statement(text, first, opening.end(), end)
        return
    best = any(certain for certain, _ in lines)
    yield from (one for certain, one in lines if certain == best)


def _unwrapped(text: str, start: int, end: int) -> tuple[int, int]:
    """The part within the marks that stand around a whole reply: quotes, or those of bold text."""
    wrapped = _WRAPPED.match(text, start, end)
    if wrapped is None:
        return start, end
    inside = text[wrapped.end() : end].rstrip()
    closed = inside.removesuffix(_WRAPS[wrapped["mark"]])
    return (wrapped.end(), wrapped.end() + len(closed)) if closed != inside else (start, end)


def _lines_in(text: str, start: int, end: int) -> Iterator[tuple[bool, SqlCandidate]]:
    """Statements that begin lines, and whether they can be nothing else; a possible item or sentence ends its line."""
    place = start
    while (line := _LINE.search(text, place, end)) is not None:
        certain = line["item"] is None and not _like_a_sentence(line["sql"].lstrip("( \t\n"))
        newline = text.find("\n", line.end(), end)
        found = _statement(text, line.start("sql"), line.end("sql"), end if certain or newline < 0 else newline)
        yield certain, found
        place = max(found.span[1], line.end())


def _like_a_sentence(text: str) -> bool:
    return text[:1].isupper() and text[1:2].islower()


def inline_in(text: str, start: int, end: int, _: Wanted) -> Iterator[SqlCandidate]:
    """Statements between single backticks in prose."""
    for match in _INLINE.finditer(text, start, end):
        if _ANY.match(match[1]) and " " in match[1].strip():
            yield SqlCandidate("", match[1].strip(), "statement", match.span(1))


def _is_sql(text: str, block: Block) -> bool:
    if block.word in SQL_WORDS:
        return not text[block.start : block.end].lstrip().startswith("{")
    return block.word not in JSON_WORDS and _ANY.match(text, block.start, block.end) is not None


def _is_reading(text: str, block: Block) -> bool:
    return re.match(rf"{_COMMENTS}{_READS}", text[block.start : block.end], re.IGNORECASE) is not None


def _statement(text: str, first: int, after: int, end: int) -> SqlCandidate:
    """The statement from `first` on, and those that follow it at once: whether several may run is not said here."""
    stop, closed = _end_of(text, after, end)
    while closed and (following := _ANY.match(text, stop, end)):
        stop, closed = _end_of(text, following.end(), end)
    sql = _FULL_STOP.sub("", text[first:stop].rstrip())
    return SqlCandidate(
        "", sql, "statement", (first, first + len(sql)), broken_off=not closed and not text[stop:end].strip()
    )


def _end_of(text: str, after: int, end: int) -> tuple[int, bool]:
    """Where a statement ends, and whether with `;`."""
    depth = 0
    for token in _TOKEN.finditer(text, after, end):
        if token["semicolon"]:
            return token.end(), True
        if token["bracket"]:
            depth += 1 if token["bracket"] == "(" else -1
        elif (
            token["stop"]
            or token["fence"]
            or (token["paragraph"] and depth <= 0 and not _goes_on(text, token.span(), end))
        ):
            return token.start(), False
    return end, False


def _goes_on(text: str, paragraph: tuple[int, int], end: int) -> bool:
    """Whether a statement goes on behind a blank line: it is not done before it, or a clause follows."""
    before, after = paragraph
    unfinished = _UNFINISHED.search(text, max(0, before - _NEAR), before)
    return unfinished is not None or _CLAUSE.match(text, after, end) is not None
