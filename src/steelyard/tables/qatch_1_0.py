"""The rules `qatch-1.0.36`: cells as Python compares them, nothing normalised and no table rejected.

The numbers are those of the release's `run_metric` (spapicchio/QATCH, qatch/evaluate_dataset/metrics_evaluators); of a
prediction of None, which a failed query leaves, those of its orchestrator: zeros.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Final

from steelyard.sql.extent import check_time
from steelyard.tables.counting import first_places_correlation, rounded_cardinality, rounded_constraint
from steelyard.tables.measure import UNORDERED, Measure, TablePair

_RAISED: Final = (ArithmeticError, AttributeError, RecursionError, TypeError, ValueError)
"""Exceptions that the release lets through for tables that it cannot process."""


def qatch_1_0_metrics(pair: TablePair) -> dict[str, Measure]:
    """Compute the requested metrics as QATCH 1.0.36 does."""
    cells = _RawPair(pair.target, pair.prediction)
    return {name: _measure(name, cells, pair) for name in pair.metrics}


def _measure(name: str, cells: _RawPair, pair: TablePair) -> Measure:
    formula = "tuple_order" if name == "tuple_order_unit" else name
    if formula == "tuple_order" and pair.ordered is False:
        return Measure(None, UNORDERED)
    if pair.prediction is None and pair.target is not None:
        return Measure(0.0, "there is no prediction")
    check_time()
    try:
        value = _value(formula, cells)
    except _RAISED as error:
        return Measure(None, f"QATCH 1.0.36 raises {type(error).__name__}")
    return Measure(None, "QATCH 1.0.36 gives NaN") if math.isnan(value) else Measure(value)


def _value(formula: str, pair: _RawPair) -> float:
    target_size, prediction_size = len(pair.target), len(pair.prediction)
    if target_size == prediction_size == 0:
        return 1.0
    if formula == "tuple_cardinality":
        return rounded_cardinality(target_size, prediction_size)
    if not target_size or not prediction_size or (formula == "execution_accuracy" and target_size != prediction_size):
        return 0.0
    return _FORMULAS[formula](pair)


@dataclass(frozen=True)
class _RawPair:
    """Two tables as they came, with what several metrics share; raises what Python raises for such cells."""

    target: Any
    prediction: Any

    @cached_property
    def cells(self) -> tuple[set[Any], set[Any]]:
        """Distinct cells of the target and of the prediction."""
        return set(chain.from_iterable(self.target)), set(chain.from_iterable(self.prediction))

    @cached_property
    def sorted_rows(self) -> tuple[Counter[Hashable], Counter[Hashable]]:
        """Counts of the rows with their cells sorted: NULL, then numbers, then all else by its text."""
        # Everything is sorted before anything is hashed, so that of two exceptions the release's comes first.
        target, prediction = list(map(_in_order, self.target)), list(map(_in_order, self.prediction))
        return Counter(target), Counter(prediction)


def _in_order(row: Any) -> tuple[Any, ...]:
    return tuple(sorted(row, key=_rank))


def _rank(cell: Any) -> tuple[int, str | float]:
    if cell is None:
        return (0, "")
    return (1, float(cell)) if isinstance(cell, int | float) else (2, str(cell))


def _precision(pair: _RawPair) -> float:
    target_cells, prediction_cells = pair.cells
    return round(len(target_cells & prediction_cells) / len(prediction_cells), 3)


def _recall(pair: _RawPair) -> float:
    target_cells, prediction_cells = pair.cells
    return round(len(target_cells & prediction_cells) / len(target_cells), 3)


def _constraint(pair: _RawPair) -> float:
    return rounded_constraint(*pair.sorted_rows)


def _order(pair: _RawPair) -> float:
    for table, rows in ((pair.target, pair.prediction), (pair.prediction, pair.target)):
        if isinstance(table, str) and not all(isinstance(row, str) for row in rows):
            raise TypeError("only a text can be looked for in a text")
        if isinstance(table, dict):
            # Looked for among the keys, so it must be hashed.
            frozenset(rows)
    return first_places_correlation(list(map(_hashable, pair.target)), list(map(_hashable, pair.prediction)))


def _accuracy(pair: _RawPair) -> float:
    # Row by row, so that of two exceptions the release's comes first.
    target_rows, prediction_rows = set(), set()
    for row, other in zip(pair.target, pair.prediction, strict=False):
        target_rows.add(_in_order(row))
        prediction_rows.add(_in_order(other))
    return float(target_rows == prediction_rows)


def _hashable(value: Any) -> Hashable:
    """Something to hash that is equal where the values are: a list is not a tuple, but a set is a frozenset."""
    if isinstance(value, list):
        return ("list", *map(_cell_in, value))
    if isinstance(value, tuple):
        return ("tuple", *map(_cell_in, value))
    return _cell_in(value)


def _cell_in(cell: Any) -> Hashable:
    if isinstance(cell, list | tuple):
        return _hashable(cell)
    if isinstance(cell, dict):
        return ("dict", frozenset((key, _cell_in(value)) for key, value in cell.items()))
    if isinstance(cell, set):
        return frozenset(cell)
    return bytes(cell) if isinstance(cell, bytearray) else cell


_FORMULAS: Final[Mapping[str, Callable[[_RawPair], float]]] = {
    "cell_precision": _precision,
    "cell_recall": _recall,
    "tuple_constraint": _constraint,
    "tuple_order": _order,
    "execution_accuracy": _accuracy,
}
