"""The records of an error analysis as a CSV sheet with columns for note and code, and reading it back.

A sheet contains the current notes, so several people can fill it in one after the other, sort and group it in a
spreadsheet program, and import it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from steelyard.errors import ConfigError, DataError
from steelyard.escaping import cell_text, csv_cell
from steelyard.people.codings import Coding, assign_code, new_code, read_coding, write_notes
from steelyard.people.draw import DrawnRecord
from steelyard.people.error_codes import LONGEST_NAME, LONGEST_NOTE, CodingState, checked_text
from steelyard.people.sheets import filled_rows, row_number, sheet_text
from steelyard.plain_json import grouped
from steelyard.prompts.conversation import input_text
from steelyard.store.store import Store
from steelyard.types import Record

NOTHING_WRONG: Final = "ok"
"""The note of a record with which nothing is wrong."""
_COLUMNS: Final = ("analysis", "item", "target", "sample", "question", "expected", "answer", "scores", "note", "code")
_REQUIRED: Final = ("analysis", "item", "note")


@dataclass(frozen=True, slots=True)
class CodedNote:
    """A note on a record and the name of its code.

    Args:
        item: number of the record in the error analysis.
        note: what is wrong; "" says that nothing is.
        code: "" leaves the note where it is.
    """

    item: int
    note: str
    code: str = ""


@dataclass(frozen=True, slots=True)
class StoredNotes:
    """Numbers of notes written and of notes put under a code, and the names of new codes."""

    notes: int
    assigned: int
    codes: tuple[str, ...]


def coding_sheet(store: Store, coding: Coding, state: CodingState) -> str:
    """A sheet with a row per record, in the order of reading."""
    runs = {run.num: run for run in store.runs() if run.id in coding.drawn}
    records = {
        (run.num, record.sample.id, record.repeat): record
        for run in runs.values()
        for record in run.records_of({item.sample for item in coding.items if item.run == run.num})
    }

    def cells(item: DrawnRecord, record: Record) -> list[Any]:
        sample, note = record.sample, state.notes.get(item.num)
        scores = "\n".join(f"{score.name}: {score.reason or score.value}" for score in record.scores)
        answer = cell_text(record.output.value if record.output else None)
        shown = [input_text(sample.input), cell_text(sample.reference), answer, scores]
        text = "" if note is None else note.text or NOTHING_WRONG
        code = state.codes[note.code].name if note and note.code else ""
        return [coding.id, item.num, runs[item.run].target, sample.id, *shown, text, code]

    keyed = ((item, records.get((item.run, item.sample, item.repeat))) for item in coding.items)
    return sheet_text(_COLUMNS, (cells(item, record) for item, record in keyed if record is not None))


def read_coding_sheet(coding: Coding, path: Path) -> list[CodedNote]:
    """The rows of a sheet that have a note.

    Args:
        coding: the error analysis.
        path: CSV, XLSX, JSON or JSON lines with the columns analysis, item and note, and code where there is one.

    Raises:
        ConfigError: the file has a format that cannot be read.
        DataError: a column is missing, a row is invalid, or no row has a note.
    """
    rows: list[CodedNote] = []
    seen: set[int] = set()
    for location, texts in filled_rows(path, _REQUIRED, "analysis, item and note of errors sheet"):
        try:
            row = _coded_note(coding, texts, location)
        except ConfigError as error:
            raise DataError(f"{location}{error}") from error
        if row is None:
            continue
        if row.item in seen:
            raise DataError(f"{location}a second note on item {row.item}")
        seen.add(row.item)
        rows.append(row)
    if not rows:
        raise DataError(
            f"{path.name}: no row has a note; fill the column `note` ({NOTHING_WRONG} where nothing is wrong)"
        )
    return rows


def _coded_note(coding: Coding, texts: Mapping[str, str], location: str) -> CodedNote | None:
    """A row of a sheet; None where it has no note."""
    note, code = texts["note"], texts.get("code", "")
    if not note and not code:
        return None
    if texts["analysis"] != coding.id:
        raise ConfigError(f"the row is of the error analysis {texts['analysis']!r}, but {coding.id} was given")
    item = coding.item(row_number(texts, "item", location)).num
    if note.casefold() == NOTHING_WRONG:
        note = ""
    elif note:
        note = checked_text(note, name="the note", longest=LONGEST_NOTE)
    if code:
        if not note:
            raise ConfigError(f"the code {code[:40]!r} has no note of an error next to it")
        code = " ".join(checked_text(code, name="the code's name", longest=LONGEST_NAME).split())
    return CodedNote(item, note, code)


def store_notes(store: Store, coding: Coding, notes: Sequence[CodedNote], *, author: str) -> StoredNotes:
    """Store notes and put them under their codes; codes that do not exist yet are created.

    Notes that are stored already are skipped, whoever wrote them: a sheet also holds the notes of other people.

    Args:
        store: where the error analysis is.
        coding: the error analysis.
        notes: at most one per record; each is checked already.
        author: whose new notes they are.

    Raises:
        ConfigError: too many codes.
        StoreError: it could not be written.
    """
    before = read_coding(store, coding)
    new_notes = [note for note in notes if not _stands(before, note)]
    write_notes(store, coding, {note.item: note.note for note in new_notes}, author=author)
    state = read_coding(store, coding)
    by_code = grouped((note.code.casefold(), note) for note in notes if note.code)
    created, assigned = [], 0
    for group in by_code.values():
        code = state.named(group[0].code)
        moved = [note.item for note in group if code is None or state.notes[note.item].code != code.id]
        assigned += len(moved)
        if code is None:
            new_code(store, coding, group[0].code, author=author, items=moved)
            created.append(group[0].code)
        elif moved:
            assign_code(store, coding, moved, code.id, author=author)
    return StoredNotes(len(new_notes), assigned, tuple(created))


def _stands(state: CodingState, note: CodedNote) -> bool:
    """Whether a note is stored unchanged; a sheet has an apostrophe before what looks like a formula."""
    stored = state.notes.get(note.item)
    return stored is not None and note.note in {stored.text, csv_cell(stored.text).strip()}
