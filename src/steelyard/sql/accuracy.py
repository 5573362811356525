"""Execution accuracy as published evaluators define it, so that their numbers can be matched from the same results.

None of them is our verdict (`steelyard.sql.verdict`): they lose duplicates, order or columns, each in its own way.
Cells are equal as Python says: 1 == 1.0 == True, texts exactly, floats to the last bit. Nothing here runs SQL: the
caller runs both queries, and a prediction that returns no result is 0 for each of them.

Behind them stands credit between wrong and right: for a part of the rows, for the tables and columns that a query
names, and for its speed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

from sqlglot import exp
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope

from steelyard.sql.cells import intern_tables
from steelyard.sql.columns import Rows, match_columns
from steelyard.sql.equality import CellEquality
from steelyard.sql.extent import check_time
from steelyard.sql.layout import scan
from steelyard.sql.results import EngineName, ResultTable
from steelyard.sql.schema import Schema
from steelyard.sql.syntax import UNFORESEEN, syntax_of

_SPLIT_SIGNS: Final = re.compile(r"([<>!]) =")
_SAME_TEXT: Final[frozenset[type]] = frozenset({str, int, type(None), bytes})
"""Cells of these types that are equal are written alike."""


def spider(reference: ResultTable, prediction: ResultTable, *, order_matters: bool) -> bool:
    """Execution match of Spider's test-suite evaluator on one database.

    The rows are the same bag, or the same list where order matters, under some order of the columns; both empty is
    right, whatever the columns. As in the original, rows are first compared with their cells sorted by text and type,
    which rejects some that differ in int against float alone: (1, 10) against (10.0, 1.0).

    Deviations: columns are matched in polynomial time, where the original tries their orders (exponential, narrowed by
    20 sampled rows). Time limits are the sandbox's; the original's 60 s do not hold. It runs each query on every
    database of the suite: call this for each, and all must hold. Lists, which SQLite does not have, compare by their
    parts, where the original raises TypeError.

    Args:
        reference: the gold query's result.
        prediction: the predicted query's.
        order_matters: `spider_order_matters` of the gold query.

    Source: R. Zhong, T. Yu, D. Klein, "Semantic Evaluation for Text-to-SQL with Distilled Test Suites", EMNLP 2020;
    repository taoyds/test-suite-sql-eval, exec_eval.py.

    >>> table = ResultTable(("a", "b"), [(1, "x"), (2, "y")])
    >>> other = ResultTable(("b", "a"), [("y", 2), ("x", 1)])
    >>> spider(table, other, order_matters=False), spider(table, other, order_matters=True)
    (True, False)
    """
    if not reference.rows and not prediction.rows:
        return True
    if len(reference.rows) != len(prediction.rows) or len(reference.rows[0]) != len(prediction.rows[0]):
        return False
    tables = (reference.rows, prediction.rows)
    reference_rows, prediction_rows = _interned(*tables)
    if not _quickly_alike(tables, (reference_rows, prediction_rows), order_matters=order_matters):
        return False
    groups = range(len(reference_rows)) if order_matters else None
    return match_columns(reference_rows, prediction_rows, groups=groups).columns is not None


def spider_order_matters(query: str) -> bool:
    """Whether Spider's evaluator compares the order: "order by" occurs anywhere in the gold text, even in a subquery.

    >>> spider_order_matters("SELECT a FROM (SELECT a FROM t ORDER BY b)"), spider_order_matters("SELECT a ORDER  BY b")
    (True, False)
    """
    return "order by" in query.lower()


def spider_query(query: str, *, keep_distinct: bool, engine: EngineName = "sqlite") -> str:
    """A query as Spider's evaluator runs it: "> =" joined, and without DISTINCT unless `keep_distinct`.

    >>> spider_query("SELECT DISTINCT a FROM t WHERE b > = 3", keep_distinct=False)
    'SELECT  a FROM t WHERE b >= 3'
    """
    joined = _SPLIT_SIGNS.sub(r"\1=", query)
    return joined if keep_distinct else without_distinct(joined, engine=engine)


def without_distinct(query: str, *, engine: EngineName = "sqlite") -> str:
    """The first statement of a query without the word DISTINCT, anywhere in it, COUNT(DISTINCT a) included.

    The word is left alone in texts, quoted names and comments. The original splits tokens by sqlparse, which takes a
    backslash before a quote for an escape; SQLite does not, and neither does this.

    >>> without_distinct("SELECT count(DISTINCT a) FROM t WHERE b = 'distinct'; SELECT 2")
    "SELECT count( a) FROM t WHERE b = 'distinct';"
    """
    parts, at = [], 0
    for token in scan(query, engine):
        if token.kind == "word" and token.text.lower() == "distinct":
            parts.append(query[at : token.start])
            at = token.end
        elif token.text == ";" and token.kind == "mark":
            return "".join([*parts, query[at : token.end]])
    return "".join([*parts, query[at:]])


def bird(reference: ResultTable, prediction: ResultTable) -> bool:
    """Execution accuracy of BIRD: the sets of rows are equal.

    Order and duplicates are lost, columns are compared by position, both empty is right, floats are exact. Deviation:
    the original gives both queries 30 s together; here the sandbox limits each.

    Source: J. Li et al., "Can LLM Already Serve as A Database Interface?", NeurIPS 2023; repository
    bird-bench/mini_dev, evaluation_ex.py.

    >>> bird(ResultTable(("a",), [(1,), (2,), (2,)]), ResultTable(("b",), [(2,), (1,)]))
    True
    """
    reference_rows, prediction_rows = _interned(reference.rows, prediction.rows)
    return set(reference_rows) == set(prediction_rows)


def qatch(reference: ResultTable, prediction: ResultTable) -> bool:
    """Execution accuracy of QATCH 1.0.36: as many rows, and equal sets of rows whose cells are sorted.

    So the cells of a single row may be in any order, and with the number of rows equal their multiplicities may
    differ. Order is never looked at, both empty is right. Deviation: the original compares sorted lists, whose sorting
    raises OverflowError for whole numbers beyond 1e308; here the cells of a row are a bag.

    Source: repository spapicchio/QATCH, release 1.0.36, execution_accuracy.

    >>> qatch(ResultTable(("a", "b"), [(1, 2), (3, 4)]), ResultTable(("a", "b"), [(2, 1), (3, 4)]))
    True
    """
    if len(reference.rows) != len(prediction.rows):
        return False
    reference_rows, prediction_rows = _interned(reference.rows, prediction.rows)
    return {tuple(sorted(row)) for row in reference_rows} == {tuple(sorted(row)) for row in prediction_rows}


def _interned(*tables: Sequence[Sequence[Any]]) -> list[Rows]:
    """Rows of numbers that are equal where Python's cells are, NaN equal to itself alone where it is one object."""
    numbers: dict[Any, int] = {}

    def number(cell: Any) -> int:
        try:
            return numbers.setdefault(cell, len(numbers))
        except TypeError:
            return numbers.setdefault((type(cell), repr(cell)), len(numbers))

    numbered: list[Rows] = []
    for rows in tables:
        check_time()
        numbered.append([tuple(map(number, row)) for row in rows])
    check_time()
    return numbered


