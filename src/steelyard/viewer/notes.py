"""Notes on a run: shown with it, and added to it. They are never changed and never removed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote, unquote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from steelyard.errors import SteelyardError
from steelyard.people.labels import add_note
from steelyard.viewer.pages import Pages, form_of

_AUTHOR: Final = "steelyard_author"
"""The cookie with the name that was typed last: it says who writes, and proves nothing."""
_YEAR_S: Final = 31_536_000


def note_routes(pages: Pages) -> list[Route]:
    """The route that adds a note."""

    async def add(request: Request) -> Response:
        pages.refuse_writing()
        form = await form_of(request)
        # Browsers send each line end as two characters, and count it as one.
        text, author = form.get("text", "").replace("\r\n", "\n"), form.get("author", "").strip()
        try:
            run = await run_in_threadpool(pages.run, request)
            await run_in_threadpool(add_note, pages.store, run, text, author=author, at=datetime.now(UTC))
        except SteelyardError as error:
            return await run_in_threadpool(pages.unplaced, request, error, text)
        answer = RedirectResponse(pages.address(f"/run/{run.id}") + "#notes", 303)
        remember_author(answer, request, author, path=pages.address("/"))
        return answer

    return [Route("/run/{run}/notes", add, methods=["POST"])]


def remember_author(answer: Response, request: Request, author: str, *, path: str) -> None:
    """Let the browser keep a name for the next time."""
    answer.set_cookie(
        _AUTHOR,
        quote(author),
        max_age=_YEAR_S,
        path=path,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )


def author_of(request: Request) -> str:
    """The name that was typed with the last note or label; "" where none was."""
    return unquote(request.cookies.get(_AUTHOR, ""))[:200]
