"""Labels given on a sample's page with the verdict in view: pass or fail, of a pair the better answer, and a note.

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

from steelyard.analysis.judging_manifest import is_judging, sides_of
from steelyard.analysis.label_forms import COMMENT, IN_VIEW, PASS_OR_FAIL
from steelyard.analysis.numbers import verdict_words
from steelyard.errors import ConfigError, SteelyardError
from steelyard.people.labels import add_labels
from steelyard.store import Run
from steelyard.types import Label, LabelKind
from steelyard.viewer.named_address import sample_address
from steelyard.viewer.notes import remember_author
from steelyard.viewer.pages import Pages, form_of


def verdicts_in_view(run: Run) -> tuple[tuple[str, str, str, str], ...]:
    """What the panel offers: each label's value, the state for its mark, its words and its key."""
    if is_judging(run.manifest):
        first, second = sides_of(run.manifest)
        return ("A", "", first, "1"), ("tie", "", "tie", "2"), ("B", "", second, "3")
    words = verdict_words(run.score_infos.get(str(run.manifest.get("primary", ""))))
    return tuple(zip(PASS_OR_FAIL, ("right", "wrong"), words, "12", strict=True))


def label_routes(pages: Pages) -> list[Route]:
    """The route that stores such a label."""

    async def label(request: Request) -> Response:
        pages.refuse_writing()
        form = await form_of(request)
        text, author = form.get("comment", "").replace("\r\n", "\n").strip(), form.get("author", "").strip()
        try:
            run = await run_in_threadpool(pages.run, request)
            labels = _labels(run, form, text, author)
            await run_in_threadpool(add_labels, pages.store, run, labels)
        except SteelyardError as error:
            return await run_in_threadpool(pages.unplaced, request, error, text)
        query: dict[str, Sequence[str]] = dict(parse_qs(form.get("back", "")))
        query.pop("id", None)
        answer = RedirectResponse(sample_address(pages.address, run.id, form["sample"], **query), 303)
        remember_author(answer, request, author, path=pages.address("/"))
        return answer

    return [Route("/run/{run}/label", label, methods=["POST"])]


def _labels(run: Run, form: dict[str, str], text: str, author: str) -> list[Label]:
    """The labels of a form: the verdict where a button of one was pressed, and the note where there is one.

    Raises:
        ConfigError: another verdict, or a repeat that is not a number.
    """
    sample, repeat, verdict = form.get("sample", ""), form.get("repeat", "0"), form.get("verdict")
    values = [value for value, *_ in verdicts_in_view(run)]
    if not (repeat.isascii() and repeat.isdecimal() and len(repeat) < 10) or verdict not in (*values, "", None):
        raise ConfigError(f"a label is {' or '.join(values)} of a repeat, not {verdict!r} of {repeat!r}")
    at, number = datetime.now(UTC), int(repeat)
    labels = [Label(sample, COMMENT, text or None, author, at, number, "text")]
    if verdict is not None:  # an empty one withdraws the author's label
        kind: LabelKind = "preference" if is_judging(run.manifest) else "pass_fail"
        labels.append(Label(sample, IN_VIEW, verdict or None, author, at, number, kind if verdict else ""))
    return labels
