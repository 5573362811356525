"""The list of runs: what each is, how far it is, what it says and what it cost, complete in the first answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from steelyard.analysis.summary_values import RunSummary
from steelyard.report.numbers import interval_text, value_text
from steelyard.store import Run
from steelyard.viewer.pages import Pages

_SHOWN: Final = 50
"""Runs on one page."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in the list, its figures as text."""

    id: str
    suite: str
    target: str
    state: str
    done: int
    planned: int
    errors: int
    score: str
    headline: str
    interval: str
    age: str
    started: str
    tags: Sequence[tuple[str, str]]

    @classmethod
    def of(cls, run: Run, summary: RunSummary, now: datetime) -> RunRow:
        """The row of a run."""
        score = summary.score(summary.primary)
        mean = score.headline if score else None
        share = bool(score and score.is_share)
        return cls(
            run.id,
            run.suite,
            run.target,
            run.state,
            run.done,
            run.planned,
            run.errors,
            summary.primary,
            value_text(mean.value, share=share) if mean else "",
            interval_text(mean.interval, share=share) if mean else "",
            age_text(now - run.created),
            run.created.isoformat(timespec="seconds"),
            tuple(run.tags.items()),
        )


def runs_routes(pages: Pages) -> list[Route]:
    """The routes of the list."""

    def runs(request: Request) -> Response:
        wanted = request.query_params.get("filter", "")
        suite = request.query_params.get("suite", "")
        everything = pages.store.runs()
        found = list(_matching(everything, wanted, suite))
        now = datetime.now(UTC)
        rows = [RunRow.of(run, pages.summary(run), now) for run in found[:_SHOWN]]
        return pages.page(
            request,
            "runs.html.j2",
            rows=rows,
            found=len(found),
            total=len(everything),
            wanted=wanted,
            suite=suite,
            suites=sorted({run.suite for run in everything}),
        )

    return [Route("/", runs)]


def _matching(runs: Iterable[Run], wanted: str, suite: str) -> Iterable[Run]:
    """Runs of a suite whose id, suite, target, state or tags have every word of the filter."""
    words = wanted.lower().split()
    for run in runs:
        text = " ".join([run.id, run.suite, run.target, run.state, *map("=".join, run.tags.items())]).lower()
        if suite in {"", run.suite} and all(word in text for word in words):
            yield run


def age_text(age: timedelta) -> str:
    """How long ago, in the largest unit.

    >>> age_text(timedelta(minutes=90))
    '1 h'
    """
    seconds = max(0, int(age.total_seconds()))
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return "now" if seconds < 10 else f"{seconds} s"
