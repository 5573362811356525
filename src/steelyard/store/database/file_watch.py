"""A store's file that is deleted, replaced or cut off while it is written: how that is noticed, and what is then saved.

SQLite does not notice it, and goes on writing to the file that it has open, which is gone with the process. What is in
that file can still be read until then, its log included: it is copied to a new file beside the store. Of a file that
was cut off or overwritten itself, the pages that are left, in the file, its log and memory, are searched for rows.
"""

# Why it is so, and what was rejected: docs/decisions/store-one-writer.md

from __future__ import annotations

import contextlib
import os
import shlex
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Final

from steelyard.errors import SteelyardError, StoreError
from steelyard.store.database.connection import Connection, DatabaseError

BackUp = Callable[[sqlite3.Connection], None]
"""Copies all pages of an open database to another one."""
Recover = Callable[[Path, Path, Path], object]
"""Copies the readable rows of a damaged store to a new one that it makes; the folder between them is for a copy."""

_MAGIC: Final = b"SQLite format 3\0"
_HEAD_BYTES: Final = 32
"""Of the head of a SQLite file (https://www.sqlite.org/fileformat2.html): bytes 16-17 are the size of a page, 28-31
the number of pages."""


class FileWatch:
    """Notices that a store's file is not any more what this process has open; a check takes some microseconds.

    Args:
        path: the file.
        connection: a connection to it that has written, so that there is a log.
        descriptor: of the file.
    """

    def __init__(self, path: Path, connection: Connection, descriptor: int) -> None:
        self._connection = connection
        self._descriptor = descriptor
        self._identities = {}
        for file in (path, *_beside(path)):
            status = file.stat()
            self._identities[file] = status.st_dev, status.st_ino
        self._path, self._log = path, _beside(path)[0]
        self._size = self._changed_ns = self._log_bytes = 0
        self._pages = int.from_bytes(os.pread(descriptor, 4, 28), "big")

    def fault(self) -> str:
        """What was done to the file; "" while it is as SQLite left it."""
        statuses = {}
        for path, identity in self._identities.items():
            try:
                status = statuses[path] = os.stat(path)  # noqa: PTH116  # half the time of Path.stat
            except PermissionError:  # it may still be there
                return ""
            except OSError:
                return f"{path.name} was deleted or moved away"
            if (status.st_dev, status.st_ino) != identity:
                return f"{path.name} was replaced by another file"
        status, log_bytes = statuses[self._path], statuses[self._log].st_size
        if (status.st_size, status.st_mtime_ns) != (self._size, self._changed_ns):
            if self._is_overwritten(status.st_size):
                return f"{self._path.name} was cut off or overwritten"
            self._size, self._changed_ns = status.st_size, status.st_mtime_ns
        if log_bytes < self._log_bytes and not self._log_is_whole():
            return f"{self._log.name} was cut off or overwritten"
        self._log_bytes = log_bytes
        return ""

    def remove_log(self) -> None:
        """Delete the log of a file that is not there any more: SQLite would apply it to one that has its name now."""
        if _identity(self._path) == self._identities[self._path]:
            return
        for path in _beside(self._path):
            if _identity(path) == self._identities[path]:
                path.unlink(missing_ok=True)

    def _is_overwritten(self, size: int) -> bool:
        """Whether something else than SQLite has changed the file.

        SQLite copies into it what is in the log, so it has no more pages than the database ever had, and becomes
        shorter only after the database has (by VACUUM).
        """
        head = os.pread(self._descriptor, _HEAD_BYTES, 0)
        page_bytes, pages = int.from_bytes(head[16:18], "big"), int.from_bytes(head[28:32], "big")
        try:
            pages_now = self._connection.execute("PRAGMA page_count").scalar()
        except DatabaseError:
            return True
        self._pages = max(self._pages, pages_now)
        return head[:16] != _MAGIC or pages > self._pages or size < self._size <= pages_now * page_bytes

    def _log_is_whole(self) -> bool:
        """Whether the log, which is shorter than before, still has all that is not yet in the file."""
        try:
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").all()
        except DatabaseError:
            return False
        return True


def _beside(path: Path) -> tuple[Path, Path]:
    """The log of a database, and its index in shared memory."""
    return path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def save(back_up: BackUp, store: Path, recover: Recover) -> tuple[Path, str]:
    """Save what an open database still holds to a new file; its path, and a sentence for the user.

    Args:
        back_up: from the file that was open.
        store: its path. The new file is made in its folder, or the nearest above it that there still is; else in the
            current folder, else in that for temporary files.
        recover: see `Recover`.

    Raises:
        StoreError: it can be saved nowhere.
    """
    reasons = {}
    for folder in _folders(store):
        try:
            saved, is_complete = _saved_in(folder, back_up, store, recover)
        except (OSError, sqlite3.Error, SteelyardError) as error:
            reasons[folder] = getattr(error, "strerror", None) or error
            continue
        where = shlex.quote(str(saved))
        missing = (
            "" if is_complete else f" as far as it could be read (`steelyard verify --store {where}` lists the rest)"
        )
        return (
            saved,
            f"All that was stored is now in {saved}{missing}: continue with `steelyard resume --store {where}`",
        )
    tried = "; ".join(f"{folder}: {reason}" for folder, reason in reasons.items())
    raise StoreError(f"What was stored could not be saved to another file ({tried})")


def _folders(store: Path) -> Iterator[Path]:
    yield next(folder for folder in store.parents if folder.is_dir())
    with contextlib.suppress(OSError):  # it may be gone as well
        yield Path.cwd()
    with contextlib.suppress(OSError):
        yield Path(tempfile.gettempdir())


def _saved_in(folder: Path, back_up: BackUp, store: Path, recover: Recover) -> tuple[Path, bool]:
    """The new file, and whether it has all rows."""
    target = _free_name(folder, store)
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=f"{store.stem}.saving-") as work:
            partial = Path(work, "copy.db")
            is_complete = _is_backed_up(back_up, partial)
            (partial if is_complete else _salvaged(partial, store, Path(work), recover)).replace(target)
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    return target, is_complete


def _free_name(folder: Path, store: Path) -> Path:
    """A new empty file `NAME.saved.db` that only this user may read."""
    for number in count(1):
        target = folder / f"{store.stem}.saved{'' if number == 1 else f'-{number}'}{store.suffix}"
        with contextlib.suppress(FileExistsError):
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            return target
    raise AssertionError


def _is_backed_up(back_up: BackUp, partial: Path) -> bool:
    """Whether a copy of all pages is a database without damage."""
    with contextlib.closing(sqlite3.connect(partial)) as copy:
        partial.chmod(0o600)
        try:
            back_up(copy)
            return bool(copy.execute("PRAGMA quick_check").fetchone() == ("ok",))
        except sqlite3.OperationalError as error:
            if "full" in str(error):
                raise
            return False
        except (sqlite3.Error, UnicodeDecodeError):
            return False


def _salvaged(partial: Path, store: Path, work: Path, recover: Recover) -> Path:
    """A new store with the rows that can be read, from memory or else from the file that was damaged."""
    for number, source in enumerate((partial, store)):
        folder = work / str(number)
        folder.mkdir()
        new = folder / "new.db"
        with contextlib.suppress(SteelyardError):
            recover(source, folder, new)
            return new
    raise StoreError("nothing of it can be read any more")