def _quickly_alike(tables: Sequence[Sequence[Sequence[Any]]], keys: Sequence[Rows], *, order_matters: bool) -> bool:
    """The original's first test, which matters only where equal cells may be written differently."""
    if set(map(type, chain.from_iterable(chain.from_iterable(tables)))) <= _SAME_TEXT:
        return True
    reference_rows, prediction_rows = (
        [_by_text(*pair) for pair in zip(*table_and_keys, strict=True)]
        for table_and_keys in zip(tables, keys, strict=True)
    )
    return reference_rows == prediction_rows if order_matters else set(reference_rows) == set(prediction_rows)


def _by_text(row: Sequence[Any], keys: Sequence[int]) -> tuple[int, ...]:
    """The keys of a row in the order of its cells' texts."""
    positions = sorted(range(len(row)), key=lambda position: f"{row[position]}{type(row[position])}")
    return tuple(keys[position] for position in positions)


def is_subset(reference: ResultTable, prediction: ResultTable, *, equality: CellEquality = CellEquality()) -> bool:
    """Whether all expected rows and columns are in the prediction, whatever else it holds; order does not count.

    An empty reference is in an empty prediction alone, as anything would hold it.

    >>> table = ResultTable(("n",), [(1,), (2,)])
    >>> is_subset(table, ResultTable(("a", "n"), [("x", 2), ("y", 1), ("z", 3)]))
    True
    """
    if not reference.rows or not prediction.rows:
        return not reference.rows and not prediction.rows
    expected, returned = map(Counter, intern_tables(reference.rows, prediction.rows, equality=equality))
    width, columns = len(reference.columns), range(len(prediction.columns))
    wanted = [_projected(expected, range(size)) for size in range(width + 1)]
    contents = list(zip(*returned, strict=True))
    bags = [_projected(returned, (column,)) for column in columns]
    candidates = [
        [column for column in columns if not _projected(expected, (each,)) - bags[column]] for each in range(width)
    ]
    chosen: list[tuple[int, ...]] = [()] if all(candidates) else []
    # Depth first: a column is taken where all expected rows are still there, as far as their columns are chosen.
    while chosen:
        taken = chosen.pop()
        if len(taken) == width:
            return True
        # Of equal columns one is enough; the last that is appended is tried first, so that their own order is.
        unused = {contents[column]: column for column in reversed(candidates[len(taken)]) if column not in taken}
        for column in unused.values():
            further = (*taken, column)
            if not wanted[len(further)] - _projected(returned, further):
                chosen.append(further)
    return False


