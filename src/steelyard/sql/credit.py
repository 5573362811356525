"""Credit between wrong and right for a result, and for the tables and columns that a query names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steelyard.sql.alignment import align
from steelyard.sql.cells import intern_tables
from steelyard.sql.equality import CellEquality
from steelyard.sql.extent import check_time
from steelyard.sql.results import EngineName, ResultTable
from steelyard.sql.schema import Schema
from steelyard.sql.syntax import syntax_of


def is_subset(reference: ResultTable, prediction: ResultTable, *, equality: CellEquality = CellEquality()) -> bool:
    """Whether all expected rows and columns are in the prediction, whatever else it holds; order does not count.

    An empty reference is in an empty prediction alone, as anything would hold it.

    >>> table = ResultTable(("n",), [(1,), (2,)])
    >>> is_subset(table, ResultTable(("a", "n"), [("x", 2), ("y", 1), ("z", 3)]))
    True
    """
    if not reference.rows or not prediction.rows:
        return not reference.rows and not prediction.rows
    widths = len(reference.columns), len(prediction.columns)
    if widths[0] > widths[1]:
        return False
    expected, returned = intern_tables(reference.rows, prediction.rows, equality=equality)
    alignment = align(expected, returned, widths)
    return not alignment.missing and len(alignment.columns) == widths[0]


def soft_f1(reference: ResultTable, prediction: ResultTable) -> float:
    """Soft F1 of BIRD mini_dev, from 0 to 1: rows without repeats are compared one by one in their order.

    A cell counts as found where it occurs anywhere in the row at the same place, so that the same rows in another order
    score less, and (1, 1, 1) against (1) scores 1. Cells are equal as Python says.

    Source: repository bird-bench/mini_dev, evaluation/evaluation_f1.py.

    >>> table = ResultTable(("n",), [(1,), (2,), (3,)])
    >>> round(soft_f1(table, ResultTable(("n",), [(3,), (2,), (1,)])), 3)
    0.333
    """
    expected, returned = (
        list(dict.fromkeys(tuple(map(_key, row)) for row in table.rows)) for table in (reference, prediction)
    )
    if not expected and not returned:
        return 1.0
    found = 0.0
    wrong = float(max(0, len(returned) - len(expected)))
    missing = float(max(0, len(expected) - len(returned)))
    for wanted, row in zip(expected, returned, strict=False):
        check_time()
        held = sum(cell in wanted for cell in row)
        found += held / len(wanted)
        wrong += (len(row) - held) / len(wanted)
        missing += sum(cell not in row for cell in wanted) / len(wanted)
    return 2 * found / (2 * found + wrong + missing) if found else 0.0


def _key(cell: Any) -> Any:
    """A cell that can be a key: lists and maps by their text."""
    return repr(cell) if isinstance(cell, list | dict) else cell


def named_parts(query: str, engine: EngineName, schema: Schema) -> tuple[frozenset[str], frozenset[str]] | None:
    """The tables, and the columns as `table.column`, that a query reads, in small letters; None where it is not parsed.

    Args:
        query: one SELECT.
        engine: whose SQL it is.
        schema: tells which table a column without one belongs to, and what a star stands for.
    """
    tree = syntax_of(query, engine)
    if tree is None:
        return None
    from sqlglot import exp
    from sqlglot.errors import SqlglotError
    from sqlglot.optimizer.qualify import qualify
    from sqlglot.optimizer.scope import traverse_scope

    known: dict[str, object] = {
        table.name: {column.name: column.type or "TEXT" for column in table.columns} for table in schema.tables
    }
    try:
        whole = qualify(
            tree.copy(), dialect=engine, schema=known, quote_identifiers=False, validate_qualify_columns=False
        )
        scopes = traverse_scope(whole)
        sources = [source for scope in scopes for source in scope.sources.values()]
        tables = {source.name.lower() for source in sources if isinstance(source, exp.Table)}
        columns = {
            f"{source.name}.{column.name}".lower()
            for scope in scopes
            for column in scope.columns
            if isinstance(source := scope.sources.get(column.table), exp.Table)
        }
    except (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, LookupError):
        return None
    return frozenset(tables), frozenset(columns)


def precision_recall(expected: frozenset[str], named: frozenset[str]) -> tuple[float, float]:
    """The share of what was named that was expected, and of what was expected that was named; 1 of nothing.

    >>> precision_recall(frozenset({"a", "b"}), frozenset({"a", "c", "d"}))
    (0.3333333333333333, 0.5)
    """
    shared = len(expected & named)
    return (shared / len(named) if named else float(not expected)), (shared / len(expected) if expected else 1.0)


def ves_reward(ratio: float) -> float:
    """The reward of BIRD's R-VES for the reference's time divided by the prediction's.

    Source: repository bird-bench/mini_dev, evaluation/evaluation_ves.py.

    >>> [ves_reward(ratio) for ratio in (3.0, 1.0, 0.6, 0.3, 0.1)]
    [1.25, 1.0, 0.75, 0.5, 0.25]
    """
    steps: Sequence[tuple[float, float]] = ((2.0, 1.25), (1.0, 1.0), (0.5, 0.75), (0.25, 0.5))
    return next((reward for least, reward in steps if ratio >= least), 0.25)
