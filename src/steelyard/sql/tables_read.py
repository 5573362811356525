"""Finds the tables that a query reads, and whether any of them holds a row.

Over empty tables nearly all queries return the same, so that equal results say nothing about a prediction. The tables
are those of the syntax tree; a view is replaced by the tables of its own text. Where it cannot be told what a query
reads, it counts as reading rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from steelyard.sql.results import Database, EngineName, ResultTable
from steelyard.sql.sandbox import Sandbox
from steelyard.sql.syntax import syntax_of

_AT_ONCE: Final = 100
"""Tables that one query asks about: engines limit how deep its conditions are nested."""
CATALOG: Final[Mapping[EngineName, str]] = MappingProxyType(
    {
        "sqlite": """SELECT name, '"' || replace(name, '"', '""') || '"', CASE type WHEN 'view' THEN sql END
            FROM sqlite_master WHERE type IN ('table', 'view') AND substr(name, 1, 7) <> 'sqlite_'""",
        "duckdb": """SELECT table_name, '"' || replace(schema_name, '"', '""') || '"."'
                || replace(table_name, '"', '""') || '"', NULL FROM duckdb_tables() WHERE NOT internal
            UNION ALL SELECT view_name, '', sql FROM duckdb_views() WHERE NOT internal""",
    }
)
"""The tables and views of a database: name, name as a query writes it, and a view's text."""


@dataclass(frozen=True, slots=True)
class TablesRead:
    """What a query reads.

    Args:
        names: its tables and views, as the query may write them.
        known: whether that is all that it reads: no function that returns rows, and no VALUES.
    """

    names: tuple[str, ...]
    known: bool


def tables_read(query: str, engine: EngineName) -> TablesRead:
    """Find the tables that a query, or the query of a CREATE VIEW, reads.

    >>> tables_read("WITH c AS (SELECT * FROM t) SELECT * FROM c JOIN main.u USING (id)", "sqlite")
    TablesRead(names=('"main"."u"', '"t"'), known=True)
    """
    tree = syntax_of(query, engine)
    if tree is None:
        return TablesRead((), known=False)
    from sqlglot import exp

    if isinstance(tree, exp.Create):
        tree = tree.expression if isinstance(tree.expression, exp.Expr) else tree
    parts = {cte.alias_or_name.casefold() for cte in tree.find_all(exp.CTE)}
    names = []
    known = not any(True for _ in tree.find_all(exp.UDTF))
    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier):
            known = False
        elif table.db or table.name.casefold() not in parts:
            names.append(".".join(_quoted(part.name) for part in table.parts))
    return TablesRead(tuple(dict.fromkeys(names)), known)


def any_row(names: Sequence[str]) -> Iterator[str]:
    """Queries of which one returns a row if any of the tables, named as a query writes them, holds one.

    >>> list(any_row(['"t"', '"u"']))
    ['SELECT 1 WHERE EXISTS (SELECT 1 FROM "t") OR EXISTS (SELECT 1 FROM "u")']
    """
    for start in range(0, len(names), _AT_ONCE):
        conditions = (f"EXISTS (SELECT 1 FROM {name})" for name in names[start : start + _AT_ONCE])  # noqa: S608  # quoted
        yield f"SELECT 1 WHERE {' OR '.join(conditions)}"


def any_row_of_tables(read: TablesRead, engine: EngineName) -> str:
    """A query that returns a row if one of the names is a table that holds a row, and none of them is a view."""
    names = read.names[:_AT_ONCE]
    views = ", ".join("'{}'".format(plain_name(name).replace("'", "''")) for name in names)
    [rows] = any_row(names)
    no_view = f"NOT EXISTS (SELECT 1 FROM {_VIEWS[engine]} IN ({views}))"  # noqa: S608  # quoted
    return f"{rows.replace('WHERE', 'WHERE (', 1)}) AND {no_view}"


_VIEWS: Final[Mapping[EngineName, str]] = MappingProxyType(
    {
        "sqlite": "sqlite_master WHERE type = 'view' AND lower(name)",
        "duckdb": "duckdb_views() WHERE NOT internal AND lower(view_name)",
    }
)


def all_tables(catalog: ResultTable) -> list[str]:
    """The tables of a database, as a query writes them, from the result of `CATALOG`."""
    return [str(written) for _, written, view in catalog.rows if view is None]


def tables_behind(read: TablesRead, catalog: ResultTable, engine: EngineName) -> list[str] | None:
    """The tables that a query reads, its views resolved; None where they are not all known.

    Args:
        read: of the query.
        catalog: the result of `CATALOG`.
        engine: of the database.
    """
    written = {str(name).casefold(): str(written) for name, written, view in catalog.rows if view is None}
    views = {str(name).casefold(): str(view) for name, _, view in catalog.rows if view is not None}
    found: dict[str, str] = {}
    seen: set[str] = set()
    waiting = [read]
    while waiting:
        current = waiting.pop()
        if not current.known:
            return None
        for name in map(plain_name, current.names):
            if name in seen:
                continue
            seen.add(name)
            if name in views:
                waiting.append(tables_read(views[name], engine))
            elif name in written:
                found[name] = written[name]
            else:
                return None
    return list(found.values())


def holds_rows(sandbox: Sandbox, database: Database) -> bool:
    """Whether any table of a database holds a row; True where that cannot be told. Blocks."""
    catalog = sandbox.run(database, CATALOG[database.engine]).table
    if catalog is None:
        return True
    return any(table is None or bool(table.rows) for table in _tables(sandbox, database, all_tables(catalog)))


def _tables(sandbox: Sandbox, database: Database, names: Sequence[str]) -> Iterable[ResultTable | None]:
    return (sandbox.run(database, query).table for query in any_row(names))


def plain_name(written: str) -> str:
    """The last part of a name as a query writes it, without quotes, in small letters.

    >>> plain_name('"main"."Two words"')
    'two words'
    """
    _, dot, last = written.rpartition('"."')
    return (last if dot else written.removeprefix('"')).removesuffix('"').replace('""', '"').casefold()


def _quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))
