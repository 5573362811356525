"""Run the targets of an evaluation: one after the other, or all at once where early stopping decides between them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from steelyard.analysis.stopping import Stopped
from steelyard.errors import ModelError
from steelyard.runner import Feed, Progress, Runner, RunPlan, Task
from steelyard.session.session import Session
from steelyard.store import Run, RunWriter, Store
from steelyard.store.run import RecordReader
from steelyard.suite.objects import Suite, error_share, most_errors
from steelyard.suite.scorer_infos import scorer_stages
from steelyard.suite.sides import SuitePair, bound
from steelyard.suite.stopping import DatasetFeed, ScheduledFeed, StoppingScheduler
from steelyard.targets.pair import Pair
from steelyard.types import Record, Target

_RESUMABLE: Final = frozenset({"interrupted", "budget"})
"""Kinds of errors that interrupt the whole evaluation; any other breaks one run, and the next target begins."""


@dataclass(frozen=True, slots=True)
class Running:
    """An evaluation that is running.

    Args:
        suite: what is run.
        session: what is open.
        store: where it goes.
        evaluation: its number.
        plan: the manifest of each target's run.
        sides: where stored runs are that a pair shows.
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
        """A target as it is run, and where a pair among them looks its answers up, by side."""
        target = self.suite.targets[name]
        if not isinstance(target, Pair):
            return target, {}
        pair: SuitePair = bound(target, self.siblings(), self.sides)
        return pair.target, pair.lookups


async def run_all(running: Running, writers: Sequence[RunWriter], progress: Sequence[Progress]) -> None:
    """Run what is not finished; whatever ends it all leaves the rest to a resume."""
    if running.suite.options.stop_when_decided.question:
        await _run_side_by_side(running, writers, progress)
        return
    over: ModelError | None = None
    for writer, one in zip(writers, progress, strict=True):
        if over is not None:
            writer.finish("interrupted", str(over), 0.0)
            continue
        target, _ = running.target(writer.run.target)
        done = writer.run.done_places() if writer.run.done else {}
        feed = DatasetFeed.of(running.suite.samples, running.suite.options.repeats, done)
        stopped, seconds = await _run_one(running, writer.run, target, feed, writer, one)
        state, reason = _verdict(stopped, one, running.error_share(writer.run.target))
        writer.finish(state, running.session.secrets.redact_text(reason), seconds)
        over = stopped if stopped is not None and stopped.kind in _RESUMABLE else None


async def _run_side_by_side(running: Running, writers: Sequence[RunWriter], progress: Sequence[Progress]) -> None:
    """Run all side by side, and end each when nothing that needs it is left to be decided."""
    suite = running.suite
    scheduler = StoppingScheduler.of(suite, list(suite.samples), running.plan)
    open_now = {writer.run.target for writer in writers}
    for name, run in running.siblings().items():
        scheduler.know(run, again=name in open_now)
    scheduler.begin(open_now)
    bench = _Bench.of(running, [writer.run.target for writer in writers])

    async def go(writer: RunWriter, one: Progress) -> tuple[ModelError | None, float]:
        name = writer.run.target
        done = writer.run.done_places() if writer.run.done else {}
        feed = _WatchedFeed(ScheduledFeed(scheduler, name, done), bench, name)
        try:
            return await _run_one(running, writer.run, bench.targets[name], feed, writer, one)
        finally:
            scheduler.wake()

    tasks = [asyncio.create_task(go(writer, one)) for writer, one in zip(writers, progress, strict=True)]
    try:
        came_to = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    share = running.error_share
    ends = {
        (name := writer.run.target): (*_end_of_decided_run(scheduler, name, stopped, one, share(name)), seconds)
        for writer, one, (stopped, seconds) in zip(writers, progress, came_to, strict=True)
    }
    held = scheduler.hold_back([name for name, end in ends.items() if end[0] != "finished"])
    # Pairs come to their end before the answers that they show: killed in between, a resume has nothing left to judge.
    for writer in reversed(writers):
        name = writer.run.target
        state, reason, decided, seconds = ends[name]
        if name in held:
            state, reason, decided = "interrupted", f"{held[name]} is not done, and may need more of {name}", None
        writer.finish(state, running.session.secrets.redact_text(reason), seconds, decided)


@dataclass(frozen=True, slots=True)
class _Bench:
    """The targets of a scheduler, and the readers through which pairs look up the answers of each target."""

    targets: Mapping[str, Target]
    shown_by: Mapping[str, Sequence[RecordReader]]
    shows: Mapping[str, Sequence[RecordReader]]

    @classmethod
    def of(cls, running: Running, names: Sequence[str]) -> _Bench:
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
    """A scheduler's feed that hands answers on to the pairs that show them: the store has them a moment later."""

    feed: ScheduledFeed
    bench: _Bench
    target: str

    def __call__(self, records: int) -> Sequence[Task]:
        return self.feed(records)

    async def more(self) -> bool:
        return await self.feed.more()

    def kept(self, task: Task, record: Record) -> None:
        for lookup in self.bench.shown_by.get(self.target, ()):
            lookup.add(record)
        self.feed.kept(task, record)
        for lookup in self.bench.shows[self.target]:
            if self.feed.scheduler.has(self.target, task.no):
                lookup.drop(record.sample.id)


async def _run_one(
    running: Running, run: Run, target: Target, feed: Feed, writer: RunWriter, progress: Progress
) -> tuple[ModelError | None, float]:
    """Run one target to its end: what stopped it, or None, and the seconds that it took."""
    options = running.suite.options
    progress.errors = run.errors
    progress.started = time.monotonic()
    work = RunPlan(
        target=target,
        scorers=scorer_stages(running.suite.scorers_for(run.target)),
        feed=feed,
        concurrency=options.concurrency,
        sample_timeout_s=options.sample_timeout_s,
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
    return *_verdict(stopped, progress, max_errors), None


def _verdict(stopped: ModelError | None, progress: Progress, max_errors: float) -> tuple[str, str]:
    if stopped is not None:
        return ("interrupted" if stopped.kind in _RESUMABLE else "broken"), str(stopped)
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
    last = f"; the last: {last_error}" if last_error else ""
    return "broken", f"{errors} of {records} records failed ({share}){last}"
