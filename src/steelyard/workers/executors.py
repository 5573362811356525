"""`workers`, in Python or on the command line: the executor that it names, and `evaluate_suite` with that option."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

from steelyard import evaluation as in_suite
from steelyard import workers as kinds  # each is imported on first use: a run in this process needs none
from steelyard.errors import ConfigError
from steelyard.evaluation import RunConfig, RunHandle, Suite
from steelyard.evaluation.evaluate import BuildsSuite
from steelyard.evaluation.running import Executor, is_executor
from steelyard.store import Run

Workers: TypeAlias = int | str | Executor
"""A number of processes, `ray`, `ray://HOST:10001`, or an executor such as `RayWorkers`."""


def named_executor(text: str, working_dir: str | Path | None = None) -> kinds.ProcessWorkers | kinds.RayWorkers:
    """The executor of workers as the command line names them; arguments and errors as for `executor_of`."""
    if text.startswith("ray"):
        return kinds.RayWorkers.parse(text, working_dir)
    if working_dir is not None:
        raise ConfigError("a working directory is copied to workers of Ray alone: --workers ray or ray://HOST:10001")
    if not text.isdecimal():
        raise ConfigError(f"expected workers as a number, ray or ray://HOST:10001, but got {text!r}")
    return kinds.ProcessWorkers(int(text))


def executor_of(workers: Workers, working_dir: str | Path | None = None) -> Executor:
    """The executor of some workers.

    Args:
        workers: a number of processes on this machine, also as a text; an address of Ray (see `RayWorkers.parse`); or
            an executor.
        working_dir: see `RayWorkers`.

    Raises:
        ConfigError: it is none of these.
    """
    if isinstance(workers, str) or working_dir is not None:
        return named_executor(str(workers), working_dir)
    if isinstance(workers, int | float):
        return kinds.ProcessWorkers(workers)
    if not is_executor(workers):
        raise ConfigError(f"expected workers as a number, ray, ray://HOST:10001 or an executor, but got {workers!r}")
    return workers


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
