"""The end of a run that several workers write: who stores its state, and what it is."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from steelyard.errors import ModelError, StoreError
from steelyard.runner import Progress
from steelyard.store import Run, Store
from steelyard.store.leases import forget_plan, leases_left
from steelyard.suite.running import Running, state_of
from steelyard.workers.task import WorkerTask

_LOOK_S: Final = 0.5
_CUT: Final = "the process that led the run died before all was done"


def void_leases(store: Store, run: int) -> None:
    """End a run for all its workers: nothing of it is taken any more, and no record in flight is stored."""
    store.writer.change(lambda batch: batch.connection.execute("DELETE FROM lease WHERE run = :run", {"run": run}))


def is_done(store: Store, run: int, plan: str) -> bool:
    """Whether every range of a run is done, or void."""
    with store.reading() as connection:
        return not leases_left(connection, run, plan)


def last_error(run: Run) -> str:
    """What one of the failed records of a run says; "" where none failed."""
    for record in run.records() if run.errors else ():
        if record.failure is not None:
            return f"{record.failure.stage}: {record.failure.message}"
    return ""


def progress_of(run: Run) -> Progress:
    """The counts of a run as the store has them."""
    return Progress(run.target, run.planned, run.done, errors=run.errors, last_error=last_error(run))


async def finish_abandoned(running: Running, task: WorkerTask) -> None:
    """Store the state of each run when it is done, in place of the leader that has died.

    One worker does: whoever gets the lock of a run, which the server has taken from the dead process.
    """
    for name in task.runs:
        while True:
            run = running.store.run(name)
            if run.state in {"finished", "broken"}:
                break
            if await asyncio.to_thread(is_done, running.store, run.num, task.plan):
                with contextlib.suppress(StoreError):  # another worker has the lock: it is the one that finishes
                    await asyncio.to_thread(_finish, running, run)
                    break
            await asyncio.sleep(_LOOK_S)
    with contextlib.suppress(StoreError):
        runs = [running.store.run(name).num for name in task.runs]
        await asyncio.to_thread(forget_plan, running.store, task.evaluation, runs)


def _finish(running: Running, run: Run) -> None:
    writer = running.store.adopt_run(run)
    progress = progress_of(run.refresh())
    # Void leases without a word of the leader: it died while it ended the run.
    cut = None if progress.done >= progress.planned else ModelError(_CUT, kind="interrupted", ends_run=True)
    state, reason = state_of(cut, progress, running.error_share(run.target))
    writer.finish(state, reason, 0.0)
