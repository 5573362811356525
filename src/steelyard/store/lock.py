"""One writer per run: a lock that the operating system lets go when its process dies, however it dies."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from steelyard.errors import StoreError


class RunLock:
    """Held while a run is written.

    Args:
        store: the database file; locks are files in the folder `locks` beside it.
        run: the run's id.

    Raises:
        StoreError: another process writes this run.
    """

    def __init__(self, store: Path, run: str) -> None:
        self._path = store.parent / "locks" / run
        self._path.parent.mkdir(exist_ok=True)
        self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(self._handle, 32).decode("ascii", "replace").strip()
            os.close(self._handle)
            raise StoreError(f"run {run} is being written by another process (pid {holder or 'unknown'})") from error
        os.truncate(self._handle, 0)
        os.write(self._handle, str(os.getpid()).encode())

    def release(self) -> None:
        """Let others write the run."""
        if self._handle >= 0:
            self._path.unlink(missing_ok=True)
            os.close(self._handle)
            self._handle = -1


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
