"""Worker processes on this machine: started, told when to begin and stop, watched, and started again where they die."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from steelyard.errors import ConfigError, ModelError, StoreError, expect_number
from steelyard.models.budget import used_up
from steelyard.runner import Progress
from steelyard.session.secrets import environment_with
from steelyard.store import Run, RunWriter, Store
from steelyard.store.address import Address, locate
from steelyard.store.leases import (
    WorkerRow,
    create_worker_tables,
    forget_plan,
    leases_left,
    plan_leases,
    plan_samples,
    workers_of,
)
from steelyard.store.progress import consumption, running_scores, tokens_so_far
from steelyard.store.store import new_id
from steelyard.suite.executor import BegunEvaluation, RunHandle
from steelyard.suite.objects import Suite, error_share, most_errors
from steelyard.suite.running import RESUMABLE, state_of
from steelyard.workers.finishing import last_error, void_leases
from steelyard.workers.task import STORE_FAILED, WorkerTask, most_workers, packed, without_samples

_LOOK_S: Final = 0.5
_STORE_BACK_S: Final = 30.0
"""How long the store may be away, as when its server is started again."""
_READY_S: Final = 120.0
_FEWEST_ERRORS: Final = 10
"""A run is not given up before it has so many errors, as in one process."""
_MOST_DEATHS: Final = 5
"""Workers of one slot that may die one after the other without a record stored in between."""
_FIRST_WORKERS: Final = 4
"""Workers that begin at once; the others wait for the first record, as an endpoint that has given no good reply yet may
have at most four calls in flight."""
_LEASES_EACH: Final = 64
_LARGEST_LEASE: Final = 200


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
        expect_number("workers", self.n, 1, whole=True)
        if not isinstance(locate(where), Address):
            raise ConfigError(
                "several workers write to a store on a server, as each has a connection of its own: name one with "
                "--store postgresql://user@host/database"
            )
        if suite.options.stop_when_decided.question:
            raise ConfigError("stop_when_decided needs one process, which sees the records in order: leave out workers")
        packed(without_samples(suite))

    async def run(self, begun: BegunEvaluation, control: RunHandle) -> None:
        """Run every target to its end; see `Executor`."""
        leader = _Leader(self, begun, control)
        await leader.run()


@dataclass(slots=True)
class _Slot:
    """One worker of this machine.

    Args:
        number: from 0.
        process: the newest of the slot.
        hears: reads what it says.
        ready: whether it has loaded the suite.
        done: whether it has nothing left to do.
        deaths: of processes in a row without a record.
        begun: whether it was told to begin.
    """

    number: int
    process: asyncio.subprocess.Process
    hears: asyncio.Task[None]
    ready: bool = False
    done: bool = False
    deaths: int = 0
    begun: bool = False
    cannot: str = ""


@dataclass(slots=True)
class _Leader:
    """Plans leases, watches workers and ends the runs of one evaluation."""

    settings: ProcessWorkers
    begun: BegunEvaluation
    control: RunHandle
    plan: str = field(default_factory=new_id)
    slots: list[_Slot] = field(default_factory=list)
    stopped: dict[str, ModelError] = field(default_factory=dict)
    fatal: ModelError | None = None
    starts: int = 0
    store: Store = field(init=False)

    async def run(self) -> None:
        """See `Executor.run`."""
        begun = self.begun
        self.store = begun.store
        self.control.stop = self._stop
        writers = {writer.run.id: writer for writer in begun.writers}
        await asyncio.to_thread(self._prepare)
        try:
            await self._start_all()
            began = time.monotonic()
            while writers:
                await asyncio.sleep(_LOOK_S)
                await self._look_after_workers()
                self._check_time(began)
                runs = await self._runs(list(writers))
                await asyncio.to_thread(self._show, runs)
                for run in runs:
                    await self._judge(run)
                await self._end_runs(runs, writers, began)
                self._begin_others(runs)
        finally:
            await self._end_workers()
        await asyncio.to_thread(forget_plan, self.store, begun.evaluation, [writer.run.num for writer in begun.writers])

    def _prepare(self) -> None:
        begun, store = self.begun, self.begun.store
        create_worker_tables(store)
        n = plan_samples(store, begun.evaluation, begun.suite.samples)
        for writer in begun.writers:
            plan_leases(store, writer.run.num, self.plan, n, self._lease_size(n))

    def _lease_size(self, n: int) -> int:
        """So small that all workers have something to do until the end, and so large that leases cost little."""
        return max(1, min(_LARGEST_LEASE, n // (_LEASES_EACH * self._workers)))

    @property
    def _workers(self) -> int:
        return most_workers(self.begun.suite, self.settings.n)

    def _stop(self, reason: str) -> None:
        """Begin nothing more; what is in flight is stored."""
        self.fatal = self.fatal or ModelError(reason, kind="interrupted", ends_run=True)
        self._tell_all(f"stop {' '.join(reason.split())}")

    def _tell_all(self, line: str) -> None:
        for slot in self.slots:
            self._tell(slot, line)

    @staticmethod
    def _tell(slot: _Slot, line: str) -> None:
        pipe = slot.process.stdin
        if pipe is not None and slot.process.returncode is None:
            with contextlib.suppress(OSError, RuntimeError):
                pipe.write(f"{line}\n".encode())

    async def _start_all(self) -> None:
        """Start every worker, and let the first ones begin once all have loaded the suite.

        Raises:
            ConfigError: what a worker cannot load, before a call is sent.
        """
        for number in range(self._workers):
            self.slots.append(await self._started(number))
        until = time.monotonic() + _READY_S
        while not all(slot.ready for slot in self.slots):
            for slot in self.slots:
                if slot.process.returncode is not None and slot.hears.done() and not slot.ready:
                    raise ConfigError(f"worker {slot.number} cannot begin: {slot.cannot or self._death(slot)}")
            if time.monotonic() > until:
                raise ConfigError(f"a worker was not ready after {_READY_S:.0f} s")
            await asyncio.sleep(_LOOK_S / 5)
        for slot in self.slots[:_FIRST_WORKERS]:
            self._begin(slot)

    def _begin(self, slot: _Slot) -> None:
        slot.begun = True
        self._tell(slot, "go")

    async def _started(self, number: int, *, again: bool = False) -> _Slot:
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
            prices=begun.quota.prices,
            unsafe_sql=begun.unsafe_sql,
            restarted=again,
        )
        self.starts += 1
        data = packed(task)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "steelyard.workers.process",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment_with({**begun.environment, "PYTHONPATH": _search_path()}),
            start_new_session=True,  # Ctrl-C in the terminal is for this process, which tells the others to stop
        )
        assert process.stdin is not None  # noqa: S101  # asked for above
        with contextlib.suppress(ConnectionError):
            process.stdin.write(len(data).to_bytes(8, "big") + data)
            await process.stdin.drain()
        slot = _Slot(number, process, asyncio.create_task(asyncio.sleep(0)))
        slot.hears = asyncio.create_task(self._hear(slot))
        return slot

    async def _hear(self, slot: _Slot) -> None:
        """Take what a worker says until it ends."""
        assert slot.process.stdout is not None  # noqa: S101  # asked for where it was started
        async for line in slot.process.stdout:
            with contextlib.suppress(ValueError):
                self._heard(slot, json.loads(line))
        await slot.process.wait()

    def _heard(self, slot: _Slot, message: Mapping[str, Any]) -> None:
        if "ready" in message:
            slot.ready = True
        elif "done" in message:
            slot.done = True
        elif "stopped" in message:
            error = ModelError(message["stopped"], kind=message["kind"], ends_run=True)
            self.stopped.setdefault(message["run"], error)
            if error.kind in RESUMABLE and self.fatal is None:
                self.fatal = error
                self._tell_all(f"stop {' '.join(str(error).split())}")
        elif "cannot" in message or "store" in message:
            slot.cannot = str(message.get("cannot") or message.get("store"))

    @staticmethod
    def _death(slot: _Slot) -> str:
        code = slot.process.returncode
        return f"it was ended by signal {-code}" if code is not None and code < 0 else f"it ended with code {code}"

    async def _look_after_workers(self) -> None:
        """Start another process where one has died.

        Raises:
            StoreError: workers of one slot die one after the other, or the store does not come back.
        """
        for at, slot in enumerate(self.slots):
            if slot.done or slot.process.returncode is None or not slot.hears.done() or self.fatal is not None:
                continue
            if slot.process.returncode == 0:
                slot.done = True
                continue
            deaths = slot.deaths + 1
            if deaths > _MOST_DEATHS:
                raise StoreError(
                    f"worker {slot.number} died {deaths} times without a record: {slot.cannot or self._death(slot)}. "
                    "What is stored is kept; when the cause is removed, continue with `steelyard resume`"
                )
            if slot.process.returncode == STORE_FAILED:
                await asyncio.sleep(_LOOK_S * 2**deaths)
            self.slots[at] = await self._started(slot.number, again=True)
            self.slots[at].deaths = deaths
            self._begin(self.slots[at])

    def _begin_others(self, runs: Sequence[Run]) -> None:
        if any(run.done > run.errors for run in runs) or len(runs) < len(self.begun.writers):
            for slot in self.slots:
                slot.deaths = 0 if slot.ready else slot.deaths
                if not slot.begun and slot.ready:
                    self._begin(slot)

    def _check_time(self, began: float) -> None:
        """End the evaluation where the minutes of its budget are over."""
        meter = self.begun.quota.budget
        if meter is not None and (left := meter.left_s) is not None and left <= 0 and self.fatal is None:
            self.fatal = used_up(f"{meter.budget.minutes:g} minutes")
            self._tell_all(f"stop {self.fatal}")
        if meter is not None and time.monotonic() - began > 1:
            meter.book_time()

    async def _runs(self, idents: Sequence[str]) -> list[Run]:
        """The runs as they are now, with the progress that is shown; waits for a store that is away.

        Raises:
            StoreError: it does not come back.
        """
        until = time.monotonic() + _STORE_BACK_S
        while True:
            try:
                runs = await asyncio.to_thread(lambda: [self.store.run(ident) for ident in idents])
                break
            except StoreError:
                if time.monotonic() > until:
                    raise
                await asyncio.sleep(_LOOK_S)
        return runs

    def _show(self, runs: Sequence[Run]) -> None:
        """Bring the progress that is shown up to what the store holds."""
        by_target = {progress.target: progress for progress in self.control.progress}
        with self.store.reading() as connection:
            for run in runs:
                progress = by_target[run.target]
                progress.done, progress.errors, progress.from_journal = run.done, run.errors, run.from_journal
                progress.input_tokens, progress.output_tokens = tokens_so_far(connection, run.num)
                progress.running = running_scores(connection, run.num).get(progress.score, progress.running)
            spent = consumption(connection, self.begun.evaluation)
            rows = workers_of(connection, self.begun.evaluation)
        if rows:
            rate = sum(row.records_per_s for row in rows if row.alive)
            self.control.workers = _workers_text(rows, rate)
        retries: Counter[str] = Counter()
        for (_, fault), n in spent.retries.items():
            retries[fault] += n
        self.control.retries = retries
        if self.control.meter is not None:
            self.control.meter.observe(spent.spent)

    async def _judge(self, run: Run) -> None:
        """Give up a run that has too many errors."""
        suite = self.begun.suite
        share = error_share(suite.targets[run.target], suite.options)
        most = max(most_errors(share, run.planned), _FEWEST_ERRORS - 1)
        before = next(writer.run.errors for writer in self.begun.writers if writer.run.id == run.id)
        if run.errors - before > most and run.id not in self.stopped:
            message = await asyncio.to_thread(last_error, run)
            self.stopped[run.id] = ModelError(message, kind="errors", ends_run=True)
            await asyncio.to_thread(void_leases, self.store, run.num)

    async def _end_runs(self, runs: Sequence[Run], writers: dict[str, RunWriter], began: float) -> None:
        """Store the state of each run that has ended; all of them where the evaluation is stopped."""
        if self.fatal is not None:
            await self._all_ended()
            runs = await self._runs(list(writers))
        for run in runs:
            left = await asyncio.to_thread(self._left, run)
            if left and self.fatal is None and run.id not in self.stopped:
                continue
            counted = (await self._runs([run.id]))[0]
            stopped = self.stopped.get(run.id) or (self.fatal if left else None)
            progress = Progress(run.target, run.planned, counted.done, errors=counted.errors)
            progress.last_error = await asyncio.to_thread(last_error, counted) if counted.errors else ""
            suite = self.begun.suite
            state, reason = state_of(stopped, progress, error_share(suite.targets[run.target], suite.options))
            await asyncio.to_thread(self._finish, writers.pop(run.id), state, reason, time.monotonic() - began)

    def _left(self, run: Run) -> int:
        with self.store.reading() as connection:
            return leases_left(connection, run.num, self.plan)

    def _finish(self, writer: RunWriter, state: str, reason: str, seconds: float) -> None:
        """Store the end of a run, over a new connection where the first one was lost meanwhile."""
        if self.begun.store.writer.store_error() is not None:
            self.store = Store(self.begun.where) if self.store is self.begun.store else self.store
            writer = self.store.adopt_run(writer.run)
        writer.finish(state, reason, seconds)

    async def _all_ended(self) -> None:
        """Wait for workers that were told to stop: what they have in flight is stored."""
        await asyncio.gather(*(slot.hears for slot in self.slots))

    async def _end_workers(self) -> None:
        """Kill what still runs: all is done, or this process is being stopped at once."""
        for slot in self.slots:
            if slot.process.returncode is None and not (slot.done or self.fatal):
                with contextlib.suppress(ProcessLookupError):
                    slot.process.kill()
        await asyncio.gather(*(slot.hears for slot in self.slots), return_exceptions=True)
        if self.store is not self.begun.store:
            self.store.close()


def _search_path() -> str:
    """Where this process finds modules, the user's among them."""
    return os.pathsep.join(path or str(Path.cwd()) for path in sys.path)


def _workers_text(rows: Sequence[WorkerRow], records_per_s: float) -> str:
    """What is said of the workers while they work."""
    alive = sum(row.alive for row in rows)
    parts = [f"{alive} of {len(rows)} workers, {records_per_s:,.1f} records/s"]
    if again := sum(row.starts - 1 for row in rows):
        parts.append(f"started again {again} times")
    if over := sum(row.taken_over for row in rows):
        parts.append(f"{over} leases taken over")
    return ", ".join(parts)
