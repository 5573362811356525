"""Decides whether a column that is headed as a passage is one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from steelyard.data.columns import HEAD_ROWS, ColumnLayout
from steelyard.data.rows import joined_cells
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import Table, render

_LEAST_LENGTH: Final = 6
"""Characters from which a question that stands in a text is there for itself, and not by chance."""


def without_repeated_question(table: Table, layout: ColumnLayout, files: SampleFiles) -> ColumnLayout:
    """The layout without a passage column whose texts contain the questions.

    Files for training have a column `text` with the whole prompt, often with the answer. A column that the user names
    is kept.
    """
    if "passage" in files.columns or "passage" not in layout.columns:
        return layout
    repeats = list(_repeats(table, layout))
    if not repeats or 2 * sum(repeats) < len(repeats):
        return layout
    columns = {role: places for role, places in layout.columns.items() if role != "passage"}
    header = layout.describe()["passage"]
    note = f"{table.title}: column {header:.40} contains the questions, so it is not read as their passage"
    return replace(layout, columns=columns, notes=(*layout.notes, note))


def _repeats(table: Table, layout: ColumnLayout) -> Iterator[bool]:
    """Whether the passage contains the question, for the first rows that have both."""
    for row in islice(layout.rows(table), HEAD_ROWS):
        question, passage = (render(joined_cells(row, layout.columns[role])) for role in ("question", "passage"))
        if passage and len(question) >= _LEAST_LENGTH:
            yield question in passage
