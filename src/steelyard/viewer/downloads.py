"""Files to download: reports of runs, comparisons and histories as one file each, and the records of a list of samples.

The reports can be mailed and opened without a viewer. The records are those of the page, filtered, searched and sorted
as there, all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from types import MappingProxyType
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from steelyard.errors import ConfigError
from steelyard.report.exports.records import csv, jsonl
from steelyard.report.render.html import html_history, html_report
from steelyard.store import Run
from steelyard.store.reading.search import search_run
from steelyard.types import Record
from steelyard.viewer.compare_page import refuse_unlike
from steelyard.viewer.history_page import past_runs
from steelyard.viewer.pages import Pages, saved_as
from steelyard.viewer.run_page import pairwise_of

_TOGETHER: Final = 500
"""Records that are read at a time: a file of 100,000 takes no more memory than one of 500."""
_LINES: Final = 100
_TYPES: Final[Mapping[str, str]] = MappingProxyType({"csv": "text/csv", "jsonl": "application/jsonl"})


def download_routes(pages: Pages) -> list[Route]:
    """The routes that answer with a file."""

    def report(request: Request) -> Response:
        """A report; with several `run=ID` the first is the baseline."""
        idents = [ident for ident in request.query_params.getlist("run") if ident]
        if not idents:
            raise ConfigError("name a run to save: /save?run=ID")
        runs = [pages.run_of(ident) for ident in dict.fromkeys(idents)]
        page = _report(pages, runs, request.query_params.get("score") or None)
        return _file(page, f"{runs[0].suite} {' '.join(run.target for run in runs)}")

    def history(request: Request) -> Response:
        past = past_runs(pages, request)
        return _file(html_history(past), f"{past.suite} history")

    def export(request: Request) -> Response:
        """Records; the query is that of the list of samples."""
        run, form = pages.run(request), request.path_params["form"]
        if form not in _TYPES:
            raise HTTPException(404, f"records are saved as {' or '.join(_TYPES)}")
        query = {name: request.query_params.get(name, "") for name in ("where", "search", "sort")}
        against = request.query_params.get("against", "")
        # The first page is read before anything is sent, so that an invalid condition is answered by an error page; so
        # is the first piece, for a run whose manifest is damaged.
        search = search_run(run, query["search"]) if query["search"] else ""
        records = _records(run, pages.run_of(against) if against else None, {**query, "search": search})
        name = f"{run.suite} {run.target} {run.id}{' filtered' if query['where'] or query['search'] else ''}"
        lines = csv(run, records=records) if form == "csv" else jsonl(run, records=records)
        pieces = _pieces(lines)
        text = chain([next(pieces, "")], pieces)
        return StreamingResponse(text, media_type=_TYPES[form], headers=saved_as(f"{name}.{form}"))

    return [
        Route("/save", report),
        Route("/save/history/{suite:any}", history),
        Route("/export/{run}/{form}", export),
    ]


def _report(pages: Pages, runs: list[Run], score: str | None) -> str:
    if len(runs) > 1:
        refuse_unlike(runs)
        return html_report(runs, pages.comparison(runs, score))
    (run,), summary = runs, pages.summary(runs[0])
    return html_report(runs, gate=pages.gate(run), pairwise=pairwise_of(run, summary))


def _file(page: str, name: str) -> Response:
    """An answer that browsers save: the file has a policy of its own, as the viewer's would not let its script run."""
    return HTMLResponse(page, headers=saved_as(f"{name}.html"))


def _pieces(lines: Iterator[str]) -> Iterator[str]:
    """The same text in larger pieces, as each takes a turn of the server's loop, 0.1 ms of CPU."""
    while piece := "".join(islice(lines, _LINES)):
        yield piece


def _records(run: Run, against: Run | None, query: Mapping[str, Any]) -> Iterator[Record]:
    """All records of a list; its first page is read at once."""
    if not any(query.values()):
        return run.records()
    first_page = run.page(n=_TOGETHER, against=against, **query)

    def following() -> Iterator[Record]:
        page = first_page
        yield from page.records
        while page.after:
            page = run.page(page.after, _TOGETHER, against=against, **query)
            yield from page.records

    return following()
