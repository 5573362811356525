"""What every call passes: one retry policy for every passing fault, and one gate per endpoint.

The gate is shared by all workers. A 429 closes it for as long as the endpoint says and lowers the number of calls that
may be in flight (to 0.7 of it, once per round); every answer raises it again by 1/limit: additive increase,
multiplicative decrease, as in D. Chiu and R. Jain, "Analysis of the increase and decrease algorithms", 1989.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from steelyard.errors import Attempt, ModelError, SteelyardError, expect_number
from steelyard.models.base import Answer, Fault, Model, Request, Wire
from steelyard.models.gates import MARGIN_S, Gate, Pauses
from steelyard.models.tolls import Terms, Toll, Tolls
from steelyard.types import Reply, Usage

_FLOOR_S: Final = 0.1
"""No retry comes sooner: an endpoint that just failed is given a breath."""
_MOST_DOUBLINGS: Final = 60
"""A back-off is doubled no more often: any cap is reached by then, and a float is not left."""
_UNREACHED_ATTEMPTS: Final = 5
"""Connections that may fail before an endpoint that never answered counts as not there."""


@dataclass(frozen=True, slots=True)
class Retry:
    """What is done about a passing fault (429, 5xx, dropped, truncated, malformed, empty, hang).

    Args:
        attempts: sendings of one call at most.
        total_s: limit for one call from its first sending, waits included, in seconds.
        base_s: the first back-off is drawn below this; it doubles with every attempt.
        cap_s: no back-off of our own is longer; a longer Retry-After is obeyed within `total_s`.
    """

    attempts: int = 20
    total_s: float = 600.0
    base_s: float = 0.5
    cap_s: float = 30.0

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: fewer than one attempt, or a negative time.
        """
        expect_number("retry.attempts", self.attempts, 1, whole=True)
        for name in ("total_s", "base_s", "cap_s"):
            expect_number(f"retry.{name}", getattr(self, name), 0)


@dataclass(slots=True)
class Course:
    """One call on its way: what was tried, since when, and how long it waits before the next sending."""

    started: float = 0.0
    attempts: list[Attempt] = field(default_factory=list)
    wait_s: float = 0.0


