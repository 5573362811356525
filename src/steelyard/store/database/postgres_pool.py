"""Connections to a PostgreSQL server; a few are kept for the next reader, as making one takes milliseconds.

psycopg's own pool is a package of its own with a thread to fill it; a store reads from a few threads, and needs a list.
"""

from __future__ import annotations

import contextlib
import select
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import psycopg
from psycopg.conninfo import make_conninfo

from steelyard.store.database.connection import DatabaseError

_KEPT_OPEN: Final = 2
_MOST_OPEN: Final = 22
"""Readers at once; a further one waits."""
_WAIT_S: Final = 30.0
_TRUSTED_S: Final = 10.0
"""A firewall forgets a connection that was idle for minutes, and tells nobody: then the server is asked first."""


class ConnectionPool:
    """Makes connections, and keeps up to two that were read with.

    Args:
        settings: of libpq.
        prepare: is given each new connection.
    """

    def __init__(self, settings: Mapping[str, str], prepare: Callable[[psycopg.Connection[Any]], None]) -> None:
        self._settings = make_conninfo(**settings)
        self._prepare = prepare
        self._kept: list[tuple[psycopg.Connection[Any], float]] = []
        self._room = threading.BoundedSemaphore(_MOST_OPEN)

    def connect(self) -> psycopg.Connection[Any]:
        """A new connection, which is its caller's to close.

        Raises:
            DatabaseError: the server cannot be reached, or refuses.
        """
        try:
            driver = psycopg.connect(self._settings)
        except psycopg.Error as error:
            raise DatabaseError.of(error) from error
        self._prepare(driver)
        return driver

    def take(self) -> psycopg.Connection[Any]:
        """A connection to read with, to be given back.

        Raises:
            DatabaseError: all are in use, or the server cannot be reached.
        """
        if not self._room.acquire(timeout=_WAIT_S):
            raise DatabaseError(f"{_MOST_OPEN} connections were in use for {_WAIT_S:.0f} s")
        try:
            return self._working() or self.connect()
        except BaseException:
            self._room.release()
            raise

    def give_back(self, driver: psycopg.Connection[Any]) -> None:
        """Keep a connection for whoever reads next, or close it."""
        with contextlib.suppress(psycopg.Error):  # a broken one is closed
            driver.rollback()
            driver.autocommit = True
        if driver.closed or driver.broken or not driver.autocommit or len(self._kept) >= _KEPT_OPEN:
            driver.close()
        else:
            self._kept.append((driver, time.monotonic()))
        self._room.release()

    def close(self) -> None:
        """Close the connections that are kept; the pool can still be used."""
        with contextlib.suppress(IndexError):
            while True:
                self._kept.pop()[0].close()

    def _working(self) -> psycopg.Connection[Any] | None:
        """The connection that was used last of those that are kept; None where none works."""
        with contextlib.suppress(IndexError):  # several threads take from the list
            while True:
                driver, since = self._kept.pop()
                if not is_cut(driver) and (time.monotonic() - since < _TRUSTED_S or _answers(driver)):
                    return driver
                driver.close()
        return None


def is_cut(driver: psycopg.Connection[Any]) -> str:
    """Whether the server closed a connection; checked on the socket without a query, in microseconds."""
    if driver.closed:
        return "the connection to the server is closed"
    poll = select.poll()
    # Only the end counts: the server also reports changed settings unasked. macOS reports the end in any case.
    poll.register(driver.fileno(), getattr(select, "POLLRDHUP", 0))
    return "the server has closed the connection" if poll.poll(0) else ""


def _answers(driver: psycopg.Connection[Any]) -> bool:
    try:
        driver.execute("SELECT 1")
    except psycopg.Error:
        return False
    return True
