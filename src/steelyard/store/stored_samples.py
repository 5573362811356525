"""The samples of a run as columns, read once for all runs that asked the same ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, select

from steelyard.store import schema
from steelyard.store.cursors import tables
from steelyard.store.escaped import unescape
from steelyard.summary import Texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

_COLUMNS: Final = (("num", "i8"), ("hash", "i8"), ("id", "O"), ("grp", "O"), ("cluster", "O"))
_DENSE: Final = 2
"""Where so many times the samples lie between the first and the last number, they are read in a row and chosen here."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredSamples:
    """Samples in the order of their numbers in the store.

    Args:
        nums: these numbers, ascending.
        hashes: of their content, the id included; 64 bits, signed.
        ids: of each; likewise `groups` and `clusters`.
    """

    nums: Array
    hashes: Array
    ids: Sequence[str]
    groups: Texts
    clusters: Texts

    def are(self, nums: Array) -> bool:
        """Whether they are those of these numbers, which are ascending."""
        import numpy as np

        return np.array_equal(self.nums, nums)

    def places(self, nums: Array) -> Array:
        """Where each number stands; -1 where there is no such sample."""
        import numpy as np

        if not len(self.nums):
            return np.full(len(nums), -1)
        at = np.minimum(np.searchsorted(self.nums, nums), len(self.nums) - 1)
        return np.where(self.nums[at] == nums, at, -1)


def read_samples(connection: Connection, run: int, nums: Array) -> StoredSamples:
    """The samples of a run, those that are there.

    Args:
        connection: to the store.
        run: the run's number.
        nums: numbers of its samples, ascending.

    Raises:
        StoreError: one of them is damaged.
    """
    import numpy as np

    sample, record = schema.sample, schema.record
    query = select(sample.c.num, sample.c.hash, sample.c.id, sample.c.grp, sample.c.cluster).order_by(sample.c.num)
    if len(nums) and nums[-1] - nums[0] < _DENSE * len(nums):
        query = query.where(sample.c.num.between(int(nums[0]), int(nums[-1])))
    else:
        query = query.where(sample.c.num.in_(select(record.c.sample).where(record.c.run == run)))
    read = _reader(connection)
    found: dict[str, list[Any]] = {name: [] for name, _ in _COLUMNS}
    for table in tables(connection, query, _COLUMNS):
        kept = table[np.isin(table["num"], nums)]
        for name in ("num", "hash"):
            found[name].append(kept[name])
        for name in ("id", "grp", "cluster"):
            found[name] += map(read, kept[name].tolist())
    empty = np.zeros(0, dtype=np.int64)
    return StoredSamples(
        np.concatenate([empty, *found["num"]]),
        np.concatenate([empty, *found["hash"]]),
        found["id"],
        Texts.of(found["grp"]),
        Texts.of(found["cluster"]),
    )


def _reader(connection: Connection) -> Callable[[str], str]:
    """What makes a text of what the driver gives: only PostgreSQL needs some characters escaped."""
    return unescape if connection.dialect.name == "postgresql" else str
