"""QATCH's own API, so that code written for its documentation runs with the import changed.

MetricEvaluator        every metric of one row or of a whole data frame, with SQL where there are databases
CellPrecisionTag       share of predicted cells that are in the target
CellRecallTag          share of the target's cells that were predicted
TupleCardinalityTag    rows of the smaller table by rows of the larger
TupleConstraintTag     share of the target's distinct rows that were predicted as often
TupleOrderTag          whether the shared rows are in the same order

What is compatible: names, arguments, column names, and with `rules="qatch-docs"` every printed example. What is not: a
row that is given is never changed, a prediction is run in the sandbox and can neither write nor run for ever, and a
missing column or an unknown metric is reported before anything is run.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, Final, Literal, get_args

from steelyard.errors import ConfigError, did_you_mean
from steelyard.tables.databases import MultipleDatabases
from steelyard.tables.measure import METRICS, Measure, RuleName
from steelyard.tables.metrics import table_metrics
from steelyard.tables.reading import looks_like_table, plain_table, read_notation
from steelyard.tables.rules import (
    RuleSet,
    TableSide,
    cleaned_identical,
    compare_equal_queries,
    compare_sides,
    metric_names,
    rule_set,
    verdict_on,
)

Task = Literal["QA", "SP"]
RunQuery = Callable[[Any], TableSide]

TASKS: Final[tuple[Task, ...]] = get_args(Task)
MOST_RESULTS: Final = 512
MOST_CELLS: Final = 2_000_000
"""Cells of all results that are cached, about 150 MB; a larger one alone is not cached."""


class MetricEvaluator:
    """Evaluates predicted tables, or the results of predicted queries, against expected ones.

    Args:
        databases: where queries are run; None where both sides are tables already.
        metrics: names of metrics, or tags (classes or instances); one or several; None is the five of `METRICS`.
        rules: whose rules: `qatch-docs`, `steelyard`, or a release (`qatch-1.0.36`).

    Attributes:
        databases: as given.
        metrics: the names.
        rules: as given.

    Raises:
        ConfigError: there is no such metric or rule set; the message suggests one.

    >>> test = {"prediction": [["wales", "scotland"], ["england"]], "target": [["scotland", "wales"], ["england"]]}
    >>> MetricEvaluator(None, ["cell_precision", "cell_recall"]).evaluate_single_test_QA(test, "prediction", "target")
    {'cell_precision_prediction': 1.0, 'cell_recall_prediction': 1.0}
    """

    def __init__(
        self, databases: MultipleDatabases | None = None, metrics: Any = None, rules: RuleName = "qatch-docs"
    ) -> None:
        if databases is not None and not isinstance(databases, MultipleDatabases):
            raise ConfigError(f"databases must be a MultipleDatabases or None, not {databases!r}")
        rule_set(rules)
        self.databases = databases
        self.metrics = list(METRICS) if metrics is None else metric_names(metrics)
        self.rules = rules

    @property
    def _rules(self) -> RuleSet:
        return rule_set(self.rules)

    @staticmethod
    def are_cleaned_sql_identical(target: str, prediction: str) -> bool:
        """Whether two queries are equal without case, quotes and some blanks.

        >>> MetricEvaluator.are_cleaned_sql_identical("SELECT a FROM t", "select 'a'  from t")
        True
        """
        return cleaned_identical(target, prediction)

    def evaluate_single_test_QA(  # noqa: N802  # the documented name
        self, test: Any, prediction_col_name: str, target_col_name: str
    ) -> dict[str, float | None]:
        """Evaluate a predicted table against the expected one.

        Args:
            test: a mapping or pandas Series with the two columns; with `db_id` too where the target is SQL.
            prediction_col_name: of a table: rows as lists, tuples or arrays, or its text. Anything else scores 0.
            target_col_name: of a table, or of the SQL that gives it.

        Returns:
            `<metric>_<prediction_col_name>` -> number; None where the metric does not apply: order, where the target
            is SQL that does not order.

        Raises:
            ConfigError: a column is missing, there is no such database, or SQL is to be run without databases.
        """
        return self._single("QA", test, prediction_col_name, target_col_name)

    def evaluate_single_test_SP(  # noqa: N802  # the documented name
        self, test: Any, prediction_col_name: str, target_col_name: str
    ) -> dict[str, float | None]:
        """Run the predicted and the target query on the database `db_id`, and compare their results.

        Args:
            test: a mapping or pandas Series with the two columns and `db_id`.
            prediction_col_name: of the predicted SQL; where it cannot be run, 0 in all.
            target_col_name: of the expected SQL.

        Returns:
            `<metric>_<prediction_col_name>` -> number; None where the metric does not apply.

        Raises:
            ConfigError: a column is missing, there is no such database, or there are no databases.
        """
        return self._single("SP", test, prediction_col_name, target_col_name)

    def evaluate_with_df(
        self,
        df: Any,
        prediction_col_name: str,
        task: str,
        target_col_name: str = "query",
        keep_target: bool = False,  # noqa: FBT001, FBT002  # the documented signature
    ) -> Any:
        """Evaluate every row of a data frame.

        Args:
            df: a pandas or polars data frame, or a pyarrow table; it is not changed.
            prediction_col_name: of tables (QA) or SQL (SP).
            task: `QA` or `SP`.
            target_col_name: of tables or SQL.
            keep_target: whether the target's column stays.

        Returns:
            a frame of the same kind with a column `<metric>_<prediction_col_name>` for each metric; null where the
            metric does not apply to a row.

        Raises:
            ConfigError: before anything is run: a column is missing, there is no such task, or SQL without
                databases; while running: a row whose `db_id` names no database.
        """
        kind = check_task(task)
        frame = EagerFrame(df)
        targets, predictions = frame.cells(target_col_name), frame.cells(prediction_col_name)
        ids: Sequence[Any] = [None] * len(frame)
        if kind == "SP" or any(map(self._is_query, targets)):
            self._databases_for(target_col_name)
            frame.check_column("db_id", "which says where SQL is run")
            ids = frame.cells("db_id")
        cache = ResultsCache(self._run)
        rows = [
            self._measures(kind, target, prediction, partial(cache.side, db_id))
            for target, prediction, db_id in zip(targets, predictions, ids, strict=True)
        ]
        columns = {f"{name}_{prediction_col_name}": [row[name].value for row in rows] for name in self.metrics}
        return frame.with_columns(columns, drop=() if keep_target else (target_col_name,))

    def _single(self, task: Task, test: Any, prediction_col: str, target_col: str) -> dict[str, float | None]:
        keys = list(test.keys())
        check_key(target_col, keys)
        check_key(prediction_col, keys)
        target = test[target_col]
        db_id = None
        if task == "SP" or self._is_query(target):
            self._databases_for(target_col)
            check_key("db_id", keys, "which says where SQL is run")
            db_id = test["db_id"]
        measures = self._measures(task, target, test[prediction_col], partial(self._run, db_id))
        return {f"{name}_{prediction_col}": measures[name].value for name in self.metrics}

    def _measures(self, task: Task, target: Any, prediction: Any, run: RunQuery) -> Mapping[str, Measure]:
        compare = self._compare_queries if task == "SP" else self._compare_tables
        return compare(target, prediction, run)

    def _compare_tables(self, target: Any, prediction: Any, run: RunQuery) -> Mapping[str, Measure]:
        if self._is_query(target):
            return self._compare_results(target, run(target), self._predicted(prediction, run))
        return compare_sides(
            self._table(target),
            self._predicted(prediction, None),
            rules=self._rules,
            metrics=self.metrics,
            ordered=self._rules.ordered_tables,
        )

    def _compare_queries(self, target: Any, prediction: Any, run: RunQuery) -> Mapping[str, Measure]:
        both_texts = isinstance(prediction, str) and isinstance(target, str)
        if both_texts and self._rules.equal_texts(target, prediction):
            return compare_equal_queries(target, self._rules, self.metrics)
        return self._compare_results(target if isinstance(target, str) else "", run(target), run(prediction))

    def _compare_results(self, query: str, target: TableSide, prediction: TableSide) -> Mapping[str, Measure]:
        """Compare the result of the target query with a prediction."""
        return compare_sides(
            target,
            prediction,
            rules=self._rules,
            metrics=self.metrics,
            ordered=self._rules.ordered(query, "sqlite"),
            verdict=verdict_on(target, prediction, query, self._rules.equality),
        )

    def _predicted(self, prediction: Any, run: RunQuery | None) -> TableSide:
        """A predicted table; QATCH 1.0.36 takes a text for SQL and runs it, if there is anything to run it on."""
        if not isinstance(prediction, str) or self._rules.reads_tables:
            return self._table(prediction)
        if run is None:
            return TableSide(failure="it is a text, and there is nothing to run it on")
        return run(prediction)

    def _run(self, db_id: Any, query: Any) -> TableSide:
        """The result of a query; those of the target and of the prediction alike are run in the sandbox."""
        sent = self._rules.sent(query) if isinstance(query, str) else query
        return TableSide.of(self._databases_for("query").execute(db_id, sent), self._rules)

    def _table(self, value: Any) -> TableSide:
        """A table as it was given; the releases do not read one from its text."""
        if isinstance(value, str) and self._rules.reads_tables and looks_like_table(value):
            with suppress(ValueError):
                value = read_notation(value)
        return TableSide.given(value, self._rules)

    def _is_query(self, target: Any) -> bool:
        """Whether a target of QA is SQL that must be run first."""
        return isinstance(target, str) and not (self._rules.reads_tables and looks_like_table(target))

    def _databases_for(self, column: str) -> MultipleDatabases:
        if self.databases is None:
            raise ConfigError(
                f"{column!r} holds SQL, but there are no databases to run it on: "
                "MetricEvaluator(MultipleDatabases(folder))"
            )
        return self.databases


def check_task(task: Any) -> Task:
    """The task by its name, in either case.

    Raises:
        ConfigError: it is neither QA nor SP.
    """
    known_task = next((name for name in TASKS if isinstance(task, str) and name == task.upper()), None)
    if known_task is None:
        raise ConfigError(f"there is no task {task!r}; QA compares tables, SP runs the SQL of both sides")
    return known_task


class MetricTag:
    """One metric of two tables, named by the classes below.

    Args:
        rules: whose rules, see `table_metrics`.

    Raises:
        ConfigError: there are no such rules.
    """

    metric: ClassVar[str]

    def __init__(self, rules: RuleName = "qatch-docs") -> None:
        rule_set(rules)
        self.rules = rules

    def evaluate(self, target: Any, prediction: Any) -> float | None:
        """Compute the metric; empty tables and values that are not tables are allowed.

        Args:
            target: the expected rows, as lists, tuples or arrays of cells.
            prediction: the rows to evaluate.

        Returns:
            a number in [0, 1]; None where the rules `steelyard` call it not applicable, which have order in [-1, 1].
        """
        measures = table_metrics(
            plain_table(target), plain_table(prediction), rules=self.rules, metrics=(self.metric,), ordered=True
        )
        return measures[self.metric].value

    def evaluate_single_no_special_case(self, target: Any, prediction: Any) -> float | None:
        """The same as `evaluate`; special cases need no call of their own here."""
        return self.evaluate(target, prediction)

    def evaluate_single_test_metric(self, target: Any, prediction: Any) -> float | None:
        """The same as `evaluate`, under the name that it has in QATCH 0.2."""
        return self.evaluate(target, prediction)

    def evaluate_tests(self, targets: Sequence[Any], predictions: Sequence[Any]) -> list[float | None]:
        """The metric of each pair, in order.

        Raises:
            ValueError: there are more of the one than of the other.
        """
        return [self.evaluate(*pair) for pair in zip(targets, predictions, strict=True)]


class CellPrecisionTag(MetricTag):
    """Share of predicted cells that are in the target.

    >>> CellPrecisionTag().evaluate([["a", "b"], ["c", "d"]], [["a", "b"], ["c", "e"]])
    0.75
    """

    metric: ClassVar[str] = "cell_precision"


class CellRecallTag(MetricTag):
    """Share of the target's cells that were predicted.

    >>> CellRecallTag().evaluate([["a", "b"], ["c", "d"]], [["a", "x"], ["y", "d"]])
    0.5
    """

    metric: ClassVar[str] = "cell_recall"


class TupleCardinalityTag(MetricTag):
    """Rows of the smaller table by rows of the larger.

    >>> TupleCardinalityTag().evaluate([["a"], ["b"]], [["a"], ["b"], ["c"], ["d"]])
    0.5
    """

    metric: ClassVar[str] = "tuple_cardinality"


class TupleConstraintTag(MetricTag):
    """Share of the target's distinct rows that were predicted exactly as often.

    >>> TupleConstraintTag().evaluate([["a", "b"], ["c", "d"]], [["a", "b"], ["a", "b"], ["c", "d"]])
    0.5
    """

    metric: ClassVar[str] = "tuple_constraint"


class TupleOrderTag(MetricTag):
    """Whether the rows that both tables have are in the same order: 1 the same, 0 the opposite.

    >>> TupleOrderTag().evaluate([["a", "b"], ["c", "d"]], [["c", "d"], ["a", "b"]])
    0.0
    """

    metric: ClassVar[str] = "tuple_order"


class ResultsCache:
    """Caches results of queries, because many rows of a frame have the same target.

    The least recently used are dropped first.

    Args:
        run: gives the result of a query on a database.
    """

    def __init__(self, run: Callable[[Any, Any], TableSide]) -> None:
        self._run = run
        self._results: OrderedDict[tuple[Any, str], tuple[TableSide, int]] = OrderedDict()
        self._cells = 0

    def side(self, db_id: Any, query: Any) -> TableSide:
        """The result of a query; run at most once while it is kept."""
        if not isinstance(query, str) or not isinstance(db_id, str):
            return self._run(db_id, query)
        key = (db_id, query)
        if key in self._results:
            self._results.move_to_end(key)
            return self._results[key][0]
        result = self._run(db_id, query)
        self._keep(key, result)
        return result

    def _keep(self, key: tuple[Any, str], side: TableSide) -> None:
        rows = side.table or ()
        cells = 1 + (len(rows) * len(rows[0]) if rows else 0)
        if cells > MOST_CELLS:
            return
        self._results[key] = side, cells
        self._cells += cells
        while self._cells > MOST_CELLS or len(self._results) > MOST_RESULTS:
            self._cells -= self._results.popitem(last=False)[1][1]


class EagerFrame:
    """Reads a pandas, polars or pyarrow table without changing it.

    Args:
        native: a pandas or polars data frame, or a pyarrow table.

    Raises:
        ConfigError: it is none of these, is lazy, or has two columns of one name.
    """

    def __init__(self, native: Any) -> None:
        import narwhals.stable.v1 as nw
        from narwhals.exceptions import NarwhalsError

        if hasattr(native, "collect") and not hasattr(native, "to_dict"):
            raise ConfigError("a lazy frame has no rows yet: give its .collect()")
        try:
            self._frame = nw.from_native(native, eager_only=True)
            self.columns = [*self._frame.columns]
        except NarwhalsError as error:
            raise ConfigError(f"the frame cannot be read: {' '.join(str(error).split())}") from error
        except TypeError as error:
            actual = f"not {type(native).__name__}"
            raise ConfigError(f"expected a pandas or polars data frame or a pyarrow table, {actual}") from error

    def __len__(self) -> int:
        return len(self._frame)

    def cells(self, column: str) -> list[Any]:
        """The cells of a column, in order.

        Raises:
            ConfigError: there is no such column.
        """
        self.check_column(column)
        cells: list[Any] = self._frame[column].to_list()
        return cells

    def check_column(self, column: str, why: str = "") -> None:
        """Refuse a column that is not there.

        Args:
            column: its name.
            why: what it is needed for, for the message.

        Raises:
            ConfigError: the nearest name, and all that there are.
        """
        check_key(column, self.columns, why)

    def with_columns(self, numbers: Mapping[str, Sequence[float | None]], drop: Sequence[str] = ()) -> Any:
        """A frame of the same kind and index with columns of numbers added, or replaced where they exist.

        Args:
            numbers: name -> one number or None a row; None becomes what the library has for it.
            drop: columns to leave out.
        """
        import narwhals.stable.v1 as nw

        backend = self._frame.implementation
        added = [nw.new_series(name, list(cells), nw.Float64(), backend=backend) for name, cells in numbers.items()]
        return self._frame.drop([*drop]).with_columns(*added).to_native()


def check_key(name: str, known: Sequence[Any], why: str = "") -> None:
    """Refuse a column or key that is not among `known`.

    Raises:
        ConfigError: the nearest name, and all that there are.

    >>> check_key("qery", ["query", "db_id"])
    Traceback (most recent call last):
        ...
    steelyard.errors.ConfigError: there is no column 'qery': did you mean 'query'? The columns are query, db_id
    """
    if name in known:
        return
    hint = did_you_mean(str(name), known)
    near = hint if hint.startswith(":") else ";"
    listed = f"the columns are {', '.join(map(str, known)) or 'none at all'}"
    tail = f" {listed[0].upper()}{listed[1:]}" if near.endswith("?") else f" {listed}"
    raise ConfigError(f"there is no column {name!r}{f', {why}' if why else ''}{near}{tail}")
