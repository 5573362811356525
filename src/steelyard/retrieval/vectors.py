"""Exact search for the nearest vectors by cosine, and the file in which they are stored.

    cos(a, b) = a . b / (|a| |b|)

A search is one product of a matrix and a vector: 100,000 vectors of 384 numbers take about 20 ms, less than a call to
an embeddings endpoint, so an approximate index would not be worth its upkeep. The file has numpy's own format (.npy,
without pickle) and is mapped into memory when it is first used; its rows have length 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.retrieval.stored import write_whole

_FORMAT: Final = "1"
_BLOCK: Final = 4096
"""Number of rows that are converted at a time, so that their doubles are not all in memory at once."""


class VectorIndex:
    """Exact nearest-neighbour search by cosine; a row of zeros has no direction and is never found.

    Args:
        rows: numbers of shape (rows, dimensions), rows of length 1 or 0; see `unit_rows`.

    Raises:
        ValueError: another shape.
    """

    def __init__(self, rows: NDArray[np.float32]) -> None:
        if rows.ndim != 2:
            raise ValueError(f"vectors of shape {rows.shape}; expected (rows, dimensions)")
        self._rows = rows

    def __len__(self) -> int:
        return int(self._rows.shape[0])

    @property
    def dimension(self) -> int:
        """The number of dimensions of a vector."""
        return int(self._rows.shape[1])

    def search(self, query: ArrayLike, k: int = 2) -> list[tuple[int, float]]:
        """Positions and cosines of the `k` nearest rows, the nearest first; equal ones in order of position.

        Args:
            query: a vector of the same dimension; a vector of zeros finds nothing.
            k: maximum number of results.

        Raises:
            ValueError: another dimension, or a number that is not finite.

        >>> index = VectorIndex(unit_rows([[1, 0], [3, 4], [0, 0]]))
        >>> [(position, round(cosine, 2)) for position, cosine in index.search([2.0, 0.0], 3)]
        [(0, 1.0), (1, 0.6)]
        """
        direction = unit_rows(query).ravel()
        if direction.shape[0] != self.dimension:
            raise ValueError(f"a query of {direction.shape[0]} dimensions; the index has {self.dimension}")
        if k < 1 or not direction.any():
            return []
        cosines = self._rows @ direction
        # The product of a row of zeros is 0, as at a right angle, but such a row has no direction and is left out.
        cosines = np.where(self._rows.any(axis=1) if (cosines == 0).any() else True, cosines, -np.inf)
        best = _largest(cosines, k)
        return [(int(position), float(cosines[position])) for position in best if cosines[position] > -np.inf]


def _largest(values: NDArray[np.float32], k: int) -> NDArray[np.intp]:
    """Positions of the `k` largest, in order; equal ones by position."""
    positions = np.arange(len(values))
    if k < len(values):
        least = np.partition(values, len(values) - k)[len(values) - k]
        above = np.flatnonzero(values > least)
        positions = np.concatenate([above, np.flatnonzero(values == least)[: k - len(above)]])
    order: NDArray[np.intp] = np.lexsort((positions, -values[positions]))
    return positions[order].astype(np.intp)


def unit_rows(rows: ArrayLike) -> NDArray[np.float32]:
    """The rows scaled to length 1, as float32; a row of zeros stays.

    Raises:
        ValueError: rows of different lengths, or a number that is not finite.
    """
    matrix = np.atleast_2d(np.asarray(rows, dtype=None if isinstance(rows, np.ndarray) else np.float64))
    if matrix.ndim != 2 or not np.isfinite(matrix).all():
        raise ValueError("vectors are rows of equally many finite numbers")
    units = np.zeros(matrix.shape, dtype=np.float32)
    for start in range(0, len(matrix), _BLOCK):
        block = matrix[start : start + _BLOCK].astype(np.float64)
        # Divided by the largest number first, because the squares of very large or small numbers would overflow.
        largest = np.abs(block).max(axis=1, keepdims=True, initial=0.0)
        np.divide(block, largest, out=block, where=largest > 0)
        length = np.linalg.norm(block, axis=1, keepdims=True)
        units[start : start + _BLOCK] = np.divide(block, length, out=block, where=length > 0)
    return units


def vectors_path(folder: Path, texts: Sequence[str], model: str) -> Path:
    """The path of the stored vectors of these texts by this model.

    Args:
        folder: of the index.
        texts: in order.
        model: its name and everything else that changes its vectors (address, parameters).
    """
    digest = blake2b(digest_size=16)
    for part in (_FORMAT, model, *texts):
        body = part.encode("utf-8", "surrogatepass")
        digest.update(len(body).to_bytes(8, "little") + body)
    return folder / f"{digest.hexdigest()}.npy"


def keep_vectors(path: Path, rows: NDArray[np.float32]) -> bool:
    """Store rows of `unit_rows`; returns False if that is not possible."""
    head = BytesIO()
    matrix = np.ascontiguousarray(rows, dtype="<f4")
    np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(matrix))
    return write_whole(path, head.getvalue(), matrix.data.cast("B"))


def kept_vectors(path: Path, count: int) -> NDArray[np.float32] | None:
    """The rows stored at `path`, mapped into memory; None if the file is missing or does not have `count` rows."""
    try:
        rows = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError, SyntaxError):
        return None
    is_valid = isinstance(rows, np.memmap) and rows.dtype == np.dtype("<f4") and rows.ndim == 2 and len(rows) == count
    return rows if is_valid else None
