"""Notes on runs: what a person wants the next one who looks at a run to know."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection, inspect, select

from steelyard.errors import ConfigError
from steelyard.store import schema
from steelyard.store.writer import Batch
from steelyard.types import Note

if TYPE_CHECKING:
    from steelyard.store.run import Run
    from steelyard.store.store import Store

MOST_CHARACTERS: Final = 10_000
"""A note is a remark; what is longer belongs into a file, and the note says where that is."""


def add_note(store: Store, run: Run, text: str, *, author: str, at: datetime) -> Note:
    """Keep a note; returns once it is on disk. A run that is finished takes notes too: they change nothing of it.

    Args:
        store: where the run is.
        run: what the note is about.
        text: blanks around it are dropped.
        author: who says so.
        at: when.

    Raises:
        ConfigError: it says nothing, nobody says it, or it is longer than `MOST_CHARACTERS`.
        StoreError: it could not be written.
    """
    said = text.encode("utf-8", "replace").decode().strip()
    by = author.encode("utf-8", "replace").decode().strip()
    if not said:
        raise ConfigError("a note says something; this one is blank")
    if len(said) > MOST_CHARACTERS:
        raise ConfigError(f"a note has at most {MOST_CHARACTERS:,} characters, not {len(said):,}")
    if not by:
        raise ConfigError("a note has an author; this name is blank")
    row = {"run": run.num, "created": at.timestamp(), "author": by, "text": said}

    def change(batch: Batch) -> None:
        batch.connection.execute(schema.note.insert(), row)

    store.writer.change(change)
    return Note(run.id, said, by, at)


def read_notes(store: Store, runs: Iterable[Run]) -> dict[str, tuple[Note, ...]]:
    """Run's id -> its notes, in the order they were given; every one of `runs` has an entry."""
    with store.reading() as connection:
        return notes_in(connection, {run.num: run.id for run in runs})


def notes_in(connection: Connection, runs: dict[int, str]) -> dict[str, tuple[Note, ...]]:
    """The same for runs by number -> id; nothing in a store that is older than notes."""
    table = schema.note
    found: dict[str, tuple[Note, ...]] = dict.fromkeys(runs.values(), ())
    if inspect(connection).has_table(table.name):
        for row in connection.execute(select(table).order_by(table.c.num)):
            if name := runs.get(row.run):
                found[name] += (Note(name, row.text, row.author, datetime.fromtimestamp(row.created, UTC)),)
    return found
