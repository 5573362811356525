"""What a command does when nobody reads what it prints any more."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TextIO


@contextlib.contextmanager
def while_read() -> Iterator[None]:
    """Print as long as somebody reads it; once nobody does, leave the block quietly.

    So `steelyard run exam.yaml | head -1` still ends with the code of its gate, and `steelyard run exam.yaml 2>&1 |
    head -1` with that of its mistake.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        _silence(sys.stdout)
        _silence(sys.stderr)


def _silence(stream: TextIO) -> None:
    """Send what is still printed to nowhere, if nobody reads it: the interpreter flushes once more when it exits."""
    try:
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
