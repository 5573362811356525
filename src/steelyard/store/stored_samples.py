"""The samples of a run as columns, read once for all runs that asked the same ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, select

from steelyard.store import schema
from steelyard.store.cursors import column_arrays, tables
from steelyard.store.escaped import unescape
from steelyard.summary import Texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

_COLUMNS: Final = (("num", "i8"), ("hash", "i8"), ("id", "O"), ("grp", "O"), ("cluster", "O"))
_NUMBERS: Final = (("num", "i8"), ("hash", "i8"), ("grp", "i4"), ("cluster", "i4"))
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
    ids: list[str] = []
    groups, clusters = _Names(), _Names()

    def chunks() -> Iterator[Mapping[str, Array]]:
        for table in tables(connection, query, _COLUMNS):
            kept = table[np.isin(table["num"], nums)]
            ids.extend(map(read, kept["id"].tolist()))
            grp, cluster = (several.codes(map(read, kept[name].tolist())) for name, several in names)
            yield {"num": kept["num"], "hash": kept["hash"], "grp": grp, "cluster": cluster}

    names = (("grp", groups), ("cluster", clusters))
    found = column_arrays(chunks(), _NUMBERS)
    return StoredSamples(found["num"], found["hash"], ids, groups.texts(found["grp"]), clusters.texts(found["cluster"]))


class _Names:
    """Different texts in order of first appearance."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def codes(self, texts: Iterable[str]) -> Array:
        """The number of each."""
        import numpy as np

        return np.asarray([self._numbers.setdefault(one, len(self._numbers)) for one in texts], dtype=np.int32)

    def texts(self, codes: Array) -> Texts:
        """The column of these numbers."""
        return Texts(tuple(self._numbers), codes)


def _reader(connection: Connection) -> Callable[[str], str]:
    """What makes a text of what the driver gives: only PostgreSQL needs some characters escaped."""
    return unescape if connection.dialect.name == "postgresql" else str
