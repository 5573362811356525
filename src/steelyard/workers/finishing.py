"""The end of a run that several workers write: who stores its state, and what it is."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from steelyard.errors import ModelError, StoreError
from steelyard.models.budget import BudgetMeter
from steelyard.runner import Progress
from steelyard.store import Run, RunWriter, Store
from steelyard.store.leases import close_leases, is_taken_over, leases_left, open_runs, planned_samples
from steelyard.store.usage import raise_time
from steelyard.store.worker_rows import forget_plan
from steelyard.suite.objects import Suite, error_share, most_errors
from steelyard.suite.running import EndedRun, Running, finish_together, state_of
from steelyard.workers.stopping_lead import STEP_S, StoppingLead
from steelyard.workers.task import WorkerTask

_LOOK_S: Final = 0.5
_TIME_NOTED_S: Final = 5.0
_FEWEST_ERRORS: Final = 10
"""A run is not given up before it has so many errors, as in one process."""
_CUT: Final = "the process that led the run died before all was done"


def void_leases(store: Store, run: int, plan: str) -> None:
    """End a run for all workers of this execution: nothing of it is taken any more, no record in flight is stored."""
    void, values = "DELETE FROM lease WHERE run = :run AND plan = :plan", {"run": run, "plan": plan}
    store.writer.change(lambda batch: batch.connection.execute(void, values))


def is_done(store: Store, run: int, plan: str) -> bool:
    """Whether every range of a run is done, or void."""
    with store.reading() as connection:
        return not leases_left(connection, run, plan)


def is_open(store: Store, run: Run) -> bool:
    """Whether no end of a run is stored."""
    with store.reading() as connection:
        return run.num in open_runs(connection, run.evaluation)


def last_error(run: Run) -> str:
    """The message of the failed record that comes last in the dataset; "" if none failed."""
    for record in run.last_failures(1) if run.errors else ():
        if record.failure is not None:
            return f"{record.failure.stage}: {record.failure.message}"
    return ""


def progress_of(run: Run) -> Progress:
    """The counts of a run as the store has them."""
    return Progress(run.target, run.planned, run.done, errors=run.errors, last_error=last_error(run))


def too_many_errors(suite: Suite, run: Run, before: int) -> ModelError | None:
    """The reason to end a run with too many errors, over all workers; None to continue.

    Args:
        suite: with the limit.
        run: as it is now.
        before: errors that it had when this execution began: they are asked again.
    """
    share = error_share(suite.targets[run.target], suite.options)
    most = max(most_errors(share, run.planned), _FEWEST_ERRORS - 1)
    return ModelError(last_error(run), kind="errors", ends_run=True) if run.errors - before > most else None


async def finish_abandoned(running: Running, task: WorkerTask, stopped: Mapping[str, ModelError]) -> None:
    """Store the state of each run when it is done or has too many errors, in place of the leader that has died.

    One worker does: whoever gets the lock of a run, which the server has taken from the dead process. Nobody does
    where the evaluation was resumed with other workers meanwhile: it is theirs.

    Args:
        running: of this worker.
        task: of this worker.
        stopped: run -> why this worker has ended it; it may grow meanwhile.
    """
    if running.suite.options.stop_when_decided.question:
        await _decide_abandoned(running, task, stopped)
    else:  # samples that the dead process had not stored yet do not come: a resume asks them
        runs = [running.store.run(name).num for name in task.runs]
        await asyncio.to_thread(close_leases, running.store, runs, task.plan)
    for name in task.runs:
        while True:
            run = running.store.run(name)
            if _is_taken_over(running.store, task):
                return
            if not is_open(running.store, run):
                break
            failed = await asyncio.to_thread(too_many_errors, running.suite, run, task.errors_before[name])
            done = await asyncio.to_thread(is_done, running.store, run.num, task.plan)
            if failed or done:
                with contextlib.suppress(StoreError):  # another worker has the lock: it is the one that finishes
                    await asyncio.to_thread(_finish, running, run, task, stopped.get(name))
                    break
            await asyncio.sleep(_LOOK_S)
    with contextlib.suppress(StoreError):
        if _is_taken_over(running.store, task):
            return
        runs = [running.store.run(name).num for name in task.runs]
        await asyncio.to_thread(forget_plan, running.store, task.evaluation, runs)


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


def _is_taken_over(store: Store, task: WorkerTask) -> bool:
    with store.reading() as connection:
        return any(is_taken_over(connection, store.run(name).num, task.plan) for name in task.runs)


async def _decide_abandoned(running: Running, task: WorkerTask, stopped: Mapping[str, ModelError]) -> None:
    """Lead runs with early stopping to their end; those that another worker leads are waited for."""
    store = running.store
    while runs := [run for run in store.runs_of(task.evaluation) if is_open(store, run)]:
        if _is_taken_over(store, task):
            return
        with contextlib.ExitStack() as locks, contextlib.suppress(StoreError):  # another worker has a lock: it leads
            writers = []
            for run in runs:
                writers.append(store.adopt_run(run))
                locks.callback(writers[-1].abandon)
            if all(is_open(store, run) for run in runs):  # none was ended by another worker since
                await _decide(running, task, writers, stopped)
        await asyncio.sleep(_LOOK_S)


async def _decide(
    running: Running, task: WorkerTask, writers: Sequence[RunWriter], stopped: Mapping[str, ModelError]
) -> None:
    store, opened = running.store, [writer.run.id for writer in writers]
    samples = await asyncio.to_thread(planned_samples, store, task.evaluation)
    lead = StoppingLead(running.suite, samples, store.runs_of(task.evaluation), opened=opened, plan=task.plan)
    failed: ModelError | None = None
    while True:
        await asyncio.to_thread(lead.step, store)
        failed = failed or await asyncio.to_thread(_failed, running, task, writers)
        for writer in writers if failed else ():
            # A decision needs both sides: the end of one run ends those that are open.
            if not lead.scheduler.is_decided(writer.run.target):
                await asyncio.to_thread(void_leases, store, writer.run.num, task.plan)
        if all(is_done(store, writer.run.num, task.plan) for writer in writers):
            break
        await asyncio.sleep(STEP_S)
    failed = failed or next(iter(stopped.values()), None)
    ended = []
    for writer in writers:
        progress = progress_of(writer.run.refresh())
        why = None if lead.scheduler.is_decided(writer.run.target) else failed or _unfinished(progress)
        ended.append(EndedRun(writer, progress, why, running.error_share(writer.run.target), 0.0))
    await asyncio.to_thread(finish_together, lead.scheduler, ended, running.session.secrets.redact_text)


def _failed(running: Running, task: WorkerTask, writers: Sequence[RunWriter]) -> ModelError | None:
    runs = [writer.run.refresh() for writer in writers]
    errors = (too_many_errors(running.suite, run, task.errors_before[run.id]) for run in runs)
    return next(filter(None, errors), None)


def _unfinished(progress: Progress) -> ModelError | None:
    """Void leases without a word of the leader: it died while it ended the run."""
    return None if progress.done >= progress.planned else ModelError(_CUT, kind="interrupted", ends_run=True)


def finish_stopped(running: Running, run: Run, task: WorkerTask, stopped: ModelError) -> None:
    """Store the end of a run that this worker has stopped, in place of the leader that has died.

    Before its leases become void: another worker that saw that first would not know the reason.
    """
    early_stop = running.suite.options.stop_when_decided.question  # then whoever leads ends all runs together
    if not early_stop and not _is_taken_over(running.store, task):
        with contextlib.suppress(StoreError):  # another worker has the lock: it is the one that finishes
            _finish(running, run, task, stopped)


def _finish(running: Running, run: Run, task: WorkerTask, stopped: ModelError | None) -> None:
    writer = running.store.adopt_run(run)
    if not is_open(running.store, run):  # another worker has ended it, and released it since this one looked
        writer.abandon()
        return
    failed = stopped or too_many_errors(running.suite, run.refresh(), task.errors_before[run.id])
    if failed is not None:
        void_leases(running.store, run.num, task.plan)
    progress = progress_of(run.refresh())
    state, reason = state_of(failed or _unfinished(progress), progress, running.error_share(run.target))
    writer.finish(state, running.session.secrets.redact_text(reason), 0.0)
