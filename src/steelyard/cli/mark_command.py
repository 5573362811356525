"""The command `mark`: pins the baseline of a suite, archives runs, and tags them."""

from __future__ import annotations

from typing import Annotated

import typer

from steelyard.cli.options import JsonOption, RunsArgument, StoreOption, named_runs
from steelyard.errors import ConfigError
from steelyard.people.marks import MarkChange, RunMarks, mark_run, marks_of
from steelyard.plain_json import field_values
from steelyard.report.render.terminal import console, print_json, say
from steelyard.store import Run, Store


def mark(
    runs: RunsArgument,
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
    store: StoreOption = None,
    as_json: JsonOption = False,
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
        say(console(), _line(run, marks))


def _line(run: Run, marks: RunMarks) -> str:
    parts = [f"baseline of suite {run.suite}"] if marks.baseline else []
    parts += ["archived"] if marks.archived else []
    parts += [f"tags {', '.join(marks.tags)}"] if marks.tags else []
    return f"run {run.id} ({run.target}): {'; '.join(parts) or 'no marks'}"
