"""The samples of a run that one worker has leases for: a feed for its runner, and a sink for its records."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from steelyard.runner import Task
from steelyard.store import Run, Store
from steelyard.store.leases import (
    LEASE_S,
    EndLease,
    Lease,
    LeaseHolder,
    changed,
    done_in_range,
    leases_left,
    planned_range,
)
from steelyard.store.run_rows import InsertRecord
from steelyard.types import Record
from steelyard.workers.shared_limits import SharedConcurrency
from steelyard.workers.task import WorkerTask

_WORK_S: Final = 2.0
"""Work that a worker takes at once: a killed one leaves that much to others, and the store is asked that often."""
_AHEAD_S: Final = 0.5
"""Work that is left when the next leases are taken: under load the store takes tenths of a second to answer."""
_MOST_LEASES: Final = 64
_LOOK_AGAIN_S: Final = 0.1
"""How often a worker without work looks whether the last leases of others are done or have run out."""
_LOOK_FOR_PART_S: Final = 0.05
_LOOK_FOR_GRANT_S: Final = 0.05
"""The same where samples are granted one by one, as decisions need them."""


class LeasedRun:
    """Feed and sink of one run in one worker.

    Args:
        store: a PostgreSQL store.
        run: which is worked on.
        task: of this worker.
        shared: its part of the samples in flight.
        ended: whether nothing more is to be begun.
    """

    def __init__(
        self,
        store: Store,
        run: Run,
        task: WorkerTask,
        shared: SharedConcurrency,
        ended: Callable[[], bool],
    ) -> None:
        self.run = run
        self._store = store
        self._writer = store.writer
        self._evaluation = task.evaluation
        self._holder = LeaseHolder(run.num, task.plan, task.owner)
        self._workers = task.workers
        self._repeats = task.suite.options.repeats
        self._shared = shared
        self._granted = bool(task.suite.options.stop_when_decided.question)
        self._ended = ended
        self._stages = run.stages
        self._held: dict[int, Lease] = {}
        # Of each lease the (place, repeat) of the records that it still needs; and all samples that are being run, also
        # those of a lease that ran out meanwhile, which this worker may be given once more.
        self._unfinished: dict[int, set[tuple[int, int]]] = {}
        self._started: set[tuple[int, int]] = set()
        self._lease_of: dict[int, Lease] = {}
        self._tasks: deque[Task] = deque()
        self._waiting = asyncio.Lock()
        self._fetching: asyncio.Task[int] | None = None
        self._began = time.monotonic()
        self._look_at = 0.0
        self._samples = 0
        self._lease_samples = 1

    @property
    def backlog(self) -> int:
        """Operations that wait to be written."""
        return self._writer.backlog

    def __call__(self, records: int) -> Sequence[Task]:  # noqa: ARG002  # what a feed takes
        """The next task of the leases that are held; one at a time, as a lease or the part may be lost."""
        while self._tasks and self._shared.part:
            task = self._tasks.popleft()
            if len(self._tasks) < self._rate * _AHEAD_S:
                self._fetch_ahead()
            place = task.no, task.repeat
            if place not in self._started and self._lease_that_needs(*place) is not None:
                self._started.add(place)
                return (task,)
        return ()

    async def more(self) -> bool:
        """Take leases, or wait for those of others to end or to run out, or for a part; False once all ranges are done.

        True also where nothing more is to be begun: the runner finds that out itself.
        """
        async with self._waiting:
            while not (self._tasks and self._shared.part) and not self._ended():
                if self._writer.store_error() is not None:  # whoever asks for a part has ended; the runner finds it out
                    return True
                if self._tasks:
                    await asyncio.sleep(_LOOK_FOR_PART_S)
                elif not await self._fetch():
                    if not await asyncio.to_thread(self._left):
                        return False
                    await asyncio.sleep(_LOOK_FOR_GRANT_S if self._granted else _LOOK_AGAIN_S)
            return True

    async def keep(self) -> None:
        """Renew the leases that are held, for ever, and drop those that another worker has by now."""
        while True:
            await asyncio.sleep(LEASE_S / 3)
            if not self._held:
                continue
            held = dict(self._held)
            # The beginnings of those that are still held, now for longer.
            ours = await changed(self._writer, b"lease", partial(self._holder.renew, los=tuple(held)))
            for lo, lease in held.items():
                if lo not in ours and self._held.get(lo) == lease:
                    self._drop(lease)

    async def close(self) -> None:
        """Take nothing more."""
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.gather(self._fetching, return_exceptions=True)

    def insert(self, no: int, record: Record, *, replaces: bool = False) -> None:
        """Hand over a record; it is stored if its lease is still held then."""
        lease = self._lease_that_needs(no, record.repeat)
        if lease is not None:
            self._writer.submit(InsertRecord(self.run.num, no, record, self._stages, replaces=replaces, held=lease))

    def record_stored(self, task: Task, record: Record) -> None:  # noqa: ARG002  # what a feed takes
        """Count a record; end its lease if it was the last."""
        place = task.no, task.repeat
        self._started.discard(place)
        lease = self._lease_that_needs(*place)
        if lease is None:
            return
        self._shared.records += 1
        self._samples += 1
        self._unfinished[lease.lo].discard(place)
        if not self._unfinished[lease.lo]:
            self._writer.submit(EndLease(lease))
            self._drop(lease)

    def _lease_that_needs(self, no: int, repeat: int) -> Lease | None:
        """The lease that still needs a record; None where another worker has it, or the record was handed over."""
        lease = self._lease_of.get(no)
        return lease if lease is not None and (no, repeat) in self._unfinished[lease.lo] else None

    def _drop(self, lease: Lease) -> None:
        self._held.pop(lease.lo, None)
        self._unfinished.pop(lease.lo, None)
        for no in range(lease.lo, lease.hi):
            self._lease_of.pop(no, None)

    def _fetch_ahead(self) -> None:
        # Samples that are granted one by one are taken when they can be begun; a look that found nothing is not
        # repeated with every sample.
        if not self._granted and time.monotonic() >= self._look_at and not self._ended():
            self._fetch()

    def _fetch(self) -> asyncio.Task[int]:
        """Begin to take leases, unless that is being done; how many were taken."""
        # Awaiting a task that has ended does not let the event loop run: waiting for it again would never end.
        if self._fetching is None or self._fetching.done():
            self._fetching = asyncio.create_task(self._take())
            self._fetching.add_done_callback(_taken_up)
        return self._fetching

    async def _take(self) -> int:
        n, share = (self._free(), 1) if self._granted else (self._work_ahead(), 2 * self._workers)
        leases = await changed(self._writer, b"lease", partial(self._holder.take, n=n, share=share))
        for lease, tasks in await asyncio.to_thread(self._remaining, leases):
            self._begin(lease, tasks)
        if not leases:
            self._look_at = time.monotonic() + _LOOK_AGAIN_S
        return len(leases)

    @property
    def _rate(self) -> float:
        """Records of this worker in a second."""
        return self._samples / max(1e-3, time.monotonic() - self._began)

    def _work_ahead(self) -> int:
        """Leases of what this worker's own rate does in two seconds; the first time a single one."""
        return min(_MOST_LEASES, max(1, math.ceil(self._rate * _WORK_S / self._lease_samples)))

    def _free(self) -> int:
        """Leases of single samples that can be begun at once: the others are for workers that wait."""
        return max(1, self._shared.part - sum(map(len, self._unfinished.values())))

    def _remaining(self, leases: Sequence[Lease]) -> list[tuple[Lease, list[Task]]]:
        """Tasks of what is left of each range; read in a thread."""
        remaining = []
        for lease in leases:
            done = done_in_range(self._store, lease)
            # Only the first to have the range in this execution asks again what failed in an earlier one.
            again = lease.generation == 1
            tasks = [
                Task(no, repeat, sample, replaces=failed)
                for no, sample in planned_range(self._store, self._evaluation, lease)
                for repeat in range(self._repeats)
                if (failed := done.get((no, repeat))) is None or (failed and again)
            ]
            remaining.append((lease, tasks))
        return remaining

    def _begin(self, lease: Lease, tasks: list[Task]) -> None:
        """Hold a range, or end it where all of it is done."""
        self._lease_samples = max(1, (lease.hi - lease.lo) * self._repeats)
        self._shared.taken_over += lease.taken_over
        if not tasks:
            self._writer.submit(EndLease(lease))
            return
        self._held[lease.lo] = lease
        self._unfinished[lease.lo] = {(task.no, task.repeat) for task in tasks}
        self._lease_of.update(dict.fromkeys(range(lease.lo, lease.hi), lease))
        self._tasks.extend(task for task in tasks if (task.no, task.repeat) not in self._started)

    def _left(self) -> int:
        with self._store.reading() as connection:
            return leases_left(connection, self.run.num, self._holder.plan)


def _taken_up(fetching: asyncio.Task[int]) -> None:
    """Take up the error of a fetch that nobody waited for: the next one fails likewise."""
    if not fetching.cancelled():
        fetching.exception()
