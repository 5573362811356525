"""Runs a Suite and stores its runs; the command line and every Python function use this path."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import gc
import shutil
import sys
import threading
import time
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TextIO, TypeVar, cast

from steelyard.analysis.numbers import count_text, done_text
from steelyard.analysis.scores.score_infos import headline_score
from steelyard.errors import ConfigError, RunError, did_you_mean
from steelyard.escaping import visible
from steelyard.evaluation.kept_replies import check_kept_replies
from steelyard.evaluation.objects import Options, Suite, build_targets, with_references
from steelyard.evaluation.running import BegunEvaluation, Executor, RunHandle, Running, is_executor, run_all
from steelyard.evaluation.sample_columns import with_checked_names
from steelyard.evaluation.sides import check_stored, side_store, with_samples
from steelyard.evaluation.stopping import hypotheses_of
from steelyard.evaluation.survey import (
    changed_keys,
    check_suite,
    in_time,
    load_models,
    manifests,
    prepare,
    prices_of,
    quota_of,
    survey_of,
)
from steelyard.registry import describe
from steelyard.runner import Progress, stage_name
from steelyard.scorers.judges.judge import with_stored_prompts
from steelyard.session.secrets import Secrets, references
from steelyard.session.session import Session
from steelyard.sql.sandbox import Permit, Sandbox, permits_of
from steelyard.store import NewRun, Run, RunWriter, Store
from steelyard.store.counters import running_score
from steelyard.store.ended_runs import remember_calls, remember_figures
from steelyard.store.reading.search import index_run
from steelyard.store.store import new_id
from steelyard.types import Scorer

_OPTIONS: Final = frozenset(option.name for option in dataclasses.fields(Options))

T = TypeVar("T")
_FIRST_S: Final = 0.5
"""An evaluation that takes less shows no line: most of those of a test or an example."""
_REFRESH_S: Final = 0.25


@dataclass(frozen=True, slots=True)
class RunConfig:
    """Settings of one evaluation that are not options of the suite: where it is stored, what it resumes.

    Args:
        store: a file, a URL, or None for `.steelyard/steelyard.db`.
        fresh: ignore the replies in the journal and ask again.
        resume: id of a run; the unfinished runs of its evaluation are resumed.
        allow_changed: resume although inputs have changed.
        unsafe_sql: run generated SQL also on engines that cannot be sandboxed on this machine.
        allow_commands: run the programs of scorers `command`.
        unsafe_code: run the code of replies (`python_test`) also where this machine cannot confine it.
        environment: values for `${NAME}`; names that it lacks come from the process's environment.
        config: the configuration that the suite was read from, for the manifest.
        executor: runs the samples elsewhere, as in several processes; None runs them in this one.
        on_broken: whether a run that ends as broken (too many records failed, or an endpoint refuses every call) raises
            a `RunError` with the run, or is returned like the others.
        progress: show the progress in a terminal or notebook.
    """

    store: str | Path | None = None
    fresh: bool = False
    resume: str = ""
    allow_changed: bool = False
    unsafe_sql: bool = False
    allow_commands: bool = False
    unsafe_code: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, Any] | None = None
    executor: Executor | None = None
    on_broken: Literal["raise", "return"] = "raise"
    progress: bool = True

    @property
    def permits(self) -> frozenset[Permit]:
        """What is allowed beyond confined SQL, as a sandbox knows it."""
        return permits_of(allow_commands=self.allow_commands, unsafe_code=self.unsafe_code)


class BuildsSuite(Protocol):
    """What describes a suite and can build it: `ChoiceSuite`, `Text2SqlSuite`, `TablesSuite`, `RagSuite` and others."""

    options: Options

    def build(self) -> Suite:
        """Read the dataset and check everything; no model is called."""


Described = TypeVar("Described", bound="Suite | BuildsSuite")
_OBJECTS_PER_COLLECTION: Final = 20_000
_RUN_KEYS: Final = frozenset(option.name for option in dataclasses.fields(RunConfig)) - {"store"}


def evaluate_suite(
    suite: Suite | BuildsSuite, *, store: str | Path | None = None, how: RunConfig | None = None, **options: Any
) -> tuple[Run, ...]:
    """Run every target of a suite; one run each, in order; also inside a running event loop.

    Args:
        suite: a `Suite`, or what builds one (`ChoiceSuite`, `RagSuite` ...).
        store: a file, or None for `.steelyard/steelyard.db` here.
        how: all settings of the run in one object, for programs that keep them together; in place of `store`.
        options: any field of `Options`, in place of the suite's own, or of `RunConfig`, as `evaluate` takes them.

    Raises:
        ConfigError: found before the first call.
        DataError: likewise.
        StoreError: the results could not be kept.
        RunError: a run ended as broken; `on_broken="return"` returns it instead.
    """
    return wait_for(aevaluate_suite(suite, store=store, how=how, **options))


async def aevaluate_suite(
    suite: Suite | BuildsSuite,
    *,
    store: str | Path | None = None,
    how: RunConfig | None = None,
    control: RunHandle | None = None,
    **options: Any,
) -> tuple[Run, ...]:
    """The same as `evaluate_suite`, for async callers; `control` has the progress, for a display of one's own.

    A run that was interrupted is returned like the others: its `state` and `reason` say what happened.
    """
    if how is not None and store is not None:
        raise ConfigError("evaluate_suite() takes the store from `how` or from `store`, not from both")
    described, how = _with_options("evaluate_suite", suite, how or RunConfig(store=store), options)
    if how.on_broken not in {"raise", "return"}:
        raise ConfigError(f"on_broken is 'raise' or 'return', not {how.on_broken!r}")
    suite = described if isinstance(described, Suite) else described.build()
    handle = control or RunHandle()
    async with shown(handle.progress) if how.progress and control is None else contextlib.nullcontext():
        runs = await _evaluate(suite, how, handle)
    broken = next((run for run in runs if run.state == "broken"), None)
    if broken is not None and how.on_broken == "raise":
        raise RunError(
            f"run {broken.id} of {broken.target} is broken: {broken.reason}. Its {broken.done:,} records are kept: the "
            "error has the run as `run`; on_broken='return' returns it",
            broken,
            runs,
        )
    return runs


async def _evaluate(suite: Suite, how: RunConfig, control: RunHandle) -> tuple[Run, ...]:
    suite = with_samples(suite, how.store)
    check_suite(suite)
    suite = with_references(with_checked_names(suite))
    build_targets(suite)
    if how.executor is not None:
        if not is_executor(how.executor):
            raise ConfigError(f"expected an executor such as steelyard.workers.ProcessWorkers(8), got {how.executor!r}")
        how.executor.check(suite, how.store)
    prices = prices_of(suite)
    await load_models(suite)
    overview = survey_of(suite)
    names = references(describe(suite.parts))
    secrets = Secrets(names, how.environment)
    with (
        Sandbox(unsafe=how.unsafe_sql, permits=how.permits, resolve=secrets.resolve) as sandbox,
        Store(how.store, create_missing=True, durability=suite.options.durability) as store,
        contextlib.ExitStack() as locks,
        _fewer_collections(),
    ):
        prepare(suite.parts, sandbox)
        if how.resume:
            suite = _with_stored_prompts(suite, store.runs_of(store.run(how.resume).evaluation))
        draw = new_id() if how.fresh else ""
        plan = dict(manifests(suite, overview, draw=draw, config=how.config))
        if suite.options.stop_when_decided.question:
            hypotheses_of(suite, plan)  # a threshold that is off the scale is found before anything is begun
        planned = overview.n * suite.options.repeats
        sides = locks.enter_context(side_store(suite, store))
        check_stored(suite, sides)
        check_kept_replies(suite, store, _draws(store, suite, how))
        evaluation, writers = _open_runs(store, suite, plan, planned, how, locks)
        options, journal = suite.options, store.journal(evaluation)
        quota = quota_of(options, prices, store, evaluation)
        control.meter = quota.budget
        control.progress += [_progress(store, writer.run, planned) for writer in writers]
        if how.executor is not None:
            allowed = (how.environment, how.unsafe_sql, how.permits)
            begun = BegunEvaluation(suite, store, how.store, evaluation, writers, planned, quota, *allowed)
            await how.executor.run(begun, control)
            return await _ended(store, evaluation)
        async with (
            Session(
                journal,
                secrets,
                retry=options.retry,
                concurrency=options.concurrency,
                quota=quota,
                sandbox=sandbox,
            ) as session,
            in_time(quota.budget, session),
        ):
            control.stop = session.stop
            control.retries = session.limits.retries
            await run_all(Running(suite, session, store, evaluation, plan, sides), writers, control.progress)
        return await _ended(store, evaluation)


@contextlib.contextmanager
def _fewer_collections() -> Iterator[None]:
    """Let Python's garbage collector run less often.

    The samples in flight make and free more objects than it usually waits for, and hardly any is garbage that it has to
    find: at a concurrency of 64 the collector took a tenth of a run's CPU.
    """
    before = gc.get_threshold()
    if before[0]:  # 0 is a collector that is switched off
        gc.set_threshold(max(before[0], _OBJECTS_PER_COLLECTION), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


async def _ended(store: Store, evaluation: int) -> tuple[Run, ...]:
    """The runs of an evaluation that has ended, with stored figures for lists and an index for searches."""
    runs = tuple(store.runs_of(evaluation))

    def remember() -> tuple[Run, ...]:
        noted = remember_calls(store, runs)
        remember_figures(store, noted)
        for run in noted:
            index_run(run)
        return noted

    # In a thread: of a large run it takes half a second, and the loop may be the caller's own.
    return await asyncio.to_thread(remember)


def _with_options(
    function: str, suite: Described, how: RunConfig, options: Mapping[str, Any]
) -> tuple[Described, RunConfig]:
    """The suite and the settings of the run, with the options that were passed by name."""
    unknown = next((key for key in options if key not in _OPTIONS | _RUN_KEYS), None)
    if unknown is not None:
        raise ConfigError(f"{function}() has no option {unknown!r}{did_you_mean(unknown, _RUN_KEYS | _OPTIONS)}")
    of_run = {key: value for key, value in options.items() if key in _RUN_KEYS}
    of_suite = {key: value for key, value in options.items() if key in _OPTIONS}
    if of_suite:  # before a suite is built: its seed draws examples and orders
        suite = dataclasses.replace(cast("Any", suite), options=dataclasses.replace(suite.options, **of_suite))
    return suite, dataclasses.replace(how, **of_run)


def _progress(store: Store, run: Run, planned: int) -> Progress:
    """The progress of a run that begins, or continues where an earlier process stopped."""
    score = headline_score(run.manifest)
    progress = Progress(run.target, planned, run.done, before=run.done, score=score, info=run.score_infos.get(score))
    if run.done:
        with store.reading() as connection:
            progress.running = running_score(connection, run.num, score)
    return progress


def _with_stored_prompts(suite: Suite, runs: Iterable[Run]) -> Suite:
    """The suite with the packaged prompts of its unfinished runs: a later version may have changed them."""
    described: dict[str, Any] = {}
    for run in runs:
        described |= run.first_manifest.get("scorers", {})

    def as_stored(scorers: Iterable[Scorer]) -> tuple[Scorer, ...]:
        return tuple(with_stored_prompts(scorer, described.get(stage_name(scorer))) for scorer in scorers)

    scorers_of = {name: as_stored(scorers) for name, scorers in suite.scorers_of.items()}
    return dataclasses.replace(suite, scorers=as_stored(suite.scorers), scorers_of=scorers_of)


def _open_runs(
    store: Store, suite: Suite, plan: Mapping[str, Any], planned: int, how: RunConfig, locks: contextlib.ExitStack
) -> tuple[int, list[RunWriter]]:
    """Begin the runs of a new evaluation, or reopen the unfinished ones of an old one; `held` releases their locks."""
    writers: list[RunWriter] = []
    if not how.resume:
        new_runs = [NewRun(suite.name, suite.kind, name, planned, manifest) for name, manifest in plan.items()]
        evaluation, writers = store.begin_evaluation(new_runs)
        for writer in writers:
            locks.callback(writer.abandon)
        return evaluation, writers
    evaluation = store.run(how.resume).evaluation
    runs = [run for run in store.runs_of(evaluation) if run.state != "finished"]
    if not runs:
        raise ConfigError(f"run {how.resume} is finished: there is nothing to resume")
    _refuse_changes(runs, plan, allow=how.allow_changed)
    for run in runs:
        manifest = {**plan[run.target], "draw": run.manifest["draw"]}
        # An executor's workers make the leases of earlier ones void; one process has no way to keep them from writing.
        beside_workers = how.executor is not None
        writers.append(store.reopen_run(run, manifest=manifest, planned=planned, beside_workers=beside_workers))
        locks.callback(writers[-1].abandon)
    return evaluation, writers


def _draws(store: Store, suite: Suite, how: RunConfig) -> dict[str, str]:
    """Target -> draw of its run, for all that may find replies in the journal."""
    if how.resume:
        runs = store.runs_of(store.run(how.resume).evaluation)
        return {run.target: run.manifest["draw"] for run in runs if run.state != "finished"}
    return {} if how.fresh else dict.fromkeys(suite.targets, "")


def _refuse_changes(runs: Sequence[Run], plan: Mapping[str, Any], *, allow: bool) -> None:
    for run in runs:
        if run.target not in plan:
            raise ConfigError(f"run {run.id} is of target {run.target!r}, which is not in the configuration any more")
        changed = changed_keys(run.first_manifest, plan[run.target])
        if changed and not allow:
            raise ConfigError(
                f"run {run.id} ({run.target}) cannot be resumed: changed since it was started: {', '.join(changed)}. "
                "Undo that, start a new run, or resume with --allow-changed"
            )


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end; in a thread of its own where this one has a running event loop already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        is_running = False
    else:
        is_running = True
    if not is_running:  # not above: whatever it raises would be "during the handling" of that error
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


@contextlib.asynccontextmanager
async def shown(targets: Sequence[Progress]) -> AsyncIterator[None]:
    """Show the progress of the targets on standard error while the block runs; elsewhere than there, show nothing.

    Args:
        targets: grows, and its entries change, during the run.
    """
    to = sys.stderr
    # Whether a carriage return begins the line anew: in a terminal, and in the output of a notebook's cell.
    if not (to is not None and (to.isatty() or type(to).__module__.startswith("ipykernel."))):
        yield
        return
    watch = asyncio.create_task(_watch(to, targets))
    try:
        yield
    finally:
        watch.cancel()
        with contextlib.suppress(asyncio.CancelledError, OSError):  # the terminal may have been closed
            await watch


async def _watch(to: TextIO, targets: Sequence[Progress]) -> None:
    began, last = time.monotonic(), ""
    await asyncio.sleep(_FIRST_S)
    try:
        while True:
            last = _redraw(to, targets, began, last)
            await asyncio.sleep(_REFRESH_S)
    finally:
        if last:
            _redraw(to, targets, began, last)
            print(file=to, flush=True)


def _redraw(to: TextIO, targets: Sequence[Progress], began: float, last: str) -> str:
    """Write the line over the `last` one."""
    from rich.cells import cell_len, set_cell_size  # only where a line is shown

    line = progress_text(targets, time.monotonic() - began)
    width = shutil.get_terminal_size().columns - 1
    line = line if cell_len(line) <= width else set_cell_size(line, width)
    print(f"\r{line}{' ' * max(0, cell_len(last) - cell_len(line))}", end="", file=to, flush=True)
    return line


def progress_text(targets: Sequence[Progress], seconds: float) -> str:
    """The progress of all targets in one line.

    Args:
        targets: those of one evaluation.
        seconds: since it began.

    >>> progress_text([Progress("gpt", 200, 50, errors=1)], 10.0)
    'gpt: 50 of 200 (25 %), 1 error, 30 s left'
    """
    done, planned = sum(target.done for target in targets), sum(target.planned for target in targets)
    here = done - sum(target.before for target in targets)
    left = sum(target.planned - target.done for target in targets if not target.is_over)
    name = visible(targets[0].target) if len(targets) == 1 else f"{len(targets)} targets"
    parts = [f"{name}: {done:,} of {planned:,} ({done_text(done, planned)})"]
    if errors := sum(target.errors for target in targets):
        parts.append(count_text(errors, "error"))
    parts.append(f"{left * seconds / here:,.0f} s left" if left and here else f"{seconds:,.0f} s")
    return ", ".join(parts)
