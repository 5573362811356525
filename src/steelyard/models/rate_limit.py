"""Limits requests and tokens per minute: calls are spread evenly, and never exceed the limit in any 60 seconds.

Two rules hold together. A call waits until the previous one has had its share of the minute, so that calls are spread
and do not come in bursts. And it waits until the calls of the last 60 seconds leave room for it, which makes the limit
exact even after late timers. A token bucket, which fills at the rate and may be emptied at once, would let twice the
limit pass in a minute.

Of several processes the store decides when each call may be sent. A process asks for the calls that wait in it, and
gets moments to send them at (`Slots`). So there are no shares of a limit that a process without work would leave
unused, and a process that dies loses none. Moments are by the store's clock: a process counts from the time of the
answer, and gives up a moment that it misses by more than `LATEST_S`. Hence moments in `window_s + LATEST_S` seconds are
kept within the limit, which makes it exact for any `window_s` of sendings.
"""

# Why it is so, and what was rejected: docs/decisions/models-budgets.md

from __future__ import annotations

import asyncio
import math
from asyncio import Lock
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple, Protocol

from steelyard.constraints import Within

WINDOW_S: Final = 60.0
"""The time span that a rate counts, in seconds."""
_SLACK_S: Final = 0.05
"""How far a call may catch up on a timer that was late; without it every late timer would lower the rate."""
_LOOK_AGAIN_S: Final = 1.0
"""How often a waiting call checks again: a reply with fewer tokens than were booked may have made room."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Limits per endpoint for any 60 seconds; None is no limit.

    Args:
        requests_per_minute: requests, retries included.
        tokens_per_minute: of input and output together. Before a call, our estimate of its input and its `max_tokens`
            are booked; afterwards the endpoint's own counts. A single call above the limit is sent after a minute
            without others.
    """

    requests_per_minute: Annotated[int | None, Within(1)] = None
    tokens_per_minute: Annotated[int | None, Within(1)] = None

    def __bool__(self) -> bool:
        return self.requests_per_minute is not None or self.tokens_per_minute is not None

    def least_s(self, requests: int, tokens: int) -> float:
        """The least time for so many requests and tokens at one endpoint, in seconds.

        >>> Rates(requests_per_minute=60).least_s(120, 0), Rates().least_s(5, 5)
        (120.0, 0.0)
        """
        by_requests = requests * WINDOW_S / self.requests_per_minute if self.requests_per_minute else 0.0
        by_tokens = tokens * WINDOW_S / self.tokens_per_minute if self.tokens_per_minute else 0.0
        return max(by_requests, by_tokens)


@dataclass(slots=True)
class Sent:
    """One sent request: its time and its token count, estimated until the reply reports it."""

    at: float
    tokens: int


class RateLimiter:
    """Rate limiter of one endpoint; waits are first come, first served.

    Args:
        rates: the limits.
        now: a monotonic clock, in seconds.
        sleep: waits so many seconds, unless the run ends before.
    """

    def __init__(self, rates: Rates, now: Callable[[], float], sleep: Callable[[float], Awaitable[None]]) -> None:
        self._rates = rates
        self._now = now
        self._sleep = sleep
        self._turn = asyncio.Lock()
        self._sent: deque[Sent] = deque()
        self._tokens = 0
        self._next_at = 0.0

    async def wait(self, tokens: int) -> Sent:
        """Wait until a call of so many tokens may be sent, and count it as sent."""
        async with self._turn:
            while (wait_s := self._left(tokens)) > 0:
                await self._sleep(min(wait_s, _LOOK_AGAIN_S))
            now = self._now()
            sent = Sent(now, tokens)
            self._sent.append(sent)
            self._tokens += tokens
            # Evenly: an endpoint that counts shorter spans would refuse a burst at the start of each minute.
            self._next_at = max(self._next_at, now - _SLACK_S) + self._rates.least_s(1, tokens)
            return sent

    def settle(self, sent: Sent, tokens: int) -> None:
        """Correct the token count of a sent request."""
        if self._sent and sent.at >= self._sent[0].at:  # else it has left the window, and its tokens with it
            self._tokens += tokens - sent.tokens
        self._next_at += self._rates.least_s(0, tokens) - self._rates.least_s(0, sent.tokens)
        sent.tokens = tokens

    def _left(self, tokens: int) -> float:
        """Seconds until a call of so many tokens may be sent."""
        now = self._now()
        while self._sent and self._sent[0].at <= now - WINDOW_S:
            self._tokens -= self._sent.popleft().tokens
        return max(self._next_at - now, self._until_room(tokens) - now)

    def _until_room(self, tokens: int) -> float:
        """The time at which enough earlier calls have left the window; 0 where there is room now."""
        requests, most = self._rates.requests_per_minute, self._rates.tokens_per_minute
        until = 0.0
        if requests is not None and len(self._sent) >= requests:
            until = self._sent[-requests].at + WINDOW_S
        if most is not None and self._sent and self._tokens + tokens > most:
            excess = self._tokens + tokens - most
            for sending in self._sent:
                excess -= sending.tokens
                until = max(until, sending.at + WINDOW_S)
                if excess <= 0:
                    break
        return until


