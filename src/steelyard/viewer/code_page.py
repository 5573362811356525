"""One code of an error analysis in the browser: its notes, changes of it, and the scorer made from it.

The viewer writes the scorer's configuration; the command line tries it, since that makes calls. The result of a trial
is read from the store.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from steelyard.constraints import check_options
from steelyard.errors import ConfigError
from steelyard.generate.code_trial import scorer_lines
from steelyard.people.code_scorer import PATTERN, judge_config, pattern_config, score_name
from steelyard.people.codings import (
    Coding,
    assign_code,
    change_code,
    edit_code,
    merge_codes,
    new_code,
    read_coding,
    write_scorer,
)
from steelyard.people.error_codes import LONGEST_DEFINITION, LONGEST_NAME, CodingState, ErrorCode, ErrorNote
from steelyard.plain_json import digest_of
from steelyard.report.coding_page import CodingPage, scorer_words, trial_section
from steelyard.scorers.judges.criteria import ErrorJudge, ErrorPattern
from steelyard.types import Json
from steelyard.viewer.codes_page import OpenCodings, writer_of
from steelyard.viewer.forms import Form, author_of, number_of, typed_text
from steelyard.viewer.pages import Pages

_NOTES: Final = 100
"""Notes on one page: a form has at most 200 fields."""
_EXAMPLES: Final = 20
"""As many as a judge takes."""
_FIELDS: Final = ("do", "name", "definition", "score", "pattern", "ignore_case")
"""Fields that keep their values when the form is shown again."""


@dataclass(frozen=True, slots=True)
class SentChange:
    """A submitted form on a code.

    Args:
        form: its fields; `do` says what is to be done with the code.
        items: records that were ticked.
        author: who sent it.
    """

    form: Form
    items: tuple[int, ...]
    author: str

    def field(self, name: str) -> str:
        """A field; "" where it was not sent."""
        return typed_text(self.form.get(name, ""))


def code_routes(codings: OpenCodings) -> list[Route]:
    """The routes of the page and of its forms."""
    site = _CodePages(codings, codings.pages)
    path = "/codes/{coding}/c/{code}"
    return [Route(path, site.shown), site.pages.takes(path, site.take)]


@dataclass(frozen=True, slots=True)
class _CodePages:
    """The pages of codes over one store."""

    codings: OpenCodings
    pages: Pages

    def shown(self, request: Request) -> Response:
        """One code."""
        return self._page(request, self.codings.of(request))

    def _page(self, request: Request, coding: Coding, form: Form | None = None, fault: str = "") -> Response:
        state = read_coding(self.pages.store, coding)
        code = _code(state, request.path_params["code"])
        notes = [note for note in state.notes.values() if note.text and note.code == code.id]
        requested = request.query_params.get("from", "")
        start = int(requested) if requested.isdecimal() and len(requested) < 9 else 0
        samples = {item.num: item.sample for item in coding.items}
        trial = CodingPage.of(self.pages.store, coding).trials.get(code.id)
        return self.pages.savable(
            request,
            "code.html.j2",
            f"error analysis {coding.id} {code.name}",
            status=422 if fault else 200,
            coding=coding,
            code=code,
            fault=fault,
            was=_digest(code),
            given={**dict.fromkeys(_FIELDS, ""), **(form or {})},
            notes=[(note, samples[note.item]) for note in notes[start : start + _NOTES]],
            total=len(notes),
            start=start,
            step=_NOTES,
            examples=[(note, samples[note.item]) for note in notes[:_EXAMPLES]],
            others=[other for other in state.adopted if other.id != code.id],
            related=_related(state, code),
            score=score_name(code.name),
            scorer=scorer_words(code.scorer),
            is_pattern=code.scorer is not None and PATTERN in code.scorer.config,
            yaml=scorer_lines(code.scorer.config) if code.scorer else "",
            command=f"steelyard errors try {coding.id}/{code.id}",
            store_option=self.codings.store_option(),
            trial=trial_section(code, trial, samples) if trial else None,
            author=author_of(request),
            longest=(LONGEST_NAME, LONGEST_DEFINITION),
        )

    def take(self, request: Request, form: Form) -> Response:
        """Change the code; an invalid form is shown again with what is wrong."""
        coding = self.codings.of(request)
        try:
            items = tuple(map(number_of, form.getlist("item")))
            sent = SentChange(form, items, writer_of(request, form))
            goes_to = self._change(coding, request.path_params["code"], sent)
        except ConfigError as error:
            return self._page(request, coding, form, str(error))
        path = f"/codes/{coding.id}" + (f"/c/{goes_to}" if goes_to else "")
        return self.pages.signed_redirect(request, self.pages.address(path), sent.author)

    def _change(self, coding: Coding, code: str, sent: SentChange) -> str:
        """Apply what was sent; returns the code that is shown next, "" for the overview.

        Raises:
            ConfigError: what is wrong with it.
            HTTPException: 400, an action that no page sends.
        """
        store, author, does = self.pages.store, sent.author, sent.form.get("do", "")
        match does:
            case "edit":
                self._edit(coding, code, sent)
            case "merge":
                merge_codes(store, coding, code, self._other(coding, sent), author=author)
                return sent.field("into")
            case "split":
                self._require_items(sent)
                return new_code(store, coding, sent.field("name"), author=author, items=sent.items)
            case "move":
                self._require_items(sent)
                assign_code(store, coding, sent.items, self._other(coding, sent, or_none=True), author=author)
            case "drop" | "adopt" | "install":
                change_code(store, coding, does, code, author=author)
                return "" if does == "drop" else code
            case "judge" | "pattern":
                examples = sent.items if does == "judge" else ()
                config = _scorer_config(read_coding(store, coding), sent)
                write_scorer(store, coding, code, config, examples, author=author)
            case _:
                raise HTTPException(400, f"{does!r} is not an action for a code")
        return code

    def _edit(self, coding: Coding, code: str, sent: SentChange) -> None:
        """Rename and define a code, unless somebody did since the form was shown."""
        current = read_coding(self.pages.store, coding).code(code)
        if sent.field("was") != _digest(current):
            raise ConfigError(
                f"since you opened this page the code became {current.name!r}, defined as {current.definition!r}: what"
                " you typed is not stored yet. Save again to replace that"
            )
        name = typed_text(sent.field("name"), current.name)
        definition = typed_text(sent.field("definition"), current.definition)
        edit_code(self.pages.store, coding, code, name, author=sent.author, definition=definition)

    def _other(self, coding: Coding, sent: SentChange, *, or_none: bool = False) -> str:
        """Id of the other code that was chosen; "" where the notes are to have none."""
        into = sent.field("into")
        if not into:
            raise ConfigError("choose another code")
        return "" if or_none and into == "none" else read_coding(self.pages.store, coding).code(into).id

    @staticmethod
    def _require_items(sent: SentChange) -> None:
        if not sent.items:
            raise ConfigError("no note is ticked: tick some")


def _digest(code: ErrorCode) -> str:
    """A fingerprint of a name and definition."""
    return digest_of([code.name, code.definition])


def _code(state: CodingState, ident: str) -> ErrorCode:
    """The code of an id, also one that was merged or dropped."""
    return state.codes[ident] if ident in state.codes else state.code(ident)


def _related(state: CodingState, code: ErrorCode) -> list[tuple[str, ErrorCode]]:
    """The codes that a code was split from or merged with, each with words for the relation."""
    related = []
    if code.split_from in state.codes:
        related.append(("split from", state.codes[code.split_from]))
    if code.merged_into in state.codes:
        related.append(("merged into", state.codes[code.merged_into]))
    related += [("has the notes of", other) for other in state.codes.values() if other.merged_into == code.id]
    return [*related, *(("part split off as", other) for other in state.codes.values() if other.split_from == code.id)]


def _scorer_config(state: CodingState, sent: SentChange) -> dict[str, Json]:
    """The configuration of the scorer that was asked for, checked as a run would check it.

    Raises:
        ConfigError: what is wrong with it.
    """
    name = sent.field("score")
    if sent.form.get("do") == "pattern":
        if not sent.field("pattern"):
            raise ConfigError("pattern: type a regular expression; a blank one matches every answer")
        flags = ("ignore_case",) if sent.field("ignore_case") else ()
        check_options(ErrorPattern(name, sent.field("pattern"), flags))  # type: ignore[arg-type]
        return pattern_config(name, sent.field("pattern"), flags)
    examples = [_example(state.notes.get(item)) for item in sent.items]
    check_options(ErrorJudge(name=name, definition=sent.field("definition"), examples=tuple(examples)))
    return judge_config(name, sent.field("definition"), examples)


def _example(note: ErrorNote | None) -> str:
    if note is None or not note.text:
        raise ConfigError("a ticked example no longer has a note: check the notes again")
    return note.text
