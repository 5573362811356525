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
from rich.text import Text

from steelyard.runner import Progress
from steelyard.text.inert import visible

_REFRESH_S: Final = 0.25
_PLAIN_S: Final = 10.0
"""Where there is no terminal, a line this often, and one at the end of each target."""


@contextlib.asynccontextmanager
async def shown(to: Console, progress: Sequence[Progress], *, quiet: bool) -> AsyncIterator[None]:
    """Show `progress`, which grows and changes, while the block runs."""
    if quiet:
        yield
        return
    watch = asyncio.create_task(_live(to, progress) if to.is_terminal else _lines(to, progress))
    try:
        yield
    finally:
        watch.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watch


async def _live(to: Console, progress: Sequence[Progress]) -> None:
    with Live(_table(progress), console=to, auto_refresh=False, transient=True) as live:
        while True:
            live.update(_table(progress), refresh=True)
            await asyncio.sleep(_REFRESH_S)


async def _lines(to: Console, progress: Sequence[Progress]) -> None:
    told: dict[str, tuple[int, float]] = {}
    while True:
        await asyncio.sleep(_REFRESH_S)
        for one in progress:
            done, at = told.get(one.target, (0, one.started))
            now = time.monotonic()
            if one.done > done and (one.done == one.planned or now - at > _PLAIN_S):
                told[one.target] = (one.done, now)
                to.print(Text(visible(f"{one.target}: {_words(one)}")))


def _table(progress: Sequence[Progress]) -> Table:
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    made.add_column("target", overflow="ellipsis", no_wrap=True)
    for column in ("done", "errors", "per s", "tokens", "journal", "left"):
        made.add_column(column, justify="right", no_wrap=True)
    for one in progress:
        rate = _rate(one)
        left = _left(one, rate)
        made.add_row(
            Text(visible(one.target)),
            f"{one.done}/{one.planned}",
            str(one.errors),
            f"{rate:.1f}" if rate else "",
            str(one.input_tokens + one.output_tokens),
            str(one.from_journal),
            left,
        )
    return made


def _words(one: Progress) -> str:
    rate = _rate(one)
    parts = [f"{one.done} of {one.planned} done", f"{one.errors} errors"]
    if one.input_tokens + one.output_tokens:
        parts.append(f"{one.input_tokens + one.output_tokens} tokens")
    if rate and one.done < one.planned:
        parts += [f"{rate:.1f} per s", f"{_left(one, rate)} left"]
    return ", ".join(parts)


def _rate(one: Progress) -> float:
    """Samples a second of this process; 0 before the first."""
    seconds = time.monotonic() - one.started
    here = one.done - one.before
    return here / seconds if here and seconds > 0 else 0.0


def _left(one: Progress, rate: float) -> str:
    if not rate or one.done >= one.planned:
        return ""
    seconds = int((one.planned - one.done) / rate)
    hours, rest = divmod(seconds, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"
