"""A pair of tables to measure, and what a metric gives: a value, or the reason why there is none.

An exception of QATCH 1.0.36 is a result as well: there is no number, and the reason names the exception.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from steelyard.sql.equality import CellEquality
from steelyard.sql.verdict import ResultVerdict

RuleName = Literal["steelyard", "qatch-docs", "qatch-1.0.36"]
"""Names of rule sets in configurations and arguments."""

METRICS: Final = ("cell_precision", "cell_recall", "tuple_cardinality", "tuple_constraint", "tuple_order")
"""The five metrics of QATCH."""

ALL_METRICS: Final = (*METRICS, "tuple_order_unit", "execution_accuracy")
"""Names of all metrics: the five of QATCH, `tuple_order_unit` and `execution_accuracy`."""
ORDER_METRICS: Final = frozenset({"tuple_order", "tuple_order_unit"})

UNORDERED: Final = "the expected result has no order at its top level"


@dataclass(frozen=True, slots=True)
class Measure:
    """One metric of one pair of tables.

    Args:
        value: in [0, 1], `tuple_order` of the rules `steelyard` in [-1, 1]; None: not applicable.
        reason: why there is no value, or why a table counted as nothing; "" otherwise.
        flags: `both_empty` where the value rests on two tables without rows; of `execution_accuracy` by the rules
            `steelyard` those of the verdict.
        label: what reports call the verdict; "" where there is none.
    """

    value: float | None
    reason: str = ""
    flags: tuple[str, ...] = ()
    label: str = field(default="", repr=False)


Verdict = Callable[[], ResultVerdict]
"""Returns the verdict on two results of queries, see `steelyard.sql.verdict`; called only where it matters."""


@dataclass(frozen=True, slots=True)
class TablePair:
    """Two tables and how to compare them.

    Args:
        target: the expected rows, or any other value given in their place.
        prediction: the rows to evaluate, or any other value given in their place.
        metrics: names out of `ALL_METRICS`.
        ordered: whether the expected result has an order at its top level; None: not known.
        verdict: on the results of two queries, whose order and LIMIT are known; None: the tables are all there is.
        equality: which cells are equal, by the rules `steelyard`.
    """

    target: Any
    prediction: Any
    metrics: tuple[str, ...] = METRICS
    ordered: bool | None = None
    verdict: Verdict | None = None
    equality: CellEquality = CellEquality()
