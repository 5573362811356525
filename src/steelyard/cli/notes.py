"""Notes and labels on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.cli.tables import console, say
from steelyard.text.inert import cell_text
from steelyard.types import Label, Note


def note_line(note: Note) -> str:
    r"""A note on one line: when, by whom, what.

    >>> from datetime import UTC, datetime
    >>> note_line(Note("abc234", "new\nprompt", "ann", datetime(2026, 3, 1, 9, 5, tzinfo=UTC)))
    'note 2026-03-01 09:05, ann: new prompt'
    """
    return f"note {note.at:%Y-%m-%d %H:%M}, {note.author}: {' '.join(note.text.split())}"


def plain_note(note: Note) -> dict[str, str]:
    """A note as plain JSON."""
    return {"run": note.run, "at": note.at.isoformat(timespec="seconds"), "author": note.author, "text": note.text}


def print_notes(notes: Sequence[Note]) -> None:
    """All of them, on standard output."""
    to = console()
    for one in notes:
        say(to, note_line(one))


def label_line(label: Label) -> str:
    """What somebody says of a record, on one line.

    >>> from datetime import UTC, datetime
    >>> label_line(Label("q1", "cause", "wrong unit", "model:m", datetime(2026, 3, 1, tzinfo=UTC)))
    '  cause, says model:m: wrong unit'
    """
    return f"  {label.name}, says {label.author}: {' '.join(cell_text(label.value).split())}"
