"""Contingency tables of two 0/1 scores: right and supported, right but unsupported, and so on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.analysis.scores.score_columns import ScoreColumns
from steelyard.plain_json import field_values
from steelyard.stats.arrays import Array
from steelyard.types import ScoreInfo

VerdictWords = tuple[str, str]
"""What a score of 1 and a score of 0 are called."""


@dataclass(frozen=True, slots=True)
class ContingencyTable:
    """A table of two by two, counted over the records in which both scores are 0 or 1.

    Args:
        rows_score: the score whose 1 is the first row and whose 0 is the second.
        columns_score: likewise for the columns.
        rows_words: what 1 and 0 of the rows' score are called; likewise `columns_words`.
        counts: ((both 1, only the rows' score 1), (only the columns' score 1, both 0)).
        left_out: records in which one of the two was not scored.
    """

    rows_score: str
    columns_score: str
    rows_words: VerdictWords
    columns_words: VerdictWords
    counts: tuple[tuple[int, int], tuple[int, int]]
    left_out: int = 0

    @property
    def n(self) -> int:
        """Records that are counted."""
        return sum(map(sum, self.counts))

    @property
    def cells(self) -> tuple[tuple[str, int], ...]:
        """The four cells row by row: what each is called, and how many records it has.

        >>> words = ("right", "wrong"), ("supported", "unsupported")
        >>> table = ContingencyTable("correct", "faithfulness", *words, ((1, 0), (2, 3)))
        >>> [name for name, _ in table.cells][:2]
        ['right and supported', 'right but unsupported']
        """
        return tuple(
            (f"{row_word} {'and' if row == column else 'but'} {column_word}", self.counts[row][column])
            for row, row_word in enumerate(self.rows_words)
            for column, column_word in enumerate(self.columns_words)
        )

    def json_fields(self) -> dict[str, Any]:
        """With the cells by name."""
        return field_values(self) | {"cells": dict(self.cells), "n": self.n}


def contingency_table(
    columns: ScoreColumns, rows_score: str, columns_score: str, words: Mapping[str, VerdictWords]
) -> ContingencyTable:
    """Count two scores of the same records against each other.

    Args:
        columns: of a run.
        rows_score: a score's name.
        columns_score: another's.
        words: per score, what its 1 and 0 are called; `correct` and `not correct` where it does not say.

    >>> from steelyard.analysis.scores.score_columns import ScoreRow
    >>> rows = [ScoreRow("fr", "", "", 0, "correct", "scored", 1.0), ScoreRow("fr", "", "", 0, "cited", "scored", 0.0)]
    >>> contingency_table(ScoreColumns.of(rows), "correct", "cited", {"correct": ("right", "wrong")}).cells[1]
    ('right but not cited', 1)
    """
    # The rows of one record are next to each other.
    begins = (np.diff(columns.sample, prepend=-1) != 0) | (np.diff(columns.repeat, prepend=-1) != 0)
    record = np.cumsum(begins) - 1
    size = int(begins.sum())
    cells = [_cell_per_record(columns, record, name, size) for name in (rows_score, columns_score)]
    complete = (cells[0] >= 0) & (cells[1] >= 0)
    cells = np.bincount(2 * cells[0][complete] + cells[1][complete], minlength=4).tolist()
    names = [words.get(score, (shown(score), f"not {shown(score)}")) for score in (rows_score, columns_score)]
    counts = ((cells[0], cells[1]), (cells[2], cells[3]))
    return ContingencyTable(rows_score, columns_score, names[0], names[1], counts, size - sum(cells))


def contingency_tables(
    columns: ScoreColumns, infos: Mapping[str, ScoreInfo], crossed: Iterable[tuple[str, str]]
) -> tuple[ContingencyTable, ...]:
    """A table of each pair of scores in `crossed`, in this order."""
    words = {name: info.labels for name, info in infos.items() if info.labels}
    return tuple(contingency_table(columns, first, second, words) for first, second in crossed)


def _cell_per_record(columns: ScoreColumns, record: Array, score: str, size: int) -> Array:
    """Per record 0 where the score is 1, which comes first, 1 where it is 0, and -1 where it is neither."""
    cell = np.full(size, -1)
    if score in columns.names:
        at = np.flatnonzero(columns.name == columns.names.index(score))
        value = columns.value[at]
        cell[record[at]] = np.where(value == 1, 0, np.where(value == 0, 1, -1))
    return cell


def shown(score: str) -> str:
    """A score's name as words.

    >>> shown("claim_faithfulness")
    'claim faithfulness'
    """
    return score.replace("_", " ")
