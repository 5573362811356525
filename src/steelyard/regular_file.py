"""Reads a small file that a person names: a regular file only, and at most so many bytes of it.

A link to a device has size 0 and never ends, and opening a pipe waits for its writer; `stat` before `open` would not
hold against a file that is replaced or grows meanwhile.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

_AT_ONCE: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0)
_BINARY: Final = getattr(os, "O_BINARY", 0)
_CHUNK: Final = 1 << 20


def read_regular(path: Path, most: int) -> bytes:
    """The content of a regular file, which may be reached by a link.

    Args:
        path: the file.
        most: limit of its size in bytes.

    Raises:
        OSError: it cannot be read, is a device, pipe, socket or folder, or is larger; `strerror` says which.
    """
    descriptor = os.open(path, os.O_RDONLY | _AT_ONCE | _BINARY)
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
