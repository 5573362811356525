"""Runs one target over a feed of samples: bounded workers, time limits, cancellation, one record per sample.

Workers pull; there is never a task per sample up front, so memory stays flat. What a worker does with one sample is
`run_sample`; everything that goes wrong with it is a `Failure` of its record. The runner writes `Progress`, which the
command line reads; nothing here calls upwards.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from steelyard.errors import ModelError, ScorerError, StoreError, TargetError, boundary
from steelyard.runner.step import Step, as_scores
from steelyard.session.replies import pack_output, plain_output, unpack_output
from steelyard.session.session import Session, journal_key
from steelyard.types import Failure, Output, Record, Sample, Score

_MOST_BACKLOG: Final = 1000
"""Operations that may wait to be written before workers pause: bounds the memory when the disk is slow."""
_FEWEST_ERRORS: Final = 10
"""A run is not given up for its share of errors before it has this many."""


@dataclass(frozen=True, slots=True)
class Task:
    """One sample to run: its place in the dataset, the repeat, and whether an earlier, failed record is replaced."""

    no: int
    repeat: int
    sample: Sample
    replaces: bool | None = None


Feed = Callable[[int], Sequence[Task]]
"""Given the number of records so far, the next tasks in order; empty when there are no more."""


class Sink(Protocol):
    """Where records go."""

    @property
    def backlog(self) -> int:
        """Operations that wait to be written."""

    def put(self, no: int, record: Record, *, replaces: bool | None = None) -> None:
        """Take a record."""


@dataclass(slots=True)
class Progress:
    """Counts that the runner writes and anyone may read at any moment; `before` is what earlier processes had done."""

    target: str
    planned: int
    done: int = 0
    before: int = 0
    errors: int = 0
    from_journal: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    in_flight: int = 0
    started: float = field(default_factory=time.monotonic)


@dataclass(frozen=True, slots=True)
class Work:
    """What is run and within which limits.

    Args:
        target: the system under test.
        scorers: by stage name, in order.
        feed: where tasks come from.
        concurrency: workers.
        sample_timeout_s: for one sample, target and scorers together.
        most_errors: records that may fail before the run is given up.
        draw: "" unless a fresh draw was taken.
        run: the run's id: outputs of a target that does not ask are kept for this run alone.
    """

    target: Any
    scorers: Mapping[str, Any]
    feed: Feed
    concurrency: int
    sample_timeout_s: float
    most_errors: float
    draw: str
    run: str


class Runner:
    """One run on its way.

    Args:
        work: what to do.
        session: what is open.
        sink: where records go.
        progress: written as it goes.
    """

    def __init__(self, work: Work, session: Session, sink: Sink, progress: Progress) -> None:
        self.stopped: ModelError | StoreError | None = None
        self._work = work
        self._session = session
        self._sink = sink
        self._progress = progress
        self._target = Step.of("target", work.target)
        self._scorers = [Step.of(name, scorer) for name, scorer in work.scorers.items()]
        # A record with inline scores alone is stored in the same milliseconds as its output would be.
        self._keeps_outputs = not self._target.inline and not all(step.inline for step in self._scorers)
        self._failed = 0
        self._ready: deque[Task] = deque()
        self._fed = False

    async def run(self) -> None:
        """Work until the feed is empty or something ends the run; then `stopped` says what.

        Raises:
            StoreError: records cannot be kept.
        """
        workers = [asyncio.create_task(self._worker()) for _ in range(self._work.concurrency)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        if isinstance(self.stopped, StoreError):
            raise self.stopped

    async def _worker(self) -> None:
        while self.stopped is None and (task := self._next()) is not None:
            self._progress.in_flight += 1
            try:
                record = await self.run_sample(task)
                self._keep(task, record)
            except (ModelError, StoreError) as error:
                self.stopped = self.stopped or error
                return
            finally:
                self._progress.in_flight -= 1
            while self._sink.backlog > _MOST_BACKLOG:  # noqa: ASYNC110  # the writer is a thread, not a coroutine
                await asyncio.sleep(0.005)

    def _next(self) -> Task | None:
        if self._session.limits.pauses.ended is not None:
            self.stopped = self.stopped or self._session.limits.pauses.ended
            return None
        if not self._ready and not self._fed:
            self._ready.extend(self._work.feed(self._progress.done))
            self._fed = not self._ready
        return self._ready.popleft() if self._ready else None

    def _keep(self, task: Task, record: Record) -> None:
        self._sink.put(task.no, record, replaces=task.replaces)
        progress = self._progress
        progress.done += task.replaces is None
        progress.errors += (record.failure is not None) - bool(task.replaces)
        for several in record.replies.values():
            for reply in several:
                progress.from_journal += reply.cached
                progress.input_tokens += reply.usage.input_tokens
                progress.output_tokens += reply.usage.output_tokens
        failure = record.failure
        # Counted here and not over the whole run: a resume asks all failed ones again, and must come to do so.
        self._failed += failure is not None
        if self._failed > max(self._work.most_errors, _FEWEST_ERRORS - 1) and self.stopped is None:
            last = f"; the last: {failure.stage}: {failure.message}" if failure else ""
            self.stopped = ModelError(f"{self._failed} errors{last}", kind="errors", ends_run=True)

    async def run_sample(self, task: Task) -> Record:
        """One sample through the target and every scorer.

        Raises:
            ModelError: one that ends the run: no budget, a wrong key, an interruption.
            StoreError: the journal failed.
        """
        started = time.perf_counter()
        replies: dict[str, tuple[Any, ...]] = {}
        output: Output | None = None
        scores: list[Score] = []
        failure: Failure | None = None
        stage = "target"
        try:
            async with asyncio.timeout(self._work.sample_timeout_s):
                output = await self._obtain(task, replies)
                for step in self._scorers:
                    stage = step.stage
                    found, failed = await self._score(step, task, output, replies)
                    scores += found
                    failure = failure or failed
        except TimeoutError:
            failure = Failure(stage, "timeout", f"not done within {self._work.sample_timeout_s:g} s")
        except (ModelError, TargetError) as error:
            failure = _failure(stage, error)
        seconds = time.perf_counter() - started
        record = Record(task.sample, output, tuple(scores), replies, failure, seconds, task.repeat)
        return self._redacted(record) if failure is not None else record

    async def _obtain(self, task: Task, replies: dict[str, tuple[Any, ...]]) -> Output:
        """The target's output; one that was made without asking is kept in the journal before a scorer sees it."""
        work, journal = self._work, self._session.journal
        if self._target.asks or not self._keeps_outputs:
            return await self._call_target(task, replies)
        key = journal_key(b"output", task.sample.id, task.repeat, 0, work.run)
        found = await journal.find(key)
        if found is not None:
            return unpack_output(found)
        output = await self._call_target(task, replies)
        await journal.commit(key, pack_output(output))
        return output

    async def _call_target(self, task: Task, replies: dict[str, tuple[Any, ...]]) -> Output:
        ask = self._session.ask(task.sample.id, task.repeat, "target", draw=self._work.draw)
        try:
            with boundary("target"):
                return plain_output(await self._target(ask, task.sample))
        finally:
            if ask.replies:
                replies["target"] = tuple(ask.replies)

    async def _score(
        self, step: Step, task: Task, output: Output, replies: dict[str, tuple[Any, ...]]
    ) -> tuple[list[Score], Failure | None]:
        ask = self._session.ask(task.sample.id, task.repeat, step.stage, draw=self._work.draw)
        try:
            with boundary("scorer"):
                return as_scores(step.stage, await step(ask, task.sample, output)), None
        except (ModelError, ScorerError) as error:
            return [], _failure(step.stage, error)
        finally:
            if ask.replies:
                replies[step.stage] = tuple(ask.replies)

    def _redacted(self, record: Record) -> Record:
        """A failure's message may quote anything, a key among it."""
        failure = record.failure
        if failure is None:
            return record
        clean = self._session.secrets.redact_text
        attempts = tuple(replace(one, message=clean(one.message)) for one in failure.attempts)
        return replace(record, failure=replace(failure, message=clean(failure.message), attempts=attempts))


def _failure(stage: str, error: ModelError | TargetError | ScorerError) -> Failure:
    """The failure that an error is, unless it ends the run: then it is raised on."""
    if isinstance(error, ModelError):
        if error.ends_run:
            raise error
        return Failure(stage, error.kind, str(error), error.attempts)
    cause = error.__cause__
    return Failure(stage, type(cause).__name__ if cause else type(error).__name__, str(error))
