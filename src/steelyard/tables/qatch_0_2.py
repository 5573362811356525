"""The rules `qatch-0.2.2` and `qatch-0.2.5`: cells normalised to text, and a gate that scores malformed tables 0.

The numbers are those of the releases' `MetricEvaluator` on two tables, gates included (spapicchio/QATCH, tags 0.2.2
and 0.2.5, numpy 1.26). They differ from each other in the gate and in the two cell metrics.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import Any, Final

from steelyard.tables.counting import (
    Lexicon,
    Rows,
    first_places_correlation,
    found_in,
    rounded_cardinality,
    rounded_constraint,
)
from steelyard.tables.measure import RAISED, Measure, TablePair, attempt, measure_each, raised, unless_unordered

NUMBER: Final = re.compile(r"^-?\d+(?:\.\d+)?$")
"""A text that is a number to QATCH: any script's digits; `$` lets one line feed through."""

_INSIDE: Final = (list, tuple, bytearray, memoryview)
"""Cells of these types would be a third dimension of an array, or make it ragged."""

_FIXED: Final = (str, bytes, float, int, complex)
"""Cells that numpy holds without falling back to objects, whole numbers of more than 64 bits apart."""


@dataclass(frozen=True, slots=True)
class _Release:
    """Where the two releases differ.

    Args:
        version: as reasons name it.
        gate: whether a value counts as a table; all others score 0.
        share: share of the cells of one table that the other has.
    """

    version: str
    gate: Callable[[Any], bool]
    share: Callable[[Rows, Rows, Lexicon], float]


@dataclass(frozen=True)
class _NormalisedPair:
    """Two tables of normalised cells as numbers."""

    target: Rows
    prediction: Rows
    lexicon: Lexicon

    @cached_property
    def sorted_rows(self) -> tuple[Counter[tuple[int, ...]], Counter[tuple[int, ...]]]:
        """Counts of the rows with their cells sorted: equal where the cells are, in any order.

        Raises:
            TypeError: a row holds both a truth value and a text, which the releases cannot sort.
        """
        truths = {number for text, number in self.lexicon.numbers.items() if isinstance(text, bool)}
        if truths and len(truths) < len(self.lexicon.numbers):
            mixed = (row for row in chain(self.target, self.prediction) if 0 < sum(n in truths for n in row) < len(row))
            if any(mixed):
                raise TypeError("a truth value beside a text cannot be sorted")
        return Counter(tuple(sorted(row)) for row in self.target), Counter(
            tuple(sorted(row)) for row in self.prediction
        )


def qatch_0_2_2_metrics(pair: TablePair) -> dict[str, Measure]:
    """Every requested metric as QATCH 0.2.2 gives it: an array of two dimensions or zeros, cells with their repeats."""
    return _release_metrics(_EARLY, pair)


def qatch_0_2_5_metrics(pair: TablePair) -> dict[str, Measure]:
    """Every requested metric as QATCH 0.2.5 gives it: lists of texts and numbers or zeros, cells as sets."""
    return _release_metrics(_LATE, pair)


def _release_metrics(release: _Release, pair: TablePair) -> dict[str, Measure]:
    rejected = _rejected(release, pair)
    if rejected:
        # Zeros come before the question of order.
        return measure_each(pair, lambda _: rejected, "QATCH 0.2")
    return measure_each(pair, unless_unordered(pair, _formula(release, pair)), "QATCH 0.2")


def _formula(release: _Release, pair: TablePair) -> Callable[[str], Measure]:
    """What the release gives for each metric once both tables have passed the gate."""
    lexicon = Lexicon(release_text)
    try:
        normalised = _NormalisedPair(lexicon.rows(pair.target), lexicon.rows(pair.prediction), lexicon)
    except RAISED as error:
        unreadable = raised(release.version, error)
        return lambda _: unreadable
    if not normalised.target or not normalised.prediction:
        return lambda _: Measure(float(not normalised.target and not normalised.prediction))
    return lambda name: attempt(release.version, partial(_FORMULAS[name], release, normalised))


def _rejected(release: _Release, pair: TablePair) -> Measure | None:
    """The result for tables that never reach a metric; None for all others."""
    zero = "it is not a table to QATCH " + release.version
    try:
        if not release.gate(pair.prediction):
            return Measure(0.0, f"the prediction counts as nothing: {zero}")
    except RAISED as error:
        return raised(release.version, error)
    if pair.executed:
        return None
    if not isinstance(pair.target, list):
        # The release takes it for a query, for which there is no database.
        return raised(release.version, ValueError())
    return None if release.gate(pair.target) else Measure(0.0, f"the target counts as nothing: {zero}")


def _precision(release: _Release, pair: _NormalisedPair) -> float:
    return release.share(pair.prediction, pair.target, pair.lexicon)


def _recall(release: _Release, pair: _NormalisedPair) -> float:
    return release.share(pair.target, pair.prediction, pair.lexicon)


def _cardinality(_: _Release, pair: _NormalisedPair) -> float:
    return rounded_cardinality(len(pair.target), len(pair.prediction))


def _constraint(_: _Release, pair: _NormalisedPair) -> float:
    return rounded_constraint(*pair.sorted_rows)


def _order(_: _Release, pair: _NormalisedPair) -> float:
    return first_places_correlation(pair.target, pair.prediction)


def _share_of_sets(cells: Rows, other_rows: Rows, _: Lexicon) -> float:
    distinct = set(chain.from_iterable(cells))
    return round(len(distinct.intersection(chain.from_iterable(other_rows))) / len(distinct), 3)


