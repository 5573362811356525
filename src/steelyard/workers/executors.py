"""From what `workers` was set to, in Python or on the command line, to the executor that starts them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from steelyard.errors import ConfigError
from steelyard.suite.executor import Executor, is_executor

if TYPE_CHECKING:
    from steelyard.workers.process_workers import ProcessWorkers
    from steelyard.workers.ray_cluster import RayWorkers

Workers: TypeAlias = int | str | Executor
"""A number of processes, `ray`, `ray://HOST:10001`, or an executor such as `RayWorkers`."""


def named_executor(text: str, working_dir: str | Path | None = None) -> ProcessWorkers | RayWorkers:
    """The executor of workers as the command line names them; arguments and errors as for `executor_of`."""
    if text.startswith("ray"):
        from steelyard.workers.ray_cluster import RayWorkers

        return RayWorkers.parse(text, working_dir)
    if working_dir is not None:
        raise ConfigError("a working directory is copied to workers of Ray alone: --workers ray or ray://HOST:10001")
    if not text.isdecimal():
        raise ConfigError(f"expected workers as a number, ray or ray://HOST:10001, but got {text!r}")
    from steelyard.workers.process_workers import ProcessWorkers

    return ProcessWorkers(int(text))


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
        from steelyard.workers.process_workers import ProcessWorkers

        return ProcessWorkers(workers)
    if not is_executor(workers):
        raise ConfigError(f"expected workers as a number, ray, ray://HOST:10001 or an executor, but got {workers!r}")
    return workers
