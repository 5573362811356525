"""Defines the rule sets and compares two sides by one, each a table or the reason why there is none.

A rule set says what it accepts as a table, how it compares cells, and how it treats query texts. QATCH 1.0.36 looks for
words in the text of a query; `qatch-docs` and `steelyard` ask the syntax tree. So an `ORDER BY` of a window and a line
break between the two words mislead the release alone.

| | `steelyard` | `qatch-docs` | qatch-1.0.36 |
|---|---|---|---|
| the prediction cannot be run | 0; order only where it counts | 0 | 0; order only where it counts |
| the target cannot be run | not applicable | 0 | not applicable (the release stops the whole run) |
| equal text (`shortcut`) | is run like any other | 1 | 1 |

A prediction whose target cannot be run says nothing about the prediction, so `steelyard` gives no number for it.
"""

# Why it is so, and what was rejected: docs/decisions/tables-rules-of-other-tools.md

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

from steelyard.errors import ConfigError, did_you_mean
from steelyard.sql.equality import CellEquality
from steelyard.sql.order import ordering_of
from steelyard.sql.results import EngineName, Execution, ResultTable
from steelyard.sql.verdict import ResultVerdict, compare_results
from steelyard.tables.measure import (
    ALL_METRICS,
    ORDER_METRICS,
    UNORDERED,
    Measure,
    RuleName,
    TablePair,
    Verdict,
)
from steelyard.tables.native import native_metrics
from steelyard.tables.qatch_1_0 import qatch_1_0_metrics
from steelyard.tables.qatch_docs import qatch_docs_metrics
from steelyard.tables.reading import missing_as_null, plain_table, rows_as_lists

_TARGET_CHANGES: Final = ((" ,", ","), ("  ", " "), ('"', ""), ("'", ""))
_PREDICTION_CHANGES: Final = ((" ( ", "("), (" )", ")"))


def cleaned_identical(target: str, prediction: str) -> bool:
    """Whether two queries are equal without case, quotes and some blanks, as QATCH before 1.0 cleans them.

    Blanks next to parentheses are removed from the prediction alone, as in the releases.

    >>> cleaned_identical("SELECT a FROM t", 'select "a"  from t'), cleaned_identical("SELECT f(a)", "SELECT f ( a )")
    (True, True)
    """
    cleaned, other = target.lower(), prediction.lower()
    for old, new in _TARGET_CHANGES:
        cleaned, other = cleaned.replace(old, new), other.replace(old, new)
    for old, new in _PREDICTION_CHANGES:
        other = other.replace(old, new)
    return cleaned.strip() == other.strip()


def _same_but_for_case(target: str, prediction: str) -> bool:
    return target.lower() == prediction.lower()


def _never_equal(target: str, prediction: str) -> bool:  # noqa: ARG001  # the signature of the others
    return False


@lru_cache(maxsize=1024)
def _ordered_by_syntax(query: str, engine: EngineName) -> bool:
    """Cached, because parsing takes a millisecond and the rows of a frame share their targets."""
    return ordering_of(query, engine=engine) is not None


def _ordered_by_words(query: str, engine: EngineName) -> bool:  # noqa: ARG001  # the signature of the others
    return "order by" in query.lower()


def _unchanged(value: Any) -> Any:
    return value


def _without_semicolons(query: str) -> str:
    """QATCH 1.0.36 drops every semicolon, also in literals."""
    return query.replace(";", "")


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The choices of one rule set.

    Args:
        name: as configurations have it.
        metrics: the metrics of a pair: how cells are normalised and counted, and how order is measured.
        has_accuracy: whether `execution_accuracy` is among its metrics.
        reads_tables: whether the text of a table is read as a table; otherwise every text is run as SQL.
        even_rows: whether predicted rows of different widths are not a table.
        from_value: a table that was given, as the rules see it.
        from_query: the rows of a query, as the rules see them.
        sent: the text of a query, as it is sent to the database.
        equal_texts: whether two queries are equal without being run.
        ordered: whether the order of rows counts, by the text of the target query and its engine.
        ordered_tables: the same where the target is a table; None: order is measured, but not required.
        failed_target: every metric where the target cannot be run; None: not applicable.
        failed_order: whether metrics of order are 0 also for a failed prediction whose target has no order.
        by_verdict: whether `execution_accuracy` is the verdict of `steelyard.sql.verdict`.
        equality: which cells are equal without being identical; the rules of QATCH have their own.
    """

    name: RuleName
    metrics: Callable[[TablePair], dict[str, Measure]]
    has_accuracy: bool = False
    reads_tables: bool = True
    even_rows: bool = False
    from_value: Callable[[Any], Any] = _unchanged
    from_query: Callable[[Sequence[Any]], Sequence[Any]] = _unchanged
    sent: Callable[[str], str] = _unchanged
    equal_texts: Callable[[str, str], bool] = cleaned_identical
    ordered: Callable[[str, EngineName], bool] = _ordered_by_syntax
    ordered_tables: bool | None = None
    failed_target: float | None = 0.0
    failed_order: bool = True
    by_verdict: bool = False
    equality: CellEquality = CellEquality()


RULE_SETS: Final[Mapping[str, RuleSet]] = MappingProxyType(
    {
        rules.name: rules
        for rules in (
            RuleSet(
                "steelyard",
                native_metrics,
                has_accuracy=True,
                even_rows=True,
                from_value=missing_as_null,
                equal_texts=_never_equal,
                failed_target=None,
                failed_order=False,
                by_verdict=True,
            ),
            RuleSet("qatch-docs", qatch_docs_metrics),
            RuleSet(
                "qatch-1.0.36",
                qatch_1_0_metrics,
                has_accuracy=True,
                reads_tables=False,
                # The release checks its input with pydantic, which makes lists of tuples.
                from_value=rows_as_lists,
                from_query=rows_as_lists,
                sent=_without_semicolons,
                equal_texts=_same_but_for_case,
                ordered=_ordered_by_words,
                ordered_tables=False,
                failed_target=None,
                failed_order=False,
            ),
        )
    }
)


def rule_set(name: Any) -> RuleSet:
    """The rule set of this name.

    Raises:
        ConfigError: there is none; the message suggests one.
    """
    rules = RULE_SETS.get(name) if isinstance(name, str) else None
    if rules is None:
        raise ConfigError(f"there are no rules {name!r}{did_you_mean(str(name), RULE_SETS)}")
    return rules


def metric_names(metrics: Any) -> list[str]:
    """The names of metrics given as names, tag classes or tags.

    Args:
        metrics: one or several.

    Raises:
        ConfigError: there is no such metric, or none at all.

    >>> metric_names("cell_recall")
    ['cell_recall']
    """
    several = metrics if isinstance(metrics, list | tuple | set | frozenset) else [metrics]
    names = [metric if isinstance(metric, str) else getattr(metric, "metric", repr(metric)) for metric in several]
    if not names:
        raise ConfigError(f"metrics names none; known: {', '.join(ALL_METRICS)}")
    for name in names:
        if name not in ALL_METRICS:
            raise ConfigError(f"there is no metric {name!r}{did_you_mean(name, ALL_METRICS)}")
    return list(dict.fromkeys(names))


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
        measures["execution_accuracy"] = Measure(None, f"the rules {rules.name} has no execution_accuracy")
    return measures
