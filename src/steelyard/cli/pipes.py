"""What a command does when nobody reads its output any more."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def while_read() -> Iterator[None]:
    """Write to standard output as long as somebody reads it; once nobody does, leave the block quietly.

    So `steelyard run exam.yaml | head -1` still ends with the code of its gate.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes once more when it exits, and must not complain then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
