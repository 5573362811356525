"""Drafts of datasets: what people add, change and retire before they save a new version.

A draft belongs to one version of a dataset, named by the hash of its file. It is kept as events that are only added to,
each with its author and time; the last event of a row counts. Saving and discarding are events too: a draft is what
came after the last of them. A change names the last event of the row that its author saw, and is refused if there is a
newer one: so nobody replaces a change unseen.
"""

# Why it is so, and what was rejected: docs/decisions/people-added-never-changed.md

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, cast

from steelyard.data.new_version import RowEdit
from steelyard.errors import ConfigError
from steelyard.people.events import Event, append, checked_author, newest_event, read_events
from steelyard.store.database.connection import Connection
from steelyard.store.open_store import OpenStore

MOST_ROWS: Final = 10_000
"""Rows that a draft changes at most."""
_LONGEST_ID: Final = 500
_SAVED: Final = "saved"
_DISCARDED: Final = "discarded"
_UNDONE: Final = "undone"
_ROW_KINDS: Final = frozenset({"added", "changed", "retired", _UNDONE})


@dataclass(frozen=True, slots=True)
class DraftRow:
    """An action of a draft on a row.

    Args:
        edit: the change.
        author: who made it last.
        at: when.
        num: number of the event.
        origin: for a row that was taken from a run: `run`, `target`, `sample`, `repeat`.
    """

    edit: RowEdit
    author: str
    at: datetime
    num: int
    origin: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DatasetDraft:
    """The unsaved changes of a dataset's version.

    Args:
        dataset: id of the dataset.
        base: hash of the version's file.
        rows: id -> what happens to the row, in the order in which they were changed first.
        seen: id -> number of the row's last event, of every row that was touched since the last save.
        last: number of the last event; 0 where there is none.
    """

    dataset: str
    base: str
    rows: Mapping[str, DraftRow]
    seen: Mapping[str, int]
    last: int

    @property
    def edits(self) -> dict[str, RowEdit]:
        """Id -> the change alone."""
        return {ident: row.edit for ident, row in self.rows.items()}

    @property
    def authors(self) -> tuple[str, ...]:
        """Who made these changes."""
        return tuple(dict.fromkeys(row.author for row in self.rows.values()))


@dataclass(frozen=True, slots=True)
class SavedVersion:
    """A draft that was saved as a new file.

    Args:
        dataset: id of the dataset.
        base: hash of the parent's file.
        parent: name of the parent's file.
        name: of the new file, in the folder of its parent.
        digest: of the new file.
        author: who saved it.
        at: when.
        counts: rows that were `added`, `changed` and `retired`.
    """

    dataset: str
    base: str
    parent: str
    name: str
    digest: str
    author: str
    at: datetime
    counts: Mapping[str, int]


class DraftConflictError(ConfigError):
    """Somebody else changed the same thing meanwhile; `row` is what they made of it, None where they undid it."""

    def __init__(self, message: str, row: DraftRow | None = None) -> None:
        super().__init__(message)
        self.row = row


def checked_row_id(ident: str) -> str:
    """The id of a new row, without blanks around it.

    Raises:
        ConfigError: it is blank, too long, or holds a control character.
    """
    name = ident.encode("utf-8", "replace").decode().strip()
    if not name:
        raise ConfigError("the id is blank: runs and comparisons know a sample by its id")
    if len(name) > _LONGEST_ID:
        raise ConfigError(f"an id has at most {_LONGEST_ID} characters, not {len(name):,}")
    if any(unicodedata.category(sign) == "Cc" for sign in name):
        raise ConfigError(f"the id {name!r} holds a control character or a line end")
    return name


def read_draft(store: OpenStore, dataset: str, base: str) -> DatasetDraft:
    """The draft of a version; an empty one where nothing is unsaved."""
    with store.reading() as connection:
        return _draft(connection, dataset, base)


def _draft(connection: Connection, dataset: str, base: str) -> DatasetDraft:
    return _folded(dataset, base, (event for _, event in read_events(connection, "draft", _subject(dataset, base))))


