"""Records of a run by sample, read ahead in dataset order: for code that goes through another run of that dataset."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from steelyard.store.run import Run
from steelyard.types import Record, Sample

_AHEAD: Final = 200
"""Records that are read together where a run is gone through in order."""
_Block = dict[tuple[int, int], Record]
"""Records by place and repeat."""


class RecordReader:
    """Reads records by sample: samples in dataset order are read ahead in chunks, others one by one.

    Args:
        run: a run whose records are stored already; those of one that is still being written are passed to `add`.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._places = run.places()
        self._block = -1
        self._blocks: tuple[_Block, _Block] = ({}, {})
        self._added: dict[tuple[str, int], Record] = {}

    def add(self, record: Record) -> None:
        """Add a record that may not be in the store yet."""
        self._added[record.sample.id, record.repeat] = record

    def drop(self, sample: str) -> None:
        """Remove the added records of a sample."""
        for key in [key for key in self._added if key[0] == sample]:
            del self._added[key]

    def __call__(self, sample: str, repeat: int) -> Record | None:
        """The record of that sample; None where the run has none."""
        added = self._added.get((sample, repeat))
        if added is not None:
            return added
        no = self._places.get(sample)
        if no is None:
            return None
        for block in self._blocks:
            if (no, repeat) in block:
                return block[no, repeat]
        if no // _AHEAD != self._block + 1:
            return self._read(no, no).get((no, repeat))
        self._block += 1
        # Workers are not quite in step: the block before is kept for those that are behind.
        self._blocks = (self._blocks[1], self._read(self._block * _AHEAD, (self._block + 1) * _AHEAD - 1))
        return self._blocks[1].get((no, repeat))

    def _read(self, first: int, last: int) -> _Block:
        return {(no, record.repeat): record for no, record in self._run.records_between(first, last)}


class OpenRunReader:
    """Reads records of a run that other processes write, each from the store when it is asked for.

    Args:
        run: still being written.
    """

    def __init__(self, run: Run) -> None:
        self._run = run

    def __call__(self, sample: str, repeat: int) -> Record | None:
        """The record of that sample; None where the run has none yet."""
        return next((record for record in self._run.records_of([sample]) if record.repeat == repeat), None)


def samples_of(runs: Iterable[Run]) -> list[Sample]:
    """The samples that all of the runs have, by id, as the first run holds them and in its order."""
    first, *rest = runs
    other_places = [set(run.places()) for run in rest]
    shared: dict[str, Sample] = {}
    for record in first.records():
        ident = record.sample.id
        if ident not in shared and all(ident in places for places in other_places):
            shared[ident] = record.sample
    return list(shared.values())
