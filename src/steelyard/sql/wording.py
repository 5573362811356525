"""Explains a verdict: a sentence with the first difference by row, column and value, and differences as JSON.

Cells and rows are shown short and with nothing hidden in them (control characters are escaped).

`shown_results` gives the first rows of both results as plain JSON, with the cells that differ. Each side has `columns`,
`rows` and `total`; a row has its 1-based `row`, its `cells` as SQL literals, and in `differs` the indices of the cells
that differ. Rows that differ further down follow the first ones.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from steelyard.errors import shortened
from steelyard.escaping import printable
from steelyard.sql.cells import intern_tables
from steelyard.sql.columns import ColumnAlignment, Rows, nearest, project
from steelyard.sql.equality import EXACT, RULE_TEXTS, CellEquality, RuleName
from steelyard.sql.results import ResultTable, plain_cell

_SHOWN: Final = 5
"""Rows of each side that are shown."""
_NAMED: Final = 3
"""Columns or cells that a sentence names."""


@dataclass(frozen=True, slots=True)
class Wording:
    """Describes two results whose columns are matched.

    Args:
        reference: the reference's result.
        prediction: the prediction's.
        pairs: 0-based indices of a column of each.
        equality: which cells are equal.
        rules: those of `equality` without which the results do not agree.
    """

    reference: ResultTable
    prediction: ResultTable
    pairs: tuple[tuple[int, int], ...]
    equality: CellEquality = CellEquality()
    rules: tuple[RuleName, ...] = ()

    def columns(self) -> list[int | None]:
        """For each column of the reference the 1-based one of the prediction; None where it has none."""
        partners = dict(self.pairs)
        return [partners[column] + 1 if column in partners else None for column in range(len(self.reference.columns))]

    def agreeing(self, kind: str, *, order: str) -> str:
        """The reason for a verdict where the rows agree."""
        rows = len(self.reference.rows)
        agree = f"{rows} rows agree" if rows != 1 else "1 row agrees"
        if kind == "columns_missing":
            return f"{self._unmatched(self.reference, 0)} of the reference is missing; in the others {agree}"
        if kind == "columns_extra":
            return f"{self._unmatched(self.prediction, 1)} is not in the reference; in the others {agree}"
        if kind == "same_but_order":
            return f"{self._first_moved()}; the rows agree, their order does not"
        return self._right(kind, agree, order)

    def _right(self, kind: str, agree: str, order: str) -> str:
        if kind in {"within_tolerance", "equal_by_rule"}:
            return f"{agree} {self._by_rules()}{self._first_inexact()}"
        if kind == "columns_permuted":
            return f"{agree} once the columns are in order: {self._first_permuted()}"
        if order == "limit_tie":
            return f"{agree} except rows with equal keys, any of which the LIMIT may keep"
        return f"{agree}, rows with equal keys in another order" if order == "ties" else agree

    def _by_rules(self) -> str:
        tolerance = [f"within a relative tolerance of {self.equality.tolerance:g}"] if "tolerance" in self.rules else []
        others = ", ".join(f"{name} ({RULE_TEXTS[name]})" for name in self.rules if name != "tolerance")
        return " and ".join([*tolerance, *([f"by {others}"] if others else [])])

    def differing(self, kind: str, laid: ColumnAlignment, keys: tuple[Rows, Rows]) -> str:
        """The reason for a verdict where rows differ."""
        if kind == "duplicates_differ":
            return self._first_repeated(laid, keys)
        if kind == "rows_missing":
            return f"{_count(laid.missing)} missing: row {laid.missing[0] + 1} {self._wanted(laid.missing[0])}"
        if kind == "rows_extra":
            return f"{_count(laid.extra)} too many: row {laid.extra[0] + 1} {self._given(laid.extra[0])} of the result"
        if not laid.missing:
            return "the columns agree one by one, but the rows could not be paired"
        return self._first_different(laid, keys)

    def differing_rows(self, laid: ColumnAlignment) -> dict[str, Any]:
        """The first rows that are missing and extra, and how many there are."""
        counts = {"missing_rows": len(laid.missing), "extra_rows": len(laid.extra)}
        return self._shown_rows(laid.missing, laid.extra) | counts

    def moved_rows(self) -> dict[str, Any]:
        """The first positions that hold other rows than the reference has there."""
        positions = self._moved()
        return self._shown_rows(positions, positions) | {"missing_rows": 0, "extra_rows": 0}

    def _shown_rows(self, missing: Sequence[int], extra: Sequence[int]) -> dict[str, Any]:
        return {
            "missing": [json_row(position + 1, self.reference.rows[position]) for position in missing[:_SHOWN]],
            "extra": [json_row(position + 1, self.prediction.rows[position]) for position in extra[:_SHOWN]],
        }

    def alignment(self) -> ColumnAlignment:
        """The difference of results whose rows agree: their order, or columns that one side lacks."""
        same_length = len(self.reference.rows) == len(self.prediction.rows)
        moved = tuple(self._moved()) if same_length else ()
        return ColumnAlignment(self.pairs, moved, moved, same_sets=True)

    def _moved(self) -> list[int]:
        reference_rows, returned_rows = self._side_by_side(self.equality)
        return [
            position
            for position, (row, returned) in enumerate(zip(reference_rows, returned_rows, strict=True))
            if row != returned
        ]

    def _side_by_side(self, equality: CellEquality) -> tuple[Rows, Rows]:
        reference_rows, returned_rows = intern_tables(self.reference.rows, self.prediction.rows, equality=equality)
        return project(reference_rows, [left for left, _ in self.pairs]), project(
            returned_rows, [right for _, right in self.pairs]
        )

    def _first_moved(self) -> str:
        reference_rows, returned_rows = self._side_by_side(self.equality)
        position = self._moved()[0]
        return self._cells(position, position, reference_rows[position], returned_rows[position])

    def _first_inexact(self) -> str:
        """The first cells that are equal by a rule only, where the rows are compared side by side."""
        reference_rows, returned_rows = self._side_by_side(EXACT)
        near, near_other = self._side_by_side(self.equality)
        for position, (row, returned) in enumerate(zip(reference_rows, returned_rows, strict=True)):
            if row != returned and near[position] == near_other[position]:
                return f": {self._cells(position, position, row, returned)}"
        return ""

    def _first_permuted(self) -> str:
        moved = [pair for pair in self.pairs if pair[0] != pair[1]][:_NAMED]
        parts = (
            f"{show_column(left, self.reference.columns)} is number {right + 1}"
            f" ({show_column(right, self.prediction.columns)})"
            for left, right in moved
        )
        return ", ".join(parts)

    def _first_different(self, laid: ColumnAlignment, keys: tuple[Rows, Rows]) -> str:
        reference_rows = project(keys[0], [left for left, _ in laid.columns])
        returned_rows = project(keys[1], [right for _, right in laid.columns])
        position = laid.missing[0]
        partner = nearest(reference_rows[position], returned_rows, laid.extra, position)
        if partner is not None:
            return self._cells(position, partner, reference_rows[position], returned_rows[partner])
        where = laid.extra[0]
        return (
            f"row {position + 1}: {self._wanted(position)} expected and not returned; "
            f"row {where + 1} of the result, {self._given(where)}, is not in the reference"
        )

    def _first_repeated(self, laid: ColumnAlignment, keys: tuple[Rows, Rows]) -> str:
        position, side = (laid.missing[0], 0) if laid.missing else (laid.extra[0], 1)
        reference_rows = project(keys[0], [left for left, _ in laid.columns])
        returned_rows = project(keys[1], [right for _, right in laid.columns])
        row = (reference_rows, returned_rows)[side][position]
        shown = self._wanted(position) if side == 0 else self._given(position)
        return f"row {shown} expected {_times(reference_rows.count(row))}, returned {_times(returned_rows.count(row))}"

    def _cells(self, position: int, partner: int, row: Sequence[int], other_row: Sequence[int]) -> str:
        """The cells in which two rows differ, as far as a sentence takes them."""
        differing = [
            at for at, (number, other_number) in enumerate(zip(row, other_row, strict=True)) if number != other_number
        ]
        parts = []
        for at in differing[:_NAMED]:
            left, right = self.pairs[at]
            expected, returned = show_pair(self.reference.rows[position][left], self.prediction.rows[partner][right])
            parts.append(f"{show_column(left, self.reference.columns)}: {expected} expected, {returned} returned")
        hidden = f" and {len(differing) - _NAMED} more" if len(differing) > _NAMED else ""
        where = "" if position == partner else f" (row {partner + 1} of the result)"
        return f"row {position + 1}, {'; '.join(parts)}{hidden}{where}"

    def _unmatched(self, table: ResultTable, side: int) -> str:
        matched = {pair[side] for pair in self.pairs}
        unmatched = [column for column in range(len(table.columns)) if column not in matched]
        names = ", ".join(f"column {column + 1}{_named(column, table)}" for column in unmatched[:_NAMED])
        return f"{names} and {len(unmatched) - _NAMED} more" if len(unmatched) > _NAMED else names

    def _wanted(self, position: int) -> str:
        return show_row(self.reference.rows[position])

    def _given(self, position: int) -> str:
        return show_row(self.prediction.rows[position])


def _named(column: int, table: ResultTable) -> str:
    name = show_column(column, table.columns).removeprefix("column ")
    return "" if name == str(column + 1) else f" ({name})"


def _count(positions: Sequence[int]) -> str:
    return f"{len(positions)} rows" if len(positions) != 1 else "1 row"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


_TEXT: Final = 40
_BEFORE: Final = 9
"""Characters shown before the first one that differs."""
_JSON_TEXT: Final = 200
_CELLS: Final = 6
_JSON_CELLS: Final = 50
_BITS: Final = 256
"""Longer whole numbers are not written out; Python itself refuses from 4,300 digits on."""


def show_cell(cell: Any, most: int = _TEXT) -> str:
    r"""Format a cell for a sentence, as a SQL literal.

    Args:
        cell: a cell of any type.
        most: characters of it.

    >>> [show_cell(cell) for cell in (None, True, 1.5, "it's\x1b", b"\x00\xff", float("nan"))]
    ['NULL', 'true', '1.5', "'it''s\\x1b'", "x'00ff'", 'NaN']
    """
    cell = plain_cell(cell)
    if cell is None:
        return "NULL"
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, str):
        quoted = shortened(cell, most).replace("'", "''")
        return f"'{printable(quoted)}'"
    if isinstance(cell, bytes):
        return f"x'{shortened(cell[:most].hex(), most)}'"
    if isinstance(cell, float):
        return "NaN" if math.isnan(cell) else repr(cell)
    return _show_other(cell, most)


def _show_other(cell: Any, most: int) -> str:
    if isinstance(cell, int) and cell.bit_length() > _BITS:
        return f"an integer of {cell.bit_length()} bits"
    if isinstance(cell, list | tuple | dict):
        return f"{'a struct' if isinstance(cell, dict) else 'a list'} of {len(cell)}"
    return printable(shortened(str(cell), most))


def show_pair(expected: Any, returned: Any) -> tuple[str, str]:
    r"""Two cells that differ for a sentence, with as much of them as it takes to see the difference.

    >>> show_pair("x" * 50 + "1", "x" * 50 + "2")
    ("'…xxxxxxxxx1'", "'…xxxxxxxxx2'")
    >>> show_pair([1, [2, "a"]], [1, [2, "b"]])
    ("[1, [2, 'a']]", "[1, [2, 'b']]")
    """
    short = show_cell(expected), show_cell(returned)
    if short[0] != short[1]:
        return short
    left, right = _whole_text(plain_cell(expected)), _whole_text(plain_cell(returned))
    start = max(0, _first_difference(left, right) - _BEFORE)
    cut = tuple(_window(text, start) for text in (left, right))
    quoted = isinstance(plain_cell(expected), str) and isinstance(plain_cell(returned), str)
    return (f"'{cut[0]}'", f"'{cut[1]}'") if quoted else (cut[0], cut[1])


def _whole_text(cell: Any) -> str:
    """A long or nested cell written out, at most so far as Python does it in no time."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bytes):
        return f"x'{cell.hex()}'"
    if isinstance(cell, int):
        return hex(cell)
    try:
        return repr(cell)
    except RecursionError:
        return "a list nested too deeply to be shown"


