"""`evaluate_suite` as the root gives it: that of `steelyard.evaluation`, with `workers`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steelyard import evaluation as in_suite
from steelyard.evaluation import RunConfig, RunHandle, Suite
from steelyard.evaluation.evaluate import BuildsSuite
from steelyard.store import Run
from steelyard.workers.executors import Workers, executor_of


def evaluate_suite(
    suite: Suite | BuildsSuite,
    *,
    store: str | Path | None = None,
    how: RunConfig | None = None,
    workers: Workers | None = None,
    **options: Any,
) -> tuple[Run, ...]:
    """Run every target of a suite; one run each, in order; also inside a running event loop.

    Args:
        suite: a `Suite`, or what builds one (`ChoiceSuite`, `RagSuite` ...).
        store: a file, or None for `.steelyard/steelyard.db` here.
        how: all settings of the run in one object, for programs that keep them together; in place of `store`.
        workers: a number of processes that share the samples, `ray` or `ray://HOST:10001`, or an executor such as
            `steelyard.workers.ray_cluster.RayWorkers`. The store must be PostgreSQL, and targets and scorers must come
            from modules that can be imported. None works in this process.
        options: any field of `Options`, in place of the suite's own, or of `RunConfig`, as `evaluate` takes them.

    Raises:
        ConfigError: found before the first call.
        DataError: likewise.
        StoreError: the results could not be kept.
        RunError: a run ended as broken; `on_broken="return"` returns it instead.
    """
    return in_suite.evaluate_suite(suite, store=store, how=how, **_with_workers(workers, options))


async def aevaluate_suite(
    suite: Suite | BuildsSuite,
    *,
    store: str | Path | None = None,
    how: RunConfig | None = None,
    control: RunHandle | None = None,
    workers: Workers | None = None,
    **options: Any,
) -> tuple[Run, ...]:
    """The same as `evaluate_suite`, for async callers; `control` has the progress, for a display of one's own."""
    return await in_suite.aevaluate_suite(
        suite, store=store, how=how, control=control, **_with_workers(workers, options)
    )


def _with_workers(workers: Workers | None, options: dict[str, Any]) -> dict[str, Any]:
    if workers is None:
        return options
    return {**options, "executor": executor_of(workers)}