def _share_with_repeats(rows: Rows, other_rows: Rows, lexicon: Lexicon) -> float:
    """Cells of `rows`, repeats and all, that occur in `other_rows`, by all cells of `rows`; rounded as numpy does.

    NaN where `rows` has no cells. QATCH 0.2.2 counts by arrays of numpy 1.26, which have one type: truth values among
    texts become the texts "True" and "False", NUL characters at the end of a text are dropped, and an array of truth
    values alone is compared with an array of texts in one of two ways that differ: where few cells are looked for, none
    is equal.

    Raises:
        ValueError: rows of different widths, of which numpy makes no array.

    >>> lexicon = Lexicon(str)
    >>> first, second = lexicon.rows([["a", "a", "b"]]), lexicon.rows([["a", "c"]])
    >>> _share_with_repeats(first, second, lexicon)
    0.667
    """
    if any(len(set(map(len, table))) > 1 for table in (rows, other_rows)):
        raise ValueError("rows of different widths make no array")
    cells, others = list(chain.from_iterable(rows)), list(chain.from_iterable(other_rows))
    if not cells:
        return float("nan")
    shared = _array_matches(cells, others, lexicon) if _needs_texts(lexicon) else found_in(cells, others)
    # numpy scales, rounds to even and scales back, which is not Python's rounding of the decimal value.
    return round(shared / len(cells) * 1000) / 1000


def _needs_texts(lexicon: Lexicon) -> bool:
    return any(isinstance(text, bool) or str(text).endswith("\0") for text in lexicon.numbers)


def _array_matches(cells: list[int], others: list[int], lexicon: Lexicon) -> int:
    texts = [text if isinstance(text, bool) else str(text).rstrip("\0") for text in lexicon.numbers]
    first, second = [texts[cell] for cell in cells], [texts[cell] for cell in others]
    truths = [all(isinstance(text, bool) for text in column) and bool(column) for column in (first, second)]
    # numpy.isin looks at one cell after the other where there are few to look for, and then a truth is not text.
    few = len(second) < 10 * len(first) ** 0.145
    if truths[0] != truths[1] and few:
        return 0
    other_texts: set[Hashable] = {str(text) for text in second}
    return sum(str(text) in other_texts for text in first)


def release_text(cell: Any) -> str | bool:
    """The cell as the releases 0.2.2 to 0.2.5 make it; their exceptions included.

    NULL and NaN are "None", truth values stay, numbers and texts that look like numbers become the text of the number
    rounded to two decimals (1 is "1" and 1.0 is "1.0"), other texts lose line feeds, outer blanks and case.

    Raises:
        TypeError: bytes, dates, lists.
        OverflowError: whole numbers beyond 1e308.
        AttributeError: numbers that are neither int nor float.
        ValueError: texts of more digits than Python reads.

    >>> [release_text(cell) for cell in (None, 1, 1.0, "007", "3.14159", " Bob ", float("nan"))]
    ['None', '1', '1.0', '7', '3.14', 'bob', 'None']
    """
    if cell is None or isinstance(cell, bool):
        return "None" if cell is None else cell
    if isinstance(cell, str):
        if not NUMBER.match(cell):
            return cell.replace("\n", "").strip().lower()
        return str(round(float(cell), 2)) if "." in cell else str(int(cell))
    if math.isnan(cell):
        return "None"
    if isinstance(cell, int | float) or type(cell).__name__ in {"int64", "float64"}:
        return str(round(cell, 2))
    raise AttributeError(f"a {type(cell).__name__} cannot be normalised to text")


def is_matrix(table: Any) -> bool:
    """Whether numpy makes an array of exactly two dimensions of it: no row at all is one, ragged rows are none.

    >>> is_matrix([["a", None]]), is_matrix([]), is_matrix([["a"], ["b", "c"]]), is_matrix(["a"]), is_matrix([[["a"]]])
    (True, False, False, False, False)
    """
    if not isinstance(table, list | tuple) or not table:
        return False
    if not all(isinstance(row, list | tuple) for row in table) or len(set(map(len, table))) != 1:
        return False
    kinds = set(map(type, chain.from_iterable(table)))
    return not any(issubclass(kind, _INSIDE) for kind in kinds) and not _undecodable(table, kinds)


def is_plain_table(table: Any) -> bool:
    """Whether it is made of lists of texts and numbers. NULL, bytes and tuples as rows are not; no row at all is fine.

    Raises:
        TypeError: it has no rows to look at, None for example.

    >>> is_plain_table([["a", 1], [2.5]]), is_plain_table([["a", None]]), is_plain_table([("a",)]), is_plain_table("")
    (True, False, False, True)
    """
    for row in table:
        if not isinstance(row, list) or not all(isinstance(cell, str | float | int) for cell in row):
            return False
    return True


def _undecodable(table: Any, kinds: set[type]) -> bool:
    """Bytes among texts are decoded as ASCII; where that fails numpy makes no array."""
    if bytes not in kinds or not any(issubclass(kind, str) for kind in kinds):
        return False
    cells = list(chain.from_iterable(table))
    if any(not issubclass(kind, _FIXED) for kind in kinds) or any(_is_long(cell) for cell in cells):
        return False
    return any(isinstance(cell, bytes) and not cell.isascii() for cell in cells)


def _is_long(cell: Any) -> bool:
    return isinstance(cell, int) and not -(2**63) <= cell < 2**64


_FORMULAS: Final[Mapping[str, Callable[[_Release, _NormalisedPair], float]]] = {
    "cell_precision": _precision,
    "cell_recall": _recall,
    "tuple_cardinality": _cardinality,
    "tuple_constraint": _constraint,
    "tuple_order": _order,
}
_EARLY: Final = _Release("0.2.2", is_matrix, _share_with_repeats)
_LATE: Final = _Release("0.2.5", is_plain_table, _share_of_sets)
