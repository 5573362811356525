"""Two sides of one comparison, each a table or the reason why there is none; and what that means for the metrics.

| | `steelyard` | `documented` | qatch-0.2.x | qatch-1.0.36 |
|---|---|---|---|---|
| the prediction cannot be run | 0; order only where it counts | 0 | 0 | 0; order only where it counts |
| the target cannot be run | not applicable | 0 | 0 | not applicable (the release stops the whole run) |
| equal text (`shortcut`) | is run like any other | 1 | 1 | 1 |

A prediction whose target cannot be run says nothing about the prediction, so `steelyard` gives no number for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from operator import ne
from typing import Any, Final

from steelyard.sql.results import EngineName, Execution, ResultTable
from steelyard.tables.measure import UNORDERED, Measure, Question, RuleName, Ties, lacks_accuracy
from steelyard.tables.queries import tied_rows
from steelyard.tables.reading import plain_table
from steelyard.tables.rules import metric_names, rules_of

_ORDER: Final = frozenset({"tuple_order", "tuple_order_unit"})
_STRICT: Final[frozenset[RuleName]] = frozenset({"steelyard", "qatch-1.0.36"})
_RELEASES: Final[frozenset[RuleName]] = frozenset({"qatch-0.2.2", "qatch-0.2.5", "qatch-1.0.36"})


@dataclass(frozen=True, slots=True)
class Side:
    """A table, or why there is none.

    Args:
        table: rows; any value where `failure` is "".
        failure: why there is no table; "" where there is one.
        kind: of the failure, for a program.
        executed: whether the table is what a query returned.
        columns: the names of what a query returned.
    """

    table: Any = None
    failure: str = ""
    kind: str = ""
    executed: bool = False
    columns: tuple[str, ...] = ()

    @classmethod
    def given(cls, value: Any, rules: RuleName) -> Side:
        """A table that is there already, in any of the forms of `reading`; what is none is left to the metrics."""
        table = plain_table(value)
        if rules == "qatch-1.0.36" and isinstance(table, list | tuple):
            # The release checks its input with pydantic, which makes lists of tuples.
            table = [list(row) if isinstance(row, tuple) else row for row in table]
        return cls(_without_nan(table) if rules == "steelyard" and isinstance(table, list) else table)

    @classmethod
    def of(cls, done: Execution, rules: RuleName) -> Side:
        """What came of a query."""
        if done.table is not None:
            # The releases make lists of what a database returns, and tell them apart from tuples.
            rows = list(map(list, done.table.rows)) if rules in _RELEASES else done.table.rows
            return cls(rows, executed=True, columns=done.table.columns)
        failure = done.failure
        if failure is None:
            return cls(failure="no result")
        return cls(failure=failure.message or failure.kind, kind=failure.kind)


def weigh(
    target: Side,
    prediction: Side,
    *,
    rules: RuleName,
    metrics: Sequence[str],
    ordered: bool | None,
    ties: Ties | None = None,
) -> dict[str, Measure]:
    """Every metric of a pair, also where a side has no table.

    Args:
        target: what is wanted.
        prediction: what is weighed.
        rules: whose rules.
        metrics: which.
        ordered: whether the order of rows counts; None: it is measured and not asked for (a target that is a table).
        ties: which rows of the target its order leaves free, see `Question`.

    >>> weigh(Side([[1]]), Side(failure="no such column"), rules="steelyard", metrics=["cell_recall"], ordered=False)
    {'cell_recall': Measure(value=0.0, reason='the prediction cannot be run: no such column', flags=())}
    """
    strict = rules in _STRICT
    if target.failure:
        reason = f"the target cannot be run: {target.failure}"
        return _alike(Measure(None if strict else 0.0, reason), rules, metrics)
    if prediction.failure:
        failed = Measure(0.0, f"the prediction cannot be run: {prediction.failure}")
        return _alike(failed, rules, metrics, skip_order=strict and ordered is False)
    names = tuple(metric_names(metrics))
    found = rules_of(rules)(Question(target.table, prediction.table, names, ordered, target.executed, ties))
    return {
        name: _unordered(measure) if name in _ORDER and ordered is False else measure for name, measure in found.items()
    }


def ties_of(side: Side, query: str, engine: EngineName = "sqlite") -> Ties:
    """What tells which rows of a query's result its ORDER BY leaves free."""
    return lambda: tied_rows(query, engine, ResultTable(side.columns, side.table))


def all_right(rules: RuleName, metrics: Sequence[str], *, ordered: bool, reason: str) -> dict[str, Measure]:
    """1 for every metric, for a pair that is equal without being run."""
    return _alike(Measure(1.0, reason), rules, metrics, skip_order=not ordered)


def _without_nan(table: list[Any]) -> list[Any]:
    """NaN as NULL in a table that was given: lists made from a data frame have NaN where a cell is missing.

    What a database returned keeps its NaN, which is a value there.
    """
    rows = (row for row in table if isinstance(row, list | tuple))
    floats = [cell for cell in chain.from_iterable(rows) if type(cell) is float]
    if not any(map(ne, floats, floats)):
        return table
    return [
        [None if type(cell) is float and cell != cell else cell for cell in row]  # noqa: PLR0124  # only NaN differs
        if isinstance(row, list | tuple)
        else row
        for row in table
    ]


def _alike(
    measure: Measure, rules: RuleName, metrics: Sequence[str], *, skip_order: bool = False
) -> dict[str, Measure]:
    """The same for every metric that the rules have and that applies."""
    found = dict.fromkeys(metrics, measure)
    if skip_order:
        found.update((name, Measure(None, UNORDERED)) for name in metrics if name in _ORDER)
    if "execution_accuracy" in found and rules not in _STRICT:
        found["execution_accuracy"] = lacks_accuracy(f"the rules {rules}")
    return found


def _unordered(measure: Measure) -> Measure:
    """Order where it does not count; what the gate of a release turned away is 0 in order as well."""
    return measure if measure.reason and measure.value == 0 else Measure(None, UNORDERED)
