"""Notes on a terminal."""

from __future__ import annotations

from steelyard.types import Note


def note_line(note: Note) -> str:
    r"""A note on one line: when, by whom, what.

    >>> from datetime import UTC, datetime
    >>> note_line(Note("abc234", "new\\nprompt", "ann", datetime(2026, 3, 1, 9, 5, tzinfo=UTC)))
    'note 2026-03-01 09:05, ann: new prompt'
    """
    return f"note {note.at:%Y-%m-%d %H:%M}, {note.author}: {' '.join(note.text.split())}"


def plain_note(note: Note) -> dict[str, str]:
    """A note as plain JSON."""
    return {"run": note.run, "at": note.at.isoformat(timespec="seconds"), "author": note.author, "text": note.text}
