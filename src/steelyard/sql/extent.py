"""Limits cells and CPU time of a comparison in the caller's process.

Results come from restricted workers, tables from targets that nothing restricts, and both are compared in the caller's
own process. The cells of a table are counted before it is processed; the time is checked between the steps of a
comparison, each of which is short for a table of that size. The limit is on CPU time, so that a busy machine does not
change a run's results.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain
from typing import Any, Final

_NESTED: Final = (list, tuple, dict, set, frozenset)
_END: Final[ContextVar[float]] = ContextVar("steelyard_comparison_end")
"""CPU time of the thread at which its current comparison has to end."""


class ComparisonStop(Exception):
    """Raised where two results are too large or take too long to compare; there is then no verdict.

    Attributes:
        kind: `too_large` (the reference) or `timeout` (the comparison), for a program.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Effort:
    """The CPU time that all comparisons of one sample share.

    Args:
        seconds: of CPU time.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._left = seconds

    @contextmanager
    def spend(self) -> Iterator[None]:
        """Limit the comparisons of this thread to the time that is left; inside another limit the outer one counts.

        Raises:
            ComparisonStop: the time is over, as `check_time` finds inside the block.
        """
        if _END.get(None) is not None:
            yield
            return
        started = time.thread_time()
        token = _END.set(started + self._left)
        try:
            yield
        except _OverError:
            allowed = f"{self._seconds:g} s of CPU time (limits: compare_timeout_s)"
            raise ComparisonStop("timeout", f"comparing the results took more than {allowed}") from None
        finally:
            _END.reset(token)
            self._left = max(0.0, self._left - (time.thread_time() - started))


class _OverError(Exception):
    """The time is over."""


def check_time() -> None:
    """Stop the comparison if its time is over; called between its steps."""
    end = _END.get(None)
    if end is not None and time.thread_time() > end:
        raise _OverError


def count_cells(rows: Sequence[Sequence[Any]], most: int) -> int:
    """Count the cells of a table and the parts of lists and maps in them; stops beyond `most`.

    >>> count_cells([(1, "a"), (2, [3, [4, 5]])], 100)
    8
    >>> count_cells([[list(range(1000))]] * 1000, 100) > 100
    True
    """
    total = sum(map(len, rows))
    if total > most or not _holds_nested(chain.from_iterable(rows)):
        return total
    for cell in chain.from_iterable(rows):
        if isinstance(cell, _NESTED):
            total += count_parts(cell, most - total)
            if total > most:
                break
    return total


def _holds_nested(cells: Iterable[Any]) -> bool:
    return any(issubclass(kind, _NESTED) for kind in set(map(type, cells)))


def count_parts(cell: Any, most: int) -> int:
    """Count the parts of a list or map at every depth, keys of maps included; stops beyond `most`.

    >>> count_parts({"a": [1, 2]}, 100)
    4
    """
    total = 0
    waiting = [cell]
    while waiting and total <= most:
        part = waiting.pop()
        parts = list(chain.from_iterable(part.items())) if isinstance(part, dict) else part
        total += len(parts)
        if total <= most and _holds_nested(parts):
            waiting += [inner for inner in parts if isinstance(inner, _NESTED)]
    return total
