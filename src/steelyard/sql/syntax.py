"""Parses a query with sqlglot, within limits of length and depth, once for all that ask about it.

The parser is no validator and may fail on what an engine runs: every caller needs an answer for that.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from steelyard.sql.layout import QueryLayout, layout_of
from steelyard.sql.results import EngineName

if TYPE_CHECKING:
    from sqlglot import exp

_MOST_PARSED: Final = 50_000
"""Characters of a query that are parsed at most, in a second or two; what is longer is read by words alone."""
_DEEPEST_PARSED: Final = 100
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
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        trees = [tree for tree in sqlglot.parse(text, dialect=engine) if tree is not None]
    except (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, LookupError):
        # A parser that stumbles over hostile text fails in more ways than it documents.
        return None
    return trees[0] if len(trees) == 1 else None
