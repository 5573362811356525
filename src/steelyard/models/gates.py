"""One gate per endpoint, shared by all workers, and the pauses that a stop must be able to end.

A 429 closes a gate for as long as the endpoint says and lowers the number of calls that may be in flight (to 0.7 of it,
once per round); every answer raises it again by 1/limit: additive increase, multiplicative decrease, as in D. Chiu and
R. Jain, "Analysis of the increase and decrease algorithms", 1989.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from steelyard.errors import SteelyardError

MARGIN_S: Final = 0.03
"""Added to what the endpoint told us to wait, so that rounding on its side does not make us early."""
_DECREASE: Final = 0.7


class Pauses:
    """Everything that waits without anything in flight: back-offs and queues; `end` wakes them all with an error."""

    def __init__(self) -> None:
        self._futures: set[asyncio.Future[None]] = set()
        self._ended: SteelyardError | None = None

    @property
    def ended(self) -> SteelyardError | None:
        """Why nothing more may be sent, or None."""
        return self._ended

    def resume(self) -> None:
        """Let pauses be pauses again: what ended them was one run's affair."""
        self._ended = None

    def end(self, error: SteelyardError) -> None:
        """Let every pause, now and later, raise `error`."""
        self._ended = error
        for future in tuple(self._futures):
            if not future.done():
                future.set_exception(error)

    async def wait(self, future: asyncio.Future[None]) -> None:
        """Wait until `future` is done or the pauses are ended."""
        if self._ended is not None:
            raise self._ended
        self._futures.add(future)
        try:
            await future
        finally:
            self._futures.discard(future)

    async def sleep(self, seconds: float) -> None:
        """Wait `seconds`, unless the pauses are ended first."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        handle = loop.call_later(seconds, _finish, future)
        try:
            await self.wait(future)
        finally:
            handle.cancel()


class Gate:
    """How many calls may be in flight at one endpoint, and from when on.

    Args:
        most: the limit that is never passed.
        pauses: ended when the run stops, so that nobody queues for ever.
    """

    def __init__(self, most: int, pauses: Pauses) -> None:
        self.answered = False
        self._most = float(most)
        self._limit = float(most)
        self._active = 0
        self._open_at = 0.0
        self._last_cut = -1.0
        self._queue: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._pauses = pauses

    @property
    def limit(self) -> int:
        """Calls that may be in flight now."""
        return int(self._limit)

    async def enter(self) -> None:
        """Wait for a place; first come, first served."""
        loop = asyncio.get_running_loop()
        if not self._queue and self._active < self.limit and loop.time() >= self._open_at:
            self._active += 1
            return
        future: asyncio.Future[None] = loop.create_future()
        self._queue.append(future)
        self._let_in()
        try:
            await self._pauses.wait(future)
        except BaseException:
            if future.done() and not future.cancelled() and future.exception() is None:
                self.leave()
            elif future in self._queue:
                self._queue.remove(future)
            raise

    def leave(self) -> None:
        """Give the place back."""
        self._active -= 1
        if self._queue:
            self._let_in()

    def praise(self) -> None:
        """An answer came: raise the limit a little."""
        self.answered = True
        if self._limit < self._most:
            self._limit = min(self._most, self._limit + 1 / self._limit)

    def punish(self, sent_at: float, retry_after_s: float | None) -> None:
        """A call sent at `sent_at` was put off: lower the limit, once per round, and close for as long as told."""
        now = asyncio.get_running_loop().time()
        if sent_at > self._last_cut:
            self._limit = max(1.0, min(self._limit, float(self._active)) * _DECREASE)
            self._last_cut = now
        if retry_after_s is not None:
            self._open_at = max(self._open_at, now + retry_after_s + MARGIN_S)

    def _let_in(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        if now < self._open_at:
            if self._timer is None:
                self._timer = loop.call_at(self._open_at, self._reopen)
            return
        while self._queue and self._active < self.limit:
            future = self._queue.popleft()
            if not future.done():
                self._active += 1
                future.set_result(None)

    def _reopen(self) -> None:
        self._timer = None
        self._let_in()


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
