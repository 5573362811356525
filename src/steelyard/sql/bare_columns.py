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
from typing import Any

from sqlglot import exp
from sqlglot.errors import ErrorLevel

from steelyard.sql.results import EngineName, ResultTable
from steelyard.sql.syntax import UNFORESEEN, syntax_of
from steelyard.sql.uniqueness import ONE_VALUE, OpenPart

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
        used: Counter[_Row] = Counter()
        found = []
        for row in reference.rows:
            shown = _hashable(tuple(row[column] for column, _ in self.shown_keys))
            seen = shown, _hashable(tuple(row[at] for at in self.columns))
            if not groups[seen]:
                return None
            # Of several groups that look alike the one with fewest choices: nothing is said without need. Each is of
            # one row.
            fewest = min(groups[seen], key=lambda key: (used[key], len(values[key])))
            used[fewest] += 1
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
    except UNFORESEEN:
        return None


def bare_elsewhere(query: str, engine: EngineName) -> OpenPart | None:
    """Bare columns of inner queries, of HAVING, and of an ORDER BY that decides what a LIMIT returns; None without any.

    The variants are the query with the smallest and the largest value of each group, and no results that it may return:
    columns of one row are taken from two. Groups that tie in an ORDER BY are ordered further, upwards and downwards.
    `SELECT DISTINCT` is read as a GROUP BY of all that it returns.

    >>> bare_elsewhere("SELECT name FROM (SELECT team, name FROM p GROUP BY team) AS q", "sqlite").variants[1]
    'SELECT name FROM (SELECT team, MAX(name) AS name FROM p GROUP BY team) AS q'
    >>> bare_elsewhere("SELECT DISTINCT team FROM p ORDER BY points LIMIT 1", "sqlite").variants[0]
    'SELECT team FROM p GROUP BY team ORDER BY MIN(points), 1 ASC LIMIT 1'
    """
    tree = syntax_of(query, engine)
    if engine != "sqlite" or tree is None:
        return None
    try:
        found = [
            _with_extremes(tree, extreme, falls=falls) for falls in (False, True) for extreme in (exp.Min, exp.Max)
        ]
    except UNFORESEEN:
        return None
    columns = found[0][0]
    return OpenPart(_text(columns), tuple(dict.fromkeys(query for _, query in found)), probes=True) if columns else None


def _with_extremes(tree: exp.Expr, extreme: type[exp.Min | exp.Max], *, falls: bool) -> tuple[list[str], str]:
    """The bare columns, and the query with an extreme of each; groups that tie in it are ordered up or down."""
    copy = tree.copy()
    columns: list[str] = []
    for select in list(copy.find_all(exp.Select)):
        grouped = _Grouped(select, "sqlite")
        if select.args.get("distinct"):
            grouped = grouped.of_distinct()
        for node in grouped.elsewhere(is_inner=select is not copy):
            columns.append(node.sql(dialect="sqlite"))
            changed = extreme(this=node.copy())
            is_listed = node.parent is select and node.arg_key == "expressions"
            node.replace(exp.alias_(changed, node.alias_or_name, quoted=False) if is_listed else changed)
        if (order := select.args.get("order")) is not None and order.find(extreme):
            for number in range(1, len(select.expressions) + 1):
                key = exp.Literal.number(number)
                order.append("expressions", exp.Ordered(this=key, desc=falls, nulls_first=not falls))
    return columns, copy.sql(dialect="sqlite", unsupported_level=ErrorLevel.IGNORE) if columns else ""


def _text(columns: Sequence[str]) -> str:
    return f"any row of its group in: {', '.join(columns)}"[:90]


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
        text = _text([item.sql(dialect=self._engine) for _, item in bare])
        return BareColumns(
            text, self._query([item for _, item in bare]), len(self._keys), tuple(shown), tuple(at for at, _ in bare)
        )

    def of_distinct(self) -> _Grouped:
        """A SELECT DISTINCT with a LIMIT, changed into a GROUP BY of all that it returns, as far as it is plain."""
        select = self._tree
        is_limited = select.args.get("order") and (select.args.get("limit") or select.args.get("offset"))
        is_plain = not (self._keys or self._aggregates or self._rolled or select.args["distinct"].args.get("on"))
        if not is_limited or not is_plain or any(item.find(exp.Star, exp.Window) for item in self._items):
            return self
        hidden = [node for node in self._own(select.args["order"]) if isinstance(node, exp.Column)]
        names = {item.alias_or_name.casefold() for item in select.expressions}
        if all(column.name.casefold() in names for column in hidden):
            return self
        select.set("distinct", None)
        select.set("group", exp.Group(expressions=[item.copy() for item in self._items]))
        return _Grouped(select, self._engine)

    def elsewhere(self, *, is_inner: bool) -> list[exp.Expr]:
        """The bare columns outside the outermost query's list; [] where a single min() or max() chooses the row."""
        select = self._tree
        if self._rolled or not self._keys or any(isinstance(call, exp.Max | exp.Min) for call in self._aggregates):
            return []
        listed: list[exp.Expr] = []
        if is_inner and not any(isinstance(item, exp.Star) or isinstance(item.this, exp.Star) for item in self._items):
            items = (item for item in self._items if not any(self._same(item, key) for key in self._keys))
            listed = [item for item in items if self._chosen(item) is not None]
        named = {item.alias.casefold() for item in select.expressions if isinstance(item, exp.Alias)}
        cuts = select.args.get("limit") or select.args.get("offset")
        clauses = [select.args.get("having"), select.args.get("order") if cuts else None]
        nodes = (node for clause in clauses if clause is not None for node in self._own(clause))
        return listed + [
            node
            for node in nodes
            if isinstance(node, exp.Column)
            and not self._is_key(node)
            and (node.table or node.name.casefold() not in named)
        ]

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
        if self._engine in {"duckdb", "postgres"}:
            inner = item.this if isinstance(item, exp.IgnoreNulls | exp.RespectNulls) else item
            is_any = isinstance(inner, exp.AnyValue | exp.First | exp.Last) or inner.name.upper() in ONE_VALUE
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
            isinstance(node, exp.Anonymous) and node.name.upper() in {"GROUP_CONCAT", "TOTAL", "STRING_AGG", *ONE_VALUE}
        )

    def _own(self, node: exp.Expr) -> Iterator[exp.Expr]:
        """The nodes of a select's own expressions: not of its tables and subqueries, and not inside an aggregate."""
        waiting = [node]
        if node is self._tree:
            clauses = (self._tree.args.get(name) for name in ("having", "order"))
            waiting = [*self._tree.expressions, *(clause for clause in clauses if clause is not None)]
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
        alias = "" if self._engine in {"sqlite", "duckdb"} else " AS g"
        return f"SELECT DISTINCT {', '.join(names)} FROM ({source}){alias}{where}"  # noqa: S608  # of the reference
