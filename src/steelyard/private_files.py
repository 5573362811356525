"""Creates files and folders that only their owner may read, whatever the umask.

What Steelyard writes holds prompts, replies, documents and scores. A file or folder that exists keeps its mode: whoever
wants to share one gives it another mode once.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex
from typing import IO, Any, Final

_FILE: Final = 0o600
_FOLDER: Final = 0o700


def open_private(path: Path, mode: str, **options: Any) -> IO[Any]:
    """Open a file as `open` does; if that creates it, its mode is 0600.

    Args:
        path: of the file.
        mode: as of `open`.
        options: `encoding` and the like, as of `open`.
    """
    # The mode is given as the file is created: with a later chmod others could open the file in between.
    return open(path, mode, opener=lambda name, flags: os.open(name, flags, _FILE), **options)


def make_private_folder(path: Path) -> None:
    """Create a folder and those above it that are missing, with mode 0700."""
    for folder in reversed((path, *path.parents)):
        if not folder.is_dir():
            folder.mkdir(mode=_FOLDER, exist_ok=True)


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[IO[bytes]]:
    """A new file, which takes the place of `path` when the block ends, complete and on the disk; else it is removed.

    Args:
        path: an existing file gives the new one its mode.

    Raises:
        OSError: it cannot be written.
    """
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.{token_hex(4)}.tmp")
    try:
        with open_private(unfinished, "xb") as file:
            yield file
            file.flush()
            with contextlib.suppress(FileNotFoundError):
                os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink()
