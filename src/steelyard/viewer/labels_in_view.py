"""Labels given on a sample's page: pass or fail, and a note, with the verdict in view.

Whoever sees a verdict is led by it, so these labels have a name of their own, and neither agreement nor corrected rates
nor gates count them; those take the labels of queues, which are drawn and given without a verdict in view.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from steelyard.analysis.label_forms import COMMENT, IN_VIEW, PASS_OR_FAIL
from steelyard.errors import ConfigError, SteelyardError
from steelyard.people.labels import add_labels
from steelyard.types import Label
from steelyard.viewer.named_address import sample_address
from steelyard.viewer.notes import remember_author
from steelyard.viewer.pages import Pages, form_of

_VERDICTS = (*PASS_OR_FAIL, "")
"""The last one withdraws the author's label."""


def label_routes(pages: Pages) -> list[Route]:
    """The route that stores such a label."""

    async def label(request: Request) -> Response:
        pages.refuse_writing()
        form = await form_of(request)
        text, author = form.get("comment", "").replace("\r\n", "\n").strip(), form.get("author", "").strip()
        try:
            run = await run_in_threadpool(pages.run, request)
            labels = _labels(form, text, author)
            await run_in_threadpool(add_labels, pages.store, run, labels)
        except SteelyardError as error:
            return await run_in_threadpool(pages.unplaced, request, error, text)
        query: dict[str, Sequence[str]] = dict(parse_qs(form.get("back", "")))
        query.pop("id", None)
        answer = RedirectResponse(sample_address(pages.address, run.id, form["sample"], **query), 303)
        remember_author(answer, request, author, path=pages.address("/"))
        return answer

    return [Route("/run/{run}/label", label, methods=["POST"])]


def _labels(form: dict[str, str], text: str, author: str) -> list[Label]:
    """The labels of a form: the verdict where a button of one was pressed, and the note where there is one.

    Raises:
        ConfigError: another verdict, or a repeat that is not a number.
    """
    sample, repeat, verdict = form.get("sample", ""), form.get("repeat", "0"), form.get("verdict")
    if not (repeat.isascii() and repeat.isdecimal() and len(repeat) < 10) or verdict not in (*_VERDICTS, None):
        raise ConfigError(f"a label is pass or fail of a repeat, not {verdict!r} of {repeat!r}")
    at, number = datetime.now(UTC), int(repeat)
    labels = [Label(sample, COMMENT, text or None, author, at, number, "text")]
    if verdict is not None:
        labels.append(Label(sample, IN_VIEW, verdict or None, author, at, number, "pass_fail" if verdict else ""))
    return labels
