"""Deletes a run: the page counts what is deleted with it, and asks for its name."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from steelyard.errors import ConfigError
from steelyard.plain_json import field_values
from steelyard.store import Run
from steelyard.store.delete import delete_runs, preview_deletion
from steelyard.viewer.pages import Pages, form_of


def delete_routes(pages: Pages) -> list[Route]:
    """The page that asks for the name, and the route that deletes."""

    def ask(request: Request) -> Response:
        pages.refuse_writing()
        return _page(pages, request, pages.run(request))

    async def delete(request: Request) -> Response:
        pages.refuse_writing()
        run = await run_in_threadpool(pages.run, request)
        form = await form_of(request)
        if form.get("name", "").strip() not in {run.id, run.target.strip()}:
            fault = f"nothing was deleted: the name that was typed is neither {run.target} nor {run.id}"
            return await run_in_threadpool(_page, pages, request, run, fault)
        await run_in_threadpool(_delete, pages, run, replies=bool(form.get("replies")))
        return RedirectResponse(pages.address("/", suite=run.suite), 303)

    return [Route("/run/{run}/delete", ask), Route("/run/{run}/delete", delete, methods=["POST"])]


def _page(pages: Pages, request: Request, run: Run, fault: str = "") -> Response:
    deletion = preview_deletion(pages.store, [run])
    counts = {name: n for name, n in field_values(deletion).items() if name not in {"runs", "replies"} and n}
    return pages.page(
        request,
        "delete.html.j2",
        status=422 if fault else 200,
        run=run,
        state=run.state,
        counts=counts,
        replies=deletion.replies,
        fault=fault,
    )


def _delete(pages: Pages, run: Run, *, replies: bool) -> None:
    if run.state == "running":
        raise ConfigError(f"run {run.id} is running: a run is deleted when it has ended")
    delete_runs(pages.store, [run], replies=replies)
