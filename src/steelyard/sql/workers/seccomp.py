"""A filter for system calls, on Linux: a worker may do what its engine needs to read, and nothing else.

A last line of defence, installed where the kernel has it, on x86-64 and ARM64. It is an allow-list: whatever is not
named in `system_calls.txt` fails as "not permitted" (EPERM), nothing is ever killed for it. Arguments decide where a
call can also reach further: signals, limits and processor masks only of the process itself, new threads but no process,
no file opened for writing, no new executable memory.

Source of the instructions: the kernel's Documentation/userspace-api/seccomp_filter.rst and include/uapi/linux/filter.h.
What the engines call was collected with strace over the tests of this sandbox (SQLite, DuckDB, Python 3.11 to 3.13,
glibc); the older calls are those of other C libraries.

Source of the numbers of system calls: the kernel's tables arch/x86/entry/syscalls/syscall_64.tbl and
include/uapi/asm-generic/unistd.h. A test holds them to the kernel headers of the machine that it runs on.
"""

# Why it is so, and what was rejected: docs/decisions/sql-sandbox.md

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

Purpose = Literal["query", "prepare"]

_PR_SET_SECCOMP: Final = 22
_MODE_FILTER: Final = 2
_ALLOW: Final = 0x7FFF0000
_ERROR: Final = 0x00050000
_NOT_PERMITTED: Final = _ERROR | 1
_UNKNOWN: Final = _ERROR | 38
_DONE: Final = _ERROR | 0
"""The call returns 0 and was not made."""

# Instructions of classic BPF: load a word, jump (equal, from, any bit of), return; and where the words are.
_LOAD, _EQUAL, _FROM, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16

_ARCHITECTURES: Final[Mapping[Processor, int]] = MappingProxyType({"x86_64": 0xC000003E, "aarch64": 0xC00000B7})
_X32_FROM: Final = 0x40000000
"""Numbers of the second table of x86-64, for which nothing of ours is built."""

