"""The rules `documented`: QATCH as its documentation describes and shows it, which no release is.

Where a printed example or sentence and the release 0.2.2 differ, these rules follow the documentation: rows may be
ragged, equal tables score 1 (two empty ones, and 1 beside 1.0, too), and what is no table scores 0 instead of raising.
All else is as in 0.2.2: cells folded, repeats of cells counted, the constraint over the target's rows, three decimals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any, Final

from steelyard.tables.counting import Rows, agreeing, cardinality, found_in
from steelyard.tables.measure import UNORDERED, Measure, Question, lacks_accuracy
from steelyard.tables.normalise import documented_rows
from steelyard.tables.order import first_places_correlation

_LISTS: Final[frozenset[type]] = frozenset({list, tuple})


def documented_metrics(question: Question) -> dict[str, Measure]:
    """Every metric asked for, by the rules `documented`."""
    for name, table in (("prediction", question.prediction), ("target", question.target)):
        problem = _problem(table)
        if problem:
            nothing = Measure(0.0, f"the {name} counts as nothing: {problem}")
            return _measures(question, dict.fromkeys(_FORMULAS, nothing).__getitem__)
    target, prediction = documented_rows(_rows(question.target), _rows(question.prediction))
    if not target and not prediction:
        return _measures(question, lambda _: Measure(1.0, "both tables are empty", ("both_empty",)))
    if not target or not prediction:
        which = "target" if not target else "prediction"
        return _measures(question, lambda _: Measure(0.0, f"the {which} is empty"))
    return _measures(question, lambda name: Measure(_FORMULAS[name](target, prediction)))


def _measures(question: Question, measure: Callable[[str], Measure]) -> dict[str, Measure]:
    found = {}
    for name in question.metrics:
        plain = "tuple_order" if name == "tuple_order_unit" else name
        if plain not in _FORMULAS:
            found[name] = lacks_accuracy("the documentation of QATCH")
        elif plain == "tuple_order" and question.ordered is False:
            found[name] = Measure(None, UNORDERED)
        else:
            found[name] = measure(plain)
    return found


def _rows(table: Any) -> Any:
    return [] if isinstance(table, str) and table == "[]" else table


def _problem(table: Any) -> str:
    """Why the documentation's evaluator gives zeros: it is no list of lists of cells."""
    table = _rows(table)
    if not isinstance(table, list | tuple):
        return "it is no list of rows"
    if set(map(type, table)) <= _LISTS and _LISTS.isdisjoint(map(type, chain.from_iterable(table))):
        return ""
    for place, row in enumerate(table, 1):
        if not isinstance(row, list | tuple):
            return f"row {place} is no list of cells"
        if any(isinstance(cell, list | tuple) for cell in row):
            return f"row {place} holds a list where a cell belongs"
    return ""


def _share(rows: Rows, known: Rows) -> float:
    cells = list(chain.from_iterable(rows))
    if not cells:
        return float(not any(known))
    return round(found_in(cells, chain.from_iterable(known)) / len(cells), 3)


def _precision(target: Rows, prediction: Rows) -> float:
    return _share(prediction, target)


def _cardinality(target: Rows, prediction: Rows) -> float:
    return round(cardinality(len(target), len(prediction)), 3)


def _constraint(target: Rows, prediction: Rows) -> float:
    wanted, got = (Counter(map(tuple, map(sorted, rows))) for rows in (target, prediction))
    return round(agreeing(wanted, got) / len(wanted), 3)


_FORMULAS: Final[Mapping[str, Callable[[Rows, Rows], float]]] = {
    "cell_precision": _precision,
    "cell_recall": _share,
    "tuple_cardinality": _cardinality,
    "tuple_constraint": _constraint,
    "tuple_order": first_places_correlation,
}
