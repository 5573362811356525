"""Leases of single samples, for runs with early stopping: the leading worker grants those that a decision still needs.

The lease of a range is cut before a run begins; here a run has one lease more that nobody can take, which stands for
all samples that may still be granted. Workers wait while it is there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from steelyard.store.connection import Connection
from steelyard.store.leases import OPEN
from steelyard.store.open_store import OpenStore
from steelyard.store.writer import Batch
from steelyard.types import OUTCOMES, Outcome

_GRANT: Final = """INSERT INTO lease (run, lo, hi, plan) SELECT :run, place, place + 1, :plan
    FROM unnest(:places::integer[]) place WHERE EXISTS (SELECT 1 FROM lease WHERE run = :run AND lo = :open)
    ON CONFLICT DO NOTHING"""
"""Nothing where all leases of the run were made void meanwhile."""
_CLOSE: Final = "DELETE FROM lease WHERE run = :run AND (lo = :open OR owner = '')"
_GRANTED: Final = "SELECT run, lo FROM lease WHERE plan = :plan AND lo <> :open"
_STORED: Final = """SELECT r.no, r.repeat, r.failed, w.text, s.outcome, s.value FROM record r
    LEFT JOIN score s ON s.run = r.run AND s.layer = 0 AND s.no = r.no AND s.repeat = r.repeat
    LEFT JOIN word w ON w.num = s.name WHERE r.run = :run AND r.no IN :places ORDER BY r.no, r.repeat"""


class ScoredPlace(NamedTuple):
    """The scores of one stored record, by name."""

    no: int
    repeat: int
    failed: bool
    scores: Mapping[str, tuple[Outcome, float | None]]


def change_grants(store: OpenStore, plan: str, granted: Mapping[int, Collection[int]], closed: Collection[int]) -> None:
    """Grant samples to workers, and close runs that need no more.

    Args:
        store: a PostgreSQL store.
        plan: identifies the execution.
        granted: number of a run -> places of samples; those that are granted already stay as they are.
        closed: runs of which nothing more is begun; samples that a worker has taken are still stored.
    """

    def change(batch: Batch) -> None:
        batch.flush_at_commit()  # the leading worker takes a grant that is gone for one that is done
        for run, places in sorted(granted.items()):
            batch.connection.execute(_GRANT, {"run": run, "plan": plan, "places": sorted(places), "open": OPEN})
        for run in sorted(closed):
            batch.connection.execute(_CLOSE, {"run": run, "open": OPEN})

    store.writer.change(change)


def granted_places(connection: Connection, plan: str) -> dict[int, set[int]]:
    """Number of each run -> places of the samples that are granted and not done."""
    places: dict[int, set[int]] = {}
    for run, no in connection.execute(_GRANTED, {"plan": plan, "open": OPEN}).tuples():
        places.setdefault(run, set()).add(no)
    return places


def stored_scores(connection: Connection, run: int, places: Collection[int]) -> Iterator[ScoredPlace]:
    """The scores of a run's records at some places of its dataset, in the order of the dataset."""
    records: dict[tuple[int, int], ScoredPlace] = {}
    values = {"run": run, "places": sorted(places)}
    for no, repeat, failed, name, outcome, value in connection.execute(_STORED, values).tuples():
        record = records.setdefault((no, repeat), ScoredPlace(no, repeat, bool(failed), {}))
        if name is not None:
            records[no, repeat] = record._replace(scores={**record.scores, name: (OUTCOMES[outcome], value)})
    return iter(records.values())
