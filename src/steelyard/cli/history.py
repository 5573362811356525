"""The runbook of past evaluations: `note` says why a run was made, `history` shows one score over the runs."""

from __future__ import annotations

import os
import pwd
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steelyard.cli.options import HtmlOption, JsonOption, MarkdownOption, RunArgument, StoreOption, named_run
from steelyard.cli.output import check_writable, write_text
from steelyard.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from steelyard.store import Run


def note(
    run: RunArgument,
    text: Annotated[str, typer.Argument(metavar="[TEXT]", help="Why it was run, what went wrong.")] = "",
    author: Annotated[
        str, typer.Option("--author", metavar="NAME", help="Who says so; the user of this system by default.")
    ] = "",
    list_notes: Annotated[bool, typer.Option("--list", help="Only show the notes that the run has.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Keep a note on a run, or list its notes.

    A finished run takes notes too. They are shown by show, history and report, and are never removed.
    """
    from steelyard.report.export import plain_note
    from steelyard.report.record_lines import note_line
    from steelyard.report.terminal import console, print_json, say
    from steelyard.store import Store
    from steelyard.store.labels import add_note, read_notes

    if list_notes == bool(text):
        raise ConfigError('type the note behind the run (steelyard note RUN "why"), or --list alone')
    with Store(store) as opened:
        found = named_run(opened, run)
        if text:
            add_note(opened, found, text, author=author or _user(), at=datetime.now(UTC))
        notes = read_notes(opened, [found])[found.id]
    if as_json:
        print_json([plain_note(one) for one in notes])
        return
    to = console()
    for one in notes if list_notes else notes[-1:]:
        say(to, note_line(one))
    if not notes:
        say(to, f"run {found.id} ({found.target}) has no notes")


def history(
    suite: Annotated[
        str, typer.Argument(metavar="SUITE|CONFIG", help="A suite's title, or the configuration of its runs.")
    ],
    score: Annotated[
        str, typer.Option("--score", metavar="NAME", help="The score to show; the newest run's headline by default.")
    ] = "",
    target: Annotated[str, typer.Option("--target", metavar="NAME", help="Only runs of this target.")] = "",
    group: Annotated[str, typer.Option("--group", metavar="NAME", help="The score of this category only.")] = "",
    last: Annotated[int, typer.Option("--last", "-n", metavar="N", help="Only the newest so many.", min=1)] = 20,
    store: StoreOption = None,
    as_json: JsonOption = False,
    html: HtmlOption = None,
    markdown: MarkdownOption = None,
) -> None:
    """Show one score over the runs of a suite, with what was noted.

    The newest run is the last one. Each run is compared with the previous run of the same target.
    """
    from steelyard.analysis.history import history_of
    from steelyard.report.history_sections import history_sections, history_title
    from steelyard.report.section import section_json
    from steelyard.report.terminal import console, print_json, say
    from steelyard.report.terminal_sections import print_sections
    from steelyard.store import Store
    from steelyard.store.labels import read_notes

    check_writable(html, markdown)
    with Store(store) as opened:
        found = _with_scores(_of_target(_of_suite(opened.runs(), suite), target))
        shown = found[:last][::-1]
        notes = read_notes(opened, shown)
        past = history_of(shown, notes, score=score, group=group, older=len(found) - len(shown))
    if as_json:
        print_json({**past.to_json(), "sections": section_json(history_sections(past))})
    else:
        say(console(), f"{past.suite}: {history_title(past)}")
        print_sections(console(), history_sections(past))
    for path in (html, markdown):
        if path is not None:
            from steelyard.report.html import html_history
            from steelyard.report.markdown import markdown_history

            write_text(path, html_history(past) if path is html else markdown_history(past))
            say(console(stderr=True), f"wrote {path}")


def _user() -> str:
    """The name of the user who runs this, by user id: an environment variable could hold any name."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def _of_suite(runs: Sequence[Run], suite: str) -> list[Run]:
    """The runs that a title or a configuration means, newest first.

    Raises:
        ConfigError: there are none.
    """
    found = [run for run in runs if run.suite == suite]
    path = Path(suite)
    if not found and path.is_file():
        # A title may have changed since; the newest one counts, with all its runs.
        made = [run for run in runs if (run.manifest.get("config") or {}).get("path") == str(path.absolute())]
        if not made:
            raise ConfigError(f"no run in the store was made from {path}; a suite's title is found too: steelyard runs")
        found = [run for run in runs if run.suite == made[0].suite]
    if not found:
        titles = dict.fromkeys(run.suite for run in runs)
        raise ConfigError(
            f"no run is of a suite {suite!r}{did_you_mean(suite, titles)}" if runs else "the store holds no runs"
        )
    return found


def _of_target(runs: list[Run], target: str) -> list[Run]:
    found = [run for run in runs if not target or run.target == target]
    if not found:
        raise ConfigError(f"no run is of target {target!r}{did_you_mean(target, {run.target for run in runs})}")
    return found


def _with_scores(runs: list[Run]) -> list[Run]:
    """Without those that only gave the answers of a pair: they have no score whose course could be shown."""
    from steelyard.analysis.preferences import only_answers

    return [run for run in runs if not only_answers(run.manifest)] or runs
