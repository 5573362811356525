"""Finds the parts of a query that leave its result open, so that it may return other rows tomorrow.

    LIMIT without ORDER BY        any rows may be returned
    ties at a LIMIT or OFFSET     any of the rows with equal keys, in the query itself and in its subqueries
    row_number(), lag() ...       rows with equal keys are numbered in any order
    random(), TABLESAMPLE         another result each time

What the text allows is not a fault as long as the data decide: a LIMIT 1 is unique where no two rows tie. So each part
is rewritten twice, its rows ordered further by all that is selected, upwards and downwards. Both are results that the
query may return; where they differ, the result is not unique. The text is only added to, never generated from a tree.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from steelyard.sql.cells import intern_tables
from steelyard.sql.layout import QueryToken, scan
from steelyard.sql.results import EngineName, ResultTable

_MOST_PARTS: Final = 4
"""Limit of parts of one query that are checked; each costs two queries."""
_SHOWN: Final = 90
_AFTER_LIST: Final = frozenset({"FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "QUALIFY", "ORDER"})
_AFTER_TABLES: Final = frozenset({"WHERE", "GROUP", "HAVING", "WINDOW", "QUALIFY", "ORDER", "LIMIT", "OFFSET", "FETCH"})
_SET_WORDS: Final = frozenset({"UNION", "INTERSECT", "EXCEPT"})
_NO_ALIAS: Final = frozenset(
    {
        *_AFTER_TABLES,
        *_SET_WORDS,
        *("JOIN", "ON", "USING", "LEFT", "RIGHT", "FULL", "INNER", "CROSS", "NATURAL", "OUTER"),
    }
)
_NUMBERING: Final = frozenset({"ROW_NUMBER", "NTILE", "LAG", "LEAD", "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE"})
_FRAMES: Final = frozenset({"ROWS", "RANGE", "GROUPS"})
_RANDOM: Final = frozenset({"RANDOM", "RANDOMBLOB", "UUID", "GEN_RANDOM_UUID", "UUIDV4", "UUIDV7"})
_SAMPLES: Final = frozenset({"TABLESAMPLE", "SAMPLE"})


@dataclass(frozen=True, slots=True)
class OpenPart:
    """A part of a query whose rows the text does not decide.

    Args:
        text: what it is and where, for a person.
        variants: two whole queries, both of which return what the query may return.
        unlimited: the query without its LIMIT, where it has no ORDER BY: it may return any of these rows; "" otherwise.
        random: whether the engine draws: then a variant says nothing about another result.
    """

    text: str
    variants: tuple[str, str]
    unlimited: str = ""
    random: bool = False


def open_parts(query: str, engine: EngineName, columns: Sequence[str] = ()) -> tuple[OpenPart, ...]:
    """Find the parts of a query that may leave its result open; whether they do is for `differ` on their results.

    Args:
        query: one SELECT, of the reference.
        engine: whose SQL it is.
        columns: the names of its result's columns, where it has been run: `SELECT *` hides them.

    >>> [part] = open_parts("SELECT name FROM t WHERE id = (SELECT id FROM t ORDER BY age LIMIT 1)", "sqlite")
    >>> part.text
    'ties at the LIMIT of: SELECT id FROM t ORDER BY age LIMIT 1'
    >>> part.variants[1]
    'SELECT name FROM t WHERE id = (SELECT id FROM t ORDER BY age , 1 DESC LIMIT 1)'
    >>> open_parts("SELECT max(age) FROM t", "sqlite")
    ()
    """
    words = query.upper()
    # Most queries, without the cost of reading them.
    if not any(word in words for word in ("LIMIT", "OFFSET", "FETCH", "OVER", *_RANDOM, "SAMPLE")):
        return ()
    parts = tuple(_QueryReader(query, engine, columns).parts())
    # A query that draws rows decides nothing else either.
    return tuple(part for part in parts if part.random)[:1] or parts[:_MOST_PARTS]


def differ(first: ResultTable, second: ResultTable) -> bool:
    """Whether two results hold other rows, in any order.

    >>> differ(ResultTable(("a",), [(1,), (2,)]), ResultTable(("a",), [(2,), (1,)]))
    False
    """
    first_rows, second_rows = intern_tables(first.rows, second.rows)
    return Counter(first_rows) != Counter(second_rows)


class _QueryReader:
    """The tokens of a query, and the selects that they form: all tokens of one depth between two brackets."""

    def __init__(self, query: str, engine: EngineName, columns: Sequence[str]) -> None:
        self._query, self._engine, self._columns = query, engine, columns
        self._tokens = tuple(scan(query, engine))

    def parts(self) -> Iterator[OpenPart]:
        for index, token in enumerate(self._tokens):
            part = None
            if self._begins_limit(index):
                part = self._limit(index)
            elif token.word in _NUMBERING:
                part = self._numbering(index)
            elif (token.word in _RANDOM and self._text(index + 1) == "(") or token.word in _SAMPLES:
                part = OpenPart(f"{token.text} draws other rows each time", (self._query, self._query), random=True)
            if part is not None:
                yield part

    def _text(self, index: int) -> str:
        return self._tokens[index].text if 0 <= index < len(self._tokens) else ""

    def _begins_limit(self, index: int) -> bool:
        """Whether a LIMIT begins here, or an OFFSET or FETCH without one before it."""
        token = self._tokens[index]
        if token.word == "LIMIT":
            return self._text(index + 1) != "0" or self._text(index + 2) == ","
        if token.word not in {"OFFSET", "FETCH"} or self._engine == "sqlite":
            return False
        start, _ = self._bounds(index)
        before = self._level(start, index)
        return not {"LIMIT", "OFFSET"} & {earlier.word for earlier in before}

    def _bounds(self, index: int) -> tuple[int, int]:
        """The first token of the bracket around a token, and the position after its last one."""
        depth = self._tokens[index].depth
        start, end = index, index
        while start > 0 and self._tokens[start - 1].depth >= depth:
            start -= 1
        while end < len(self._tokens) and self._tokens[end].depth >= depth and self._tokens[end].text != ";":
            end += 1
        return start, end

    def _level(self, start: int, end: int) -> list[QueryToken]:
        """The tokens of a range that are in no further bracket."""
        depth = min((token.depth for token in self._tokens[start:end]), default=0)
        return [token for token in self._tokens[start:end] if token.depth == depth]

    def _limit(self, index: int) -> OpenPart | None:
        start, end = self._bounds(index)
        if start > 1 and self._tokens[start - 2].word == "EXISTS":
            return None
        before = self._level(start, index)
        words = [token.word for token in before]
        if "SELECT" not in words or "FROM" in words[: words.index("SELECT")]:
            return None
        ordered = any(pair == ("ORDER", "BY") for pair in itertools.pairwise(words))
        if ordered and words[-1] == "ALL":
            return None  # rows that tie in all columns are the same rows
        keys = self._keys(before, top=start == 0)
        if not keys:
            return None
        at = self._tokens[index].start
        head, tail = self._query[:at], self._query[at:]
        lead = ", " if ordered else "ORDER BY "
        variants = tuple(f"{head}{lead}{', '.join(f'{key} {way}' for key in keys)} {tail}" for way in ("ASC", "DESC"))
        stop = self._tokens[end].start if end < len(self._tokens) else len(self._query)
        kind = "ties at the LIMIT of" if ordered else "LIMIT without ORDER BY in"
        shown = _shortened(self._query[self._tokens[start].start : stop])
        unlimited = "" if ordered or start else head + self._query[stop:]
        return OpenPart(f"{kind}: {shown}", (variants[0], variants[1]), unlimited)

    def _keys(self, before: Sequence[QueryToken], *, top: bool) -> list[str]:
        """Keys that separate the rows of a select: its columns by number; where those are hidden, its tables' rows."""
        items = _listed(before)
        if not any(_is_star(item) for item in items):
            return [str(number + 1) for number in range(len(items))]
        if top and self._columns:
            return [str(number + 1) for number in range(len(self._columns))]
        return _row_ids(before)

    def _numbering(self, index: int) -> OpenPart | None:
        """A window function that numbers rows, or looks at the row before, with ties in its order."""
        window = self._window(index)
        if window is None:
            return None
        opening, closing = window
        start, end = self._bounds(index)
        keys = _row_ids(self._level(start, end))
        inside = self._level(opening + 1, closing)
        words = [token.word for token in inside]
        if not keys or "ALL" in words:
            return None
        frame = next((token.start for token in inside if token.word in _FRAMES), self._tokens[closing].start)
        head, tail = self._query[:frame], self._query[frame:]
        lead = ", " if "ORDER" in words else " ORDER BY "
        variants = tuple(f"{head}{lead}{', '.join(f'{key} {way}' for key in keys)} {tail}" for way in ("ASC", "DESC"))
        shown = _shortened(self._query[self._tokens[index].start : self._tokens[closing].end])
        return OpenPart(f"rows with equal keys in: {shown}", (variants[0], variants[1]))

    def _window(self, index: int) -> tuple[int, int] | None:
        """The brackets behind the OVER of a function."""
        depth = self._tokens[index].depth
        level = [at for at in range(index, len(self._tokens)) if self._tokens[at].depth == depth]
        words = [self._tokens[at].word for at in level[:8]]
        if "OVER" not in words:
            return None
        after = words.index("OVER") + 1
        if words[after : after + 2] != ["(", ")"]:
            return None
        return level[after], level[after + 1]


