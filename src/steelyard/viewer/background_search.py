"""Searches in runs of one store without waiting for an index: a thread makes it, and until then some records are read.

The index of 100,000 records takes 3 s. It is begun when the page of a large run is opened, since whoever opens it may
search it. It is a file next to the store; where nothing may be written there, and in a viewer that was started with
`--read-only`, it is in a folder of this process, which is deleted when the viewer ends.
"""

from __future__ import annotations

import os
from collections.abc import Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event, Lock
from typing import Final

from steelyard.errors import SteelyardError
from steelyard.store import Run, Store
from steelyard.store.search import (
    FIRST_SCANNED,
    SearchMatches,
    is_indexed,
    make_index,
    scan_run,
    search_first,
    search_run,
)
from steelyard.viewer.free_memory import give_back, is_large
from steelyard.viewer.run_figures import state_of
from steelyard.viewer.temporary_folder import TemporaryFolder

PAUSE_S: Final = 0.5
"""Wait before an index is begun: the browser's requests for the rest of the page come first."""
_MOST_KNOWN: Final = 1_000
"""Runs for which it is remembered whether their index was made."""


class BackgroundSearch:
    """Searches in the runs of a store.

    Args:
        store: whose runs.
        read_only: nothing is written to the store and beside it.
    """

    def __init__(self, store: Store, *, read_only: bool) -> None:
        self._store = store
        self._read_only = read_only
        self._folder: TemporaryFolder | None = None
        self._made: dict[Hashable, Future[bool]] = {}
        self._lock = Lock()
        self._ended = Event()
        self._making = ThreadPoolExecutor(1, thread_name_prefix="search")

    def close(self) -> None:
        """Stop making indexes, and delete the temporary one."""
        self._ended.set()
        self._making.shutdown(wait=True, cancel_futures=True)
        if self._folder is not None:
            self._folder.delete()

    def prepare(self, run: Run) -> None:
        """Begin the index of a run that is finished and large, where there is none."""
        making = self._made.get(state_of(run))
        is_tried = making is not None and (not making.done() or not making.result())
        if run.state != "finished" or run.done <= FIRST_SCANNED or is_tried or not self._may_make():
            return
        if is_indexed(run, self._file()):
            return
        while len(self._made) >= _MOST_KNOWN:
            self._made.pop(next(iter(self._made)), None)
        self._made[state_of(run)] = self._making.submit(self._make, run)

    def is_awaited(self, run: Run) -> bool:
        """Whether the index of a run is being made."""
        making = self._made.get(state_of(run))
        return making is not None and not making.done()

    def found(self, run: Run, text: str) -> SearchMatches:
        """The matches that are known now: all, or, until the index is made, those among the first records.

        Args:
            run: whose records.
            text: as for `Run.search`.
        """
        if run.done <= FIRST_SCANNED:
            return search_first(run, text)  # all of them, faster than an index of them is made
        if run.state == "finished" and is_indexed(run, self._file()):
            return search_run(run, text, index=self._file())
        self.prepare(run)
        if self.is_awaited(run):
            return search_first(run, text)
        return scan_run(run, text) if run.state == "finished" else search_run(run, text)

    def found_in_all(self, run: Run, text: str) -> SearchMatches:
        """All matches, after waiting for the index: for files to be saved."""
        self.prepare(run)
        making = self._made.get(state_of(run))
        if making is not None:
            making.result()
        return self.found(run, text)

    def _make(self, run: Run) -> bool:
        try:
            self._ended.wait(PAUSE_S)
            return make_index(run, self._file(), stopped=self._ended.is_set)
        except SteelyardError:
            return False  # a search says what is wrong, or scans
        finally:
            if is_large([run]):
                give_back()

    def _may_make(self) -> bool:
        """A database on a server holds its index itself, which is written to it."""
        return isinstance(self._store.path, Path) or not self._read_only

    def _file(self) -> Path | None:
        """The index file; None for the one of the store."""
        where = self._store.path
        if not isinstance(where, Path) or not (self._read_only or not os.access(where.parent, os.W_OK)):
            return None
        with self._lock:
            if self._folder is None:
                self._folder = TemporaryFolder()
        return self._folder.path / "index"
