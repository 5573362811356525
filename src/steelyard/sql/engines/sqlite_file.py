"""Making a private copy of a SQLite file ready: its log or journal folded in, its pages checked. Runs in a worker."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from typing import Final
from urllib.parse import quote

_CHECK_S: Final = 10.0
"""Seconds that the check of a large file may take; what is not seen until then fails in the query that meets it."""


def prepare(file: str) -> str:
    """Fold a write-ahead log or a hot journal into the file, and check it.

    Args:
        file: the private copy, alone in its folder but for its own log or journal.

    Returns:
        Why it cannot be used; "" where it can.
    """
    beside = [file + end for end in ("-wal", "-journal") if os.path.exists(file + end)]  # noqa: PTH110 (a plain path)
    try:
        with closing(sqlite3.connect(f"file:{quote(file)}?mode=rw", uri=True, isolation_level=None)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA mmap_size = 0")
            if beside:
                connection.execute("PRAGMA journal_mode = DELETE").fetchall()
            deadline = time.monotonic() + _CHECK_S
            connection.set_progress_handler(lambda: time.monotonic() > deadline, 4000)
            connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
            return _check(connection)
    except sqlite3.Error as error:
        return str(error)


def _check(connection: sqlite3.Connection) -> str:
    try:
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            return ""
        raise
    return "" if found == "ok" else str(found)
