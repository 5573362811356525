"""The part of `concurrency` that one worker has: asked of the store every second, as workers come and go.

With the question it reports that the worker lives, and what it has done.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from steelyard.models.limits import Limits
from steelyard.runner import Progress, Runner
from steelyard.store import Store
from steelyard.store.leases import LEASE_S
from steelyard.store.shared_change import changed
from steelyard.store.worker_rows import CheckIn, check_in
from steelyard.workers.task import WorkerTask

_ASK_S: Final = 1.0
_ASK_WITHOUT_S: Final = 0.25
"""The same while this worker has no part, as others still hold what is to be its own."""


class SharedConcurrency:
    """What this worker may have in flight; its runners and its gates follow.

    Args:
        store: a PostgreSQL store.
        task: of this worker.
        limits: of its session.
        place: its process and host.

    Attributes:
        records: that were handed to the store since the last report.
        taken_over: leases of other workers, likewise.
    """

    def __init__(self, store: Store, task: WorkerTask, limits: Limits, place: str) -> None:
        self.records = 0
        self.taken_over = 0
        self._writer = store.writer
        self._task = task
        self._limits = limits
        self._place = place
        self._runners: list[tuple[Runner, Progress]] = []
        self._part = 0
        self._until = 0.0

    @property
    def part(self) -> int:
        """Samples of a run that may be in flight now; 0 where the others count without this worker by now."""
        return self._part if time.monotonic() < self._until else 0

    @property
    def ask_again_s(self) -> float:
        """Seconds until the next report."""
        return _ASK_S if self._part else _ASK_WITHOUT_S

    @contextmanager
    def followed_by(self, runner: Runner, progress: Progress) -> Iterator[None]:
        """Let a runner follow the part while it runs."""
        self._runners.append((runner, progress))
        try:
            yield
        finally:
            self._runners.remove((runner, progress))

    async def check_in(self) -> None:
        """Report what was done, and ask what this worker may have in flight from now on."""
        asked = time.monotonic()
        task = self._task
        held = max([self.part, *(progress.in_flight for _, progress in self._runners)])
        report = CheckIn(
            task.evaluation, task.slot, task.suite.options.concurrency, held,
            task.owner, self._place, self.records, self.taken_over,
        )  # fmt: skip
        self.records = self.taken_over = 0
        self._part = await changed(self._writer, b"worker", partial(check_in, report=report))
        # The store counts from its answer, which came later: nobody else takes this part before.
        self._until = asked + LEASE_S
        # A worker without a part begins nothing: its feed does not give it a sample.
        for runner, _ in self._runners:
            runner.allow(max(1, self._part))
        self._limits.change_concurrency(max(1, self._part))
