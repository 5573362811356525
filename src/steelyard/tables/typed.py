"""The rules `steelyard`: cells compared by type, tables with their columns aligned, results not rounded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from steelyard.sql.cells import intern_tables
from steelyard.tables.align import align_columns
from steelyard.tables.counting import NumberedRows, Rows, cardinality, shared_cells
from steelyard.tables.measure import UNORDERED, Measure, Question, Ties
from steelyard.tables.order import numbered_correlation
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
    pair = _Pair(target, prediction, question.ordered, question.ties)
    return {name: _MEASURES[name](pair) for name in question.metrics}


@dataclass(frozen=True)
class _Pair:
    """Two tables of the same cell numbers, with what several metrics share."""

    target: Rows
    prediction: Rows
    ordered: bool | None
    ties: Ties | None

    @cached_property
    def shared(self) -> int:
        """Cells that both have, repeats counted."""
        return shared_cells(self.target, self.prediction)

    @cached_property
    def rows(self) -> NumberedRows:
        """The rows of both, columns aligned."""
        return align_columns(self.target, self.prediction)

    @cached_property
    def order(self) -> float | None:
        """Rank correlation of the shared rows."""
        return numbered_correlation(self.rows)


def _cells(rows: Rows) -> int:
    return len(rows) * len(rows[0])


def _precision(pair: _Pair) -> Measure:
    return Measure(pair.shared / _cells(pair.prediction))


def _recall(pair: _Pair) -> Measure:
    return Measure(pair.shared / _cells(pair.target))


def _cardinality(pair: _Pair) -> Measure:
    return Measure(cardinality(len(pair.target), len(pair.prediction)))


def _constraint(pair: _Pair) -> Measure:
    wanted, got = pair.rows.counts()
    return Measure(int((wanted == got).sum()) / pair.rows.distinct)


def _order(pair: _Pair) -> Measure:
    if pair.ordered is False:
        return Measure(None, UNORDERED)
    return Measure(pair.order, "" if pair.order is not None else _FEW)


def _order_unit(pair: _Pair) -> Measure:
    measure = _order(pair)
    return measure if measure.value is None else Measure((measure.value + 1) / 2)


def _accuracy(pair: _Pair) -> Measure:
    wanted, got = pair.rows.counts()
    if not (wanted == got).all():
        return Measure(0.0)
    if not pair.ordered or (pair.rows.target == pair.rows.prediction).all():
        return Measure(1.0)
    groups = pair.ties() if pair.ties is not None else None
    if groups is None or not _same_by_group(pair.rows, groups):
        return Measure(0.0, "the same rows in another order")
    return Measure(1.0, "rows with equal sort keys stand in another order")


def _same_by_group(rows: NumberedRows, groups: Sequence[int]) -> bool:
    """Whether each group of positions holds the same rows in both tables."""
    import numpy as np

    places = np.asarray(groups, dtype=np.int64)
    wanted, got = (np.lexsort((each, places)) for each in (rows.target, rows.prediction))
    return bool((rows.target[wanted] == rows.prediction[got]).all())


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
