"""Shows the progress of an evaluation that was started from Python: one line of a terminal or of a notebook's cell."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sys
import time
from collections.abc import AsyncIterator, Sequence
from typing import Final, TextIO

from steelyard.analysis.numbers import count_text, done_text
from steelyard.escaping import visible
from steelyard.runner import Progress

_FIRST_S: Final = 0.5
"""An evaluation that takes less shows no line: most of those of a test or an example."""
_REFRESH_S: Final = 0.25


@contextlib.asynccontextmanager
async def shown(targets: Sequence[Progress]) -> AsyncIterator[None]:
    """Show the progress of the targets on standard error while the block runs; elsewhere than there, show nothing.

    Args:
        targets: grows, and its entries change, during the run.
    """
    to = sys.stderr
    if not _redraws(to):
        yield
        return
    watch = asyncio.create_task(_watch(to, targets))
    try:
        yield
    finally:
        watch.cancel()
        with contextlib.suppress(asyncio.CancelledError, OSError):  # the terminal may have been closed
            await watch


def _redraws(to: TextIO | None) -> bool:
    """Whether a carriage return begins the line anew: in a terminal, and in the output of a notebook's cell."""
    return to is not None and (to.isatty() or type(to).__module__.startswith("ipykernel."))


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
