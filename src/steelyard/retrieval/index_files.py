"""Files that can be made again: whatever happens to one, it is complete, or it counts as missing.

A file is written under a name of its own and renamed, so that several processes and a kill at any moment do no harm;
its last bytes are a digest of the others, so that a damaged or foreign one is not taken for ours. That nothing can be
kept (a full disk, a folder that may not be written) is not a failure: it costs the work once more, next time.
"""

from __future__ import annotations

import contextlib
import os
import time
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex
from typing import Final

_DIGEST: Final = 24
"""Bytes of the checksum. It and the sign are at the end, so that a file that was cut off has neither."""
_SIGN: Final = b"steelyrd"
_ABANDONED_S: Final = 3_600.0
"""A file that is being written is not that old; it was left by a process that was killed."""


def read_kept(path: Path) -> bytes | None:
    """Read a file written by `keep`; None if it is missing, incomplete or not ours."""
    try:
        # A pipe or a device in its place would be waited for, or read, without end.
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
    """Write a file with a checksum; False if that is not possible."""
    return write_whole(path, body, _digest(body) + _SIGN)


def write_whole(path: Path, *parts: bytes | memoryview) -> bool:
    """Write a file atomically and create its folder; False if that is not possible."""
    passing = path.with_name(f"{path.name}.{os.getpid()}.{token_hex(4)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with passing.open("xb") as stream:
            stream.writelines(parts)
            stream.flush()
            os.fsync(stream.fileno())
        passing.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            passing.unlink()
        return False
    _sweep(path.parent)
    return True


def _sweep(folder: Path) -> None:
    """Remove temporary files that killed processes left."""
    with contextlib.suppress(OSError):
        for left in folder.glob("*.tmp"):
            if time.time() - left.stat().st_mtime > _ABANDONED_S:
                left.unlink()


def _digest(body: bytes) -> bytes:
    return blake2b(body, digest_size=_DIGEST).digest()
