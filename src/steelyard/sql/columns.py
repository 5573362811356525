"""Matches the columns of two results by their values, keeping rows intact.

Names of columns say nothing (aliases differ), and trying all orders is exponential: Spider's evaluator needs 25 s for 8
columns of 0/1. Here each column has a fingerprint, the bag of its cells, and only columns of one fingerprint are
candidates for each other. What stays ambiguous is refined by rows and columns in turn (colour refinement, the
one-dimensional method of B. Weisfeiler and A. Leman, 1968), then by fixing one pair of columns and refining again
(individualisation; B. D. McKay, "Practical graph isomorphism", 1981), within a budget. Fingerprints are sums of 64-bit
hashes, which do not depend on the order of rows and may err, so every match is verified on the rows; a miss is exact
unless `decided` says otherwise.

`align` finds the rows that two results do not share, with their columns aligned; it only explains, and decides nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steelyard.sql.extent import check_time

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


_MOST_NODES: Final = 3000
"""Limit of pairs of columns that are fixed on trial."""
_MOST_CELLS: Final = 30_000_000
"""Limit of cells that are examined on trial, about a second; one path to the end is always followed."""


@dataclass(frozen=True, slots=True)
class Match:
    """The column of the prediction for each column of the reference.

    Args:
        columns: for each column of the reference the 0-based column of the prediction; None where there is no match.
        decided: False where the budget ended before all was tried, so that a match may have been missed.
    """

    columns: tuple[int, ...] | None
    decided: bool = True


def match_columns(reference: Rows, prediction: Rows, *, groups: Sequence[int] | None = None) -> Match:
    """Find columns of `prediction` that hold the rows of `reference`, as a bag.

    The columns' own order is taken where it fits. A wider prediction may have columns left over; a narrower one, or one
    with more or fewer rows, has no match.

    Args:
        reference: rows of `steelyard.sql.cells.intern_tables`.
        prediction: rows of the same call.
        groups: a number for each position; rows may change places only within a group, and the bags must agree in each.
            None: anywhere.

    >>> match_columns([(1, 5), (2, 6)], [(6, 2), (5, 1)]).columns
    (1, 0)
    >>> match_columns([(1, 5), (2, 6)], [(9, 6, 1), (9, 5, 2)]).columns is None
    True
    """
    if len(reference) != len(prediction) or not reference or len(reference[0]) > len(prediction[0]):
        return Match(None)
    if not reference[0]:
        return Match(())
    pair = _Pair(reference, prediction, groups)
    equal_width = len(reference[0]) == len(prediction[0])
    reference_marks, prediction_marks = (fingerprints(sheet, sheet.start).tolist() for sheet in (pair.left, pair.right))
    in_place = tuple(range(len(reference_marks)))
    if equal_width and reference_marks == prediction_marks and pair.holds(in_place):
        return Match(in_place)
    by_fingerprint: dict[int, list[int]] = {}
    for column, mark in enumerate(prediction_marks):
        by_fingerprint.setdefault(mark, []).append(column)
    candidates = [by_fingerprint.get(mark, []) for mark in reference_marks]
    if not all(candidates):
        return Match(None)
    if all(len(matching) == 1 for matching in candidates):
        columns = tuple(column for [column] in candidates)
        return Match(columns if len(set(columns)) == len(columns) and pair.holds(columns) else None)
    return _Search(pair, equal_width=equal_width).run()


def project(rows: Rows, columns: Sequence[int]) -> list[tuple[int, ...]]:
    """The rows with these columns only, in this order.

    >>> project([(1, 2, 3)], (2, 0))
    [(3, 1)]
    """
    if not columns or not rows:
        return [()] * len(rows)
    by_column = list(zip(*rows, strict=True))
    return list(zip(*(by_column[column] for column in columns), strict=True))


class _Pair:
    """The two tables, and the one exact answer: whether some columns of one hold the rows of the other."""

    def __init__(self, reference: Rows, prediction: Rows, groups: Sequence[int] | None) -> None:
        self.reference, self.prediction, self._groups = reference, prediction, groups
        self.left, self.right = HashedTable(self._each(reference)), HashedTable(self._each(prediction))

    def holds(self, columns: Sequence[int]) -> bool:
        """Whether these columns of the prediction are the reference's rows, as a bag in each group.

        Both are sorted by a hash of their rows and then compared cell by cell, which is quicker than counting rows.
        """
        check_time()
        reference_hashes, prediction_hashes = (
            row_hashes(self.left, range(len(columns))),
            row_hashes(self.right, columns),
        )
        first, second = np.argsort(reference_hashes), np.argsort(prediction_hashes)
        if not np.array_equal(reference_hashes[first], prediction_hashes[second]):
            return False
        if np.array_equal(self.left.ids[first], self.right.ids[second][:, columns]):
            return self._groups is None or np.array_equal(self.left.start[first], self.right.start[second])
        # Two different rows have one hash.
        return self._counted(self.reference) == self._counted(project(self.prediction, columns))

    def _each(self, rows: Rows) -> Bag:
        return Bag(rows, self._groups or [0] * len(rows), None)

    def _counted(self, rows: Rows) -> Counter[Any]:
        return Counter(rows) if self._groups is None else Counter(zip(self._groups, rows, strict=True))

    def bag(self, rows: Rows) -> Bag:
        """Distinct rows with their groups and counts."""
        counted = self._counted(rows)
        if self._groups is None:
            return Bag(list(counted), [0] * len(counted), list(counted.values()))
        return Bag([row for _, row in counted], [group for group, _ in counted], list(counted.values()))


@dataclass(frozen=True, slots=True)
class _Colours:
    """Colours of one table's rows and columns at one point of the search."""

    rows: Hashes
    columns: Hashes


