"""One record of an error analysis in the browser: what the page of a sample shows, a note on it, and its code."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from steelyard.errors import ConfigError
from steelyard.people.codings import Coding, assign_code, new_code, read_coding, withdraw_note, write_note
from steelyard.people.draw import DrawnRecord, item_record
from steelyard.people.error_codes import LONGEST_NAME, LONGEST_NOTE, CodingState, ErrorNote
from steelyard.people.queues import checked_rater
from steelyard.viewer.codes_page import OpenCodings, reading_mode
from steelyard.viewer.forms import Form, author_of, number_of, typed_text
from steelyard.viewer.pages import Pages, neighbours
from steelyard.viewer.sample_page import read_sample

_KEYS: Final = 9


@dataclass(frozen=True, slots=True)
class CodeButton:
    """A code that one press assigns: its id and name, the key that presses it ("" for none), and whether it is set."""

    id: str
    name: str
    key: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class SentNote:
    """A submitted form on a record.

    Args:
        text: of the note.
        seen: number of the note that was on their screen; 0 for none.
        code: id of the code that was pressed; "none" takes the note out of its code, "" leaves it.
        name: of a code, as typed; a code is created where none has it.
        nothing: whether they say that nothing is wrong.
    """

    text: str
    seen: int
    code: str
    name: str
    nothing: bool

    @classmethod
    def of(cls, form: Form) -> SentNote:
        """Read a form."""
        return cls(
            typed_text(form.get("text", "")),
            max(0, number_of(form.get("seen", ""))),
            form.get("code", ""),
            form.get("name", "").strip(),
            form.get("do") == "nothing",
        )


def coded_record_routes(codings: OpenCodings) -> list[Route]:
    """The routes of the page and of its forms."""
    site = _RecordPages(codings, codings.pages)
    path = "/codes/{coding}/i/{item:number}"
    return [
        Route(path, site.shown),
        site.pages.takes(path, site.take),
        site.pages.takes("/codes/{coding}/withdraw", site.take_back),
    ]


@dataclass(frozen=True, slots=True)
class _RecordPages:
    """The pages of records over one store."""

    codings: OpenCodings
    pages: Pages

    def shown(self, request: Request) -> Response:
        """One record with its note; the overview, which asks for a name, where the browser keeps none."""
        coding = self.codings.of(request)
        item = coding.item(request.path_params["item"])
        if not author_of(request).strip() and not self.pages.read_only:
            return RedirectResponse(self.pages.address(f"/codes/{coding.id}"), 303)
        return self._page(request, coding, item)

    def _page(
        self, request: Request, coding: Coding, item: DrawnRecord, *, sent: SentNote | None = None, fault: str = ""
    ) -> Response:
        state = read_coding(self.pages.store, coding)
        runs = self.codings.runs(coding)
        if item.run not in runs:
            raise ConfigError(f"the run of record {item.num} may have been deleted: it cannot be shown")
        run = runs[item.run]
        note = state.notes.get(item.num)
        stored = note.text if note else ""
        mode = reading_mode(request.query_params)
        return self.pages.savable(
            request,
            "coded_record.html.j2",
            f"error analysis {coding.id} {item.sample}",
            status=422 if fault else 200,
            coding=coding,
            item=item,
            run=run,
            note=note,
            seen=note.num if note else 0,
            text=sent.text if sent else stored,
            typed=sent.name if sent else "",
            fault=fault,
            conflict=sent is not None and sent.text != stored,
            earlier=state.earlier.get(item.num, ()),
            place=coding.items.index(item) + 1,
            noted=len(state.notes),
            uncoded=len(state.uncoded),
            buttons=_buttons(state, note),
            names=[code.name for code in state.adopted],
            beside=[
                "" if other is None else self.codings.record_address(coding, other.num, mode)
                for other in neighbours(coding.items, item)
            ],
            mode=mode,
            reader=author_of(request),
            longest=(LONGEST_NOTE, LONGEST_NAME),
            **read_sample(run, [item_record(run, item)]),
        )

    def take(self, request: Request, form: Form) -> Response:
        """Store the note and its code, at once."""
        sent, mode = SentNote.of(form), reading_mode(request.query_params)
        try:
            reader = checked_rater(author_of(request))
            coding = self.codings.of(request)
            item = coding.item(request.path_params["item"])
        except ConfigError as error:
            return self.pages.unplaced(request, error, sent.text)
        try:
            goes_on = self._store_sent(coding, item, sent, reader)
        except ConfigError as error:
            try:
                return self._page(request, coding, item, sent=sent, fault=str(error))
            except ConfigError as deleted:
                return self.pages.unplaced(request, deleted, sent.text)
        if goes_on or mode:
            return RedirectResponse(self.codings.next_address(coding, mode, item.num), 303)
        return RedirectResponse(self.codings.record_address(coding, item.num, mode), 303)

    def _store_sent(self, coding: Coding, item: DrawnRecord, sent: SentNote, reader: str) -> bool:
        """Store what was sent; returns whether the reader goes on to the next record.

        Raises:
            ConfigError: what is wrong with it.
        """
        store = self.pages.store
        note = read_coding(store, coding).notes.get(item.num)
        before = note.text if note else ""
        sent = replace(sent, text=typed_text(sent.text, before))
        if sent.text != before:
            _check_text(sent)
            write_note(store, coding, item.num, sent.text, author=reader, seen=sent.seen)
        elif sent.nothing and (note is None or note.text):
            write_note(store, coding, item.num, "", author=reader)
        if sent.nothing or not (sent.code or sent.name):
            return not sent.nothing
        if not sent.text:
            raise ConfigError("a code groups notes: first note what is wrong with this record")
        same_name = None if sent.code else read_coding(store, coding).named(sent.name)
        code = same_name.id if same_name else sent.code
        if code:
            assign_code(store, coding, [item.num], "" if code == "none" else code, author=reader)
        else:
            new_code(store, coding, sent.name, author=reader, items=[item.num])
        return False

    def take_back(self, request: Request, _: Form) -> Response:
        """Withdraw the reader's newest note and show its record."""
        reader = checked_rater(author_of(request))
        coding = self.codings.of(request)
        item = withdraw_note(self.pages.store, coding, author=reader)
        if item is None:
            raise ConfigError(f"{reader} has no note in this error analysis: there is nothing to withdraw")
        return RedirectResponse(self.codings.record_address(coding, item, reading_mode(request.query_params)), 303)


def _check_text(sent: SentNote) -> None:
    """Refuse a text that is blank, or that contradicts what was pressed.

    Raises:
        ConfigError: why it is not stored.
    """
    if sent.nothing:
        raise ConfigError("the note has a text that is not stored: clear it to say that nothing is wrong")
    if not sent.text:
        raise ConfigError("the note is blank now: press 0 where nothing is wrong, or u to withdraw your last note")


def _buttons(state: CodingState, note: ErrorNote | None) -> list[CodeButton]:
    """The codes with most notes in the order in which they were made, so that their keys seldom change; and the note's.

    Others are typed by name: 500 buttons are not a choice.
    """
    most = {code.id for code in state.adopted[:_KEYS]}
    own_code = note.code if note else ""
    frequent = [code for code in state.codes.values() if code.id in most]
    buttons = [CodeButton(code.id, code.name, str(at), code.id == own_code) for at, code in enumerate(frequent, 1)]
    if own_code and own_code not in most:
        buttons.append(CodeButton(own_code, state.codes[own_code].name, "", chosen=True))
    return buttons
