"""Compares two sides, each a table or the reason why there is none, by a rule set.

| | `steelyard` | `qatch-docs` | qatch-1.0.36 |
|---|---|---|---|
| the prediction cannot be run | 0; order only where it counts | 0 | 0; order only where it counts |
| the target cannot be run | not applicable | 0 | not applicable (the release stops the whole run) |
| equal text (`shortcut`) | is run like any other | 1 | 1 |

A prediction whose target cannot be run says nothing about the prediction, so `steelyard` gives no number for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from steelyard.sql.equality import CellEquality
from steelyard.sql.order import ordering_of
from steelyard.sql.results import EngineName, Execution, ResultTable
from steelyard.sql.verdict import ResultVerdict, compare_results
from steelyard.tables.measure import ORDER_METRICS, UNORDERED, Measure, TablePair, Verdict, lacks_accuracy
from steelyard.tables.reading import plain_table
from steelyard.tables.rules import RuleSet, metric_names

_EQUAL_TEXT: Final = "the two queries are equal as texts; neither was run"


@dataclass(frozen=True, slots=True)
class TableSide:
    """A table, or why there is none.

    Args:
        table: rows; any value where `failure` is "".
        failure: why there is no table; "" where there is one.
        kind: of the failure, for a program.
        columns: the names of what a query returned.
        types: the engine's names of their types; () where it tells none.
        problem: what `failure` explains.
    """

    table: Any = None
    failure: str = ""
    kind: str = ""
    columns: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    problem: str = "cannot be run"

    @classmethod
    def given(cls, value: Any, rules: RuleSet) -> TableSide:
        """A table in any of the forms of `reading`; a value that is not a table is left to the metrics."""
        return cls(rules.from_value(plain_table(value)))

    def result(self, width: int) -> ResultTable:
        """The rows as the result of a query; columns of a table that was given have no names.

        Args:
            width: columns of a table that has neither names nor rows.
        """
        columns = self.columns or ("",) * (len(self.table[0]) if self.table else width)
        return ResultTable(columns, [tuple(row) for row in self.table], self.types)

    @classmethod
    def of(cls, done: Execution, rules: RuleSet) -> TableSide:
        """The result of a query."""
        if done.table is not None:
            table = rules.from_query(done.table.rows)
            return cls(table, columns=done.table.columns, types=done.table.types)
        failure = done.failure
        if failure is None:
            return cls(failure="no result")
        return cls(failure=failure.message or failure.kind, kind=failure.kind)


def compare_sides(
    target: TableSide,
    prediction: TableSide,
    *,
    rules: RuleSet,
    metrics: Sequence[str],
    ordered: bool | None,
    verdict: Verdict | None = None,
) -> dict[str, Measure]:
    """Compute the metrics of a pair, also where a side has no table.

    Args:
        target: what is expected.
        prediction: what is evaluated.
        rules: by which.
        metrics: which.
        ordered: whether the order of rows counts; None: it is measured and not required (a target that is a table).
        verdict: on the results of two queries, see `TablePair`.

    >>> from steelyard.tables.rules import rule_set
    >>> expected, failed = TableSide([[1]]), TableSide(failure="no such column")
    >>> compare_sides(expected, failed, rules=rule_set("steelyard"), metrics=["cell_recall"], ordered=False)
    {'cell_recall': Measure(value=0.0, reason='the prediction cannot be run: no such column', flags=())}
    """
    if target.failure:
        reason = f"the target cannot be run: {target.failure}"
        return _same_for_all(Measure(rules.failed_target, reason), rules, metrics)
    if prediction.failure:
        failed = Measure(0.0, f"the prediction {prediction.problem}: {prediction.failure}")
        return _same_for_all(failed, rules, metrics, skip_order=ordered is False and not rules.failed_order)
    names = tuple(metric_names(metrics))
    return rules.metrics(TablePair(target.table, prediction.table, names, ordered, verdict, rules.equality))


def compare_equal_queries(
    target: str, rules: RuleSet, metrics: Sequence[str], engine: EngineName = "sqlite"
) -> dict[str, Measure]:
    """1 for every metric that applies, for two queries that are equal without being run."""
    ordered = rules.ordered(target, engine)
    return _same_for_all(Measure(1.0, _EQUAL_TEXT), rules, metrics, skip_order=not ordered)


def verdict_on(target: TableSide, prediction: TableSide, query: str, equality: CellEquality) -> Verdict:
    """Return a function that compares the target query's result with a predicted table, in the query's order.

    Args:
        target: what the query returned.
        prediction: what is evaluated.
        query: the target's SQL; rows with equal sort keys may be in any order where the keys are columns.
        equality: which cells are equal.
    """

    def verdict() -> ResultVerdict:
        expected, predicted = (side.result(len(target.columns)) for side in (target, prediction))
        ordering = ordering_of(query, columns=target.columns)
        return compare_results(expected, predicted, ordering=ordering, equality=equality)

    return verdict


def _same_for_all(
    measure: Measure, rules: RuleSet, metrics: Sequence[str], *, skip_order: bool = False
) -> dict[str, Measure]:
    """The same for every metric that the rules have and that applies."""
    measures = dict.fromkeys(metrics, measure)
    if skip_order:
        measures.update((name, Measure(None, UNORDERED)) for name in metrics if name in ORDER_METRICS)
    if "execution_accuracy" in measures and not rules.has_accuracy:
        measures["execution_accuracy"] = lacks_accuracy(f"the rules {rules.name}")
    return measures
