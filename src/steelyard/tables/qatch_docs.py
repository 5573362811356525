"""The rules `qatch-docs`: QATCH as its documentation describes and shows it; every release differs from it.

Where a printed example or sentence and the release 0.2.2, which it describes, differ, these rules follow the
documentation: rows may be ragged, equal tables score 1 (two empty ones, and 1 against 1.0, too), and what is not a
table scores 0 instead of raising. All else is as in 0.2.2: cells normalised to text, repeats of cells counted, the
constraint over the target's rows, three decimals.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from decimal import Decimal
from itertools import chain, count
from typing import Any, Final

from steelyard.sql.extent import check_time
from steelyard.sql.results import plain_cell
from steelyard.tables.counting import (
    Rows,
    first_places_correlation,
    found_in,
    rounded_cardinality,
    rounded_constraint,
)
from steelyard.tables.measure import UNORDERED, Measure, TablePair

_NUMBER: Final = re.compile(r"^-?\d+(?:\.\d+)?$")
"""A text that is a number to QATCH: any script's digits; `$` lets one line feed through."""

_LISTS: Final[frozenset[type]] = frozenset({list, tuple})


def qatch_docs_metrics(pair: TablePair) -> dict[str, Measure]:
    """Compute the requested metrics by the rules `qatch-docs`."""
    tables = _rows(pair.target), _rows(pair.prediction)
    special = _special_case(*tables)
    target, prediction = ([], []) if special else qatch_docs_rows(*tables)
    measures = {}
    for name in pair.metrics:
        check_time()
        formula = _FORMULAS.get("tuple_order" if name == "tuple_order_unit" else name)
        if formula is None:
            measures[name] = Measure(None, f"the documentation of QATCH has no {name}")
        elif formula is first_places_correlation and pair.ordered is False:
            measures[name] = Measure(None, UNORDERED)
        else:
            measures[name] = special or Measure(formula(target, prediction))
    return measures


def _special_case(target: Any, prediction: Any) -> Measure | None:
    """What every metric is where a table is none, or has no row; None for two tables with rows."""
    for name, table in (("prediction", prediction), ("target", target)):
        if problem := _problem(table):
            return Measure(0.0, f"the {name} counts as nothing: {problem}")
    if not target and not prediction:
        return Measure(1.0, "both tables are empty", ("both_empty",))
    if not target or not prediction:
        return Measure(0.0, f"the {'prediction' if target else 'target'} is empty")
    return None


def _rows(table: Any) -> Any:
    return [] if isinstance(table, str) and table == "[]" else table


def _problem(table: Any) -> str:
    """Why the documentation's evaluator gives zeros: it is not a list of lists of cells."""
    if not isinstance(table, list | tuple):
        return "it is not a list of rows"
    if set(map(type, table)) <= _LISTS and _LISTS.isdisjoint(map(type, chain.from_iterable(table))):
        return ""
    for number, row in enumerate(table, 1):
        if not isinstance(row, list | tuple):
            return f"row {number} is not a list of cells"
        if any(isinstance(cell, list | tuple) for cell in row):
            return f"row {number} holds a list where a cell belongs"
    return ""


def _share(rows: Rows, other_rows: Rows) -> float:
    cells = list(chain.from_iterable(rows))
    if not cells:
        return float(not any(other_rows))
    return round(found_in(cells, chain.from_iterable(other_rows)) / len(cells), 3)


def _precision(target: Rows, prediction: Rows) -> float:
    return _share(prediction, target)


def _cardinality(target: Rows, prediction: Rows) -> float:
    return rounded_cardinality(len(target), len(prediction))


def _constraint(target: Rows, prediction: Rows) -> float:
    return rounded_constraint(*(Counter(map(tuple, map(sorted, rows))) for rows in (target, prediction)))


def qatch_docs_key(cell: Any) -> Hashable:
    r"""Key of a cell by the documentation: normalised as by 0.2.2, but 1 equals 1.0, and every type has a key.

    >>> qatch_docs_key(1) == qatch_docs_key("1.00") == qatch_docs_key(Decimal("1.001"))
    True
    >>> qatch_docs_key(True) == qatch_docs_key(1), qatch_docs_key(" Bob\n") == qatch_docs_key("bob")
    (False, True)
    """
    cell = plain_cell(cell)
    if isinstance(cell, bool):
        return ("truth", cell)
    if isinstance(cell, int | float | Decimal):
        return _rounded(cell)
    if isinstance(cell, bytes):
        return cell
    text = "None" if cell is None else str(cell)
    if cell is None or not _NUMBER.match(text):
        return text if cell is None else text.replace("\n", "").strip().lower()
    return _rounded(Decimal(text.strip()))


def _rounded(number: float | Decimal) -> Hashable:
    if isinstance(number, Decimal):
        if number.is_nan() or number.is_infinite():
            return "None" if number.is_nan() else str(float(number))
        # Whole Decimals are never written out: 1E+999999 equals the int, and hashes like it.
        return number if number == number.to_integral_value() else round(float(number), 2)
    if isinstance(number, int) or math.isfinite(number):
        return number if isinstance(number, int) else round(number, 2)
    return "None" if math.isnan(number) else str(number)


def qatch_docs_rows(*tables: Sequence[Sequence[Any]]) -> list[list[tuple[int, ...]]]:
    """The tables with a number for each cell, such that two cells have one `qatch_docs_key` where they have one number.

    >>> qatch_docs_rows([["Bob", 1]], [[" bob", "1.001"], [True, None]])
    [[(0, 1)], [(0, 1), (2, 3)]]
    """
    check_time()
    numbers: dict[Hashable, int] = defaultdict(count().__next__)
    return [[tuple([numbers[qatch_docs_key(cell)] for cell in row]) for row in table] for table in tables]


_FORMULAS: Final[Mapping[str, Callable[[Rows, Rows], float]]] = {
    "cell_precision": _precision,
    "cell_recall": _share,
    "tuple_cardinality": _cardinality,
    "tuple_constraint": _constraint,
    "tuple_order": first_places_correlation,
}
