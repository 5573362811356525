"""Reads labels on records and notes on runs, which are stored apart from the scores; `steelyard.people` writes them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from steelyard.analysis.judging_manifest import judged_run
from steelyard.plain_json import from_json
from steelyard.store.database.connection import Connection, portions
from steelyard.store.stored_run import StoredRun
from steelyard.types import Label, Note, Remarks

_Key = tuple[str, int, str, str]


def run_row(connection: Connection, run: str) -> Any:
    """The row of a run by its id; None where the run was deleted."""
    return connection.execute("SELECT * FROM run WHERE id = :id", {"id": run}).first()


def label_source(connection: Connection, run: StoredRun) -> str:
    """The id of the run whose labels a run has: of a run of judges, that of the run whose answers they judge."""
    source = judged_run(run.manifest, run.kind)
    return source if source and run_row(connection, source) is not None else run.id


def current_labels(connection: Connection, run: str, sample: str = "") -> tuple[Label, ...]:
    """The labels of a run that count: the newest of each sample, repeat, name and author, unless it was withdrawn.

    Args:
        connection: to the store.
        run: its id.
        sample: only those of this sample; "" is all.
    """
    newest: dict[_Key, Label] = {}
    for label in stored_labels(connection, run, {sample} if sample else None):
        # Removed first, because a dictionary keeps the position of a key that is only overwritten.
        newest.pop(label_key(label), None)
        newest[label_key(label)] = label
    return tuple(label for label in newest.values() if label.value is not None)


def newest_label(connection: Connection, run: str) -> int:
    """The number of the label of a run that was given or withdrawn last; 0 where there is none."""
    query = "SELECT MAX(num) FROM event WHERE topic = 'label' AND subject = :run"
    return connection.execute(query, {"run": run}).scalar() or 0


def remarks_on(connection: Connection, run: StoredRun) -> Remarks:
    """The notes on a run, and the labels of its records that count."""
    return Remarks(notes_on(connection, [run.id])[run.id], current_labels(connection, run.id))


def by_record(labels: Iterable[Label]) -> dict[tuple[str, int], tuple[Label, ...]]:
    """(sample's id, repeat) -> its labels."""
    grouped: dict[tuple[str, int], tuple[Label, ...]] = {}
    for label in labels:
        grouped[label.sample, label.repeat] = (*grouped.get((label.sample, label.repeat), ()), label)
    return grouped


def label_key(label: Label) -> _Key:
    """The key of a label: of the labels with one key, the newest counts."""
    return label.sample, label.repeat, label.name, label.author


def stored_labels(connection: Connection, run: str, about: set[str] | None = None) -> list[Label]:
    """All labels of a run, oldest first; of the samples in `about` alone where it is given and not empty."""
    of_these = "AND sample IN :about" if about else ""
    values: dict[str, Any] = {"run": run, "about": sorted(about)} if about else {"run": run}
    query = f"SELECT * FROM event WHERE topic = 'label' AND subject = :run {of_these} ORDER BY num"
    return [_label(row) for row in connection.execute(query, values)]


def _label(row: Any) -> Label:
    kind, *ends = row.kind.split(" ")
    scale = (float(ends[0]), float(ends[1])) if ends else None
    at = datetime.fromtimestamp(row.created, UTC)
    return Label(row.sample, row.name, _value(row.body), row.author, at, row.repeat, kind, scale)


def kind_text(label: Label) -> str:
    """The kind of a label as its event has it: with the ends of its scale."""
    scale = label.scale if label.kind else None
    return label.kind if scale is None else f"{label.kind} {float(scale[0])!r} {float(scale[1])!r}"


def _value(text: Any) -> Any:
    """The value of a label; an unreadable one is replaced by a text that says so."""
    try:
        return from_json(text.encode())
    except (ValueError, AttributeError):
        return f"(damaged in the store: {text!r:.40})"


def notes_on(connection: Connection, runs: Iterable[str]) -> dict[str, tuple[Note, ...]]:
    """Run's id -> its notes, in the order they were given; every one of `runs` has an entry."""
    by_run: dict[str, tuple[Note, ...]] = dict.fromkeys(runs, ())
    query = "SELECT subject, author, created, body FROM event WHERE topic = 'note' AND subject IN :runs ORDER BY num"
    for portion in portions(by_run):
        for row in connection.execute(query, {"runs": portion}):
            note = Note(row.subject, str(_value(row.body)), row.author, datetime.fromtimestamp(row.created, UTC))
            by_run[row.subject] += (note,)
    return by_run