_OPEN_TO_WRITE: Final = 0o1 | 0o2 | 0o100 | 0o1000
"""O_WRONLY, O_RDWR, O_CREAT, O_TRUNC."""
_THREAD: Final = 0x10000
"""The flag of clone that makes a thread, not a process."""
_NO_THREAD: Final = 0x7E020000 | 0x800000 | 0x8000 | 0x4000 | 0x2000 | 0x1000
"""Flags of clone for name spaces, debuggers and children of another parent; libraries that make threads set none."""
_WRITE, _EXECUTE, _ANONYMOUS = 0x2, 0x4, 0x20
_RLIMIT_CPU: Final = 0
_PRCTL: Final = (15, 16)
"""PR_SET_NAME, PR_GET_NAME: of threads."""
_FCNTL: Final = (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030)
"""Duplicates, flags and locks. Not F_SETOWN and F_SETSIG, with which the kernel sends a signal to any process."""
_IOCTL: Final = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX."""
_MADVISE: Final = (0, 1, 2, 3, 4, 8, 14, 15, 16, 17)
"""What allocators say. Not MADV_HWPOISON, with which root takes memory away from the machine."""
_SAME_OWNER: Final = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class _ArgumentCheck:
    """What the low word of an argument has to be; the kernel reads no more of numbers and flags.

    Args:
        place: of the argument, from 0 on.
        kind: `one of` the values, `some bit` or `no bit` of the value; `nothing`: a null pointer, both words of it.
        values: see `kind`.
    """

    place: int
    kind: Literal["one of", "some bit", "no bit", "nothing"]
    values: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Rule:
    """A call whose arguments decide: `answer` where all checks of one of the alternatives hold, else EPERM."""

    name: str
    alternatives: tuple[tuple[_ArgumentCheck, ...], ...]
    answer: int = _ALLOW


_Line = tuple[int, int, int, int]
"""An instruction: code, value, and how many to skip where it holds and where it does not."""


def install(purpose: Purpose = "query") -> bool:
    """Filter this process from here on, with its threads; cannot be undone. New privileges must be given up before.

    Args:
        purpose: `query` for a worker that only reads, `prepare` for one that writes to a private copy.

    Returns:
        Whether the kernel took it.
    """
    processor = _processor()
    if processor is None:
        return False
    program = _program(processor, purpose)
    code = ctypes.create_string_buffer(program, len(program))
    # struct sock_fprog: the number of instructions, and where they are.
    filter_struct = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(code)))
    prctl = ctypes.CDLL(None).prctl
    prctl.argtypes = [ctypes.c_int, *([ctypes.c_ulong] * 4)]
    return not prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.addressof(filter_struct), 0, 0)


def _processor() -> Processor | None:
    """The processor whose call numbers apply; None on another system, or for 32-bit code on a 64-bit kernel."""
    if sys.platform != "linux" or sys.byteorder != "little" or sys.maxsize < 2**32:
        return None
    machine = platform.machine()
    return next((name for name in _ARCHITECTURES if name == machine), None)


def _rules() -> tuple[_Rule, ...]:
    """The calls whose arguments decide; built in the process that is filtered, as they contain its own id."""
    pid = os.getpid()
    read_only, self_only = _ArgumentCheck(1, "no bit", (_OPEN_TO_WRITE,)), _ArgumentCheck(0, "one of", (0, pid))
    return (
        _Rule("open", ((read_only,),)),
        _Rule("openat", ((_ArgumentCheck(2, "no bit", (_OPEN_TO_WRITE,)),),)),
        # To an address: only a socket that is not connected takes one.
        _Rule("sendto", ((_ArgumentCheck(4, "nothing"),),)),
        # Libraries may still be loaded, code that is made in memory may not.
        _Rule(
            "mmap",
            (
                (_ArgumentCheck(2, "no bit", (_EXECUTE,)),),
                (_ArgumentCheck(2, "no bit", (_WRITE,)), _ArgumentCheck(3, "no bit", (_ANONYMOUS,))),
            ),
        ),
        _Rule("mprotect", ((_ArgumentCheck(2, "no bit", (_EXECUTE,)),),)),
        _Rule("madvise", ((_ArgumentCheck(2, "one of", _MADVISE),),)),
        _Rule("clone", ((_ArgumentCheck(0, "some bit", (_THREAD,)), _ArgumentCheck(0, "no bit", (_NO_THREAD,))),)),
        # A signal to itself: abort(), raise(). The first thread has the process's own id, which is what tkill can tell.
        *(_Rule(name, ((_ArgumentCheck(0, "one of", (pid,)),),)) for name in ("kill", "tkill", "tgkill")),
        _Rule("sched_getaffinity", ((self_only,),)),
        # All limits are read; that of CPU time is set again for each query.
        _Rule(
            "prlimit64",
            ((self_only, _ArgumentCheck(2, "nothing")), (self_only, _ArgumentCheck(1, "one of", (_RLIMIT_CPU,)))),
        ),
        _Rule("prctl", ((_ArgumentCheck(0, "one of", _PRCTL),),)),
        _Rule("fcntl", ((_ArgumentCheck(1, "one of", _FCNTL),),)),
        _Rule("ioctl", ((_ArgumentCheck(1, "one of", _IOCTL),),)),
        # As root SQLite gives its logs the owner of the database, who is the worker's own user: nothing need be done.
        _Rule(
            "fchown",
            (
                (
                    _ArgumentCheck(1, "one of", (os.geteuid(), _SAME_OWNER)),
                    _ArgumentCheck(2, "one of", (os.getegid(), _SAME_OWNER)),
                ),
            ),
            _DONE,
        ),
    )


def _program(processor: Processor, purpose: Purpose) -> bytes:
    """The filter: refuse what is not for this processor, allow what is named, look at arguments, refuse the rest."""
    calls = _system_calls(processor)
    uses = {"any", "prepare"} if purpose == "prepare" else {"any"}
    refuse = (_RETURN, _NOT_PERMITTED, 0, 0)
    lines: list[_Line] = [(_LOAD, _ARCH, 0, 0), (_EQUAL, _ARCHITECTURES[processor], 1, 0), refuse]
    lines += [(_LOAD, _NUMBER, 0, 0), (_FROM, _X32_FROM, 0, 1), refuse]
    for number in sorted(call.number for call in calls.values() if call.use in uses):
        lines += [(_EQUAL, number, 0, 1), (_RETURN, _ALLOW, 0, 0)]
    for rule in _rules():
        if rule.name in calls and calls[rule.name].use not in uses:
            block = _block(rule)
            lines += [(_EQUAL, calls[rule.name].number, 0, len(block)), *block]
    # Their arguments are in memory, which no filter can read: upon "unknown" libraries take the older calls.
    for number in sorted(call.number for call in calls.values() if call.use == "unknown"):
        lines += [(_EQUAL, number, 0, 1), (_RETURN, _UNKNOWN, 0, 0)]
    # What is newer than the table: libraries try it, and go back to older calls where the kernel does not know it.
    lines += [(_FROM, NEWEST + 1, 0, 1), (_RETURN, _UNKNOWN, 0, 0), refuse]
    return b"".join(struct.pack("=HBBI", code, yes, no, value) for code, value, yes, no in lines)


def _block(rule: _Rule) -> list[_Line]:
    """The instructions for a call with the rule's number; they end in an answer, as the number is no longer loaded."""
    lines: list[_Line] = []
    for checks in rule.alternatives:
        lines += _alternative(checks, rule.answer)
    return [*lines, (_RETURN, _NOT_PERMITTED, 0, 0)]


