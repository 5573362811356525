"""Joins the rows of a table that gives one option a row, so that each question is one row again.

The first row of a question has its text; the others leave it blank (merged cells, or blanks of a CSV) or repeat it. The
key is in one of the rows, the same in each, or a mark (√, TRUE) in the row of each right option.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

from steelyard.data.table import Column, Row, Table, cell_at, is_blank, list_in, render
from steelyard.errors import ConfigError
from steelyard.suites.choice.keys import LETTERS, says_yes
from steelyard.suites.choice.options import cut_question

_HEAD: Final = 60
"""Rows that tell whether a table has one option a row."""
_CONFLICT: Final = " and also "
"""Between two different keys of one question, which no key holds."""


@dataclass(frozen=True, slots=True)
class OptionRows:
    """The columns of a table that may have one option a row.

    Args:
        question: the column of the question.
        options: the only column of options.
        answer: the column of the key.
        header_row: number of the header row; 0 without one. Rows up to it are left as they are.
    """

    question: Column
    options: Column
    answer: Column
    header_row: int = 0

    def joined(self, table: Table) -> Table:
        """The table with one row for each question, if its first rows show one option a row; else the table itself.

        A joined row has the number of its first one, and a list of texts in place of the option.

        Raises:
            ConfigError: the column of options holds the letters alone.
        """
        head = [row for row in islice(table, self.header_row + _HEAD) if row.number > self.header_row]
        groups = [rows for rows in self._groups(head) if not is_blank(rows[0])]
        if not groups or 2 * len(groups) > sum(map(len, groups)) or any(self._holds_list(rows[0]) for rows in groups):
            return table
        texts = [render(cell_at(row.cells, self.options)) for row in groups[0]]
        if len(texts) > 1 and "".join(texts).upper() == LETTERS[: len(texts)]:
            raise ConfigError(
                f"columns: {table.title}: its column of options holds only the letters {texts[0]} to {texts[-1]}; name "
                "the column of their texts under columns: {options: ...}"
            )
        faults, left_out = dict(table.faults), set(table.left_out)
        if faults or left_out:
            for rows in self._groups(row for row in table if row.number > self.header_row):
                merged = {column: text for row in rows for column, text in table.faults.get(row.number, {}).items()}
                faults |= {rows[0].number: merged} if merged else {}
                left_out |= {rows[0].number} if any(row.number in left_out for row in rows) else set()
        return replace(table, source=lambda: self._joined(table), faults=faults, left_out=frozenset(left_out))

    def _joined(self, table: Table) -> Iterator[Row]:
        yield from (row for row in islice(table, self.header_row) if row.number <= self.header_row)
        yield from map(self._join, self._groups(row for row in table if row.number > self.header_row))

    def _groups(self, rows: Iterator[Row] | Sequence[Row]) -> Iterator[list[Row]]:
        """The rows of each question; a blank row stands alone."""
        group: list[Row] = []
        question = ""
        for row in rows:
            own = render(cell_at(row.cells, self.question))
            has_option = bool(render(cell_at(row.cells, self.options)))
            if group and has_option and own in {"", question} and question:
                group.append(row)
                continue
            if group:
                yield group
            group, question = [row], own
        if group:
            yield group

    def _join(self, rows: Sequence[Row]) -> Row:
        first = rows[0]
        if len(rows) == 1:
            return first
        texts = [render(cell_at(row.cells, self.options)) for row in rows]
        cells: dict[Any, Any] = {self.options: texts, self.answer: self._key(rows)}
        if isinstance(first.cells, Mapping):
            return Row(first.number, {**first.cells, **cells})
        width = max(len(first.cells), *(int(column) + 1 for column in cells))
        padded = [*first.cells, *[""] * (width - len(first.cells))]
        return Row(first.number, [cells.get(at, cell) for at, cell in enumerate(padded)])

    def _key(self, rows: Sequence[Row]) -> Any:
        values = [cell_at(row.cells, self.answer) for row in rows]
        texts = [render(value) for value in values]
        marks = [says_yes(text) for text in texts]
        is_marked = all(mark is not None or not text for mark, text in zip(marks, texts, strict=True))
        if is_marked and any(marks) and (all(texts) or not any(text.isalnum() and len(text) == 1 for text in texts)):
            return [LETTERS[at] for at, mark in enumerate(marks[: len(LETTERS)]) if mark]
        different = dict.fromkeys(filter(None, texts))
        if len(different) > 1:
            return _CONFLICT.join(different)
        return next((value for value, text in zip(values, texts, strict=True) if text), "")

    def _holds_list(self, row: Row) -> bool:
        """Whether one cell holds all options."""
        value = cell_at(row.cells, self.options)
        return isinstance(value, list | dict) or bool(list_in(render(value)) or cut_question(render(value))[1])
