"""Finds the ORDER BY keys at the top level of a query, and what is doubtful about them.

An ORDER BY within a window, an aggregate or a subquery orders nothing that a reader of the result can rely on, and
neither do those words in a text. The keys are read from the syntax tree; the queries that return them are the original
text with something inserted or left out, so that nothing else changes. The parser is not a validator and may fail on
what an engine runs; then the words at the top level decide, the keys stay unknown, and `note` says so.

A key is an output column by position, by alias, by the same column or by the same expression, in this order, as SQLite
and DuckDB resolve it. A key that could be either of two columns is held by none, and can be returned as a column of its
own.

Doubts about keys that their author may not have meant are seen in their values, not in the text:

text_as_number    numbers that are stored as text are sorted as text, 10 before 9; min() and max() compare them so too
null_in_limit     NULLs, which SQLite sorts first, fill a LIMIT in place of values
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final, Literal

from sqlglot import exp

from steelyard.sql.layout import QueryLayout, end_of_bracket, layout_of, scan
from steelyard.sql.results import EngineName, ResultTable
from steelyard.sql.syntax import parsed

_MYSQL_COLLATION: Final = "UTF8MB4_GENERAL_CI"
"""Stands for the collations that MySQL and MariaDB give a column of text: equal but for case, accents, last blanks."""


@dataclass(frozen=True, slots=True)
class OrderKey:
    """One key of an ORDER BY.

    Args:
        expression: as it stands in the query.
        descending: whether DESC is said.
        nulls_first: where NULLs go.
        column: the 0-based output column that holds the key; None where none does: then it is a further column of
            `Ordering.keyed_query` and `Ordering.unlimited_query`.
        collation: `NOCASE`, `RTRIM` ... in capitals where it is said; where it is not, MySQL's default, otherwise "".
    """

    expression: str
    descending: bool = False
    nulls_first: bool = True
    column: int | None = None
    collation: str = ""


@dataclass(frozen=True, slots=True)
class Top:
    """The ORDER BY of the outermost query and the SELECT that names its output.

    Args:
        order: its ORDER BY.
        select: the SELECT whose list names the output; the first one of a set operation; None for VALUES.
        united: whether it is a set operation, whose keys are output columns only.
    """

    order: exp.Order
    select: exp.Select | None
    united: bool


def top_of(tree: exp.Expr) -> Top | None:
    """The ORDER BY of the outermost query, through brackets around all of it; None where it has none."""
    node: exp.Expr | None = tree
    while isinstance(node, exp.Subquery) and not node.args.get("order"):
        node = node.this
    order = node.args.get("order") if isinstance(node, exp.Query | exp.Values) else None
    if not isinstance(order, exp.Order):
        return None
    united = False
    while isinstance(node, exp.Subquery | exp.SetOperation):
        united = united or isinstance(node, exp.SetOperation)
        node = node.this
    return Top(order, node if isinstance(node, exp.Select) else None, united)


def keys_of(top: Top, columns: Sequence[str], engine: EngineName) -> tuple[OrderKey, ...] | None:
    """The keys with their output columns; a random key and those behind it order nothing, so () is not an order at all.

    Returns None where the keys cannot be told: ORDER BY ALL of an unknown width, or a key of a set operation that is no
    output column.
    """
    outputs = _OutputColumns(top, columns, engine)
    keys: list[OrderKey] = []
    for ordered in top.order.expressions:
        if ordered.find(exp.Rand, exp.Uuid) or any(
            call.name.lower() == "random" for call in ordered.find_all(exp.Anonymous)
        ):
            break
        if isinstance(ordered.this, exp.Var) and ordered.this.name.upper() == "ALL":
            return outputs.all_keys(ordered)
        key = outputs.key(ordered)
        if key.column is None and (top.united or top.select is None):
            return None
        keys.append(key)
    return tuple(keys)


class _OutputColumns:
    """The output columns of a query, as far as they are known."""

    def __init__(self, top: Top, columns: Sequence[str], engine: EngineName) -> None:
        self._engine = engine
        self._names = [name.casefold() for name in columns]
        self._listed = list(top.select.expressions) if top.select is not None else []
        self._stars = [index for index, entry in enumerate(self._listed) if _is_star(entry)]
        joins = top.select.args.get("joins") or [] if top.select is not None else []
        self._merged = any(join.args.get("using") or join.args.get("method") for join in joins)

    def all_keys(self, ordered: exp.Ordered) -> tuple[OrderKey, ...] | None:
        """Each output column as a key, for ORDER BY ALL."""
        width = len(self._names) or (0 if self._stars else len(self._listed))
        first = bool(ordered.args.get("nulls_first"))
        keys = (OrderKey(str(index + 1), bool(ordered.args.get("desc")), first, index) for index in range(width))
        return tuple(keys) or None

    def key(self, ordered: exp.Ordered) -> OrderKey:
        """One key, with its output column where it is one."""
        node, collation = _bare(ordered.this)
        column = self._column(node)
        if column is not None and not collation:
            collation = self._collation(column)
        if self._engine == "mysql":
            collation = collation or _MYSQL_COLLATION
        return OrderKey(
            expression=ordered.this.sql(dialect=self._engine),
            descending=bool(ordered.args.get("desc")),
            nulls_first=bool(ordered.args.get("nulls_first")),
            column=column,
            collation=collation,
        )

    def _column(self, node: exp.Expr) -> int | None:
        if isinstance(node, exp.Literal) and not node.is_string and node.name.isdecimal():
            return int(node.name) - 1
        if isinstance(node, exp.Column):
            return self._named(node.name.casefold(), node.table.casefold())
        written = node.sql(dialect=self._engine)
        same = (
            index
            for index, entry in enumerate(self._listed)
            if not _is_star(entry) and _bare(entry.unalias())[0].sql(dialect=self._engine) == written
        )
        return next((self._output_index(index) for index in same if self._output_index(index) is not None), None)

    def _named(self, name: str, table: str) -> int | None:
        if not table:
            for index, entry in enumerate(self._listed):
                if isinstance(entry, exp.Alias) and entry.alias.casefold() == name:
                    return self._output_index(index)
        for index, entry in enumerate(self._listed):
            column = _bare(entry.unalias())[0]
            if not isinstance(column, exp.Column) or _is_star(column) or column.name.casefold() != name:
                continue
            if not table or not column.table or column.table.casefold() == table:
                return self._output_index(index)
        return self._under_star(name, table)

    def _under_star(self, name: str, table: str) -> int | None:
        """The one result column of this name, where the list leaves room for it to be the table's."""
        if self._listed and not self._stars:
            return None
        if table and (self._merged or any(_table_of(self._listed[star]) not in {"", table} for star in self._stars)):
            return None
        return self._names.index(name) if self._names.count(name) == 1 else None

    def _output_index(self, index: int) -> int | None:
        """The output column of an entry of the list: entries behind a star are counted from the end."""
        if not self._stars or index < self._stars[0]:
            return index
        if index > self._stars[-1] and self._names:
            return len(self._names) - (len(self._listed) - index)
        return None

    def _collation(self, column: int) -> str:
        for index, entry in enumerate(self._listed):
            if self._output_index(index) == column and not _is_star(entry):
                return _bare(entry.unalias())[1]
        return ""


