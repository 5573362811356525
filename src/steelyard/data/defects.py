"""What is wrong with the rows of a dataset: all of it is told at once, before anything is asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from steelyard.data.table import Column, Table
from steelyard.errors import DataError

SHOWN_DEFECTS: Final = 20


@dataclass(frozen=True, slots=True)
class Defect:
    """Something to mend before a row can be asked: `kind` is for a program, the rest for a person."""

    kind: str
    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


def faults_of(table: Table, number: int, columns: Iterable[Column]) -> Iterator[Defect]:
    """What its spreadsheet says is wrong with the cells of a row: an error value, a formula without a value."""
    faults = table.faults.get(number, {})
    for column in columns if faults else ():
        if isinstance(column, int) and column in faults:
            yield Defect("bad cell", table.place(number, column), faults[column])


def refuse(defects: Sequence[Defect]) -> NoReturn:
    """Say what is wrong, up to `SHOWN_DEFECTS` of it by its place.

    Raises:
        DataError: always.
    """
    lines = [str(defect) for defect in defects[:SHOWN_DEFECTS]]
    if len(defects) > SHOWN_DEFECTS:
        lines.append(f"and {len(defects) - SHOWN_DEFECTS} more")
    count = f"{len(defects)} defect{'s' if len(defects) > 1 else ''}"
    raise DataError(f"{count} in the dataset; mend them, or leave such rows out with skip_bad: true", lines)
