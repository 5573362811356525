"""A temporary folder of this process, deleted with it; if the process was killed, by the next viewer.

A process that is killed deletes nothing. So each folder is locked by the process that made it: the operating system
releases the lock however the process ends, and a viewer that starts deletes the folders of this user without one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
import weakref
from pathlib import Path
from typing import Final

from steelyard.posix import fcntl

_PREFIX: Final = "steelyard-viewer-"
_ATTEMPTS: Final = 5
"""Attempts to lock a new folder. On a file system without locks all fail, and no other viewer deletes it either."""
_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class TemporaryFolder:
    """A new folder with mode 0700, deleted by `delete`, with the object, or at the end of the process.

    Args:
        parent: where it is made; None is the temporary folder of the system.

    Raises:
        OSError: none can be made.
    """

    def __init__(self, parent: Path | None = None) -> None:
        for _ in range(_ATTEMPTS):
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
            # Before it is locked, a viewer that starts at this moment may delete it as an abandoned one.
            if (handle := _locked(self.path)) is not None:
                break
        self._end = weakref.finalize(self, _delete, self.path, handle)

    def delete(self) -> None:
        """Delete it with what is in it; a second call does nothing."""
        self._end()


def delete_left_folders(parent: Path | None = None) -> None:
    """Delete the folders of this user whose processes are gone.

    Args:
        parent: where they were made; None is the temporary folder of the system.
    """
    with contextlib.suppress(OSError):
        for path in (parent or Path(tempfile.gettempdir())).glob(f"{_PREFIX}*"):
            if (handle := _locked(path)) is not None:
                _delete(path, handle)


def _locked(path: Path) -> int | None:
    """Open and lock a folder of this user; None where it is not one, or another process has it."""
    try:
        handle = os.open(path, _FLAGS)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        about, at_path = os.fstat(handle), path.stat(follow_symlinks=False)
        is_ours = about.st_uid == os.getuid() and not stat.S_IMODE(about.st_mode) & 0o077
        if is_ours and (about.st_dev, about.st_ino) == (at_path.st_dev, at_path.st_ino):
            return handle
    except OSError:
        pass  # locked, or deleted meanwhile
    os.close(handle)
    return None


def _delete(path: Path, handle: int | None) -> None:
    # While it is locked: nobody else then deletes what another process has made under the same name.
    shutil.rmtree(path, ignore_errors=True)
    if handle is not None:
        os.close(handle)