def _bare(node: exp.Expr) -> tuple[exp.Expr, str]:
    """An expression without brackets and collation, and the collation."""
    collation = ""
    while isinstance(node, exp.Paren | exp.Collate):
        if isinstance(node, exp.Collate):
            collation = collation or node.expression.name.upper()
        node = node.this
    return node, collation


def _is_star(node: exp.Expr) -> bool:
    """Whether an entry of a select list may be several columns."""
    return isinstance(node, exp.Star | exp.Columns) or (
        isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
    )


def _table_of(node: exp.Expr) -> str:
    return node.table.casefold() if isinstance(node, exp.Column) else ""


_UNPARSED: Final = "the query could not be parsed, so the keys of its ORDER BY are unknown"


@dataclass(frozen=True, slots=True)
class Ordering:
    """The ORDER BY at the top level of a query.

    Args:
        keys: empty where they are unknown.
        limit: rows that a LIMIT leaves; None without one, or where it cannot be told.
        offset: rows that are left out before.
        limited: whether the query has a LIMIT, OFFSET or FETCH.
        keyed_query: the query with the keys that are not output columns as further columns at the end, in the order of
            `keys`; None where none is needed, or where it cannot be had: DISTINCT, set operations, unknown keys.
        unlimited_query: the same without LIMIT and OFFSET; None where there is none, or where it cannot be had.
        note: why something cannot be had; "" where all can.
    """

    keys: tuple[OrderKey, ...]
    limit: int | None = None
    offset: int = 0
    limited: bool = False
    keyed_query: str | None = None
    unlimited_query: str | None = None
    note: str = ""

    @property
    def in_output(self) -> bool:
        """Whether all keys are columns of the result."""
        return bool(self.keys) and all(key.column is not None for key in self.keys)

    def may_cut(self, rows: int) -> bool:
        """Whether a LIMIT or OFFSET may have removed rows from a result of `rows` rows, so that a tie may be cut."""
        return self.limited and (self.offset > 0 or self.limit is None or rows >= self.limit)


