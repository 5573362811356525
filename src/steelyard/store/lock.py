"""One writer per run: a lock that the operating system lets go when its process dies, however it dies."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import Final

from steelyard.errors import StoreError

_TRIES: Final = 25
_PAUSE_S: Final = 0.02
"""Whoever lists runs holds a lock for an instant (`is_locked`), on a busy machine for several: that is no writer."""


class RunLock:
    """Held while a run is written.

    Args:
        store: the database file; locks are files in the folder `locks` beside it.
        run: the run's id.

    Raises:
        StoreError: another process writes this run, or the folder cannot be written.
    """

    def __init__(self, store: Path, run: str) -> None:
        self.run = run
        self._path = store.parent / "locks" / run
        try:
            self._path.parent.mkdir(exist_ok=True)
            self._handle = self._locked(run)
        except OSError as error:
            raise StoreError(f"run {run} cannot be locked: {error.strerror} ({self._path})") from error

    def _locked(self, run: str) -> int:
        holder = ""
        for _ in range(_TRIES):
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_at(self._path, handle):
                    os.truncate(handle, 0)
                    os.write(handle, str(os.getpid()).encode())
                    return handle
                os.close(handle)  # its last holder removed the file after we had opened it
            except BlockingIOError:
                holder = os.read(handle, 32).decode("ascii", "replace").strip()
                os.close(handle)
                time.sleep(_PAUSE_S)
            except OSError:
                os.close(handle)
                raise
        raise StoreError(f"run {run} is being written by another process (pid {holder or 'unknown'})")

    def release(self) -> None:
        """Let others write the run."""
        if self._handle >= 0:
            self._path.unlink(missing_ok=True)
            os.close(self._handle)
            self._handle = -1


def _is_at(path: Path, handle: int) -> bool:
    """Whether the open file is the one that stands at `path` now."""
    try:
        there, ours = path.stat(), os.fstat(handle)
    except FileNotFoundError:
        return False
    return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)


def is_locked(store: Path, run: str) -> bool:
    """Whether a living process writes this run."""
    try:
        handle = os.open(store.parent / "locks" / run, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False
