"""Error analyses in the browser: the list, drawing records, and the overview of one with its codes.

Viewing a page writes nothing. Notes are taken by `coded_record_page`, changes of one code by `code_page`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from steelyard.errors import ConfigError
from steelyard.people.code_scorer import PATTERN
from steelyard.people.codings import (
    MOST_DRAWN,
    Coding,
    change_code,
    codings,
    draw_coding,
    named_coding,
    new_code,
    read_coding,
)
from steelyard.people.error_codes import LONGEST_DEFINITION, LONGEST_NAME, ErrorCode
from steelyard.people.queues import checked_rater
from steelyard.store import Run
from steelyard.viewer.notes import author_of, remember_author
from steelyard.viewer.open_codings import OpenCodings, ReadingMode
from steelyard.viewer.pages import Pages, fields_of, form_of

_DRAWN: Final = 100
_MOST_RUNS: Final = 30
"""Runs of a suite that may be ticked, the newest."""


@dataclass(frozen=True, slots=True)
class ListedCode:
    """A code in the list: its number of notes, and the state of its scorer in words."""

    code: ErrorCode
    notes: int
    scorer: str


def codes_routes(pages: Pages, codings: OpenCodings) -> list[Route]:
    """The routes of the list, of drawing, and of the page of an error analysis."""
    site = _CodesPages(pages, codings)
    return [
        Route("/codes", site.listed),
        Route("/codes/{coding}", site.overview),
        Route("/codes/{coding}/draw", site.ask_draw),
        Route("/codes/{coding}/draw", site.draw, methods=["POST"]),
        Route("/codes/{coding}/name", site.take_name, methods=["POST"]),
        Route("/codes/{coding}/code", site.add_code, methods=["POST"]),
        Route("/codes/{coding}/proposed", site.take_proposal, methods=["POST"]),
    ]


class _CodesPages:
    """The pages of error analyses over one store."""

    def __init__(self, pages: Pages, codings: OpenCodings) -> None:
        self._pages = pages
        self._store = pages.store
        self._codings = codings

    def listed(self, request: Request) -> Response:
        """The list of error analyses."""
        targets = {run.id: run.target for run in self._store.runs()}
        rows = [
            (
                coding,
                read_coding(self._store, coding),
                [targets.get(ident, f"{ident} (deleted)") for ident in coding.drawn],
            )
            for coding in codings(self._store)
        ]
        return self._pages.savable(request, "codings.html.j2", "error analyses", codings=rows)

    def overview(self, request: Request) -> Response:
        """An error analysis; of a run its newest, or the form that draws one where it is in none."""
        ident = request.path_params["coding"]
        run = next((run for run in self._store.runs() if run.id == ident), None)
        if run is None:
            return self._shown(request, named_coding(self._store, ident))
        of_run = codings(self._store, run)
        return self._shown(request, of_run[0], run) if of_run else self._draw_form(request, run)

    def _shown(self, request: Request, coding: Coding, run: Run | None = None) -> Response:
        described = self._codings.described(coding)
        state = described.page.state
        runs = self._codings.runs(coding)
        counts = state.counts
        return self._pages.savable(
            request,
            "coding.html.j2",
            f"error analysis {coding.id}",
            coding=coding,
            state=state,
            runs=list(runs.values()),
            others=[other for other in codings(self._store, run) if other.id != coding.id] if run else [],
            deleted=described.page.deleted,
            drawn=_drawn(coding, {run.id: run.target for run in runs.values()}),
            errors=sum(counts.values()),
            codes=[ListedCode(code, counts[code.id], scorer_words(code)) for code in state.adopted],
            section=described.codes,
            saturation=described.saturation,
            store_option=self._codings.store_option(),
            author=author_of(request),
            longest=(LONGEST_NAME, LONGEST_DEFINITION),
        )

    def ask_draw(self, request: Request) -> Response:
        """The form that draws records of a run, and of others of its suite."""
        return self._draw_form(request, self._pages.run_of(request.path_params["coding"]))

    def _draw_form(self, request: Request, run: Run, given: dict[str, Any] | None = None, fault: str = "") -> Response:
        runs = sorted(self._store.runs(), key=lambda other: (other.id != run.id, -other.num))
        same_suite = [other for other in runs if (other.suite, other.kind) == (run.suite, run.kind)]
        values = {"n": _DRAWN, "seed": 0, "author": author_of(request), "runs": [run.id]}
        return self._pages.page(
            request,
            "coding_draw.html.j2",
            status=422 if fault else 200,
            run=run,
            alike=same_suite[:_MOST_RUNS],
            more=max(0, len(same_suite) - _MOST_RUNS),
            most=MOST_DRAWN,
            given={**values, **(given or {})},
            fault=fault,
            before=codings(self._store, run),
        )

    async def draw(self, request: Request) -> Response:
        """Draw, and show what was drawn; an invalid form is shown again with what is wrong."""
        self._pages.refuse_writing()
        fields = await fields_of(request)
        return await run_in_threadpool(self._drawn_by, request, fields)

    def _drawn_by(self, request: Request, fields: list[tuple[str, str]]) -> Response:
        run = self._pages.run_of(request.path_params["coding"])
        form: dict[str, Any] = {**dict(fields), "runs": [value for name, value in fields if name == "run"]}
        try:
            author = checked_rater(form.get("author", ""))
            runs = [self._pages.run_of(ident) for ident in form["runs"]]
            n, seed = _whole(form.get("n", ""), "records"), _whole(form.get("seed", ""), "seed")
            coding = draw_coding(self._store, runs, n=n, seed=seed, author=author)
        except ConfigError as error:
            return self._draw_form(request, run, form, str(error))
        answer = RedirectResponse(self._pages.address(f"/codes/{coding.id}"), 303)
        remember_author(answer, request, author, path=self._pages.address("/"))
        return answer

    async def take_name(self, request: Request) -> Response:
        """Remember the reader's name, and show the first record without a note, or the first note without a code."""
        self._pages.refuse_writing()
        form = await form_of(request)
        reader = checked_rater(form.get("name", ""))
        answer = await run_in_threadpool(self._first, request, form)
        remember_author(answer, request, reader, path=self._pages.address("/"))
        return answer

    def _first(self, request: Request, form: dict[str, str]) -> Response:
        coding = named_coding(self._store, request.path_params["coding"])
        mode = reading_mode(form)
        item = self._codings.next_item(coding, mode)
        return RedirectResponse(record_address(self._pages, coding, item.num if item else None, mode), 303)

    async def add_code(self, request: Request) -> Response:
        """Create a code that has no notes yet."""
        self._pages.refuse_writing()
        return await run_in_threadpool(self._added, request, await form_of(request))

    def _added(self, request: Request, form: dict[str, str]) -> Response:
        coding = named_coding(self._store, request.path_params["coding"])
        author, definition = writer_of(request, form), form.get("definition", "")
        code = new_code(self._store, coding, form.get("name", ""), author=author, definition=definition)
        answer = RedirectResponse(self._pages.address(f"/codes/{coding.id}") + f"#code-{quote(code)}", 303)
        remember_author(answer, request, author, path=self._pages.address("/"))
        return answer

    async def take_proposal(self, request: Request) -> Response:
        """Adopt or drop a code that a model proposes."""
        self._pages.refuse_writing()
        return await run_in_threadpool(self._decided, request, await form_of(request))

    def _decided(self, request: Request, form: dict[str, str]) -> Response:
        coding = named_coding(self._store, request.path_params["coding"])
        kinds = [kind for kind in ("adopt", "drop") if kind in form]
        if len(kinds) != 1:
            raise HTTPException(400, "a proposed code is adopted or dropped")
        code = form[kinds[0]]
        if read_coding(self._store, coding).code(code).state != "proposed":
            raise ConfigError(f"the code {code!r} was adopted already")
        author = writer_of(request, form)
        change_code(self._store, coding, "adopt" if kinds == ["adopt"] else "drop", code, author=author)
        answer = RedirectResponse(self._pages.address(f"/codes/{coding.id}") + "#proposed", 303)
        remember_author(answer, request, author, path=self._pages.address("/"))
        return answer


