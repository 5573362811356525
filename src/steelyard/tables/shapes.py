"""What counts as a table, by the rules `steelyard`: rows of cells, as wide as each other, at least one cell each."""

from __future__ import annotations

from itertools import chain
from typing import Any


def shape_problem(table: Any) -> str:
    """Why a value is no table, naming the first row that is wrong; "" where it is one.

    A table is a list or tuple of rows; a row is a list or tuple of cells. A cell may itself be a list or dict, as
    engines return them; but where rows are lists and no cell is anything else than a list, that is a third dimension.

    >>> shape_problem([[1, 2], [3]]), shape_problem(["a", "b"])
    ('row 2 has 1 cell where row 1 has 2', 'row 1 is a str, not a list of cells')
    >>> shape_problem([]), shape_problem([("a", [1, 2])])
    ('', '')
    """
    if not isinstance(table, list | tuple):
        return f"{_named(table)} is no list of rows"
    # Types first, rows only where one is wrong: three times as fast on what is a table.
    if not all(issubclass(kind, list | tuple) for kind in set(map(type, table))):
        place, row = next((place, row) for place, row in enumerate(table, 1) if not isinstance(row, list | tuple))
        return f"row {place} is {_named(row)}, not a list of cells"
    widths = list(map(len, table))
    if len(set(widths)) > 1:
        place = next(place for place, width in enumerate(widths) if width != widths[0])
        cells = "1 cell" if widths[place] == 1 else f"{widths[place]} cells"
        return f"row {place + 1} has {cells} where row 1 has {widths[0]}"
    if table and not widths[0]:
        return "row 1 has no cells"
    return _third_dimension(table)


def _third_dimension(table: list[Any] | tuple[Any, ...]) -> str:
    # The first cell decides nearly always, so that no table is read whole for it.
    cells = chain.from_iterable(table)
    if any(not isinstance(cell, list | tuple) for cell in cells) or not all(isinstance(row, list) for row in table):
        return ""
    return "row 1 holds lists where cells belong: a third dimension" if table else ""


def _named(value: Any) -> str:
    kind = type(value).__name__
    return "None" if value is None else f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
