"""QATCH's `MetricEvaluator`: code written for its documented API runs with the import changed.

What is compatible: names, arguments, column names, and with `rules="documented"` every printed example. What is not: a
row that is given is never changed, a prediction is run in the sandbox and can neither write nor run for ever, and a
missing column or an unknown metric is told before anything is run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, Literal, get_args

from steelyard.errors import ConfigError
from steelyard.tables.databases import MultipleDatabases
from steelyard.tables.frames import Frame, check_key
from steelyard.tables.measure import METRICS, Measure, RuleName
from steelyard.tables.queries import EQUAL_TEXT, as_run, cleaned_identical, equal_texts, of_table, ordered
from steelyard.tables.reading import looks_like_table, read_notation
from steelyard.tables.results_cache import ResultsCache
from steelyard.tables.rules import check_rules, metric_names
from steelyard.tables.sides import Side, all_right, ties_of, weigh

Task = Literal["QA", "SP"]
Run = Callable[[Any], Side]

TASKS: Final[tuple[Task, ...]] = get_args(Task)
_READS_TEXT: Final[frozenset[RuleName]] = frozenset({"steelyard", "documented"})


class MetricEvaluator:
    """Weighs predicted tables, or the results of predicted queries, against wanted ones.

    Args:
        databases: where queries are run; None where both sides are tables already.
        metrics: names of metrics, or tags (classes or instances); one or several; None is the five of `METRICS`.
        rules: whose rules: `documented`, `steelyard`, or a release (`qatch-0.2.2`, `qatch-0.2.5`, `qatch-1.0.36`).

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
        self, databases: MultipleDatabases | None = None, metrics: Any = None, rules: RuleName = "documented"
    ) -> None:
        if databases is not None and not isinstance(databases, MultipleDatabases):
            raise ConfigError(f"databases must be a MultipleDatabases or None, not {databases!r}")
        check_rules(rules)
        self.databases = databases
        self.metrics = list(METRICS) if metrics is None else metric_names(metrics)
        self.rules = rules

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
        """Weigh a predicted table against a wanted one.

        Args:
            test: a mapping or pandas Series with the two columns; with `db_id` too where the target is SQL.
            prediction_col_name: of a table: rows as lists, tuples or arrays, or its text. What is no table, 0 in all.
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
        """Run a predicted and a wanted query on the database `db_id`, and weigh the one result against the other.

        Args:
            test: a mapping or pandas Series with the two columns and `db_id`.
            prediction_col_name: of the predicted SQL; where it cannot be run, 0 in all.
            target_col_name: of the wanted SQL.

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
        """Weigh every row of a data frame.

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
            ConfigError: before anything is run: a column is missing, there is no such task, SQL without databases;
                and a row that names no database there is.
        """
        kind = check_task(task)
        frame = Frame(df)
        targets, predictions = frame.cells(target_col_name), frame.cells(prediction_col_name)
        ids: Sequence[Any] = [None] * len(frame)
        if kind == "SP" or any(self._is_query(one) for one in targets):
            self._databases_for(target_col_name)
            frame.check_column("db_id", "which says where SQL is run")
            ids = frame.cells("db_id")
        cache = ResultsCache(self._run)
        rows = [
            self._weigh(kind, target, prediction, partial(cache.side, db_id))
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
        found = self._weigh(task, target, test[prediction_col], partial(self._run, db_id))
        return {f"{name}_{prediction_col}": found[name].value for name in self.metrics}

    def _weigh(self, task: Task, target: Any, prediction: Any, run: Run) -> Mapping[str, Measure]:
        return self._weigh_queries(target, prediction, run) if task == "SP" else self._qa(target, prediction, run)

    def _qa(self, target: Any, prediction: Any, run: Run) -> Mapping[str, Measure]:
        query = self._is_query(target)
        counts = ordered(target, self.rules) if query else of_table(self.rules)
        wanted = run(target) if query else self._table(target)
        found = self._predicted(prediction, run if query else None)
        ties = ties_of(wanted, target) if query else None
        return weigh(wanted, found, rules=self.rules, metrics=self.metrics, ordered=counts, ties=ties)

    def _predicted(self, prediction: Any, run: Run | None) -> Side:
        """A predicted table; QATCH 1.0.36 takes a text for SQL and runs it, if need be in vain."""
        if not isinstance(prediction, str) or self.rules != "qatch-1.0.36":
            return self._table(prediction)
        return run(prediction) if run is not None else Side(failure="it is a text, and there is nothing to run it on")

    def _weigh_queries(self, target: Any, prediction: Any, run: Run) -> Mapping[str, Measure]:
        text = target if isinstance(target, str) else ""
        if isinstance(prediction, str) and isinstance(target, str) and equal_texts(text, prediction, self.rules):
            counts = ordered(text, self.rules, unrun=True)
            return all_right(self.rules, self.metrics, ordered=counts, reason=EQUAL_TEXT)
        wanted, found, counts = run(target), run(prediction), ordered(text, self.rules)
        ties = ties_of(wanted, text)
        return weigh(wanted, found, rules=self.rules, metrics=self.metrics, ordered=counts, ties=ties)

    def _run(self, db_id: Any, query: Any) -> Side:
        """The result of a query; the target's and the prediction's alike are run in the sandbox."""
        sent = as_run(query, self.rules) if isinstance(query, str) else query
        return Side.of(self._databases_for("query").execute(db_id, sent), self.rules)

    def _table(self, value: Any) -> Side:
        """A table as it was given; the releases do not read one from its text."""
        if isinstance(value, str) and self.rules in _READS_TEXT and looks_like_table(value):
            with suppress(ValueError):
                value = read_notation(value)
        return Side.given(value, self.rules)

    def _is_query(self, target: Any) -> bool:
        """Whether a target of QA is SQL that must be run first."""
        if not isinstance(target, str):
            return False
        return not (self.rules in _READS_TEXT and looks_like_table(target))

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
    found = next((one for one in TASKS if isinstance(task, str) and one == task.upper()), None)
    if found is None:
        raise ConfigError(f"there is no task {task!r}; QA compares tables, SP runs the SQL of both sides")
    return found
