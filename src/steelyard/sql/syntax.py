"""Parses a query with sqlglot, once for all that ask about it, and finds the tables that it reads.

The parser is no validator and may fail on what an engine runs: every caller needs an answer for that. Queries are
parsed within limits of length and depth.

Over empty tables nearly all queries return the same, so that equal results say nothing about a prediction. The tables
are those of the syntax tree; a view is replaced by the tables of its own text. Where it cannot be told what a query
reads, it counts as reading rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from steelyard.sql.layout import QueryLayout, layout_of, quoted
from steelyard.sql.results import EngineName, ResultTable

_MOST_PARSED: Final = 50_000
"""Characters of a query that are parsed at most, in a second or two; what is longer is read by words alone."""
_DEEPEST_PARSED: Final = 100
UNFORESEEN: Final = (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, LookupError)
"""What parsing hostile text leads to: a parser fails in more ways than it documents, and its trees have more shapes."""
_PARSED: Final = frozenset({"SELECT", "WITH", "FROM", "VALUES", "CREATE", "("})


def syntax_of(query: str, engine: EngineName) -> exp.Expr | None:
    """The syntax tree of a query, which is shared and may not be changed; None where it cannot be parsed."""
    return parsed(engine, layout_of(query, engine))


def parsed(engine: EngineName, layout: QueryLayout) -> exp.Expr | None:
    """The one statement of a query; None where it cannot be parsed, or not cheaply."""
    if len(layout.text) > _MOST_PARSED or layout.deepest > _DEEPEST_PARSED:
        return None
    # Of anything else it makes one word, with a warning on standard error.
    if not layout.body or layout.body[0].word not in _PARSED:
        return None
    # A comment between ORDER and BY is more than the parser takes.
    return _tree(engine, layout.bare)


@lru_cache(maxsize=32)
def _tree(engine: EngineName, text: str) -> exp.Expr | None:
    """Cached for the few queries of the samples that are scored now, each of which is asked about several times."""
    try:
        trees = [tree for tree in sqlglot.parse(text, dialect=engine) if tree is not None]
    except UNFORESEEN:
        return None
    return trees[0] if len(trees) == 1 else None


_AT_ONCE: Final = 100
"""Tables that one query asks about: engines limit how deep its conditions are nested."""
CATALOG: Final[Mapping[EngineName, str]] = MappingProxyType(
    {
        "sqlite": """SELECT name, '"' || replace(name, '"', '""') || '"', CASE type WHEN 'view' THEN sql END
            FROM sqlite_master WHERE type IN ('table', 'view') AND substr(name, 1, 7) <> 'sqlite_'""",
        "duckdb": """SELECT table_name, '"' || replace(schema_name, '"', '""') || '"."'
                || replace(table_name, '"', '""') || '"', NULL FROM duckdb_tables() WHERE NOT internal
            UNION ALL SELECT view_name, '', sql FROM duckdb_views() WHERE NOT internal""",
        "postgres": """SELECT c.relname, '"' || replace(n.nspname, '"', '""') || '"."' || replace(c.relname, '"', '""')
                || '"', CASE c.relkind WHEN 'v' THEN pg_catalog.pg_get_viewdef(c.oid) END
            FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
            WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND pg_catalog.pg_table_is_visible(c.oid)
            AND n.nspname NOT IN ('pg_catalog', 'information_schema')""",
        "mysql": """SELECT t.table_name, CONCAT('`', REPLACE(t.table_name, '`', '``'), '`'), v.view_definition
            FROM information_schema.tables AS t LEFT JOIN information_schema.views AS v
            ON v.table_schema = t.table_schema AND v.table_name = t.table_name WHERE t.table_schema = DATABASE()""",
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
    if isinstance(tree, exp.Create):
        tree = tree.expression if isinstance(tree.expression, exp.Expr) else tree
    parts = {cte.alias_or_name.casefold() for cte in tree.find_all(exp.CTE)}
    names = []
    known = not any(True for _ in tree.find_all(exp.UDTF))
    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier):
            known = False
        elif table.db or table.name.casefold() not in parts:
            names.append(".".join(_written(part, engine) for part in table.parts))
    return TablesRead(tuple(dict.fromkeys(names)), known)


def any_row(names: Sequence[str]) -> Iterator[str]:
    """Queries of which one returns a row if any of the tables, named as a query writes them, holds one.

    >>> list(any_row(['"t"', '"u"']))
    ['SELECT 1 FROM (SELECT 1) AS x WHERE EXISTS (SELECT 1 FROM "t") OR EXISTS (SELECT 1 FROM "u")']
    """
    for start in range(0, len(names), _AT_ONCE):
        conditions = (f"EXISTS (SELECT 1 FROM {name})" for name in names[start : start + _AT_ONCE])  # noqa: S608  # quoted
        yield f"SELECT 1 FROM (SELECT 1) AS x WHERE {' OR '.join(conditions)}"  # noqa: S608  # quoted


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
        "postgres": "pg_catalog.pg_views WHERE lower(viewname)",
        "mysql": "information_schema.views WHERE table_schema = DATABASE() AND lower(table_name)",
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


def plain_name(written: str) -> str:
    """The last part of a name as a query writes it, without quotes, in small letters.

    >>> plain_name('"main"."Two words"')
    'two words'
    """
    mark = written[-1:]
    _, dot, last = written.rpartition(f"{mark}.{mark}")
    return (last if dot else written.removeprefix(mark)).removesuffix(mark).replace(mark * 2, mark).casefold()


def _written(part: exp.Expr, engine: EngineName) -> str:
    """A part of a name in the engine's quotes; PostgreSQL reads one without quotes in small letters."""
    return quoted(part.name.lower() if engine == "postgres" and not part.args.get("quoted") else part.name, engine)
