"""Run a suite from a terminal: progress while it runs, and what Ctrl-C and other signals do to it.

On a terminal the progress is a table that is redrawn and erased at the end; elsewhere it is a plain line every ten
seconds and one at the end of each target.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

from steelyard.cli.options import store_option
from steelyard.cli.output import while_read
from steelyard.report.terminal import console, say, table
from steelyard.runner import Progress

if TYPE_CHECKING:
    from steelyard.store import Run
    from steelyard.suite import RunConfig, RunHandle, Suite

_REFRESH_S: Final = 0.25
_PLAIN_S: Final = 10.0
"""Interval of the plain lines where there is no terminal."""
_OTHER_LINES: Final = 4
"""Lines of the screen that the table leaves free, for its header, the shell's prompt, and the message of Ctrl-C."""


def run_suite(suite: Suite, how: RunConfig, *, quiet: bool) -> tuple[Run, ...]:
    """Run every target of a suite with progress; the first Ctrl-C finishes what is in flight.

    Raises:
        KeyboardInterrupt: a second Ctrl-C stopped it at once.
    """
    from steelyard.suite import RunHandle, aevaluate_suite

    async def work() -> tuple[Run, ...]:
        control = RunHandle()
        with _stopping(control):
            async with shown(console(stderr=True), control.progress, quiet=quiet):
                return await aevaluate_suite(suite, how=how, control=control)

    try:
        return asyncio.run(work())
    except asyncio.CancelledError as stopped:
        message = f"stopped at once; all replies are kept. Resume with: steelyard resume{store_option(how.store)}"
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
    """What a signal does to a run."""

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
            typer.echo(f"\nfinishing {in_flight} samples in flight; again to stop at once", err=True)

    def _at_once(self) -> None:
        if self.task is not None:
            self.task.cancel()


@contextlib.asynccontextmanager
async def shown(to: Console, targets: Sequence[Progress], *, quiet: bool) -> AsyncIterator[None]:
    """Show the progress of the targets while the block runs.

    Args:
        to: standard error.
        targets: one entry per target; the list grows and its entries change during the run.
        quiet: show nothing.
    """
    if quiet:
        yield
        return
    last_lines: dict[str, tuple[int, float]] = {}
    watch = asyncio.create_task(_live(to, targets) if to.is_terminal else _lines(to, targets, last_lines))
    try:
        yield
    finally:
        watch.cancel()
        with contextlib.suppress(asyncio.CancelledError), while_read():  # the terminal may have been closed
            await watch
        if not to.is_terminal:
            _tell(to, targets, last_lines)


async def _live(to: Console, targets: Sequence[Progress]) -> None:
    with Live(_table(to, targets), console=to, auto_refresh=False, transient=True) as live:
        while True:
            live.update(_table(to, targets), refresh=True)
            await asyncio.sleep(_REFRESH_S)


async def _lines(to: Console, targets: Sequence[Progress], last_lines: dict[str, tuple[int, float]]) -> None:
    while True:
        await asyncio.sleep(_REFRESH_S)
        _tell(to, targets, last_lines)


def _tell(to: Console, targets: Sequence[Progress], last_lines: dict[str, tuple[int, float]]) -> None:
    """Print a line for each target that has ended, or that has advanced since its last line ten seconds ago.

    Args:
        to: where.
        targets: their progress.
        last_lines: target -> (samples done, clock) of its last line; updated.
    """
    now = time.monotonic()
    for progress in targets:
        done, at = last_lines.get(progress.target, (progress.before, progress.started))
        if progress.done > done and (progress.is_over or now - at > _PLAIN_S):
            last_lines[progress.target] = (progress.done, now)
            with while_read():
                say(to, f"{progress.target}: {_words(progress)}")


def _table(to: Console, targets: Sequence[Progress]) -> Table:
    rows = [_row(progress) for progress in _in_view(targets, to.height - _OTHER_LINES)]
    columns = ["target", "done", "errors", "per s", "tokens", "cached", "left"]
    return table(columns, rows, right=(1, 2, 3, 4, 5, 6), lines=1)


def _in_view(targets: Sequence[Progress], most: int) -> Sequence[Progress]:
    """The targets around the running one, if there are more than fit on the screen."""
    running = next((at for at, progress in enumerate(targets) if not progress.is_over), len(targets))
    first = max(0, min(running - most // 2, len(targets) - most))
    return targets[first : first + max(1, most)]


def _row(progress: Progress) -> list[str]:
    rate = 0.0 if progress.is_over else _rate(progress)
    return [
        progress.target,
        f"{progress.done}/{progress.planned}",
        str(progress.errors),
        f"{rate:.1f}" if rate else "",
        str(progress.input_tokens + progress.output_tokens),
        str(progress.from_journal),
        _left(progress, rate),
    ]


def _words(progress: Progress) -> str:
    rate = _rate(progress)
    early = ["ended early"] if progress.ended_early else []
    parts = [f"{progress.done} of {progress.planned} done", *early, f"{progress.errors} errors"]
    if progress.input_tokens + progress.output_tokens:
        parts.append(f"{progress.input_tokens + progress.output_tokens} tokens")
    if rate and not progress.is_over:
        parts += [f"{rate:.1f} per s", f"{_left(progress, rate)} left"]
    return ", ".join(parts)


def _rate(progress: Progress) -> float:
    """Samples per second of this process; 0 before the first. A resume does not count what an earlier one did."""
    seconds = time.monotonic() - progress.started
    here = progress.done - progress.before
    return here / seconds if here and seconds > 0 else 0.0


def _left(progress: Progress, rate: float) -> str:
    """The expected time left, as m:ss or h:mm:ss; "" without a rate."""
    if not rate or progress.is_over:
        return ""
    seconds = int((progress.planned - progress.done) / rate)
    hours, rest = divmod(seconds, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"
