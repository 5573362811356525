"""The summary of a large run, computed once and stored with it (see `computed`).

A summary of 100,000 records takes 0.3 s of CPU from counts and twice that from rows, and every page of the run, every
list and every comparison begins with one. For a small run it is computed each time, which also looks for damage in its
bodies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steelyard.store.computed import ComputedOf, CountedRun, read_computed, read_state, store_computed
from steelyard.store.labels import JUDGES, newest_label

if TYPE_CHECKING:
    from steelyard.analysis.summary_values import RunSummary

FROM_RECORDS: Final = 5_000
"""Runs of more records have their summary stored."""
_ABOUT: Final = "summary"


def read_summary(run: CountedRun) -> RunSummary | None:
    """The stored summary of a run; None where there is none that fits.

    Args:
        run: in any state.
    """
    if not _may_be_stored(run):
        return None
    of = ComputedOf(_ABOUT, (run,))
    with run.store.reading() as connection:
        # A label moves no counter of the run, and a summary tells how judges agree with people.
        stored = None if newest_label(connection, run.num) else read_computed(connection, {_ABOUT: of}).get(_ABOUT)
    if stored is None:
        return None
    from steelyard.analysis.summary_json import unpacked_summary  # a tenth of a start, for large runs alone

    try:
        return unpacked_summary(stored)
    except (TypeError, ValueError, LookupError):
        return None  # it is computed


def kept_summary(run: CountedRun) -> RunSummary:
    """The summary of a run as `quick_summary` has it, stored for later readers.

    Args:
        run: of a store that may be written.
    """
    if not _may_be_stored(run):
        return run.quick_summary()
    of = ComputedOf(_ABOUT, (run,))
    with run.store.reading() as connection:
        state = None if newest_label(connection, run.num) else read_state(connection, of)
    summary = read_summary(run)
    if summary is None:
        summary = run.quick_summary()
        if state is not None:
            from steelyard.analysis.summary_json import packed_summary

            store_computed(run.store, [(of, state, packed_summary(summary))])
    return summary


def _may_be_stored(run: CountedRun) -> bool:
    """Whether a summary depends on its run alone: for a run of judges it also has labels of the answers they judge."""
    return run.done > FROM_RECORDS and run.kind != JUDGES
