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


def release_metrics() -> dict[str, Callable[[Any, Any], Any]]:
    """The release's metrics, execution accuracy included."""
    from qatch.evaluate_dataset.orchestrator_evaluator import name2evaluator

    return {name: name2evaluator[name]().run_metric for name in (*METRICS, "execution_accuracy")}


def answer(metrics: dict[str, Callable[[Any, Any], Any]], line: str) -> list[float | str]:
    """A number or the exception's name for each metric; each has its own copy of the tables, as they are changed."""
    found: list[float | str] = []
    for measure in metrics.values():
        target, prediction = json.loads(line)
        try:
            value = float(measure(decoded(target), decoded(prediction)))
        except Exception as error:  # noqa: BLE001 - whatever it raises is what is asked for
            found.append(type(error).__name__)
        else:
            found.append("nan" if math.isnan(value) else value)
    return found


def seconds(metrics: dict[str, Callable[[Any, Any], Any]], line: str) -> float:
    """Wall time of the five metrics on one pair."""
    target, prediction = (decoded(table) for table in json.loads(line))
    started = time.perf_counter()
    for name in METRICS:
        metrics[name](target, prediction)
    return time.perf_counter() - started


def main() -> None:
    logging.disable()
    warnings.simplefilter("ignore")
    metrics = release_metrics()
    timed = "--time" in sys.argv
    for line in sys.stdin:
        print(json.dumps(seconds(metrics, line) if timed else answer(metrics, line)), flush=timed)


if __name__ == "__main__":
    main()
