"""Marks of runs: the baseline of a suite, what is archived, and tags.

Marks sort runs for people and are not part of a result: no report depends on them. The last change counts.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from steelyard.errors import ConfigError
from steelyard.normal_form import stream_safe
from steelyard.people.events import INSERT_EVENT, Event, read_events, take_turn
from steelyard.people.labels import gone
from steelyard.plain_json import field_values
from steelyard.store.database.connection import Connection
from steelyard.store.open_store import OpenStore
from steelyard.store.run import Run
from steelyard.store.writer import Batch

MOST_CHARACTERS: Final = 40
"""Of a tag."""
_MOST_TAGS: Final = 20
_SIGNS: Final = frozenset("-_.:/+=@#")


@dataclass(frozen=True, slots=True)
class RunMarks:
    """The marks of one run.

    Args:
        baseline: the other runs of its suite are compared with it.
        archived: lists leave it out unless asked.
        tags: in alphabetical order.
    """

    baseline: bool = False
    archived: bool = False
    tags: tuple[str, ...] = ()


NO_MARKS: Final = RunMarks()


@dataclass(frozen=True, slots=True)
class MarkChange:
    """A change of the marks of a run.

    Args:
        baseline: pin it in place of its suite's baseline, or unpin it; None leaves that as it is.
        archived: archive it or bring it back; None leaves that as it is.
        add: tags that it gets.
        remove: tags that it loses; one that it does not have is passed over.
    """

    baseline: bool | None = None
    archived: bool | None = None
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


def checked_tag(text: str) -> str:
    """A tag as it is stored.

    Args:
        text: letters and digits of any script and the signs - _ . : / + = @ #, at most 40 characters; blanks around
            them are removed.

    Raises:
        ConfigError: anything else.

    >>> checked_tag(" v2/zh ")
    'v2/zh'
    """
    tag = _normal(text.strip())
    if not tag:
        raise ConfigError("a tag has at least one character")
    if len(tag) > MOST_CHARACTERS:
        raise ConfigError(f"a tag has at most {MOST_CHARACTERS} characters, not {len(tag)}")
    # Marks of letters (Mn, Mc) belong to words in many scripts, but not to the beginning of one.
    wrong = next((sign for sign in tag if not _may_be_in_tag(sign)), "")
    if wrong or unicodedata.category(tag[0]).startswith("M"):
        shown = "a blank" if wrong.isspace() else repr(wrong or tag[0])
        raise ConfigError(
            f"the tag {tag!r} holds {shown}: a tag has letters, digits and the signs {' '.join(sorted(_SIGNS))}"
        )
    return tag


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", stream_safe(text))


def _may_be_in_tag(sign: str) -> bool:
    return sign.isalnum() or sign in _SIGNS or unicodedata.category(sign) in {"Mn", "Mc"}


def mark_run(store: OpenStore, run: Run, change: MarkChange) -> RunMarks:
    """Change the marks of a run, all at once, and return them once they are on disk.

    Args:
        store: where the run is.
        run: finished where it is pinned; in any state else.
        change: what is changed.

    Raises:
        ConfigError: a tag that cannot be one; the run was deleted, has no result that others could be compared with,
            or has too many tags.
        StoreError: it could not be written.
    """
    if change.baseline and (refusal := baseline_refusal(run)):
        raise ConfigError(refusal)
    # Removed tags are not checked: no run has an invalid one.
    change = replace(
        change, add=tuple(map(checked_tag, change.add)), remove=tuple(_normal(tag.strip()) for tag in change.remove)
    )

    def write(batch: Batch) -> RunMarks | ConfigError:
        take_turn(batch, "mark")  # one for all runs: of two that are pinned, the second must see the first one
        if refused := gone(batch.connection, run):
            return refused
        changes = _changes(batch.connection, run, change)
        if isinstance(changes, dict):
            rows = [event.row("mark", of_run) for of_run, events in changes.items() for event in events]
            batch.connection.insert_rows(INSERT_EVENT, rows)
            return _marks(batch.connection).get(run.num, NO_MARKS)
        return changes

    marks: RunMarks | ConfigError = store.writer.change(write)
    if isinstance(marks, ConfigError):
        raise marks
    return marks


def baseline_refusal(run: Run) -> str:
    """Why a run cannot be pinned as the baseline of its suite; "" where it can."""
    if run.state != "finished":
        return f"run {run.id} is {run.state}: a baseline is a finished run"
    if not run.manifest.get("scores"):
        return f"run {run.id} ({run.target}) has no scores that other runs could be compared with"
    return ""


def _changes(connection: Connection, run: Run, change: MarkChange) -> dict[str, list[Event]] | ConfigError:
    """Id of a run -> the events that change its marks; or why nothing may be changed."""
    of_runs = _marks(connection)
    before = of_runs.get(run.num, NO_MARKS)
    tags = {*before.tags, *change.add} - {*change.remove}
    if change.add and len(tags) > _MOST_TAGS:
        return ConfigError(f"a run has at most {_MOST_TAGS} tags, and run {run.id} would have {len(tags)}")
    after = RunMarks(
        before.baseline if change.baseline is None else change.baseline,
        before.archived if change.archived is None else change.archived,
        tuple(sorted(tags)),
    )
    changes = {run.id: [Event("marks", "", field_values(after), run=run.num)] if after != before else []}
    if change.baseline:
        query = "SELECT num, id FROM run WHERE suite = :suite AND kind = :kind AND num <> :num"
        for other in connection.execute(query, {"suite": run.suite, "kind": run.kind, "num": run.num}):
            if (marks := of_runs.get(other.num, NO_MARKS)).baseline:
                unpinned = field_values(replace(marks, baseline=False))
                changes[other.id] = [Event("marks", "", unpinned, run=other.num)]
    return changes


def read_marks(store: OpenStore) -> Mapping[int, RunMarks]:
    """Run's number -> its marks, of every run that has any."""
    with store.reading() as connection:
        return _marks(connection)


def marks_of(store: OpenStore, run: int) -> RunMarks:
    """The marks of one run, by its number."""
    return read_marks(store).get(run, NO_MARKS)


def baselines(runs: Iterable[Run], marks: Mapping[int, RunMarks]) -> dict[tuple[str, str], Run]:
    """(suite, kind) -> its pinned baseline among `runs`."""
    return {(run.suite, run.kind): run for run in runs if marks.get(run.num, NO_MARKS).baseline}


def _marks(connection: Connection) -> dict[int, RunMarks]:
    """The marks of every run that has any: the last event of a run has them all."""
    marks: dict[int, RunMarks] = {}
    for _, event in read_events(connection, "mark"):
        if event.run is not None:
            body = event.body
            marks[event.run] = RunMarks(body["baseline"], body["archived"], tuple(body["tags"]))
    return {run: of_run for run, of_run in marks.items() if of_run != NO_MARKS}
