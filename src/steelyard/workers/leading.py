"""How runs of several workers are led: samples are granted for early stopping, and runs that are over are ended.

The records of all workers are in the store. For early stopping the lead reads those whose lease has ended, hands them
to the scheduler, and grants the samples that an open decision needs next: it decides on the same samples in the same
order as one process does. Why a run was stopped stands in the store in place of its leases, so that whoever ends it
knows. The lead may die: a worker takes its place, and begins with what is stored.
"""

# Why it is so, and what was rejected: docs/decisions/evaluation-early-stop.md

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from steelyard.errors import ModelError, StoreError
from steelyard.evaluation.objects import Suite, error_share, most_errors
from steelyard.evaluation.running import EndedRun, Running, finish_together, state_of
from steelyard.evaluation.stopping import ScheduledFeed, StoppingScheduler
from steelyard.models.budget import BudgetMeter
from steelyard.runner import Progress
from steelyard.store import Run, RunWriter, Store
from steelyard.store.counters import raise_time
from steelyard.store.database.backend import REPAIR_HINT
from steelyard.store.leases import (
    change_grants,
    close_leases,
    granted_places,
    is_taken_over,
    leases_left,
    open_runs,
    planned_samples,
    stop_of,
    stop_run,
    stored_scores,
)
from steelyard.store.worker_rows import forget_plan
from steelyard.types import Sample
from steelyard.workers.task import WorkerTask

STEP_S: Final = 0.05
"""How often the lead looks for new records: samples that wait to be granted wait so long."""
_AHEAD: Final = 2
"""Samples are granted this many times as far ahead as in one process: a worker that has ended one would otherwise wait
until the lead has seen it."""
_LOOK_S: Final = 0.5
_TIME_NOTED_S: Final = 5.0
_FEWEST_ERRORS: Final = 10
"""A run is not given up before it has so many errors, as in one process."""
_CUT: Final = ModelError("the process that led the run died before all was done", kind="interrupted", ends_run=True)


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
            StoreError: the store cannot be reached, or what was granted is gone without records.
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
        waiting = [num for num in self._open_runs if num not in self._closed]
        if waiting and not any(self._granted.values()) and not any(self._ungranted[num] for num in waiting):
            self._check_void(store, waiting)

    def _check_void(self, store: Store, waiting: Sequence[int]) -> None:
        """Where nothing is granted and runs are open, their leases are void: they were stopped, or others lead them.

        Raises:
            StoreError: they are not void, and all would wait for ever.
        """
        with store.reading() as connection:
            if all(leases_left(connection, num, self._plan) for num in waiting):
                raise StoreError(
                    "samples were granted to workers, and neither their leases nor their records are there: somebody "
                    f"changed rows of the store during the run. {REPAIR_HINT}"
                )

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


@dataclass(frozen=True, slots=True)
class LedExecution:
    """One execution of an evaluation, as whoever leads it looks for the runs that have ended.

    Args:
        suite: what is run.
        plan: identifies the execution.
        errors_before: id of each run -> errors that it had when this execution began: they are asked again.
    """

    suite: Suite
    plan: str
    errors_before: Mapping[str, int]

    def ended(
        self,
        store: Store,
        runs: Sequence[Run],
        lead: StoppingLead | None = None,
        *,
        fatal: ModelError | None = None,
        undone: ModelError | None = None,
    ) -> list[tuple[Progress, ModelError | None]]:
        """Counts of each run that nothing more is stored of, and why it was stopped; None where it was not.

        With early stopping none has ended before all have. Stops runs as `stops` does.

        Args:
            store: a PostgreSQL store.
            runs: without a stored end.
            lead: of early stopping.
            fatal: why all runs end now, done or not.
            undone: why a run has ended that lacks records.
        """
        # Before the reasons: a run that is stopped in between has leases still, and ends at the next look.
        with store.reading() as connection:
            left = {run.id: leases_left(connection, run.num, self.plan) for run in runs}
        stops = self.stops(store, runs)
        if lead is not None and stops:
            # A decision needs both sides: the end of one run ends those that are open, as in one process.
            error = next(iter(stops.values()))
            for run in runs:
                if run.id not in stops and not lead.scheduler.is_decided(run.target):
                    stops[run.id] = error
                    stop_run(store, run.num, self.plan, error)
        ended = [run for run in runs if fatal is not None or not left[run.id]]
        if lead is not None:
            if len(ended) < len(runs):
                return []
            lead.step(store)
        ends = []
        for run in ended:
            progress = progress_of(run.refresh())
            decided = lead is not None and lead.scheduler.is_decided(run.target)
            lacking = undone if progress.done < progress.planned and not decided else None
            ends.append((progress, stops.get(run.id) or (fatal if left[run.id] else lacking)))
        return ends

    def stops(self, store: Store, runs: Sequence[Run]) -> dict[str, ModelError]:
        """Why runs were stopped, by their ids; those with too many errors, over all workers, are stopped first."""
        with store.reading() as connection:
            stored = {run.id: stop_of(connection, run.num, self.plan) for run in runs}
        stops = {ident: error for ident, error in stored.items() if error is not None}
        for run in runs:
            share = error_share(self.suite.targets[run.target], self.suite.options)
            most = max(most_errors(share, run.planned), _FEWEST_ERRORS - 1)
            if run.id not in stops and run.errors - self.errors_before[run.id] > most:
                stops[run.id] = ModelError(last_error(run), kind="errors", ends_run=True)
                stop_run(store, run.num, self.plan, stops[run.id])
        return stops

    def finish(
        self,
        ends: Sequence[tuple[RunWriter, Progress, ModelError | None]],
        lead: StoppingLead | None,
        *,
        redact: Callable[[str], str] = str,
        seconds: float = 0.0,
    ) -> None:
        """Store the ends of runs.

        Raises:
            StoreError: they could not be written.
        """
        targets, options = self.suite.targets, self.suite.options
        ended = [
            EndedRun(writer, progress, stopped, error_share(targets[progress.target], options), seconds)
            for writer, progress, stopped in ends
        ]
        if lead is not None:
            finish_together(lead.scheduler, ended, redact)
            return
        for end in ended:
            state, reason = state_of(end.stopped, end.progress, end.max_errors)
            end.writer.finish(state, redact(reason), end.seconds)


