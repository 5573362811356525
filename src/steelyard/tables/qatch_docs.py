"""The rules `qatch-docs`: QATCH as its documentation describes and shows it; every release differs from it.

Where a printed example or sentence and the release 0.2.2 differ, these rules follow the documentation: rows may be
ragged, equal tables score 1 (two empty ones, and 1 against 1.0, too), and what is not a table scores 0 instead of
raising. All else is as in 0.2.2: cells normalised to text, repeats of cells counted, the constraint over the target's
rows, three decimals.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain, count, islice
from typing import Any, Final

import numpy as np

from steelyard.sql.extent import check_time
from steelyard.sql.results import plain_cell
from steelyard.tables.counting import (
    Lexicon,
    Rows,
    first_places_correlation,
    found_in,
    rounded_cardinality,
    rounded_constraint,
)
from steelyard.tables.measure import Measure, TablePair, measure_each, unless_unordered
from steelyard.tables.qatch_0_2 import NUMBER

_LISTS: Final[frozenset[type]] = frozenset({list, tuple})
_FOLDED_AT_ONCE: Final[frozenset[type]] = frozenset({str, int, float, type(None)})
"""Types whose cells have one key where Python calls them equal; not bool, of which True equals 1."""

_FEW_FLOATS: Final = 50
_CLEAR: Final = 1e9
_HALF: Final = 1e-6
"""Below `_CLEAR` a product is right to 1e-7, so nothing this far from a half is rounded to the wrong side."""


def qatch_docs_metrics(pair: TablePair) -> dict[str, Measure]:
    """Compute the requested metrics by the rules `qatch-docs`."""
    return measure_each(pair, unless_unordered(pair, _formula(pair)), "the documentation of QATCH")


def _formula(pair: TablePair) -> Callable[[str], Measure]:
    """What the documentation gives for each metric."""
    for name, table in (("prediction", pair.prediction), ("target", pair.target)):
        problem = _problem(table)
        if problem:
            nothing = Measure(0.0, f"the {name} counts as nothing: {problem}")
            return lambda _: nothing
    target, prediction = qatch_docs_rows(_rows(pair.target), _rows(pair.prediction))
    if not target and not prediction:
        return lambda _: Measure(1.0, "both tables are empty", ("both_empty",))
    if not target or not prediction:
        empty_side = "target" if not target else "prediction"
        return lambda _: Measure(0.0, f"the {empty_side} is empty")
    return lambda name: Measure(_FORMULAS[name](target, prediction))


def _rows(table: Any) -> Any:
    return [] if isinstance(table, str) and table == "[]" else table


def _problem(table: Any) -> str:
    """Why the documentation's evaluator gives zeros: it is not a list of lists of cells."""
    table = _rows(table)
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
    if cell is None or not NUMBER.match(text):
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
    cells = list(chain.from_iterable(chain.from_iterable(tables)))
    kinds = set(map(type, cells))
    if not kinds <= _FOLDED_AT_ONCE:
        lexicon = Lexicon(qatch_docs_key)
        return [lexicon.rows(table) for table in tables]
    keys = _documented_keys(cells, kinds)
    check_time()
    numbers: dict[Hashable, int] = defaultdict(count().__next__)
    number_of = dict(zip(keys, map(numbers.__getitem__, keys.values()), strict=True))
    return [_rebuilt(table, map(number_of.__getitem__, chain.from_iterable(table))) for table in tables]


def _rebuilt(table: Sequence[Sequence[Any]], numbers: Iterator[int]) -> list[tuple[int, ...]]:
    """The numbers in rows as wide as the table's."""
    widths = list(map(len, table))
    if widths and widths[0] and widths.count(widths[0]) == len(widths):
        return list(zip(*[numbers] * widths[0], strict=True))
    return [tuple(islice(numbers, width)) for width in widths]


def _documented_keys(cells: Sequence[Any], kinds: set[type]) -> dict[Any, Hashable]:
    """The key of each cell, in order; texts and floats all together, which takes a third of the time."""
    # Whole numbers are their own keys.
    keys: dict[Any, Hashable] = dict(zip(cells, cells, strict=True))
    texts = [cell for cell in keys if type(cell) is str] if str in kinds else []
    floats = [cell for cell in keys if type(cell) is float] if float in kinds else []
    keys.update(zip(texts, map(str.lower, map(str.strip, texts)), strict=True))
    keys.update(zip(floats, _at_two_decimals(floats), strict=True))
    odd: list[Any] = [text for text in texts if "\n" in text or NUMBER.match(text)]
    # One that is not finite makes the sum so, and a look at the sum is a tenth of a look at each.
    odd += (cell for cell in floats if not math.isfinite(cell)) if not math.isfinite(sum(floats)) else ()
    odd += [None] if None in keys else []
    keys.update(zip(odd, map(qatch_docs_key, odd), strict=True))
    return keys


def _at_two_decimals(floats: Sequence[float]) -> Sequence[float]:
    """What `round(number, 2)` gives for each; what is not finite stays.

    Python's rounding goes by way of the decimal text. Where the number times 100 is clearly nearer to one whole number
    than to the next, a hundredth of that is the same float, in a tenth of the time.
    """
    if len(floats) < _FEW_FLOATS:
        return [round(number, 2) if math.isfinite(number) else number for number in floats]
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.array(floats) * 100
        rounded_scaled = np.rint(scaled)
        clear = (np.abs(scaled) < _CLEAR) & (np.abs(np.abs(scaled - rounded_scaled) - 0.5) > _HALF)
    rounded: list[float] = (rounded_scaled / 100).tolist()
    for index in np.flatnonzero(~clear).tolist():
        number = floats[index]
        rounded[index] = round(number, 2) if math.isfinite(number) else number
    return rounded


_FORMULAS: Final[Mapping[str, Callable[[Rows, Rows], float]]] = {
    "cell_precision": _precision,
    "cell_recall": _share,
    "tuple_cardinality": _cardinality,
    "tuple_constraint": _constraint,
    "tuple_order": first_places_correlation,
}
