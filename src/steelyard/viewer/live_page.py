"""A run while it runs: what the store has of it, sent to the page as it changes.

The run may be in another process or on another machine: nothing but the store is looked at. Every second, or less often
where looking takes long, the state of all runs of the evaluation is read and sent as a server-sent event; a page whose
viewer was stopped asks again until one answers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from steelyard.report.numbers import value_text
from steelyard.store import Run
from steelyard.viewer.pages import Pages

_LEAST_S: Final = 1.0
_SHARE: Final = 20
"""A look at the store is followed by a pause of so many times as long as it took."""
_FAILURES: Final = 5
_WINDOW_S: Final = 30.0
"""The rate is that of the last so many seconds."""


@dataclass(frozen=True, slots=True)
class LiveRun:
    """A run at one moment, its figures as text.

    Args:
        run: id, target and counts.
        state: of the run.
        percent: of the planned records that are done, a whole number.
        rate: records a second over the last half minute; "" where none was counted.
        left: how long the rest takes at that rate.
        score: name of the headline score.
        headline: its value so far, without an interval that would tempt to stop when it looks good.
        cost: of what was asked so far; "" where it is not known.
        tokens: in and out.
    """

    run: Run
    state: str
    percent: int
    rate: str
    left: str
    score: str
    headline: str
    cost: str
    tokens: str


class LiveRates:
    """Records a second of runs that are watched, from what was seen at earlier moments."""

    def __init__(self) -> None:
        self._seen: dict[int, list[tuple[float, int]]] = {}

    def rate(self, run: Run, now: float) -> float | None:
        """Records a second over the last half minute; None before a second moment."""
        seen = self._seen.setdefault(run.num, [])
        seen.append((now, run.done))
        while len(seen) > 2 and seen[1][0] < now - _WINDOW_S:
            seen.pop(0)
        since = now - seen[0][0]
        return (run.done - seen[0][1]) / since if since > 0.5 else None


def live_routes(pages: Pages) -> list[Route]:
    """The page and its events."""

    def live(request: Request) -> Response:
        run = pages.run(request)
        rows, failures = _look(pages, run, LiveRates())
        return pages.page(
            request, "live.html.j2", run=run, rows=rows, failures=failures, budget=_budget(run), ended=_ended(rows)
        )

    async def events(request: Request) -> Response:
        run = await run_in_threadpool(pages.run, request)
        return StreamingResponse(_events(pages, request, run), media_type="text/event-stream")

    return [Route("/live/{run}", live), Route("/live/{run}/events", events)]


async def _events(pages: Pages, request: Request, run: Run) -> AsyncIterator[str]:
    rates, before = LiveRates(), ""
    while not await request.is_disconnected():
        began = time.monotonic()
        rows, failures = await run_in_threadpool(_look, pages, run, rates)
        text = pages.text(request, "live_rows.html.j2", rows=rows, failures=failures, budget=_budget(run))
        if text != before:
            before = text
            yield "".join(f"data: {line}\n" for line in text.splitlines()) + "\n"
        if _ended(rows):
            yield "event: ended\ndata: ended\n\n"
            return
        await asyncio.sleep(max(_LEAST_S, _SHARE * (time.monotonic() - began)))


def _ended(rows: Sequence[LiveRun]) -> bool:
    return all(row.state != "running" for row in rows)


def _look(pages: Pages, run: Run, rates: LiveRates) -> tuple[list[LiveRun], list[tuple[str, str, str]]]:
    """All runs that were started together, and the last failures of this one: target, sample, error."""
    now = time.monotonic()
    runs = pages.store.runs_of(run.evaluation)
    rows = [_live(pages, each, rates.rate(each, now)) for each in runs]
    failures = [
        (each.target, record.sample.id, record.failure.message)
        for each in runs
        if each.errors
        for record in pages.last_failures(each, _FAILURES)
        if record.failure
    ]
    return rows, failures[-_FAILURES:]


def _live(pages: Pages, run: Run, rate: float | None) -> LiveRun:
    summary = pages.summary(run)
    score = summary.score(summary.primary)
    share = bool(score and score.is_share)
    costs = [stage.cost for stage in summary.stages if stage.cost]
    left = (run.planned - run.done) / rate if rate else None
    return LiveRun(
        run,
        run.state,
        100 * run.done // max(1, run.planned),
        f"{rate:,.1f}" if rate else "",
        duration_text(left) if left and run.state == "running" else "",
        summary.primary,
        value_text(score.headline.value, share=share) if score else "",
        " + ".join(costs),
        f"{summary.input_tokens:,} in, {summary.output_tokens:,} out",
    )


def _budget(run: Run) -> dict[str, str]:
    """What the configuration allows all runs of the evaluation together: name -> limit."""
    limits = run.manifest.get("options", {}).get("budget", {})
    return {name: f"{limit:,}" for name, limit in limits.items() if limit is not None}


def duration_text(seconds: float) -> str:
    """A duration for a person who waits.

    >>> duration_text(42), duration_text(330), duration_text(9000)
    ('42 s', '6 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
