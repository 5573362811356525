"""What counts as a table: by the rules `steelyard`, and to the releases of QATCH 0.2 before they compare anything."""

from __future__ import annotations

from itertools import chain
from typing import Any, Final

_INSIDE: Final = (list, tuple, bytearray, memoryview)
"""Cells of these types would be a third dimension of an array, or make it ragged."""

_FIXED: Final = (str, bytes, float, int, complex)
"""Cells that numpy holds without falling back to objects, whole numbers of more than 64 bits apart."""


def shape_problem(table: Any) -> str:
    """Why a value is no table by the rules `steelyard`, naming the first row that is wrong; "" where it is one.

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


def is_matrix(table: Any) -> bool:
    """Whether numpy makes an array of exactly two dimensions of it: no row at all is one, ragged rows are none.

    >>> is_matrix([["a", None]]), is_matrix([]), is_matrix([["a"], ["b", "c"]]), is_matrix(["a"]), is_matrix([[["a"]]])
    (True, False, False, False, False)
    """
    if not isinstance(table, list | tuple) or not table:
        return False
    if not all(isinstance(row, list | tuple) for row in table) or len(set(map(len, table))) != 1:
        return False
    kinds = set(map(type, chain.from_iterable(table)))
    return not any(issubclass(kind, _INSIDE) for kind in kinds) and not _undecodable(table, kinds)


def is_plain_table(table: Any) -> bool:
    """Whether it is made of lists of texts and numbers. NULL, bytes and tuples as rows are not; no row at all is fine.

    Raises:
        TypeError: it has no rows to look at, None for example.

    >>> is_plain_table([["a", 1], [2.5]]), is_plain_table([["a", None]]), is_plain_table([("a",)]), is_plain_table("")
    (True, False, False, True)
    """
    for row in table:
        if not isinstance(row, list) or not all(isinstance(cell, str | float | int) for cell in row):
            return False
    return True


def _undecodable(table: Any, kinds: set[type]) -> bool:
    """Bytes beside texts are decoded as ASCII; where that fails numpy makes no array."""
    if bytes not in kinds or not any(issubclass(kind, str) for kind in kinds):
        return False
    cells = list(chain.from_iterable(table))
    if any(not issubclass(kind, _FIXED) for kind in kinds) or any(_is_long(cell) for cell in cells):
        return False
    return any(isinstance(cell, bytes) and not cell.isascii() for cell in cells)


def _is_long(cell: Any) -> bool:
    return isinstance(cell, int) and not -(2**63) <= cell < 2**64
