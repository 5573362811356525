"""The lock of a run in a store that is a file, and the space that is reserved beside it.

The lock belongs to the file itself (its inode), whatever name it has. On Linux it is an open-file-description lock
(fcntl(2), F_OFD_SETLK) on bytes of the database far behind its end, which SQLite's own locks, classic ones below 2**31,
do not touch. Its length is the process's number: that is how a second writer learns who the first is, even through
another name. Elsewhere Python has no such locks: there it is a classic lock on the same bytes of a file beside the
database.

A process loses all its classic locks on a file, those of SQLite too, when it closes any descriptor of it. So a process
has one descriptor of a store's file, which is closed after all its connections and locks, as SQLite's own are.
"""

# Why it is so, and what was rejected: docs/decisions/store-one-writer.md

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
import struct
import sys
import threading
from functools import cache
from pathlib import Path
from secrets import token_hex
from typing import Final

from steelyard.errors import StoreError
from steelyard.posix import fcntl

if sys.platform == "linux":
    _SET, _GET, _OF_DATABASE = fcntl.F_OFD_SETLK, fcntl.F_OFD_GETLK, True
    _LAYOUT, _FIELDS = "hhqqi4x", ("type", "whence", "start", "length", "pid")
else:
    _SET, _GET, _OF_DATABASE = fcntl.F_SETLK, fcntl.F_GETLK, False
    _LAYOUT, _FIELDS = "qqihh", ("start", "length", "pid", "type", "whence")
# The constants above are those of struct flock in the system's fcntl.h.
_FIRST_BYTE: Final = 1 << 62
_PID_BITS: Final = 22
"""Process numbers of Linux are below 2**22, those of macOS below 100,000."""
_RUN_BITS: Final = 39
_SHARED_BYTES: Final = (0x40000002, 510)
"""Where each connection of SQLite to a database with a log holds a shared lock (SQLite's os.h, SHARED_FIRST)."""


_RESERVE_BYTES: Final = 1 << 20
"""1 MiB: the replies of some hundred calls in flight and the pages they touch."""


class OpenedFile:
    """The one descriptor that this process has of a store's file; made by `open_file`.

    Args:
        path: the file.
        key: device and inode.

    Attributes:
        descriptor: of the database.
    """

    def __init__(self, path: Path, key: tuple[int, int]) -> None:
        self.key = key
        self.users = 0
        self.descriptor = _opened(path, os.O_RDWR)
        self._path = path
        self._locking = -1
        # One descriptor never excludes itself, so the runs that this process holds are known here.
        self._held: set[str] = set()
        self._guard = threading.Lock()

    def lock(self, run: str) -> int | None:
        """Lock a run; the number of the process that holds it already, None where it is ours now.

        Raises:
            OSError: the file cannot be written.
        """
        with self._guard:
            if run in self._held:
                return os.getpid()
            try:
                self._call(_SET, fcntl.F_WRLCK, _first_byte(run), os.getpid())
            except OSError as error:
                if error.errno not in {errno.EAGAIN, errno.EACCES}:
                    raise
                return self._holder(_first_byte(run), 1) or 0
            self._held.add(run)
            return None

    def unlock(self, run: str) -> None:
        """Release a run."""
        with self._guard:
            self._held.discard(run)
            if self.descriptor >= 0:
                self._call(_SET, fcntl.F_UNLCK, _first_byte(run), 1 << _PID_BITS)

    def is_locked(self, run: str) -> bool:
        """Whether a living process holds a run."""
        with self._guard:
            return run in self._held or self._holder(_first_byte(run), 1) is not None

    @property
    def has_log(self) -> bool:
        """Whether the database is one that SQLite writes with a log: bytes 18 and 19 of its head."""
        return os.pread(self.descriptor, 2, 18) == b"\2\2"

    def user(self) -> int | None:
        """The number of a process that has the database open with a log; None where there is none or it is unknown."""
        return self._holder(*_SHARED_BYTES) if _OF_DATABASE else None

    def _holder(self, start: int, length: int) -> int | None:
        lock = self._call(_GET, fcntl.F_WRLCK, start, length)
        if lock["type"] == fcntl.F_UNLCK:
            return None
        return lock["length"] if lock["start"] >= _FIRST_BYTE else max(lock["pid"], 0)

    def _call(self, command: int, kind: int, start: int, length: int) -> dict[str, int]:
        if self._locking < 0:
            beside = self._path.with_name(f"{self._path.name}-lock")
            self._locking = self.descriptor if _OF_DATABASE else _opened(beside, os.O_RDWR | os.O_CREAT)
        lock = {"type": kind, "whence": os.SEEK_SET, "start": start, "length": length, "pid": 0}
        answer = fcntl.fcntl(self._locking, command, struct.pack(_LAYOUT, *(lock[field] for field in _FIELDS)))
        return dict(zip(_FIELDS, struct.unpack(_LAYOUT, answer), strict=True))

    def release(self) -> None:
        """Close the descriptor if nobody in this process uses it any more."""
        _open_files().release(self)

    def close(self) -> None:
        """Close the descriptor; only where no connection of this process is open."""
        for descriptor in {self.descriptor, self._locking} - {-1}:
            os.close(descriptor)
        self.descriptor = self._locking = -1


