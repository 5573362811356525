"""Hashes the columns and rows of tables to 64 bits.

Sums of hashes do not depend on the order of rows. They may collide, so callers verify equal hashes on the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

Rows = Sequence[tuple[int, ...]]
"""Rows of `steelyard.sql.cells.intern_tables`, all of one width."""


class Bag(NamedTuple):
    """Rows, the group of each, and how often each occurs (None: once)."""

    rows: Rows
    groups: Sequence[int]
    counts: Sequence[int] | None


class HashedTable:
    """One table's rows as hashes.

    Attributes:
        counts: how often each row occurs.
        start: a colour for each row, from its group.
        ids: the cells as they are interned.
        cells: a hash for each cell.
    """

    def __init__(self, bag: Bag) -> None:
        flat = np.fromiter(chain.from_iterable(bag.rows), dtype=np.uint64, count=len(bag.rows) * len(bag.rows[0]))
        self.ids = flat.reshape(len(bag.rows), -1)
        self.cells = mix(self.ids)
        self.start = mix(np.array(bag.groups, dtype=np.uint64))
        self.counts = np.ones(len(bag.rows), np.uint64) if bag.counts is None else np.array(bag.counts, np.uint64)

    def join_twins(self) -> list[list[int]]:
        """Keep one of several identical columns; returns, for each that is kept, all columns that it represents."""
        by_content: dict[bytes, list[int]] = {}
        for index, column in enumerate(np.ascontiguousarray(self.cells.T)):
            by_content.setdefault(column.tobytes(), []).append(index)
        self.cells = np.ascontiguousarray(self.cells[:, [twins[0] for twins in by_content.values()]])
        return list(by_content.values())


def fingerprints(sheet: HashedTable, rows: Hashes) -> Hashes:
    """A hash for each column: the bag of its cells, each with its row's colour."""
    hashes: Hashes = (mix(sheet.cells + rows[:, None]) * sheet.counts[:, None]).sum(axis=0)
    return hashes


def row_hashes(sheet: HashedTable, columns: Sequence[int]) -> Hashes:
    """A hash for each row with its group, of these columns in this order."""
    rows = sheet.start
    for column in columns:
        rows = mix(rows + sheet.cells[:, column])
    return rows


def checksum(sheet: HashedTable, rows: Hashes) -> int:
    """A hash of the bag of the rows' colours."""
    return int((mix(rows) * sheet.counts).sum())


def mix(numbers: Hashes) -> Hashes:
    """The finaliser of SplitMix64 (G. Steele, D. Lea, C. Flood, OOPSLA 2014): near numbers become far ones."""
    kind = numbers.dtype.type
    mixed: Hashes = numbers + kind(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> kind(30))) * kind(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> kind(27))) * kind(0x94D049BB133111EB)
    return mixed ^ (mixed >> kind(31))
