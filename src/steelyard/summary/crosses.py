"""Two 0/1 scores against each other: right and supported, right but unsupported, and so on."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.summary.rows import ScoreRow
from steelyard.types import Json

Words = tuple[str, str]
"""What 1 and 0 of a score are called."""


@dataclass(frozen=True, slots=True)
class Cross:
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
    rows_words: Words
    columns_words: Words
    counts: tuple[tuple[int, int], tuple[int, int]]
    left_out: int = 0

    @property
    def n(self) -> int:
        """Records that are counted."""
        return sum(map(sum, self.counts))

    @property
    def cells(self) -> tuple[tuple[str, int], ...]:
        """The four cells row by row: what each is called, and how many records it has.

        >>> cross = Cross("correct", "faithfulness", ("right", "wrong"), ("supported", "unsupported"), ((1, 0), (2, 3)))
        >>> [name for name, _ in cross.cells][:2]
        ['right and supported', 'right but unsupported']
        """
        return tuple(
            (f"{row_word} {'and' if row == column else 'but'} {column_word}", self.counts[row][column])
            for row, row_word in enumerate(self.rows_words)
            for column, column_word in enumerate(self.columns_words)
        )

    def to_json(self) -> dict[str, Json]:
        """Plain JSON; the cells with their names as well."""
        return {
            "rows_score": self.rows_score,
            "columns_score": self.columns_score,
            "rows_words": list(self.rows_words),
            "columns_words": list(self.columns_words),
            "counts": [list(row) for row in self.counts],
            "cells": dict(self.cells),
            "n": self.n,
            "left_out": self.left_out,
        }


class CrossTally:
    """Counts the records of two scores as their rows come; the rows of one record stand together.

    Args:
        rows_score: a score's name.
        columns_score: another's.
        words: per score, what its 1 and 0 are called; `correct` and `not correct` where it does not say.

    >>> tally = CrossTally("correct", "faithfulness", {"correct": ("right", "wrong")})
    >>> tally.add(ScoreRow("fr", "", "", 0, "correct", "scored", 1.0))
    >>> tally.add(ScoreRow("fr", "", "", 0, "faithfulness", "scored", 0.0))
    >>> tally.found().cells[1]
    ('right but not faithfulness', 1)
    """

    __slots__ = ("_at", "_counts", "_left_out", "_scores", "_values", "_words")

    def __init__(self, rows_score: str, columns_score: str, words: dict[str, Words]) -> None:
        self._scores = (rows_score, columns_score)
        self._words = [words.get(one, (shown(one), f"not {shown(one)}")) for one in self._scores]
        self._counts = [[0, 0], [0, 0]]
        self._left_out = 0
        self._at: tuple[str, int] | None = None
        self._values: dict[str, float | None] = {}

    def add(self, row: ScoreRow) -> None:
        """Take a row of any score."""
        at = (row.sample, row.repeat)
        if at != self._at:
            self._settle()
            self._at = at
        self._values[row.name] = row.value

    def _settle(self) -> None:
        if self._at is None:
            return
        row, column = (_place(self._values.get(one)) for one in self._scores)
        if row is None or column is None:
            self._left_out += 1
        else:
            self._counts[row][column] += 1
        self._values = {}
        self._at = None

    def found(self) -> Cross:
        """The table of what was counted."""
        self._settle()
        first, second = self._counts
        counts = ((first[0], first[1]), (second[0], second[1]))
        return Cross(*self._scores, self._words[0], self._words[1], counts, self._left_out)


def _place(value: float | None) -> int | None:
    """1 stands first, 0 second; anything else has no place."""
    return {1.0: 0, 0.0: 1}.get(-1.0 if value is None else value)


def shown(score: str) -> str:
    """A score's name as words.

    >>> shown("claim_faithfulness")
    'claim faithfulness'
    """
    return score.replace("_", " ")