def _alternative(checks: Sequence[_ArgumentCheck], answer: int) -> list[_Line]:
    """Return `answer` where all checks hold; where one does not, continue after these instructions."""
    lines: list[_Line] = [(_RETURN, answer, 0, 0)]
    # From the last to the first, as each has to know how far it is to the end.
    for check in reversed(checks):
        at = _ARGUMENTS + 8 * check.place
        fails = len(lines)
        if check.kind == "one of":
            last = len(check.values) - 1
            tests = [(_EQUAL, value, last - nth, fails if nth == last else 0) for nth, value in enumerate(check.values)]
            lines = [(_LOAD, at, 0, 0), *tests, *lines]
        elif check.kind == "nothing":
            high = [(_LOAD, at + 4, 0, 0), (_EQUAL, 0, 0, fails)]
            lines = [(_LOAD, at, 0, 0), (_EQUAL, 0, 0, fails + len(high)), *high, *lines]
        else:
            some = check.kind == "some bit"
            lines = [(_LOAD, at, 0, 0), (_ANY_BIT, check.values[0], 0 if some else fails, fails if some else 0), *lines]
    return lines


Processor = Literal["x86_64", "aarch64"]

NEWEST: Final = 469
"""The last number of Linux 6.18. What has a higher one did not exist when these tables were made."""

_TABLE: Final = "system_calls.txt"


class _SystemCall(NamedTuple):
    """A line of the table: the number of a call, and how a worker may call it."""

    number: int
    use: str


def _system_calls(processor: Processor) -> dict[str, _SystemCall]:
    """The system calls of the table that a processor's kernel has, by name."""
    column = 1 + list(_ARCHITECTURES).index(processor)
    path = os.path.join(os.path.dirname(__file__), _TABLE)  # noqa: PTH118, PTH120 (no pathlib in a worker)
    with open(path, encoding="ascii") as file:  # noqa: PTH123 (the same)
        rows = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return {row[0]: _SystemCall(int(row[column]), row[3]) for row in rows if row[column] != "-"}
