"""Run a suite from a terminal: shows its cost before, its progress meanwhile, and stops it on Ctrl-C and other signals.

On a terminal the progress is a table of all targets that is redrawn and erased at the end; elsewhere it is a plain line
every ten seconds and one at the end of each target. `--dry-run` prints the calls and tokens of each stage alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from steelyard.analysis.numbers import (
    count_text,
    done_text,
    duration_text,
    money_text,
    rate_text,
    score_phrase,
    value_text,
)
from steelyard.cli.options import store_option
from steelyard.cli.output import while_read
from steelyard.escaping import visible
from steelyard.evaluation import RunConfig, RunHandle, Suite, aevaluate_suite
from steelyard.evaluation.dry_run import Estimate, estimate
from steelyard.evaluation.scorer_infos import prompt_hints
from steelyard.report.progress import budget_use, retry_text
from steelyard.report.render.terminal import console, fitting_columns, print_json, print_sections, say, table
from steelyard.report.run_texts import one_line
from steelyard.report.section import Section, SectionTable, TableCell, TableColumn, sentences, text_row
from steelyard.runner import Progress
from steelyard.store import Run

_REFRESH_S: Final = 0.25
_PLAIN_S: Final = 10.0
"""Seconds between the plain lines where there is no terminal."""
_OTHER_LINES: Final = 5
"""Lines of the screen not used by targets: header, row of all targets, the shell's prompt, the message of Ctrl-C."""
_COLUMNS: Final = ("target", "", "done", "so far", "errors", "rate", "left", "cost")
_DROPPED: Final = tuple(_COLUMNS.index(name) for name in ("rate", "cost", "left", "errors", "", "so far"))
"""Columns that are left out on a narrow terminal, in this order."""
_BAR_CELLS: Final = 10
_BARS_FROM: Final = 64
"""Width of a terminal, in columns, from which bars are shown."""


def run_suite(suite: Suite, how: RunConfig, *, quiet: bool) -> tuple[Run, ...]:
    """Run every target of a suite with progress; the first Ctrl-C finishes what is in flight.

    Raises:
        KeyboardInterrupt: a second Ctrl-C stopped it at once.
    """

    async def work() -> tuple[Run, ...]:
        control = RunHandle()
        with _stopping(control):
            async with shown(console(stderr=True), control, quiet=quiet):
                return await aevaluate_suite(suite, how=how, control=control, on_broken="return")

    try:
        return asyncio.run(work())
    except asyncio.CancelledError as stopped:
        message = f"stopped at once; all replies are stored. Resume with: steelyard resume{store_option(how.store)}"
        typer.echo(message, err=True)
        raise KeyboardInterrupt from stopped


@contextlib.contextmanager
def _stopping(control: RunHandle) -> Iterator[None]:
    """Ctrl-C, SIGTERM or SIGHUP finish what is in flight; a second Ctrl-C or SIGTERM stops at once.

    A closed terminal sends SIGHUP, often twice, and a service manager sends it after SIGTERM, so SIGHUP never counts
    as the second. If it was ignored from the start (nohup), it stays ignored.
    """
    loop, stop = asyncio.get_running_loop(), _Stop(control, asyncio.current_task())
    handlers: dict[int, Callable[[], None]] = {
        signal.SIGINT: stop.first_or_second,
        signal.SIGTERM: stop.first_or_second,
    }
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        handlers[signal.SIGHUP] = stop.drain
    for signum, handler in handlers.items():
        loop.add_signal_handler(signum, handler)
    try:
        yield
    finally:
        for signum in handlers:
            loop.remove_signal_handler(signum)


@dataclass(slots=True)
class _Stop:
    """The effect of a signal on a run."""

    control: RunHandle
    task: asyncio.Task[Any] | None
    draining: bool = False

    def first_or_second(self) -> None:
        """Drain the run; if it is draining already, stop it at once."""
        if self.draining:
            self._at_once()
        else:
            self.draining = True
            self.drain()

    def drain(self) -> None:
        """Send nothing more and finish what is in flight."""
        if self.control.stop is None:
            self._at_once()
            return
        in_flight = sum(progress.in_flight for progress in self.control.progress)
        self.control.stop("interrupted")
        with while_read():  # the terminal may be closed: a failed print must not keep the run from stopping
            typer.echo(f"\nStopping after {count_text(in_flight, 'running sample')}. Ctrl-C again: stop now.", err=True)

    def _at_once(self) -> None:
        if self.task is not None:
            self.task.cancel()


