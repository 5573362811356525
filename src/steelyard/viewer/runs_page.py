"""The list of runs: the progress, result and cost of each; and a form that marks the chosen ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from steelyard.analysis.numbers import score_title
from steelyard.errors import ConfigError
from steelyard.people.marks import NO_MARKS, RunMarks, baseline_refusal, baselines, read_marks
from steelyard.store import Run
from steelyard.viewer.pages import Pages, asks_for_file
from steelyard.viewer.run_figures import PATIENCE_S, VERDICTS, BaselineDifference, RunFigures
from steelyard.viewer.run_filter import STATES, MarkedRun, completions, filtered

_SHOWN: Final = 50
"""Runs on one page."""
_PATIENCE_OF_A_FILE_S: Final = 60.0
_GIVEN: Final = ("filter", "suite", "state", "archived", "group", "page")
"""Parameters of the query that select the runs."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in the list.

    Args:
        run: id, suite, target and counts.
        state: of the run.
        marks: of the run.
        target_tags: report columns of its target.
        figures: None where they are not computed yet.
        difference: to the pinned baseline; None where there is none to compare with, or it is not computed yet.
        computing: whether the difference is not computed yet.
        age: since its start.
        started: the moment.
        no_baseline: why it cannot be pinned as a baseline; "" where it can.
    """

    run: Run
    state: str
    marks: RunMarks
    target_tags: Sequence[tuple[str, str]]
    figures: RunFigures | None
    difference: BaselineDifference | None
    computing: bool
    age: str
    started: str
    no_baseline: str


def runs_routes(pages: Pages) -> list[Route]:
    """The routes of the list."""

    def runs(request: Request) -> Response:
        given = {name: request.query_params.get(name, "") for name in _GIVEN}
        listed = _listed(pages)
        now = datetime.now(UTC)
        try:
            matches, fault = filtered(_chosen(listed, given), given["filter"], now), ""
        except ConfigError as error:
            matches, fault = [], str(error)
        if given["group"]:
            matches.sort(key=lambda marked: marked.run.suite)  # the order within a suite stays
        page = _number_of(given["page"], -(-len(matches) // _SHOWN))
        # A file cannot have its figures filled in later.
        patience_s = _PATIENCE_OF_A_FILE_S if asks_for_file(request) else PATIENCE_S
        rows = _rows(pages, matches[(page - 1) * _SHOWN : page * _SHOWN], listed, now, patience_s)
        scores = {row.figures.score for row in rows if row.figures and row.figures.score}
        part: dict[str, Any] = {
            "title": score_title(next(iter(scores))) if len(scores) == 1 else "Score",
            "several": len(scores) > 1,
            "costs": any(row.figures.cost for row in rows if row.figures),
            "has_baseline": any(row.marks.baseline or row.difference or row.computing for row in rows),
            "has_errors": any(row.run.errors for row in rows),
            "has_tags": any(row.marks.tags or row.target_tags or row.marks.archived for row in rows),
            "groups": _groups(rows, grouped=bool(given["group"])),
            "given": given,
            "verdicts": VERDICTS,
            "fault": fault,
            "waiting": any(row.figures is None or row.computing for row in rows),
            "compared": any(row.difference for row in rows),
            "found": len(matches),
            "total": len(listed),
            "hidden": sum(marked.marks.archived for marked in listed) if not given["archived"] else 0,
            "page": page,
            "pages": -(-len(matches) // _SHOWN),
            "link": lambda **changed: pages.address("/", **{**given, "page": "", **changed}),
        }
        if request.headers.get("hx-target", "").endswith("#runs"):
            return pages.page(request, "runs_table.html.j2", **part)
        return pages.savable(
            request,
            "runs.html.j2",
            "runs",
            suites=sorted({marked.run.suite for marked in listed}),
            states=STATES,
            words=completions(listed),
            query=pages.query(**{name: value for name, value in given.items() if value}),
            **part,
        )

    return [Route("/", runs)]


def _listed(pages: Pages) -> list[MarkedRun]:
    """Every run, newest first."""
    marks = read_marks(pages.store)
    return [
        MarkedRun(run, marks.get(run.num, NO_MARKS), run.state, pages.target_tags(run)) for run in pages.store.runs()
    ]


def _chosen(listed: Sequence[MarkedRun], query: dict[str, str]) -> list[MarkedRun]:
    """The runs of a suite and a state; archived ones where the filter or the query asks for them."""
    archived = bool(query["archived"]) or "archived" in query["filter"]
    return [
        marked
        for marked in listed
        if query["suite"] in {"", marked.run.suite}
        and query["state"] in {"", marked.state}
        and (archived or not marked.marks.archived)
    ]


def _number_of(page: str, most: int) -> int:
    """The number of an existing page, whatever the address says."""
    return min(max(1, int(page) if page.isascii() and page.isdecimal() and len(page) < 10 else 1), max(1, most))


def _rows(
    pages: Pages, shown: Sequence[MarkedRun], listed: Sequence[MarkedRun], now: datetime, patience_s: float
) -> list[RunRow]:
    pinned = baselines((marked.run for marked in listed), {marked.run.num: marked.marks for marked in listed})
    figures, differences = pages.figures.of([marked.run for marked in shown], pinned, patience_s=patience_s)
    return [
        RunRow(
            marked.run,
            marked.state,
            marked.marks,
            tuple(marked.target_tags.items()),
            figures.get(marked.run.id),
            differences.get(marked.run.id),
            pages.figures.compares(marked.run, pinned) and marked.run.id not in differences,
            age_text(now - marked.run.created),
            marked.run.created.isoformat(timespec="seconds"),
            baseline_refusal(marked.run),
        )
        for marked in shown
    ]


def _groups(rows: Sequence[RunRow], *, grouped: bool) -> list[tuple[str, list[RunRow]]]:
    """(suite, rows) in the order of the rows; all under "" where they are not grouped."""
    if not grouped:
        return [("", list(rows))]
    return [(suite, list(of_suite)) for suite, of_suite in groupby(rows, key=lambda row: row.run.suite)]


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
