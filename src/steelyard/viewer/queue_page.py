"""Queues in the browser: the list, the progress of each, and one record at a time to label.

Viewing a page writes nothing. A record is reserved by the button that asks for the next one; a verdict is stored by the
button that gives it, before anything else is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from steelyard.analysis.judges.findings import FEWEST
from steelyard.analysis.judges.rater_agreement import label_agreement
from steelyard.analysis.label_forms import CANNOT_TELL, NO_OPTION, label_form
from steelyard.errors import ConfigError
from steelyard.people.draw import DrawnRecord, draw_records, item_record
from steelyard.people.queue_values import BlindRecord, LabelQueue, QueueDesign, RaterVerdict, Verdicts
from steelyard.people.queues import (
    checked_rater,
    count_by_rater,
    create_queue,
    given_verdict,
    label_item,
    named_queue,
    queue_item,
    queue_of_disagreements,
    queues,
    rater_order,
    read_progress,
    reserve_item,
    run_of,
    skip_item,
    undo_label,
)
from steelyard.prompts.conversation import is_messages
from steelyard.report.section import Section
from steelyard.report.sections.agreement import rater_sections
from steelyard.store import Run
from steelyard.viewer.notes import author_of, remember_author
from steelyard.viewer.pages import Pages, form_of
from steelyard.viewer.path_numbers import number_of
from steelyard.viewer.sample_page import turns_of

_MOST_KEYS = 9
_MOST_RUNS = 50
"""Runs that the form of a new queue offers."""


@dataclass(frozen=True, slots=True)
class VerdictButton:
    """A verdict that one press gives.

    Args:
        value: as it would be typed.
        text: on the button.
        key: that presses it; "" for none.
        chosen: whether it is what the rater said.
    """

    value: str
    text: str
    key: str
    chosen: bool


def queue_routes(pages: Pages) -> list[Route]:
    """The routes of the pages and of their forms."""
    site = _QueuePages(pages)
    return [
        Route("/queue", site.listed),
        Route("/queue", site.make, methods=["POST"]),
        Route("/queue/{queue}/disagreements", site.send_disagreements, methods=["POST"]),
        Route("/queue/{queue}", site.overview),
        Route("/queue/{queue}/name", site.take_name, methods=["POST"]),
        Route("/queue/{queue}/next", site.take_next, methods=["POST"]),
        Route("/queue/{queue}/undo", site.take_back, methods=["POST"]),
        Route("/queue/{queue}/i/{item:number}", site.shown),
        Route("/queue/{queue}/i/{item:number}/label", site.take_verdict, methods=["POST"]),
    ]


class _QueuePages:
    """The pages of queues over one store."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._store = pages.store
        self._agreements: dict[int, tuple[Verdicts, list[Section]]] = {}

    def listed(self, request: Request) -> Response:
        """The list of queues."""
        rows = [(queue, read_progress(self._store, queue)[0]) for queue in queues(self._store)]
        runs = [(run.id, f"{run.suite} · {run.target} · {run.created:%d %b %H:%M}") for run in self._runs()]
        return self._pages.savable(
            request,
            "queues.html.j2",
            "queues",
            queues=rows,
            runs=runs,
            of_run=request.query_params.get("run", ""),
            author=author_of(request),
        )

    def _runs(self) -> list[Run]:
        """The newest runs with records, of which a queue can be made."""
        return [run for run in self._store.runs() if run.done][:_MOST_RUNS]

    async def make(self, request: Request) -> Response:
        """Draw records of a run and make a queue of them."""
        return await self._made(request, self._drawn_queue)

    async def send_disagreements(self, request: Request) -> Response:
        """Make a queue of the records on which the raters of another one disagree."""

        def make(_: dict[str, str], author: str) -> LabelQueue:
            queue = self._queue(request)
            title = f"{queue.design.title}: disagreements"
            return queue_of_disagreements(self._store, queue, title=title, author=author)

        return await self._made(request, make)

    async def _made(self, request: Request, make: Callable[[dict[str, str], str], LabelQueue]) -> Response:
        self._pages.refuse_writing()
        form = await form_of(request)
        author = checked_rater(form.get("author", ""))
        queue = await run_in_threadpool(make, form, author)
        answer = RedirectResponse(self._pages.address(f"/queue/{queue.id}"), 303)
        remember_author(answer, request, author, path=self._pages.address("/"))
        return answer

    def _drawn_queue(self, form: dict[str, str], author: str) -> LabelQueue:
        run, n = self._pages.run_of(form.get("run", "")), number_of(form.get("records", ""))
        if n < 1:
            raise ConfigError(f"a queue has 1 record or more, not {form.get('records', '')!r}")
        items, drawn = draw_records([run], n=n)
        shape = label_form(run.manifest, run.score_infos)
        design = QueueDesign(form.get("title", ""), shape, form.get("question", "").strip(), drawn=drawn)
        return create_queue(self._store, design, items, author=author)

    def overview(self, request: Request) -> Response:
        """The progress of a queue, and the form that begins labelling."""
        queue = self._queue(request)
        progress, verdicts = read_progress(self._store, queue)
        return self._pages.savable(
            request,
            "queue.html.j2",
            f"queue {queue.design.title}",
            queue=queue,
            drawn=_drawn(queue.design),
            progress=progress,
            fewest=FEWEST,
            sections=self._agreement(queue, verdicts),
            author=author_of(request),
        )

    def _agreement(self, queue: LabelQueue, verdicts: Verdicts) -> list[Section]:
        """The agreement of raters; computed once for the same verdicts, as its intervals take thousands of draws."""
        cached = self._agreements.get(queue.num)
        if cached is None or cached[0] != verdicts:
            agreement = label_agreement(queue.design.form.name, verdicts)
            self._agreements[queue.num] = cached = verdicts, rater_sections(agreement) if agreement else []
        return cached[1]

    def shown(self, request: Request) -> Response:
        """One record, without anything that could influence the rater."""
        queue = self._queue(request)
        if not author_of(request).strip():  # a link that somebody was sent: the overview asks for the name
            return self._to(queue, None)
        rater = checked_rater(author_of(request))
        item = queue_item(self._store, queue, request.path_params["item"])
        record = item_record(run_of(self._store, item), item)
        order = rater_order(queue, item, rater)
        blind = BlindRecord.of(queue.design, item, record, order)
        verdict = given_verdict(self._store, queue, item, rater, order)
        return self._pages.savable(
            request,
            "queue_item.html.j2",
            f"queue {queue.design.title} {item.num}",
            queue=queue,
            record=blind,
            turns=turns_of(blind.input) if is_messages(blind.input) else [],
            buttons=list(_buttons(queue.design, blind, verdict)),
            said=verdict,
            cannot_tell=CANNOT_TELL,
            by_you=count_by_rater(self._store, queue, rater),
            progress=read_progress(self._store, queue)[0],
            rater=rater,
        )

    async def take_name(self, request: Request) -> Response:
        """Remember the rater's name and show the first record."""
        self._pages.refuse_writing()
        rater = checked_rater((await form_of(request)).get("name", ""))
        answer = await run_in_threadpool(self._next, request, rater)
        remember_author(answer, request, rater, path=self._pages.address("/"))
        return answer

    async def take_next(self, request: Request) -> Response:
        """Store the comment, skip the record if it got no verdict, and show the next one."""
        self._pages.refuse_writing()
        rater = checked_rater(author_of(request))
        form = await form_of(request)
        return await run_in_threadpool(self._done, request, rater, form)

    def _done(self, request: Request, rater: str, form: dict[str, str]) -> Response:
        queue = self._queue(request)
        if form.get("item"):
            comment, verdict = form.get("comment", ""), form.get("verdict", "")
            try:
                item = queue_item(self._store, queue, number_of(form["item"]))
                if comment.strip() or verdict.strip():
                    label_item(self._store, queue, item, RaterVerdict(rater, verdict, comment))
            except ConfigError as error:
                return self._pages.unplaced(request, error, "\n".join(filter(None, (verdict, comment))))
            if not verdict.strip() and not given_verdict(self._store, queue, item, rater):
                skip_item(self._store, queue, item.num, rater)
        return self._next(request, rater)

    def _next(self, request: Request, rater: str) -> Response:
        queue = self._queue(request)
        item = reserve_item(self._store, queue, rater)
        return self._to(queue, item)

    async def take_back(self, request: Request) -> Response:
        """Withdraw the rater's last verdict and show its record."""
        self._pages.refuse_writing()
        rater = checked_rater(author_of(request))
        queue = await run_in_threadpool(self._queue, request)
        return self._to(queue, await run_in_threadpool(undo_label, self._store, queue, rater))

    async def take_verdict(self, request: Request) -> Response:
        """Store a verdict, at once."""
        self._pages.refuse_writing()
        rater = checked_rater(author_of(request))
        form = await form_of(request)
        return await run_in_threadpool(self._said, request, rater, form)

    def _said(self, request: Request, rater: str, form: dict[str, str]) -> Response:
        queue = self._queue(request)
        item = queue_item(self._store, queue, request.path_params["item"])
        verdict = None if "unsure" in form else form.get("verdict", "")
        label_item(self._store, queue, item, RaterVerdict(rater, verdict, form.get("comment", "")))
        return self._to(queue, item)

    def _to(self, queue: LabelQueue, item: DrawnRecord | None) -> Response:
        path = f"/queue/{quote(queue.id)}" + (f"/i/{item.num}" if item else "")
        return RedirectResponse(self._pages.address(path), 303)

    def _queue(self, request: Request) -> LabelQueue:
        return named_queue(self._store, request.path_params["queue"])