def _projected(counted: Counter[tuple[int, ...]], columns: Sequence[int]) -> Counter[tuple[int, ...]]:
    """How often each row occurs by these columns alone."""
    check_time()
    projected: Counter[tuple[int, ...]] = Counter()
    for row, count in counted.items():
        projected[tuple(row[column] for column in columns)] += count
    return projected


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
    known: dict[str, object] = {
        table.name: {column.name: column.type or "TEXT" for column in table.columns} for table in schema.tables
    }
    try:
        scopes = traverse_scope(
            qualify(
                tree.copy(),
                dialect=engine,
                schema=known,
                quote_identifiers=False,
                validate_qualify_columns=False,
                allow_partial_qualification=True,
            )
        )
        sources = [source for scope in scopes for source in scope.sources.values()]
        # A function in the place of a table has no name.
        tables = {source.name.lower() for source in sources if isinstance(source, exp.Table) and source.name}
        columns = {
            f"{table}.{column.name}".lower()
            for scope in scopes
            for column in scope.columns
            if (table := _table_of(column, scope, schema, engine)) is not None
        }
    except UNFORESEEN:
        return None
    return frozenset(tables), frozenset(columns)


def _table_of(column: exp.Column, scope: Scope, schema: Schema, engine: EngineName) -> str | None:
    """The name of a column's table; "" where all tables that it may be of are in the schema, and none has it.

    None for anything else: a column of a subquery or a function, a whole row, a text in double quotes of SQLite.
    """
    tables = {name: str(source.name) for name, source in scope.sources.items() if not isinstance(source, Scope)}
    if column.table:
        return tables.get(column.table) or None
    is_known = len(tables) == len(scope.sources) and all(map(schema.table, tables.values()))
    is_text = engine == "sqlite" and column.this.args.get("quoted")
    return "" if tables and is_known and not is_text and column.name not in tables else None


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
