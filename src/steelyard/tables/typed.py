"""The rules `steelyard`: cells compared by type, tables with their columns aligned, results not rounded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from steelyard.sql.cells import intern_tables
from steelyard.tables.counting import Rows, agreeing, cardinality, cell_counts, shared
from steelyard.tables.measure import UNORDERED, Measure, Question
from steelyard.tables.order import rank_correlation
from steelyard.tables.shapes import shape_problem

_ORDERS: Final = frozenset({"tuple_order", "tuple_order_unit"})
_FEW: Final = "fewer than two distinct rows are shared"


def typed_metrics(question: Question) -> dict[str, Measure]:
    """Every metric asked for, by the rules `steelyard`; see `steelyard.tables.metrics` for each."""
    for name, table in (("target", question.target), ("prediction", question.prediction)):
        problem = shape_problem(table)
        if problem:
            return question.alike(Measure(None, f"the {name} is no table: {problem}"))
    if not question.target or not question.prediction:
        return {name: _empty(name, question) for name in question.metrics}
    target, prediction = intern_tables(question.target, question.prediction)
    pair = _Pair(target, prediction, question.ordered)
    return {name: _MEASURES[name](pair) for name in question.metrics}


@dataclass(frozen=True)
class _Pair:
    """Two tables of the same cell numbers, with what several metrics share."""

    target: Rows
    unaligned: Rows
    ordered: bool | None

    @cached_property
    def cells(self) -> tuple[int, int, int]:
        """Cells of both that are shared, of the target, of the prediction."""
        wanted, got = cell_counts(self.target), cell_counts(self.unaligned)
        return shared(wanted, got), wanted.total(), got.total()

    @cached_property
    def prediction(self) -> Rows:
        """The prediction with its columns in the target's order."""
        return self.unaligned

    @cached_property
    def counts(self) -> tuple[Counter[tuple[int, ...]], Counter[tuple[int, ...]]]:
        """How often each row occurs in the target and in the prediction."""
        return Counter(self.target), Counter(self.prediction)

    @cached_property
    def order(self) -> float | None:
        """Rank correlation of the shared rows."""
        return rank_correlation(self.target, self.prediction)


def _precision(pair: _Pair) -> Measure:
    both, _, got = pair.cells
    return Measure(both / got)


def _recall(pair: _Pair) -> Measure:
    both, wanted, _ = pair.cells
    return Measure(both / wanted)


def _cardinality(pair: _Pair) -> Measure:
    return Measure(cardinality(len(pair.target), len(pair.unaligned)))


def _constraint(pair: _Pair) -> Measure:
    wanted, got = pair.counts
    return Measure(agreeing(wanted, got) / len(wanted.keys() | got.keys()))


def _order(pair: _Pair) -> Measure:
    if pair.ordered is False:
        return Measure(None, UNORDERED)
    return Measure(pair.order, "" if pair.order is not None else _FEW)


def _order_unit(pair: _Pair) -> Measure:
    measure = _order(pair)
    return measure if measure.value is None else Measure((measure.value + 1) / 2)


def _accuracy(pair: _Pair) -> Measure:
    wanted, got = pair.counts
    if wanted != got:
        return Measure(0.0)
    if pair.ordered and pair.target != pair.prediction:
        return Measure(0.0, "the same rows in another order")
    return Measure(1.0)


def _empty(name: str, question: Question) -> Measure:
    both = not question.target and not question.prediction
    flags = ("both_empty",) if both else ()
    if name in _ORDERS:
        return Measure(None, UNORDERED if question.ordered is False else _FEW, flags)
    which = "target" if not question.target else "prediction"
    return Measure(1.0, "both tables are empty", flags) if both else Measure(0.0, f"the {which} is empty")


_MEASURES: Final[Mapping[str, Callable[[_Pair], Measure]]] = {
    "cell_precision": _precision,
    "cell_recall": _recall,
    "tuple_cardinality": _cardinality,
    "tuple_constraint": _constraint,
    "tuple_order": _order,
    "tuple_order_unit": _order_unit,
    "execution_accuracy": _accuracy,
}
