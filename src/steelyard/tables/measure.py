"""A pair of tables to measure, and what a metric gives: a value, or the reason why there is none.

An exception of QATCH 1.0.36 is a result as well: there is no number, and the reason names the exception.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from steelyard.sql.equality import CellEquality
from steelyard.sql.extent import check_time
from steelyard.sql.verdict import ResultVerdict

RuleName = Literal["steelyard", "qatch-docs", "qatch-1.0.36"]
"""Names of rule sets in configurations and arguments."""

METRICS: Final = ("cell_precision", "cell_recall", "tuple_cardinality", "tuple_constraint", "tuple_order")
"""The five metrics of QATCH."""

ALL_METRICS: Final = (*METRICS, "tuple_order_unit", "execution_accuracy")
"""Names of all metrics: the five of QATCH, `tuple_order_unit` and `execution_accuracy`."""
ORDER_METRICS: Final = frozenset({"tuple_order", "tuple_order_unit"})

UNORDERED: Final = "the expected result has no order at its top level"

RAISED: Final = (ArithmeticError, AttributeError, RecursionError, TypeError, ValueError)
"""Exceptions that the release lets through for tables that they cannot process."""


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


def measure_each(pair: TablePair, measure: Callable[[str], Measure], release: str) -> dict[str, Measure]:
    """Each metric of the pair, for rules that have the five metrics of QATCH and `tuple_order` in [0, 1] already.

    Args:
        pair: names the metrics.
        measure: returns one of the five.
        release: named in the reason where there is no such metric.
    """
    measures = {}
    for name in pair.metrics:
        check_time()
        formula = "tuple_order" if name == "tuple_order_unit" else name
        measures[name] = measure(formula) if formula in METRICS else lacks_accuracy(release)
    return measures


def unless_unordered(pair: TablePair, measure: Callable[[str], Measure]) -> Callable[[str], Measure]:
    """`measure`, with `tuple_order` not applicable where the expected result has no order."""
    if pair.ordered is not False:
        return measure
    return lambda name: Measure(None, UNORDERED) if name == "tuple_order" else measure(name)


def attempt(release: str, compute: Callable[[], float]) -> Measure:
    """The number that a release gives, or the reason why it gives none.

    Args:
        release: its version.
        compute: returns the number, or raises what the release raises.

    >>> attempt("1.0.36", lambda: 1 / 0)
    Measure(value=None, reason='QATCH 1.0.36 raises ZeroDivisionError', flags=())
    """
    check_time()
    try:
        value = compute()
    except RAISED as error:
        return Measure(None, f"QATCH {release} raises {type(error).__name__}")
    return Measure(None, f"QATCH {release} gives NaN") if math.isnan(value) else Measure(value)


def lacks_accuracy(release: str) -> Measure:
    """The result of a rule set without execution accuracy."""
    return Measure(None, f"{release} has no execution_accuracy")