LATEST_S: Final = 1.0
"""How long after its moment a call may still be sent; each window is longer by this much."""
BUCKET_S: Final = 0.5
"""Tokens are summed by half seconds, so that a minute has at most 123 rows."""
AHEAD_S: Final = 1.0
"""How far ahead moments are given, divided by the number of processes: none takes a whole second from the others."""
_MOST_PAST_S: Final = 0.05
"""How far a moment may be in the past: its transaction takes time, which would otherwise lower the rate."""
_MOST_ASKED: Final = 200
_LEAST_WAIT_S: Final = 0.005


class Slots(NamedTuple):
    """When calls may be sent.

    Args:
        at: moments of the first requested calls, in seconds of the store's clock; empty where all must wait.
        now: the store's clock.
        wait_s: how long to wait before asking for the others.
    """

    at: Sequence[float]
    now: float
    wait_s: float


class Next(NamedTuple):
    """The earliest moment of the next call, by the requests so far and by their tokens, which may be corrected."""

    by_requests: float
    by_tokens: float


class Pace(Protocol):
    """The part of the store that keeps the sendings of all processes to an endpoint."""

    async def slots(self, endpoint: str, tokens: Sequence[int]) -> Slots:
        """Moments for calls with these token counts, in order; they are counted as sent."""

    def correct(self, endpoint: str, at: float, tokens: int) -> None:
        """Add tokens to the call that was sent at a moment, without waiting."""


@dataclass(frozen=True, slots=True)
class SharedRates:
    """The limits of an endpoint over several processes.

    Args:
        rates: of all processes together.
        processes: how many there are.
        window_s: the time span that `rates` count, in seconds.
    """

    rates: Rates
    processes: int
    window_s: float = WINDOW_S

    @property
    def remembered_s(self) -> float:
        """How long a sending counts, in seconds."""
        return self.window_s + LATEST_S

    @property
    def gap_s(self) -> float:
        """The least time from one call's moment to the next, in seconds.

        >>> SharedRates(Rates(requests_per_minute=61), 2).gap_s
        1.0
        """
        requests = self.rates.requests_per_minute
        return self.remembered_s / requests if requests else 0.0

    def tokens_s(self, tokens: int) -> float:
        """The time that so many tokens take, in seconds."""
        most = self.rates.tokens_per_minute
        return tokens * self.window_s / most if most else 0.0

    def plan(self, calls: Sequence[int], next_at: Next, now: float, buckets: dict[int, int]) -> tuple[Slots, Next]:
        """Moments for calls, as far ahead as one process may have them.

        Args:
            calls: tokens of each.
            next_at: the earliest moment of the first.
            now: the store's clock.
            buckets: number of a half second -> tokens of its sendings, of the last minute; the new ones are added.

        Returns:
            The moments, and the earliest of the next call.
        """
        at: list[float] = []
        ahead_s = AHEAD_S / self.processes
        for tokens in calls:
            moment = max(*next_at, now - _MOST_PAST_S, self._until_room(tokens, now, buckets))
            if moment > now + ahead_s:
                wait_s = moment - now - ahead_s * 3 / 4
                return Slots(at, now, max(wait_s, _LEAST_WAIT_S)), next_at
            at.append(moment)
            if self.rates.tokens_per_minute:
                bucket = bucket_of(moment)
                buckets[bucket] = buckets.get(bucket, 0) + tokens
            next_at = Next(moment + self.gap_s, moment + self.tokens_s(tokens))
        return Slots(at, now, _LEAST_WAIT_S), next_at

    def _until_room(self, tokens: int, now: float, buckets: dict[int, int]) -> float:
        """The time at which enough tokens have left the window; 0 where there is room. A huge call is sent alone."""
        most = self.rates.tokens_per_minute
        recent = sorted(bucket for bucket in buckets if (bucket + 1) * BUCKET_S > now - self.remembered_s)
        excess = 0 if most is None else sum(buckets[bucket] for bucket in recent) + tokens - most
        until = 0.0
        for bucket in recent:
            if excess <= 0:
                break
            excess -= buckets[bucket]
            until = (bucket + 1) * BUCKET_S + self.remembered_s
        return until


