"""The one path: from a Suite to stored runs."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

from steelyard.errors import ConfigError, ModelError, did_you_mean
from steelyard.models.budget import Budget, Purse
from steelyard.registry import describe
from steelyard.runner import Progress, Runner, Task, Work
from steelyard.session.secrets import Secrets, references
from steelyard.session.session import Session
from steelyard.sql.sandbox import Sandbox
from steelyard.store import NewRun, Run, RunWriter, Store
from steelyard.store.names import new_id
from steelyard.suite.objects import Options, Suite
from steelyard.suite.survey import changed_keys, check_suite, manifests, prepare, scorer_stages, survey
from steelyard.types import Sample, Scorer, Target

_BATCH: Final = 64
"""Tasks that are taken from the dataset at a time."""
_RESUMABLE: Final = frozenset({"interrupted", "budget"})

_OPTIONS: Final = frozenset(one.name for one in dataclasses.fields(Options))

T = TypeVar("T")


@dataclass(slots=True)
class Control:
    """What a caller may see and do while a suite is running.

    Attributes:
        progress: per target, in order; written by the runner.
        stop: finish what is in flight, store it and end; set once the runs have begun.
    """

    progress: list[Progress] = field(default_factory=list)
    stop: Callable[[str], None] | None = None


@dataclass(frozen=True, slots=True)
class How:
    """How a suite is evaluated, beside its own options.

    Args:
        store: a file, a URL, or None for `.steelyard/steelyard.db`.
        fresh: take a new draw: replies in the journal are not used.
        resume: go on with the unfinished runs of the evaluation that this run belongs to; its id.
        allow_changed: resume although inputs have changed.
        unsafe_sql: run generated SQL on engines too that cannot be held here.
        environment: values for `${NAME}`; the process's environment is asked for the rest.
        config: where the suite came from, for the manifest.
    """

    store: str | Path | None = None
    fresh: bool = False
    resume: str = ""
    allow_changed: bool = False
    unsafe_sql: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, Any] | None = None


_HOW: Final = frozenset(one.name for one in dataclasses.fields(How)) - {"store"}


def evaluate(
    target: Target,
    samples: Iterable[Sample],
    scorers: Sequence[Scorer],
    *,
    name: str = "evaluation",
    store: str | Path | None = None,
    **options: Any,
) -> Run:
    """Run one target over samples and score what it answers; also inside a running event loop.

    Args:
        target: a function of a Sample (and of Ask, if it is async and declares `ask`), or a target object.
        samples: with unique ids; any iterable that can be read twice.
        scorers: functions of (Sample, Output), or scorer objects.
        name: a title for reports.
        store: a file, or None for `.steelyard/steelyard.db` here.
        options: any field of `Options` (`concurrency=64`) or of `How` (`resume=run.id`).

    Raises:
        ConfigError: found before the first call.
        DataError: likewise.
        StoreError: the results could not be kept.
    """
    return _wait_for(aevaluate(target, samples, scorers, name=name, store=store, **options))


async def aevaluate(
    target: Target,
    samples: Iterable[Sample],
    scorers: Sequence[Scorer],
    *,
    name: str = "evaluation",
    store: str | Path | None = None,
    **options: Any,
) -> Run:
    """The same as `evaluate`, for async callers."""
    label = str(getattr(target, "__name__", "") or type(target).__name__).lower()
    how = How(store=store, **{key: options.pop(key) for key in tuple(options) if key in _HOW})
    unknown = next((key for key in options if key not in _OPTIONS), None)
    if unknown is not None:
        raise ConfigError(f"evaluate() has no option {unknown!r}{did_you_mean(unknown, _HOW | _OPTIONS)}")
    suite = Suite(name, "custom", samples, {label: target}, tuple(scorers), Options(**options))
    return (await aevaluate_suite(suite, how=how))[0]


def evaluate_suite(suite: Suite, *, how: How = How()) -> tuple[Run, ...]:
    """Run every target of a suite; one run each, in order."""
    return _wait_for(aevaluate_suite(suite, how=how))


async def aevaluate_suite(suite: Suite, *, how: How = How(), control: Control | None = None) -> tuple[Run, ...]:
    """The same as `evaluate_suite`, for async callers; `control` shows progress and can stop it.

    A run that did not finish is returned like the others: its `state` and `reason` say what happened.
    """
    samples = suite.samples if iter(suite.samples) is not suite.samples else list(suite.samples)
    check_suite(suite)
    seen = survey(samples)
    wanted = references(describe([*suite.targets.values(), *suite.scorers]))
    secrets = Secrets(wanted, how.environment)
    with (
        Sandbox(unsafe=how.unsafe_sql) as sandbox,
        Store(how.store, create_missing=True, durability=suite.options.durability) as store,
        contextlib.ExitStack() as held,
    ):
        prepare([*suite.targets.values(), *suite.scorers], sandbox)
        draw = new_id() if how.fresh else ""
        plan = dict(manifests(suite, seen, draw=draw, config=how.config))
        planned = seen.n * suite.options.repeats
        evaluation, writers = _open_runs(store, suite, plan, planned, how, held)
        options, journal = suite.options, store.journal(evaluation)
        limited = options.budget != Budget()
        async with Session(
            journal,
            secrets,
            retry=options.retry,
            concurrency=options.concurrency,
            purse=Purse(options.budget, *store.spent(evaluation), journal) if limited else None,
            sandbox=sandbox,
        ) as session:
            control = control or Control()
            control.stop = session.stop
            control.progress += [
                Progress(one.run.target, planned, one.run.done, before=one.run.done) for one in writers
            ]
            await _run_all(suite, samples, session, writers, control)
        return tuple(store.runs_of(evaluation))


def _open_runs(
    store: Store, suite: Suite, plan: Mapping[str, Any], planned: int, how: How, held: contextlib.ExitStack
) -> tuple[int, list[RunWriter]]:
    """Begin the runs of a new evaluation, or reopen the unfinished ones of an old one; `held` lets go of them."""
    writers: list[RunWriter] = []
    if not how.resume:
        new = [NewRun(suite.name, suite.kind, name, planned, manifest) for name, manifest in plan.items()]
        evaluation, writers = store.begin_evaluation(new)
        for writer in writers:
            held.callback(writer.abandon)
        return evaluation, writers
    evaluation = store.run(how.resume).evaluation
    runs = [run for run in store.runs_of(evaluation) if run.state != "finished"]
    if not runs:
        raise ConfigError(f"run {how.resume} is finished: there is nothing to resume")
    _refuse_changes(runs, plan, allow=how.allow_changed)
    for run in runs:
        manifest = {**plan[run.target], "draw": run.manifest["draw"]}
        writers.append(store.reopen_run(run, manifest=manifest, planned=planned))
        held.callback(writers[-1].abandon)
    return evaluation, writers


def _refuse_changes(runs: Sequence[Run], plan: Mapping[str, Any], *, allow: bool) -> None:
    for run in runs:
        if run.target not in plan:
            raise ConfigError(f"run {run.id} is of target {run.target!r}, which is not in the configuration any more")
        changed = changed_keys(run.first_manifest, plan[run.target])
        if changed and not allow:
            raise ConfigError(
                f"run {run.id} ({run.target}) cannot go on: changed since it was started: {', '.join(changed)}. "
                "Undo that, start a new run, or resume with --allow-changed"
            )


async def _run_all(
    suite: Suite, samples: Any, session: Session, writers: Sequence[RunWriter], control: Control
) -> None:
    """One target after the other; whatever ends them all leaves the rest to a resume."""
    over: ModelError | None = None
    for writer, progress in zip(writers, control.progress, strict=True):
        if over is None:
            progress.started = time.monotonic()
            stopped = await _run_one(suite, samples, session, writer, progress)
            over = stopped if stopped is not None and stopped.kind in _RESUMABLE else None
        else:
            writer.finish("interrupted", str(over), 0.0)


async def _run_one(
    suite: Suite, samples: Any, session: Session, writer: RunWriter, progress: Progress
) -> ModelError | None:
    """Run one target to its end; what stopped it, or None."""
    options, run = suite.options, writer.run
    done = run.done_places() if run.done else {}
    progress.errors = sum(done.values())
    work = Work(
        target=suite.targets[run.target],
        scorers=scorer_stages(suite.scorers),
        feed=_Dataset(samples, options.repeats, done),
        concurrency=options.concurrency,
        sample_timeout_s=options.sample_timeout_s,
        most_errors=options.max_errors * run.planned,
        draw=run.manifest["draw"],
        run=run.id,
    )
    runner = Runner(work, session, writer, progress)
    started = time.monotonic()
    await runner.run()
    seconds = time.monotonic() - started
    stopped = runner.stopped if isinstance(runner.stopped, ModelError) else None
    state, reason = _verdict(stopped, progress, options.max_errors)
    writer.finish(state, session.secrets.redact_text(reason), seconds)
    return stopped


def _verdict(stopped: ModelError | None, progress: Progress, max_errors: float) -> tuple[str, str]:
    if stopped is not None:
        return ("interrupted" if stopped.kind in _RESUMABLE else "broken"), str(stopped)
    if progress.done < progress.planned:
        return (
            "broken",
            f"the samples gave {progress.done} of {progress.planned} records: they changed between two passes",
        )
    if progress.errors > max_errors * progress.planned:
        share = f"{progress.errors / max(1, progress.planned):.1%}; limit {max_errors:.1%}"
        last = f"; the last: {progress.last_error}" if progress.last_error else ""
        return "broken", f"{progress.errors} of {progress.planned} records failed ({share}){last}"
    return "finished", ""


class _Dataset:
    """The default feed: the dataset in order, each sample with all its repeats, without what is done."""

    def __init__(self, samples: Any, repeats: int, done: Mapping[tuple[int, int], bool]) -> None:
        self._tasks = self._iterate(samples, repeats, done)

    def __call__(self, records: int) -> Sequence[Task]:  # noqa: ARG002  # stopping rules look at the records, we do not
        """The next tasks."""
        return list(islice(self._tasks, _BATCH))

    @staticmethod
    def _iterate(samples: Any, repeats: int, done: Mapping[tuple[int, int], bool]) -> Iterator[Task]:
        for no, sample in enumerate(samples):
            for repeat in range(repeats):
                failed = done.get((no, repeat))
                if failed is not False:
                    yield Task(no, repeat, sample, replaces=failed)


def _wait_for(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end; in a thread of its own where this one has a running event loop already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    done: Future[T] = Future()
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[T]]] = Future()

    async def cancellable() -> T:
        task = asyncio.ensure_future(work)
        started.set_result((asyncio.get_running_loop(), task))
        return await task

    def run() -> None:
        try:
            done.set_result(asyncio.run(cancellable()))
        except BaseException as error:  # noqa: BLE001  # raised where it is waited for
            done.set_exception(error)

    threading.Thread(target=run, name="steelyard-evaluate").start()
    try:
        return done.result()
    except KeyboardInterrupt:
        # A notebook's "stop": without this the run would go on, and cost, unseen.
        loop, task = started.result()
        loop.call_soon_threadsafe(task.cancel)
        done.exception()
        raise
