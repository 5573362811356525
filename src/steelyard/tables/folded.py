"""The rules `qatch-0.2.2` and `qatch-0.2.5`: cells folded to text, and a gate that turns tables away with zeros.

The numbers are those of the releases' `MetricEvaluator` on two tables, gates included (spapicchio/QATCH, tags 0.2.2
and 0.2.5, numpy 1.26). They differ from each other in the gate and in the two cell metrics.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import Any, Final

from steelyard.tables.counting import Rows, agreeing, cardinality, found_in
from steelyard.tables.measure import RAISED, UNORDERED, Measure, Question, attempt, lacks_accuracy
from steelyard.tables.normalise import Lexicon, release_text
from steelyard.tables.order import first_places_correlation
from steelyard.tables.shapes import is_matrix, is_plain_table


@dataclass(frozen=True, slots=True)
class _Release:
    version: str
    gate: Callable[[Any], bool]
    share: Callable[[Rows, Rows, Lexicon], float]


@dataclass(frozen=True)
class _Pair:
    """Two tables of folded cells as numbers."""

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


def early_release(question: Question) -> dict[str, Measure]:
    """Every metric asked for as QATCH 0.2.2 gives it: an array of two dimensions or zeros, cells with their repeats."""
    return _folded_metrics(_EARLY, question)


def late_release(question: Question) -> dict[str, Measure]:
    """Every metric asked for as QATCH 0.2.5 gives it: lists of texts and numbers or zeros, cells as sets."""
    return _folded_metrics(_LATE, question)


def _folded_metrics(release: _Release, question: Question) -> dict[str, Measure]:
    turned_away = _gate(release, question)
    if turned_away:
        # Zeros come before the question of order.
        return _measures(question, lambda _: turned_away)
    formula = _reader(release, question)
    if question.ordered is False:
        unordered = Measure(None, UNORDERED)
        return _measures(question, lambda name: unordered if name == "tuple_order" else formula(name))
    return _measures(question, formula)


def _reader(release: _Release, question: Question) -> Callable[[str], Measure]:
    """What the release says of each metric once both tables have passed the gate."""
    lexicon = Lexicon(release_text)
    try:
        pair = _Pair(lexicon.rows(question.target), lexicon.rows(question.prediction), lexicon)
    except RAISED as error:
        unreadable = Measure(None, f"QATCH {release.version} raises {type(error).__name__}")
        return lambda _: unreadable
    if not pair.target or not pair.prediction:
        return lambda _: Measure(float(not pair.target and not pair.prediction))
    return lambda name: attempt(release.version, partial(_FORMULAS[name], release, pair))


def _gate(release: _Release, question: Question) -> Measure | None:
    """What there is to say of tables that never reach a metric."""
    zero = "it is no table to QATCH " + release.version
    try:
        if not release.gate(question.prediction):
            return Measure(0.0, f"the prediction counts as nothing: {zero}")
    except RAISED as error:
        return Measure(None, f"QATCH {release.version} raises {type(error).__name__}")
    if question.executed:
        return None
    if not isinstance(question.target, list):
        # It is taken for a query then, for which there is no database.
        return Measure(None, f"QATCH {release.version} raises ValueError")
    return None if release.gate(question.target) else Measure(0.0, f"the target counts as nothing: {zero}")


def _measures(question: Question, measure: Callable[[str], Measure]) -> dict[str, Measure]:
    found = {}
    for name in question.metrics:
        plain = "tuple_order" if name == "tuple_order_unit" else name
        found[name] = measure(plain) if plain in _FORMULAS else lacks_accuracy("QATCH 0.2")
    return found


def _set_share(cells: Rows, known: Rows, _: Lexicon) -> float:
    distinct = set(chain.from_iterable(cells))
    return round(len(distinct.intersection(chain.from_iterable(known))) / len(distinct), 3)


def _precision(release: _Release, pair: _Pair) -> float:
    return release.share(pair.prediction, pair.target, pair.lexicon)


def _recall(release: _Release, pair: _Pair) -> float:
    return release.share(pair.target, pair.prediction, pair.lexicon)


def _cardinality(_: _Release, pair: _Pair) -> float:
    return round(cardinality(len(pair.target), len(pair.prediction)), 3)


def _constraint(_: _Release, pair: _Pair) -> float:
    wanted, got = pair.sorted_rows
    return round(agreeing(wanted, got) / len(wanted), 3)


def _order(_: _Release, pair: _Pair) -> float:
    return first_places_correlation(pair.target, pair.prediction)


def _share_found(rows: Rows, known: Rows, lexicon: Lexicon) -> float:
    """Cells of `rows`, repeats and all, that occur in `known`, by all cells of `rows`; rounded as numpy does.

    NaN where `rows` has no cells. QATCH 0.2.2 counts by arrays of numpy 1.26, which have one type: truth values beside
    texts become the texts "True" and "False", NUL characters at the end of a text are dropped, and an array of truth
    values alone is compared with an array of texts in one of two ways that differ: where few cells are looked for, none
    is equal.

    Raises:
        ValueError: rows of different widths, of which numpy makes no array.

    >>> lexicon = Lexicon(str)
    >>> first, second = lexicon.rows([["a", "a", "b"]]), lexicon.rows([["a", "c"]])
    >>> _share_found(first, second, lexicon)
    0.667
    """
    if any(len(set(map(len, table))) > 1 for table in (rows, known)):
        raise ValueError("rows of different widths make no array")
    cells, others = list(chain.from_iterable(rows)), list(chain.from_iterable(known))
    if not cells:
        return float("nan")
    found = _array_matches(cells, others, lexicon) if _needs_texts(lexicon) else found_in(cells, others)
    # numpy scales, rounds to even and scales back, which is not Python's rounding of the decimal value.
    return round(found / len(cells) * 1000) / 1000


def _needs_texts(lexicon: Lexicon) -> bool:
    return any(isinstance(text, bool) or str(text).endswith("\0") for text in lexicon.numbers)


def _array_matches(cells: list[int], others: list[int], lexicon: Lexicon) -> int:
    texts = [text if isinstance(text, bool) else str(text).rstrip("\0") for text in lexicon.numbers]
    first, second = [texts[cell] for cell in cells], [texts[cell] for cell in others]
    truths = [all(isinstance(text, bool) for text in column) and bool(column) for column in (first, second)]
    # numpy.isin looks at one cell after the other where there are few to look for, and then a truth is no text.
    few = len(second) < 10 * len(first) ** 0.145
    if truths[0] != truths[1] and few:
        return 0
    known: set[Hashable] = {str(text) for text in second}
    return sum(str(text) in known for text in first)


_FORMULAS: Final[Mapping[str, Callable[[_Release, _Pair], float]]] = {
    "cell_precision": _precision,
    "cell_recall": _recall,
    "tuple_cardinality": _cardinality,
    "tuple_constraint": _constraint,
    "tuple_order": _order,
}
_EARLY: Final = _Release("0.2.2", is_matrix, _share_found)
_LATE: Final = _Release("0.2.5", is_plain_table, _set_share)
