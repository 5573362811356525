"""The first rows of two results as plain JSON, with the cells that differ, to show a person the difference.

Each side has `columns`, `rows` and `total`; a row has its 1-based `row`, its `cells` as SQL literals, and in `differs`
the indices of the cells that differ. Rows that differ further down follow the first ones.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from steelyard.sql.alignment import ColumnAlignment, nearest
from steelyard.sql.cells import intern_tables
from steelyard.sql.columns import project
from steelyard.sql.equality import CellEquality
from steelyard.sql.results import ResultTable
from steelyard.sql.wording import one_line, show_cell

_FIRST: Final = 8
"""Rows of each side that are shown from the top."""
_FURTHER: Final = 4
"""Rows that differ which are shown below them."""
_COLUMNS: Final = 12
_TEXT: Final = 60
_NAME: Final = 40
_MOST_BYTES: Final = 6_000
"""Of both sides together: it is stored with every sample."""
_PARTNERS: Final = 50


def shown_results(
    reference: ResultTable,
    predicted: ResultTable | None,
    alignment: ColumnAlignment | None,
    equality: CellEquality = CellEquality(),
) -> dict[str, Any]:
    """Return the first rows of both results, side by side.

    Args:
        reference: the reference's result.
        predicted: the prediction's; None where its query failed.
        alignment: what differs; None where nothing does.
        equality: which cells are equal.

    >>> expected, returned = ResultTable(("n",), [(1,), (2,)]), ResultTable(("n",), [(1,), (3,)])
    >>> sides = shown_results(expected, returned, ColumnAlignment(((0, 0),), (1,), (1,), same_sets=False))
    >>> sides["predicted"]["rows"]
    [{'row': 1, 'cells': ['1'], 'differs': []}, {'row': 2, 'cells': ['3'], 'differs': [0]}]
    """
    marks = _marks(reference, predicted, alignment, equality) if predicted is not None and alignment else ({}, {})
    for most in range(_FIRST, 0, -1):
        sides = {
            "reference": _side(reference, marks[0], most),
            "predicted": _side(predicted, marks[1], most) if predicted is not None else None,
        }
        if len(json.dumps(sides, ensure_ascii=False).encode("utf-8", "surrogatepass")) <= _MOST_BYTES:
            break
    return sides


_Marks = Mapping[int, Collection[int]]
"""Position of a row -> its columns that differ."""


def _side(table: ResultTable, marks: _Marks, most: int) -> dict[str, Any]:
    further = [position for position in sorted(marks) if position >= most][: min(_FURTHER, most)]
    positions = [*range(min(most, len(table.rows))), *further]
    return {
        "columns": [one_line(name)[:_NAME] for name in table.columns[:_COLUMNS]],
        "rows": [
            {
                "row": position + 1,
                "cells": [show_cell(cell, _TEXT) for cell in table.rows[position][:_COLUMNS]],
                "differs": sorted(column for column in marks.get(position, ()) if column < _COLUMNS),
            }
            for position in positions
        ],
        "total": len(table.rows),
        **({"width": len(table.columns)} if len(table.columns) > _COLUMNS else {}),
    }


def _marks(
    reference: ResultTable, predicted: ResultTable, alignment: ColumnAlignment, equality: CellEquality
) -> tuple[dict[int, set[int]], dict[int, set[int]]]:
    """The cells that differ in each result: only those of a row that has a similar partner, else the whole row."""
    missing, extra = alignment.missing[: _FIRST + _FURTHER], alignment.extra[:_PARTNERS]
    lefts, rights = [left for left, _ in alignment.columns], [right for _, right in alignment.columns]
    reference_rows, predicted_rows = intern_tables(
        [reference.rows[position] for position in missing],
        [predicted.rows[position] for position in extra],
        equality=equality,
    )
    reference_rows, predicted_rows = project(reference_rows, lefts), project(predicted_rows, rights)
    expected: dict[int, set[int]] = {position: set(range(len(reference.columns))) for position in missing}
    returned: dict[int, set[int]] = {position: set(range(len(predicted.columns))) for position in extra}
    free = list(range(len(extra)))
    for number, position in enumerate(missing):
        same_place = extra.index(position) if position in extra else -1
        partner = nearest(reference_rows[number], predicted_rows, free, same_place) if free and lefts else None
        if partner is None or not _alike(reference_rows[number], predicted_rows[partner]):
            continue
        free.remove(partner)
        differing = [
            at
            for at, (cell, got) in enumerate(zip(reference_rows[number], predicted_rows[partner], strict=True))
            if cell != got
        ]
        expected[position] = {lefts[at] for at in differing} | _unmatched(len(reference.columns), lefts)
        returned[extra[partner]] = {rights[at] for at in differing} | _unmatched(len(predicted.columns), rights)
    _mark_columns(expected, len(reference.rows), _unmatched(len(reference.columns), lefts))
    _mark_columns(returned, len(predicted.rows), _unmatched(len(predicted.columns), rights))
    return expected, returned


def _alike(row: Sequence[int], other: Sequence[int]) -> bool:
    return any(cell == returned for cell, returned in zip(row, other, strict=True))


def _unmatched(width: int, matched: Collection[int]) -> set[int]:
    return set(range(width)) - set(matched)


def _mark_columns(marks: dict[int, set[int]], rows: int, columns: set[int]) -> None:
    """Columns that the other result does not have differ in every row."""
    if columns:
        for position in range(min(rows, _FIRST)):
            marks.setdefault(position, set()).update(columns)