class _OpenFiles:
    """Every store's file that this process has open, by device and inode."""

    def __init__(self) -> None:
        self._by_key: dict[tuple[int, int], OpenedFile] = {}
        self._guard = threading.Lock()
        # A child that a user's code forks would hold the locks of a parent that was killed.
        os.register_at_fork(after_in_child=self._close_all)

    def open(self, path: Path) -> OpenedFile:
        with self._guard:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, "it is not a regular file", str(path))
            key = status.st_dev, status.st_ino
            file = self._by_key.get(key)
            if file is None:
                file = self._by_key[key] = OpenedFile(path, key)
            file.users += 1
            return file

    def release(self, file: OpenedFile) -> None:
        with self._guard:
            file.users -= 1
            if not file.users:
                self._by_key.pop(file.key, None)
                file.close()

    def _close_all(self) -> None:
        self._guard = threading.Lock()
        for file in self._by_key.values():
            file.close()
        self._by_key = {}


@cache
def _open_files() -> _OpenFiles:
    return _OpenFiles()


def open_file(path: Path) -> OpenedFile:
    """The descriptor that this process has of a file, opened where it has none; each use ends with `release`.

    Raises:
        OSError: there is no such file, or it may not be read.
    """
    return _open_files().open(path)


class RunLock:
    """The lock of a run; the operating system releases it when its process dies, however it dies.

    Args:
        store: the database file.
        run: the run's id.

    Raises:
        StoreError: another process writes this run, or the file cannot be written.
    """

    def __init__(self, store: Path, run: str) -> None:
        self.run = run
        self._file: OpenedFile | None = None
        file = None
        try:
            file = open_file(store)
            holder = file.lock(run)
        except OSError as error:
            if file is not None:
                file.release()
            raise StoreError(f"run {run} cannot be locked: {error.strerror} ({store})") from error
        if holder is not None:
            file.release()
            raise StoreError(f"run {run} is being written by another process (pid {holder or 'unknown'})")
        self._file = file

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
        if self._file is not None:
            self._file.unlock(self.run)
            self._file.release()
            self._file = None


def is_locked(store: Path, run: str) -> bool:
    """Whether a living process writes this run."""
    try:
        file = open_file(store)
    except OSError:
        return False
    try:
        return file.is_locked(run)
    except OSError:  # beside a store that may only be read there is no file for locks
        return False
    finally:
        file.release()


def _opened(path: Path, flags: int) -> int:
    try:
        return os.open(path, flags | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno not in {errno.EACCES, errno.EROFS, errno.EPERM}:
            raise
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # a store that may only be read


def _first_byte(run: str) -> int:
    digest = int.from_bytes(hashlib.sha256(run.encode()).digest()[:8], "big")
    return _FIRST_BYTE + ((digest >> (64 - _RUN_BITS)) << _PID_BITS)


class ReserveFile:
    """A file of 1 MiB beside the store, locked by its process; files that killed processes left are removed.

    Args:
        store: the database file.

    Raises:
        StoreError: there is no room for it, so there is none for replies either.
    """

    def __init__(self, store: Path) -> None:
        for leftover in store.parent.glob(f"{store.name}-reserve-*"):
            _remove_unlocked(leftover)
        self._path = store.parent / f"{store.name}-reserve-{os.getpid()}-{token_hex(4)}"
        self._handle = -1
        try:
            self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Noise, since a file system that compresses keeps no space for zeros.
            unwritten = memoryview(os.urandom(_RESERVE_BYTES))
            while unwritten:
                unwritten = unwritten[os.write(self._handle, unwritten) :]
        except OSError as error:
            with contextlib.suppress(OSError):
                self.release()
            raise StoreError(f"the store cannot be written: {error.strerror} ({self._path.parent})") from error

    def release(self) -> bool:
        """Free the space; False if it was freed before."""
        if self._handle < 0:
            return False
        self._path.unlink(missing_ok=True)
        os.close(self._handle)
        self._handle = -1
        return True


def _remove_unlocked(path: Path) -> None:
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink(missing_ok=True)
    except OSError:
        return
    finally:
        os.close(handle)