def _first_difference(left: str, right: str) -> int:
    pairs = enumerate(zip(left, right, strict=False))
    return next((at for at, (letter, other) in pairs if letter != other), min(len(left), len(right)))


def _window(text: str, start: int) -> str:
    shown = text[start : start + _TEXT]
    return f"{'…' if start else ''}{printable(shown)}{'…' if start + _TEXT < len(text) else ''}"


def show_row(row: Sequence[Any]) -> str:
    """Format the first cells of a row, in brackets.

    >>> show_row((1, "a"))
    "(1, 'a')"
    """
    ellipsis = ", …" if len(row) > _CELLS else ""
    return f"({', '.join(show_cell(cell) for cell in row[:_CELLS])}{ellipsis})"


def show_column(index: int, columns: Sequence[str]) -> str:
    """Name a column for a sentence, by its number where it has no name.

    >>> show_column(0, ["total"]), show_column(1, ["a", ""])
    ('column total', 'column 2')
    """
    name = printable(shortened(columns[index], _TEXT)).strip() if index < len(columns) else ""
    return f"column {name}" if name else f"column {index + 1}"


def json_row(number: int, row: Sequence[Any]) -> dict[str, Any]:
    """Convert a row to JSON values: its 1-based number and its first cells.

    >>> json_row(3, (1, "a", float("inf")))
    {'row': 3, 'cells': [1, 'a', 'inf']}
    """
    return {"row": number, "cells": [_json_cell(cell) for cell in row[:_JSON_CELLS]]}


def _json_cell(cell: Any) -> Any:
    cell = plain_cell(cell)
    if cell is None or isinstance(cell, bool):
        return cell
    if isinstance(cell, int) and cell.bit_length() <= 63:
        return int(cell)
    if isinstance(cell, float) and math.isfinite(cell):
        return float(cell)
    return printable(shortened(cell, _JSON_TEXT)) if isinstance(cell, str) else show_cell(cell, _JSON_TEXT)


_FIRST: Final = 8
"""Rows of each side that are shown from the top."""
_FURTHER: Final = 4
"""Rows that differ which are shown below them."""
_COLUMNS: Final = 12
_SHOWN_TEXT: Final = 60
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
        "columns": [printable(name)[:_NAME] for name in table.columns[:_COLUMNS]],
        "rows": [
            {
                "row": position + 1,
                "cells": [show_cell(cell, _SHOWN_TEXT) for cell in table.rows[position][:_COLUMNS]],
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