def open_among(store: Store, idents: Sequence[str]) -> list[Run]:
    """Those of these runs whose end is not stored, as they are now."""
    runs = [store.run(ident) for ident in idents]
    with store.reading() as connection:
        return [run for run in runs if run.num in open_runs(connection, run.evaluation)]


def last_error(run: Run) -> str:
    """The message of the failed record that comes last in the dataset; "" if none failed."""
    for record in run.last_failures(1) if run.errors else ():
        if record.failure is not None:
            return f"{record.failure.stage}: {record.failure.message}"
    return ""


def progress_of(run: Run) -> Progress:
    """The counts of a run as the store has them."""
    return Progress(run.target, run.planned, run.done, errors=run.errors, last_error=last_error(run))


async def finish_abandoned(running: Running, task: WorkerTask) -> None:
    """Store the end of each run in place of the leader that has died.

    One worker does: whoever gets the lock of a run, which the server has taken from the dead process. Nobody does
    where the evaluation was resumed with other workers meanwhile: it is theirs.
    """
    store, execution = running.store, LedExecution(running.suite, task.plan, task.errors_before)
    nums = [store.run(ident).num for ident in task.runs]
    early_stop = bool(running.suite.options.stop_when_decided.question)
    if not early_stop:  # samples that the dead process had not stored yet do not come: a resume asks them
        await asyncio.to_thread(close_leases, store, nums, task.plan)
    while runs := open_among(store, task.runs):
        with store.reading() as connection:
            if any(is_taken_over(connection, num, task.plan) for num in nums):
                return
        if early_stop:
            await _lead(running, execution, runs)
        else:
            with contextlib.suppress(StoreError):  # another worker has the lock, and ends the run
                await asyncio.to_thread(_end_those_done, running, execution, runs)
        await asyncio.sleep(_LOOK_S)
    with contextlib.suppress(StoreError):
        await asyncio.to_thread(forget_plan, store, task.evaluation, nums)


def _end_those_done(running: Running, execution: LedExecution, runs: Sequence[Run]) -> None:
    for run in runs:
        for progress, stopped in execution.ended(running.store, [run], undone=_CUT):
            writer = running.store.adopt_run(run)
            if open_among(running.store, [run.id]):
                execution.finish([(writer, progress, stopped)], None, redact=running.session.secrets.redact_text)
            else:  # another worker has ended it, and released it since this one looked
                writer.abandon()


async def _lead(running: Running, execution: LedExecution, runs: Sequence[Run]) -> None:
    """Lead runs with early stopping to their end, unless another worker does."""
    store, evaluation = running.store, running.evaluation
    with contextlib.ExitStack() as locks:
        writers = []
        for run in runs:
            try:
                writers.append(store.adopt_run(run))
            except StoreError:
                return
            locks.callback(writers[-1].abandon)
        opened = [run.id for run in runs]
        if len(open_among(store, opened)) < len(runs):  # another worker has ended one since
            return
        samples = await asyncio.to_thread(planned_samples, store, evaluation)
        lead = StoppingLead(running.suite, samples, store.runs_of(evaluation), opened=opened, plan=execution.plan)
        while True:
            await asyncio.to_thread(lead.step, store)
            ended = await asyncio.to_thread(
                partial(execution.ended, undone=_CUT), store, open_among(store, opened), lead
            )
            if ended:
                break
            await asyncio.sleep(STEP_S)
        ends = [(writer, *end) for writer, end in zip(writers, ended, strict=True)]
        execution.finish(ends, lead, redact=running.session.secrets.redact_text)


async def keep_minutes(running: Running, evaluation: int) -> None:
    """End this worker's runs when the budget's minutes are over, in place of the leader that has died; for ever.

    Every worker does so, and notes the time: whichever lives longest has the last word.
    """
    budget = running.suite.options.budget
    if budget.minutes is None:
        return
    store = running.store
    spent = await asyncio.to_thread(store.spending, evaluation)
    meter = BudgetMeter(budget, spent, store.journal(evaluation))
    while True:
        note = partial(raise_time, evaluation=evaluation, millis=meter.spent.millis)
        await asyncio.to_thread(store.writer.change, note)
        left_s = meter.left_s or 0.0
        if left_s <= 0:
            running.session.halt(meter.out_of_time())
        await asyncio.sleep(min(max(left_s, _LOOK_S), _TIME_NOTED_S))
