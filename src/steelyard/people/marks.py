"""Marks of runs: the baseline of a suite, what is archived, and tags.

Marks sort runs for people and are not part of a result: no report depends on them. Notes and labels are kept for ever;
a mark is there or not, and the last change counts.
"""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from steelyard.errors import ConfigError
from steelyard.normal_form import stream_safe
from steelyard.store.database import schema
from steelyard.store.database.connection import Connection
from steelyard.store.run_rows import GONE, is_stored
from steelyard.store.writer import Batch

if TYPE_CHECKING:
    from steelyard.store.open_store import OpenStore
    from steelyard.store.run import Run

_BASELINE: Final = "baseline"
_ARCHIVED: Final = "archived"
_TAG: Final = "tag"
MOST_CHARACTERS: Final = 40
"""Of a tag."""
_MOST_TAGS: Final = 20
_SIGNS: Final = frozenset("-_.:/+=@#")
_LOCK: Final = "LOCK TABLE mark IN SHARE ROW EXCLUSIVE MODE"
"""On a server: of two processes that pin at the same time the second must see the first one's baseline."""
_REMOVE: Final = "DELETE FROM mark WHERE kind = :kind AND value = :value AND run"
_OF_SUITE: Final = "SELECT num FROM run WHERE suite = :suite AND run.kind = :suite_kind"


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

    Raises:
        ConfigError: a tag that cannot be one.
    """

    baseline: bool | None = None
    archived: bool | None = None
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "add", tuple(checked_tag(tag) for tag in self.add))
        # Not checked: no run has an invalid tag. Half a surrogate pair would end the writer of an SQLite store.
        sound = [tag.encode("utf-8", "replace").decode().strip() for tag in self.remove]
        object.__setattr__(self, "remove", tuple(unicodedata.normalize("NFC", stream_safe(tag)) for tag in sound))


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
    tag = unicodedata.normalize("NFC", stream_safe(text.strip()))
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


def _may_be_in_tag(sign: str) -> bool:
    return sign.isalnum() or sign in _SIGNS or unicodedata.category(sign) in {"Mn", "Mc"}


def mark_run(store: OpenStore, run: Run, change: MarkChange) -> RunMarks:
    """Change the marks of a run, all at once, and return them once they are on disk.

    Args:
        store: where the run is.
        run: finished where it is pinned; in any state else.
        change: what is changed.

    Raises:
        ConfigError: the run was deleted, has no result that others could be compared with, or has too many tags.
        StoreError: it could not be written.
    """
    if change.baseline and (refusal := baseline_refusal(run)):
        raise ConfigError(refusal)
    marks: RunMarks | str = store.writer.change(lambda batch: _change(batch, run, change))
    if isinstance(marks, str):
        raise ConfigError(marks)
    return marks


def baseline_refusal(run: Run) -> str:
    """Why a run cannot be pinned as the baseline of its suite; "" where it can."""
    if run.state != "finished":
        return f"run {run.id} is {run.state}: a baseline is a finished run"
    if not run.manifest.get("scores"):
        return f"run {run.id} ({run.target}) has no scores that other runs could be compared with"
    return ""


def _change(batch: Batch, run: Run, change: MarkChange) -> RunMarks | str:
    """The marks then; or why nothing was changed: an error raised here would end all writing."""
    connection = batch.connection
    if not is_stored(connection, run):
        return GONE.format(run=run.id)
    if batch.shared and change.baseline:
        connection.execute(_LOCK)
    before = _marks(connection, run.num)[run.num].tags
    if change.add and len(after := {*before, *change.add} - {*change.remove}) > _MOST_TAGS:
        return f"a run has at most {_MOST_TAGS} tags, and run {run.id} would have {len(after)}"
    if change.baseline is not None:
        _set_baseline(connection, run, pinned=change.baseline)
    if change.archived is not None:
        _set(connection, run.num, _ARCHIVED, "", present=change.archived)
    for tag in change.add:
        _set(connection, run.num, _TAG, tag, present=True)
    for tag in change.remove:
        _set(connection, run.num, _TAG, tag, present=False)
    return _marks(connection, run.num)[run.num]


def _set_baseline(connection: Connection, run: Run, *, pinned: bool) -> None:
    if pinned:
        of_suite = {"suite": run.suite, "suite_kind": run.kind, "kind": _BASELINE, "value": ""}
        connection.execute(f"{_REMOVE} IN ({_OF_SUITE})", of_suite)
    _set(connection, run.num, _BASELINE, "", present=pinned)


def _set(connection: Connection, run: int, kind: str, value: str, *, present: bool) -> None:
    row = {"run": run, "kind": kind, "value": value}
    if present:
        connection.execute(schema.insert_or_skip(schema.mark), {**row, "created": time.time()})
    else:
        connection.execute(f"{_REMOVE} = :run", row)


def read_marks(store: OpenStore) -> Mapping[int, RunMarks]:
    """Run's number -> its marks, of every run that has any."""
    with store.reading() as connection:
        return _marks(connection)


def marks_of(store: OpenStore, run: int) -> RunMarks:
    """The marks of one run, by its number."""
    with store.reading() as connection:
        return _marks(connection, run)[run]


def baselines(runs: Iterable[Run], marks: Mapping[int, RunMarks]) -> dict[tuple[str, str], Run]:
    """(suite, kind) -> its pinned baseline among `runs`."""
    return {(run.suite, run.kind): run for run in runs if marks.get(run.num, NO_MARKS).baseline}


def _marks(connection: Connection, run: int | None = None) -> dict[int, RunMarks]:
    """The marks by run; of one run alone also where it has none."""
    of_run: dict[int, list[tuple[str, str]]] = {} if run is None else {run: []}
    query = "SELECT run, kind, value FROM mark WHERE run = coalesce(:run, run)"
    for number, kind, value in connection.execute(query, {"run": run}).tuples():
        of_run.setdefault(number, []).append((kind, value))
    return {number: _gathered(marks) for number, marks in of_run.items()}


def _gathered(marks: Collection[tuple[str, str]]) -> RunMarks:
    return RunMarks(
        baseline=(_BASELINE, "") in marks,
        archived=(_ARCHIVED, "") in marks,
        tags=tuple(sorted(value for kind, value in marks if kind == _TAG)),
    )
