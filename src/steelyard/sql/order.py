"""Finds the ORDER BY keys at the top level of a query.

An ORDER BY within a window, an aggregate or a subquery orders nothing that a reader of the result can rely on, and
neither do those words in a text. The keys are read from the syntax tree; the queries that return them are the original
text with something inserted or left out, so that nothing else changes. The parser is not a validator and may fail on
what an engine runs; then the words at the top level decide, the keys stay unknown, and `note` says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from steelyard.sql.layout import QueryLayout, layout_of
from steelyard.sql.order_keys import OrderKey, keys_of, top_of
from steelyard.sql.results import EngineName
from steelyard.sql.syntax import parsed

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
