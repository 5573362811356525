"""Finds the columns of a grouped query whose value may be that of any row of its group.

    SELECT team, name FROM p GROUP BY team      SQLite returns the name of some row of the team
    SELECT name, max(points) FROM p             of a row with the most points: SQLite's rule for a single min() or max()
    SELECT team, any_value(name) ... , first(name), last(name)      the same where it is said, in DuckDB

Most such columns depend on the group's key, so the data decide: a second query returns the values that each group has.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from steelyard.sql.results import EngineName, ResultTable
from steelyard.sql.syntax import syntax_of

_ANY: Final = frozenset({"ANY_VALUE", "FIRST", "LAST", "ARBITRARY"})
_UNFORESEEN: Final = (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, LookupError)
"""What the parser's trees of hostile text lead to: they have shapes that it does not document."""
_Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class BareColumns:
    """The output columns of a grouped query that no rule decides.

    Args:
        text: which, for a person.
        query: returns each group's keys, then the values that the columns may have together.
        keys: how many keys there are.
        shown_keys: pairs of an output column and the key that it is.
        columns: the output columns, in the order of the values.
    """

    text: str
    query: str
    keys: int
    shown_keys: tuple[tuple[int, int], ...]
    columns: tuple[int, ...]

    def choices(self, reference: ResultTable, candidates: ResultTable) -> list[list[_Row]] | None:
        """For each row of the reference the rows that may stand in its place; None where a row is not explained.

        Args:
            reference: the result of the whole query.
            candidates: the result of `query`.
        """
        values: dict[_Row, list[_Row]] = defaultdict(list)
        for row in candidates.rows:
            values[_hashable(row[: self.keys])].append(row[self.keys :])
        groups: dict[tuple[_Row, _Row], list[_Row]] = defaultdict(list)
        for key, rows in values.items():
            for row in rows:
                groups[tuple(key[at] for _, at in self.shown_keys), _hashable(row)].append(key)
        found = []
        for row in reference.rows:
            shown = _hashable(tuple(row[column] for column, _ in self.shown_keys))
            seen = shown, _hashable(tuple(row[at] for at in self.columns))
            if not groups[seen]:
                return None
            # Of several groups that look alike the one with fewest choices: nothing is said without need.
            fewest = min(groups[seen], key=lambda key: len(values[key]))
            found.append([self._with(row, value) for value in values[fewest]])
        return found

    def _with(self, row: _Row, value: _Row) -> _Row:
        changes = dict(zip(self.columns, value, strict=True))
        return tuple(changes.get(at, cell) for at, cell in enumerate(row))


def nearest_choice(choices: Sequence[Sequence[_Row]], predicted: Sequence[_Row]) -> list[_Row]:
    """One row of each list, as many of them as possible among the predicted rows.

    >>> nearest_choice([[(1, "a"), (1, "b")], [(2, "c")]], [(2, "c"), (1, "b")])
    [(1, 'b'), (2, 'c')]
    """
    left = Counter(map(_hashable, predicted))
    chosen = []
    for rows in choices:
        row = next((row for row in rows if left[_hashable(row)] > 0), rows[0])
        left[_hashable(row)] -= 1
        chosen.append(row)
    return chosen


def _hashable(row: _Row) -> _Row:
    """The row with the text of each list and map, which cannot be keys."""
    return tuple(repr(cell) if isinstance(cell, list | dict) else cell for cell in row)


def bare_columns(query: str, engine: EngineName, columns: Sequence[str] = ()) -> BareColumns | None:
    """Find the columns of the outermost query that no rule decides; None where there is none, or it is no plain SELECT.

    Args:
        query: the reference.
        engine: whose SQL it is.
        columns: the names of its result's columns: `SELECT *` hides them.

    >>> found = bare_columns("SELECT team, name FROM p WHERE x > 1 GROUP BY team", "sqlite")
    >>> found.columns, found.query
    ((1,), 'SELECT DISTINCT k0, b0 FROM (SELECT team AS k0, name AS b0 FROM p WHERE x > 1)')
    >>> bare_columns("SELECT name, max(points) FROM p", "sqlite").query.partition(" FROM ")[2]
    '(SELECT name AS b0, points AS x, MAX(points) OVER () AS m FROM p) WHERE x IS m'
    >>> bare_columns("SELECT team, count(*) FROM p GROUP BY team", "sqlite") is None
    True
    """
    if "GROUP" not in query.upper() and "(" not in query:
        return None
    tree = syntax_of(query, engine)
    if not isinstance(tree, exp.Select) or tree.args.get("distinct"):
        return None
    try:
        return _Grouped(tree, engine, columns).bare()
    except _UNFORESEEN:
        return None


