"""Fetching a result within its limits of rows and bytes, never all at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Final

from steelyard.sql.engines.engine import SqlStop
from steelyard.sql.results import SqlLimits

_STEP: Final = 512
_STEP_BYTES: Final = 2**18


def fetch(fetchmany: Callable[[int], Sequence[tuple[Any, ...]]], limits: SqlLimits) -> list[tuple[Any, ...]]:
    """All rows of a cursor.

    The first step is one row; steps grow while rows are small, so that a step of wide rows stays near 256 KiB.

    Args:
        fetchmany: of a cursor.
        limits: `max_rows` and `max_bytes`.

    Raises:
        SqlStop: `too_large`, one row or one step after a limit is passed.
    """
    rows: list[tuple[Any, ...]] = []
    held, step = 0, 1
    while more := fetchmany(step):
        rows.extend(more)
        size = size_of(more)
        held += size
        if len(rows) > limits.max_rows:
            raise SqlStop("too_large", f"more than {limits.max_rows:,} rows")
        if held > limits.max_bytes:
            raise SqlStop("too_large", f"more than {limits.max_bytes:,} bytes, after {len(rows):,} rows")
        step = max(1, min(_STEP, step * 2, _STEP_BYTES * len(more) // max(1, size)))
    return rows


def size_of(rows: Sequence[tuple[Any, ...]]) -> int:
    """Bytes of some rows counted as text: text in UTF-8, blobs by their bytes, 8 for a number, NULL or date.

    >>> size_of([("ab", 1), ("é", None)])
    20
    """
    return sum(_size(cell) for cell in chain.from_iterable(rows))


def _size(cell: Any) -> int:
    kind = type(cell)
    if kind is str:
        return len(cell) if cell.isascii() else len(cell.encode("utf-8", "surrogatepass"))
    if kind is int or kind is float or cell is None:
        return 8
    if isinstance(cell, (bytes, bytearray)):
        return len(cell)
    if isinstance(cell, dict):
        return 8 + sum(_size(key) + _size(one) for key, one in cell.items())
    if isinstance(cell, (list, tuple)):
        return 8 + sum(map(_size, cell))
    return 8