def _listed(before: Sequence[QueryToken]) -> list[list[QueryToken]]:
    """The entries of the first select list."""
    words = [token.word for token in before]
    first = words.index("SELECT") + 1
    if words[first : first + 1] in (["DISTINCT"], ["ALL"]):
        first += 1
    if words[first : first + 1] == ["ON"]:
        first += 3
    items: list[list[QueryToken]] = [[]]
    for token in before[first:]:
        if token.word in _AFTER_LIST | _SET_WORDS:
            break
        if token.text == ",":
            items.append([])
        else:
            items[-1].append(token)
    return [item for item in items if item]


def _is_star(item: Sequence[QueryToken]) -> bool:
    texts = [token.text for token in item]
    return texts[0] in {"*", "COLUMNS"} or any(pair == (".", "*") for pair in itertools.pairwise(texts))


def _row_ids(level: Sequence[QueryToken]) -> list[str]:
    """The row ids of the tables of a select; [] where it groups rows, or not all that it reads are tables."""
    words = [token.word for token in level]
    if "FROM" not in words or {"GROUP", "DISTINCT", *_SET_WORDS} & set(words):
        return []
    names: list[str] = []
    expected = False
    for at in range(words.index("FROM"), len(level)):
        token = level[at]
        if token.word in _AFTER_TABLES:
            break
        if token.word in {"FROM", "JOIN"} or token.text == ",":
            expected = True
        elif token.text == "(" and expected:
            return []
        elif expected:
            names.append(_alias(level, at))
            expected = False
    return [f"{name}.rowid" for name in names]


def _alias(level: Sequence[QueryToken], at: int) -> str:
    """The name of the table in its query."""
    while at + 2 < len(level) and level[at + 1].text == ".":
        at += 2
    behind = level[at + 1 : at + 3]
    if behind and behind[0].word == "AS":
        return behind[1].text
    has_alias = behind and behind[0].kind in {"word", "quoted"} and behind[0].word not in _NO_ALIAS
    return behind[0].text if has_alias else level[at].text


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN // 2]} … {text[-_SHOWN // 2 :]}"
