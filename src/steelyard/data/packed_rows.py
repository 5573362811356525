"""Keeps the rows of a large dataset in little memory: 100,000 rows of seven short texts take 11 MB instead of 59 MB.

Blocks of rows are stored as compressed JSON; ids are not compressed, because rows are looked up by them. A block with a
cell that JSON would not return equal, such as a date of a spreadsheet, is not compressed either.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, overload

from steelyard import fast_json

_BLOCK: Final = 200
"""Rows of a block: reading one row takes a third of a millisecond."""
_LEVEL: Final = 1
_FEW: Final = 2_000
"""Maximum number of rows that are not packed."""
_Cells = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """A row: the id of its sample, and a cell for each column of the file; None for a missing cell."""

    id: str
    cells: tuple[Any, ...]


class PackedRows(Sequence[DatasetRow]):
    """Rows packed in blocks; reading a row unpacks its block, and the last unpacked block is kept.

    Args:
        rows: the rows; they may have fewer cells than there are columns.
        width: called after all rows are read; returns the number of cells of each row. Missing cells become None.

    Attributes:
        ids: the ids of the rows.
    """

    def __init__(self, rows: Iterable[DatasetRow], width: Callable[[], int]) -> None:
        self.ids: list[str] = []
        self._blocks: list[bytes | list[_Cells]] = []
        self._last: tuple[int, list[_Cells]] = (-1, [])
        remaining = iter(rows)
        while block := list(islice(remaining, _BLOCK)):
            self.ids += [row.id for row in block]
            self._blocks.append(_packed([row.cells for row in block]))
        self._width = width()

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, position: int) -> DatasetRow: ...
    @overload
    def __getitem__(self, position: slice) -> tuple[DatasetRow, ...]: ...
    def __getitem__(self, position: int | slice) -> DatasetRow | tuple[DatasetRow, ...]:
        if isinstance(position, slice):
            return tuple(self[index] for index in range(*position.indices(len(self))))
        index = range(len(self))[position]
        return DatasetRow(self.ids[index], self._whole(self._block(index // _BLOCK)[index % _BLOCK]))

    def __iter__(self) -> Iterator[DatasetRow]:
        ids = iter(self.ids)
        for number in range(len(self._blocks)):
            yield from (DatasetRow(next(ids), self._whole(cells)) for cells in self._block(number))

    def _block(self, number: int) -> list[_Cells]:
        last, cells = self._last
        if last != number:
            packed = self._blocks[number]
            cells = fast_json.loads(zlib.decompress(packed)) if isinstance(packed, bytes) else packed
            self._last = number, cells  # in one assignment, because several threads read
        return cells

    def _whole(self, cells: Sequence[Any]) -> _Cells:
        return (*cells, *(None,) * (self._width - len(cells)))


class EditedRows(Sequence[DatasetRow]):
    """A view of rows with some replaced, some left out, and some added at the end.

    Args:
        rows: the original rows.
        changed: position -> the new row; None leaves the row out.
        added: rows at the end.
    """

    def __init__(
        self, rows: Sequence[DatasetRow], changed: Mapping[int, DatasetRow | None], added: Sequence[DatasetRow]
    ) -> None:
        self._rows = rows
        self._changed = {position: row for position, row in changed.items() if row is not None}
        self._added = added
        gone = sorted(position for position, row in changed.items() if row is None)
        # The new position of a remaining row is its old one minus the number of removed rows before it.
        self._gone = [position - before for before, position in enumerate(gone)]
        self._kept = len(rows) - len(gone)

    def __len__(self) -> int:
        return self._kept + len(self._added)

    @property
    def ids(self) -> list[str]:
        """The ids of the rows."""
        places = map(self._place, range(self._kept))
        ids = ids_of(self._rows)
        return [*(ids[position] for position in places), *(row.id for row in self._added)]

    @overload
    def __getitem__(self, position: int) -> DatasetRow: ...
    @overload
    def __getitem__(self, position: slice) -> tuple[DatasetRow, ...]: ...
    def __getitem__(self, position: int | slice) -> DatasetRow | tuple[DatasetRow, ...]:
        if isinstance(position, slice):
            return tuple(self[index] for index in range(*position.indices(len(self))))
        index = range(len(self))[position]
        if index >= self._kept:
            return self._added[index - self._kept]
        before = self._place(index)
        return self._changed.get(before) or self._rows[before]

    def _place(self, index: int) -> int:
        return index + bisect_right(self._gone, index)


def ids_of(rows: Sequence[DatasetRow]) -> Sequence[str]:
    """The ids of rows; cells of packed rows are not read."""
    return rows.ids if isinstance(rows, PackedRows | EditedRows) else [row.id for row in rows]


def packed_rows(rows: Iterable[DatasetRow], width: Callable[[], int]) -> Sequence[DatasetRow]:
    """The rows, packed if there are more than a few thousand; arguments as for `PackedRows`."""
    remaining = iter(rows)
    first = list(islice(remaining, _FEW + 1))
    if len(first) <= _FEW:
        n = width()
        return tuple(DatasetRow(row.id, (*row.cells, *(None,) * (n - len(row.cells)))) for row in first)
    return PackedRows((row for part in (first, remaining) for row in part), width)


def _packed(cells: list[_Cells]) -> bytes | list[_Cells]:
    try:
        written = fast_json.dumps(cells)
        if _same(fast_json.loads(written), cells):
            return zlib.compress(written, _LEVEL)
    except (TypeError, ValueError):
        pass  # a date, a number beyond 64 bits, half of a surrogate pair
    return cells


def _same(read: list[list[Any]], cells: list[_Cells]) -> bool:
    """Whether cells read back are equal to the original ones."""
    return all(row == list(original) for row, original in zip(read, cells, strict=True))
