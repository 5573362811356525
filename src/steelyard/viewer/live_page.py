"""A run while it runs: its state in the store, sent to the page as it changes.

The run may be in another process or on another machine: only the store is read. Every second, or less often where
reading takes long, the state of all runs of the evaluation is read and sent as a server-sent event; a page whose
viewer was stopped reconnects when one answers. Counters are read that the run keeps, never its records, so that it
takes the same time for 100 samples as for 100,000.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from steelyard.analysis.model_calls import StageCost
from steelyard.analysis.numbers import cost_text, duration_text, money_text, rate_text, score_phrase, value_text
from steelyard.analysis.scores.score_infos import headline_score
from steelyard.errors import SteelyardError, StoreError
from steelyard.models.prices import units
from steelyard.plain_json import grouped
from steelyard.report.progress import BudgetUse, budget_use, retry_text
from steelyard.report.run_texts import one_line
from steelyard.store import Run, Store
from steelyard.store.counters import running_score, stage_costs
from steelyard.store.ended_runs import money_of
from steelyard.store.worker_rows import WorkerRow, workers_of
from steelyard.viewer.pages import Pages

_LEAST_S: Final = 1.0
_SHARE: Final = 20
"""A look at the store is followed by a pause of so many times as long as it took."""
_FAILURES: Final = 5
_MESSAGE: Final = 300
"""Characters of a failure's message that are shown."""
_WINDOW_S: Final = 30.0
"""The rate is that of the last so many seconds."""


@dataclass(frozen=True, slots=True)
class LiveRun:
    """A run at one moment, its figures as text.

    Args:
        run: id, target and counts.
        state: of the run; `waiting` where it will begin after another one.
        percent: of the planned records that are done, a whole number.
        rate: records a second or minute over the last half minute; "" where none was counted.
        left: how long the rest takes at that rate.
        score: the name of the headline score, as in a sentence.
        headline: its value so far, without an interval, which would tempt to stop when it looks good.
        tokens: in and out.
        cost: of all its replies; "" where it is not known.
    """

    run: Run
    state: str
    percent: int
    rate: str
    left: str
    score: str
    headline: str
    tokens: str
    cost: str


@dataclass(frozen=True, slots=True)
class LiveEnding:
    """Runs that ended in the same state for the same reason.

    Args:
        runs: in order; to resume one of them resumes all.
        state: of each.
        reason: likewise; "" where none was stored.
    """

    runs: Sequence[Run]
    state: str
    reason: str

    @classmethod
    def of(cls, runs: Sequence[Run]) -> list[LiveEnding]:
        """The endings of some runs: one for each state and reason, in order of first appearance."""
        by_ending = grouped(((run.state, run.reason), run) for run in runs)
        return [cls(several, state, reason) for (state, reason), several in by_ending.items()]


@dataclass(frozen=True, slots=True)
class LiveState:
    """All runs of an evaluation at one moment.

    Args:
        rows: one per run.
        done: records of all runs; likewise `planned`.
        percent: of all planned records that are done, a whole number.
        rate: of all runs; likewise `left`.
        budget: how far each of its limits is used.
        spent: money of all runs, where there are prices; "" else.
        retries: how many attempts were sent again and why; "" where none was.
        limited: model -> attempts that its endpoint refused with 429, most first.
        failures: run, sample and error of the last ones.
        endings: how the runs ended; empty as long as one is running.
        workers: the processes that share the samples; none where one process runs all.
    """

    rows: Sequence[LiveRun]
    done: int
    planned: int
    percent: int
    rate: str
    left: str
    budget: Sequence[BudgetUse]
    spent: str
    retries: str
    limited: Sequence[tuple[str, int]]
    failures: Sequence[tuple[Run, str, str]]
    endings: Sequence[LiveEnding]
    workers: Sequence[WorkerRow] = ()

    @property
    def ended(self) -> bool:
        """Whether no run is running any more, or all were deleted."""
        return bool(self.endings) or not self.rows


