"""Execution accuracy as published evaluators define it, so that their numbers can be matched from the same results.

None of them is our verdict (`steelyard.sql.verdict`): they lose duplicates, order or columns, each in its own way.
Cells are equal as Python says: 1 == 1.0 == True, texts exactly, floats to the last bit. Nothing here runs SQL: the
caller runs both queries, and a prediction that returns no result is 0 for each of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

from steelyard.sql.columns import match_columns
from steelyard.sql.extent import check_time
from steelyard.sql.fingerprints import Rows
from steelyard.sql.layout import scan
from steelyard.sql.results import EngineName, ResultTable

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
