"""Workers that are processes on this machine: what `workers=8` and `--workers 8` make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from steelyard.errors import ConfigError, expect_number
from steelyard.store.address import Address, locate
from steelyard.suite.executor import BegunEvaluation, RunHandle
from steelyard.suite.objects import Suite
from steelyard.suite.rescore import ScoredRecords, ScoringTask
from steelyard.workers.local_process import StartsProcesses
from steelyard.workers.processes import Leader
from steelyard.workers.scoring_pool import scored_by_processes
from steelyard.workers.scoring_process import packed_task
from steelyard.workers.task import packed, without_samples

NAME_ONE: Final = "name one with --store postgresql://user@host/database"
"""What to do about a store in a file."""


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


def check_shared(suite: Suite, where: str | Path | None, n: int) -> None:
    """Refuse what several workers cannot run.

    Raises:
        ConfigError: what is missing, and what to do.
    """
    expect_number("workers", n, 1, whole=True)
    if not isinstance(locate(where), Address):
        raise ConfigError(
            f"several workers write to a store on a server, as each has a connection of its own: {NAME_ONE}"
        )
    packed(without_samples(suite))
