"""Starts and limits the processes that read files of binary formats: only they are lost when a file attacks the reader.

The libraries are C++: a file may crash them, keep them busy without end, or have them fill the memory.
"""

# Why it is so, and what was rejected: docs/decisions/data-limited-work.md

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from steelyard.errors import DataError
from steelyard.posix import resource

_BOOT: Final = (
    "import sys;from importlib import import_module;module,path,memory,cpu,*sys.path[:0]=sys.argv[1:];"
    "import_module(module).main(path,int(memory),int(cpu))"
)


def command_for(module: str, path: Path, memory_bytes: int, cpu_s: int) -> list[str]:
    """The command that runs `main(path, memory_bytes, cpu_s)` of a module of ours.

    Isolated and without site-packages hooks: files in the working folder cannot replace a module of the reader. It gets
    the import path of this process as arguments.
    """
    paths = [str(Path(__file__).resolve().parents[2]), *(entry for entry in sys.path if entry)]
    return [sys.executable, "-I", "-S", "-c", _BOOT, module, str(path.resolve()), str(memory_bytes), str(cpu_s), *paths]


def environment() -> dict[str, str]:
    """What such a process has of an environment: no key of ours."""
    return {"LANG": "C.UTF-8", "PATH": os.defpath, "ARROW_DEFAULT_MEMORY_POOL": "system"}


def start(command: list[str]) -> subprocess.Popen[bytes]:
    """Start a reader in a session of its own, so that Ctrl-C on the terminal does not end it in the middle of a run."""
    return subprocess.Popen(  # noqa: S603 (our own interpreter and code, no shell)
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        start_new_session=True,
    )


def json_lines_of(module: str, path: Path, memory_bytes: int, timeout_s: float, *, reader: str = "reader") -> list[Any]:
    """The JSON values that a reader writes on a file, one on each line.

    Args:
        module: of the reader; see `command_for`.
        path: an existing file.
        memory_bytes: that it may use.
        timeout_s: limit in seconds.
        reader: what messages call it.

    Raises:
        DataError: it crashed, took too long or ended early.
    """
    process = start(command_for(module, path, memory_bytes, int(timeout_s) + 1))
    try:
        output, errors = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        suffix = path.suffix.lstrip(".").upper() or "file"
        raise DataError(f"{path.name} could not be read within {timeout_s:g} s; is it a valid {suffix}?") from None
    finally:
        process.kill()
        process.communicate()
    if process.returncode:
        raise DataError(f"{path.name} could not be read: {_reason_of_end(process.returncode, errors, reader)}")
    return [json.loads(line) for line in output.splitlines()]


def _reason_of_end(code: int, errors: bytes, reader: str) -> str:
    """Why a reader ended early."""
    if code == -signal.SIGABRT:
        return f"the {reader} aborted, as it does when it runs out of memory"
    if code < 0:
        return f"the {reader} crashed on it (signal {-code})"
    last_line = errors.decode("utf-8", "replace").strip().rpartition("\n")[2]
    return "it needs too much memory" if "MemoryError" in last_line else f"the {reader} failed: {last_line[:200]}"


def limit(memory_bytes: int, cpu_s: int) -> None:
    """Limit the memory and the CPU time of this process, which may write no file."""
    for name, most in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, cpu_s),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(name)
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(name, (allowed, allowed))
        except ValueError:
            if name != resource.RLIMIT_AS:  # which macOS refuses; the caller's limits of time and size hold there
                raise
