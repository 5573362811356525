"""How files are opened: those that others made with care, and those that are written closed to others.

Whoever names a file or a folder decides what it leads to, so it may be a symbolic link. What is found in a folder came
with it, from whoever made the dataset, and git keeps links: one that leads out of the folder would send a private file
to a model like the rest. A link to a device has size 0 and never ends, and opening a pipe waits for its writer.

What Steelyard writes holds prompts, replies, documents and scores: only its owner may read it, whatever the umask. A
file or folder that exists keeps its mode: whoever wants to share one gives it another mode once.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex
from typing import IO, Any, Final

from steelyard.errors import ConfigError

__all__ = [
    "NOT_IN_FILE_NAMES",
    "file_errors",
    "make_private_folder",
    "open_private",
    "read_regular",
    "read_regular_text",
    "replaced",
    "require_within",
]

NOT_IN_FILE_NAMES: Final = re.compile(r'[\\/:*?"<>|\x00-\x1f\x7f]')
"""Characters that a file's name cannot have on some common file system."""

_FILE: Final = 0o600
_FOLDER: Final = 0o700
_AT_ONCE: Final = os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_CHUNK: Final = 1 << 20


def require_within(folder: Path, path: Path) -> None:
    """Refuse a path found in a folder that a symbolic link leads out of it; the folder itself may be a link.

    Whoever can change the folder between this and the reading is not kept out.

    Args:
        folder: as it was named.
        path: below it; it need not exist.

    Raises:
        ConfigError: the link, its destination, and what to do.
    """
    root, destination = os.path.realpath(folder), os.path.realpath(path)
    if os.path.commonpath([root, destination]) != root:
        raise ConfigError(
            f"{path} leads out of the folder {folder}, over a symbolic link or '..', to {destination}; only what is in "
            "the folder is read. Put a copy of the file there, or name that file itself or a folder that holds both"
        )


@contextlib.contextmanager
def file_errors(path: Path, what: str) -> Iterator[None]:
    """Report an error of the system as one of whoever named the file.

    Args:
        path: the file.
        what: what cannot be done: `written`, `read` or `made`.

    Raises:
        ConfigError: in place of an OSError.
    """
    try:
        yield
    except OSError as error:
        raise ConfigError(f"{path} cannot be {what}: {error.strerror}") from error


def read_regular(path: Path, most: int) -> bytes:
    """The content of a regular file, which may be reached by a link.

    Args:
        path: the file.
        most: limit of its size in bytes.

    Raises:
        OSError: it cannot be read, is a device, pipe, socket or folder, or is larger; `strerror` says which.
    """
    # `stat` before `open` would not hold against a file that is replaced or grows meanwhile.
    descriptor = os.open(path, os.O_RDONLY | _AT_ONCE)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        # Opened for the descriptor alone: a folder's cannot be opened as a file, and would then be left open.
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = bytearray()
            while len(data) <= most and (chunk := file.read(_CHUNK)):
                data += chunk
    finally:
        os.close(descriptor)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most:,} bytes", str(path))
    return bytes(data)


def read_regular_text(path: Path, most: int) -> str:
    """The text of a regular UTF-8 file, with or without a byte order mark; line ends become a line feed.

    Raises:
        OSError: as `read_regular`.
        UnicodeDecodeError: it is not UTF-8.
    """
    text = read_regular(path, most).decode("utf-8-sig")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


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
