"""The section of an exam in Markdown: lines of tables that a comment has room for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from steelyard.report.exam import beside_rows, letter_views, verdict_told, verdict_warnings
from steelyard.report.exam_figures import Row, rate_rows
from steelyard.summary import RunSummary

Cell = Callable[[str, int], str]
"""Makes a text inert for a cell of Markdown, cut to so many letters."""

_RUNS: Final = 4


def exam_parts(summaries: Sequence[RunSummary], labels: Sequence[str], cell: Cell) -> list[list[str]]:
    """Parts in the order of their weight: whose verdicts count, figures behind the rate, other tools' rules, letters.

    Args:
        summaries: of the runs.
        labels: inert already.
        cell: for any other text.
    """
    shown, names = summaries[:_RUNS], list(labels[:_RUNS])
    said = [f"- {cell(one, 300)}" for one in verdict_told(summaries, labels)]
    warned = [f"- ⚠️ {cell(one, 300)}" for one in verdict_warnings(summaries, labels)]
    return [
        [*said, *warned],
        _table("behind the rate", rate_rows(shown), names),
        _table("as other tools would read it", beside_rows(shown), names),
        _letters(shown, names, cell),
    ]


def _table(head: str, rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    if not rows:
        return []
    lines = [_line([name, *(one.text for one in cells)]) for name, cells in rows]
    return ["<details>", f"<summary>{head.capitalize()}</summary>", "", *_head(["", *names]), *lines, "", "</details>"]


def _letters(summaries: Sequence[RunSummary], labels: Sequence[str], cell: Cell) -> list[str]:
    """A line per run with the recall of each letter; the cautions once."""
    views = letter_views(summaries, labels)
    if not views:
        return []
    lines = [f"- {view.run}: {cell(view.sentence, 300)}" for view in views]
    cautions = dict.fromkeys(view.caution for view in views if view.caution)
    return ["**Position bias**", "", *lines, *(f"- ⚠️ {cell(one, 300)}" for one in cautions)]


def _head(names: Sequence[str]) -> list[str]:
    return [_line(names), _line(["---", *["---:"] * (len(names) - 1)])]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