@contextlib.asynccontextmanager
async def shown(to: Console, control: RunHandle, *, quiet: bool) -> AsyncIterator[None]:
    """Show the progress of the targets while the block runs.

    Args:
        to: standard error.
        control: its list of targets grows, and their entries change, during the run.
        quiet: show nothing.
    """
    if quiet:
        yield
        return
    lines = _PlainLines(to, control)
    watch = asyncio.create_task(_live(to, control) if to.is_terminal else lines.watch())
    try:
        yield
    finally:
        watch.cancel()
        with contextlib.suppress(asyncio.CancelledError), while_read():  # the terminal may have been closed
            await watch
        if not to.is_terminal:
            lines.print_new()


async def _live(to: Console, control: RunHandle) -> None:
    with Live(_screen(to, control), console=to, auto_refresh=False, transient=True) as live:
        while True:
            live.update(_screen(to, control), refresh=True)
            await asyncio.sleep(_REFRESH_S)


class _PlainLines:
    """Prints a line when a target ends, and every ten seconds while it advances."""

    def __init__(self, to: Console, control: RunHandle) -> None:
        self._to = to
        self._control = control
        self._last: dict[str, tuple[int, float]] = {}
        self._retries = ""

    async def watch(self) -> None:
        """Print new lines until the task is cancelled."""
        while True:
            await asyncio.sleep(_REFRESH_S)
            self.print_new()

    def print_new(self) -> None:
        """Print a line for each target that has one due."""
        now = time.monotonic()
        for progress in self._control.progress:
            done, at = self._last.get(progress.target, (progress.before, progress.started))
            if progress.done > done and (progress.is_over or now - at > _PLAIN_S):
                self._last[progress.target] = (progress.done, now)
                with while_read():
                    say(self._to, f"{progress.target}: {_words(progress, self._currency)}")
                # Print the retries of all targets together, if they have changed since the last such line.
                retries = retry_text(self._control.retries)
                if retries != self._retries:
                    self._retries = retries
                    with while_read():
                        say(self._to, f"all targets: {retries}")
                if self._control.workers:
                    with while_read():
                        say(self._to, self._control.workers)

    @property
    def _currency(self) -> str:
        return self._control.meter.currency if self._control.meter else ""


def _screen(to: Console, control: RunHandle) -> Group:
    """The table of targets, then the lines about all of them."""
    footer = list(_footer(to, control))
    shown_targets = _in_view(control.progress, to.height - _OTHER_LINES - len(footer))
    return Group(_table(to, shown_targets, control), *footer)


def _footer(to: Console, control: RunHandle) -> Iterator[Text]:
    """Tokens, workers, retries, budget and the last error, one line each; empty ones are left out."""
    progress = control.progress
    tokens = sum(target.input_tokens + target.output_tokens for target in progress)
    cached = sum(target.from_journal for target in progress)
    counts = [f"{tokens:,} tokens"] if tokens else []
    counts += [f"{count_text(cached, 'reply')} from the journal"] if cached else []
    retries = retry_text(control.retries)
    meter = control.meter
    uses = budget_use(asdict(meter.budget), meter.spent, meter.currency) if meter else ()
    error = next((target.last_error for target in reversed(progress) if target.last_error), "")
    lines = (
        ", ".join(counts),
        control.workers,
        retries,
        f"budget: {', '.join(map(str, uses))}" if uses else "",
        one_line(visible(f"last error: {error}"), to.width) if error else "",
    )
    yield from (Text(visible(line)) for line in lines if line)


def _table(to: Console, targets: Sequence[Progress], control: RunHandle) -> Table:
    currency = control.meter.currency if control.meter else ""
    cells = _BAR_CELLS if to.width >= _BARS_FROM else 0
    rows = [_row(progress, currency, cells) for progress in targets]
    if len(control.progress) > 1:
        rows.append(_total(control.progress, currency, cells))
    # A column that is empty for all targets would only take room.
    empty = [column for column in range(len(_COLUMNS)) if not any(row[column] for row in rows)]
    shown_columns = fitting_columns(_COLUMNS, rows, to.width, elastic=[0], droppable=_DROPPED)
    shown_columns = [column for column in shown_columns if column not in empty]
    return table(
        [_COLUMNS[column] for column in shown_columns],
        [[row[column] for column in shown_columns] for row in rows],
        right=range(1, len(shown_columns)),
        lines=1,
        width=to.width,
    )


