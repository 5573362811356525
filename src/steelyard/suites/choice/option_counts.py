"""Questions with fewer options than their sheet has columns: meant so, or a cell that was lost?

The rule, for a row that fills only the first k of n option columns. It is a question of k options where

- at least 2 rows and 5 % of the sheet's sound rows fill exactly the first k (true/false among four options), or
- at most half of the other rows fill column k + 1 (an option that few questions have).

Otherwise the blank cell is a defect: nearly all others fill it, so the text was lost, and a question that is asked with
an option missing would be another question.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from steelyard.data.defects import Defect
from steelyard.suites.choice.keys import LETTERS
from steelyard.suites.choice.reading import TableReading

_LEAST_ROWS: Final = 2
_LEAST_SHARE: Final = 0.05
_SHOWN: Final = 3


@dataclass(slots=True)
class OptionCounts:
    """How many options the sound rows of one table have; 16 bytes for each row that has fewer than the columns.

    Args:
        reading: the table.
    """

    reading: TableReading
    _rows: Counter[int] = field(default_factory=Counter)
    _fewer: dict[int, array[int]] = field(default_factory=dict)

    def add(self, number: int, position: int, options: int) -> None:
        """Count a sound row.

        Args:
            number: of the row in its table.
            position: among all sound rows of the dataset, to find it again.
            options: how many it has.
        """
        self._rows[options] += 1
        if options < len(self.reading.options) > 1:
            self._fewer.setdefault(options, array("q")).extend((number, position))

    def lost(self) -> Iterator[tuple[int, int, Defect]]:
        """(number, position, defect) of every row with a blank where an option was lost."""
        for options, rows in self._fewer.items():
            if not self._is_meant(options):
                for number, position in zip(rows[::2], rows[1::2], strict=True):
                    place = self.reading.table.place(number, self.reading.options[options])
                    message = f"option {LETTERS[options]} is blank, but filled in {self._share(options)} other rows"
                    yield number, position, Defect("blank option", place, message)

    def note(self) -> str:
        """How many questions are meant to have fewer options, and the first cells; empty where none is."""
        cells = sorted(
            (number, options)
            for options, rows in self._fewer.items()
            if self._is_meant(options)
            for number in rows[::2]
        )
        if not cells:
            return ""
        places = [self.reading.table.place(number, self.reading.options[at]) for number, at in cells[:_SHOWN]]
        many = f"{len(cells)} questions have" if len(cells) > 1 else "1 question has"
        return f"{many} fewer options than there are columns: blank from {', '.join(places)}" + (
            " ..." if len(cells) > _SHOWN else ""
        )

    def _is_meant(self, options: int) -> bool:
        total, same = self._rows.total(), self._rows[options]
        if same >= _LEAST_ROWS and same >= _LEAST_SHARE * total:
            return True
        return 2 * self._longer(options) <= total - 1

    def _longer(self, options: int) -> int:
        return sum(rows for filled, rows in self._rows.items() if filled > options)

    def _share(self, options: int) -> str:
        return f"{self._longer(options)} of {self._rows.total() - 1}"
