"""Limits that the operating system puts on a worker, before its first statement and again for each one.

Every limit here is a second or third line: the engines' own settings come first. They are for what those miss, a loop
in C that calls no progress handler, an allocation that no setting counts, a hole in an engine.

Landlock, on Linux 5.13 and later, takes the file tree: a worker opens no file but what it needs to read (the private
copies, the libraries that Python and an engine load on first use, and the time zones), and writes at most its copy.
Source: the kernel's Documentation/userspace-api/landlock.rst and include/uapi/linux/landlock.h.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import struct
import sys
from collections.abc import Sequence
from typing import Final

from steelyard.posix import resource
from steelyard.sql.results import EngineName
from steelyard.sql.workers import seccomp

MIB: Final = 2**20
_ROOM_MIB: Final[dict[EngineName, int]] = {"sqlite": 64, "duckdb": 256, "postgres": 64, "mysql": 64}
"""Address space beyond the engine's cap: the result as Python objects; DuckDB's threads reserve stacks and arenas."""

_ALSO_READS: Final[dict[EngineName, tuple[str, ...]]] = {
    "sqlite": (),
    "duckdb": ("/proc/self/cgroup", "/sys/fs/cgroup", "/sys/devices/system/cpu"),
    "postgres": (),
    "mysql": (),
}
"""DuckDB looks for its memory and cores there, and crashes where it may not open its /proc/self/cgroup. All of /proc
would show it the environment of other processes of the same user."""

_MERGE_MIB: Final = 64
_FILES: Final = 32
"""Open files; a worker of SQLite has 5 while a query runs, one of DuckDB 6."""
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_NO_NEW_PRIVS: Final = 38


def leave_the_parent() -> None:
    """Own session, no terminal, no folder, no core dump, no new privileges; killed together with the template."""
    if os.getsid(0) != os.getpid():
        os.setsid()
    os.umask(0o077)
    os.chdir("/")
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_NOFILE, _FILES)
    if sys.platform == "linux":
        _prctl(_PR_SET_PDEATHSIG, 9)
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def hold(engine: EngineName, memory_mib: int, folder: str) -> None:
    """Limit file size and address space for the rest of the worker's life.

    Args:
        engine: which decides the room above the cap.
        memory_mib: MiB that the engine may hold; the limit is that much above what the process has now.
        folder: of the private copies, all of the file tree that it may still read but for libraries.
    """
    # Landlock and the filter are not on every system and kernel; the engines' own settings hold without them.
    restrict_files((folder, *_ALSO_READS[engine]))
    _lower(resource.RLIMIT_FSIZE, 0)
    space = _address_space() + (memory_mib + _ROOM_MIB[engine]) * MIB
    _lower(resource.RLIMIT_AS, space)
    # Last, as it lets no limit be set but that of CPU time.
    seccomp.install()


def hold_while_preparing(engine: EngineName, file: str, memory_mib: int, *, growth: int = 2) -> None:
    """Limits of a worker that writes to a private copy: no file but those next to it.

    Args:
        engine: which decides what else is read, and the room above the cap.
        file: the private copy, alone in its folder but for its own log.
        memory_mib: MiB that the engine may hold, as for a query.
        growth: how many times as large as what is in the folder a file may become.
    """
    folder = os.path.dirname(file)  # noqa: PTH120 (no pathlib in a worker)
    with os.scandir(folder) as entries:
        size = sum(entry.stat(follow_symlinks=False).st_size for entry in entries)
    restrict_files(_ALSO_READS[engine], folder)
    # Merging a log adds at most its size; DuckDB writes changed blocks before it frees the old ones.
    _lower(resource.RLIMIT_FSIZE, growth * size + _MERGE_MIB * MIB)
    _lower(resource.RLIMIT_AS, _address_space() + (memory_mib + _ROOM_MIB[engine]) * MIB)
    seccomp.install("prepare")


def allow_cpu(seconds: float) -> None:
    """Let the process use `seconds` more of CPU time, and at most two more, which is as exact as the limit is."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft_limit = math.ceil(used.ru_utime + used.ru_stime + seconds) + 1
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (soft_limit, hard))


def lower_memory(memory_mib: int) -> None:
    """Let the process take so many MiB more, and make no file longer."""
    _lower(resource.RLIMIT_FSIZE, 0)
    _lower(resource.RLIMIT_AS, _address_space() + memory_mib * MIB)


def _lower(limit: int, value: int) -> None:
    """Set both limits; a system that does not know one (macOS: the address space) goes without."""
    _, hard = resource.getrlimit(limit)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(limit, (value, value))


def _address_space() -> int:
    """Bytes of address space in use; a guess where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 (pathlib is not imported in a worker)
            return int(file.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 256 * MIB


def _prctl(option: int, value: int) -> None:
    with contextlib.suppress(OSError, AttributeError):
        prctl = ctypes.CDLL(None).prctl
        prctl.argtypes = [ctypes.c_int, *([ctypes.c_ulong] * 4)]
        prctl(option, value, 0, 0, 0)


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


def restrict_files(paths: Sequence[str], written: str = "") -> bool:
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
