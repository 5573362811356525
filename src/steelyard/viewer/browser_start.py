"""Opens the address of a viewer in a browser, without the token in the arguments of a process.

Every user of a machine can read the arguments of every process. So the browser is given a file that only this user can
read, whose page leads to the address, in a temporary folder that is deleted with the process. A process that is killed
deletes nothing. So the folder is locked by the process that made it: the operating system releases the lock however the
process ends, and a viewer that starts deletes the folders of this user without one.
"""

from __future__ import annotations

import contextlib
import html
import os
import shutil
import stat
import tempfile
import threading
import weakref
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Final

from steelyard.posix import fcntl

_OPEN_S: Final = 60.0
"""Seconds until the file is deleted: a browser may have to start first."""
_PAGE: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
    '<meta http-equiv="refresh" content="0; url={0}"><title>Steelyard</title><a href="{0}">Open the viewer</a></html>\n'
)
_PREFIX: Final = "steelyard-viewer-"
_ATTEMPTS: Final = 5
"""Attempts to lock a new folder. On a file system without locks all fail, and no other viewer deletes it either."""
_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def start_browser(address: str, failed: Callable[[], None]) -> None:
    """Open an address in the user's browser; the file that leads there is deleted after a minute, or at the end.

    Args:
        address: holds a secret.
        failed: is called where there is no browser, or no file can be made.
    """
    parent = _parent()
    try:
        folder = TemporaryFolder(parent)
        page = folder.path / "viewer.html"
        with os.fdopen(os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(_PAGE.format(html.escape(address)))
    except OSError:
        failed()
        return

    def start() -> None:
        delete_left_folders(parent)
        if not webbrowser.open(page.as_uri()):
            failed()

    # Some browsers, such as those of a terminal, return only at their end.
    threading.Thread(target=start, daemon=True).start()
    expiry = threading.Timer(_OPEN_S, folder.delete)
    expiry.daemon = True
    expiry.start()


def _parent() -> Path | None:
    """Where the folder of the file is made; None is the temporary folder of the system.

    A browser that snap installed has another temporary folder, and sees no hidden folder of the user's.
    """
    try:
        home = Path.home()
    except RuntimeError:  # a user without one, as in containers
        return None
    return home if (home / "snap").is_dir() and os.access(home, os.W_OK) else None


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
