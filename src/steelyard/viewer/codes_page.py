"""Error analyses in the browser: the list, drawing records, and the overview of one with its codes.

Viewing a page writes nothing. Notes are taken by `coded_record_page`, changes of one code by `code_page`.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from steelyard.errors import ConfigError
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
from steelyard.people.error_codes import LONGEST_DEFINITION, LONGEST_NAME, ErrorCode, EventKind
from steelyard.people.queues import checked_rater
from steelyard.report.coding_page import CodingPage, codes_section, saturation_chart, scorer_words
from steelyard.report.run_texts import outcome_word
from steelyard.store import Run
from steelyard.viewer.forms import Form, author_of
from steelyard.viewer.pages import Pages

_DRAWN: Final = 100
_MOST_RUNS: Final = 30
"""Runs of a suite that may be ticked, the newest."""

ReadingMode = Literal["", "group"]
"""What a reader goes through: records without a note (""), or notes without a code ("group")."""


class OpenCodings:
    """The error analyses of one store: which one an address names, and which record comes next.

    Args:
        pages: of the viewer.
    """

    def __init__(self, pages: Pages) -> None:
        self.pages = pages
        self.store = pages.store

    def of(self, request: Request) -> Coding:
        """The error analysis that an address names.

        Raises:
            ConfigError: there is none.
        """
        return named_coding(self.store, request.path_params["coding"])

    def runs(self, coding: Coding) -> dict[int, Run]:
        """Number -> run, for those of its runs that still exist."""
        return {run.num: run for run in self.store.runs() if run.id in coding.drawn}

    def next_address(self, coding: Coding, mode: ReadingMode, after: int = 0) -> str:
        """Where the record is that a reader is to see next; the error analysis itself where all is done.

        Args:
            coding: that is read.
            mode: of reading.
            after: number of the record that was read last; records before it come after all others.
        """
        state = read_coding(self.store, coding)
        uncoded = {note.item for note in state.uncoded}
        items = [item.num for item in coding.items]
        left = [item for item in items if (item in uncoded if mode == "group" else item not in state.notes)]
        ordered = [*(item for item in left if item > after), *(item for item in left if item < after)]
        if not ordered:
            return self.pages.address(f"/codes/{coding.id}")
        return self.record_address(coding, ordered[0], mode)

    def record_address(self, coding: Coding, item: int, mode: ReadingMode) -> str:
        """Where a record of an error analysis is shown."""
        return self.pages.address(f"/codes/{coding.id}/i/{item}", mode=mode)

    def store_option(self) -> str:
        """` --store STORE` of a command for this store, without a password; "" for the default store."""
        return "" if self.store.is_at(None) else f" --store {shlex.quote(str(self.store.path))}"


@dataclass(frozen=True, slots=True)
class ListedCode:
    """A code in the list: its number of notes, and the state of its scorer in words."""

    code: ErrorCode
    notes: int
    scorer: str


def codes_routes(opened: OpenCodings) -> list[Route]:
    """The routes of the list, of drawing, and of the page of an error analysis."""
    site = _CodesPages(opened, opened.pages)
    takes = site.pages.takes
    return [
        Route("/codes", site.listed),
        Route("/codes/{coding}", site.overview),
        Route("/codes/{coding}/draw", site.ask_draw),
        takes("/codes/{coding}/draw", site.draw),
        takes("/codes/{coding}/name", site.take_name),
        takes("/codes/{coding}/code", site.add_code),
        takes("/codes/{coding}/proposed", site.take_proposal),
    ]


@dataclass(frozen=True, slots=True)
class _CodesPages:
    """The pages of error analyses over one store."""

    codings: OpenCodings
    pages: Pages

    def listed(self, request: Request) -> Response:
        """The list of error analyses."""
        store = self.pages.store
        targets = {run.id: run.target for run in store.runs()}
        rows = [
            (coding, read_coding(store, coding), [targets.get(ident, f"{ident} (deleted)") for ident in coding.drawn])
            for coding in codings(store)
        ]
        return self.pages.savable(request, "codings.html.j2", "error analyses", codings=rows)

    def overview(self, request: Request) -> Response:
        """An error analysis; of a run its newest, or the form that draws one where it is in none."""
        ident = request.path_params["coding"]
        run = next((run for run in self.pages.store.runs() if run.id == ident), None)
        if run is None:
            return self._shown(request, self.codings.of(request))
        of_run = codings(self.pages.store, run)
        return self._shown(request, of_run[0], run) if of_run else self._draw_form(request, run)

    def _shown(self, request: Request, coding: Coding, run: Run | None = None) -> Response:
        page = CodingPage.of(self.pages.store, coding)
        state = page.state
        runs = self.codings.runs(coding)
        counts = state.counts
        return self.pages.savable(
            request,
            "coding.html.j2",
            f"error analysis {coding.id}",
            coding=coding,
            state=state,
            runs=list(runs.values()),
            others=[other for other in codings(self.pages.store, run) if other.id != coding.id] if run else [],
            deleted=page.deleted,
            drawn=_drawn(coding, {run.id: run.target for run in runs.values()}),
            errors=sum(counts.values()),
            codes=[ListedCode(code, counts[code.id], scorer_words(code.scorer)) for code in state.adopted],
            section=codes_section(state, page.shares),
            saturation=saturation_chart(state),
            store_option=self.codings.store_option(),
            author=author_of(request),
            longest=(LONGEST_NAME, LONGEST_DEFINITION),
        )

    def ask_draw(self, request: Request) -> Response:
        """The form that draws records of a run, and of others of its suite."""
        return self._draw_form(request, self.pages.run_of(request.path_params["coding"]))

    def _draw_form(self, request: Request, run: Run, form: Form | None = None, fault: str = "") -> Response:
        same_suite = sorted(self.pages.same_suite(run), key=lambda other: (other.id != run.id, -other.num))
        given: dict[str, Any] = {"n": _DRAWN, "seed": 0, "author": author_of(request), "runs": [run.id]}
        if form is not None:
            given |= {**form, "runs": form.getlist("run")}
        return self.pages.page(
            request,
            "coding_draw.html.j2",
            status=422 if fault else 200,
            run=run,
            alike=same_suite[:_MOST_RUNS],
            more=max(0, len(same_suite) - _MOST_RUNS),
            most=MOST_DRAWN,
            given=given,
            fault=fault,
            before=codings(self.pages.store, run),
        )

    def draw(self, request: Request, form: Form) -> Response:
        """Draw, and show what was drawn; an invalid form is shown again with what is wrong."""
        run = self.pages.run_of(request.path_params["coding"])
        try:
            author = checked_rater(form.get("author", ""))
            runs = [self.pages.run_of(ident) for ident in form.getlist("run")]
            n, seed = _whole(form.get("n", ""), "records"), _whole(form.get("seed", ""), "seed")
            coding = draw_coding(self.pages.store, runs, n=n, seed=seed, author=author)
        except ConfigError as error:
            return self._draw_form(request, run, form, str(error))
        return self.pages.signed_redirect(request, self.pages.address(f"/codes/{coding.id}"), author)

    def take_name(self, request: Request, form: Form) -> Response:
        """Remember the reader's name, and show the first record without a note, or the first note without a code."""
        reader = checked_rater(form.get("name", ""))
        following = self.codings.next_address(self.codings.of(request), reading_mode(form))
        return self.pages.signed_redirect(request, following, reader)

    def add_code(self, request: Request, form: Form) -> Response:
        """Create a code that has no notes yet."""
        coding = self.codings.of(request)
        author, definition = writer_of(request, form), form.get("definition", "")
        code = new_code(self.pages.store, coding, form.get("name", ""), author=author, definition=definition)
        address = self.pages.address(f"/codes/{coding.id}") + f"#code-{quote(code)}"
        return self.pages.signed_redirect(request, address, author)

    def take_proposal(self, request: Request, form: Form) -> Response:
        """Adopt or drop a code that a model proposes."""
        coding = self.codings.of(request)
        if ("adopt" in form) == ("drop" in form):
            raise HTTPException(400, "a proposed code is adopted or dropped")
        kind: EventKind = "adopt" if "adopt" in form else "drop"
        code = form[kind]
        if read_coding(self.pages.store, coding).code(code).state != "proposed":
            raise ConfigError(f"the code {code!r} was adopted already")
        author = writer_of(request, form)
        change_code(self.pages.store, coding, kind, code, author=author)
        return self.pages.signed_redirect(request, self.pages.address(f"/codes/{coding.id}") + "#proposed", author)


def reading_mode(given: Mapping[str, str]) -> ReadingMode:
    """The reading mode in a form or in the query of an address."""
    return "group" if given.get("mode") == "group" else ""


def writer_of(request: Request, form: Form) -> str:
    """Who sends a form: the name in it, or the one that the browser keeps.

    Raises:
        ConfigError: there is none, or it is not a person's.
    """
    return checked_rater(form.get("author", "") or author_of(request))


def _drawn(coding: Coding, targets: dict[str, str]) -> list[tuple[str, str]]:
    """How the records of each run were drawn, in words."""
    drawn = []
    for ident, draw in coding.drawn.items():
        strata = (
            f"{stratum['drawn']:,} of {stratum['records']:,} {outcome_word(name)}"
            for name, stratum in draw.get("strata", {}).items()
            if stratum["records"]
        )
        drawn.append((targets.get(ident, f"{ident} (deleted)"), f"{', '.join(strata)}; seed {draw.get('seed', 0)}"))
    return drawn


def _whole(text: str, name: str) -> int:
    if not text.strip().isdecimal() or len(text.strip()) > 9:
        raise ConfigError(f"{name}: a whole number is expected, not {text[:40]!r}")
    return int(text)