class LiveWatch:
    """Reads the progress of an evaluation for one page.

    Args:
        store: is only read.
        evaluation: its number.
    """

    def __init__(self, store: Store, evaluation: int) -> None:
        self._store = store
        self._evaluation = evaluation
        self._first_seen: dict[int, Run] = {}  # their manifests, which do not change, are read once
        self._seen: dict[int, list[tuple[float, int]]] = {}
        self._failures: tuple[Counter[int], list[tuple[Run, str, str]]] = Counter(), []

    def look(self, now: float) -> LiveState:
        """The state of all runs.

        Args:
            now: a monotonic clock, in seconds.
        """
        runs = self._store.runs_of(self._evaluation)
        states = _states(runs)
        rates = [self._rate(run, now) if state == "running" else None for run, state in zip(runs, states, strict=True)]
        rows = [self._row(*figures) for figures in zip(runs, states, rates, strict=True)]
        consumed = self._store.consumption(self._evaluation)
        done, planned = sum(run.done for run in runs), sum(run.planned for run in runs)
        rate = sum(filter(None, rates))
        ended = all(run.state != "running" for run in runs)
        limits = self._first_seen[runs[0].num].manifest.get("options", {}).get("budget") or {} if runs else {}
        counts: Counter[str] = Counter()
        for (_, fault), n in consumed.retries.items():
            counts[fault] += n
        return LiveState(
            rows,
            done,
            planned,
            _percent(done, planned),
            rate_text(rate) if rate else "",
            duration_text((planned - done) / rate) if rate and not ended else "",
            budget_use(limits, consumed.spent, consumed.currency) if runs else (),
            money_text(units(consumed.spent.money), consumed.currency) if consumed.spent.money else "",
            retry_text(counts),
            [(model, n) for (model, fault), n in consumed.retries.items() if fault == "rate_limit"],
            self._last_failures(runs),
            LiveEnding.of(runs) if ended else (),
            self._workers(),
        )

    def _workers(self) -> list[WorkerRow]:
        with self._store.reading() as connection:
            return workers_of(connection, self._evaluation)

    def _rate(self, run: Run, now: float) -> float | None:
        """Records a second over the last half minute; None at the first look."""
        moments = self._seen.setdefault(run.num, [])
        moments.append((now, run.done))
        while len(moments) > 2 and moments[1][0] < now - _WINDOW_S:
            moments.pop(0)
        since = now - moments[0][0]
        return (run.done - moments[0][1]) / since if since > 0.5 else None

    def _row(self, run: Run, state: str, rate: float | None) -> LiveRun:
        first_seen = self._first_seen.setdefault(run.num, run)
        name = headline_score(first_seen.manifest)
        with self._store.reading() as connection:
            score = running_score(connection, run.num, name)
            stages = stage_costs(connection, run.num, first_seen.stages)
        info = first_seen.score_infos.get(name)
        mean = score.mean(info)
        return LiveRun(
            run,
            state,
            _percent(run.done, run.planned),
            rate_text(rate) if rate else "",
            duration_text((run.planned - run.done) / rate) if rate else "",
            score_phrase(name) if name else "",
            "" if mean is None else value_text(mean, share=score.is_share(info)),
            _tokens(stages),
            cost_text(money_of(stages)),
        )

    def _last_failures(self, runs: Sequence[Run]) -> list[tuple[Run, str, str]]:
        """The last failures; read again only when there are more, as that may take a pass over the records."""
        errors = Counter({run.num: run.errors for run in runs if run.errors})
        if errors != self._failures[0]:
            failures = [
                (run, record.sample.id, one_line(record.failure.message, _MESSAGE))
                for run in runs
                if run.errors
                for record in run.last_failures(_FAILURES)
                if record.failure
            ]
            self._failures = errors, failures[-_FAILURES:]
        return self._failures[1]


def live_routes(pages: Pages) -> list[Route]:
    """The page and its events."""

    def live(request: Request) -> Response:
        run = pages.run(request)
        state = LiveWatch(pages.store, run.evaluation).look(time.monotonic())
        at = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return pages.savable(request, "live.html.j2", f"{run.suite} live", run=run, live=state, saved_at=at)

    async def events(request: Request) -> Response:
        with contextlib.suppress(StoreError):  # told in an event: the browser connects again after no other answer
            await run_in_threadpool(pages.run, request)
        # nginx would otherwise buffer small events.
        headers = {"X-Accel-Buffering": "no"}
        return StreamingResponse(_events(pages, request), media_type="text/event-stream", headers=headers)

    return [Route("/live/{run}", live), Route("/live/{run}/events", events)]


async def _events(pages: Pages, request: Request) -> AsyncIterator[str]:
    watch: LiveWatch | None = None
    before = trouble = ""

    def look(now: float) -> tuple[LiveState | None, str]:
        """The state of all runs, or why the store cannot be read now: the page stays open until it can be again."""
        nonlocal watch
        try:
            watch = watch or LiveWatch(pages.store, pages.run(request).evaluation)
            return watch.look(now), ""
        except SteelyardError as error:
            return None, one_line(f"The store cannot be read: {error}", _MESSAGE)

    yield ": open\n\n"  # the page is connected before the first look at the store
    while not await request.is_disconnected():
        began = time.monotonic()
        state, fault = await run_in_threadpool(look, began)
        if fault != trouble:
            trouble = fault
            yield f"event: trouble\ndata: {fault}\n\n"
        text = before if state is None else pages.text(request, "live_rows.html.j2", live=state)
        if text != before:
            before = text
            yield "".join(f"data: {line}\n" for line in text.splitlines()) + "\n"
        if state is not None and state.ended:
            yield "event: ended\ndata: ended\n\n"
            return
        await asyncio.sleep(max(_LEAST_S, _SHARE * (time.monotonic() - began)))


def _states(runs: Sequence[Run]) -> list[str]:
    """The state of each run; `waiting` for one that has nothing yet while an earlier one is running."""
    states: list[str] = [run.state for run in runs]
    first_running = states.index("running") if "running" in states else len(runs)
    return [
        "waiting" if at > first_running and state == "running" and not run.done else state
        for at, (run, state) in enumerate(zip(runs, states, strict=True))
    ]


def _percent(done: int, planned: int) -> int:
    return 100 * done // max(1, planned)


def _tokens(stages: Sequence[StageCost]) -> str:
    tokens_in, tokens_out = sum(stage.input_tokens for stage in stages), sum(stage.output_tokens for stage in stages)
    cached = sum(stage.cached_tokens for stage in stages)
    of_these = f" ({cached:,} in the endpoint's cache)" if cached else ""
    return f"{tokens_in:,} in{of_these}, {tokens_out:,} out" if tokens_in or tokens_out else ""
