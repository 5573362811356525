"""One worker: a process that takes leases of runs, asks and scores their samples, and stores the records.

It is started with its task on standard input, then told there when to begin and when to stop, a line each. It answers
on standard output, a JSON object a line; what a target prints goes to standard error. Where its input ends, whoever
started it has died: the workers then finish the evaluation by themselves.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TextIO

from steelyard.errors import ModelError, SteelyardError, StoreError
from steelyard.evaluation.objects import build_targets
from steelyard.evaluation.running import Running
from steelyard.evaluation.scorer_infos import scorer_stages
from steelyard.evaluation.sides import side_store
from steelyard.evaluation.survey import load_models, prepare
from steelyard.models.budget import Quota, SharedMeter
from steelyard.models.rate_limit import SharedRates
from steelyard.registry import describe
from steelyard.runner import Progress, Runner, RunPlan
from steelyard.session.secrets import Secrets, references
from steelyard.session.session import Session
from steelyard.sql.sandbox import Sandbox
from steelyard.store import Run, Store
from steelyard.store.leases import LEASE_S, stop_run
from steelyard.store.worker_rows import StorePace
from steelyard.store.writer import Gathering
from steelyard.workers.leading import finish_abandoned, keep_minutes
from steelyard.workers.leased_run import LeasedRun
from steelyard.workers.shared_limits import SharedConcurrency, SharedGates
from steelyard.workers.task import STORE_FAILED, WorkerTask, other_versions, unpacked

_MOST_TEXT: Final = 2000
"""Characters of a message that are handed on, as of an error that quotes a whole document."""


@dataclass(slots=True)
class Orders:
    """The messages of the starting process so far.

    Attributes:
        go: set when samples may be asked.
        stop: why nothing more is to be begun; "" where it is not.
        orphaned: whether the process that started this worker has died.
        on_stop: called with the reason when nothing more is to be begun.
        listening: hears standard input.
    """

    loop: asyncio.AbstractEventLoop
    go: asyncio.Event = field(default_factory=asyncio.Event)
    stop: str = ""
    orphaned: asyncio.Event = field(default_factory=asyncio.Event)
    on_stop: Callable[[str], None] | None = None
    listening: asyncio.Task[None] | None = None

    def heard(self, line: str) -> None:
        """Take a line; "" is the end of them."""
        word, _, rest = line.strip().partition(" ")
        if word == "go":
            self.go.set()
        elif word == "stop":
            self.stop = rest or "interrupted"
            self.go.set()
            if self.on_stop is not None:
                self.on_stop(self.stop)
        elif not line:
            self.orphaned.set()
            self.go.set()

    def listen(self) -> None:
        """Hear standard input from now on."""
        self.listening = self.loop.create_task(self._hear())

    async def _hear(self) -> None:
        lines = asyncio.StreamReader()
        await self.loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        while line := await lines.readline():
            self.heard(line.decode("utf-8", "replace"))
        self.heard("")


def _exactly(size: int) -> bytes:
    """So many bytes of standard input; fewer where it ends."""
    data = b""
    while len(data) < size and (piece := os.read(0, size - len(data))):
        data += piece
    return data


class Answers(Protocol):
    """Takes messages to the process that started this worker."""

    def say(self, **message: Any) -> None:
        """Send a message; nobody may be there any more."""

    async def taken(self, orders: Orders) -> None:
        """Wait until what was said has been heard, or it is known that nobody hears any more."""


class AnswerLines:
    """Messages as lines of a pipe."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def say(self, **message: Any) -> None:
        """Send a message; nobody may be there any more."""
        # A line of more than 64 KiB is not read at the other end, and what fills the pipe would stop this worker.
        short = {name: text[:_MOST_TEXT] if isinstance(text, str) else text for name, text in message.items()}
        with contextlib.suppress(OSError, ValueError):
            self._out.write(json.dumps(short) + "\n")
            self._out.flush()

    async def taken(self, orders: Orders) -> None:
        """Nothing to wait for: the end of a pipe is known at once."""


def main() -> int:
    """Work until all runs are done, or nothing more is to be begun; the exit code."""
    # Ctrl-C of a terminal reaches every process of it; a worker stops when it is told to.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = AnswerLines(os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8"))
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    started_by, data = (_exactly(int.from_bytes(_exactly(8), "big")) for _ in range(2))
    return serve(started_by.decode(), data, answers, Orders.listen)


def serve(started_by: str, data: bytes, answers: Answers, listen: Callable[[Orders], None]) -> int:
    """Work on a task until its runs are done, or nothing more is to be begun.

    Args:
        started_by: `task.versions` of whoever started this worker.
        data: the task as `packed` wrote it; not read by another version.
        answers: where this worker answers.
        listen: is given the orders, and tells them what is said from then on; called in the event loop.

    Returns:
        the exit code.
    """
    if unlike := other_versions(started_by):
        answers.say(cannot=unlike)
        return 2
    try:
        task: WorkerTask = unpacked(data)
    except Exception as error:  # noqa: BLE001  # a module that is not there, or whatever it raises
        text = f"the suite cannot be loaded there: {type(error).__name__}: {error}"
        answers.say(cannot=text, module=getattr(error, "name", None) or "")
        return 2
    try:
        return asyncio.run(_work(task, answers, listen))
    except StoreError as error:
        answers.say(store=str(error))
        return STORE_FAILED
    except SteelyardError as error:
        answers.say(cannot=str(error))
        return 2


