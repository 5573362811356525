"""Finds the parts of a query that leave its result open, so that it may return other rows tomorrow.

    LIMIT without ORDER BY        any rows may be returned
    ties at a LIMIT or OFFSET     any of the rows with equal keys, in the query itself and in its subqueries
    row_number(), lag() ...       rows with equal keys are numbered in any order; so are those of a frame of ROWS
    group_concat(), list() ...    without ORDER BY, or with equal keys in it, the parts are in any order
    ARRAY(SELECT ...)             without ORDER BY, likewise
    arg_max(), mode() ...         of several equal rows or values any one
    DISTINCT ON                   any of the rows that are equal in it
    = (SELECT ...)                of several rows SQLite compares with the first
    columns outside GROUP BY      the value of any row of the group: `steelyard.sql.bare_columns`
    random(), TABLESAMPLE         another result each time

What the text allows is not a fault as long as the data decide: a LIMIT 1 is unique where no two rows tie. So each part
is rewritten twice, its rows ordered further by all that is selected, upwards and downwards. Both are results that the
query may return; where they differ, the result is not unique. The text is only added to, never generated from a tree.
Where an engine cannot order the rows of an aggregate, its smallest and largest value show whether they are several.
"""

# Why it is so, and what was rejected: docs/decisions/sql-verdict.md

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise
from typing import Any, Final

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from steelyard.plain_json import parsed_or
from steelyard.sql.cells import intern_tables
from steelyard.sql.layout import QueryToken, end_of_bracket, scan
from steelyard.sql.results import EngineName, ResultTable
from steelyard.sql.syntax import UNFORESEEN, syntax_of

