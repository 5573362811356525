"""Progress of a run: a live table on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from typing import Final

from rich.console import Console
from rich.live import Live
from rich.table import Table

from steelyard.cli.pipes import while_read
from steelyard.cli.tables import say, table
from steelyard.runner import Progress

_REFRESH_S: Final = 0.25
_PLAIN_S: Final = 10.0
"""Where there is no terminal, a line this often, and one at the end of each target."""
_OTHER_LINES: Final = 4
"""Of the screen: the header, and room for what the shell and a first Ctrl-C say."""


@contextlib.asynccontextmanager
async def shown(to: Console, progress: Sequence[Progress], *, quiet: bool) -> AsyncIterator[None]:
    """Show `progress`, which grows and changes, while the block runs."""
    if quiet:
        yield
        return
    told: dict[str, tuple[int, float]] = {}
    watch = asyncio.create_task(_live(to, progress) if to.is_terminal else _lines(to, progress, told))
    try:
        yield
    finally:
        watch.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watch
        if not to.is_terminal:
            _tell(to, progress, told)


async def _live(to: Console, progress: Sequence[Progress]) -> None:
    with Live(_table(to, progress), console=to, auto_refresh=False, transient=True) as live:
        while True:
            live.update(_table(to, progress), refresh=True)
            await asyncio.sleep(_REFRESH_S)


async def _lines(to: Console, progress: Sequence[Progress], told: dict[str, tuple[int, float]]) -> None:
    while True:
        await asyncio.sleep(_REFRESH_S)
        _tell(to, progress, told)


def _tell(to: Console, progress: Sequence[Progress], told: dict[str, tuple[int, float]]) -> None:
    """A line for every target that has come to its end, or that has gone on and was not told of for a while."""
    now = time.monotonic()
    for one in progress:
        done, at = told.get(one.target, (one.before, one.started))
        if one.done > done and (one.is_over or now - at > _PLAIN_S):
            told[one.target] = (one.done, now)
            with while_read():
                say(to, f"{one.target}: {_words(one)}")


def _table(to: Console, progress: Sequence[Progress]) -> Table:
    rows = [_row(one) for one in _in_view(progress, to.height - _OTHER_LINES)]
    columns = ["target", "done", "errors", "per s", "tokens", "journal", "left"]
    return table(columns, rows, right=(1, 2, 3, 4, 5, 6), lines=1)


def _in_view(progress: Sequence[Progress], most: int) -> Sequence[Progress]:
    """The targets around the one at work, where there are more than lines on the screen."""
    at_work = next((at for at, one in enumerate(progress) if not one.is_over), len(progress))
    first = max(0, min(at_work - most // 2, len(progress) - most))
    return progress[first : first + max(1, most)]


def _row(one: Progress) -> list[str]:
    rate = 0.0 if one.is_over else _rate(one)
    return [
        one.target,
        f"{one.done}/{one.planned}",
        str(one.errors),
        f"{rate:.1f}" if rate else "",
        str(one.input_tokens + one.output_tokens),
        str(one.from_journal),
        _left(one, rate),
    ]


def _words(one: Progress) -> str:
    rate = _rate(one)
    early = ["ended early"] if one.ended_early else []
    parts = [f"{one.done} of {one.planned} done", *early, f"{one.errors} errors"]
    if one.input_tokens + one.output_tokens:
        parts.append(f"{one.input_tokens + one.output_tokens} tokens")
    if rate and not one.is_over:
        parts += [f"{rate:.1f} per s", f"{_left(one, rate)} left"]
    return ", ".join(parts)


def _rate(one: Progress) -> float:
    """Samples a second of this process; 0 before the first."""
    seconds = time.monotonic() - one.started
    here = one.done - one.before
    return here / seconds if here and seconds > 0 else 0.0


def _left(one: Progress, rate: float) -> str:
    if not rate or one.is_over:
        return ""
    seconds = int((one.planned - one.done) / rate)
    hours, rest = divmod(seconds, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"
