"""A filter for system calls, on Linux: a worker that was taken over reaches no network and no process, starts nothing.

A last line, installed where the kernel has it, on x86-64 and ARM64. No engine needs one of these calls for a statement
that reads; what is refused fails as "not permitted". Numbers: the kernel's tables
arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h.
"""

from __future__ import annotations

import ctypes
import platform
import struct
import sys
from dataclasses import dataclass
from typing import Final

_PR_SET_SECCOMP: Final = 22
_MODE_FILTER: Final = 2
_ALLOW: Final = 0x7FFF0000
_NOT_PERMITTED: Final = 0x00050000 | 1
_UNKNOWN: Final = 0x00050000 | 38

# Instructions of classic BPF: load a word, jump (equal, from, any bit of), return; and where the words are.
_LOAD, _EQUAL, _FROM, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16

_X32_FROM: Final = 0x40000000
"""Numbers of the second table of x86-64, for which nothing of ours is built."""

_OPEN_TO_WRITE: Final = 0o1 | 0o2 | 0o100 | 0o1000
"""O_WRONLY, O_RDWR, O_CREAT, O_TRUNC."""

_THREAD: Final = 0x10000
"""The flag of clone that makes a thread, not a process."""

_IN_MEMORY: Final = (435, 437)
"""clone3 and openat2, whose arguments no filter can read: "unknown", upon which libraries take the older calls."""


@dataclass(frozen=True, slots=True)
class _Machine:
    arch: int
    refused: tuple[int, ...]
    clone: int
    opens: tuple[tuple[int, int], ...]
    """Number of an open call, and which argument holds its flags."""


_MACHINES: Final = {
    "x86_64": _Machine(
        0xC000003E,
        (
            *(41, 42, 43, 49, 50, 53, 288),  # socket, connect, accept, bind, listen, socketpair, accept4
            *(57, 58, 59, 322, 62, 200, 424, 434, 438),  # fork, vfork, execve, execveat, kill, tkill, pidfd_*
            *(101, 310, 311, 298, 321, 323, 425),  # ptrace, process_vm_*, perf_event_open, bpf, userfaultfd, io_uring
            *(
                85,
                272,
                308,
                165,
                166,
                155,
                161,
                167,
                169,
            ),  # creat, unshare, setns, mount, umount, pivot_root, chroot, swapon
            *(29, 64, 68, 240, 248, 249, 250, 304, 175, 313, 246),  # shared memory, queues, keys, handles, modules
        ),
        56,
        ((2, 1), (257, 2)),
    ),
    "aarch64": _Machine(
        0xC00000B7,
        (
            *(198, 199, 200, 201, 202, 203, 242),
            *(221, 281, 129, 130, 424, 434, 438),
            *(117, 270, 271, 241, 280, 282, 425),
            *(97, 268, 40, 39, 41, 51, 224, 142),
            *(194, 190, 186, 180, 217, 218, 219, 265, 105, 273, 104),
        ),
        220,
        ((56, 2),),
    ),
}


def install() -> bool:
    """Filter this process from here on, with its threads; cannot be undone. New privileges must be given up before.

    Returns:
        Whether the kernel took it.
    """
    machine = _MACHINES.get(platform.machine()) if sys.platform == "linux" and sys.byteorder == "little" else None
    if machine is None:
        return False
    program = _program(machine)
    code = ctypes.create_string_buffer(program, len(program))
    # struct sock_fprog: the number of instructions, and where they are.
    held = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(code)))
    prctl = ctypes.CDLL(None).prctl
    prctl.argtypes = [ctypes.c_int, *([ctypes.c_ulong] * 4)]
    return not prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.addressof(held), 0, 0)


def _program(machine: _Machine) -> bytes:
    """The filter: `refuse` where a number is refused, and where an argument's bits say so."""
    refuse = _line(_RETURN, _NOT_PERMITTED)
    lines = [_line(_LOAD, _ARCH), _line(_EQUAL, machine.arch, 1, 0), refuse]
    lines += [_line(_LOAD, _NUMBER), _line(_FROM, _X32_FROM, 0, 1), refuse]
    for number in machine.refused:
        lines += [_line(_EQUAL, number, 0, 1), refuse]
    for number in _IN_MEMORY:
        lines += [_line(_EQUAL, number, 0, 1), _line(_RETURN, _UNKNOWN)]
    allow = _line(_RETURN, _ALLOW)
    # Each of these ends the program, as the word in hand is no longer the number.
    lines += [
        _line(_EQUAL, machine.clone, 0, 4),
        _line(_LOAD, _ARGUMENTS),
        _line(_ANY_BIT, _THREAD, 1, 0),
        refuse,
        allow,
    ]
    for number, place in machine.opens:
        flags = _line(_LOAD, _ARGUMENTS + 8 * place)
        lines += [_line(_EQUAL, number, 0, 4), flags, _line(_ANY_BIT, _OPEN_TO_WRITE, 0, 1), refuse, allow]
    return b"".join([*lines, allow])


def _line(code: int, value: int, when_true: int = 0, when_false: int = 0) -> bytes:
    """One instruction: a struct sock_filter."""
    return struct.pack("=HBBI", code, when_true, when_false, value)
