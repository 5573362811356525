"""Running what was begun: one target after the other, or all side by side where a decision ends them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from steelyard.errors import ModelError
from steelyard.runner import Feed, Progress, Runner, Task, Work
from steelyard.session.session import Session
from steelyard.store import Run, RunWriter, Store
from steelyard.store.lookup import RecordLookup
from steelyard.store.stopping import Stopped
from steelyard.suite.course import Course
from steelyard.suite.feeds import CourseFeed, DatasetFeed
from steelyard.suite.objects import Suite
from steelyard.suite.sides import SuitePair, bound
from steelyard.suite.survey import scorer_stages
from steelyard.targets.pair import Pair
from steelyard.types import Record, Target

_RESUMABLE: Final = frozenset({"interrupted", "budget"})


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

    def siblings(self) -> dict[str, Run]:
        """The evaluation's runs by target, as they are now."""
        return {run.target: run for run in self.store.runs_of(self.evaluation)}

    def target(self, name: str) -> tuple[Target, Mapping[str, RecordLookup]]:
        """A target as it is run, and where a pair among them looks its answers up, by side."""
        target = self.suite.targets[name]
        if not isinstance(target, Pair):
            return target, {}
        pair: SuitePair = bound(target, self.siblings(), self.sides)
        return pair.target, pair.lookups


async def run_all(running: Running, writers: Sequence[RunWriter], progress: Sequence[Progress]) -> None:
    """Run what is not finished; whatever ends it all leaves the rest to a resume."""
    if running.suite.options.stop_when_decided.question:
        await _run_course(running, writers, progress)
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
        state, reason = _verdict(stopped, one, running.suite.options.max_errors)
        writer.finish(state, running.session.secrets.redact_text(reason), seconds)
        over = stopped if stopped is not None and stopped.kind in _RESUMABLE else None


async def _run_course(running: Running, writers: Sequence[RunWriter], progress: Sequence[Progress]) -> None:
    """Run all side by side, and end each when nothing that needs it is left to be decided."""
    suite = running.suite
    course = Course.of(suite, list(suite.samples), running.plan)
    open_now = {writer.run.target for writer in writers}
    for name, run in running.siblings().items():
        course.know(run, again=name in open_now)
    course.begin(open_now)
    bench = _Bench.of(running, [writer.run.target for writer in writers])

    async def go(writer: RunWriter, one: Progress) -> tuple[ModelError | None, float]:
        name = writer.run.target
        done = writer.run.done_places() if writer.run.done else {}
        feed = _WatchedFeed(CourseFeed(course, name, done), bench, name)
        try:
            return await _run_one(running, writer.run, bench.targets[name], feed, writer, one)
        finally:
            course.wake()

    tasks = [asyncio.create_task(go(writer, one)) for writer, one in zip(writers, progress, strict=True)]
    try:
        came_to = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    ends = {
        writer.run.target: (*_end_of_course(course, writer.run.target, stopped, one, suite.options.max_errors), seconds)
        for writer, one, (stopped, seconds) in zip(writers, progress, came_to, strict=True)
    }
    held = course.hold_back([name for name, end in ends.items() if end[0] != "finished"])
    # Pairs come to their end before the answers that they show: killed in between, a resume has nothing left to judge.
    for writer in reversed(writers):
        name = writer.run.target
        state, reason, decided, seconds = ends[name]
        if name in held:
            state, reason, decided = "interrupted", f"{held[name]} is not done, and may need more of {name}", None
        writer.finish(state, running.session.secrets.redact_text(reason), seconds, decided)


@dataclass(frozen=True, slots=True)
class _Bench:
    """The targets of a course, and where their pairs look answers up: by target, whoever shows it."""

    targets: Mapping[str, Target]
    shown_by: Mapping[str, Sequence[RecordLookup]]
    shows: Mapping[str, Sequence[RecordLookup]]

    @classmethod
    def of(cls, running: Running, names: Sequence[str]) -> _Bench:
        targets: dict[str, Target] = {}
        shown_by: dict[str, list[RecordLookup]] = {}
        shows: dict[str, list[RecordLookup]] = {}
        for name in names:
            targets[name], lookups = running.target(name)
            shows[name] = list(lookups.values())
            for side, lookup in lookups.items():
                shown_by.setdefault(side, []).append(lookup)
        return cls(targets, shown_by, shows)


@dataclass(frozen=True, slots=True)
class _WatchedFeed:
    """A course's feed that hands answers on to the pairs that show them: the store has them a moment later."""

    feed: CourseFeed
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
            if self.feed.course.has(self.target, task.no):
                lookup.drop(record.sample.id)


async def _run_one(
    running: Running, run: Run, target: Target, feed: Feed, writer: RunWriter, progress: Progress
) -> tuple[ModelError | None, float]:
    """Run one target to its end: what stopped it, or None, and the seconds that it took."""
    options = running.suite.options
    progress.errors = run.errors
    progress.started = time.monotonic()
    work = Work(
        target=target,
        scorers=scorer_stages(running.suite.scorers_for(run.target)),
        feed=feed,
        concurrency=options.concurrency,
        sample_timeout_s=options.sample_timeout_s,
        most_errors=options.max_errors * run.planned,
        draw=run.manifest["draw"],
        run=run.id,
    )
    runner = Runner(work, running.session, writer, progress)
    await runner.run()
    stopped = runner.stopped if isinstance(runner.stopped, ModelError) else None
    return stopped, time.monotonic() - progress.started


def _end_of_course(
    course: Course, name: str, stopped: ModelError | None, progress: Progress, max_errors: float
) -> tuple[str, str, Stopped | None]:
    """State, reason and decision of a run that a decision may have ended."""
    if stopped is None and course.is_decided(name):
        progress.ended_early = progress.done < progress.planned
        state, reason = _too_many_failed(*course.failed(name), progress.last_error, max_errors)
        return state, reason, course.stopped(name) if state == "finished" else None
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
    if errors <= max_errors * records:
        return "finished", ""
    share = f"{errors / max(1, records):.1%}; limit {max_errors:.1%}"
    last = f"; the last: {last_error}" if last_error else ""
    return "broken", f"{errors} of {records} records failed ({share}){last}"