@dataclass(frozen=True, slots=True)
class _Step:
    """A pair of columns to be fixed, on top of what was known."""

    left: _Colours
    right: _Colours
    pair: tuple[int, int]


class _Search:
    """A search among columns that share fingerprints; `equal_width`: all columns of the prediction are used."""

    def __init__(self, pair: _Pair, *, equal_width: bool) -> None:
        self._pair, self._equal_width = pair, equal_width
        self._left, self._right = HashedTable(pair.bag(pair.reference)), HashedTable(pair.bag(pair.prediction))
        self._reference_twins, self._prediction_twins = self._left.join_twins(), self._right.join_twins()
        visited = self._left.cells.size + self._right.cells.size + 1
        self._nodes = max(len(self._reference_twins) + 1, min(_MOST_NODES, _MOST_CELLS // visited))

    def run(self) -> Match:
        """Depth first, on a stack of our own; each node is refined before its pairs are tried."""
        columns, steps = self._look(
            self._begin(self._left, self._reference_twins), self._begin(self._right, self._prediction_twins)
        )
        while columns is None and steps:
            if not self._nodes:
                return Match(None, decided=False)
            check_time()
            self._nodes -= 1
            step = steps.pop()
            left = _fixed(self._left, step.left, step.pair[0])
            right = _fixed(self._right, step.right, step.pair[1])
            columns, further = self._look(left, right)
            steps.extend(further)
        return Match(columns)

    def _begin(self, sheet: HashedTable, twins: Sequence[Sequence[int]]) -> _Colours:
        sizes = [len(group) if self._equal_width else 0 for group in twins]
        rows = mix(sheet.start + sheet.counts) if self._equal_width else sheet.start
        return _Colours(rows, mix(np.array(sizes, dtype=np.uint64)))

    def _look(self, left: _Colours, right: _Colours) -> tuple[tuple[int, ...] | None, list[_Step]]:
        """A match that is certain here, or the pairs to try next; neither where there can be none."""
        refined = self._refine(left, right) if self._equal_width else self._spread(left, right)
        if refined is None:
            return None, []
        left, right = refined
        candidates = self._candidates(left, right)
        if not all(candidates):
            return None, []
        guess = _in_order(candidates)
        if guess is not None and self._fits(guess):
            return self._columns(guess), []
        open_columns = [column for column, others in enumerate(candidates) if len(others) > 1]
        if not open_columns:
            return None, []
        column = min(open_columns, key=lambda index: len(candidates[index]))
        return None, [_Step(left, right, (column, other)) for other in reversed(candidates[column])]

    def _candidates(self, left: _Colours, right: _Colours) -> list[list[int]]:
        by_colour: dict[int, list[int]] = {}
        for column, colour in enumerate(right.columns.tolist()):
            by_colour.setdefault(colour, []).append(column)
        sizes = [len(twins) for twins in self._prediction_twins]
        return [
            [other for other in by_colour.get(colour, []) if sizes[other] >= len(self._reference_twins[column])]
            for column, colour in enumerate(left.columns.tolist())
        ]

    def _refine(self, left: _Colours, right: _Colours) -> tuple[_Colours, _Colours] | None:
        """Colour rows by their columns and columns by their rows until nothing new is told apart; None: they differ."""
        told_apart = 0
        while True:
            check_time()
            left, right = _refined(self._left, left), _refined(self._right, right)
            if not np.array_equal(np.sort(left.columns), np.sort(right.columns)):
                return None
            distinct = len(np.unique(left.columns)) + len(np.unique(left.rows))
            if distinct == told_apart or len(np.unique(left.columns)) == len(left.columns):
                return left, right
            told_apart = distinct

    def _spread(self, left: _Colours, right: _Colours) -> tuple[_Colours, _Colours] | None:
        """Fix all pairs that have no choice, again and again; None where the fixed columns differ.

        Columns that may be left over tell nothing about rows, so only the fixed ones colour them.
        """
        fixed: set[int] = set()
        while True:
            check_time()
            left = _Colours(left.rows, fingerprints(self._left, left.rows))
            right = _Colours(right.rows, fingerprints(self._right, right.rows))
            if checksum(self._left, left.rows) != checksum(self._right, right.rows):
                return None
            candidates = self._candidates(left, right)
            sure = [
                (column, others[0])
                for column, others in enumerate(candidates)
                if len(others) == 1 and column not in fixed
            ]
            if not sure or not all(candidates):
                return left, right
            for column, partner in sure:
                left = _Colours(mix(left.rows + self._left.cells[:, column]), left.columns)
                right = _Colours(mix(right.rows + self._right.cells[:, partner]), right.columns)
                fixed.add(column)

    def _fits(self, guess: Sequence[int]) -> bool:
        """Whether the distinct columns fit as guessed: by hash first, then on the rows themselves."""
        left, right = row_hashes(self._left, range(len(guess))), row_hashes(self._right, guess)
        if checksum(self._left, left) != checksum(self._right, right):
            return False
        return self._pair.holds(self._columns(guess))

    def _columns(self, guess: Sequence[int]) -> tuple[int, ...]:
        chosen: dict[int, int] = {}
        for twins, index in zip(self._reference_twins, guess, strict=True):
            chosen.update(zip(twins, self._prediction_twins[index], strict=False))
        return tuple(chosen[column] for column in range(len(chosen)))


def _in_order(candidates: Sequence[Sequence[int]]) -> list[int] | None:
    """Each column with its first candidate that is free; None where none is."""
    used: set[int] = set()
    guess = []
    for others in candidates:
        free = next((other for other in others if other not in used), None)
        if free is None:
            return None
        used.add(free)
        guess.append(free)
    return guess


def _fixed(sheet: HashedTable, colours: _Colours, column: int) -> _Colours:
    """The column in a colour of its own, and rows told apart by it."""
    columns = colours.columns.copy()
    columns[column] ^= columns.dtype.type(0x5DEECE66D)
    return _Colours(mix(colours.rows + sheet.cells[:, column]), columns)


def _refined(sheet: HashedTable, colours: _Colours) -> _Colours:
    rows = mix(colours.rows + mix(sheet.cells ^ colours.columns[None, :]).sum(axis=1))
    return _Colours(rows, mix(colours.columns + fingerprints(sheet, rows)))


_MOST_OVERLAPS: Final = 2_000_000
"""Limit of cells that are counted to align columns; beyond it the columns keep their order."""
_MOST_NEAR: Final = 200
"""Rows among which the one nearest to a missing row is looked for."""


@dataclass(frozen=True, slots=True)
class ColumnAlignment:
    """Aligned columns of two results, and the rows that differ.

    Args:
        columns: pairs of a reference column and a prediction column, 0-based.
        missing: positions of reference rows that the prediction lacks, each as often as it lacks it.
        extra: positions of prediction rows that the reference lacks.
        same_sets: whether the rows differ only in how often they occur.
    """

    columns: tuple[tuple[int, int], ...]
    missing: tuple[int, ...]
    extra: tuple[int, ...]
    same_sets: bool


def align(reference: Rows, prediction: Rows, widths: tuple[int, int]) -> ColumnAlignment:
    """Align the columns so that most rows are shared; keep their order where that is as good.

    Args:
        reference: rows of `steelyard.sql.cells.intern_tables`; may be empty.
        prediction: rows of the same call; may be empty.
        widths: columns of each.

    >>> align([(1, 2), (3, 4)], [(2, 1)], (2, 2))
    ColumnAlignment(columns=((0, 1), (1, 0)), missing=(1,), extra=(), same_sets=False)
    """
    in_place = tuple((column, column) for column in range(min(widths)))
    best = _differences(reference, prediction, in_place)
    if best.missing and best.extra and len(reference) * max(widths) ** 2 <= _MOST_OVERLAPS:
        moved = _differences(reference, prediction, _by_overlap(reference, prediction, widths))
        if len(moved.missing) + len(moved.extra) < len(best.missing) + len(best.extra):
            return moved
    return best


def nearest(row: Sequence[int], rows: Rows, positions: Sequence[int], at: int) -> int | None:
    """Find the row that shares most cells with `row`, the same position first; None where none shares any."""
    near = list(positions[:_MOST_NEAR])
    if at in positions:
        near.insert(0, at)

    def shared(position: int) -> int:
        return sum(cell == other for cell, other in zip(row, rows[position], strict=True))

    best = max(near, key=shared, default=None)
    return best if best is not None and (shared(best) or len(row) == 1) else None


def _differences(reference: Rows, prediction: Rows, columns: tuple[tuple[int, int], ...]) -> ColumnAlignment:
    check_time()
    reference_rows = project(reference, [column for column, _ in columns])
    prediction_rows = project(prediction, [column for _, column in columns])
    reference_counts, prediction_counts = Counter(reference_rows), Counter(prediction_rows)
    missing, extra = (
        _last_positions(reference_rows, reference_counts - prediction_counts),
        _last_positions(prediction_rows, prediction_counts - reference_counts),
    )
    return ColumnAlignment(columns, missing, extra, same_sets=reference_counts.keys() == prediction_counts.keys())


def _last_positions(rows: Rows, lacking: Counter[tuple[int, ...]]) -> tuple[int, ...]:
    """The last positions of each row that is lacking, since the first ones have their partners."""
    remaining = Counter(lacking)
    positions = []
    for position in range(len(rows) - 1, -1, -1):
        if remaining[rows[position]] > 0:
            remaining[rows[position]] -= 1
            positions.append(position)
    return tuple(reversed(positions))


def _by_overlap(reference: Rows, prediction: Rows, widths: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    """Pairs of columns with the most cells in common first; of equal ones those in place, then from the left."""
    reference_columns = [Counter(column) for column in zip(*reference, strict=True)]
    prediction_columns = [Counter(column) for column in zip(*prediction, strict=True)]
    check_time()
    ranked = sorted(
        (-(left_cells & right_cells).total(), left != right, left, right)
        for left, left_cells in enumerate(reference_columns)
        for right, right_cells in enumerate(prediction_columns)
    )
    pairs: dict[int, int] = {}
    for _, _, left, right in ranked:
        if left not in pairs and right not in pairs.values():
            pairs[left] = right
    return tuple(sorted(pairs.items()))[: min(widths)]
