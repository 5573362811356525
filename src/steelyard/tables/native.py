"""The rules `steelyard`: cells compared by type, tables with their columns aligned, results not rounded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Final

from steelyard.sql.cells import intern_tables
from steelyard.sql.order import Ordering
from steelyard.sql.results import ResultTable
from steelyard.sql.verdict import ResultVerdict, compare_results
from steelyard.tables.counting import NumberedRows, Rows, align_columns, cardinality, numbered_correlation, shared_cells
from steelyard.tables.measure import ORDER_METRICS, UNORDERED, Measure, TablePair

_FEW: Final = "fewer than two distinct rows are shared"


def native_metrics(pair: TablePair) -> dict[str, Measure]:
    """Compute the requested metrics by the rules `steelyard`; see `steelyard.tables.metrics` for each."""
    for name, table in (("target", pair.target), ("prediction", pair.prediction)):
        problem = shape_problem(table)
        if problem:
            return dict.fromkeys(pair.metrics, Measure(None, f"the {name} is not a table: {problem}"))
    if not pair.target or not pair.prediction:
        return {name: _accuracy(pair) if name == "execution_accuracy" else _empty(name, pair) for name in pair.metrics}
    target, prediction = intern_tables(pair.target, pair.prediction, equality=pair.equality)
    numbered = _NumberedPair(target, prediction, pair)
    return {
        name: _accuracy(pair) if name == "execution_accuracy" else _MEASURES[name](numbered) for name in pair.metrics
    }


def shape_problem(table: Any) -> str:
    """Explain why a value is not a table by the rules `steelyard`, naming the first bad row; "" where it is one.

    A table is a list or tuple of rows; a row is a list or tuple of cells. A cell may itself be a list or dict, as
    engines return them; but where rows are lists and no cell is anything else than a list, that is a third dimension.

    >>> shape_problem([[1, 2], [3]]), shape_problem(["a", "b"])
    ('row 2 has 1 cell where row 1 has 2', 'row 1 is a str, not a list of cells')
    >>> shape_problem([]), shape_problem([("a", [1, 2])])
    ('', '')
    """
    if not isinstance(table, list | tuple):
        return f"{_named(table)} is not a list of rows"
    # Types first, rows only where one is wrong: three times as fast on what is a table.
    if not all(issubclass(kind, list | tuple) for kind in set(map(type, table))):
        number, row = next((number, row) for number, row in enumerate(table, 1) if not isinstance(row, list | tuple))
        return f"row {number} is {_named(row)}, not a list of cells"
    widths = list(map(len, table))
    if len(set(widths)) > 1:
        number = next(number for number, width in enumerate(widths) if width != widths[0])
        cells = "1 cell" if widths[number] == 1 else f"{widths[number]} cells"
        return f"row {number + 1} has {cells} where row 1 has {widths[0]}"
    if table and not widths[0]:
        return "row 1 has no cells"
    return _third_dimension(table)


def _third_dimension(table: list[Any] | tuple[Any, ...]) -> str:
    # The first cell decides nearly always, so that no table is read whole for it.
    cells = chain.from_iterable(table)
    if any(not isinstance(cell, list | tuple) for cell in cells) or not all(isinstance(row, list) for row in table):
        return ""
    return "row 1 holds lists where cells belong: a third dimension" if table else ""


def _named(value: Any) -> str:
    kind = type(value).__name__
    return "None" if value is None else f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


@dataclass(frozen=True)
class _NumberedPair:
    """Two tables of the same cell numbers, with what several metrics share."""

    target: Rows
    prediction: Rows
    tables: TablePair

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


def _precision(pair: _NumberedPair) -> Measure:
    return Measure(pair.shared / _cells(pair.prediction))


def _recall(pair: _NumberedPair) -> Measure:
    return Measure(pair.shared / _cells(pair.target))


def _cardinality(pair: _NumberedPair) -> Measure:
    return Measure(cardinality(len(pair.target), len(pair.prediction)))


def _constraint(pair: _NumberedPair) -> Measure:
    target_counts, prediction_counts = pair.rows.counts()
    return Measure(int((target_counts == prediction_counts).sum()) / pair.rows.distinct)


def _order(pair: _NumberedPair) -> Measure:
    if pair.tables.ordered is False:
        return Measure(None, UNORDERED)
    return Measure(pair.order, "" if pair.order is not None else _FEW)


def _order_unit(pair: _NumberedPair) -> Measure:
    measure = _order(pair)
    return measure if measure.value is None else Measure((measure.value + 1) / 2)


def _accuracy(tables: TablePair) -> Measure:
    """1 where the verdict on the two results is right, as in the suite `text2sql`."""
    verdict = tables.verdict() if tables.verdict is not None else _verdict_on(tables)
    return Measure(float(verdict.right), verdict.reason, verdict.flags, verdict.title)


def _verdict_on(tables: TablePair) -> ResultVerdict:
    """The verdict where nothing is known but the tables: an order that counts leaves no row free."""
    width = len((*tables.target, *tables.prediction, ())[0])
    reference, prediction = (
        ResultTable(("",) * (len(rows[0]) if rows else width), [tuple(row) for row in rows])
        for rows in (tables.target, tables.prediction)
    )
    ordering = Ordering(()) if tables.ordered else None
    return compare_results(reference, prediction, ordering=ordering, equality=tables.equality)


def _empty(name: str, pair: TablePair) -> Measure:
    both_empty = not pair.target and not pair.prediction
    flags = ("both_empty",) if both_empty else ()
    if name in ORDER_METRICS:
        return Measure(None, UNORDERED if pair.ordered is False else _FEW, flags)
    empty_side = "target" if not pair.target else "prediction"
    return Measure(1.0, "both tables are empty", flags) if both_empty else Measure(0.0, f"the {empty_side} is empty")


_MEASURES: Final[Mapping[str, Callable[[_NumberedPair], Measure]]] = {
    "cell_precision": _precision,
    "cell_recall": _recall,
    "tuple_cardinality": _cardinality,
    "tuple_constraint": _constraint,
    "tuple_order": _order,
    "tuple_order_unit": _order_unit,
}