def ordering_of(query: str, *, engine: EngineName = "sqlite", columns: Sequence[str] = ()) -> Ordering | None:
    """Return the ORDER BY of a query's top level; None where there is none.

    Args:
        query: one SELECT, of the reference.
        engine: whose SQL it is.
        columns: the names of its result's columns, where it has been run: `SELECT *` hides them.

    >>> ordering_of("SELECT name, age FROM t ORDER BY age DESC").keys
    (OrderKey(expression='age', descending=True, nulls_first=False, column=1, collation=''),)
    >>> ordering_of("SELECT name FROM t ORDER BY age LIMIT 3").unlimited_query
    'SELECT name , (age) FROM t ORDER BY age '
    >>> ordering_of("SELECT rank() OVER (ORDER BY age) FROM t") is None
    True
    """
    if "order" not in query.lower():
        return None  # most queries, without the cost of parsing them
    layout = layout_of(query, engine)
    tree = parsed(engine, layout)
    if tree is None:
        return _with_queries(Ordering((), note=_UNPARSED), layout) if layout.orders() else None
    top = top_of(tree)
    keys = keys_of(top, columns, engine) if top is not None else ()
    if keys is None:
        return _with_queries(Ordering((), note="a key of ORDER BY cannot be determined"), layout)
    return _by_keys(keys, layout) if keys else None


def _by_keys(keys: tuple[OrderKey, ...], layout: QueryLayout) -> Ordering:
    """An ordering by keys of the syntax tree, each with its words in the query's text."""
    texts = layout.key_texts()
    if len(texts) == len(keys):
        keys = tuple(replace(key, expression=text) for key, text in zip(keys, texts, strict=True))
    elif any(key.column is None for key in keys):
        return _with_queries(Ordering(keys, note="a key of ORDER BY is not found in the text"), layout, missing=True)
    return _with_queries(Ordering(keys), layout)


def _with_queries(ordering: Ordering, layout: QueryLayout, *, missing: bool = False) -> Ordering:
    """Add the LIMIT, and the queries that return keys and the rows behind the LIMIT."""
    cut = layout.cut()
    if cut is not None:
        ordering = replace(ordering, limit=cut.limit, offset=cut.offset, limited=True)
    hidden_keys = [key.expression for key in ordering.keys if key.column is None]
    if not ordering.keys or missing:
        return ordering
    keyed = layout.with_columns(hidden_keys) if hidden_keys else None
    if hidden_keys and keyed is None:
        return replace(ordering, note="a key of ORDER BY is not a column of the result and cannot be added to it")
    if cut is None:
        return replace(ordering, keyed_query=keyed)
    if not cut.known:
        note = "the rows that the LIMIT leaves out are unknown"
        return replace(ordering, keyed_query=keyed, note=note)
    return replace(ordering, keyed_query=keyed, unlimited_query=layout.unlimited(keyed or layout.text))


OrderDoubt = Literal["text_as_number", "null_in_limit"]

