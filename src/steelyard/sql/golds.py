"""Several acceptable answers to one question, in the notations of public datasets.

    SELECT a FROM t; SELECT a FROM u      alternatives, as in a list of queries
    SELECT {id, name} FROM t              any of the columns in braces, one or more (Defog's sql-eval)

Source: defog-ai/sql-eval, eval/eval.py, `get_all_minimal_queries`. Deviation: braces that hold a colon are a struct of
DuckDB, and stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations
from typing import Final

from steelyard.sql.layout import QueryToken, end_of_bracket, scan
from steelyard.sql.results import EngineName
from steelyard.sql.statements import split

MOST_GOLDS: Final = 64
"""Queries of one question that are tried at most."""
_MOST_OPTIONAL: Final = 6
_SAME_COLUMNS: Final = "GROUP BY {}"


def joined_golds(queries: Sequence[str]) -> str:
    r"""One text of several acceptable queries.

    >>> joined_golds(["SELECT 1;", "SELECT 2"])
    'SELECT 1\n;\nSELECT 2'
    """
    # On a line of its own, a semicolon is in no comment at the end of a query.
    return "\n;\n".join(query.strip().rstrip("; \n\t") for query in queries if query.strip())


def gold_statements(reference: str, engine: EngineName) -> tuple[str, ...]:
    """The alternatives of a reference as written; () for a text without any.

    >>> gold_statements("SELECT ';' ; SELECT 2;", "sqlite")
    ("SELECT ';'", 'SELECT 2')
    """
    if ";" not in reference:
        return (reference,) if reference.strip() else ()
    if engine == "sqlite":  # whose triggers hold semicolons
        return tuple(statement.text for statement in split(reference))[:MOST_GOLDS]
    ends = [token.start for token in scan(reference, engine) if token.text == ";" and token.kind == "mark"]
    starts = [0, *(end + 1 for end in ends)]
    pieces = [reference[start:end].strip() for start, end in zip(starts, [*ends, len(reference)], strict=True)]
    return tuple(piece for piece in pieces if any(True for _ in scan(piece, engine)))[:MOST_GOLDS]


def gold_queries(reference: str, engine: EngineName) -> tuple[str, ...]:
    """Every query that a reference accepts, at most `MOST_GOLDS`.

    >>> gold_queries("SELECT {id, name} FROM t", "sqlite")
    ('SELECT id FROM t', 'SELECT name FROM t', 'SELECT id, name FROM t')
    """
    queries = chain.from_iterable(_expanded(statement, engine) for statement in gold_statements(reference, engine))
    return tuple(query for query, _ in zip(queries, range(MOST_GOLDS), strict=False))


def _expanded(statement: str, engine: EngineName) -> Iterator[str]:
    found = _braces(statement, engine)
    if found is None:
        yield statement
        return
    start, end, columns = found
    for count in range(1, len(columns) + 1):
        for chosen in combinations(columns, count):
            listed = ", ".join(chosen)
            rest = statement[end:].replace(_SAME_COLUMNS, f"GROUP BY {listed}")
            yield from _expanded(f"{statement[:start]}{listed}{rest}", engine)


def _braces(statement: str, engine: EngineName) -> tuple[int, int, list[str]] | None:
    """The range of the first braces around optional columns, and the columns; None without any."""
    if "{" not in statement:
        return None
    tokens = list(scan(statement, engine))
    for at, token in enumerate(tokens):
        if token.text != "{" or token.kind != "mark":
            continue
        close = end_of_bracket(tokens, at)
        inside = tokens[at + 1 : close]
        if close == len(tokens) or not inside or any(part.text == ":" for part in inside):
            continue
        columns = _listed(statement, inside)
        if len(columns) <= _MOST_OPTIONAL:
            return token.start, tokens[close].end, columns
    return None


def _listed(statement: str, tokens: Sequence[QueryToken]) -> list[str]:
    """The parts between the commas of the outermost level."""
    depth = min(token.depth for token in tokens)
    cuts = [token.start for token in tokens if token.text == "," and token.depth == depth]
    starts = [tokens[0].start, *(cut + 1 for cut in cuts)]
    return [statement[start:end].strip() for start, end in zip(starts, [*cuts, tokens[-1].end], strict=True)]
