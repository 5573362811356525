"""Reports of runs, comparisons and histories as one file each, to be mailed and opened without a viewer."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from steelyard.config.given import was_given
from steelyard.errors import ConfigError
from steelyard.report.render.html import html_history, html_report
from steelyard.report.sections.gate import gate_of
from steelyard.store import Run
from steelyard.viewer.compare_page import refuse_unlike
from steelyard.viewer.history_page import past_runs
from steelyard.viewer.pages import Pages
from steelyard.viewer.run_page import pairwise_of
from steelyard.viewer.single_file import saved_as


def saved_routes(pages: Pages) -> list[Route]:
    """The routes that answer with a file; with several `run=ID` the first is the baseline."""

    def report(request: Request) -> Response:
        idents = [ident for ident in request.query_params.getlist("run") if ident]
        if not idents:
            raise ConfigError("name a run to save: /save?run=ID")
        runs = [pages.run_of(ident) for ident in dict.fromkeys(idents)]
        score = request.query_params.get("score") or None
        page = _report(pages, runs, score)
        return _file(page, f"{runs[0].suite} {' '.join(run.target for run in runs)}")

    def history(request: Request) -> Response:
        past = past_runs(pages, request)
        return _file(html_history(past), f"{past.suite} history")

    return [Route("/save", report), Route("/save/history/{suite:any}", history)]


def _report(pages: Pages, runs: list[Run], score: str | None) -> str:
    if len(runs) > 1:
        refuse_unlike(runs)
        return html_report(runs, pages.comparison(runs, score))
    (run,), summary = runs, pages.summary(runs[0])
    return html_report(runs, gate=gate_of(runs, [summary], may_open=was_given), pairwise=pairwise_of(run, summary))


def _file(page: str, name: str) -> Response:
    """An answer that browsers save: the file has a policy of its own, as the viewer's would not let its script run."""
    return HTMLResponse(page, headers=saved_as(f"{name}.html"))
