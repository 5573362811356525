"""Commands for stored runs as a whole: `verify` finds damage, `delete` deletes runs, `mark` pins, archives or tags."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

import typer

from steelyard.analysis.numbers import count_text
from steelyard.cli import options
from steelyard.cli.options import named_run, named_runs
from steelyard.cli.output import BROKEN
from steelyard.errors import ConfigError, StoreError
from steelyard.people.codings import codings, read_coding
from steelyard.people.dataset_drafts import saved_versions
from steelyard.people.labels import read_notes
from steelyard.people.marks import MarkChange, mark_run, marks_of, read_marks
from steelyard.people.queues import queues
from steelyard.plain_json import field_values
from steelyard.report.render.terminal import console, print_json, say
from steelyard.store import Run, Store
from steelyard.store.delete import Deletion, delete_runs, preview_deletion
from steelyard.store.repair import Verification
from steelyard.store.repair import verify as verify_store

_MOST_SHOWN: Final = 20
_MOST_DAYS: Final = 36_500
"""100 years; with a limit, a date before the year 1 does not raise an OverflowError of `datetime`."""
_THIS_COMMAND: Final = re.compile(r"\nSee what is wrong:\n  steelyard verify [^\n]*")
"""The first suggestion in the message about a damaged file; `verify` removes it, as the user has just typed it."""


def verify(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Check only this run, with its samples and replies.")] = "",
    *,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> int:
    """Check a store for damage.

    Everything is read, decompressed, counted again and compared with its checksums; nothing is changed. Exit code 4 if
    anything is wrong.
    """
    try:
        with Store(store) as opened:
            where = str(opened.path)
            result = verify_store(opened, named_run(opened, run) if run else None)
            if not run:
                _check_events(opened, result)
    except StoreError as error:
        raise StoreError(_THIS_COMMAND.sub("", str(error))) from error
    if as_json:
        print_json({"store": where, **result.json_fields()})
    else:
        to = console()
        for line in _result_lines(result, where):
            say(to, line)
    return 0 if result.is_sound else BROKEN


def _check_events(store: Store, result: Verification) -> None:
    """Check that what people did can be read: marks, notes, queues, error analyses and saved versions of datasets."""
    with result.reading("marks of runs"):
        read_marks(store)
    with result.reading("notes"):
        read_notes(store, store.runs())
    with result.reading("queues"):
        queues(store)
    with result.reading("error analyses"):
        for coding in codings(store):
            with result.reading(f"error analysis {coding.id}"):
                read_coding(store, coding)
    with result.reading("saved versions of datasets"):
        saved_versions(store)


def _result_lines(result: Verification, where: str) -> Iterator[str]:
    yield f"no damage found in {where}" if result.is_sound else f"DAMAGED: {where}"
    yield "checked: " + ", ".join(f"{count:,} {what}" for what, count in result.counts.items() if count)
    for note in result.notes:
        yield f"note: {note}"
    if result.found:
        yield f"{result.found:,} problem{'s' if result.found > 1 else ''}:"
    for damage in result.damages[:_MOST_SHOWN]:
        yield f"  {damage}"
    if result.found > _MOST_SHOWN:
        yield f"  and {result.found - _MOST_SHOWN:,} more: --json lists up to a thousand"
    if not result.is_sound and "://" not in where:
        yield "Save what can be read:"
        yield f"  steelyard export --salvage --out salvaged.jsonl --store {shlex.quote(where)}"


def delete(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN...",
            help="Runs: ids or the start of them, 'latest', or names that only one run has.",
            autocompletion=options.names_of_runs,
        ),
    ] = None,
    older_than: Annotated[
        int | None,
        typer.Option(
            "--older-than", metavar="DAYS", min=0, max=_MOST_DAYS, help="All runs started over DAYS days ago."
        ),
    ] = None,
    replies: Annotated[
        bool,
        typer.Option("--replies", help="Also delete replies that no other run uses; a later run pays for them again."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Delete runs and their data.

    Scores, samples, labels and notes are deleted with them, all or nothing. Replies stay in the journal unless
    --replies is given, and the budget spent stays counted.
    """
    with Store(store) as opened:
        chosen = _chosen(opened, runs or [], older_than)
        deletion = preview_deletion(opened, chosen)
        to = console(stderr=as_json)
        for line in _deletion_lines(chosen, deletion, replies=replies):
            say(to, line)
        if chosen and not yes:
            _confirm()
        if chosen:
            deletion = delete_runs(opened, chosen, replies=replies)
    if as_json:
        print_json({"deleted": [run.id for run in chosen], **field_values(deletion)})
    elif chosen:
        say(to, "deleted. Later runs reuse the space; docs/how-to/store.md explains how to shrink a store")


