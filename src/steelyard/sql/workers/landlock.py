"""Landlock, on Linux 5.13 and later: a worker opens no file but what it needs to read, and writes at most its copy.

What it needs: the private copies, the libraries that Python and an engine load on first use, and the time zones.
Source: the kernel's Documentation/userspace-api/landlock.rst and include/uapi/linux/landlock.h.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Sequence
from typing import Final

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION: Final = 1
_PATH_BENEATH: Final = 1
_READ_FILE: Final = 1 << 2
_READ_FOLDER: Final = 1 << 3
_WRITE: Final = 1 << 1 | 1 << 5 | 1 << 8
"""To write to files of a folder, to delete them and to make regular ones."""
_TRUNCATE: Final = 1 << 14
_RIGHTS: Final = ((1, 13), (2, 14), (3, 15), (5, 16))
"""Since which version how many rights over files there are; all are taken away."""

_TCP: Final = 3
"""Binding (1) and connecting (2); bits as in the kernel's linux/landlock.h, here and below."""
_SIGNALS_AND_SOCKETS: Final = 3
"""Abstract Unix sockets (1) and signals (2) of processes outside."""

_SYSTEM: Final = (
    "/usr/lib",
    "/usr/lib64",
    "/lib",
    "/lib64",
    "/etc/ld.so.cache",
    "/usr/share/zoneinfo",
    "/etc/localtime",
)
_DEVICES: Final = ("/dev/urandom", "/dev/null")


def restrict(paths: Sequence[str], written: str = "") -> bool:
    """Let this process read `paths`, libraries and time zones, and nothing else; cannot be undone.

    Threads that exist already are not restricted. New privileges must have been given up.

    Args:
        paths: files, and folders with all that is in them.
        written: a folder in which files may be made, written and deleted as well; "" is none.

    Returns:
        Whether the kernel took it.
    """
    if sys.platform != "linux":
        return False
    call = ctypes.CDLL(None).syscall
    call.restype = ctypes.c_long
    version = call(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION)
    if version < 1:
        return False
    rights = max(count for since, count in _RIGHTS if since <= version)
    attributes = [
        (1 << rights) - 1,
        *([_TCP] if version >= 4 else []),
        *([_SIGNALS_AND_SOCKETS] if version >= 6 else []),
    ]
    ruleset = struct.pack(f"={len(attributes)}Q", *attributes)
    rules = call(_CREATE_RULESET, ruleset, ctypes.c_size_t(len(ruleset)), 0)
    if rules < 0:
        return False
    try:
        for path in (*paths, *_libraries(sys.path), *_SYSTEM, *_DEVICES):
            _allow(call, rules, path, _READ_FILE | _READ_FOLDER)
        if written:
            # A kernel that has no right to truncate does not refuse it either.
            _allow(call, rules, written, (_READ_FILE | _READ_FOLDER | _WRITE | _TRUNCATE) & attributes[0])
        return bool(call(_RESTRICT_SELF, rules, 0) == 0)
    finally:
        os.close(rules)


def _libraries(paths: Sequence[str]) -> list[str]:
    """Where Python's and the engines' modules are: the standard library, package folders, this package.

    Other entries of the search path may be a user's own folders, in which anything may lie.
    """
    package = os.path.abspath(f"{__file__}/../../..")  # noqa: PTH100 (no pathlib in a worker)
    standard = os.path.dirname(os.path.abspath(os.__file__))  # noqa: PTH100, PTH120 (the same)
    packages = [path for path in paths if path.rstrip("/").endswith(("site-packages", "dist-packages", "lib-dynload"))]
    return [package, standard, *packages]


def _allow(call: ctypes._NamedFuncPointer, rules: int, path: str, rights: int) -> None:
    """Allow `rights` beneath a path; to a file only those that a file can have."""
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not os.path.isdir(path):  # noqa: PTH112 (no pathlib in a worker)
        rights &= _READ_FILE
    call(_ADD_RULE, rules, _PATH_BENEATH, struct.pack("=Qi", rights, fd), 0)
    # A rule is tied to what the kernel holds of a file; in /proc that is made again once nobody has the file open.
    if not path.startswith("/proc/"):
        os.close(fd)
