"""Time limits of samples and attempts, all watched by one timer of the event loop.

`asyncio.timeout` makes a timer for each limit, and nearly all of them are cancelled unused. Here a limit is an entry of
a set, and one timer waits for the earliest: measured, a limit costs a third of `asyncio.timeout`.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self


class Deadlines:
    """The limits that are running now, of tasks of one event loop."""

    __slots__ = ("_live", "_timer")

    def __init__(self) -> None:
        self._live: set[Deadline] = set()
        self._timer: asyncio.TimerHandle | None = None

    def limit(self, seconds: float) -> Deadline:
        """A context manager that cancels the current task after so many seconds and then raises TimeoutError."""
        return Deadline(self, seconds)

    def _add(self, deadline: Deadline, loop: asyncio.AbstractEventLoop) -> None:
        self._live.add(deadline)
        # Limits of one kind are equally long, so the timer nearly always is due before a new one.
        if self._timer is None or deadline.at < self._timer.when():
            self._arm(deadline.at, loop)

    def _arm(self, at: float, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_at(at, self._sweep, loop)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Expire what is due, and wait for the next."""
        now = loop.time()
        self._timer = None
        for deadline in [deadline for deadline in self._live if deadline.at <= now]:
            self._live.discard(deadline)
            deadline.expire()
        if self._live:
            self._arm(min(deadline.at for deadline in self._live), loop)

    def close(self) -> None:
        """Cancel the timer: it may be due long after the last limit has ended."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Deadline:
    """One running limit; like `asyncio.timeout`, it does not touch a cancellation that comes from elsewhere."""

    __slots__ = ("_cancelling", "_expired", "_owner", "_seconds", "_task", "at")

    def __init__(self, owner: Deadlines, seconds: float) -> None:
        self._owner = owner
        self._seconds = seconds
        self._expired = False

    def __enter__(self) -> Self:
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        if task is None:
            raise RuntimeError("a time limit is for a task")
        self._task = task
        self._cancelling = task.cancelling()
        self.at = loop.time() + self._seconds
        self._owner._add(self, loop)  # noqa: SLF001  # the two are one
        return self

    def expire(self) -> None:
        """Cancel the task."""
        self._expired = True
        self._task.cancel()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._expired:
            self._owner._live.discard(self)  # noqa: SLF001  # as above
        elif self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error
