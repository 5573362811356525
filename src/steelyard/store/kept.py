"""Columns of the runs that were read last: a command reads a run once, however often it computes with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from sqlalchemy import Connection, select

from steelyard.store import schema
from steelyard.store.columns import RunColumns, Scored, read_columns
from steelyard.store.stopping import Used

if TYPE_CHECKING:
    from steelyard.store.stored_samples import StoredSamples

_MOST_ROWS: Final = 1_000_000
"""Rows that are kept, some 60 MB with their samples; the run read last is kept however many it has."""


class Kept(Scored, Protocol):
    """A run whose columns may be kept."""

    id: str

    @property
    def state(self) -> str:
        """A finished run does not change any more."""


class KeptColumns:
    """Columns of finished runs, the one read last at the end."""

    def __init__(self) -> None:
        self._runs: dict[tuple[str, int], RunColumns] = {}

    def read(self, connection: Connection, run: Kept, used: Used | None) -> RunColumns:
        """The columns of a run: those that are kept, or new ones.

        Raises:
            StoreError: something is damaged.
        """
        name = (run.id, run.layer)
        found = self._runs.pop(name, None)
        if found is None:
            found = read_columns(connection, run, used, self._samples(connection))
        if run.state == "finished":
            self._runs[name] = found
            while len(self._runs) > 1 and sum(len(one.scores) for one in self._runs.values()) > _MOST_ROWS:
                del self._runs[next(iter(self._runs))]
        return found

    def _samples(self, connection: Connection) -> list[StoredSamples]:
        """Samples of runs that are still there: SQLite gives the numbers of deleted ones to others."""
        if not self._runs:
            return []
        names = {name for name, _ in self._runs}
        there = set(connection.scalars(select(schema.run.c.id).where(schema.run.c.id.in_(names))))
        return [found.samples for (name, _), found in self._runs.items() if name in there]
