"""Stores labels on records and notes on runs: verdicts and remarks of people and models, apart from the scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from math import isfinite
from typing import Final

from steelyard.errors import ConfigError, did_you_mean
from steelyard.people.events import Event, append, encodable
from steelyard.plain_json import check_plain
from steelyard.store.database.connection import Connection
from steelyard.store.labels import kind_text, label_key, notes_on, stored_labels
from steelyard.store.open_store import OpenStore
from steelyard.store.run_rows import GONE, is_stored
from steelyard.store.stored_run import StoredRun
from steelyard.types import Label, Note

MOST_CHARACTERS: Final = 10_000
"""Limit of a note; longer texts belong in a file that the note can name."""
_FEW: Final = 100
"""Below so many new labels, only the samples and the stored labels of these are read."""


def add_labels(store: OpenStore, run: StoredRun, labels: Sequence[Label]) -> int:
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
    labels = [replace(label, name=encodable(label.name), author=encodable(label.author)) for label in labels]
    _check(store, run, labels)
    about = {label.sample for label in labels} if len(labels) < _FEW else set()
    with store.reading() as connection:
        current = {label_key(label): (label.value, label.scale) for label in stored_labels(connection, run.id, about)}
    changed: list[Event] = []
    for label in labels:
        if current.get(label_key(label), (None, None)) != (label.value, label.scale):
            current[label_key(label)] = (label.value, label.scale)
            changed.append(
                Event(
                    kind_text(label),
                    label.author,
                    label.value,
                    label.at,
                    run=run.num,
                    sample=label.sample,
                    repeat=label.repeat,
                    name=label.name,
                )
            )
    if changed:
        append(store, "label", run.id, changed, check=lambda connection: gone(connection, run))
    return len(changed)


def gone(connection: Connection, run: StoredRun) -> ConfigError | None:
    """The error of a run that was deleted meanwhile; None where it is there."""
    return None if is_stored(connection, run) else ConfigError(GONE.format(run=run.id))


def all_labels(store: OpenStore, run: StoredRun) -> tuple[Label, ...]:
    """Every label that was ever given, oldest first, with those that were replaced or withdrawn."""
    with store.reading() as connection:
        return tuple(stored_labels(connection, run.id))


def _check(store: OpenStore, run: StoredRun, labels: Sequence[Label]) -> None:
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


def _samples(connection: Connection, run: StoredRun, about: set[str] | None) -> set[str]:
    """The ids of a run's samples; of those in `about` alone where it is given."""
    query = "SELECT id FROM sample WHERE num IN (SELECT sample FROM record WHERE run = :run)"
    if about is None:
        return set(connection.execute(query, {"run": run.num}).scalars())
    values = {"run": run.num, "ids": sorted(about)}
    try:
        return set(connection.execute(f"{query} AND id IN :ids", values).scalars()) if about else set()
    except UnicodeEncodeError:  # an id with half a surrogate pair, which SQLite holds in no text
        return set()


def add_note(store: OpenStore, run: StoredRun, text: str, *, author: str, at: datetime) -> Note:
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
    body, name = encodable(text).strip(), encodable(author).strip()
    if not body:
        raise ConfigError("a note must not be blank")
    if len(body) > MOST_CHARACTERS:
        raise ConfigError(f"a note has at most {MOST_CHARACTERS:,} characters, not {len(body):,}")
    if not name:
        raise ConfigError("a note has an author; this name is blank")
    event = Event("note", name, body, at, run.num)
    append(store, "note", run.id, [event], check=lambda connection: gone(connection, run))
    return Note(run.id, body, name, at)


def read_notes(store: OpenStore, runs: Iterable[StoredRun]) -> dict[str, tuple[Note, ...]]:
    """Run's id -> its notes, in the order they were given; every one of `runs` has an entry."""
    with store.reading() as connection:
        return notes_on(connection, [run.id for run in runs])