async def _work(task: WorkerTask, answers: Answers, listen: Callable[[Orders], None]) -> int:
    orders = Orders(asyncio.get_running_loop())
    listen(orders)
    suite = task.suite
    build_targets(suite)
    await load_models(suite)
    secrets = Secrets(references(describe(suite.parts)), {})
    with (
        Sandbox(unsafe=task.unsafe_sql, permits=task.permits, resolve=secrets.resolve) as sandbox,
        Store(task.where, durability=suite.options.durability) as store,
        side_store(suite, store) as sides,
    ):
        prepare(suite.parts, sandbox)
        store.writer.gathering = Gathering.of_processes(task.workers)
        store.limit_pauses(LEASE_S)  # by then its leases have expired, and what it was about to write is refused
        journal = store.journal(task.evaluation, owner=task.owner)
        currency = task.prices.currency if task.prices is not None else ""
        budget = SharedMeter(suite.options.budget, journal, currency=currency) if task.has_budget else None
        rates = suite.options.rates
        pace = StorePace(store.writer, task.evaluation, SharedRates(rates, task.workers))
        quota = Quota(budget, rates, task.prices, task.unproven, processes=task.workers, pace=pace)
        async with Session(
            journal,
            secrets,
            retry=suite.options.retry,
            concurrency=task.concurrency,
            quota=quota,
            sandbox=sandbox,
        ) as session:
            answers.say(ready=True)
            await orders.go.wait()
            orders.on_stop = session.stop
            if orders.stop:
                return 0
            running = Running(suite, session, store, task.evaluation, {}, sides)
            await _Worker(task, running, orders, answers).work()
    return 0


class _Worker:
    """Works on the runs of a task, in order."""

    def __init__(self, task: WorkerTask, running: Running, orders: Orders, answers: Answers) -> None:
        self._task = task
        self._running = running
        self._orders = orders
        self._answers = answers
        place = f"pid {os.getpid()} on {socket.gethostname()}"
        self._shared = SharedConcurrency(running.store, task, running.session.limits, place)

    async def work(self) -> None:
        """Work on every run until all its leases are done."""
        await self._check_in()
        checking_in = asyncio.create_task(self._keep_checking_in())
        heir = asyncio.create_task(self._inherit())
        running = self._running
        gates = asyncio.create_task(
            SharedGates(running.store, running.evaluation, running.session.limits, self._task.owner).keep()
        )
        try:
            runs = [self._running.store.run(name) for name in self._task.runs]
            for run in runs:  # so that nobody else writes them, should whoever leads die
                await asyncio.to_thread(running.store.share, run.id)
            if self._task.suite.options.stop_when_decided.question:
                await asyncio.gather(*map(self._work_on, runs))
            else:
                for run in runs:
                    if not self._orders.stop:
                        await self._work_on(run)
            await self._check_in()
            self._answers.say(done=True)
            await self._answers.taken(self._orders)
            if self._orders.orphaned.is_set():
                await heir
        finally:
            helpers = (checking_in, heir, gates)
            for helper in helpers:
                helper.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)

    async def _work_on(self, run: Run) -> None:
        running, task = self._running, self._task
        options, session = running.suite.options, running.session
        leased = LeasedRun(
            running.store,
            run,
            task,
            self._shared,
            ended=lambda: session.limits.pauses.ended is not None,
        )
        plan = RunPlan(
            target=running.target_of_workers(run.target),
            scorers=scorer_stages(running.suite.scorers_for(run.target)),
            feed=leased,
            concurrency=max(1, self._shared.part),
            sample_timeout_s=options.sample_timeout_s,
            most_errors=float("inf"),  # whoever leads the run counts those of all workers
            draw=run.manifest["draw"],
            run=run.id,
        )
        progress = Progress(run.target, run.planned)
        runner = Runner(plan, session, leased, progress)
        keeping = asyncio.create_task(leased.keep())
        try:
            with self._shared.followed_by(runner, progress):
                await runner.run()
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, leased.close(), return_exceptions=True)
        stopped = runner.stopped
        if isinstance(stopped, ModelError) and not self._orders.stop:
            # What ends one run lets the others go on without it; what ends the evaluation is told to all of them.
            why = session.secrets.redact_text(str(stopped))[:_MOST_TEXT]
            error = ModelError(why, kind=stopped.kind, ends_run=True)
            await asyncio.to_thread(stop_run, running.store, run.num, task.plan, error)

    async def _keep_checking_in(self) -> None:
        while True:
            await asyncio.sleep(self._shared.ask_again_s)
            await self._check_in()

    async def _check_in(self) -> None:
        """Report to the store, and say that this worker lives."""
        await self._shared.check_in()
        self._answers.say(at=time.time())

    async def _inherit(self) -> None:
        """Where the process that leads has died: lead in its place, if no other worker does already."""
        await self._orders.orphaned.wait()
        in_time = asyncio.create_task(keep_minutes(self._running, self._task.evaluation))
        try:
            await finish_abandoned(self._running, self._task)
        finally:
            in_time.cancel()
            await asyncio.gather(in_time, return_exceptions=True)
