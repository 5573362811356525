"""Limits requests and tokens per minute: calls are spread evenly, and never exceed the limit in any 60 seconds.

Two rules hold together. A call waits until the previous one has had its share of the minute, so that calls are spread
and do not come in bursts. And it waits until the calls of the last 60 seconds leave room for it, which makes the limit
exact even after late timers. A token bucket, which fills at the rate and may be emptied at once, would let twice the
limit pass in a minute.
"""

# Why it is so, and what was rejected: docs/decisions/models-budgets.md

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Final

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
