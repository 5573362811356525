"""What a metric is asked, and what it gives: a value, or the reason why there is none.

A release's exception is a result as well: there is no number, and the reason says which exception.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

RuleName = Literal["steelyard", "documented", "qatch-0.2.2", "qatch-0.2.5", "qatch-1.0.36"]

METRICS: Final = ("cell_precision", "cell_recall", "tuple_cardinality", "tuple_constraint", "tuple_order")
"""The five metrics of QATCH."""

ALL_METRICS: Final = (*METRICS, "tuple_order_unit", "execution_accuracy")

UNORDERED: Final = "the wanted result has no order at its top level"


RAISED: Final = (ArithmeticError, AttributeError, RecursionError, TypeError, ValueError)
"""What the releases let through for tables that they cannot take."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One metric of one pair of tables.

    Args:
        value: in [0, 1], `tuple_order` of the rules `steelyard` in [-1, 1]; None: not applicable.
        reason: why there is no value, or why a table counted as nothing; "" where all is ordinary.
        flags: `both_empty` where the value rests on two tables without rows.
    """

    value: float | None
    reason: str = ""
    flags: tuple[str, ...] = ()


Ties = Callable[[], Sequence[int] | None]
"""Gives the group of each row of a target, where rows of one group may stand in any order; None: there is none."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a pair of tables.

    Args:
        target: the wanted rows, or whatever came in their place.
        prediction: the rows to be weighed, or whatever came in their place.
        metrics: names out of `ALL_METRICS`.
        ordered: whether the wanted result has an order at its top level; None: not known.
        executed: the target is the result of a query that the evaluator itself ran.
        ties: which of its rows the target's order leaves free; asked only where it matters. None: all are in order.
    """

    target: Any
    prediction: Any
    metrics: tuple[str, ...] = METRICS
    ordered: bool | None = None
    executed: bool = False
    ties: Ties | None = None

    def alike(self, measure: Measure) -> dict[str, Measure]:
        """The same for every metric."""
        return dict.fromkeys(self.metrics, measure)


def attempt(release: str, compute: Callable[[], float]) -> Measure:
    """What a release gives: its number, or none and the reason.

    Args:
        release: its version.
        compute: gives the number, or raises what the release raises.

    >>> attempt("0.2.5", lambda: 1 / 0)
    Measure(value=None, reason='QATCH 0.2.5 raises ZeroDivisionError', flags=())
    """
    try:
        value = compute()
    except RAISED as error:
        return Measure(None, f"QATCH {release} raises {type(error).__name__}")
    return Measure(None, f"QATCH {release} gives NaN") if math.isnan(value) else Measure(value)


def lacks_accuracy(release: str) -> Measure:
    """What a rule set without execution accuracy says."""
    return Measure(None, f"{release} has no execution_accuracy")
