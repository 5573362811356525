"""The runbook of past evaluations: `note` says why a run was made, `history` shows one score over the runs."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steelyard.cli.options import HtmlOption, JsonOption, MarkdownOption, RunArgument, StoreOption
from steelyard.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from steelyard.report.history import History, PastRun
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
    from steelyard.cli.notes import note_line, plain_note
    from steelyard.cli.tables import console, print_json, say
    from steelyard.store import Store
    from steelyard.store.notes import add_note, read_notes

    if list_notes == bool(text):
        raise ConfigError('type the note behind the run (steelyard note RUN "why"), or --list alone')
    with Store(store) as opened:
        found = opened.run(run)
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

    The newest run stands last. Each is held against the run before of the same target.
    """
    from steelyard.cli.outcome import check_pages, write
    from steelyard.cli.tables import console, print_json, say
    from steelyard.report.history import history_of
    from steelyard.store import Store
    from steelyard.store.notes import read_notes

    check_pages(html, markdown)
    with Store(store) as opened:
        found = _with_scores(_of_target(_of_suite(opened.runs(), suite), target))
        shown = found[:last][::-1]
        notes = read_notes(opened, shown)
        past = history_of(shown, notes, score=score, group=group, older=len(found) - len(shown))
    if as_json:
        print_json(past.to_json())
    else:
        _print(past)
    for path in (html, markdown):
        if path is not None:
            from steelyard.report.history_page import html_history, markdown_history

            write(path, html_history(past) if path is html else markdown_history(past))
            say(console(stderr=True), f"wrote {path}")


def _user() -> str:
    """The name of whoever runs this; looked up by number, as the environment may say anything."""
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
    from steelyard.compare.preferences import only_answers

    return [run for run in runs if not only_answers(run.manifest)] or runs


def _print(past: History) -> None:
    from rich.text import Text

    from steelyard.cli.tables import console, say
    from steelyard.report.history_words import LEGEND, how_told
    from steelyard.text.inert import visible

    to = console()
    head, *rows = _lines(past, to.width)
    say(to, f"{past.suite}: {past.title}")
    to.print(Text(visible(head), style="bold"))
    for run, line in zip(past.runs, rows, strict=True):
        say(to, line)
        for remark in _below(run):
            say(to, f"  {remark}")
    if any(run.change and run.change.told for run in past.runs):
        say(to, f"{LEGEND}. {how_told(past)}")
    if past.older:
        say(to, f"and {past.older} older ones: --last {past.older + len(past.runs)} shows all")


def _lines(past: History, width: int) -> list[str]:
    """A head and a line per run, cells side by side: notes stand between them, which a table has no place for."""
    from steelyard.cli.lines import aligned
    from steelyard.report.history_words import change_of, count_of, interval_of, value_of

    columns = ["started", "run", "target", "value", "95 %", "n", "change"]
    rows = [
        [
            one.day,
            one.run,
            one.target,
            value_of(one, past),
            interval_of(one, past),
            count_of(one),
            change_of(one, past),
        ]
        for one in past.runs
    ]
    return aligned([columns, *rows], width, right=(3, 5, 6), elastic=2)


def _below(run: PastRun) -> Iterator[str]:
    from steelyard.cli.notes import note_line
    from steelyard.report.history_words import remarks_of

    if remarks := remarks_of(run):
        yield remarks
    yield from (note_line(one) for one in run.notes)
