"""Early stopping over workers: the leading worker decides, on the same samples in the same order as one process does.

The records of all workers are in the store. The lead reads those whose lease has ended, hands them to the scheduler,
and grants the samples that an open decision needs next. The lead may die: another begins with what is stored.
"""

# Why it is so, and what was rejected: docs/decisions/evaluation-early-stop.md

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from steelyard.evaluation.objects import Suite
from steelyard.evaluation.stopping import ScheduledFeed, StoppingScheduler
from steelyard.store import Run, Store
from steelyard.store.leases import change_grants, granted_places, stored_scores
from steelyard.types import Sample

STEP_S: Final = 0.05
"""How often the lead looks for new records: samples that wait to be granted wait so long."""
_AHEAD: Final = 2
"""Samples are granted this many times as far ahead as in one process: a worker that has ended one would otherwise wait
until the lead has seen it."""


class StoppingLead:
    """Grants samples of the runs of one evaluation while a decision needs them.

    Args:
        suite: with a rule that stops it.
        samples: the dataset, in order.
        runs: all runs of the evaluation.
        opened: ids of those that continue.
        plan: names the execution.

    Attributes:
        scheduler: which knows the open decisions.
    """

    def __init__(
        self, suite: Suite, samples: Sequence[Sample], runs: Sequence[Run], *, opened: Sequence[str], plan: str
    ) -> None:
        manifests: Mapping[str, Mapping[str, Any]] = {run.target: run.manifest for run in runs}
        self.scheduler = StoppingScheduler.of(suite, samples, manifests)
        self.scheduler.concurrency *= _AHEAD
        self._plan = plan
        self._open_runs = {run.num: run.target for run in runs if run.id in opened}
        done = {run.num: self.scheduler.know(run, again=run.num in self._open_runs) for run in runs}
        self.scheduler.begin(set(self._open_runs.values()))
        self._feeds = {num: ScheduledFeed(self.scheduler, name, done[num]) for num, name in self._open_runs.items()}
        self._done = done
        self._granted: dict[int, set[int]] = {num: set() for num in self._open_runs}
        self._ungranted: dict[int, set[int]] = {num: set() for num in self._open_runs}
        self._closed: set[int] = set()

    def step(self, store: Store) -> None:
        """Take in what was stored since, and grant what may be asked now; called again after an error of the store.

        Raises:
            StoreError: the store cannot be reached.
        """
        with store.reading() as connection:
            granted = granted_places(connection, self._plan)
            for num, places in self._granted.items():
                if ended := places - granted.get(num, set()):
                    for record in stored_scores(connection, num, ended):
                        # Of a sample with several repeats, some may have been stored in an earlier execution.
                        if self._done[num].get((record.no, record.repeat)) is not False:
                            self.scheduler.note(self._open_runs[num], *record)
                    places.difference_update(ended)
        self._grant(store)

    def _grant(self, store: Store) -> None:
        for num, feed in self._feeds.items():
            while tasks := feed(0):
                self._ungranted[num].update(task.no for task in tasks)
        granted = {num: places for num, places in self._ungranted.items() if places and not self._is_decided(num)}
        closed = {num for num in self._open_runs if num not in self._closed and self._is_over(num)}
        if not granted and not closed:
            return
        # Noted as granted only once it is: after an error of the store the next step tries again.
        change_grants(store, self._plan, granted, closed)
        for num, places in granted.items():
            self._granted[num] |= places
            self._ungranted[num] = set()
        self._closed |= closed

    def _is_decided(self, num: int) -> bool:
        return self.scheduler.is_decided(self._open_runs[num])

    def _is_over(self, num: int) -> bool:
        """Whether nothing more of a run is to be begun; closing it takes back what nobody has taken."""
        waiting = self._ungranted[num] or self._granted[num]
        return self._is_decided(num) or (self._feeds[num].has_ended and not waiting)
