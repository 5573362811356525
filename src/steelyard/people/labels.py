"""Stores labels on records and notes on runs: verdicts and remarks of people and models, apart from the scores."""

# Why it is so, and what was rejected: docs/decisions/people-added-never-changed.md

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from math import isfinite
from typing import Any, Final

from steelyard.errors import ConfigError, did_you_mean
from steelyard.plain_json import check_plain, to_json
from steelyard.store.database import schema
from steelyard.store.database.connection import Connection
from steelyard.store.labels import label_key, notes_on, stored_labels
from steelyard.store.open_store import OpenStore
from steelyard.store.records import ReadableRun
from steelyard.store.run_rows import GONE, is_stored
from steelyard.store.writer import Batch
from steelyard.types import Label, Note

MOST_CHARACTERS: Final = 10_000
"""Limit of a note; longer texts belong in a file that the note can name."""
_FEW: Final = 100
"""Below so many new labels, only the stored labels of their samples are read."""
_INSERT: Final = schema.insert_into(
    schema.label, tuple(column.name for column in schema.label.columns if not column.key)
)


def add_labels(store: OpenStore, run: ReadableRun, labels: Sequence[Label]) -> int:
    """Store labels, all or none, and return once they are on disk; a label that its author gave already is skipped.

    Args:
        store: where the run is.
        run: the run of the labelled records; it may be finished.
        labels: of samples of the run; a value of None withdraws the author's earlier label.

    Returns:
        How many were written.

    Raises:
        ConfigError: a label has no name or author, or is about a sample that the run does not have.
        StoreError: they could not be written.
    """
    labels = [replace(label, name=_encodable(label.name), author=_encodable(label.author)) for label in labels]
    _check(store, run, labels)  # here, as an error in the writer's transaction would end all writing

    def change(batch: Batch) -> int:
        # One label of a run with thousands must not cost the reading of all.
        about = {label.sample for label in labels} if len(labels) < _FEW else set()
        current = {
            label_key(label): (label.value, label.scale) for label in stored_labels(batch.connection, run.num, about)
        }
        changed: list[Label] = []
        for label in labels:
            if current.get(label_key(label), (None, None)) != (label.value, label.scale):
                current[label_key(label)] = (label.value, label.scale)
                changed.append(label)
        if changed:
            batch.connection.insert_rows(_INSERT, [_row(run.num, label) for label in changed])
        return len(changed)

    return int(store.writer.change(change))


def all_labels(store: OpenStore, run: ReadableRun) -> tuple[Label, ...]:
    """Every label that was ever given, oldest first, with those that were replaced or withdrawn."""
    with store.reading() as connection:
        return tuple(stored_labels(connection, run.num))


def _check(store: OpenStore, run: ReadableRun, labels: Sequence[Label]) -> None:
    """Refuse labels that cannot be stored."""
    about = {label.sample for label in labels}
    with store.reading() as connection:
        samples = _samples(connection, run, about if len(about) < _FEW else None)
        if not about <= samples:  # all, for the message
            samples = _samples(connection, run, None)
    for label in labels:
        if not label.name.strip() or not label.author.strip():
            raise ConfigError(f"a label has a name and an author: {label.name!r} by {label.author!r} lacks one")
        check_plain(label.value)
        if isinstance(label.value, float) and not isfinite(label.value):
            raise ConfigError(f"a label is a finite number, a text or another plain value, not {label.value}")
        if label.sample not in samples:
            near = did_you_mean(label.sample, samples)
            raise ConfigError(f"run {run.id} has no sample {label.sample!r}{near if near.startswith(':') else ''}")


def _samples(connection: Connection, run: ReadableRun, about: set[str] | None) -> set[str]:
    """The ids of a run's samples; of those in `about` alone where it is given."""
    query = "SELECT id FROM sample WHERE num IN (SELECT sample FROM record WHERE run = :run)"
    if about is None:
        return set(connection.execute(query, {"run": run.num}).scalars())
    values = {"run": run.num, "ids": sorted(about)}
    try:
        return set(connection.execute(f"{query} AND id IN :ids", values).scalars()) if about else set()
    except UnicodeEncodeError:  # an id with half a surrogate pair, which SQLite holds in no text
        return set()


def _row(run: int, label: Label) -> dict[str, Any]:
    low, high = (label.scale if label.kind else None) or (None, None)
    return {
        "run": run,
        "sample": label.sample,
        "repeat": label.repeat,
        "name": label.name,
        "author": label.author,
        "created": label.at.timestamp(),
        "value": _encodable(to_json(label.value).decode("utf-8", "surrogatepass")),
        "kind": label.kind,
        "low": low,
        "high": high,
    }


def _encodable(text: str) -> str:
    """A text with `?` for half a surrogate pair: a terminal may hand one over, and SQLite's driver refuses it."""
    return text.encode("utf-8", "replace").decode()


def add_note(store: OpenStore, run: ReadableRun, text: str, *, author: str, at: datetime) -> Note:
    """Store a note on a run and return once it is on disk; finished runs accept notes too.

    Args:
        store: where the run is.
        run: what the note is about.
        text: blanks around it are removed.
        author: who writes it.
        at: when.

    Raises:
        ConfigError: the text or the author is blank, the text is longer than `MOST_CHARACTERS`, or the run was
            deleted.
        StoreError: it could not be written.
    """
    body, name = _encodable(text).strip(), _encodable(author).strip()
    if not body:
        raise ConfigError("a note must not be blank")
    if len(body) > MOST_CHARACTERS:
        raise ConfigError(f"a note has at most {MOST_CHARACTERS:,} characters, not {len(body):,}")
    if not name:
        raise ConfigError("a note has an author; this name is blank")
    row = {"run": run.num, "created": at.timestamp(), "author": name, "text": body}

    def change(batch: Batch) -> bool:
        stored = is_stored(batch.connection, run)
        if stored:
            batch.connection.insert(schema.note, row)
        return stored

    if not store.writer.change(change):
        raise ConfigError(GONE.format(run=run.id))
    return Note(run.id, body, name, at)


def read_notes(store: OpenStore, runs: Iterable[ReadableRun]) -> dict[str, tuple[Note, ...]]:
    """Run's id -> its notes, in the order they were given; every one of `runs` has an entry."""
    with store.reading() as connection:
        return notes_on(connection, {run.num: run.id for run in runs})
