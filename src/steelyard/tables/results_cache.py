"""Results of queries that were run already: many rows of a frame ask for the same target."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

from steelyard.tables.sides import Side

MOST_RESULTS: Final = 512
MOST_CELLS: Final = 2_000_000
"""Cells of all results that are kept, about 150 MB; a larger one alone is not kept."""


class ResultsCache:
    """The results of one call, the least recently used dropped first.

    Args:
        run: gives the result of a query on a database.
    """

    def __init__(self, run: Callable[[Any, Any], Side]) -> None:
        self._run = run
        self._kept: OrderedDict[tuple[Any, str], tuple[Side, int]] = OrderedDict()
        self._cells = 0

    def side(self, db_id: Any, query: Any) -> Side:
        """The result of a query; run at most once while it is kept."""
        if not isinstance(query, str) or not isinstance(db_id, str):
            return self._run(db_id, query)
        key = (db_id, query)
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key][0]
        found = self._run(db_id, query)
        self._keep(key, found)
        return found

    def _keep(self, key: tuple[Any, str], side: Side) -> None:
        rows = side.table or ()
        cells = 1 + (len(rows) * len(rows[0]) if rows else 0)
        if cells > MOST_CELLS:
            return
        self._kept[key] = side, cells
        self._cells += cells
        while self._cells > MOST_CELLS or len(self._kept) > MOST_RESULTS:
            self._cells -= self._kept.popitem(last=False)[1][1]
