"""Run the targets of an evaluation: one after the other, or all at once under early stopping.

An `Executor` runs them elsewhere than in this process.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol, TypeGuard

from steelyard.analysis.stopping import Stopped
from steelyard.errors import ModelError
from steelyard.evaluation.objects import Suite, error_share, most_errors
from steelyard.evaluation.scorer_infos import scorer_stages
from steelyard.evaluation.sides import SuitePair, bound, bound_to_open_runs
from steelyard.evaluation.stopping import DatasetFeed, ScheduledFeed, StoppingScheduler
from steelyard.evaluation.survey import slowest_s
from steelyard.models.budget import BudgetMeter, Quota
from steelyard.runner import Feed, Progress, Runner, RunPlan, Task
from steelyard.session.session import Session
from steelyard.sql.sandbox import Permit
from steelyard.store import Run, RunWriter, Store
from steelyard.store.run import RecordReader
from steelyard.targets.replay import Pair
from steelyard.types import Record, Target

RESUMABLE: Final = frozenset({"interrupted", "budget"})
"""Kinds of errors that interrupt the whole evaluation; any other breaks one run only, and the next target begins."""


@dataclass(frozen=True, slots=True)
class Running:
    """The parts of a running evaluation: suite, session, store and manifests.

    Args:
        suite: what is run.
        session: open connections, limits and journal.
        store: where the runs are written.
        evaluation: its number.
        plan: the manifest of each target's run.
        sides: the store of earlier runs whose answers a pair compares.
    """

    suite: Suite
    session: Session
    store: Store
    evaluation: int
    plan: Mapping[str, Mapping[str, Any]]
    sides: Store

    def error_share(self, name: str) -> float:
        """The share of a target's records that may fail."""
        return error_share(self.suite.targets[name], self.suite.options)

    def siblings(self) -> dict[str, Run]:
        """The evaluation's runs by target, as they are now."""
        return {run.target: run for run in self.store.runs_of(self.evaluation)}

    def target(self, name: str) -> tuple[Target, Mapping[str, RecordReader]]:
        """A target as the runner calls it; for a pair also the readers of its sides' stored answers."""
        target = self.suite.targets[name]
        if not isinstance(target, Pair):
            return target, {}
        pair: SuitePair = bound(target, self.siblings(), self.sides)
        return pair.target, pair.lookups

    def target_of_workers(self, name: str) -> Target:
        """A target as a worker calls it; other workers may be writing the sides of a pair."""
        target = self.suite.targets[name]
        if not (isinstance(target, Pair) and self.suite.options.stop_when_decided.question):
            return self.target(name)[0]
        return bound_to_open_runs(target, self.siblings(), self.sides)


async def run_all(running: Running, writers: Sequence[RunWriter], progress: Sequence[Progress]) -> None:
    """Run every unfinished run in order; after an interruption the remaining ones are left to a resume."""
    if running.suite.options.stop_when_decided.question:
        await _run_side_by_side(running, writers, progress)
        return
    fatal: ModelError | None = None
    for writer, counts in zip(writers, progress, strict=True):
        if fatal is not None:
            writer.finish("interrupted", str(fatal), 0.0)
            continue
        target, _ = running.target(writer.run.target)
        done = writer.run.done_places() if writer.run.done else {}
        feed = DatasetFeed.of(running.suite.samples, running.suite.options.repeats, done)
        stopped, seconds = await _run_target(running, writer.run, target, feed, writer, counts)
        state, reason = state_of(stopped, counts, running.error_share(writer.run.target))
        writer.finish(state, running.session.secrets.redact_text(reason), seconds)
        fatal = stopped if stopped is not None and stopped.kind in RESUMABLE else None


