"""Gives memory back after a computation over large runs: a viewer is open all day, and one comparison takes 60 MB.

The C library keeps what Python has freed.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable
from typing import Any, Final

from steelyard.store import Run

LARGE: Final = 40_000
"""Records of all runs together from which on a computation takes 0.2 s of CPU, and memory that is worth giving back."""
_MOST_POOLS: Final = -8
"""`M_ARENA_MAX` of malloc.h."""


def is_large(runs: Iterable[Run]) -> bool:
    """Whether these runs together have more than `LARGE` records."""
    return sum(run.done for run in runs) > LARGE


def give_back() -> None:
    """Give memory that is free back to the system."""
    gc.collect()
    if (trim := _of_c_library("malloc_trim")) is not None:
        trim(0)


def share_memory_of_threads() -> None:
    """Let all threads take memory from two pools: by itself glibc keeps one for each, and what is free in it."""
    if (set_option := _of_c_library("mallopt")) is not None:
        set_option(_MOST_POOLS, 2)


def _of_c_library(name: str) -> Any:
    """A function of glibc; None elsewhere: musl has neither, and gives back by itself."""
    if sys.platform != "linux":
        return None
    import ctypes

    return getattr(ctypes.CDLL(None), name, None)
