"""Finds the clauses at the top level of a query's text, ignoring strings, comments and brackets.

Nothing is parsed and nothing refused: one pass, linear in the text, for code that changes a query without rewriting it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

from steelyard.sql.results import EngineName

_COMMON: Final = r"""
      (?P<skip>[\s\ufeff]++|--[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z))
    | (?P<quoted>'[^']*+(?:''[^']*+)*+'|"[^"]*+(?:""[^"]*+)*+"%s)
    | (?P<word>[^\W\d][\w$]*+)
    | (?P<number>\d[\w.]*+)
    | (?P<mark>.)"""
_POSTGRES: Final = r"""
      (?P<skip>[ \t\n\r\f\v]++|\A\ufeff|--[^\r\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z))
    | (?P<quoted>[eE]'(?:[^'\\]|\\.|'')*+(?:'|\\?\Z)|'[^']*+(?:''[^']*+)*+(?:'|\Z)
        |"[^"]*+(?:""[^"]*+)*+(?:"|\Z)
        |\$(?P<tag>(?:[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*+)?)\$.*?(?:\$(?P=tag)\$|\Z))
    | (?P<word>[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_$\x80-\U0010ffff]*+)
    | (?P<number>\d[\d.]*+(?:[eE][-+]?\d++)?)
    | (?P<mark>.)"""
"""As PostgreSQL's scan.l reads it: any character beyond ASCII may be in a name, a blank of Unicode too (`$$` behind one
opens no text), a backslash escapes in E'...' alone, and what is not closed runs to the end. Comments nest there, which
no expression says: a text with one inside another is refused (`servers.statement_check`)."""
_MYSQL: Final = r"""
      (?P<skip>[\s\ufeff]++|--(?=[\x00-\x20\x7f]|\Z)[^\n]*+|\#[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z))
    | (?P<quoted>'(?:[^'\\]|\\.|'')*+(?:'|\\?\Z)|"(?:[^"\\]|\\.|"")*+(?:"|\\?\Z)|`[^`]*+(?:``[^`]*+)*+(?:`|\Z))
    | (?P<word>[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_$\x80-\U0010ffff]*+)
    | (?P<number>\d++(?:\.\d*+)?(?:[eE][-+]?\d++)?)
    | (?P<mark>.)"""
"""Two minus signs begin a comment only before a blank, `#` does everywhere, and a backslash escapes in texts. A word
may follow the digits of a number without a blank (`1.FOR UPDATE`)."""
_TOKENS: Final[dict[EngineName, str]] = {
    "sqlite": _COMMON % r"|`[^`]*+(?:``[^`]*+)*+`|\[[^\]]*+\]",
    "duckdb": _COMMON % r"|\$(?P<tag>\w*+)\$.*?\$(?P=tag)\$",
    "postgres": _POSTGRES,
    "mysql": _MYSQL,
}
_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")
_LIMITS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"LIMIT (?P<limit>-? ?\d+)(?: OFFSET (?P<offset>-? ?\d+))?",
        r"LIMIT (?P<offset>-? ?\d+) , (?P<limit>-? ?\d+)",
        r"OFFSET (?P<offset>\d+)(?: ROWS?)?(?: LIMIT (?P<limit>\d+))?",
        r"(?:OFFSET (?P<offset>\d+)(?: ROWS?)? )?FETCH (?:FIRST|NEXT) (?P<limit>\d+) ROWS? ONLY",
    )
)
_AFTER_ORDER: Final = frozenset({"LIMIT", "OFFSET", "FETCH", "USING", "FOR"})
_AFTER_SELECT: Final = frozenset({"FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "QUALIFY", "ORDER"})
_SET_WORDS: Final = frozenset({"UNION", "INTERSECT", "EXCEPT"})
_BODY_WORDS: Final = frozenset({"SELECT", "FROM", "VALUES", "ORDER", "TABLE", *_SET_WORDS})


def quoted(name: str, engine: EngineName) -> str:
    """A name in the quotes of an engine, as a query writes it.

    >>> quoted('a"b', "sqlite"), quoted('a"b', "mysql")
    ('"a""b"', '`a"b`')
    """
    mark = "`" if engine == "mysql" else '"'
    return f"{mark}{name.replace(mark, mark * 2)}{mark}"


class QueryToken(NamedTuple):
    """A token of a query: its text, its range, and the number of open brackets around it."""

    text: str
    start: int
    end: int
    depth: int
    kind: str

    @property
    def word(self) -> str:
        """The bare word in capitals; a mark or number as it stands; "" for what is quoted."""
        return "" if self.kind == "quoted" else self.text.upper()


class RowLimit(NamedTuple):
    """A LIMIT: `limit` rows (None: all) after `offset`; `known` where both are plain numbers."""

    limit: int | None
    offset: int
    known: bool


@dataclass(frozen=True, slots=True)
class QueryLayout:
    """The outermost query of a text.

    Args:
        text: the whole text.
        bare: the text with blanks for comments, at the same positions.
        body: the tokens of the outermost query, without brackets around all of it and without `;`.
        tail: tokens behind such brackets: a LIMIT of the bracketed query.
        deepest: how deep brackets are nested.
    """

    text: str
    bare: str
    body: tuple[QueryToken, ...]
    tail: tuple[QueryToken, ...]
    deepest: int

    def key_texts(self) -> list[str]:
        """The keys of the ORDER BY at the top level, as written, without ASC, DESC and NULLS; [] without one."""
        parts: list[list[QueryToken]] = [[]]
        (start, end), depth = self._order(), self._depth()
        for token in self.body[start:end]:
            if token.text == "," and token.depth == depth:
                parts.append([])
            else:
                parts[-1].append(token)
        stripped = [_without_direction(part) for part in parts]
        return [self.text[part[0].start : part[-1].end] for part in stripped if part]

    def cut(self) -> RowLimit | None:
        """The LIMIT and OFFSET behind the ORDER BY; None where there is neither."""
        if self.tail:
            return RowLimit(None, 0, known=False)
        tokens = self._limit()
        if not tokens:
            return None
        written = " ".join(token.word for token in tokens)
        for pattern in _LIMITS:
            if match := pattern.fullmatch(written):
                numbers = {name: int(number.replace(" ", "")) for name, number in match.groupdict().items() if number}
                limit = numbers.get("limit", -1)
                return RowLimit(limit if limit >= 0 else None, max(0, numbers.get("offset", 0)), known=True)
        return RowLimit(None, 0, known=False)

    def unlimited(self, text: str) -> str:
        """`text`, which ends as this one does, without the LIMIT and OFFSET."""
        tokens = self._limit()
        behind = len(self.text) - tokens[-1].end
        return text[: len(text) - (len(self.text) - tokens[0].start)] + text[len(text) - behind :]

    def with_columns(self, expressions: Sequence[str]) -> str | None:
        """The text with more columns at the end of its select list; None where that is not one plain SELECT."""
        depth = self._depth()
        top = [token for token in self.body if token.depth == depth]
        words = [token.word for token in top]
        if words.count("SELECT") != 1 or _SET_WORDS & set(words):
            return None
        first = words.index("SELECT")
        if "FROM" in words[:first] or words[first + 1 : first + 2] == ["DISTINCT"]:
            return None
        for index in range(first + 1, len(top)):
            # `a IS DISTINCT FROM b` begins no clause.
            if words[index] in _AFTER_SELECT and words[index - 1] != "DISTINCT":
                at = top[index].start
                added = "".join(f", ({expression})" for expression in expressions)
                return f"{self.text[:at]}{added} {self.text[at:]}"
        return None

    def orders(self) -> bool:
        """Whether the words ORDER BY occur at the top level."""
        return self._order()[0] > 0

    def _depth(self) -> int:
        return min((token.depth for token in self.body), default=0)

    def _order(self) -> tuple[int, int]:
        """The range of the keys in `body`; (0, 0) without any."""
        depth = self._depth()
        starts = [
            index + 2
            for index, (token, following) in enumerate(zip(self.body, self.body[1:], strict=False))
            if token.depth == depth and (token.word, following.word) == ("ORDER", "BY")
        ]
        if not starts:
            return 0, 0
        indices = range(starts[-1], len(self.body))
        behind = (index for index in indices if self.body[index].depth == depth)
        return starts[-1], next((index for index in behind if self.body[index].word in _AFTER_ORDER), len(self.body))

    def _limit(self) -> tuple[QueryToken, ...]:
        return self.body[self._order()[1] :] if self.orders() else ()


def layout_of(query: str, engine: EngineName) -> QueryLayout:
    """Find the outermost query of a text.

    >>> layout_of("(SELECT a, b FROM t ORDER BY lower(a) DESC, b LIMIT 3);", "sqlite").key_texts()
    ['lower(a)', 'b']
    >>> layout_of("SELECT rank() OVER (ORDER BY a), 'ORDER BY b' FROM t", "sqlite").orders()
    False
    """
    tokens = tuple(scan(query, engine))
    deepest = max((token.depth for token in tokens), default=0)
    body = tokens
    while body and body[-1].text == ";":
        body = body[:-1]
    tail: tuple[QueryToken, ...] = ()
    while bracketed := _bracketed(body):
        body, behind = bracketed
        tail = behind + tail
    parts, at = [], 0
    for token in tokens:
        parts += [" " * (token.start - at), token.text]
        at = token.end
    return QueryLayout(query, "".join(parts), body, tail, deepest)


@cache
def _scanner(engine: EngineName) -> re.Pattern[str]:
    """Compiled at the first query of its engine: every run imports this module, and most read no SQL."""
    return re.compile(_TOKENS[engine], re.VERBOSE | re.DOTALL)


def scan(query: str, engine: EngineName) -> Iterator[QueryToken]:
    """The tokens of a text, comments and blanks left out; a bracket is outside of what it encloses."""
    depth = 0
    for match in _scanner(engine).finditer(query):
        kind = match.lastgroup or ""
        if kind == "skip":
            continue
        if kind == "tag":
            kind = "quoted"
        text = match[0]
        if kind == "mark" and text in _CLOSING:
            depth = max(0, depth - 1)
        yield QueryToken(text, match.start(), match.end(), depth, kind)
        if kind == "mark" and text in _OPENING:
            depth += 1


def _bracketed(body: tuple[QueryToken, ...]) -> tuple[tuple[QueryToken, ...], tuple[QueryToken, ...]] | None:
    """The inside of the brackets around a whole query, and the tokens after them; None without such brackets."""
    if not body:
        return None
    depth = min(token.depth for token in body)
    top = [index for index, token in enumerate(body) if token.depth == depth]
    words = {body[index].word for index in top}
    if words & _BODY_WORDS or body[0].word not in {"(", "WITH"}:
        return None
    opened = [index for index in top if body[index].text == "("]
    closed = [index for index in top if body[index].text == ")"]
    if len(opened) != len(closed) or not opened or (body[0].text == "(" and len(opened) != 1):
        return None
    inside, behind = body[opened[-1] + 1 : closed[-1]], body[closed[-1] + 1 :]
    if not inside or inside[0].word not in {"SELECT", "WITH", "(", "FROM", "VALUES"}:
        return None
    return inside, behind


def _without_direction(tokens: list[QueryToken]) -> list[QueryToken]:
    words = [token.word for token in tokens]
    if len(words) > 2 and words[-2] == "NULLS" and words[-1] in {"FIRST", "LAST"}:
        tokens, words = tokens[:-2], words[:-2]
    return tokens[:-1] if len(words) > 1 and words[-1] in {"ASC", "DESC"} else tokens


def end_of_bracket(tokens: Sequence[QueryToken], opening: int) -> int:
    """The position of the bracket that closes the one at a position; the number of tokens where none does."""
    depth = tokens[opening].depth
    return next((at for at in range(opening + 1, len(tokens)) if tokens[at].depth <= depth), len(tokens))
