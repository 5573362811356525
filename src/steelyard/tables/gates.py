"""What the releases of QATCH 0.2 take for a table before they compare anything."""

from __future__ import annotations

from itertools import chain
from typing import Any, Final

_INSIDE: Final = (list, tuple, bytearray, memoryview)
"""Cells of these types would be a third dimension of an array, or make it ragged."""

_FIXED: Final = (str, bytes, float, int, complex)
"""Cells that numpy holds without falling back to objects, whole numbers of more than 64 bits apart."""


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
