"""The metrics of QATCH and execution accuracy as pure functions of two tables.

Source of all of them: S. Papicchio, P. Papotti, L. Cagliero, "QATCH: Benchmarking SQL-centric tasks with Table
Representation Learning Models on Your Data", NeurIPS 2023 Datasets and Benchmarks. What a table is, when two cells are
equal and how they are counted depends on the rules:

    steelyard       what the metrics are meant to measure; each metric lists its deviations from the releases
    qatch-docs      QATCH as its documentation describes and shows it
    qatch-1.0.36    the numbers of this release, oddities included

T and P are the target and the prediction: lists or tuples of rows of cells, of any JSON or SQL type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steelyard.tables.measure import METRICS, Measure, RuleName, TablePair
from steelyard.tables.rules import metric_names, rule_set


def table_metrics(
    target: Any,
    prediction: Any,
    *,
    rules: RuleName = "steelyard",
    metrics: Sequence[str] = METRICS,
    ordered: bool | None = None,
) -> dict[str, Measure]:
    """Compute several metrics of a pair of tables; the rows are read once for all of them.

    Args:
        target: the expected rows.
        prediction: the rows to evaluate.
        rules: by which.
        metrics: names out of `measure.ALL_METRICS`.
        ordered: whether the expected result has an order at its top level. False: the metrics of order are not
            applicable. True: execution accuracy asks for the order too. None: not known.

    Raises:
        ConfigError: unknown rules or an unknown metric.

    >>> measures = table_metrics([["a", 1], ["b", 2]], [["b", 2.0], ["a", 3]])
    >>> {name: measure.value for name, measure in measures.items()}  # doctest: +NORMALIZE_WHITESPACE
    {'cell_precision': 0.75, 'cell_recall': 0.75, 'tuple_cardinality': 1.0, 'tuple_constraint': 0.3333333333333333,
     'tuple_order': None}
    >>> measures["tuple_order"].reason
    'fewer than two distinct rows are shared'
    """
    names = tuple(metric_names(metrics))
    return rule_set(rules).metrics(TablePair(target, prediction, names, ordered))


def cell_precision(target: Any, prediction: Any, *, rules: RuleName = "steelyard") -> float | None:
    """Share of the prediction's cells that occur in the target.

        sum over cells c of min(count of c in T, count of c in P) / cells of P

    Args:
        target: the expected rows.
        prediction: the rows to evaluate.
        rules: by which.

    Returns:
        A share in [0, 1], 1 for two empty tables; None where it is not applicable.

    Cells are counted with their repeats on both sides, so that precision and recall are shares of one and the same
    set of matches: their harmonic mean is an F1, and neither is 1 unless the other table has no more of any cell.
    QATCH's documentation counts a predicted cell as often as it occurs, however rarely it is wanted; 1.0.36 counts
    every cell once:

    >>> target, prediction = [["a"], ["b"]], [["a"], ["a"], ["a"], ["x"]]
    >>> cell_precision(target, prediction)
    0.25
    >>> cell_precision(target, prediction, rules="qatch-docs")
    0.75
    >>> cell_precision(target, prediction, rules="qatch-1.0.36")
    0.5

    Cells are compared by type (`steelyard.sql.cells`): 1 is 1.0, but no text, and case counts. `qatch-docs`
    takes 7 for "007" and "Bob" for "bob"; 1.0.36 takes True for 1, and 0.1 + 0.2 is not 0.3:

    >>> cell_precision([[7, "Bob"]], [["007", "bob"]])
    0.0
    >>> cell_precision([[7, "Bob"]], [["007", "bob"]], rules="qatch-docs")
    1.0
    >>> cell_precision([[0.3]], [[0.1 + 0.2]]), cell_precision([[0.3]], [[0.1 + 0.2]], rules="qatch-1.0.36")
    (1.0, 0.0)
    """
    return _value("cell_precision", target, prediction, rules)


def cell_recall(target: Any, prediction: Any, *, rules: RuleName = "steelyard") -> float | None:
    """Share of the target's cells that occur in the prediction.

        sum over cells c of min(count of c in T, count of c in P) / cells of T

    Args:
        target: the expected rows.
        prediction: the rows to evaluate.
        rules: by which.

    Returns:
        A share in [0, 1], 1 for two empty tables; None where it is not applicable.

    Repeats are counted as in `cell_precision`; to QATCH one predicted cell answers for all of its like:

    >>> cell_recall([["a"], ["a"], ["b"]], [["a"], ["x"]])
    0.3333333333333333
    >>> cell_recall([["a"], ["a"], ["b"]], [["a"], ["x"]], rules="qatch-docs")
    0.667

    Results are not rounded: one wrong cell in 4,000 shows, where three decimals make it 1.

    >>> wanted = [[number] for number in range(4000)]
    >>> cell_recall(wanted, wanted[1:]), cell_recall(wanted, wanted[1:], rules="qatch-1.0.36")
    (0.99975, 1.0)
    """
    return _value("cell_recall", target, prediction, rules)


def tuple_cardinality(target: Any, prediction: Any, *, rules: RuleName = "steelyard") -> float | None:
    """Ratio of the numbers of rows: min(rows of T, rows of P) / max(rows of T, rows of P).

    Args:
        target: the expected rows.
        prediction: the rows to evaluate.
        rules: by which.

    Returns:
        A share in [0, 1], 1 for two empty tables; None where it is not applicable.

    What is not a table has no number of rows; QATCH gives 0, counts letters, or raises:

    >>> tuple_cardinality([["a"], ["b"], ["c"]], [["x"]])
    0.3333333333333333
    >>> tuple_cardinality([["ab"]], ["ab"]) is None, tuple_cardinality([["ab"]], ["ab"], rules="qatch-docs")
    (True, 0.0)
    """
    return _value("tuple_cardinality", target, prediction, rules)


def tuple_constraint(target: Any, prediction: Any, *, rules: RuleName = "steelyard") -> float | None:
    """Share of distinct rows of either table that occur equally often in both.

        distinct rows r of T or P with count of r in T = count of r in P / distinct rows of T or P

    Args:
        target: the expected rows.
        prediction: the rows to evaluate.
        rules: by which.

    Returns:
        A share in [0, 1], 1 for two empty tables; None where it is not applicable.

    QATCH looks at the target's rows only, so that rows too many cost nothing:

    >>> tuple_constraint([[1], [2]], [[1], [2], [3], [4]])
    0.5
    >>> tuple_constraint([[1], [2]], [[1], [2], [3], [4]], rules="qatch-1.0.36")
    1.0
    """
    return _value("tuple_constraint", target, prediction, rules)


def tuple_order(target: Any, prediction: Any, *, rules: RuleName = "steelyard") -> float | None:
    """Rank correlation of the rows that both tables have: `steelyard.tables.counting.rank_correlation`.

    Args:
        target: the expected rows, in an order that is meant.
        prediction: the rows to evaluate.
        rules: by which.

    Returns:
        A correlation in [-1, 1]; None where it is not applicable. By all other rules in [0, 1].

    QATCH gives 0.5 to tables that share no row and 1 to those that share one, and leaves out all repeats:

    >>> wanted = [["a"], ["b"], ["c"], ["d"]]
    >>> tuple_order(wanted, [["a"], ["b"], ["d"], ["c"]]), tuple_order(wanted, wanted[::-1])
    (0.8, -1.0)
    >>> tuple_order(wanted, [["d"]]) is None, tuple_order(wanted, [["d"]], rules="qatch-1.0.36")
    (True, 1.0)
    >>> tuple_order([[1], [1], [2]], [[1], [2], [1]]), tuple_order([[1], [1], [2]], [[1], [2], [1]], rules="qatch-docs")
    (0.5, 1.0)
    """
    return _value("tuple_order", target, prediction, rules)


def tuple_order_unit(target: Any, prediction: Any, *, rules: RuleName = "steelyard") -> float | None:
    """The rank correlation rho of `tuple_order` in [0, 1]: (rho + 1) / 2, 0.5 where there is no correlation.

    Args:
        target: the expected rows, in an order that is meant.
        prediction: the rows to evaluate.
        rules: by which; all but `steelyard` have `tuple_order` in [0, 1] already.

    >>> tuple_order_unit([["a"], ["b"], ["c"], ["d"]], [["a"], ["b"], ["d"], ["c"]])
    0.9
    """
    return _value("tuple_order_unit", target, prediction, rules)


def execution_accuracy(
    target: Any, prediction: Any, *, rules: RuleName = "steelyard", ordered: bool | None = None
) -> float | None:
    """1 if both tables have the same rows equally often, else 0.

    Args:
        target: the expected rows.
        prediction: the rows to evaluate.
        rules: by which; `qatch-docs` has no such metric.
        ordered: True asks for the same order as well.

    Returns:
        0 or 1, 1 for two empty tables; None where it is not applicable.

    1.0.36 compares sets of rows with sorted cells: repeats are lost, and cells may change places within a row.

    >>> target, prediction = [[1, 2], [1, 2], [3, 4]], [[1, 2], [3, 4], [3, 4]]
    >>> execution_accuracy(target, prediction), execution_accuracy(target, prediction, rules="qatch-1.0.36")
    (0.0, 1.0)
    >>> execution_accuracy([[1, 0.3]], [[1, 0.1 + 0.2]]), execution_accuracy([[1], [2]], [[2], [1]], ordered=True)
    (1.0, 0.0)
    """
    measures = table_metrics(target, prediction, rules=rules, metrics=("execution_accuracy",), ordered=ordered)
    return measures["execution_accuracy"].value


def _value(metric: str, target: Any, prediction: Any, rules: RuleName) -> float | None:
    return table_metrics(target, prediction, rules=rules, metrics=(metric,))[metric].value
