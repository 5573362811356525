"""Drafts of datasets: what people add, change and retire before they save a new version.

A draft belongs to one version of a dataset, named by the hash of its file. It is kept as events that are only added to,
each with its author and time; the last event of a row counts. Saving and discarding are events too: a draft is what
came after the last of them. A change names the last event of the row that its author saw, and is refused if there is a
newer one: so nobody replaces a change unseen.
"""

# Why it is so, and what was rejected: docs/decisions/people-added-never-changed.md

from __future__ import annotations

import time
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from steelyard.data.new_version import RowEdit
from steelyard.errors import ConfigError
from steelyard.plain_json import from_json, to_json
from steelyard.store.database import schema

if TYPE_CHECKING:
    from steelyard.store.database.connection import Connection
    from steelyard.store.open_store import OpenStore
    from steelyard.store.writer import Batch

MOST_ROWS: Final = 10_000
"""Rows that a draft changes at most."""
_LONGEST_NAME: Final = 200
_LONGEST_ID: Final = 500
_SAVED: Final = "saved"
_DISCARDED: Final = "discarded"
_UNDONE: Final = "undone"
_ROW_KINDS: Final = frozenset({"added", "changed", "retired", _UNDONE})
_LOCK: Final = "LOCK TABLE dataset_event IN SHARE ROW EXCLUSIVE MODE"
"""On a server: of two people who change a row at the same time the second must see the first one's change."""


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


def checked_author(name: str) -> str:
    """The name of a person who changes a dataset, without blanks around it.

    Raises:
        ConfigError: it is blank or too long.
    """
    author = name.encode("utf-8", "replace").decode().replace("\0", " ").strip()
    if not author:
        raise ConfigError("your name is missing: a dataset says who changed it")
    if len(author) > _LONGEST_NAME:
        raise ConfigError(f"a name has at most {_LONGEST_NAME} characters, not {len(author)}")
    return author


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
    row = {
        "dataset": draft.dataset,
        "base": draft.base,
        "author": checked_author(author),
        "kind": edit.kind if edit else _UNDONE,
        "sample": ident,
        "body": to_json({"cells": dict(edit.cells) if edit else {}, "from": dict(origin or {})}).decode(
            "utf-8", "replace"
        ),
    }

    def change(batch: Batch) -> ConfigError | None:
        _lock(batch)
        current = _draft(batch.connection, draft.dataset, draft.base)
        if current.seen.get(ident, 0) != seen:
            return _conflict(current, ident)
        if ident not in current.rows and len(current.rows) >= MOST_ROWS:
            return ConfigError(f"a draft changes at most {MOST_ROWS:,} rows: save it, and go on with the new version")
        batch.connection.insert(schema.dataset_event, {**row, "created": time.time()})
        return None

    _raise(store.writer.change(change))


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
    body = {
        "name": saved.name, "digest": saved.digest, "parent": saved.parent, "counts": dict(saved.counts)
    }  # fmt: skip
    _end(store, (saved.dataset, saved.base), saved.author, seen, _SAVED, body)


def discard_draft(store: OpenStore, draft: DatasetDraft, *, author: str, seen: int) -> None:
    """End a draft without saving it; its events stay.

    Raises:
        DraftConflictError: it has changed since.
        ConfigError: no author.
        StoreError: it could not be written.
    """
    _end(store, (draft.dataset, draft.base), checked_author(author), seen, _DISCARDED, {})


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
        query = "SELECT * FROM dataset_event WHERE kind = :kind ORDER BY num"
        rows = connection.execute(query, {"kind": _SAVED}).all()
    return [_saved(row) for row in rows]


def _saved(row: Any) -> SavedVersion:
    body = from_json(row.body.encode())
    at = datetime.fromtimestamp(row.created, UTC)
    return SavedVersion(
        row.dataset, row.base, body["parent"], body["name"], body["digest"], row.author, at, body["counts"]
    )


def _end(store: OpenStore, of: tuple[str, str], author: str, seen: int, kind: str, body: Mapping[str, Any]) -> None:
    row = {
        "dataset": of[0],
        "base": of[1],
        "author": author,
        "kind": kind,
        "sample": "",
        "body": to_json(body).decode("utf-8", "replace"),
    }

    def change(batch: Batch) -> ConfigError | None:
        _lock(batch)
        current = _draft(batch.connection, *of)
        if current.last != seen:
            return _moved_on(current, seen)
        batch.connection.insert(schema.dataset_event, {**row, "created": time.time()})
        return None

    _raise(store.writer.change(change))


def _raise(refused: ConfigError | None) -> None:
    """Raise the error that a change returned: raised within the change, it would end all writing."""
    if refused is not None:
        raise refused


def _lock(batch: Batch) -> None:
    if batch.shared:
        batch.connection.execute(_LOCK)


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


def _draft(connection: Connection, dataset: str, base: str) -> DatasetDraft:
    rows: dict[str, DraftRow] = {}
    seen: dict[str, int] = {}
    last = 0
    query = "SELECT * FROM dataset_event WHERE dataset = :dataset AND base = :base ORDER BY num"
    for event in connection.execute(query, {"dataset": dataset, "base": base}):
        last = event.num
        if event.kind not in _ROW_KINDS:
            rows, seen = {}, {}
            continue
        seen[event.sample] = event.num
        if event.kind == _UNDONE:
            rows.pop(event.sample, None)
            continue
        rows[event.sample] = _row(event, rows.get(event.sample))
    return DatasetDraft(dataset, base, rows, seen, last)


def _row(event: Any, before: DraftRow | None) -> DraftRow:
    body = from_json(event.body.encode())
    at = datetime.fromtimestamp(event.created, UTC)
    origin = body["from"] or (before.origin if before else {})
    return DraftRow(RowEdit(event.kind, body["cells"]), event.author, at, event.num, origin)
