"""Stores many notes at once, each with its code, as they are read from a spreadsheet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from steelyard.escaping import csv_cell
from steelyard.people.codings import assign_code, new_code, read_coding, write_notes

if TYPE_CHECKING:
    from steelyard.people.codings import Coding
    from steelyard.people.error_codes import CodingState
    from steelyard.store.store import Store


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
    by_code: dict[str, list[CodedNote]] = {}
    for note in notes:
        if note.code:
            by_code.setdefault(note.code.casefold(), []).append(note)
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