def reading_mode(given: Mapping[str, str]) -> ReadingMode:
    """The reading mode in a form or in the query of an address."""
    return "group" if given.get("mode") == "group" else ""


def record_address(pages: Pages, coding: Coding, item: int | None, mode: str) -> str:
    """Where a record of an error analysis is shown; the error analysis itself where there is none."""
    if item is None:
        return pages.address(f"/codes/{coding.id}")
    return pages.address(f"/codes/{coding.id}/i/{item}", mode=mode)


def writer_of(request: Request, form: dict[str, str]) -> str:
    """Who sends a form: the name in it, or the one that the browser keeps.

    Raises:
        ConfigError: there is none, or it is not a person's.
    """
    return checked_rater(form.get("author", "") or author_of(request))


def scorer_words(code: ErrorCode) -> str:
    """The state of a code's scorer, in words; "" without one."""
    if code.scorer is None:
        return ""
    kind = "pattern" if PATTERN in code.scorer.config else "judge"
    if code.scorer.installed:
        return f"{kind}, installed by {code.scorer.installed}"
    return f"{kind}, tried" if code.scorer.run else f"{kind}, to be tried"


def _drawn(coding: Coding, targets: dict[str, str]) -> list[tuple[str, str]]:
    """How the records of each run were drawn, in words."""
    return [
        (
            targets.get(ident, f"{ident} (deleted)"),
            ", ".join(
                f"{stratum['drawn']:,} of {stratum['records']:,} {name}"
                for name, stratum in draw.get("strata", {}).items()
                if stratum["records"]
            )
            + f"; seed {draw.get('seed', 0)}",
        )
        for ident, draw in coding.drawn.items()
    ]


def _whole(text: str, name: str) -> int:
    if not text.strip().isdecimal() or len(text.strip()) > 9:
        raise ConfigError(f"{name}: a whole number is expected, not {text[:40]!r}")
    return int(text)
