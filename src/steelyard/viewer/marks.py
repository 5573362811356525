"""Marks of runs: changed for the chosen runs of the list, or on a run's page."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from steelyard.errors import ConfigError
from steelyard.people.marks import MarkChange, mark_run
from steelyard.viewer.pages import Pages, fields_of


def mark_routes(pages: Pages) -> list[Route]:
    """The route that changes marks: `do` says what, `run` of which runs, `tag` which tag, `back` leads back."""

    async def mark(request: Request) -> Response:
        pages.refuse_writing()
        fields = await fields_of(request)
        form = dict(fields)
        change = _change(form.get("do", ""), form.get("tag", ""))
        chosen = [value for name, value in fields if name == "run"]
        await run_in_threadpool(_mark, pages, chosen, change)
        return RedirectResponse(_back(pages, form), 303)

    return [Route("/marks", mark, methods=["POST"])]


def _change(action: str, tag: str) -> MarkChange:
    match action:
        case "pin" | "unpin":
            return MarkChange(baseline=action == "pin")
        case "archive" | "unarchive":
            return MarkChange(archived=action == "archive")
        case "tag":
            return MarkChange(add=(tag,))
        case "untag":
            return MarkChange(remove=(tag,))
        case _:
            raise HTTPException(400, f"{action!r} is not an action for marks of a run")


def _mark(pages: Pages, chosen: list[str], change: MarkChange) -> None:
    if not chosen:
        raise ConfigError("no run is chosen: tick some")
    runs = [pages.run_of(ident) for ident in dict.fromkeys(chosen)]
    if change.baseline and len({(run.suite, run.kind) for run in runs}) < len(runs):
        raise ConfigError("a suite has one baseline, and several of the chosen runs are of one suite")
    for run in runs:
        mark_run(pages.store, run, change)


def _back(pages: Pages, form: dict[str, str]) -> str:
    """The page that the form came from: that of the run, or the list with its query."""
    if form.get("page") == "run":
        return pages.address(f"/run/{form['run']}")
    query = urlencode(parse_qsl(form.get("back", "")))
    return pages.address("/") + (f"?{query}" if query else "")
