"""What the records of a run asked, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from steelyard.errors import StoreError
from steelyard.store.records import CACHED, KEY_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


class HeldReplies(NamedTuple):
    """The replies that records hold; arrays with an entry per reply, in the order they were asked.

    Args:
        records: how many there are.
        owner: place of the reply's record.
        stage: number of the stage that asked.
        key: the journal's, a row of bytes.
    """

    records: int
    owner: Array
    stage: Array
    key: Array

    @classmethod
    def of(cls, packed: Sequence[bytes | None]) -> HeldReplies:
        """Take apart what records hold.

        Raises:
            StoreError: that is damaged.
        """
        import numpy as np

        parts = [one or b"" for one in packed]
        sizes = np.fromiter(map(len, parts), dtype=np.int64, count=len(parts))
        if (sizes % KEY_BYTES).any():
            raise StoreError("the store is damaged: a record holds a part of a key")
        table = np.frombuffer(b"".join(parts), dtype=np.uint8).reshape(-1, KEY_BYTES)
        owner = np.repeat(np.arange(len(parts)), sizes // KEY_BYTES)
        return cls(len(parts), owner, table[:, 0] & ~np.uint8(CACHED), table[:, 1:].copy())

    @classmethod
    def together(cls, several: Sequence[HeldReplies]) -> HeldReplies:
        """Those of records that follow each other."""
        import numpy as np

        if not several:
            return cls.of([])
        begins = np.cumsum([0, *(one.records for one in several)])
        owner = np.concatenate([one.owner + begin for one, begin in zip(several, begins.tolist(), strict=False)])
        stage, key = (np.concatenate([getattr(one, name) for one in several]) for name in ("stage", "key"))
        return cls(int(begins[-1]), owner, stage, key)

    def only(self, there: Array) -> HeldReplies:
        """Those of the records that `there` is true for."""
        import numpy as np

        mine = there[self.owner]
        owner = (np.cumsum(there) - 1)[self.owner[mine]]
        return HeldReplies(int(there.sum()), owner, self.stage[mine], self.key[mine])


@dataclass(frozen=True, slots=True, eq=False)
class AskedRecords:
    """Records in order of samples and repeats; arrays with an entry per record.

    Args:
        sample: number of the record's sample.
        failed: whether it holds a failure.
        millis: wall time, queueing, retries and scorers included.
        replies: that they hold.
        hashes: per sample, of its content, the id included; 64 bits, signed.
    """

    sample: Array
    failed: Array
    millis: Array
    replies: HeldReplies
    hashes: Array
