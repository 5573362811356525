"""Space on the disk that is taken while a run runs, to be given back when the disk is full."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path
from secrets import token_hex
from typing import Final

from steelyard.errors import StoreError

_SIZE: Final = 1 << 20
"""1 MiB: the replies of some hundred calls in flight and the pages they touch."""


class Reserve:
    """A file of 1 MiB beside the store, locked by its process; what a killed process left behind is removed.

    Args:
        store: the database file.

    Raises:
        StoreError: there is no room for it, so there is none for replies either.
    """

    def __init__(self, store: Path) -> None:
        for left in store.parent.glob(f"{store.name}-reserve-*"):
            _remove_if_left(left)
        self._path = store.parent / f"{store.name}-reserve-{os.getpid()}-{token_hex(4)}"
        self._handle = -1
        try:
            self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _fill(self._handle)
        except OSError as error:
            with contextlib.suppress(OSError):
                self.release()
            raise StoreError(f"no room for the store: {error.strerror} ({self._path.parent})") from error

    def release(self) -> bool:
        """Give the space back; False where that was done before."""
        if self._handle < 0:
            return False
        self._path.unlink(missing_ok=True)
        os.close(self._handle)
        self._handle = -1
        return True


def _fill(handle: int) -> None:
    """Noise, since a file system that compresses keeps no space for zeros."""
    left = memoryview(os.urandom(_SIZE))
    while left:
        left = left[os.write(handle, left) :]


def _remove_if_left(path: Path) -> None:
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
