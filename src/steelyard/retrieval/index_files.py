"""Cache files that can be rebuilt: a file is either complete or treated as missing.

A file is written under a temporary name and renamed, so that several processes and a kill at any moment do no harm; its
last bytes are a digest of the others, so that a damaged or foreign file is recognised. If a file cannot be written (a
full disk, a read-only folder), that is not an error: the work is repeated the next time.
"""

from __future__ import annotations

import contextlib
import time
from hashlib import blake2b
from pathlib import Path
from typing import Final

from steelyard.files import make_private_folder, replaced

_DIGEST: Final = 24
"""Bytes of the checksum. Checksum and signature are at the end, so that a truncated file has neither."""
_SIGN: Final = b"steelyrd"
_ABANDONED_S: Final = 3_600.0
"""Age from which a temporary file was left by a killed process; no file takes that long to write."""


def read_kept(path: Path) -> bytes | None:
    """Read a file written by `keep`; None if it is missing, incomplete or a foreign file."""
    try:
        # Reading a pipe or a device in its place could block or never end.
        content = path.read_bytes() if path.is_file() else b""
    except OSError:
        return None
    body, digest, sign = (
        content[: -_DIGEST - len(_SIGN)],
        content[-_DIGEST - len(_SIGN) : -len(_SIGN)],
        content[-len(_SIGN) :],
    )
    return body if sign == _SIGN and digest == _digest(body) else None


def keep(path: Path, body: bytes) -> bool:
    """Write a file with a checksum; returns False if that is not possible."""
    return write_whole(path, body, _digest(body) + _SIGN)


def write_whole(path: Path, *parts: bytes | memoryview) -> bool:
    """Write a file atomically and create its folder; returns False if that is not possible."""
    try:
        make_private_folder(path.parent)
        with replaced(path) as file:
            file.writelines(parts)
    except OSError:
        return False
    _sweep(path.parent)
    return True


def _sweep(folder: Path) -> None:
    """Remove temporary files that killed processes left."""
    with contextlib.suppress(OSError):
        for path in folder.glob("*.tmp"):
            if time.time() - path.stat().st_mtime > _ABANDONED_S:
                path.unlink()


def _digest(body: bytes) -> bytes:
    return blake2b(body, digest_size=_DIGEST).digest()
