"""A history as one HTML file and as Markdown; what people noted is text on both and nothing else."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from typing import Final

from steelyard.report.charts import WIDTH, svg
from steelyard.report.history import History, PastRun
from steelyard.report.history_charts import history_chart, numbered_notes
from steelyard.report.history_words import change_of, count_of, how_told, interval_of, remarks_of, value_of
from steelyard.report.numbers import MISSING
from steelyard.report.page import page_environment
from steelyard.text.inert import markdown_cell

_NARROW: Final = 340
"""Pixels of the chart that stands in for the wide one on a telephone."""
_MOST_LINES: Final = 40
_MOST_NOTES: Final = 10
"""The newest of them, in Markdown."""
_MOST_NOTE: Final = 300
"""Characters of a note in Markdown, which is sized for a comment."""


def html_history(history: History) -> str:
    """The page: chart, table and notes. It opens from disk, loads nothing and runs nothing."""
    from markupsafe import Markup

    style = files("steelyard.report").joinpath("templates", "report.css").read_text(encoding="utf-8")
    # What is marked safe: our own style, and SVG with escaped texts.
    return (
        page_environment()
        .get_template("history.html.j2")
        .render(
            style=Markup(style),  # noqa: S704  # see above
            style_hash=f"sha256-{b64encode(sha256(style.encode()).digest()).decode()}",
            history=history,
            wide=Markup(svg(history_chart(history, width=WIDTH))),  # noqa: S704  # see above
            narrow=Markup(svg(history_chart(history, width=_NARROW))),  # noqa: S704  # see above
            rows=[(run, _cells(run, history), remarks_of(run)) for run in history.runs],
            notes=numbered_notes(history),
            how=how_told(history),
            version=version("steelyard"),
        )
    )


def markdown_history(history: History) -> str:
    """The table and the notes, the newest runs first where not all fit; sized for a comment."""
    shown = history.runs[-_MOST_LINES:]
    left_out = history.older + len(history.runs) - len(shown)
    lines = [f"### {markdown_cell(history.suite)}: {markdown_cell(history.title)} over {len(shown)} runs", ""]
    lines += ["| started | run | target | value | 95 % | n | change | |", "|---|---|---|--:|---|--:|---|---|"]
    lines += [f"| {' | '.join(_markdown_cells(run, history))} |" for run in shown]
    if left_out:
        lines += ["", f"{left_out} older ones are left out."]
    if told := how_told(history):
        lines += ["", told]
    notes = [*_note_lines(history, {run.run for run in shown})]
    return "\n".join([*lines, *(["", *notes] if notes else [])]) + "\n"


def _cells(run: PastRun, history: History) -> list[str]:
    interval = interval_of(run, history) or MISSING
    change = change_of(run, history, words=True) or MISSING
    return [run.day, run.run, run.target, value_of(run, history), interval, count_of(run), change]


def _markdown_cells(run: PastRun, history: History) -> list[str]:
    """The same for Markdown: a target's name is anybody's text, the rest is ours."""
    return [markdown_cell(one) if at == 2 else one for at, one in enumerate([*_cells(run, history), remarks_of(run)])]


def _note_lines(history: History, shown: set[str]) -> Iterator[str]:
    found = [one for one in numbered_notes(history) if one[1].run in shown]
    for number, run, note in found[-_MOST_NOTES:]:
        text = note.text if len(note.text) <= _MOST_NOTE else f"{note.text[: _MOST_NOTE - 1]}…"
        who = f"{run.run}, {note.author}, {note.at:%Y-%m-%d}"
        yield f"{number}. {markdown_cell(text)} ({markdown_cell(who)})"
