"""The process that leads a run with workers: it plans, starts workers and watches them.

A worker that dies is replaced by another. How one is started is for `local_process`, on a cluster for `ray_cluster`.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from steelyard.errors import ConfigError, ModelError, StoreError, expect_number
from steelyard.evaluation import Suite
from steelyard.evaluation.rescore import ScoredRecords, ScoringTask
from steelyard.evaluation.running import RESUMABLE, BegunEvaluation, RunHandle
from steelyard.models.budget import used_up
from steelyard.store import Run, RunWriter, Store
from steelyard.store.counters import consumption, running_score
from steelyard.store.leases import (
    LARGEST_LEASE,
    add_leases,
    close_leases,
    forget_samples,
    most_in_lease,
    open_leases,
    plan_portion,
    plan_samples,
    sample_portions,
)
from steelyard.store.store import new_id
from steelyard.store.worker_rows import divide_equally, forget_plan, forget_workers, workers_of
from steelyard.workers.leading import STEP_S, LedExecution, StoppingLead, last_error
from steelyard.workers.local_process import StartedWorker, StartsProcesses, StartsWorkers
from steelyard.workers.scoring import packed_task, scored_by_processes
from steelyard.workers.task import STORE_FAILED, WorkerTask, check_shared, most_workers, packed, without_samples

T = TypeVar("T")

_LOOK_S: Final = 0.5
_STORE_BACK_S: Final = 30.0
"""How long the store may be away, as when its server is started again."""
_READY_S: Final = 120.0
_MOST_DEATHS: Final = 5
"""Workers of one slot that may die one after the other without a record stored in between."""
_SILENT_S: Final = 45.0
"""Without a word for so long, a worker that is to end is stopped or cut off: the store may be away for 30 seconds."""
_LEASES_EACH: Final = 64


@dataclass(slots=True)
class _Slot:
    """A worker, and those that are started in its place.

    Args:
        number: from 0.
        worker: the newest of the slot; None before it is started.
        ready: whether it has loaded the suite.
        done: whether it has nothing left to do.
        deaths: of processes in a row without a record.
        cannot: why it ended, as it said itself.
        missing: the module that it lacks.
        heard_at: when it last said anything, by a monotonic clock.
    """

    number: int
    worker: StartedWorker | None = None
    ready: bool = False
    done: bool = False
    deaths: int = 0
    cannot: str = ""
    missing: str = ""
    heard_at: float = field(default_factory=time.monotonic)

    @property
    def ended(self) -> bool:
        """Whether its worker has ended."""
        return self.worker is not None and self.worker.exit_code is not None

    @property
    def why(self) -> str:
        """Why its worker ended."""
        return self.cannot or (self.worker.death if self.worker is not None else "")

    def tell(self, line: str) -> None:
        """Tell its worker something."""
        if self.worker is not None:
            self.worker.tell(line)


@dataclass(slots=True)
class Leader:
    """Plans leases, watches workers and ends the runs of one evaluation.

    Args:
        starter: of workers.
        n: how many are wanted.
        begun: the evaluation.
        control: its progress is written there.
    """

    starter: StartsWorkers
    n: int
    begun: BegunEvaluation
    control: RunHandle
    plan: str = field(default_factory=new_id)
    slots: list[_Slot] = field(default_factory=list)
    fatal: ModelError | None = None
    starts: int = 0
    planning: bool = True
    lead: StoppingLead | None = None
    stepping: asyncio.Lock = field(default_factory=asyncio.Lock)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    stores: list[Store] = field(default_factory=list)

    async def run(self) -> None:
        """See `Executor.run`."""
        begun = self.begun
        self.control.stop = self._stop
        writers = {writer.run.id: writer for writer in begun.writers}
        await asyncio.to_thread(self._prepare)
        feeding = asyncio.create_task(asyncio.to_thread(self._plan) if self.lead is None else self._decide(self.lead))
        try:
            await self._start_all()
            began, good_before = time.monotonic(), (len(writers), 0)
            while writers:
                await self._hear_for(_LOOK_S)
                if feeding.done():
                    feeding.result()  # samples that cannot be read again, a score that no decision can be made of
                await self._look_after_workers()
                self._check_time(began)
                runs = await self._in_time(lambda: [self.store.run(ident) for ident in writers])
                await self._in_time(partial(self._show, runs))
                await self._end_runs(runs, writers, began)
                # Only what is new: else a sample that kills its worker would be begun for ever.
                good = len(writers), sum(run.done - run.errors for run in runs)
                if good != good_before:
                    good_before = good
                    for slot in self.slots:
                        slot.deaths = 0 if slot.ready else slot.deaths
        finally:
            self.planning = False
            if self.lead is not None:  # what is in a thread is waited for
                feeding.cancel()
            await asyncio.gather(feeding, return_exceptions=True)
            await self._end_workers()
        await asyncio.to_thread(forget_plan, self.store, begun.evaluation, [writer.run.num for writer in begun.writers])

    def _prepare(self) -> None:
        begun, store = self.begun, self.begun.store
        forget_workers(store, begun.evaluation)
        for writer in begun.writers:
            open_leases(store, writer.run.num, self.plan)
        if not begun.suite.options.stop_when_decided.question:
            return
        for _ in plan_samples(store, begun.evaluation, begun.suite.samples):
            pass
        opened = [writer.run.id for writer in begun.writers]
        runs = store.runs_of(begun.evaluation)
        self.lead = StoppingLead(begun.suite, list(begun.suite.samples), runs, opened=opened, plan=self.plan)

    def _plan(self) -> None:
        """Store the samples, and lease what is stored while the rest is; in a thread."""
        begun, first = self.begun, 0
        runs = [writer.run.num for writer in begun.writers]
        # So small that all workers have something to do until the end, and so large that leases cost little.
        n = begun.planned // begun.suite.options.repeats
        size = max(1, min(LARGEST_LEASE, n // (_LEASES_EACH * self._workers)))
        self._until_stored(forget_samples, begun.evaluation)
        for samples, length in sample_portions(begun.suite.samples):
            places = range(first, first + len(samples))
            self._until_stored(plan_portion, begun.evaluation, places.start, samples)
            self._until_stored(add_leases, runs, self.plan, places, most_in_lease(len(samples), length, size))
            first = places.stop
            if not self.planning:
                break
        self._until_stored(close_leases, runs, self.plan)

    def _until_stored(self, change: Callable[..., None], *arguments: Any) -> None:
        """Make a change of the plan; again over a new connection where the store was away.

        Raises:
            StoreError: it does not come back, or the run has ended meanwhile.
        """
        until = time.monotonic() + _STORE_BACK_S
        while True:
            try:
                return change(self.store, *arguments)
            except StoreError:
                if not self.planning or time.monotonic() > until:
                    raise
                time.sleep(_LOOK_S)

    @property
    def store(self) -> Store:
        """The store over a connection that works, as far as is known: a lost one is replaced."""
        newest = self.stores[-1] if self.stores else self.begun.store
        if newest.writer.store_error() is not None:
            newest = Store(self.begun.where)
            self.stores.append(newest)
        return newest

    async def _decide(self, lead: StoppingLead) -> None:
        """Grant samples while a decision needs them."""
        while True:
            async with self.stepping:
                await self._in_time(lambda: lead.step(self.store))
            await asyncio.sleep(STEP_S)

    @property
    def _errors_before(self) -> dict[str, int]:
        """Id of each run -> errors that it had when this execution began."""
        return {writer.run.id: writer.run.errors for writer in self.begun.writers}

    @property
    def _workers(self) -> int:
        return most_workers(self.begun.suite, self.n)

    def _stop(self, reason: str) -> None:
        """Begin nothing more; what is in flight is stored."""
        self._end_all(ModelError(reason, kind="interrupted", ends_run=True))

    def _end_all(self, error: ModelError) -> None:
        self.fatal = self.fatal or error
        for slot in self.slots:
            slot.tell(f"stop {' '.join(str(error).split())}")

    async def _start_all(self) -> None:
        """Start every worker, and let them begin once all have loaded the suite.

        Raises:
            ConfigError: what a worker cannot load, before a call is sent.
        """
        for number in range(self._workers):
            self.slots.append(await self._started(number))
        until = time.monotonic() + _READY_S
        while not all(slot.ready for slot in self.slots):
            for slot in self.slots:
                if slot.ended and not slot.ready:
                    raise ConfigError(f"worker {slot.number} cannot begin: {slot.why}{self._users_of(slot.missing)}")
            if time.monotonic() > until:
                late = sum(not slot.ready for slot in self.slots)
                raise ConfigError(
                    f"{late} of {len(self.slots)} workers were not ready after {_READY_S:.0f} s{self.starter.lacks()}"
                )
            await self._hear_for(_LOOK_S / 5)
        whole = self.begun.suite.options.concurrency
        await self._in_time(lambda: divide_equally(self.store, self.begun.evaluation, whole, len(self.slots)))
        for slot in self.slots:
            slot.tell("go")

    async def _started(self, number: int) -> _Slot:
        begun = self.begun
        task = WorkerTask(
            without_samples(begun.suite),
            begun.where,
            begun.evaluation,
            tuple(writer.run.id for writer in begun.writers),
            self.plan,
            number,
            self._workers,
            f"{self.plan}.{number}.{self.starts}",
            self._errors_before,
            prices=begun.quota.prices,
            unsafe_sql=begun.unsafe_sql,
            permits=begun.permits,
        )
        self.starts += 1
        slot = _Slot(number)
        slot.worker = await self.starter.start(task, begun.environment, partial(self._heard, slot))
        return slot

    async def _hear_for(self, seconds: float) -> None:
        """Wait until all workers are ready or all are done, or so many seconds."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.news.wait(), seconds)
        self.news.clear()

    def _heard(self, slot: _Slot, message: Mapping[str, Any]) -> None:
        slot.heard_at = time.monotonic()
        if "ready" in message:
            slot.ready = True
            if all(other.ready for other in self.slots):
                self.news.set()
        elif "done" in message:
            slot.done = True
            if all(other.done for other in self.slots):
                self.news.set()
        elif "cannot" in message or "store" in message:
            slot.cannot = str(message.get("cannot") or message.get("store"))
            slot.missing = str(message.get("module", ""))

    def _users_of(self, module: str) -> str:
        """Which targets and scorers need a module that a worker lacks, in brackets."""
        if not module:
            return ""
        suite, name = self.begun.suite, module.encode()
        users = [f"target {target}" for target, part in suite.targets.items() if name in packed(part)]
        users += [f"scorer {_called(part)}" for part in suite.scorers if name in packed(part)]
        return f" ({', '.join(users)})" if users else ""

    async def _look_after_workers(self) -> None:
        """Start another process where one has died.

        Raises:
            StoreError: workers of one slot die one after the other, or the store does not come back.
        """
        for at, slot in enumerate(self.slots):
            if slot.worker is None or slot.done or not slot.ended or self.fatal is not None:
                continue
            if slot.worker.exit_code == 0:
                slot.done = True
                continue
            deaths = slot.deaths + 1
            if deaths > _MOST_DEATHS:
                raise StoreError(
                    f"worker {slot.number} died {deaths} times without a record: {slot.why}. "
                    "What is stored is kept; when the cause is removed, continue with `steelyard resume`"
                )
            if slot.worker.exit_code == STORE_FAILED:
                await asyncio.sleep(_LOOK_S * 2**deaths)
            self.slots[at] = await self._started(slot.number)
            self.slots[at].deaths = deaths
            self.slots[at].tell("go")

    def _check_time(self, began: float) -> None:
        """End the evaluation where the minutes of its budget are over."""
        meter = self.begun.quota.budget
        if meter is not None and (left := meter.left_s) is not None and left <= 0 and self.fatal is None:
            self._end_all(used_up(f"{meter.budget.minutes:g} minutes"))
        if meter is not None and time.monotonic() - began > 1:
            meter.book_time()

    async def _in_time(self, work: Callable[[], T]) -> T:
        """What `work` returns, in a thread; called again while the store is away.

        Raises:
            StoreError: it does not come back.
        """
        until = time.monotonic() + _STORE_BACK_S
        while True:
            try:
                return await asyncio.to_thread(work)
            except StoreError:
                if time.monotonic() > until:
                    raise
                await asyncio.sleep(_LOOK_S)

    def _show(self, runs: Sequence[Run]) -> None:
        """Bring the progress that is shown up to what the store holds."""
        by_target = {progress.target: progress for progress in self.control.progress}
        with self.store.reading() as connection:
            for run in runs:
                progress = by_target[run.target]
                if run.errors > progress.errors:
                    progress.last_error = last_error(run)
                progress.done, progress.errors, progress.from_journal = run.done, run.errors, run.from_journal
                progress.input_tokens, progress.output_tokens = run.row.input_tokens, run.row.output_tokens
                progress.running = running_score(connection, run.num, progress.score)
            spent = consumption(connection, self.begun.evaluation)
            rows = workers_of(connection, self.begun.evaluation)
        if rows:
            rate = sum(row.records_per_s for row in rows if row.alive)
            alive = sum(row.alive for row in rows)
            parts = [f"{alive} of {len(rows)} workers, {rate:,.1f} records/s"]
            if again := sum(row.starts - 1 for row in rows):
                parts.append(f"started again {again} time{'s' if again > 1 else ''}")
            if over := sum(row.taken_over for row in rows):
                parts.append(f"{over} leases taken over")
            self.control.workers = ", ".join(parts)
        retries: Counter[str] = Counter()
        for (_, fault), n in spent.retries.items():
            retries[fault] += n
        self.control.retries = retries
        if self.control.meter is not None:
            self.control.meter.observe(spent.spent)

    async def _end_runs(self, runs: Sequence[Run], writers: dict[str, RunWriter], began: float) -> None:
        """Store the state of each run that has ended; all of them where the evaluation is stopped."""
        execution = LedExecution(self.begun.suite, self.plan, self._errors_before)
        for error in (await self._in_time(lambda: execution.stops(self.store, runs))).values():
            if error.kind in RESUMABLE and self.fatal is None:
                self._end_all(error)
        if self.fatal is not None:
            self.planning = False
            await self._all_ended()
        async with self.stepping:
            ended = await self._in_time(lambda: execution.ended(self.store, runs, self.lead, fatal=self.fatal))
        ends = []
        for counted, stopped in ended:
            progress = next(shown for shown in self.control.progress if shown.target == counted.target)
            progress.done, progress.errors = counted.done, counted.errors
            progress.last_error = counted.last_error
            (ident,) = (run.id for run in runs if run.target == counted.target)
            ends.append((self._writing(writers.pop(ident)), progress, stopped))
        await asyncio.to_thread(execution.finish, ends, self.lead, seconds=time.monotonic() - began)
        if writers and all(slot.done and slot.ended for slot in self.slots):
            # All workers have ended and leases are left: a server that crashed forgot what came last.
            self.slots[0] = await self._started(self.slots[0].number)
            self.slots[0].tell("go")

    def _writing(self, writer: RunWriter) -> RunWriter:
        """The writer of a run, over a new connection where the first one was lost meanwhile."""
        store = self.store
        return writer if store is self.begun.store else store.adopt_run(writer.run)

    async def _all_ended(self) -> None:
        """Wait for workers that were told to stop: what they have in flight is stored. Silent ones are killed."""
        ending = asyncio.create_task(self._heard_all())
        while not ending.done():
            for slot in self.slots:
                silent = time.monotonic() - slot.heard_at > _SILENT_S
                # One that is not ready has nothing in flight, and may never find a place.
                if slot.worker is not None and not slot.ended and (silent or not slot.ready):
                    slot.worker.kill()
            await asyncio.wait({ending}, timeout=_LOOK_S)
        await ending

    async def _heard_all(self) -> None:
        workers = [slot.worker.ended() for slot in self.slots if slot.worker is not None]
        await asyncio.gather(*workers, return_exceptions=True)

    async def _end_workers(self) -> None:
        """Kill what still runs: all is done, or this process is being stopped at once."""
        for slot in self.slots:
            if slot.worker is not None and not slot.done:
                slot.worker.kill()
        await self._heard_all()
        for store in self.stores:
            store.close()


def _called(part: object) -> str:
    """The name of a scorer in the code that defines it."""
    return str(getattr(part, "__name__", type(part).__name__))


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
