"""What a metric gives: a value, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

RuleName = Literal["steelyard", "documented", "qatch-0.2.2", "qatch-0.2.5", "qatch-1.0.36"]

METRICS: Final = ("cell_precision", "cell_recall", "tuple_cardinality", "tuple_constraint", "tuple_order")
"""The five metrics of QATCH."""

ALL_METRICS: Final = (*METRICS, "tuple_order_unit", "execution_accuracy")

UNORDERED: Final = "the wanted result has no order at its top level"


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