def _chosen(store: Store, names: Sequence[str], older_than: int | None) -> list[Run]:
    """The runs to delete, by name or by age; each once.

    Raises:
        ConfigError: names and an age, or neither; or a name matches no run or several, as deleting must not guess.
    """
    if bool(names) == (older_than is not None):
        raise ConfigError("name the runs to delete, or give --older-than DAYS")
    if older_than is None:
        return list({run.id: run for run, _ in store.runs_named(names, unique=True)}.values())
    before = datetime.now(UTC) - timedelta(days=older_than)
    return [run for run in store.runs() if run.created < before]


def _deletion_lines(runs: Sequence[Run], deletion: Deletion, *, replies: bool) -> Iterator[str]:
    if not runs:
        yield "no run is that old; nothing was deleted"
        return
    for run in runs:
        records, at = count_text(run.done, "record"), f"{run.created:%Y-%m-%d %H:%M}"
        yield f"run {run.id}: {run.suite}, {run.target}, {run.state}, {records}, {at}"
    counts = {
        name: count for name, count in field_values(deletion).items() if name not in {"runs", "replies"} and count
    }
    yield "deletes " + (", ".join(f"{count:,} {name}" for name, count in counts.items()) or "nothing else")
    if deletion.replies:
        what = (
            "are deleted: a later run pays for them again"
            if replies
            else "stay in the journal (--replies deletes them)"
        )
        yield f"{deletion.replies:,} replies that no other run uses {what}"


def _confirm() -> None:
    if not sys.stdin.isatty():
        raise ConfigError("no terminal to ask for confirmation: --yes deletes without asking")
    if not typer.confirm("Delete this?"):
        raise typer.Abort


def mark(
    runs: options.RunsArgument,
    *,
    pin: Annotated[
        bool | None,
        typer.Option("--pin/--unpin", help="Make the run the baseline of its suite; it replaces the one before."),
    ] = None,
    archive: Annotated[
        bool | None, typer.Option("--archive/--unarchive", help="Leave the run out of lists, or bring it back.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="Add this tag; may be repeated.")
    ] = None,
    untag: Annotated[
        list[str] | None, typer.Option("--untag", metavar="TAG", help="Remove this tag; may be repeated.")
    ] = None,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Pin the baseline of a suite, archive runs, or tag them.

    Without an option the marks of the runs are shown. Marks change no result: they say with which run the viewer
    compares the others of a suite, and which runs lists leave out.
    """
    change = MarkChange(pin, archive, tuple(tag or ()), tuple(untag or ()))
    with Store(store) as opened:
        named = named_runs(opened, runs)
        if pin and len({(run.suite, run.kind) for run in named}) < len(named):
            raise ConfigError("--pin: a suite has one baseline, and several of these runs are of one suite")
        changes = change != MarkChange()
        marked = [(run, mark_run(opened, run, change) if changes else marks_of(opened, run.num)) for run in named]
    if as_json:
        print_json([{"run": run.id, **field_values(marks)} for run, marks in marked])
        return
    for run, marks in marked:
        parts = [f"baseline of suite {run.suite}"] if marks.baseline else []
        parts += ["archived"] if marks.archived else []
        parts += [f"tags {', '.join(marks.tags)}"] if marks.tags else []
        say(console(), f"run {run.id} ({run.target}): {'; '.join(parts) or 'no marks'}")
