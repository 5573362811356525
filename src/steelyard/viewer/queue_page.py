"""Queues in the browser: the list, the progress of each, and one record at a time to label.

Viewing a page writes nothing. A record is reserved by the button that asks for the next one; a verdict is stored by the
button that gives it, before anything else is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from steelyard.analysis.judges.rater_agreement import label_agreement
from steelyard.analysis.judges.rater_findings_values import FEWEST
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
    queue_items,
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
from steelyard.report.run_texts import outcome_word
from steelyard.report.section import Section
from steelyard.report.sections.judge_agreement import rater_sections
from steelyard.viewer.forms import Form, author_of, number_of
from steelyard.viewer.pages import Pages
from steelyard.viewer.sample_page import turns_of

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
        pages.takes("/queue", site.make),
        pages.takes("/queue/{queue}/disagreements", site.send_disagreements),
        Route("/queue/{queue}", site.overview),
        pages.takes("/queue/{queue}/name", site.take_name),
        pages.takes("/queue/{queue}/next", site.take_next),
        pages.takes("/queue/{queue}/undo", site.take_back),
        Route("/queue/{queue}/i/{item:number}", site.shown),
        pages.takes("/queue/{queue}/i/{item:number}/label", site.take_verdict),
    ]


class _QueuePages:
    """The pages of queues over one store."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._store = pages.store
        self._agreements: dict[int, tuple[Verdicts, list[Section]]] = {}

    def listed(self, request: Request) -> Response:
        """The list of queues, and the form that makes one of a run with records."""
        runs = [run for run in self._store.runs() if run.done][:_MOST_RUNS]
        return self._pages.savable(
            request,
            "queues.html.j2",
            "queues",
            queues=[(queue, read_progress(self._store, queue)[0]) for queue in queues(self._store)],
            runs=[(run.id, f"{run.suite} · {run.target} · {run.created:%d %b %H:%M}") for run in runs],
            of_run=request.query_params.get("run", ""),
            author=author_of(request),
        )

    def make(self, request: Request, form: Form) -> Response:
        """Draw records of a run and make a queue of them."""
        author = checked_rater(form.get("author", ""))
        run, n = self._pages.run_of(form.get("run", "")), number_of(form.get("records", ""))
        if n < 1:
            raise ConfigError(f"a queue has 1 record or more, not {form.get('records', '')!r}")
        items, drawn = draw_records([run], n=n)
        shape = label_form(run.manifest, run.score_infos)
        design = QueueDesign(form.get("title", ""), shape, form.get("question", "").strip(), drawn=drawn)
        queue = create_queue(self._store, design, items, author=author)
        return self._pages.signed_redirect(request, self._address(queue), author)

    def send_disagreements(self, request: Request, form: Form) -> Response:
        """Make a queue of the records on which the raters of another one disagree."""
        author = checked_rater(form.get("author", ""))
        queue = self._queue(request)
        title = f"{queue.design.title}: disagreements"
        created = queue_of_disagreements(self._store, queue, title=title, author=author)
        return self._pages.signed_redirect(request, self._address(created), author)

    def overview(self, request: Request) -> Response:
        """The progress of a queue, and the form that begins labelling."""
        queue = self._queue(request)
        progress, verdicts = read_progress(self._store, queue)
        drawn_of = {item.run for item in queue_items(self._store, queue)}
        return self._pages.savable(
            request,
            "queue.html.j2",
            f"queue {queue.design.title}",
            queue=queue,
            runs=[run for run in self._store.runs() if run.num in drawn_of],
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
            return RedirectResponse(self._address(queue), 303)
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

    def take_name(self, request: Request, form: Form) -> Response:
        """Remember the rater's name and show the first record."""
        rater = checked_rater(form.get("name", ""))
        queue = self._queue(request)
        address = self._address(queue, reserve_item(self._store, queue, rater))
        return self._pages.signed_redirect(request, address, rater)

    def take_next(self, request: Request, form: Form) -> Response:
        """Store the comment, skip the record if it got no verdict, and show the next one."""
        rater = checked_rater(author_of(request))
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
        return RedirectResponse(self._address(queue, reserve_item(self._store, queue, rater)), 303)

    def take_back(self, request: Request, _: Form) -> Response:
        """Withdraw the rater's last verdict and show its record."""
        rater = checked_rater(author_of(request))
        queue = self._queue(request)
        return RedirectResponse(self._address(queue, undo_label(self._store, queue, rater)), 303)

    def take_verdict(self, request: Request, form: Form) -> Response:
        """Store a verdict, at once."""
        rater = checked_rater(author_of(request))
        queue = self._queue(request)
        item = queue_item(self._store, queue, request.path_params["item"])
        verdict = None if "unsure" in form else form.get("verdict", "")
        label_item(self._store, queue, item, RaterVerdict(rater, verdict, form.get("comment", "")))
        return RedirectResponse(self._address(queue, item), 303)

    def _address(self, queue: LabelQueue, item: DrawnRecord | None = None) -> str:
        return self._pages.address(f"/queue/{quote(queue.id)}" + (f"/i/{item.num}" if item else ""))

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
        facts.append(
            (
                "records" if name == "all" else outcome_word(name),
                f"{stratum['drawn']:,} of {stratum['records']:,} records",
            )
        )
    return [(name, text) for name, text in facts if text]
