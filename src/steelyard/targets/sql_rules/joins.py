"""Joins: how the tables of a query hang together, by declared keys or, where none are, by names."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from steelyard.sql.schema import Schema, Table
from steelyard.targets.sql_rules.words import name_parts

_MOST: Final = 4
"""Tables of a query; a question that seems to need more was misread."""


@dataclass(frozen=True, slots=True)
class Join:
    """`table` is joined where its column equals `other`'s."""

    table: Table
    column: str
    other: Table
    other_column: str


def edges(schema: Schema) -> tuple[Join, ...]:
    """Every way from a table to another: declared foreign keys, else columns that are called after another's key."""
    found = [
        Join(table, link.columns[0], home, to)
        for table in schema.tables
        for link in table.foreign_keys
        if (home := schema.table(link.to_table)) is not None
        and home is not table
        and (to := (link.to_columns or home.primary_key or ("",))[0])
        and home.column(to)
        and table.column(link.columns[0])
    ]
    return tuple(found or _by_name(schema))


def _by_name(schema: Schema) -> list[Join]:
    """Columns such as `singer_id` beside a table `singer` with `id` or `singer_id`."""
    keys: dict[tuple[str, ...], tuple[Table, str]] = {}
    for table in schema.tables:
        name = name_parts(table.name)
        for column in table.columns:
            parts = name_parts(column.name)
            if parts in {("id",), (*name, "id")} and (*name, "id") not in keys:
                keys[*name, "id"] = (table, column.name)
    found = []
    for table in schema.tables:
        for column in table.columns:
            home = keys.get(name_parts(column.name))
            if home is not None and home[0] is not table:
                found.append(Join(table, column.name, home[0], home[1]))
    return found


def join(schema: Schema, tables: Sequence[Table]) -> list[Join] | None:
    """The joins that bring `tables` together, from the first on; None where there is no way."""
    inside = [tables[0]]
    joins: list[Join] = []
    ways = edges(schema)
    for wanted in tables[1:]:
        if any(one is wanted for one in inside):
            continue
        way = _way(ways, inside, wanted)
        if way is None or len(inside) + len(way) > _MOST:
            return None
        for step in way:
            if not any(one is step.table for one in inside):
                joins.append(step)
                inside.append(step.table)
    return joins


def between(schema: Schema, one: Table, other: Table) -> Join | None:
    """The direct join of two tables with `one` as the joined one, or None."""
    way = _way(edges(schema), [other], one)
    return way[0] if way is not None and len(way) == 1 else None


def _way(ways: Sequence[Join], inside: Sequence[Table], wanted: Table) -> list[Join] | None:
    """The shortest way, breadth first; of equal ones that of the edge declared first."""
    seen = {id(one) for one in inside}
    queue: deque[tuple[Table, list[Join]]] = deque((one, []) for one in inside)
    while queue:
        table, way = queue.popleft()
        if table is wanted:
            return way
        if len(way) >= _MOST:
            continue
        for edge in ways:
            step = None
            if edge.other is table:
                step = edge
            elif edge.table is table:
                step = Join(edge.other, edge.other_column, edge.table, edge.column)
            if step is not None and id(step.table) not in seen:
                seen.add(id(step.table))
                queue.append((step.table, [*way, step]))
    return None
