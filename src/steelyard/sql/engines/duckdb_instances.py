"""Which instance of DuckDB a statement runs on: a new one, one inherited by the fork, or that of the last statement.

Opening an instance takes 27 ms of CPU, most of it for registering functions, where a statement takes 1 ms. So one is
opened in the process that workers are forked from, which each worker inherits for its first scratch database; and one
on which nothing but plain SELECTs were run (`duckdb_guard.leaves_nothing`) is kept for the next statement on the same
database. Each statement has a connection of its own: what DuckDB keeps for a session ends with it. The rest is locked
(`duckdb_guard.lock`), and statements read in a transaction that may not write.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import duckdb

from steelyard.sql.engines import duckdb_guard as guard
from steelyard.sql.engines.clock import pin_duckdb
from steelyard.sql.engines.engine import EngineQuery

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_Key = tuple[str, str, int, str]


class Instances:
    """The instances of one process: an unused one in memory, and that of the last statement."""

    def __init__(self) -> None:
        self._unused: DuckDBPyConnection | None = None
        self._last: DuckDBPyConnection | None = None
        self._kept_for: _Key | None = None

    @property
    def keeps_one(self) -> bool:
        """Whether the next statement on the database of the last one finds it open."""
        return self._kept_for is not None

    def warm(self) -> None:
        """Open an instance for the processes that are forked from this one."""
        self._unused = duckdb.connect(":memory:", config=guard.settings())
        guard.lasting_calls()

    def kept(self, work: EngineQuery) -> DuckDBPyConnection | None:
        """A new connection to the instance that is kept, if its database and limits are the same."""
        if self._last is None or work.create.strip() or self._kept_for != _key(work):
            return None
        return _pinned(self._last.cursor(), work)

    def fresh(self, work: EngineQuery) -> DuckDBPyConnection:
        """A guarded connection to an instance on which nothing was run; the last one is closed."""
        self.drop()
        if self._unused is None or work.file:
            path = work.file or ":memory:"
            self._last = duckdb.connect(path, read_only=bool(work.file), config=guard.settings())
        else:
            self._last, self._unused = self._unused, None
            # Else its random numbers would be the same in all workers.
            self._last.execute("SELECT setseed(?)", [int.from_bytes(os.urandom(6), "big") / 2**48])
        guard.lock(self._last, work.limits)
        return _pinned(self._last, work)

    def keep(self, work: EngineQuery) -> None:
        """Keep the instance of this statement for the next one on its database, unless it is dropped."""
        self._kept_for = _key(work)

    def release(self) -> None:
        """Keep the instance for no further statement; this one goes on using it."""
        self._kept_for = None

    def drop(self) -> None:
        """Close the instance of the last statement, with all connections to it."""
        last, self._last, self._kept_for = self._last, None, None
        if last is not None:
            last.close()


def _pinned(connection: DuckDBPyConnection, work: EngineQuery) -> DuckDBPyConnection:
    if work.now:
        pin_duckdb(connection, work.now)
    return connection


def _key(work: EngineQuery) -> _Key:
    return work.file, work.script, work.limits.memory_mib, work.now