_MOST_PARTS: Final = 4
"""Limit of parts of one query that are checked; each costs two queries."""
_MOST_READ: Final = 40
_LONGEST: Final = 20_000
"""Characters of a query that is looked at: finding brackets takes the square of its parts."""
_SHOWN: Final = 90
_DEEPEST: Final = 8
"""Parts of WITH that are followed for the names of columns."""
_CALL_WITH_ALIAS: Final = 5
"""Tokens of `f(...) AS name`, the ones within its brackets left out."""
_AFTER_LIST: Final = frozenset({"FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "QUALIFY", "ORDER"})
_AFTER_GROUP: Final = frozenset({"HAVING", "WINDOW", "QUALIFY", "ORDER", "LIMIT", "OFFSET", "FETCH"})
_SET_WORDS: Final = frozenset({"UNION", "INTERSECT", "EXCEPT"})
_NUMBERING: Final = frozenset({"ROW_NUMBER", "NTILE", "LAG", "LEAD", "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE"})
_FRAMES: Final = frozenset({"ROWS", "RANGE", "GROUPS"})
_RANDOM: Final = frozenset({"RANDOM", "RANDOMBLOB", "UUID", "GEN_RANDOM_UUID", "UUIDV4", "UUIDV7", "RAND"})
_SAMPLES: Final = frozenset({"TABLESAMPLE", "SAMPLE"})
_TEXTS: Final = frozenset({"GROUP_CONCAT", "STRING_AGG", "LISTAGG"})
ONE_VALUE: Final = frozenset({"ANY_VALUE", "FIRST", "LAST", "ARBITRARY"})
_OF_EQUALS: Final = frozenset({"ARG_MAX", "ARG_MIN", "ARGMAX", "ARGMIN", "MAX_BY", "MIN_BY", "MODE", "APPROX_TOP_K"})
_GATHERING: Final = (
    _TEXTS
    | ONE_VALUE
    | _OF_EQUALS
    | {
        *("ARRAY_AGG", "LIST"),
        *("JSON_GROUP_ARRAY", "JSON_GROUP_OBJECT", "JSONB_GROUP_ARRAY"),
        *("JSON_AGG", "JSONB_AGG", "JSON_ARRAYAGG", "XMLAGG"),
    }
)
_AGGREGATES: Final = frozenset({"COUNT", "SUM", "AVG", "MIN", "MAX", "TOTAL", "GROUP_CONCAT", "STRING_AGG"})
_ORDERS_AGGREGATES: Final = (3, 44)
"""The version of SQLite that knows ORDER BY within an aggregate."""
_MACROS: Final = frozenset({"JSON_GROUP_ARRAY", "JSON_GROUP_OBJECT"})
_COMPARISONS: Final = frozenset("=<>")
_ORDERED_WITHIN: Final = frozenset({"ORDER", "OVER", "WITHIN"})
"""What decides the order of an aggregate: within its brackets, or behind them."""


@dataclass(frozen=True, slots=True)
class OpenPart:
    """A part of a query whose rows the text does not decide.

    Args:
        text: what it is and where, for a person.
        variants: two or more whole queries, each of which returns what the query may return.
        unlimited: the query without its LIMIT, where it has no ORDER BY: it may return any of these rows; "" otherwise.
        random: whether the engine draws: then a variant says nothing about another result.
        probes: whether the variants only show that there are other results, and are none themselves.
        gathered: the output column whose parts are in any order, and what stands between them ("" in a list).
    """

    text: str
    variants: tuple[str, ...]
    unlimited: str = ""
    random: bool = False
    probes: bool = False
    gathered: tuple[int, str] | None = None


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
    hints = ("LIMIT", "OFFSET", "FETCH", "OVER", "DISTINCT ON", *_RANDOM, *_SAMPLES, *_GATHERING)
    if len(query) > _LONGEST or not (words.count("SELECT") > 1 or any(word in words for word in hints)):
        return ()
    parts = tuple(islice(_QueryReader(query, engine, columns).parts(), _MOST_READ))
    # A query that draws rows decides nothing else either.
    return tuple(part for part in parts if part.random)[:1] or parts[:_MOST_PARTS]


def differ(first: ResultTable, second: ResultTable) -> bool:
    """Whether two results hold other rows, in any order.

    >>> differ(ResultTable(("a",), [(1,), (2,)]), ResultTable(("a",), [(2,), (1,)]))
    False
    """
    first_rows, second_rows = intern_tables(first.rows, second.rows)
    return Counter(first_rows) != Counter(second_rows)


def may_have_bare_columns(query: str, engine: EngineName) -> bool:
    """Whether a query may return the value of any row of a group, by its words: most queries do not."""
    words = query.upper()
    has_bare = engine in {"sqlite", "mysql"}
    if has_bare and ("GROUP" in words or ("DISTINCT" in words and "ORDER" in words and "LIMIT" in words)):
        return True
    calls = _AGGREGATES if has_bare else ONE_VALUE
    return any(f"{name}(" in words.replace(" ", "") for name in calls)


def with_parts_as(reference: ResultTable, prediction: ResultTable, column: int, separator: str) -> ResultTable:
    """The prediction with each cell whose parts are those of a reference's cell, in another order, replaced by it.

    Args:
        reference: the reference's result.
        prediction: the prediction's.
        column: of the reference, that holds the parts.
        separator: between the parts of a text; "" where they are a list, or its JSON.

    >>> first, second = ResultTable(("n",), [("a,b",)]), ResultTable(("n",), [("b,a",)])
    >>> with_parts_as(first, second, 0, ",").rows
    [('a,b',)]
    """
    known = {key: row[column] for row in reference.rows if (key := _parts_of(row[column], separator)) is not None}

    def changed(cell: Any) -> Any:
        key = _parts_of(cell, separator)
        return cell if key is None else known.get(key, cell)

    return replace(prediction, rows=[tuple(map(changed, row)) for row in prediction.rows])


def _parts_of(cell: Any, separator: str) -> tuple[str, ...] | None:
    """The parts of a cell, sorted; None where it has none."""
    if isinstance(cell, str) and separator:
        return tuple(sorted(cell.split(separator)))
    if isinstance(cell, str) and cell.startswith("["):
        cell = parsed_or(cell)
    return tuple(sorted(map(repr, cell))) if isinstance(cell, list) else None


class _QueryReader:
    """The tokens of a query, and the selects that they form: all tokens of one depth between two brackets."""

    def __init__(self, query: str, engine: EngineName, columns: Sequence[str]) -> None:
        self._query, self._engine, self._columns = query, engine, columns
        self._tokens = tuple(scan(query, engine))
        self._has_rows = any(token.word == "ROWS" for token in self._tokens)

    def parts(self) -> Iterator[OpenPart]:
        return (part for index in range(len(self._tokens)) if (part := self._part_at(index)) is not None)

    def _part_at(self, index: int) -> OpenPart | None:
        """The part that begins at a token; None for most."""
        word, following = self._tokens[index].word, self._text(index + 1)
        part = None
        if self._begins_limit(index):
            part = self._limit(index)
        elif word in _NUMBERING or self._begins_window(index):
            part = self._numbering(index)
        elif word in _GATHERING and following == "(" and self._text(index - 1) != ".":
            part = self._gathering(index)
        elif word == "ARRAY" and following == "(" and self._text(index + 2) and self._engine == "duckdb":
            part = self._array(index)
        elif word == "DISTINCT" and following.upper() == "ON":
            part = self._distinct_on(index)
        elif word == "SELECT" and self._engine == "sqlite" and self._text(index - 2) in _COMPARISONS:
            part = self._compared(index)
        elif ((word in _RANDOM and following == "(") or word in _SAMPLES) and not self._only_shuffles(index):
            text = f"{self._text(index)} draws other rows each time"
            part = OpenPart(text, (self._query, self._query), random=True)
        return part

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
        if "SELECT" not in words[: words.index("FROM") if "FROM" in words else None] and words[:1] != ["FROM"]:
            return None
        ordered = any(pair == ("ORDER", "BY") for pair in pairwise(words))
        if ordered and words[-1] == "ALL":
            return None  # rows that tie in all columns are the same rows
        keys = self._keys(before, top=start == 0)
        if not keys:
            return None
        variants = self._ordered_further(self._tokens[index].start, keys, ordered=ordered)
        stop = self._tokens[end].start if end < len(self._tokens) else len(self._query)
        kind = "ties at the LIMIT of" if ordered else "LIMIT without ORDER BY in"
        shown = _shortened(self._query[self._tokens[start].start : stop])
        unlimited = "" if ordered or start else self._query[: self._tokens[index].start] + self._query[stop:]
        return OpenPart(f"{kind}: {shown}", variants, unlimited)

    def _distinct_on(self, index: int) -> OpenPart | None:
        """DISTINCT ON, whose rows are equal in all that its query is ordered by; a LIMIT orders them further itself."""
        start, end = self._bounds(index)
        level = self._level(start, end)
        words = [token.word for token in level]
        keys = self._keys(level, top=start == 0)
        if not keys or {"LIMIT", "OFFSET", "FETCH", *_SET_WORDS} & set(words):
            return None
        at = self._tokens[end].start if end < len(self._tokens) else len(self._query)
        shown = _shortened(self._query[self._tokens[index].start : at])
        return OpenPart(
            f"any of the rows that are equal in: {shown}", self._ordered_further(at, keys, ordered="ORDER" in words)
        )

    def _compared(self, index: int) -> OpenPart | None:
        """A subquery in a comparison: of several rows SQLite takes the first."""
        start, end = self._bounds(index)
        level = self._level(start, end)
        words = [token.word for token in level]
        is_one_row = words[1] in _AGGREGATES and "GROUP" not in words
        if (
            self._text(start - 1) != "("
            or is_one_row
            or {"LIMIT", *_SET_WORDS} & set(words)
            or end == len(self._tokens)
        ):
            return None
        at = self._tokens[end].start
        up, down = self._ordered_further(at, ["1"], ordered="ORDER" in words)
        behind = len(self._query) - at
        variants = tuple(f"{query[:-behind]}LIMIT 1{query[-behind:]}" for query in (up, down))
        shown = _shortened(self._query[self._tokens[start].start : at])
        return OpenPart(f"the first of several rows in a comparison: {shown}", (variants[0], variants[1]))

    def _ordered_further(self, at: int, keys: Sequence[str], *, ordered: bool) -> tuple[str, str]:
        """The query with its rows ordered further at a position, upwards and downwards."""
        lead = ", " if ordered else " ORDER BY "
        head, tail = self._query[:at], self._query[at:]
        up, down = (f"{head}{lead}{', '.join(f'{key} {way}' for key in keys)} {tail}" for way in ("ASC", "DESC"))
        return up, down

    def _keys(self, before: Sequence[QueryToken], *, top: bool) -> list[str]:
        """Keys that separate the rows of a select: its columns by number; where those are hidden, its tables' rows."""
        items = _listed(before) if any(token.word == "SELECT" for token in before) else []
        if items and not any(_is_star(item) for item in items):
            return [str(number + 1) for number in range(len(items))]
        if top and self._columns:
            return [str(number + 1) for number in range(len(self._columns))]
        return self._row_keys(before)

    def _begins_window(self, index: int) -> bool:
        """Whether an aggregate over a frame of ROWS begins here."""
        token = self._tokens[index]
        if not self._has_rows or token.kind != "word" or self._text(index + 1) != "(":
            return False
        window = self._window(index)
        return window is not None and any(inside.word == "ROWS" for inside in self._level(window[0] + 1, window[1]))

    def _only_shuffles(self, index: int) -> bool:
        """Whether a random number only orders the rows of the result, all of which are returned."""
        token = self._tokens[index]
        if token.word not in _RANDOM or token.depth:
            return False
        words = [other.word for other in self._tokens if other.depth == 0]
        before = [other.word for other in self._tokens[:index] if other.depth == 0]
        return "ORDER" in before and not {"LIMIT", "OFFSET", "FETCH", *_SET_WORDS} & set(words)

    def _gathering(self, index: int) -> OpenPart | None:
        """An aggregate over rows in no order: its parts in another order, or another row's value."""
        depth = self._tokens[index].depth
        closing = end_of_bracket(self._tokens, index + 1)
        inside = self._tokens[index + 2 : closing]
        if closing == len(self._tokens) or not inside:
            return None
        has_filter = (self._text(closing + 1).upper(), self._text(closing + 2)) == ("FILTER", "(")
        end = end_of_bracket(self._tokens, closing + 2) if has_filter else closing
        if self._text(end + 1).upper() in _ORDERED_WITHIN:
            return None
        is_ordered = any(token.word == "ORDER" and token.depth == depth + 1 for token in inside)
        commas = [at for at, token in enumerate(inside) if token.text == "," and token.depth == depth + 1]
        distinct = inside[0].word in {"DISTINCT", "ALL"}
        behind_list = {"ORDER", "SEPARATOR"} if self._engine == "mysql" else {"ORDER"}
        ends = [at for at, token in enumerate(inside) if token.word in behind_list and token.depth == depth + 1]
        # MySQL's GROUP_CONCAT joins the values of all its arguments.
        ends += [] if self._engine == "mysql" else commas
        first = inside[distinct : min(ends, default=len(inside))]
        if not first:
            return None
        argument = self._query[first[0].start : first[-1].end]
        name = self._tokens[index].word
        text = f"rows in any order in: {_shortened(self._query[self._tokens[index].start : self._tokens[closing].end])}"
        separator = next((at for at in ends if inside[at].word == "SEPARATOR"), None)
        cut = self._tokens[closing].start if separator is None else inside[separator].start
        head, tail = self._query[:cut], f" {self._query[cut:]}" if separator is not None else self._query[cut:]
        if self._engine == "duckdb" and name in _MACROS:  # which take no ORDER BY
            start, tail = self._query[: self._tokens[index].start], self._query[self._tokens[closing].end :]
            variants = tuple(
                f"{start}to_json(list({argument} ORDER BY {argument} {way})){tail}" for way in ("ASC", "DESC")
            )
            gathered = self._gathered(index, inside, commas)
            return OpenPart(text, (variants[0], variants[1]), probes=True, gathered=gathered)
        if self._engine != "sqlite" or sqlite3.sqlite_version_info >= _ORDERS_AGGREGATES:
            lead = "," if is_ordered else " ORDER BY"
            variants = tuple(f"{head}{lead} {argument} {way}{tail}" for way in ("ASC", "DESC"))
            gathered = (
                None if is_ordered else self._gathered(index, inside, commas if separator is None else [separator])
            )
            return OpenPart(text, (variants[0], variants[1]), gathered=gathered)
        start = self._query[: self._tokens[index].start]
        variants = tuple(f"{start}{extreme}({argument}){tail[1:]}" for extreme in ("min", "max"))
        gathered = self._gathered(index, inside, commas) if name in _TEXTS | {"JSON_GROUP_ARRAY"} else None
        return OpenPart(text, (variants[0], variants[1]), probes=True, gathered=gathered)

    def _array(self, index: int) -> OpenPart | None:
        """`ARRAY(SELECT ...)`: the rows of a subquery as a list, in any order where the subquery has none."""
        end = self._end_of(self._tokens[index + 2])
        inside = [token for token in self._tokens[index + 2 :] if token.start < end]
        words = {token.word for token in inside if token.depth == inside[0].depth}
        if "SELECT" not in words or words & {"ORDER", "LIMIT"}:
            return None
        head, tail = self._query[:end], self._query[end:]
        text = f"rows in any order in: {_shortened(self._query[self._tokens[index].start : end + 1])}"
        ascending, descending = (f"{head} ORDER BY ALL {way}{tail}" for way in ("ASC", "DESC"))
        return OpenPart(text, (ascending, descending), gathered=self._gathered(index, inside, ()))

    def _gathered(self, index: int, inside: Sequence[QueryToken], commas: Sequence[int]) -> tuple[int, str] | None:
        """The output column that is the aggregate itself, and what stands between its parts."""
        token = self._tokens[index]
        level = [other for other in self._tokens if other.depth == 0]
        words = {other.word for other in level}
        items = [] if "SELECT" not in words or words & _SET_WORDS else _listed(level)
        column = next((at for at, item in enumerate(items) if item[0] is token and len(item) <= _CALL_WITH_ALIAS), None)
        if column is None or any(map(_is_star, items)) or token.word in ONE_VALUE | _OF_EQUALS:
            return None
        if token.word not in _TEXTS:
            return column, ""
        given = inside[commas[0] + 1 :] if commas else ()
        if not given:
            return column, ","
        separator = given[0].text
        plain = len(given) == 1 and given[0].kind == "quoted" and separator[:1] == "'"
        return (column, separator[1:-1].replace("''", "'")) if plain else None

    def _row_keys(self, level: Sequence[QueryToken]) -> list[str]:
        """Keys that separate the rows which a select reads: ids of its tables' rows, columns of its other parts.

        Of grouped rows the keys of GROUP BY; [] where they are not known.
        """
        words = [token.word for token in level]
        if {"DISTINCT", *_SET_WORDS} & set(words):
            return []
        if "GROUP" in words:
            return self._group_keys(level, words.index("GROUP"))
        try:
            return self._keys_of_sources(level)
        except UNFORESEEN:
            return []

    def _keys_of_sources(self, level: Sequence[QueryToken]) -> list[str]:
        """What separates the rows of each table and subquery of a select; [] where that of one is not known."""
        tree, between = syntax_of(self._query, self._engine), range(level[0].start, level[-1].end)
        selects = sum(token.word == "SELECT" for token in self._tokens if token.start in between)
        scopes = traverse_scope(tree) if tree else []
        # A subquery comes before the query that it is in.
        scope = next((scope for scope in scopes if _is_all_of(scope.expression, between, selects)), None)
        keys: list[str] = []
        for node, source in scope.selected_sources.values() if scope else ():
            name, columns = _name_of(node), _columns_of(source)
            if columns is None or (not columns and self._engine == "mysql"):
                return []
            part = f"{self._written(name)}." if name else ""
            row_id = "ctid" if self._engine == "postgres" else "rowid"
            keys += [f"{part}{self._written(column)}" for column in columns] or [f"{part}{row_id}"]
        return keys

    def _written(self, name: exp.Identifier) -> str:
        return self._query[name.meta["start"] : name.meta["end"] + 1]

    def _group_keys(self, level: Sequence[QueryToken], at: int) -> list[str]:
        """The expressions of GROUP BY, as written; [] where they are numbers or names of output columns."""
        if [token.word for token in level[at + 1 : at + 2]] != ["BY"]:
            return []
        stop = next((end for end in range(at, len(level)) if level[end].word in _AFTER_GROUP), len(level))
        end = level[stop].start if stop < len(level) else self._end_of(level[at])
        commas = [token.start for token in level[at + 2 : stop] if token.text == ","]
        starts = [level[at + 1].end, *(comma + 1 for comma in commas)]
        texts = [self._query[start:finish].strip() for start, finish in zip(starts, [*commas, end], strict=True)]
        return [] if any(text.isdecimal() or not text for text in texts) else texts

    def _end_of(self, token: QueryToken) -> int:
        """Where the bracket around a token ends."""
        behind = (other for other in self._tokens if other.start > token.start and other.depth < token.depth)
        return next((other.start for other in behind), len(self._query.rstrip("; \n\t")))

    def _numbering(self, index: int) -> OpenPart | None:
        """A window function that numbers rows, or looks at the row before, with ties in its order."""
        window = self._window(index)
        if window is None:
            return None
        opening, closing = window
        start, end = self._bounds(index)
        keys = self._row_keys(self._level(start, end))
        inside = self._level(opening + 1, closing)
        words = [token.word for token in inside]
        if not keys or "ALL" in words:
            return None
        frame = next((token.start for token in inside if token.word in _FRAMES), self._tokens[closing].start)
        shown = _shortened(self._query[self._tokens[index].start : self._tokens[closing].end])
        variants = self._ordered_further(frame, keys, ordered="ORDER" in words)
        return OpenPart(f"rows with equal keys in: {shown}", variants)

    def _window(self, index: int) -> tuple[int, int] | None:
        """The brackets of the window of a function: behind its OVER, or behind the window's name."""
        depth = self._tokens[index].depth
        level = [at for at in range(index, len(self._tokens)) if self._tokens[at].depth == depth]
        words = [self._tokens[at].word for at in level[:8]]
        # Behind the call's brackets, or IGNORE NULLS, or FILTER (...).
        if words[1:2] != ["("] or "OVER" not in words or words.index("OVER") not in {3, 5, 6}:
            return None
        after = words.index("OVER") + 1
        if words[after : after + 2] == ["(", ")"]:
            return level[after], level[after + 1]
        if after >= len(level):
            return None
        name = self._tokens[level[after]].text.casefold()
        for at in range(after + 1, len(level) - 3):
            texts = [self._tokens[position].text.casefold() for position in level[at - 1 : at + 4]]
            if texts[0] in {"window", ","} and texts[1:] == [name, "as", "(", ")"]:
                return level[at + 2], level[at + 3]
        return None


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
    return texts[0] in {"*", "COLUMNS"} or any(pair == (".", "*") for pair in pairwise(texts))


def _is_all_of(query: exp.Expr, between: range, selects: int) -> bool:
    """Whether a query has so many SELECTs as a part of the text, and no name outside of it."""
    starts = [name.meta.get("start", -1) for name in query.find_all(exp.Identifier)]
    return bool(starts) and all(start in between for start in starts) and len([*query.find_all(exp.Select)]) >= selects


def _name_of(node: exp.Expr) -> exp.Identifier | None:
    """What a table or subquery is called in its query; None for a subquery without a name."""
    while isinstance(node, exp.Query) and not node.args.get("alias") and isinstance(node.parent, exp.Subquery):
        node = node.parent
    alias = node.args.get("alias")
    name = alias.this if alias else node.this
    return name if isinstance(name, exp.Identifier) else None


def _columns_of(source: Any, depth: int = 0) -> list[Any] | None:
    """The columns of a part of WITH or of a subquery; [] for a table, None where they are not known."""
    if not isinstance(source, Scope):
        return [] if isinstance(source.this, exp.Identifier) else None
    query: Any = source.expression
    alias = query.parent.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.args.get("columns"):
        return list(alias.args["columns"])
    if not isinstance(query, exp.Query) or depth > _DEEPEST:
        return None
    columns: list[Any] = []
    for item in query.selects:
        if item.is_star:
            below = [_columns_of(inner, depth + 1) or [None] for _, inner in source.selected_sources.values()]
            columns += chain.from_iterable(below or [[None]])
        else:
            columns.append(item.args.get("alias") or (item.this if isinstance(item, exp.Column) else None))
    return columns if all(isinstance(column, exp.Identifier) for column in columns) else None


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN // 2]} … {text[-_SHOWN // 2 :]}"