def inner_probes(query: str, engine: EngineName) -> tuple[str, str] | None:
    """Two queries whose results differ where an inner query's bare columns matter; None where it has none.

    They are the query with the smallest and the largest value of each group, and no results that it may return: columns
    of one row are taken from two.

    >>> inner_probes("SELECT name FROM (SELECT team, name FROM p GROUP BY team) AS q", "sqlite")[1]
    'SELECT name FROM (SELECT team, MAX(name) AS name FROM p GROUP BY team) AS q'
    """
    tree = syntax_of(query, engine)
    if engine != "sqlite" or tree is None or "GROUP" not in query.upper():
        return None
    try:
        selects = ((number, select) for number, select in enumerate(tree.find_all(exp.Select)) if select is not tree)
        changed = {number: bare for number, select in selects if (bare := _Grouped(select, engine).inner_bare())}
        return None if not changed else (_with(tree, changed, exp.Min, engine), _with(tree, changed, exp.Max, engine))
    except _UNFORESEEN:
        return None


def _with(
    tree: exp.Expr, changed: dict[int, list[tuple[int, exp.Expr]]], extreme: type[exp.Min | exp.Max], engine: EngineName
) -> str:
    copy = tree.copy()
    for number, select in enumerate(list(copy.find_all(exp.Select))):
        for at, _ in changed.get(number, ()):
            item = select.expressions[at]
            name = item.alias_or_name
            select.expressions[at].replace(exp.alias_(extreme(this=item.unalias().copy()), name, quoted=False))
    return str(copy.sql(dialect=engine, unsupported_level=ErrorLevel.IGNORE))