def _buttons(design: QueueDesign, record: BlindRecord, verdict: str) -> Iterator[VerdictButton]:
    """The verdicts of a form, each with a key where there are few; none for free text."""
    for at, (value, text) in enumerate(_verdicts(design, record), 1):
        key = value if design.form.kind == "scale" else str(at)
        yield VerdictButton(value, text, key if key in set("123456789") else "", chosen=value == verdict)


def _verdicts(design: QueueDesign, record: BlindRecord) -> list[tuple[str, str]]:
    form = design.form
    if form.kind == "pass_fail":
        return [("pass", "pass"), ("fail", "fail")]
    if form.kind == "preference":
        return [("A", "A is better"), ("B", "B is better"), ("tie", "tie")]
    if form.kind == "choice":
        return [*((letter, letter) for letter, _ in record.options), (NO_OPTION, "no option")]
    if form.kind == "scale" and form.scale:
        low, high = (int(end) for end in form.scale)
        return [(str(rating), str(rating)) for rating in range(low, high + 1)]
    return []


def _drawn(design: QueueDesign) -> list[tuple[str, str]]:
    """How the records were drawn, in words."""
    draw: Any = design.drawn
    facts = [("drawn", str(draw.get("method", ""))), ("condition", str(draw.get("where") or ""))]
    for name, stratum in (draw.get("strata") or {}).items():
        facts.append((name, f"{stratum['drawn']:,} of {stratum['records']:,} records"))
    return [(name, text) for name, text in facts if text]
