"""What people do to runs: notes, which are never changed and never removed, marks, and deletion."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import parse_qsl, urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from steelyard.errors import ConfigError, SteelyardError
from steelyard.people.labels import add_note
from steelyard.people.marks import MarkChange, mark_run
from steelyard.plain_json import field_values
from steelyard.store import Run
from steelyard.store.delete import delete_runs, preview_deletion
from steelyard.viewer.forms import Form
from steelyard.viewer.pages import Pages


def action_routes(pages: Pages) -> list[Route]:
    """The routes that add a note, change marks, ask for the name of a run to delete, and delete it."""

    def add_to_run(request: Request, form: Form) -> Response:
        # Browsers send each line end as two characters, and count it as one.
        text, author = form.get("text", "").replace("\r\n", "\n"), form.get("author", "").strip()
        try:
            run = pages.run(request)
            add_note(pages.store, run, text, author=author, at=datetime.now(UTC))
        except SteelyardError as error:
            return pages.unplaced(request, error, text)
        return pages.signed_redirect(request, pages.address(f"/run/{run.id}") + "#notes", author)

    def mark(_: Request, form: Form) -> Response:
        change = _change(form.get("do", ""), form.get("tag", ""))
        for run in _marked(pages, form, change):
            mark_run(pages.store, run, change)
        return RedirectResponse(_back(pages, form), 303)

    return [pages.takes("/run/{run}/notes", add_to_run), pages.takes("/marks", mark), *_deletion_routes(pages)]


def _deletion_routes(pages: Pages) -> list[Route]:
    def ask_name(request: Request) -> Response:
        pages.refuse_writing()
        return _deletion_page(pages, request, pages.run(request))

    def delete(request: Request, form: Form) -> Response:
        run = pages.run(request)
        if form.get("name", "").strip() not in {run.id, run.target.strip()}:
            fault = f"nothing was deleted: the name that was typed is neither {run.target} nor {run.id}"
            return _deletion_page(pages, request, run, fault)
        if run.state == "running":
            raise ConfigError(f"run {run.id} is running: a run is deleted when it has ended")
        delete_runs(pages.store, [run], replies=bool(form.get("replies")))
        return RedirectResponse(pages.address("/", suite=run.suite), 303)

    return [Route("/run/{run}/delete", ask_name), pages.takes("/run/{run}/delete", delete)]


def _marked(pages: Pages, form: Form, change: MarkChange) -> list[Run]:
    """The runs that a form names.

    Raises:
        ConfigError: none, or several of one suite as its baseline.
    """
    if not form.getlist("run"):
        raise ConfigError("no run is chosen: tick some")
    runs = [pages.run_of(ident) for ident in dict.fromkeys(form.getlist("run"))]
    if change.baseline and len({(run.suite, run.kind) for run in runs}) < len(runs):
        raise ConfigError("a suite has one baseline, and several of the chosen runs are of one suite")
    return runs


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


def _back(pages: Pages, form: Form) -> str:
    """The page that the form came from: that of the run, or the list with its query."""
    if form.get("page") == "run":
        return pages.address(f"/run/{form['run']}")
    query = urlencode(parse_qsl(form.get("back", "")))
    return pages.address("/") + (f"?{query}" if query else "")


def _deletion_page(pages: Pages, request: Request, run: Run, fault: str = "") -> Response:
    """Counts what is deleted with a run, and asks for its name."""
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
