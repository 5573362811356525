"""Remembers what a check of references found, so that a second check of the same data takes no time.

One SQLite file of a person's cache: a digest of statement, data and settings -> what was found. It holds no query and
no data. Entries that were not asked for longest are dropped; a file that cannot be read or written is done without.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

from steelyard.files import make_private_folder

_MOST: Final = 200_000
"""Entries that are kept: about 20 MB."""
_DROPPED_AT: Final = 1.1
_AT_ONCE: Final = 64
_NOW: Final = "CAST(strftime('%s', 'now') AS INTEGER)"
Remembered = Sequence[Sequence[str]]


class ReferenceMemory:
    """What was found of references before; usable as a context manager.

    Args:
        path: of the file, which is made with its folder where it is missing.
    """

    def __init__(self, path: Path) -> None:
        self._connection: sqlite3.Connection | None = None
        self._found: dict[str, str] = {}
        self._used: list[str] = []
        with contextlib.suppress(OSError, sqlite3.Error):
            make_private_folder(path.parent)
            # Made by hand, as SQLite would make it with the permissions of the umask.
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600))
            if path.stat().st_uid == os.geteuid():
                self._connection = _opened(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, key: str) -> Remembered | None:
        """What was found under a digest; None where it is not known."""
        if self._connection is None:
            return None
        with contextlib.suppress(sqlite3.Error, ValueError, TypeError):
            row = self._connection.execute("SELECT body FROM found WHERE key = ?", (key,)).fetchone()
            if row is not None:
                self._used.append(key)
                return [tuple(map(str, entry)) for entry in json.loads(row[0])]
        return None

    def put(self, key: str, found: Remembered) -> None:
        """Remember what was found under a digest."""
        self._found[key] = json.dumps(found)
        if len(self._found) >= _AT_ONCE:
            self._write()

    def close(self) -> None:
        """Write what is left, and drop the entries that are too many."""
        self._write()
        connection, self._connection = self._connection, None
        if connection is None:
            return
        with contextlib.suppress(sqlite3.Error):
            [(count,)] = connection.execute("SELECT count(*) FROM found").fetchall()
            if count > _DROPPED_AT * _MOST:
                oldest = "SELECT key FROM found ORDER BY used LIMIT ?"
                connection.execute(f"DELETE FROM found WHERE key IN ({oldest})", (count - _MOST,))  # noqa: S608  # ours
        connection.close()

    def _write(self) -> None:
        """Write what was found in one transaction: one for each reference would take longer than the reference."""
        found, self._found = self._found, {}
        used, self._used = self._used, []
        if self._connection is None or not (found or used):
            return
        with contextlib.suppress(sqlite3.Error):
            self._connection.execute("BEGIN IMMEDIATE")
            put = f"INSERT OR REPLACE INTO found VALUES (?, ?, {_NOW})"  # noqa: S608  # ours
            self._connection.executemany(put, found.items())
            touch = f"UPDATE found SET used = {_NOW} WHERE key = ?"  # noqa: S608  # ours
            self._connection.executemany(touch, [(key,) for key in used])
            self._connection.execute("COMMIT")


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=1, isolation_level=None)
    try:
        columns = "key TEXT PRIMARY KEY, body TEXT NOT NULL, used INTEGER NOT NULL"
        connection.execute(f"CREATE TABLE IF NOT EXISTS found ({columns}) WITHOUT ROWID")
    except sqlite3.Error:
        connection.close()
        raise
    return connection
