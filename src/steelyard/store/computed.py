"""Results computed from runs, stored with them, so that opening a store does not compute them again.

A list of 200 runs, some of 100,000 records, takes half a minute to compute and a millisecond to read. Rows are written
when an evaluation ends, when a run is scored again, and by a viewer that may write. Each says which state of its runs
it was computed of: their counters, which move with every record, and the checksums of their rows (see `checksums`),
under the version that computed it. A reader that finds another state computes again, so no row has to be deleted.

A body is a zlib stream, whose own checksum detects damage, of a JSON list: the state, and what was computed.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from steelyard.errors import StoreError
from steelyard.plain_json import from_json, to_json
from steelyard.store import schema
from steelyard.store.checksums import HEAD, ROWS
from steelyard.store.connection import Connection, portions
from steelyard.store.records import ReadableRun
from steelyard.store.run_rows import is_stored

if TYPE_CHECKING:
    from steelyard.analysis.summary_values import RunSummary
    from steelyard.store.open_store import OpenStore

_FORMAT: Final = 1
"""Increase it whenever the same rows give another figure: the version number changes with a release only."""
_MOST_BYTES: Final = 16 << 20
"""Of a result: a summary with a hundred groups takes 200 kB."""
_KEYS: Final = ("run", "about")
_CHECKSUMS: Final = "SELECT run, part, digest FROM seal WHERE run IN :runs"
K = TypeVar("K", bound=Hashable)


class CountedRun(ReadableRun, Protocol):
    """The parts of a run that computed results need; `steelyard.store.Run` is one."""

    kind: str
    planned: int
    done: int
    errors: int
    replies: int
    from_journal: int
    seconds: float

    @property
    def store(self) -> OpenStore:
        """The store that holds it."""

    def quick_summary(self) -> RunSummary:
        """Means, intervals and counts."""


@dataclass(frozen=True, slots=True)
class ComputedOf:
    """Names what was computed.

    Args:
        about: what it is, at most 32 characters.
        runs: of which it was computed; it is stored with the last of them.
    """

    about: str
    runs: tuple[CountedRun, ...]


def read_computed(connection: Connection, asked: Mapping[K, ComputedOf]) -> dict[K, Any]:
    """The stored results that fit the present state of their runs; the others are left out.

    Args:
        connection: to the store of the runs.
        asked: what to read, under any keys.
    """
    if not asked:
        return {}
    states = _states(connection, (run for of in asked.values() for run in of.runs))
    query = "SELECT run, about, body FROM computed WHERE run IN :runs AND about IN :abouts"
    abouts = sorted({of.about for of in asked.values()})
    bodies = {
        (row.run, row.about): row.body
        for runs in portions(sorted({of.runs[-1].num for of in asked.values()}))
        for about in portions(abouts)
        for row in connection.execute(query, {"runs": runs, "abouts": about})
    }
    results: dict[K, Any] = {}
    for key, of in asked.items():
        state = _state_of(of, states)
        stored = _opened(bodies.get((of.runs[-1].num, of.about)))
        if state is not None and stored is not None and stored[0] == state:
            results[key] = stored[1]
    return results


def read_state(connection: Connection, of: ComputedOf) -> list[Any] | None:
    """The state that runs are in, to be read before anything is computed of them; None where nothing can be stored.

    Args:
        connection: to the store of the runs.
        of: what is to be computed.
    """
    return _state_of(of, _states(connection, of.runs))


def store_computed(store: OpenStore, computed: Iterable[tuple[ComputedOf, list[Any] | None, Any]]) -> bool:
    """Store computed results; False where they could not be written.

    Args:
        store: of the runs.
        computed: what it is, the state of its runs that was read before, and the result as plain JSON; where one of
            the two is None, nothing is stored.
    """
    rows = [
        (of.runs[-1], {"run": of.runs[-1].num, "about": of.about, "body": zlib.compress(to_json([state, value]))})
        for of, state, value in computed
        if state is not None and value is not None
    ]
    try:
        with store.changing() as connection:
            # Of a run that was deleted meanwhile nothing may be left.
            stored = [row for run, row in rows if is_stored(connection, run)]
            connection.insert_rows(schema.insert_or_update(schema.computed, _KEYS, ("body",)), stored)
    except StoreError:
        return False  # it is computed again by the next who asks
    return True


def _opened(body: Any) -> tuple[Any, Any] | None:
    """State and result of a row; None where it is damaged or gone."""
    stream = zlib.decompressobj()
    try:
        state, value = from_json(stream.decompress(body, _MOST_BYTES))
    except (zlib.error, ValueError, TypeError):
        return None
    return (state, value) if stream.eof else None  # before its end, zlib has not compared the checksum


def _states(connection: Connection, runs: Iterable[CountedRun]) -> dict[str, list[Any]]:
    """Run's id -> its state; no entry for one that may change, or that has no checksums."""
    settled = {run.id: run for run in runs if run.state != "running"}
    parts: dict[int, dict[int, int]] = {}
    for numbers in portions(sorted({run.num for run in settled.values()})):
        for number, part, digest in connection.execute(_CHECKSUMS, {"runs": numbers}).tuples():
            parts.setdefault(number, {})[part] = digest
    return {
        run.id: _state(run, digests)
        for run in settled.values()
        if {HEAD, ROWS, run.scoring_version} <= (digests := parts.get(run.num, {})).keys()
    }


def _state(run: CountedRun, digests: Mapping[int, int]) -> list[Any]:
    counts = [run.planned, run.done, run.errors, run.replies, run.from_journal, run.seconds]
    sums = [digests[HEAD], digests[ROWS], digests[run.scoring_version]]
    return [run.id, run.state, run.scoring_version, *counts, *sums]


def _state_of(of: ComputedOf, states: Mapping[str, Sequence[Any]]) -> list[Any] | None:
    if any(run.id not in states for run in of.runs):
        return None
    version = sys.modules["steelyard"].__version__
    return [_FORMAT, version, *(list(states[run.id]) for run in of.runs)]