def _in_view(targets: Sequence[Progress], most: int) -> Sequence[Progress]:
    """The targets around the running one, if there are more than fit on the screen."""
    running = next((at for at, progress in enumerate(targets) if not progress.is_over), len(targets))
    first = max(0, min(running - most // 2, len(targets) - most))
    return targets[first : first + max(1, most)]


def _row(progress: Progress, currency: str, cells: int) -> list[str]:
    rate = 0.0 if progress.is_over else _rate(progress)
    return [
        progress.target,
        _bar(progress.done, progress.planned, cells),
        f"{progress.done}/{progress.planned}",
        _score(progress),
        f"{progress.errors}" if progress.errors else "",
        rate_text(rate) if rate else "",
        _left(progress, rate),
        money_text(progress.cost, currency) if progress.cost else "",
    ]


def _total(targets: Sequence[Progress], currency: str, cells: int) -> list[str]:
    """The row of all targets together; the time left assumes the running target's rate for those not yet started."""
    done, planned = sum(target.done for target in targets), sum(target.planned for target in targets)
    unfinished = [target for target in targets if not target.is_over]
    rate = sum(map(_rate, unfinished))
    left = sum(target.planned - target.done for target in unfinished)
    errors, cost = sum(target.errors for target in targets), sum(target.cost for target in targets)
    return [
        "all",
        _bar(done, planned, cells),
        f"{done}/{planned}",
        "",
        f"{errors}" if errors else "",
        "",
        duration_text(left / rate) if rate else "",
        money_text(cost, currency) if cost else "",
    ]


def _bar(done: int, planned: int, cells: int) -> str:
    """The share that is done, as a bar of so many cells and in percent."""
    filled = cells * done // max(1, planned)
    return f"{'█' * filled}{'░' * (cells - filled)} {done_text(done, planned):>5}"


def _score(progress: Progress) -> str:
    """The headline score so far; without an interval, which would tempt people to stop when it looks good."""
    mean = progress.running.mean(progress.info)
    return "" if mean is None else value_text(mean, share=progress.running.is_share(progress.info))


def _words(progress: Progress, currency: str) -> str:
    rate = _rate(progress)
    parts = [f"{progress.done} of {progress.planned} done ({done_text(progress.done, progress.planned)})"]
    parts += ["ended early"] if progress.ended_early else []
    if score := _score(progress):
        parts.append(f"{score_phrase(progress.score)} {score} {'' if progress.is_over else 'so far'}".rstrip())
    parts.append(count_text(progress.errors, "error"))
    tokens = progress.input_tokens + progress.output_tokens
    parts += [f"{tokens:,} tokens"] if tokens else []
    parts += [money_text(progress.cost, currency)] if progress.cost else []
    if rate and not progress.is_over:
        parts += [rate_text(rate), f"{_left(progress, rate)} left"]
    return ", ".join(parts)


def _rate(progress: Progress) -> float:
    """Samples per second of this process; 0 before the first. Samples done before a resume are not counted."""
    seconds = time.monotonic() - progress.started
    here = progress.done - progress.before
    return here / seconds if here and seconds > 0 else 0.0


def _left(progress: Progress, rate: float) -> str:
    """The expected time left; "" without a rate."""
    return "" if not rate or progress.is_over else duration_text((progress.planned - progress.done) / rate)


_HEADS = ("stage", "records", "calls", "cached", "tokens in", "tokens out")


def print_estimate(suites: Sequence[Suite], store: str | None, *, fresh: bool, as_json: bool) -> None:
    """Print the calls, tokens and cost expected of running the suites."""
    estimates = [entry for suite in suites for entry in asyncio.run(estimate(suite, store=store, fresh=fresh))]
    if as_json:
        print_json(estimates)
    else:
        hints = dict.fromkeys(hint for suite in suites for hint in prompt_hints(suite.all_scorers))
        print_sections(console(), [_section(estimates, hints)])


def say_cost(suite: Suite, store: str | Path | None, *, fresh: bool) -> None:
    """Print on standard error what running a suite will cost; nothing if it calls no model."""
    stages = [stage for entry in asyncio.run(estimate(suite, store=store, fresh=fresh)) for stage in entry.stages]
    calls, cached = sum(stage.calls for stage in stages), sum(stage.in_journal for stage in stages)
    if calls:
        tokens = sum(stage.input_tokens for stage in stages)
        size = f" of about {tokens:,} input tokens" if tokens else ""
        known = f", {cached:,} more are cached" if cached else ""
        say(console(stderr=True), f"{count_text(calls - cached, 'call')}{size} will be sent{known}; Ctrl-C stops")


def run_with_cost(suite: Suite, *, how: RunConfig, quiet: bool = False) -> Sequence[Run]:
    """Print the expected cost of a suite, then run it with progress."""
    if not quiet:
        say_cost(suite, how.store, fresh=how.fresh)
    return run_suite(suite, how, quiet=quiet)


def _section(estimates: Sequence[Estimate], hints: Iterable[str] = ()) -> Section:
    # Without any price the column of costs would hold only question marks.
    priced = any(stage.money is not None for entry in estimates for stage in entry.stages)
    heads = [*_HEADS, "cost"] if priced else _HEADS
    columns = (TableColumn("target", "name"), TableColumn(heads[0], "text"), *map(TableColumn, heads[1:]))
    rows = tuple(row[: len(columns)] for entry in estimates for row in _rows(entry))
    return Section("", SectionTable(columns, rows), notes=sentences([*_notes(estimates), *hints]))


def _notes(estimates: Sequence[Estimate]) -> Iterator[str]:
    stages = [stage for entry in estimates for stage in entry.stages]
    if not stages:
        yield "No target or scorer calls a model: no call would be sent."
        return
    new = sum(entry.calls - entry.in_journal for entry in estimates)
    judged = any(stage.stage != "target" for stage in stages)
    yield (
        f"{new} calls would be sent; retries come on top. Tokens in are an estimate"
        f"{', for judges without the answers that they will see' if judged else ''}, tokens out the most that "
        "max_tokens allows (? where it is not set). Nothing was sent."
    )
    if texts := sum(stage.embedded_texts for stage in stages):
        calls = sum(stage.embedding_calls for stage in stages)
        yield f"{calls} of the calls are for embeddings: {texts} texts, each chunk of a document counted once."
    yield _cost(estimates)
    if any(entry.minutes for entry in estimates):
        yield f"At the rate limits it takes at least {sum(entry.minutes or 0.0 for entry in estimates):.1f} minutes."


def _cost(estimates: Sequence[Estimate]) -> str:
    """The total cost at the suite's prices; "" without prices."""
    stages = [(entry, stage) for entry in estimates for stage in entry.stages]
    priced = [stage.money for _, stage in stages if stage.money is not None]
    if not priced:
        return ""
    unlimited = any(stage.calls > stage.in_journal and not stage.output_tokens for _, stage in stages)
    least = "at least " if unlimited or len(priced) < len(stages) else ""
    why = ", since max_tokens is not set for all" if unlimited else ""
    some = "" if len(priced) == len(stages) else "; some models have no price"
    slower = [stage.tier_money for _, stage in stages if stage.tier_money is not None]
    if sum(slower) != sum(priced):
        some = (
            f", or {money_text(sum(slower), stages[0][0].currency)} where the slower service answers every call{some}"
        )
    return f"It would cost {least}{money_text(sum(priced), stages[0][0].currency)}{why}{some}."


def _rows(estimate: Estimate) -> Iterator[tuple[TableCell, ...]]:
    """A row for the target and one for each judge."""
    if not estimate.asks:
        yield text_row(estimate.target, "target", str(estimate.records), "none", "0", "0", "0", "0")
    for stage in estimate.stages:
        limit = str(stage.output_tokens or ("?" if stage.calls > stage.in_journal else 0))
        counts = [str(stage.calls), str(stage.in_journal), str(stage.input_tokens), limit]
        cost = "?" if stage.money is None else money_text(stage.money, "")
        yield text_row(estimate.target, stage.stage, str(estimate.records), *counts, cost)
