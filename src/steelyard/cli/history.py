"""The commands `note`, which stores a remark on a run, and `history`, which shows a score over a suite's runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from steelyard.analysis.comparison.history import PAIRED_RECORDS, history_of
from steelyard.analysis.judging_manifest import only_answers
from steelyard.analysis.run_data import RunData
from steelyard.analysis.summary.run_summary import summarize_run
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.cli import options
from steelyard.cli.options import named_run, store_option
from steelyard.cli.output import check_writable, write_text
from steelyard.errors import ConfigError, did_you_mean
from steelyard.people.labels import add_note, read_notes
from steelyard.posix import pwd
from steelyard.report.exports.records import plain_note
from steelyard.report.record_lines import note_line
from steelyard.report.render.html import html_history
from steelyard.report.render.markdown import markdown_history
from steelyard.report.render.terminal import console, print_json, print_sections, say
from steelyard.report.section import section_json
from steelyard.report.sections.history import history_sections, history_title
from steelyard.store import Run, Store
from steelyard.store.reading.run_reading import read, read_head


def note(
    run: options.RunArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The remark, for example why the run was made.")] = "",
    author: Annotated[
        str,
        typer.Option(
            "--author", metavar="NAME", help="Who writes the note; by default the user's name on this system."
        ),
    ] = "",
    list_notes: Annotated[bool, typer.Option("--list", help="Only list the run's notes.")] = False,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Add a note to a run, or list its notes.

    Finished runs accept notes too. Notes are shown by show, history and report, and cannot be deleted.
    """
    if list_notes == bool(text):
        raise ConfigError(
            'give the text of the note after the run (steelyard note RUN "TEXT"), or --list without a text'
        )
    with Store(store) as opened:
        stored = named_run(opened, run)
        if text:
            add_note(opened, stored, text, author=author or _user(), at=datetime.now(UTC))
        notes = read_notes(opened, [stored])[stored.id]
    if as_json:
        print_json([plain_note(entry) for entry in notes])
        return
    to = console()
    for entry in notes if list_notes else notes[-1:]:
        say(to, note_line(entry))
    if not notes:
        say(to, f"run {stored.id} ({stored.target}) has no notes")


def history(
    suite: Annotated[
        str,
        typer.Argument(
            metavar="SUITE|CONFIG", help="A suite's title, or the configuration that its runs were made from."
        ),
    ],
    score: Annotated[
        str,
        typer.Option("--score", metavar="NAME", help="The score to show; by default the headline of the newest run."),
    ] = "",
    target: Annotated[str, typer.Option("--target", metavar="NAME", help="Only runs of this target.")] = "",
    group: Annotated[str, typer.Option("--group", metavar="NAME", help="Only samples of this group.")] = "",
    against: Annotated[
        str,
        typer.Option(
            "--against", metavar="NAME", help="Compare each run of the other targets with the runs of this target."
        ),
    ] = "",
    last: Annotated[int, typer.Option("--last", "-n", metavar="N", help="Only the N newest runs.", min=1)] = 20,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
    html: options.HtmlOption = None,
    markdown: options.MarkdownOption = None,
) -> None:
    """Show one score over the runs of a suite, with their notes.

    Runs are listed from the oldest to the newest. Each is compared with the previous run of the same target.
    """
    check_writable(html, markdown)
    with Store(store) as opened:
        matching = _with_scores(_of_target(_of_suite(opened.runs(), suite, store_option(store)), target))
        newest = matching[:last][::-1]
        notes = read_notes(opened, newest)
        summarized = [_past(run) for run in newest]
        older = len(matching) - len(newest)
        past = history_of(summarized, notes, score=score, group=group, against=against, older=older)
    if as_json:
        print_json({**past.json_fields(), "sections": section_json(history_sections(past))})
    else:
        say(console(), f"{past.suite}: {history_title(past)}")
        print_sections(console(), history_sections(past))
    for path in (html, markdown):
        if path is not None:
            write_text(path, html_history(past) if path is html else markdown_history(past))
            say(console(stderr=True), f"wrote {path}")


def _past(run: Run) -> tuple[RunData, RunSummary]:
    """A run, without the rows of one that is too large to be paired, and its summary; the handle keeps neither."""
    data = read(run)
    return data if run.done <= PAIRED_RECORDS else read_head(run), summarize_run(data)


def _user() -> str:
    """The user's name by user id: an environment variable could hold any name."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def _of_suite(runs: Sequence[Run], suite: str, where: str) -> list[Run]:
    """The runs of a suite, named by its title or by its configuration file, newest first.

    Raises:
        ConfigError: there are none.
    """
    matching = [run for run in runs if run.suite == suite]
    path = Path(suite)
    if not matching and path.is_file():
        # A suite's title may have been changed between runs of one file: the newest title decides.
        from_file = [run for run in runs if (run.manifest.get("config") or {}).get("path") == str(path.absolute())]
        if not from_file:
            raise ConfigError(
                f"no run in the store was made from {path}; steelyard runs{where} lists the suites' titles"
            )
        matching = [run for run in runs if run.suite == from_file[0].suite]
    if not matching:
        titles = dict.fromkeys(run.suite for run in runs)
        raise ConfigError(
            f"the store has no run of a suite {suite!r}{did_you_mean(suite, titles)}"
            if runs
            else "the store has no runs"
        )
    return matching


def _of_target(runs: list[Run], target: str) -> list[Run]:
    matching = [run for run in runs if not target or run.target == target]
    if not matching:
        raise ConfigError(
            f"the suite has no run of a target {target!r}{did_you_mean(target, {run.target for run in runs})}"
        )
    return matching


def _with_scores(runs: list[Run]) -> list[Run]:
    """Without runs that only gave the answers for a pairwise comparison, as they have no scores; all if none has."""
    return [run for run in runs if not only_answers(run.manifest)] or runs