_SETS: Final = frozenset({"UNION", "INTERSECT", "EXCEPT"})
_BEHIND_ROWS: Final = frozenset({"GROUP", "HAVING", "ORDER", "LIMIT", "WINDOW", "QUALIFY", ";"})
_NUMBER: Final = re.compile(r"\s*[-+]?\d+(?:[.,]\d+)?\s*%?\s*")


def order_doubts(ordering: Ordering, reference: ResultTable, whole: ResultTable) -> dict[OrderDoubt, str]:
    """Find what is doubtful about the keys of a query, each with the first key that it is true of.

    Args:
        ordering: of the query.
        reference: its result.
        whole: the result of `ordering.unlimited_query` or `keyed_query`, where there is one, else the same.

    >>> from steelyard.sql.order import ordering_of
    >>> marks = ResultTable(("mark",), [("10",), ("9",), ("85",)])
    >>> order_doubts(ordering_of("SELECT mark FROM t ORDER BY mark"), marks, marks)
    {'text_as_number': 'mark'}
    """
    doubts: dict[OrderDoubt, str] = {}
    keys = list(zip(ordering.keys, _values(ordering, whole, len(reference.columns)), strict=True))
    for key, values in keys:
        if values is not None and not key.collation and _numbers_as_text(values):
            doubts.setdefault("text_as_number", key.expression)
    values = keys[0][1] if keys else None
    if ordering.limited and values is not None and len(whole.rows) > len(reference.rows):
        first, last = ordering.offset, ordering.offset + len(reference.rows)
        if None in values[first:last] and any(value is not None for value in [*values[:first], *values[last:]]):
            doubts["null_in_limit"] = keys[0][0].expression
    return doubts


def _values(ordering: Ordering, table: ResultTable, width: int) -> list[list[Any] | None]:
    """The values of each key: hidden keys stand behind the columns of the result; None where they are not there."""
    behind = iter(range(width, len(table.columns)))
    places = [key.column if key.column is not None else next(behind, None) for key in ordering.keys]
    return [
        [row[place] for row in table.rows] if place is not None and place < len(table.columns) else None
        for place in places
    ]


def extremes(query: str, engine: EngineName) -> Iterator[tuple[str, str]]:
    """Each min() and max() of a query without nested parts before its FROM, with a query for the values it compares.

    >>> list(extremes("SELECT a, MAX(price) FROM t WHERE a > 1 GROUP BY a", "sqlite"))
    [('MAX(price)', 'SELECT DISTINCT price FROM t WHERE a > 1 LIMIT 1000')]
    """
    tokens = list(scan(query, engine))
    words = [(token.text.upper(), token) for token in tokens if not token.depth]
    first = next((token.start for text, token in words if text == "FROM"), None)
    if first is None or words[0][0] != "SELECT" or any(text in _SETS for text, _ in words):
        return
    last = next((token.start for text, token in words if text in _BEHIND_ROWS and token.start > first), len(query))
    for at, token in enumerate(tokens[:-3]):
        if token.start > first or token.text.upper() not in {"MIN", "MAX"} or tokens[at + 1].text != "(":
            continue
        inside = tokens[at + 2 : end_of_bracket(tokens, at + 1)]
        if inside and not any(inner.text == "," or inner.text.upper() == "SELECT" for inner in inside):
            argument = query[inside[0].start : inside[-1].end]
            shown = query[token.start : inside[-1].end] + ")"
            argument = argument if argument[:9].upper() != "DISTINCT " else argument[9:]
            yield shown, f"SELECT DISTINCT {argument} {query[first:last].strip()} LIMIT 1000"


def numbers_as_text(table: ResultTable) -> bool:
    """Whether the first column holds numbers that are stored as text, and in another order as such."""
    return _numbers_as_text([row[0] for row in table.rows])


def _numbers_as_text(values: Sequence[Any]) -> bool:
    """Whether values are texts that are numbers, and in another order as such."""
    if not all(value is None or (isinstance(value, str) and _NUMBER.fullmatch(value)) for value in values):
        return False
    texts = {value for value in values if value is not None}
    numbers = [float(text.strip().rstrip("% ").replace(",", ".")) for text in sorted(texts)]
    return any(first > second for first, second in pairwise(numbers))