class Limits:
    """The retry policy and the gates of a session.

    Args:
        retry: the policy.
        concurrency: calls in flight at one endpoint at most.
        seed: for the jitter of back-offs.
        refusal: why a reply could not be kept, or None; asked before every sending, retries included.
        terms: budget, rates and prices.
    """

    def __init__(
        self,
        retry: Retry,
        concurrency: int,
        *,
        seed: int = 0,
        refusal: Callable[[], SteelyardError | None] = lambda: None,
        terms: Terms = Terms(),
    ) -> None:
        self.pauses = Pauses()
        self._retry = retry
        self._concurrency = concurrency
        self._refusal = refusal
        self._gates: dict[str, Gate] = {}
        self._tolls = Tolls(terms, self.pauses)
        self._random = random.Random(seed)  # noqa: S311  # jitter, not a secret

    def gate(self, endpoint: str) -> Gate:
        """The one gate of that endpoint."""
        gate = self._gates.get(endpoint)
        if gate is None:
            gate = self._gates[endpoint] = Gate(self._concurrency, self.pauses)
        return gate

    async def call(self, model: Model, request: Request, wire: Wire) -> Reply:
        """Send until there is a reply, or none for good.

        Raises:
            ModelError: with every attempt that was made.
            StoreError: the reply could not be kept.
        """
        loop = asyncio.get_running_loop()
        gate = self.gate(request.endpoint)
        course = Course()
        toll = self._tolls.of(model, request)
        while True:
            await gate.enter()
            try:
                await self._admit(toll)
                sent_at = loop.time()
                reply = _read(model, await model.send(self._cut(request, course, sent_at), wire), request)
            except Fault as fault:
                if toll is not None:
                    toll.failed(fault)
                self._judge(fault, gate, course, sent_at)
            else:
                if toll is not None:
                    reply = toll.answered(reply)
                gate.praise()
                return _finished(reply, request, course, loop.time() - sent_at)
            finally:
                gate.leave()
            await self.pauses.sleep(course.wait_s)

    def _cut(self, request: Request, course: Course, sent_at: float) -> Request:
        """The request with no more time for this attempt than the whole call has left."""
        left = self._retry.total_s - (sent_at - course.started if course.attempts else 0.0)
        return request if request.timeout_s <= left else replace(request, timeout_s=max(left, _FLOOR_S))

    async def _admit(self, toll: Toll | None) -> None:
        """Let a call through, retries too, unless the run has ended or its reply could not be kept; pay for it."""
        if (error := self.pauses.ended or self._refusal()) is not None:
            raise error
        if toll is not None:
            await toll.pay()
            # What is booked is sent, also where another call has just ended the run: the budget has paid for it.
            if (error := self._refusal()) is not None:
                raise error

    def _judge(self, fault: Fault, gate: Gate, course: Course, sent_at: float) -> None:
        """Record the failed attempt and set the wait before the next, or give up."""
        now = asyncio.get_running_loop().time()
        if not course.attempts:
            course.started = sent_at
        course.attempts.append(Attempt(fault.kind, now - sent_at, course.wait_s, fault.message))
        if fault.kind != "connection":
            gate.answered = True
        told = fault.retry_after_s
        put_off = told is not None and told > self._retry.total_s
        if (fault.kind == "rate_limit" or told is not None) and not put_off:
            gate.punish(sent_at, told)
        course.wait_s = self._back_off(len(course.attempts), fault)
        left = self._retry.total_s - (now - course.started)
        unreached = not gate.answered and len(course.attempts) >= _UNREACHED_ATTEMPTS
        if fault.retry and not unreached and len(course.attempts) < self._retry.attempts and course.wait_s < left:
            return
        # Told to wait longer than any call may take, every other call would be: the gate would stay shut for hours.
        raise ModelError(
            self._last_words(fault, course, unreached=unreached),
            kind=fault.kind,
            attempts=course.attempts,
            ends_run=fault.ends_run or unreached or put_off,
        ) from fault

    def _back_off(self, n: int, fault: Fault) -> float:
        """Exponential with full jitter, or what the endpoint told us, whichever is longer."""
        most = min(self._retry.cap_s, self._retry.base_s * 2.0 ** min(n - 1, _MOST_DOUBLINGS))
        own = max(_FLOOR_S, self._random.uniform(0.0, most))
        return own if fault.retry_after_s is None else max(own, fault.retry_after_s + MARGIN_S)

    def _last_words(self, fault: Fault, course: Course, *, unreached: bool) -> str:
        if unreached:
            return f"cannot be reached: {fault.message}"
        if not fault.retry:
            return fault.message
        tried, told = len(course.attempts), fault.retry_after_s
        if told is not None and told > self._retry.total_s:
            return f"{fault.message} (told to wait {told:.0f} s; retry.total_s allows {self._retry.total_s:g} s)"
        return f"{fault.message} (after {tried} attempt{'s' if tried > 1 else ''})"


def _read(model: Model, answer: Answer, request: Request) -> Reply:
    """The reply, once the model has held it to what was asked, if it can: what is returned here is kept for good."""
    reply = model.read(answer)
    expect_reply = getattr(model, "expect_reply", None)
    if expect_reply is not None:
        expect_reply(reply, request)
    return reply


def _finished(reply: Reply, request: Request, course: Course, seconds: float) -> Reply:
    attempts = (*course.attempts, Attempt("", seconds, course.wait_s))
    usage = reply.usage
    if usage.estimated and not usage.input_tokens:
        usage = Usage(request.input_tokens, usage.output_tokens, estimated=True)
    return Reply(reply.key, reply.text, reply.finish, usage, seconds, attempts, metadata=reply.metadata)
