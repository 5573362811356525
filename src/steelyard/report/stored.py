"""What a page needs of a stored run; `steelyard.store.Run` is one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Protocol

from steelyard.analysis.run_protocols import ComparableRun
from steelyard.types import Record, Remarks


class StoredRun(ComparableRun, Protocol):
    """A reading handle on one run."""

    @property
    def reason(self) -> str:
        """Why it did not finish; "" where it did."""

    @property
    def done(self) -> int:
        """How many records are stored."""

    @property
    def replies(self) -> int:
        """How many replies its records hold."""

    @property
    def seconds(self) -> float:
        """How long it took."""

    def records(self) -> Iterator[Record]:
        """Every record in order of samples and repeats."""

    def records_of(self, samples: Collection[str], /) -> Sequence[Record]:
        """Records of a few samples, in order of samples and repeats."""

    def remarks(self) -> Remarks:
        """What people and models say of it: notes, and labels of its records."""
