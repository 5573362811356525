"""What a terminal shows behind the rate of an exam: averages, guessing, letters, other tools' readings, verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rich.table import Table

from steelyard.cli.tables import shortened, table
from steelyard.report.exam import beside_rows, letter_views, macro_lines, verdict_lines
from steelyard.report.exam_figures import Row, rate_rows
from steelyard.report.numbers import MISSING, run_labels
from steelyard.summary import RunSummary

_MOST_RUNS: Final = 2
"""Columns that fit 80 characters with intervals in them; more runs are on the page and in the JSON."""
_COLUMN: Final = 22


def exam_tables(summaries: Sequence[RunSummary], *, in_full: bool) -> Iterator[Table]:
    """What stands behind the rates; of three runs and more the page has it.

    Args:
        summaries: of the runs.
        in_full: with the letters, other tools' rules, and more than one run.
    """
    if len(summaries) > (_MOST_RUNS if in_full else 1):
        return
    labels = run_labels(summaries)
    heads = [shortened(one, _COLUMN) for one in labels]
    yield from _rows("behind the rate", rate_rows(summaries), heads)
    for view in letter_views(summaries, heads) if in_full else ():
        head = "key at" if len(summaries) == 1 else f"{view.run}: key at"
        yield table([head, "times", "chosen", "recall (95 %)"], view.rows, right=(1, 2, 3))
    if in_full:
        yield from _rows("as other tools would read it", beside_rows(summaries), heads)


def _rows(title: str, rows: Sequence[Row], heads: Sequence[str]) -> Iterator[Table]:
    if rows:
        texts = [
            [name, *(one.text if len(heads) == 1 else one.main or MISSING for one in cells)] for name, cells in rows
        ]
        yield table([title, *heads], texts, right=range(1, len(heads) + 1))


def exam_remarks(summaries: Sequence[RunSummary], *, in_full: bool) -> Iterator[str]:
    """Sentences below the tables: whether letters matter, averages over groups, whose verdicts are counted."""
    labels = run_labels(summaries)
    if in_full and len(summaries) <= _MOST_RUNS:
        views = letter_views(summaries, labels)
        yield from (f"{view.run}: {view.sentence}" for view in views)
        yield from dict.fromkeys(f"note: {view.caution}" for view in views if view.caution)
        yield from macro_lines(summaries, labels, next((one.primary for one in summaries if one.primary), ""))
    yield from verdict_lines(summaries, labels)