async def _run_side_by_side(running: Running, writers: Sequence[RunWriter], progress: Sequence[Progress]) -> None:
    """Run all targets together, and end each when no open decision needs it."""
    suite = running.suite
    scheduler = StoppingScheduler.of(suite, list(suite.samples), running.plan)
    open_now = {writer.run.target for writer in writers}
    for name, run in running.siblings().items():
        scheduler.know(run, again=name in open_now)
    scheduler.begin(open_now)
    shared = _SharedTargets.of(running, [writer.run.target for writer in writers])

    async def run_target(writer: RunWriter, counts: Progress) -> tuple[ModelError | None, float]:
        name = writer.run.target
        done = writer.run.done_places() if writer.run.done else {}
        feed = _WatchedFeed(ScheduledFeed(scheduler, name, done), shared, name)
        try:
            return await _run_target(running, writer.run, shared.targets[name], feed, writer, counts)
        finally:
            scheduler.wake()

    tasks = [asyncio.create_task(run_target(writer, counts)) for writer, counts in zip(writers, progress, strict=True)]
    try:
        results = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    ended = [
        EndedRun(writer, counts, stopped, running.error_share(writer.run.target), seconds)
        for writer, counts, (stopped, seconds) in zip(writers, progress, results, strict=True)
    ]
    finish_together(scheduler, ended, running.session.secrets.redact_text)


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run under early stopping that needs no more samples.

    Args:
        writer: stores its end.
        progress: its counts.
        stopped: the error that ended it; None where nothing did.
        max_errors: the share of its records that may fail.
        seconds: of work.
    """

    writer: RunWriter
    progress: Progress
    stopped: ModelError | None
    max_errors: float
    seconds: float

    @property
    def target(self) -> str:
        """The name of its target."""
        return self.writer.run.target


def finish_together(scheduler: StoppingScheduler, ended: Sequence[EndedRun], redact: Callable[[str], str]) -> None:
    """Store the ends of runs that proceeded together.

    Args:
        scheduler: which has all their records.
        ended: in the order of their targets.
        redact: removes secrets from a reason.

    Raises:
        StoreError: they could not be written.
    """
    ends = {
        run.target: _end_of_decided_run(scheduler, run.target, run.stopped, run.progress, run.max_errors)
        for run in ended
    }
    held_back = scheduler.hold_back([name for name, end in ends.items() if end[0] != "finished"])
    # Judging runs finish before the runs of their sides. In the other order a process killed in between would leave
    # sides that are finished and give the resumed judge nothing more.
    for run in reversed(ended):
        state, reason, decided = ends[run.target]
        if run.target in held_back:
            reason = f"{held_back[run.target]} is not finished, and may need more samples of {run.target}"
            state, decided = "interrupted", None
        run.writer.finish(state, redact(reason), run.seconds, decided)


@dataclass(frozen=True, slots=True)
class _SharedTargets:
    """The targets under a scheduler, and the readers through which pairs look up each target's answers."""

    targets: Mapping[str, Target]
    shown_by: Mapping[str, Sequence[RecordReader]]
    shows: Mapping[str, Sequence[RecordReader]]

    @classmethod
    def of(cls, running: Running, names: Sequence[str]) -> _SharedTargets:
        targets: dict[str, Target] = {}
        shown_by: dict[str, list[RecordReader]] = {}
        shows: dict[str, list[RecordReader]] = {}
        for name in names:
            targets[name], lookups = running.target(name)
            shows[name] = list(lookups.values())
            for side, lookup in lookups.items():
                shown_by.setdefault(side, []).append(lookup)
        return cls(targets, shown_by, shows)


@dataclass(frozen=True, slots=True)
class _WatchedFeed:
    """A scheduler's feed that passes each answer to the pairs that compare it, before the store has written it."""

    feed: ScheduledFeed
    shared: _SharedTargets
    target: str

    def __call__(self, records: int) -> Sequence[Task]:
        return self.feed(records)

    async def more(self) -> bool:
        return await self.feed.more()

    def record_stored(self, task: Task, record: Record) -> None:
        for lookup in self.shared.shown_by.get(self.target, ()):
            lookup.add(record)
        self.feed.record_stored(task, record)
        for lookup in self.shared.shows[self.target]:
            if self.feed.scheduler.has(self.target, task.no):
                lookup.drop(record.sample.id)


async def _run_target(
    running: Running, run: Run, target: Target, feed: Feed, writer: RunWriter, progress: Progress
) -> tuple[ModelError | None, float]:
    """Run one target to its end; returns the error that stopped it, or None, and the seconds it took."""
    options = running.suite.options
    progress.errors = run.errors
    progress.started = time.monotonic()
    work = RunPlan(
        target=target,
        scorers=scorer_stages(running.suite.scorers_for(run.target)),
        feed=feed,
        concurrency=options.concurrency,
        # A slower service that was ordered may take its time: what is limited is the rest.
        sample_timeout_s=options.sample_timeout_s + slowest_s(running.suite),
        most_errors=most_errors(running.error_share(run.target), run.planned),
        draw=run.manifest["draw"],
        run=run.id,
    )
    runner = Runner(work, running.session, writer, progress)
    await runner.run()
    stopped = runner.stopped if isinstance(runner.stopped, ModelError) else None
    return stopped, time.monotonic() - progress.started


