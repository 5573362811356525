"""Passages of questions: whether a column is one, and which rows leave it to the row above."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

from steelyard.data.columns import HEAD_ROWS, ColumnLayout
from steelyard.data.rows import joined_cells
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import Column, Row, Table, cell_at, render
from steelyard.data.unread_cells import named_cells
from steelyard.suites.choice.reading import ChoiceTable

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


@dataclass(slots=True)
class BlankPassages:
    """Questions whose passage is blank below one that has it: it may be written once for several.

    A merged cell says so, and is filled; a blank of a CSV file does not. The parts of a joined question count too.

    Args:
        reading: the table.
    """

    reading: ChoiceTable
    _total: int = 0
    _blank: dict[Column, list[int]] = field(default_factory=dict)

    def add(self, row: Row) -> None:
        """Count a sound row."""
        self._total += 1
        columns = self.reading.layout.columns
        joined = columns["question"] if len(columns["question"]) > 1 else ()
        for column in (*columns.get("passage", ()), *joined):
            if render(cell_at(row.cells, column)):
                self._blank.setdefault(column, [])
            elif column in self._blank:
                self._blank[column].append(row.number)

    def notes(self) -> Iterator[str]:
        """A note for each column with such cells."""
        table = self.reading.table
        for column, rows in self._blank.items():
            if rows:
                cells = named_cells(table, [(number, column) for number in rows])
                yield (
                    f"{table.title}: {self.reading.layout.name_of(column)} is blank in {len(rows)} of {self._total} "
                    f"questions, which are asked without it: {cells}; where the text above holds for them too, repeat "
                    "it in each row, or merge its cells in a spreadsheet"
                )
