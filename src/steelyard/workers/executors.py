"""From what `workers` was set to, in Python or on the command line, to the executor that starts them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from steelyard.errors import ConfigError, expect_number
from steelyard.evaluation.executor import BegunEvaluation, Executor, RunHandle, is_executor
from steelyard.evaluation.objects import Suite
from steelyard.evaluation.rescore import ScoredRecords, ScoringTask
from steelyard.workers.local_process import StartsProcesses
from steelyard.workers.processes import Leader
from steelyard.workers.ray_cluster import RayWorkers
from steelyard.workers.scoring_pool import scored_by_processes
from steelyard.workers.scoring_process import packed_task
from steelyard.workers.task import check_shared

Workers: TypeAlias = int | str | Executor
"""A number of processes, `ray`, `ray://HOST:10001`, or an executor such as `RayWorkers`."""


@dataclass(frozen=True, slots=True)
class ProcessWorkers:
    """Runs the samples of an evaluation in several processes on this machine; the store must be PostgreSQL.

    Args:
        n: how many processes.
    """

    n: int

    def check(self, suite: Suite, where: str | Path | None) -> None:
        """Refuse what several processes cannot run, before anything is stored.

        Raises:
            ConfigError: what is missing, and what to do.
        """
        check_shared(suite, where, self.n)

    async def run(self, begun: BegunEvaluation, control: RunHandle) -> None:
        """Run every target to its end; see `Executor`."""
        await Leader(StartsProcesses(), self.n, begun, control).run()

    def score(
        self, where: str | Path | None, environment: Mapping[str, str], task: ScoringTask, ranges: Sequence[range]
    ) -> list[ScoredRecords]:
        """Score stored records again; the store may be a file, as its processes only read it.

        Args:
            where: the address of the store.
            environment: values for `${NAME}` that this process's environment lacks.
            task: what scores them.
            ranges: places of samples.

        Raises:
            ConfigError: a scorer cannot be handed to another process.
            ScorerError: a scorer failed, or ended its process.
        """
        expect_number("workers", self.n, 1, whole=True)
        return scored_by_processes(packed_task(task, where), ranges, self.n, environment)


def named_executor(text: str, working_dir: str | Path | None = None) -> ProcessWorkers | RayWorkers:
    """The executor of workers as the command line names them; arguments and errors as for `executor_of`."""
    if text.startswith("ray"):
        return RayWorkers.parse(text, working_dir)
    if working_dir is not None:
        raise ConfigError("a working directory is copied to workers of Ray alone: --workers ray or ray://HOST:10001")
    if not text.isdecimal():
        raise ConfigError(f"expected workers as a number, ray or ray://HOST:10001, but got {text!r}")
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
        return ProcessWorkers(workers)
    if not is_executor(workers):
        raise ConfigError(f"expected workers as a number, ray, ray://HOST:10001 or an executor, but got {workers!r}")
    return workers
