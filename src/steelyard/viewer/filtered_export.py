"""The records that a list of samples shows as a file: filtered, searched and sorted as the page is, all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from steelyard.report.exports.records import csv, jsonl
from steelyard.store import Run
from steelyard.store.reading.search import search_run
from steelyard.types import Record
from steelyard.viewer.pages import Pages
from steelyard.viewer.single_file import saved_as

_TOGETHER: Final = 500
"""Records that are read at a time: a file of 100,000 takes no more memory than one of 500."""
_LINES: Final = 100
_TYPES: Final[Mapping[str, str]] = MappingProxyType({"csv": "text/csv", "jsonl": "application/jsonl"})


def export_routes(pages: Pages) -> list[Route]:
    """The route of the files; its query is that of the list of samples."""

    def export(request: Request) -> Response:
        run, form = pages.run(request), request.path_params["form"]
        if form not in _TYPES:
            raise HTTPException(404, f"records are saved as {' or '.join(_TYPES)}")
        query = {name: request.query_params.get(name, "") for name in ("where", "search", "sort")}
        against = request.query_params.get("against", "")
        # The first page is read before anything is sent, so that an invalid condition is answered by an error page.
        search = search_run(run, query["search"]) if query["search"] else ""
        records = _records(run, pages.run_of(against) if against else None, {**query, "search": search})
        name = f"{run.suite} {run.target} {run.id}{' filtered' if query['where'] or query['search'] else ''}"
        return StreamingResponse(
            _pieces(_lines(form)(run, records=records)), media_type=_TYPES[form], headers=saved_as(f"{name}.{form}")
        )

    return [Route("/export/{run}/{form}", export)]


def _lines(form: str) -> Callable[..., Iterator[str]]:
    return csv if form == "csv" else jsonl


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
