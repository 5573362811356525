"""Routes whose pages are imported at their first request: at its start, a viewer needs the list of runs only.

All of them together took a fifth of the CPU of a start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from starlette.concurrency import run_in_threadpool
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from steelyard.viewer.code_page import code_routes
from steelyard.viewer.coded_record_page import coded_record_routes
from steelyard.viewer.codes_page import codes_routes
from steelyard.viewer.compare_page import compare_routes
from steelyard.viewer.datasets_page import dataset_routes
from steelyard.viewer.delete_page import delete_routes
from steelyard.viewer.filtered_export import export_routes
from steelyard.viewer.history_page import history_routes
from steelyard.viewer.live_page import live_routes
from steelyard.viewer.marks import mark_routes
from steelyard.viewer.notes import note_routes
from steelyard.viewer.open_codings import OpenCodings
from steelyard.viewer.open_datasets import OpenDatasets
from steelyard.viewer.pages import Pages
from steelyard.viewer.queue_page import queue_routes
from steelyard.viewer.run_page import run_routes
from steelyard.viewer.sample_page import sample_routes
from steelyard.viewer.saved_page import saved_routes


class LateRoutes:
    """An application of routes that are made on the first request.

    Args:
        make: imports their modules.
    """

    def __init__(self, make: Callable[[], Sequence[Route]]) -> None:
        self._make = make
        self._router: Router | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if self._router is None:
            routes = await run_in_threadpool(self._make)  # events of live pages go on meanwhile
            self._router = self._router or Router(routes)
        await self._router(scope, receive, send)


class SharedReadings:
    """Datasets of a store, which several groups of pages share; read when one needs them.

    Args:
        pages: of the store.
    """

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    @cached_property
    def datasets(self) -> OpenDatasets:
        """The store's datasets."""
        return OpenDatasets(self._pages)


def late_routes(pages: Pages, shared: SharedReadings) -> list[Route]:
    """The routes of all pages but the list of runs, by the first part of their path.

    Args:
        pages: of the viewer.
        shared: what several of them read.
    """

    def of_runs() -> list[Route]:
        routes = [*run_routes(pages, shared.datasets), *sample_routes(pages), *export_routes(pages)]
        return [*routes, *note_routes(pages), *mark_routes(pages), *delete_routes(pages)]

    def live() -> list[Route]:
        return live_routes(pages)

    def of_several_runs() -> list[Route]:
        return [*compare_routes(pages, shared.datasets), *history_routes(pages), *saved_routes(pages)]

    def queues() -> list[Route]:
        return queue_routes(pages)

    def of_datasets() -> list[Route]:
        return dataset_routes(pages, shared.datasets)

    def of_codings() -> list[Route]:
        codings = OpenCodings(pages)
        return [*codes_routes(pages, codings), *coded_record_routes(pages, codings), *code_routes(pages, codings)]

    return [
        *_below(of_runs, "run", "marks", "export"),
        *_below(live, "live"),
        *_below(of_several_runs, "compare", "history", "save"),
        *_below(queues, "queue"),
        *_below(of_datasets, "data"),
        *_below(of_codings, "codes"),
    ]


def _below(make: Callable[[], Sequence[Route]], *prefixes: str) -> list[Route]:
    routes = LateRoutes(make)
    return [Route(f"/{prefix}{{rest:any}}", routes) for prefix in prefixes]
