"""What an installed QATCH says of pairs of tables: JSON lines in, JSON lines out; runs in an environment of its own.

Per pair a list with one entry per metric: a number, "nan", or the name of the exception.
"""

from __future__ import annotations

import json
import logging
import math
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from qatch_tables import decoded

METRICS = ("cell_precision", "cell_recall", "tuple_cardinality", "tuple_constraint", "tuple_order")
ORDERED = "select 1 order by 1"


class Fetched:
    """Stands for the databases of the old interface: every query returns the rows that it was made with."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def run_query(self, *_: str) -> Any:
        """The rows."""
        return self.rows


def old_metrics() -> dict[str, Callable[[Any, Any, bool], Any]]:
    """The metrics of the releases 0.2 by way of their evaluator."""
    from qatch.metric_evaluator import MetricEvaluator

    def metric(name: str) -> Callable[[Any, Any, bool], Any]:
        def measure(target: Any, prediction: Any, executed: bool) -> Any:  # noqa: FBT001 - the third of a pair
            evaluator = MetricEvaluator(Fetched(target) if executed else None, [name])
            test = {"db_id": "", "prediction": prediction, "target": ORDERED if executed else target}
            return evaluator.evaluate_single_test_QA(test, "prediction", "target")[f"{name}_prediction"]

        return measure

    return {name: metric(name) for name in METRICS}


def new_metrics() -> dict[str, Callable[[Any, Any, bool], Any]]:
    """The metrics of the releases 1.0, execution accuracy included."""
    from qatch.evaluate_dataset.orchestrator_evaluator import name2evaluator

    def metric(name: str) -> Callable[[Any, Any, bool], Any]:
        evaluator = name2evaluator[name]()
        return lambda target, prediction, _: evaluator.run_metric(target, prediction)

    return {name: metric(name) for name in (*METRICS, "execution_accuracy")}


def answer(metrics: dict[str, Callable[[Any, Any, bool], Any]], line: str) -> list[float | str]:
    """A number or the exception's name for each metric; each has its own copy of the tables, as they are changed."""
    found: list[float | str] = []
    for measure in metrics.values():
        target, prediction, executed = json.loads(line)
        try:
            value = float(measure(decoded(target), decoded(prediction), executed))
        except Exception as error:  # noqa: BLE001 - whatever it raises is what is asked for
            found.append(type(error).__name__)
        else:
            found.append("nan" if math.isnan(value) else value)
    return found


def seconds(metrics: dict[str, Callable[[Any, Any, bool], Any]], line: str) -> float:
    """Wall time of the five metrics on one pair."""
    target, prediction = (decoded(table) for table in json.loads(line)[:2])
    started = time.perf_counter()
    for name in METRICS:
        metrics[name](target, prediction, False)
    return time.perf_counter() - started


def main() -> None:
    logging.disable()
    warnings.simplefilter("ignore")
    metrics = new_metrics() if "--new" in sys.argv else old_metrics()
    timed = "--time" in sys.argv
    for line in sys.stdin:
        print(json.dumps(seconds(metrics, line) if timed else answer(metrics, line)), flush=timed)


if __name__ == "__main__":
    main()
