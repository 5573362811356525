"""The rows of a large dataset in little memory: 100,000 rows of seven short texts take 59 MB as objects, and 11 here.

Blocks of rows are held as deflated JSON, ids as they are, since rows are looked for by them. A block with a cell that
JSON would not give back equal, such as a date of a spreadsheet, stays as it is.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, overload

import orjson

_BLOCK: Final = 200
"""Rows of a block: to read one of them takes a third of a millisecond."""
_LEVEL: Final = 1
_FEW: Final = 2_000
"""Rows up to which they are held as they are."""
_Cells = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """A row: the id of its sample, and a cell for each column of the file; None where it has none."""

    id: str
    cells: tuple[Any, ...]


class PackedRows(Sequence[DatasetRow]):
    """Rows that are read block by block; a block is unpacked for each.

    Args:
        rows: whose cells may be fewer than there are columns.
        width: called when all rows were read: how many cells each is to have; the missing ones are None.

    Attributes:
        ids: of the rows.
    """

    def __init__(self, rows: Iterable[DatasetRow], width: Callable[[], int]) -> None:
        self.ids: list[str] = []
        self._blocks: list[bytes | list[_Cells]] = []
        self._last: tuple[int, list[_Cells]] = (-1, [])
        left = iter(rows)
        while block := list(islice(left, _BLOCK)):
            self.ids += [row.id for row in block]
            self._blocks.append(_packed([row.cells for row in block]))
        self._width = width()

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, place: int) -> DatasetRow: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[DatasetRow, ...]: ...
    def __getitem__(self, place: int | slice) -> DatasetRow | tuple[DatasetRow, ...]:
        if isinstance(place, slice):
            return tuple(self[at] for at in range(*place.indices(len(self))))
        at = range(len(self))[place]
        return DatasetRow(self.ids[at], self._whole(self._block(at // _BLOCK)[at % _BLOCK]))

    def __iter__(self) -> Iterator[DatasetRow]:
        ids = iter(self.ids)
        for number in range(len(self._blocks)):
            yield from (DatasetRow(next(ids), self._whole(cells)) for cells in self._block(number))

    def _block(self, number: int) -> list[_Cells]:
        last, cells = self._last
        if last != number:
            packed = self._blocks[number]
            cells = orjson.loads(zlib.decompress(packed)) if isinstance(packed, bytes) else packed
            self._last = number, cells  # at once: several threads read
        return cells

    def _whole(self, cells: Sequence[Any]) -> _Cells:
        return (*cells, *(None,) * (self._width - len(cells)))


class EditedRows(Sequence[DatasetRow]):
    """Rows with a few others in their place, some left out, and some behind them.

    Args:
        rows: as they were.
        changed: place -> the row that stands there now; None where it is left out.
        added: rows at the end.
    """

    def __init__(
        self, rows: Sequence[DatasetRow], changed: Mapping[int, DatasetRow | None], added: Sequence[DatasetRow]
    ) -> None:
        self._rows = rows
        self._changed = {place: row for place, row in changed.items() if row is not None}
        self._added = added
        gone = sorted(place for place, row in changed.items() if row is None)
        # The place of a row among those that are left is its own less the number of those before it that are gone.
        self._gone = [place - before for before, place in enumerate(gone)]
        self._kept = len(rows) - len(gone)

    def __len__(self) -> int:
        return self._kept + len(self._added)

    @property
    def ids(self) -> list[str]:
        """Of the rows."""
        places = map(self._place, range(self._kept))
        ids = ids_of(self._rows)
        return [*(ids[place] for place in places), *(row.id for row in self._added)]

    @overload
    def __getitem__(self, place: int) -> DatasetRow: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[DatasetRow, ...]: ...
    def __getitem__(self, place: int | slice) -> DatasetRow | tuple[DatasetRow, ...]:
        if isinstance(place, slice):
            return tuple(self[at] for at in range(*place.indices(len(self))))
        at = range(len(self))[place]
        if at >= self._kept:
            return self._added[at - self._kept]
        before = self._place(at)
        return self._changed.get(before) or self._rows[before]

    def _place(self, at: int) -> int:
        return at + bisect_right(self._gone, at)


def ids_of(rows: Sequence[DatasetRow]) -> Sequence[str]:
    """The ids of rows, without reading their cells where that is possible."""
    return rows.ids if isinstance(rows, PackedRows | EditedRows) else [row.id for row in rows]


def packed_rows(rows: Iterable[DatasetRow], width: Callable[[], int]) -> Sequence[DatasetRow]:
    """Rows in little memory where they are many; arguments as for `PackedRows`."""
    left = iter(rows)
    first = list(islice(left, _FEW + 1))
    if len(first) <= _FEW:
        n = width()
        return tuple(DatasetRow(row.id, (*row.cells, *(None,) * (n - len(row.cells)))) for row in first)
    return PackedRows((row for part in (first, left) for row in part), width)


def _packed(cells: list[_Cells]) -> bytes | list[_Cells]:
    try:
        written = orjson.dumps(cells)
        if _same(orjson.loads(written), cells):
            return zlib.compress(written, _LEVEL)
    except (TypeError, ValueError):
        pass  # a date, a number beyond 64 bits, half of a surrogate pair
    return cells


def _same(read: list[list[Any]], cells: list[_Cells]) -> bool:
    """Whether cells came back equal."""
    return all(one == list(other) for one, other in zip(read, cells, strict=True))
