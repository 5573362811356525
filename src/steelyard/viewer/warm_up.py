"""Preparations for the first pages, done when the server is up, so that nobody who opens the list or a run waits.

Of two runs of 100,000 samples, the first look at the list took 0.7 s of CPU, most of it for the runs' summaries, and
the first look at a run 0.24 s. Comparisons and search indexes are not prepared: they take seconds and memory, and may
never be needed.
"""

from __future__ import annotations

from typing import Final

from starlette.concurrency import run_in_threadpool

from steelyard.store.marks import read_marks
from steelyard.viewer.pages import Pages

_RUNS: Final = 50
"""As many as the list shows first."""
_TEMPLATES: Final = ("runs.html.j2", "runs_table.html.j2", "run.html.j2", "samples.html.j2", "sample.html.j2")


async def warm_up(pages: Pages) -> None:
    """Start computing the figures of the newest runs and loading their templates; waits for none of it."""
    # In a thread of Starlette's, since the first one that is used loads what all need.
    await run_in_threadpool(pages.figures.later, _prepare, pages)


def _prepare(pages: Pages) -> None:
    for name in _TEMPLATES:
        pages.load(name)
    marks = read_marks(pages.store)
    newest_runs = [run for run in pages.store.runs() if not (run.num in marks and marks[run.num].archived)][:_RUNS]
    for run in newest_runs[:1]:
        run.page(n=1, where="wrong")  # loads what reads pages
        pages.summary(run)  # and what reads stored summaries
    # This is the thread that computes them: they are queued, and waiting for them would be for ever.
    pages.figures.of(newest_runs, pages.baselines(), patience_s=0)
