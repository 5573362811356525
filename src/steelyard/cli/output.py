"""Output of commands: printing to a pipe that may be closed, writing files, and exit codes."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, TextIO

from steelyard.files import file_errors, make_private_folder, open_private

USER_MISTAKE: Final = 2
UNDECIDED: Final = 3
BROKEN: Final = 4
INTERRUPTED: Final = 130
"""Exit codes; 1 (the gate does not hold) and 3 (undecided) come from the gate itself."""


@contextlib.contextmanager
def while_read() -> Iterator[None]:
    """Context in which to print: if the reader of the output has gone, the block ends without an error.

    `steelyard run exam.yaml | head -1` therefore still exits with the code of the gate, and `steelyard run exam.yaml
    2>&1 | head -1` with the code of the mistake. A closed terminal is treated like a closed pipe.
    """
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        # A closed terminal gives EIO without a file name; EIO with one is a defect of the disk.
        if not isinstance(error, BrokenPipeError) and (error.errno != errno.EIO or error.filename is not None):
            raise
        for stream in (sys.stdout, sys.stderr):
            _silence(stream, hung_up=error.errno == errno.EIO)


def _silence(stream: TextIO, *, hung_up: bool) -> None:
    """Redirect a stream that has no reader to /dev/null, because the interpreter flushes it once more at exit."""
    try:
        stream.flush()
        gone = hung_up and stat.S_ISCHR(os.fstat(stream.fileno()).st_mode)
    except OSError:
        gone = True
    if gone:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def check_writable(*paths: Path | None) -> None:
    """Create the folders of output files and check that each file can be written; None is skipped.

    Commands call this before they send anything, so that a mistyped path does not cost a run.

    Raises:
        ConfigError: a file cannot be written, with the reason.
    """
    for path in paths:
        if path is None:
            continue
        existed = path.exists()
        with file_errors(path, "written"):
            make_private_folder(path.parent)
            open_private(path, "ab").close()
        if not existed:
            path.unlink()


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8 and create its folder.

    Raises:
        ConfigError: the file cannot be written.
    """
    write_lines(path, [text])


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines to a file as they come, line ends unchanged, and create its folder.

    Raises:
        ConfigError: the file cannot be written.
    """
    with file_errors(path, "written"):
        make_private_folder(path.parent)
        with open_private(path, "w", encoding="utf-8", errors="replace", newline="") as file:
            file.writelines(lines)


def exit_code(state: str, *, has_result: bool = True) -> int:
    """The exit code of a command whose run ended in `state`; a finished run without any result counts as broken."""
    if state == "broken" or (state == "finished" and not has_result):
        return BROKEN
    return 0 if state == "finished" else INTERRUPTED
