"""Finds the rows that two results do not share, with their columns aligned.

Only used to explain: whether two results are the same is decided by `steelyard.sql.columns`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from steelyard.sql.columns import project
from steelyard.sql.extent import check_time
from steelyard.sql.fingerprints import Rows

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
