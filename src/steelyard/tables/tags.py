"""QATCH's five tag classes: one metric each, as an object.

CellPrecisionTag       share of predicted cells that are in the target
CellRecallTag          share of the target's cells that were predicted
TupleCardinalityTag    rows of the smaller table by rows of the larger
TupleConstraintTag     share of the target's distinct rows that were predicted as often
TupleOrderTag          whether the shared rows stand in the same order
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from steelyard.tables.measure import RuleName
from steelyard.tables.metrics import table_metrics
from steelyard.tables.reading import plain_table
from steelyard.tables.rules import check_rules


class Tag:
    """One metric of two tables; the classes below name it.

    Args:
        rules: whose rules, see `table_metrics`.

    Raises:
        ConfigError: there are no such rules.
    """

    metric: ClassVar[str]

    def __init__(self, rules: RuleName = "documented") -> None:
        check_rules(rules)
        self.rules = rules

    def evaluate(self, target: Any, prediction: Any) -> float | None:
        """The metric, empty tables and whatever is no table included.

        Args:
            target: the wanted rows, as lists, tuples or arrays of cells.
            prediction: the rows to be weighed.

        Returns:
            a number in [0, 1]; None where the rules `steelyard` call it not applicable, which have order in [-1, 1].
        """
        measures = table_metrics(
            plain_table(target), plain_table(prediction), rules=self.rules, metrics=(self.metric,), ordered=True
        )
        return measures[self.metric].value

    def evaluate_single_no_special_case(self, target: Any, prediction: Any) -> float | None:
        """The same as `evaluate`; special cases need no call of their own here."""
        return self.evaluate(target, prediction)

    def evaluate_single_test_metric(self, target: Any, prediction: Any) -> float | None:
        """The same as `evaluate`, under the name that it has in QATCH 0.2."""
        return self.evaluate(target, prediction)

    def evaluate_tests(self, targets: Sequence[Any], predictions: Sequence[Any]) -> list[float | None]:
        """The metric of each pair, in order.

        Raises:
            ValueError: there are more of the one than of the other.
        """
        return [self.evaluate(one, other) for one, other in zip(targets, predictions, strict=True)]


class CellPrecisionTag(Tag):
    """Share of predicted cells that are in the target.

    >>> CellPrecisionTag().evaluate([["a", "b"], ["c", "d"]], [["a", "b"], ["c", "e"]])
    0.75
    """

    metric: ClassVar[str] = "cell_precision"


class CellRecallTag(Tag):
    """Share of the target's cells that were predicted.

    >>> CellRecallTag().evaluate([["a", "b"], ["c", "d"]], [["a", "x"], ["y", "d"]])
    0.5
    """

    metric: ClassVar[str] = "cell_recall"


class TupleCardinalityTag(Tag):
    """Rows of the smaller table by rows of the larger.

    >>> TupleCardinalityTag().evaluate([["a"], ["b"]], [["a"], ["b"], ["c"], ["d"]])
    0.5
    """

    metric: ClassVar[str] = "tuple_cardinality"


class TupleConstraintTag(Tag):
    """Share of the target's distinct rows that were predicted exactly as often.

    >>> TupleConstraintTag().evaluate([["a", "b"], ["c", "d"]], [["a", "b"], ["a", "b"], ["c", "d"]])
    0.5
    """

    metric: ClassVar[str] = "tuple_constraint"


class TupleOrderTag(Tag):
    """Whether the rows that both tables have stand in the same order: 1 the same, 0 the opposite.

    >>> TupleOrderTag().evaluate([["a", "b"], ["c", "d"]], [["c", "d"], ["a", "b"]])
    0.0
    """

    metric: ClassVar[str] = "tuple_order"