def _end_of_decided_run(
    scheduler: StoppingScheduler, name: str, stopped: ModelError | None, progress: Progress, max_errors: float
) -> tuple[str, str, Stopped | None]:
    """State, reason and decision of a run that a decision may have ended."""
    if stopped is None and scheduler.is_decided(name):
        progress.ended_early = progress.done < progress.planned
        state, reason = _too_many_failed(*scheduler.failed(name), progress.last_error, max_errors)
        return state, reason, scheduler.stopped(name) if state == "finished" else None
    return *state_of(stopped, progress, max_errors), None


def state_of(stopped: ModelError | None, progress: Progress, max_errors: float) -> tuple[str, str]:
    """The state that a run ends in, and why.

    Args:
        stopped: the error that ended it; None where nothing did.
        progress: its counts.
        max_errors: the share of records that may fail.
    """
    if stopped is not None and stopped.kind == "errors":
        # Counted after the samples in flight have ended, so that tables show the same number.
        errors = f"{progress.errors} error{'' if progress.errors == 1 else 's'}"
        return "broken", f"{errors}; the last: {progress.last_error}"
    if stopped is not None:
        return ("interrupted" if stopped.kind in RESUMABLE else "broken"), str(stopped)
    if progress.done < progress.planned:
        return (
            "broken",
            f"the samples gave {progress.done} of {progress.planned} records: they changed between two passes",
        )
    return _too_many_failed(progress.errors, progress.planned, progress.last_error, max_errors)


def _too_many_failed(errors: int, records: int, last_error: str, max_errors: float) -> tuple[str, str]:
    all_failed = errors >= records > 0 and max_errors < 1
    if errors <= most_errors(max_errors, records) and not all_failed:
        return "finished", ""
    share = f"{errors / max(1, records):.1%}; limit {max_errors:.1%}"
    last_text = f"; the last: {last_error}" if last_error else ""
    return "broken", f"{errors} of {records} records failed ({share}){last_text}"


@dataclass(slots=True)
class RunHandle:
    """Progress of a running evaluation, and a way to stop it.

    Attributes:
        progress: per target, in order; written by the runner.
        retries: kind of fault -> attempts of this process that failed and were sent again.
        meter: of the budget and of money; None where neither a budget nor prices are set.
        stop: finish what is in flight, store it and end; set once the runs have begun.
        workers: a line on the processes that share the samples; "" where there are none.
    """

    progress: list[Progress] = field(default_factory=list)
    retries: Mapping[str, int] = field(default_factory=dict)
    meter: BudgetMeter | None = None
    stop: Callable[[str], None] | None = None
    workers: str = ""


@dataclass(frozen=True, slots=True)
class BegunEvaluation:
    """An evaluation whose runs are begun and locked, and not yet worked on.

    Args:
        suite: what is run.
        store: where the runs are written.
        where: its address as it was given, which may name a password by `${NAME}`.
        evaluation: its number.
        writers: of its unfinished runs, in order.
        planned: records of each run.
        quota: budget, rates and prices of the whole evaluation.
        environment: values for `${NAME}` that this process's environment lacks.
        unsafe_sql: run generated SQL also on engines that cannot be sandboxed.
        permits: see `Sandbox`.
    """

    suite: Suite
    store: Store
    where: str | Path | None
    evaluation: int
    writers: Sequence[RunWriter]
    planned: int
    quota: Quota
    environment: Mapping[str, str]
    unsafe_sql: bool
    permits: frozenset[Permit]


class Executor(Protocol):
    """Runs the targets of an evaluation elsewhere than in this process."""

    def check(self, suite: Suite, where: str | Path | None) -> None:
        """Refuse what it cannot run, before anything is stored.

        Raises:
            ConfigError: what is missing, and what to do.
        """

    async def run(self, begun: BegunEvaluation, control: RunHandle) -> None:
        """Run every target to its end and store the state that each run ends in.

        Raises:
            StoreError: the results could not be kept.
        """


def is_executor(value: object) -> TypeGuard[Executor]:
    """Whether a value has the methods of an `Executor`; a class of executors is none."""
    return not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in ("check", "run"))