def bucket_of(moment: float) -> int:
    """The number of a moment's half second."""
    return math.floor(moment / BUCKET_S)


class _SendingSlot(NamedTuple):
    """A moment by this process's clock: from `since` to `until`; `at` is the same moment by the store's clock."""

    since: float
    until: float
    at: float
    tokens: int


class SharedRateLimiter:
    """Rate limiter of one endpoint that other processes send to as well; waits are first come, first served.

    Args:
        endpoint: which.
        pace: of all processes.
        now: a monotonic clock, in seconds.
        sleep: waits so many seconds, unless the run ends before.
    """

    def __init__(
        self, endpoint: str, pace: Pace, now: Callable[[], float], sleep: Callable[[float], Awaitable[None]]
    ) -> None:
        self._endpoint = endpoint
        self._pace = pace
        self._now = now
        self._sleep = sleep
        self._turn = Lock()
        self._waiting: list[Sent] = []
        self._slots: deque[_SendingSlot] = deque()

    async def wait(self, tokens: int) -> Sent:
        """Wait until a call of so many tokens may be sent, and count it as sent."""
        sent = Sent(0.0, tokens)
        self._waiting.append(sent)
        try:
            async with self._turn:
                slot = await self._slot()
                sent.at, sent.tokens = slot.at, slot.tokens
        finally:
            self._waiting = [waiting for waiting in self._waiting if waiting is not sent]
        # The moment may have been given for a call that waited before this one and was cancelled.
        self.settle(sent, tokens)
        return sent

    def settle(self, sent: Sent, tokens: int) -> None:
        """Correct the token count of a sent request."""
        if tokens != sent.tokens:
            self._pace.correct(self._endpoint, sent.at, tokens - sent.tokens)
            sent.tokens = tokens

    async def _slot(self) -> _SendingSlot:
        """Wait for the next moment and return it."""
        while True:
            while not self._slots:
                await self._ask()
            slot = self._slots.popleft()
            if (wait_s := slot.since - self._now()) > 0:
                await self._sleep(wait_s)
            if self._now() <= slot.until:
                return slot

    async def _ask(self) -> None:
        calls = [sent.tokens for sent in self._waiting[:_MOST_ASKED]]
        asked_at = self._now()
        slots = await self._pace.slots(self._endpoint, calls)
        answered_at = self._now()
        # The store read its clock between the request and its answer.
        self._slots.extend(
            _SendingSlot(answered_at + at - slots.now, asked_at + at - slots.now + LATEST_S, at, tokens)
            for at, tokens in zip(slots.at, calls, strict=False)
        )
        if not slots.at:
            await self._sleep(slots.wait_s)
