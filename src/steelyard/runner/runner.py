"""Runs one target over a feed of samples: bounded workers, time limits, cancellation, one record per sample.

Workers pull; there is never a task per sample up front, so memory stays flat. What a worker does with one sample is
`run_sample`; everything that goes wrong with it is a `Failure` of its record. The runner writes `Progress`, which the
command line reads; nothing here calls upwards.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from steelyard.analysis.scores.score_infos import RunningScore
from steelyard.errors import ModelError, ScorerError, SteelyardError, StoreError, TargetError, boundary
from steelyard.prompts.agent_messages import reported_usage
from steelyard.runner.step import Step, distinct, with_calls
from steelyard.session.replies import journal_key, pack_output, plain_output, unpack_output
from steelyard.session.session import Ask, Session
from steelyard.types import Failure, Output, Record, Sample, Score, ScoreInfo

_MOST_BACKLOG: Final = 1000
"""Operations that may wait to be written before workers pause: bounds the memory when the disk is slow."""
_IN_TARGET: Final = boundary("target")
_IN_SCORER: Final = boundary("scorer")
_ERRORS_TO_GIVE_UP: Final = 10
"""A run is not given up with fewer errors: the answers of a small run are worth having, even if it will end as broken
(`suite.objects.most_errors` decides that)."""


@dataclass(frozen=True, slots=True)
class Task:
    """One sample to run: its place in the dataset, the repeat, and whether an earlier, failed record is replaced."""

    no: int
    repeat: int
    sample: Sample
    replaces: bool | None = None


class Feed(Protocol):
    """A source of tasks for one run."""

    def __call__(self, records: int) -> Sequence[Task]:
        """Given the number of records so far, the next tasks in order; empty where there are none now."""

    async def more(self) -> bool:
        """Wait until there may be more; False where there will be none."""

    def record_stored(self, task: Task, record: Record) -> None:
        """Called with each record that was handed to the store."""


class Sink(Protocol):
    """A writer that stores the records of one run."""

    @property
    def backlog(self) -> int:
        """Number of operations that wait to be written."""

    def insert(self, no: int, record: Record, *, replaces: bool = False) -> None:
        """Store a record; `replaces` says whether it replaces an earlier one."""


@dataclass(slots=True)
class Progress:
    """Counts that the runner writes and anyone may read at any moment.

    Args:
        target: its name.
        planned: records of the whole run.
        done: records so far, those of earlier processes included.
        before: what earlier processes had done.
        score: the headline score; "" where none is announced.
        info: what its scorer declared.
        running: its sums over the records so far, those of earlier processes included.
        cost: of the replies of this process that have a price, in units of the currency of the prices.
        ended_early: whether a rule ended the run before all samples were run.
    """

    target: str
    planned: int
    done: int = 0
    before: int = 0
    score: str = ""
    info: ScoreInfo | None = None
    running: RunningScore = field(default_factory=RunningScore)
    cost: float = 0.0
    errors: int = 0
    from_journal: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    in_flight: int = 0
    last_error: str = ""
    ended_early: bool = False
    started: float = field(default_factory=time.monotonic)

    @property
    def is_over(self) -> bool:
        """Whether the run has ended or no task is left."""
        return self.ended_early or self.done >= self.planned

    def count_use(self, record: Record) -> None:
        """Add the replies, tokens, cost and headline score of a record."""
        for several in record.replies.values():
            for reply in several:
                self.from_journal += reply.cached
                self.input_tokens += reply.usage.input_tokens
                self.output_tokens += reply.usage.output_tokens
                if isinstance(cost := reply.metadata.get("cost"), float) and not reply.cached:
                    self.cost += cost
        reported = reported_usage(record.output, through_journal=bool(record.replies.get("target")))
        if reported is not None:
            self.input_tokens += reported["input_tokens"]
            self.output_tokens += reported["output_tokens"]
        for score in record.scores:
            if score.name == self.score:
                self.running.add(score.outcome, score.value)


@dataclass(frozen=True, slots=True)
class RunPlan:
    """The task of a runner, and its limits.

    Args:
        target: the system under test.
        scorers: by stage name, in order.
        feed: where tasks come from.
        concurrency: workers.
        sample_timeout_s: for one sample, target and scorers together.
        most_errors: records that may fail; with one more, and at least 10, the run is given up: it would be broken
            whatever else came.
        draw: "" unless a fresh draw was taken.
        run: the run's id: outputs of a target that calls no model through `ask` are kept for this run alone.
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
    """Runs one target over its feed with bounded workers.

    Args:
        work: the task and its limits.
        session: connections, limits and the journal.
        sink: stores the records.
        progress: updated with each record.
    """

    def __init__(self, work: RunPlan, session: Session, sink: Sink, progress: Progress) -> None:
        self.stopped: SteelyardError | None = None
        self._work = work
        self._session = session
        self._sink = sink
        self._progress = progress
        self._target = Step.of("target", work.target, session.sandbox)
        self._scorers = [Step.of(name, scorer, session.sandbox) for name, scorer in work.scorers.items()]
        # The replies of a target that calls models are in the journal, and an inline one costs nothing to run again.
        self._keeps_outputs = not (self._target.asks or self._target.info.inline)
        self._failed = 0
        self._ready: deque[Task] = deque()
        self._allowed = work.concurrency
        self._workers: set[asyncio.Task[None]] = set()
        self._running = 0

    async def run(self) -> None:
        """Work until the feed is empty or an error ends the run; `stopped` is that error.

        Raises:
            StoreError: records cannot be kept.
        """
        self._session.begin_run()
        self._start_workers()
        try:
            while self._workers:
                ended, _ = await asyncio.wait(self._workers, return_when=asyncio.FIRST_EXCEPTION)
                for worker in ended:
                    worker.result()
        finally:
            for worker in self._workers:
                worker.cancel()
            await asyncio.gather(*self._workers, return_exceptions=True)
        if isinstance(self.stopped, StoreError):
            raise self.stopped

    def allow(self, concurrency: int) -> None:
        """Change how many samples may be in flight, at least 1; samples in flight go on."""
        self._allowed = concurrency
        if self._workers:
            self._start_workers()

    def _start_workers(self) -> None:
        while self._running < self._allowed:
            self._running += 1
            worker = asyncio.create_task(self._worker())
            self._workers.add(worker)
            worker.add_done_callback(self._workers.discard)

    def _is_surplus(self) -> bool:
        """Whether a worker is to end, as fewer samples may be in flight by now."""
        surplus = self._running > self._allowed
        self._running -= surplus
        return surplus

    async def _worker(self) -> None:
        while self.stopped is None and not self._is_surplus():
            task = self._next()
            if task is None:
                if self.stopped is not None or not await self._work.feed.more():
                    return
                continue
            self._progress.in_flight += 1
            try:
                record = await self.run_sample(task)
                self._keep(task, record)
            except (ModelError, StoreError) as error:
                self._end(error)
                return
            finally:
                self._progress.in_flight -= 1
            while self._sink.backlog > _MOST_BACKLOG:  # noqa: ASYNC110  # the writer is a thread, not a coroutine
                await asyncio.sleep(0.005)

    def _end(self, error: SteelyardError) -> None:
        """End the run: start no sample, abandon retries that wait, and let calls in flight finish."""
        if self.stopped is None:
            self.stopped = error
            self._session.halt(error)

    def _next(self) -> Task | None:
        ended = self._session.limits.pauses.ended or self._session.journal.store_error()
        if ended is not None:
            self._end(ended)
            return None
        if not self._ready:
            with boundary("data", "the samples cannot be read again"):
                self._ready.extend(self._work.feed(self._progress.done))
        return self._ready.popleft() if self._ready else None

    def _keep(self, task: Task, record: Record) -> None:
        self._sink.insert(task.no, record, replaces=task.replaces is not None)
        self._work.feed.record_stored(task, record)
        progress = self._progress
        progress.done += task.replaces is None
        progress.errors += (record.failure is not None) - bool(task.replaces)
        progress.count_use(record)
        failure = record.failure
        # Errors of this process alone: with those of earlier ones a resume would be given up before it had run the
        # failed samples again.
        if failure is None:
            return
        self._failed += 1
        progress.last_error = f"{failure.stage}: {failure.message}"
        if self._failed > max(self._work.most_errors, _ERRORS_TO_GIVE_UP - 1):
            # Samples in flight may fail too: only when they have ended it is known how many errors there are.
            self._end(ModelError(progress.last_error, kind="errors", ends_run=True))

    async def run_sample(self, task: Task) -> Record:
        """Run the target and every scorer on one sample.

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
                obtain = self._kept_output if self._keeps_outputs else self._call_target
                output = await obtain(task, replies)
                for step in self._scorers:
                    stage = step.stage
                    failed = await self._score(step, task, output, scores, replies)
                    failure = failure or failed
        except TimeoutError:
            failure = Failure(stage, "timeout", f"not done within {self._work.sample_timeout_s:g} s")
        except SteelyardError as error:
            failure = _failure(stage, error)
        seconds = time.perf_counter() - started
        record = Record(task.sample, output, tuple(scores), replies, failure, seconds, task.repeat)
        return self._redacted(record) if failure is not None else record

    async def _kept_output(self, task: Task, replies: dict[str, tuple[Any, ...]]) -> Output:
        """The output of a target that does not use Ask, committed to the journal before a scorer sees it."""
        journal = self._session.journal
        key = journal_key(b"output", task.sample.id, task.repeat, 0, self._work.run)
        packed = await journal.find(key)
        if packed is not None:
            return unpack_output(packed)
        output = await self._call_target(task, replies)
        await journal.commit(key, pack_output(output))
        return output

    async def _call_target(self, task: Task, replies: dict[str, tuple[Any, ...]]) -> Output:
        step, sample = self._target, task.sample
        work = self._work
        keeps = not step.info.is_rebuilt
        ask = (
            self._session.ask(sample.id, task.repeat, "target", draw=work.draw, run=work.run, keeps_requests=keeps)
            if step.asks
            else None
        )
        try:
            with _IN_TARGET:
                output = plain_output(await step(ask, sample), sample.input)
        except SteelyardError as error:
            unmasked = _unmasked(error, ask)
            if unmasked is error:
                raise
            raise unmasked from error
        finally:
            if ask is not None:
                replies.update(ask.replies_by_stage())
        _raise_end_of_run(ask)
        return output

    async def _score(
        self, step: Step, task: Task, output: Output, scores: list[Score], replies: dict[str, tuple[Any, ...]]
    ) -> Failure | None:
        """Append the scores of one scorer to `scores`; returns the failure if it raised."""
        sample = task.sample
        if step.info.sees_calls:
            output = with_calls(output, replies.get("target", ()))
        ask = self._session.ask(sample.id, task.repeat, step.stage, draw=self._work.draw) if step.asks else None
        try:
            with _IN_SCORER:
                scores += distinct(step.scores(await step(ask, sample, output)), scores)
            _raise_end_of_run(ask)
        except SteelyardError as error:
            unmasked = _unmasked(error, ask)
            unmasked.__cause__ = error.__cause__ if unmasked is error else error
            return _failure(step.stage, unmasked)
        finally:
            if ask is not None and ask.replies:
                replies[step.stage] = tuple(ask.replies)
        return None

    def _redacted(self, record: Record) -> Record:
        """Remove secrets from a failure's messages, which may quote anything."""
        failure = record.failure
        if failure is None:
            return record
        clean = self._session.secrets.redact_text
        attempts = tuple(replace(attempt, message=clean(attempt.message)) for attempt in failure.attempts)
        return replace(record, failure=replace(failure, message=clean(failure.message), attempts=attempts))


def _raise_end_of_run(ask: Ask | None) -> None:
    """Raise the error that ended the run during a call, even if the calling code caught it."""
    if ask is not None and ask.over is not None:
        raise ask.over


def _unmasked(error: SteelyardError, ask: Ask | None) -> SteelyardError:
    """The error of a failed stage; where the run ended during it, the error that ended the run."""
    if ask is not None and ask.over is not None:
        return ask.over
    # A StoreError without a call comes from a store of the target's own, which must not end this run.
    return TargetError(f"StoreError: {error}") if isinstance(error, StoreError) else error


def _failure(stage: str, error: SteelyardError) -> Failure:
    """Convert an error to a Failure; an error that ends the run is raised again."""
    if isinstance(error, StoreError) or (isinstance(error, ModelError) and error.ends_run):
        raise error
    if isinstance(error, ModelError):
        return Failure(stage, error.kind, str(error), error.attempts)
    cause = error.__cause__ if isinstance(error, TargetError | ScorerError) else None
    return Failure(stage, type(cause or error).__name__, str(error))