class _Grouped:
    """A SELECT and what it says of groups."""

    def __init__(self, tree: exp.Select, engine: EngineName, columns: Sequence[str] = ()) -> None:
        self._tree, self._engine = tree, engine
        self._items: list[exp.Expr] = [item.unalias() for item in tree.expressions]
        if len(self._items) == 1 and isinstance(self._items[0], exp.Star) and len(set(columns)) == len(columns):
            self._items = [exp.column(name, quoted=True) for name in columns]
        named = {item.alias.casefold(): item.unalias() for item in tree.expressions if isinstance(item, exp.Alias)}
        group = tree.args.get("group")
        self._rolled = group is not None and any(
            group.args.get(name) for name in ("rollup", "cube", "grouping_sets", "all")
        )
        self._keys = [self._key(key, named) for key in (group.expressions if group is not None else ())]
        self._aggregates = [call for call in self._own(tree) if self._is_aggregate(call)]

    def bare(self) -> BareColumns | None:
        if self._rolled or not (self._keys or self._aggregates):
            return None
        if any(
            isinstance(node, exp.Star | exp.Window)
            for item in self._items
            for node in item.find_all(exp.Star, exp.Window)
            if not isinstance(node.parent, exp.Count)
        ):
            return None
        shown, bare = [], []
        for at, item in enumerate(self._items):
            key = next((number for number, key in enumerate(self._keys) if self._same(item, key)), None)
            if key is not None:
                shown.append((at, key))
            elif (chosen := self._chosen(item)) is not None:
                bare.append((at, chosen))
        if not bare:
            return None
        columns = [item.sql(dialect=self._engine) for _, item in bare]
        text = f"any row of its group in: {', '.join(columns)}"[:90]
        return BareColumns(
            text, self._query([item for _, item in bare]), len(self._keys), tuple(shown), tuple(at for at, _ in bare)
        )

    def inner_bare(self) -> list[tuple[int, exp.Expr]]:
        """The columns of an inner query, with their places; [] where a single min() or max() chooses the row."""
        stars = any(isinstance(item, exp.Star) or isinstance(item.this, exp.Star) for item in self._items)
        if self._rolled or stars or not self._keys or any(isinstance(a, exp.Max | exp.Min) for a in self._aggregates):
            return []
        items = (
            (at, item) for at, item in enumerate(self._items) if not any(self._same(item, key) for key in self._keys)
        )
        return [(at, item) for at, item in items if item.alias_or_name and self._chosen(item) is not None]

    def _key(self, key: exp.Expr, named: dict[str, exp.Expr]) -> exp.Expr:
        """A key of GROUP BY: by number, by the name of an output column, or as written."""
        if isinstance(key, exp.Literal) and not key.is_string and key.name.isdecimal():
            at = int(key.name) - 1
            item: exp.Expr = self._items[at] if at < len(self._items) else key
            return item
        if isinstance(key, exp.Column) and not key.table:
            key = named.get(key.name.casefold(), key)
        return key

    def _chosen(self, item: exp.Expr) -> exp.Expr | None:
        """The expression whose value is that of any row; None for what the group decides, or what is more than that."""
        if self._engine == "duckdb":
            inner = item.this if isinstance(item, exp.IgnoreNulls | exp.RespectNulls) else item
            is_any = isinstance(inner, exp.AnyValue | exp.First | exp.Last) or inner.name.upper() in _ANY
            plain = is_any and not any(True for _ in item.find_all(exp.Order, exp.Filter))
            arguments = inner.expressions if isinstance(inner, exp.Anonymous) else [inner.this]
            return arguments[0] if plain and len(arguments) == 1 else None
        own = list(self._own(item))
        columns = [node for node in own if isinstance(node, exp.Column)]
        if not columns or any(self._is_aggregate(node) for node in own):
            return None
        return item if any(not self._is_key(column) for column in columns) else None

    def _is_key(self, column: exp.Expr) -> bool:
        return any(self._same(column, key) for key in self._keys)

    def _same(self, first: exp.Expr, second: exp.Expr) -> bool:
        """Whether two expressions are the same one; a column without its table is that of any table."""
        if isinstance(first, exp.Column) and isinstance(second, exp.Column):
            tables = {first.table.casefold(), second.table.casefold()} - {""}
            return first.name.casefold() == second.name.casefold() and len(tables) < 2
        return bool(first == second)

    def _is_aggregate(self, node: exp.Expr) -> bool:
        if isinstance(node, exp.Max | exp.Min):
            return not node.expressions
        return isinstance(node, exp.AggFunc) or (
            isinstance(node, exp.Anonymous) and node.name.upper() in {"GROUP_CONCAT", "TOTAL", "STRING_AGG", *_ANY}
        )

    def _own(self, node: exp.Expr) -> Iterator[exp.Expr]:
        """The nodes of a select's own expressions: not of its tables and subqueries, and not inside an aggregate."""
        parts = (
            [node]
            if node is not self._tree
            else [
                *self._tree.expressions,
                *(part for name in ("having", "order") if (part := self._tree.args.get(name)) is not None),
            ]
        )
        waiting = list(parts)
        while waiting:
            part = waiting.pop()
            yield part
            if not (self._is_aggregate(part) or isinstance(part, exp.Query | exp.Subquery)):
                waiting.extend(part.iter_expressions())

    def _query(self, bare: Sequence[exp.Expr]) -> str:
        inner = self._tree.copy()
        for clause in ("group", "having", "order", "limit", "offset", "distinct", "windows", "qualify"):
            inner.set(clause, None)
        names = [f"k{at}" for at in range(len(self._keys))] + [f"b{at}" for at in range(len(bare))]
        listed = [exp.alias_(value.copy(), name) for value, name in zip([*self._keys, *bare], names, strict=True)]
        extremes = list({call: None for call in self._aggregates if isinstance(call, exp.Max | exp.Min)})
        where = ""
        if self._engine == "sqlite" and len(extremes) == 1:
            [extreme] = extremes
            value = extreme.this.expressions[0] if isinstance(extreme.this, exp.Distinct) else extreme.this
            over = exp.Window(this=type(extreme)(this=value.copy()), partition_by=[key.copy() for key in self._keys])
            listed += [exp.alias_(value.copy(), "x"), exp.alias_(over, "m")]
            where = " WHERE x IS m"
        inner.set("expressions", listed)
        source = inner.sql(dialect=self._engine, unsupported_level=ErrorLevel.IGNORE)
        return f"SELECT DISTINCT {', '.join(names)} FROM ({source}){where}"  # noqa: S608  # of the reference
