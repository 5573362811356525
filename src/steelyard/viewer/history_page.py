"""One score of a suite over time, with people's notes; each run leads to its comparison with the one before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from steelyard.analysis.comparison.history import History, history_of
from steelyard.errors import ConfigError
from steelyard.people.labels import read_notes
from steelyard.report.charts.chart import TimelineChart
from steelyard.report.section import RunLink, Section
from steelyard.report.sections.history import history_sections, history_title
from steelyard.store.related_runs import past_data
from steelyard.viewer.named_address import given_name
from steelyard.viewer.pages import Pages, linked_page

_RUNS: Final = 50


def history_routes(pages: Pages) -> list[Route]:
    """The route of the page."""

    def over_time(request: Request) -> Response:
        past = past_runs(pages, request)
        runs = [run for run in pages.store.runs() if run.suite == past.suite]
        return pages.page(
            request,
            "suite_history.html.j2",
            suite=past.suite,
            title=history_title(past),
            sections=list(_with_links(pages, past)),
            targets=sorted({run.target for run in runs}),
            target=request.query_params.get("target", ""),
            scores=list(dict.fromkeys(name for run in runs for name in run.score_order)),
            score=past.score,
            first=not any(run.change for run in past.runs),
        )

    return [Route("/history/{suite:any}", over_time)]


def _with_links(pages: Pages, past: History) -> Iterator[Section]:
    """The sections, each point of the chart leading to the run's comparison with the one before, or to the run."""
    links = (
        RunLink(run.run, run.change.before, past.score) if run.change is not None else RunLink(run.run)
        for run in past.runs
    )
    addresses = [linked_page(pages.address, link) for link in links]
    for section in history_sections(past):
        if isinstance(chart := section.chart, TimelineChart):
            points = tuple(
                replace(point, link=address, label=f"{run.target} {run.run}")
                for point, run, address in zip(chart.points, past.runs, addresses, strict=True)
            )
            yield replace(section, chart=replace(chart, points=points))
        else:
            yield section


def past_runs(pages: Pages, request: Request) -> History:
    """The history of the suite that the path names, for the score and target of the query.

    Raises:
        ConfigError: there are none with scores.
    """
    suite = given_name(request, "suite")
    runs = [run for run in pages.store.runs() if run.suite == suite]
    if not runs:
        raise ConfigError(f"there is no run of a suite {suite!r} in the store")
    score, target = request.query_params.get("score", ""), request.query_params.get("target", "")
    scored_runs = [run for run in runs if target in {"", run.target} and run.manifest.get("scores")]
    if not scored_runs:
        raise ConfigError(f"no run of suite {suite!r} {f'and target {target!r} ' if target else ''}has scores")
    newest = scored_runs[:_RUNS][::-1]
    notes, older = read_notes(pages.store, newest), len(scored_runs) - len(newest)
    about = (score, older, sum(map(len, notes.values())))  # notes are added and never changed

    def compute() -> History:
        past = [(past_data(run), pages.summary(run)) for run in newest]
        return history_of(past, notes, score=score, older=older)

    return pages.kept("history", newest, about, compute)
