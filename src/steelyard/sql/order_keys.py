"""Keys of an ORDER BY in a syntax tree, and which output columns hold them.

A key is an output column by position, by alias, by the same column or by the same expression, in this order, as SQLite
and DuckDB resolve it. A key that could be either of two columns is held by none, and can be returned as a column of its
own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from steelyard.sql.results import EngineName

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
        if ordered.find(exp.Rand, exp.Uuid) or "random" in _functions(ordered):
            break
        if isinstance(ordered.this, exp.Var) and ordered.this.name.upper() == "ALL":
            return outputs.all_keys(ordered)
        key = outputs.key(ordered)
        if key.column is None and (top.united or top.select is None):
            return None
        keys.append(key)
    return tuple(keys)


def _functions(node: exp.Expr) -> set[str]:
    return {call.name.lower() for call in node.find_all(exp.Anonymous)}


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
