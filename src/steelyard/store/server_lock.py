"""One writer per run on a server: an advisory lock of the connection that writes.

It is the writing connection's own, so that whoever can write has the lock, and whoever has lost the lock (the server
was started anew, the line was cut) cannot write. The server lets it go when the connection ends.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Final

from sqlalchemy import Connection

from steelyard.errors import StoreError
from steelyard.store.backend import Transact

_TRIES: Final = 10
_PAUSE_S: Final = 0.05
"""The server of a process that was killed a moment ago notices within milliseconds."""
_TAKE: Final = "SELECT pg_try_advisory_lock(%(key)s)"
_LET_GO: Final = "SELECT pg_advisory_unlock(%(key)s)"
_HOLDER: Final = """SELECT l.pid, coalesce(a.application_name, '') FROM pg_catalog.pg_locks l
    LEFT JOIN pg_catalog.pg_stat_activity a USING (pid)
    WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
    AND l.classid::bigint = %(high)s AND l.objid::bigint = %(low)s
    AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())"""


class ServerLock:
    """Held while a run is written.

    Args:
        run: the run's id.
        key: the number of the lock.
        transact: does something on the writing connection.

    Raises:
        StoreError: another process writes this run, or the server is gone.
    """

    def __init__(self, run: str, key: int, transact: Transact) -> None:
        self.run = run
        self._key = key
        self._transact = transact
        # A connection may take a lock twice; two writers of one process are two all the same.
        if not any(_taken(transact, key, pause) for pause in [0.0] + [_PAUSE_S] * (_TRIES - 1)):
            holder = transact(lambda connection: holder_of(connection, key))
            raise StoreError(f"run {run} is being written by another process ({holder or 'it ended just now'})")
        self._held = True

    def release(self) -> None:
        """Let others write the run."""
        if self._held:
            self._held = False
            with suppress(StoreError):  # what cannot be written has lost its connection, and the lock with it
                self._transact(lambda connection: connection.exec_driver_sql(_LET_GO, {"key": self._key}).scalar())


def _taken(transact: Transact, key: int, pause: float) -> bool:
    time.sleep(pause)

    def take(connection: Connection) -> bool:
        return not holder_of(connection, key) and bool(connection.exec_driver_sql(_TAKE, {"key": key}).scalar())

    return bool(transact(take))


def holder_of(connection: Connection, key: int) -> str:
    """Which process holds a lock, as far as the server shows it; "" where none does."""
    unsigned = key & (2**64 - 1)
    row = connection.exec_driver_sql(_HOLDER, {"high": unsigned >> 32, "low": unsigned & 0xFFFFFFFF}).first()
    if row is None:
        return ""
    return str(row[1]).removeprefix("steelyard ") or f"the server's process {row[0]}"