def change_row(  # noqa: PLR0913  # a change is made of these
    store: OpenStore,
    draft: DatasetDraft,
    ident: str,
    edit: RowEdit | None,
    *,
    author: str,
    seen: int,
    origin: Mapping[str, Any] | None = None,
) -> None:
    """Store what happens to a row, and return once it is on disk.

    Args:
        store: where the draft is.
        draft: the draft; its rows may be out of date.
        ident: of the row.
        edit: the change; None undoes all that the draft does to the row.
        author: who makes it.
        seen: number of the row's event that the author saw; 0 for none.
        origin: where the row was taken from.

    Raises:
        DraftConflictError: somebody has changed the row since.
        ConfigError: no author, or too many rows.
        StoreError: it could not be written.
    """
    now = read_draft(store, draft.dataset, draft.base)
    if ident not in now.rows and len(now.rows) >= MOST_ROWS:
        raise ConfigError(f"a draft changes at most {MOST_ROWS:,} rows: save it, and go on with the new version")
    body = {"cells": dict(edit.cells) if edit else {}, "from": dict(origin or {})}
    name, kind = checked_author(author), edit.kind if edit else _UNDONE
    event = Event(kind, name, body, sample=ident, seen=seen)
    subject = _subject(draft.dataset, draft.base)

    def check(connection: Connection) -> ConfigError | None:
        ended = newest_event(connection, "draft", subject, sample="")
        newest = newest_event(connection, "draft", subject, sample=ident)
        if (newest if newest > ended else 0) == seen:
            return None
        return _conflict(_draft(connection, draft.dataset, draft.base), ident)

    append(store, "draft", subject, [event], check=check)


def record_saved(store: OpenStore, saved: SavedVersion, *, seen: int) -> None:
    """Store that a draft was saved, which ends it.

    Args:
        store: where the draft is.
        saved: the new file; its time is set by the store.
        seen: number of the last event that is in the file.

    Raises:
        DraftConflictError: the draft has changed since.
        StoreError: it could not be written.
    """
    body = {"name": saved.name, "digest": saved.digest, "parent": saved.parent, "counts": dict(saved.counts)}
    _end(store, (saved.dataset, saved.base), Event(_SAVED, saved.author, body, seen=seen))


def discard_draft(store: OpenStore, draft: DatasetDraft, *, author: str, seen: int) -> None:
    """End a draft without saving it; its events stay.

    Raises:
        DraftConflictError: it has changed since.
        ConfigError: no author.
        StoreError: it could not be written.
    """
    _end(store, (draft.dataset, draft.base), Event(_DISCARDED, checked_author(author), {}, seen=seen))


def check_unchanged(now: DatasetDraft, seen: int) -> None:
    """Refuse to go on where a draft has changes that were not seen.

    Raises:
        DraftConflictError: it has.
    """
    if now.last != seen:
        raise _moved_on(now, seen)


def saved_versions(store: OpenStore) -> list[SavedVersion]:
    """Every file that was saved, oldest first."""
    with store.reading() as connection:
        # Here, where an event that no version writes is damage of the store.
        return [_saved(subject, event) for subject, event in read_events(connection, "draft") if event.kind == _SAVED]


def _saved(subject: str, event: Event) -> SavedVersion:
    (dataset, base), body = subject.split(" ", 1), event.body
    return SavedVersion(
        dataset, base, body["parent"], body["name"], body["digest"], event.author, event.at, body["counts"]
    )


def _subject(dataset: str, base: str) -> str:
    return f"{dataset} {base}"


def _end(store: OpenStore, of: tuple[str, str], event: Event) -> None:
    def check(connection: Connection) -> ConfigError | None:
        if newest_event(connection, "draft", _subject(*of)) == event.seen:
            return None
        return _moved_on(_draft(connection, *of), event.seen)

    append(store, "draft", _subject(*of), [event], check=check)


def _conflict(current: DatasetDraft, ident: str) -> DraftConflictError:
    row = current.rows.get(ident)
    if row is None:
        return DraftConflictError(f"row {ident}: somebody undid its changes, saved or discarded the draft meanwhile")
    when = row.at.strftime("%H:%M:%S")
    did = {"added": "added a row with this id", "changed": "changed this row", "retired": "retired this row"}
    return DraftConflictError(f"row {ident}: {row.author} {did[row.edit.kind]} at {when} UTC, after you opened it", row)


def _moved_on(current: DatasetDraft, seen: int) -> DraftConflictError:
    new_rows = [row for row in current.rows.values() if row.num > seen]
    if new_rows:
        by = ", ".join(dict.fromkeys(row.author for row in new_rows))
        cause = f"{len(new_rows)} row{'' if len(new_rows) == 1 else 's'} changed by {by}"
    else:
        cause = "changes were undone, or it was saved or discarded"
    return DraftConflictError(f"the draft has changed since you looked at it ({cause}): look at it again")


def _folded(dataset: str, base: str, events: Iterable[Event]) -> DatasetDraft:
    rows: dict[str, DraftRow] = {}
    seen: dict[str, int] = {}
    last = 0
    for event in events:
        last = event.num
        if event.kind not in _ROW_KINDS:
            rows, seen = {}, {}
            continue
        seen[event.sample] = event.num
        if event.kind == _UNDONE:
            rows.pop(event.sample, None)
            continue
        before = rows.get(event.sample)
        origin = event.body["from"] or (before.origin if before else {})
        edit = RowEdit(cast("Literal['added', 'changed', 'retired']", event.kind), event.body["cells"])
        rows[event.sample] = DraftRow(edit, event.author, event.at, event.num, origin)
    return DatasetDraft(dataset, base, rows, seen, last)
