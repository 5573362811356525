"""Retries and concurrency: one retry policy for transient faults, and one gate per endpoint.

The gate is shared by all workers. A 429 closes it for as long as the endpoint says and lowers the number of calls that
may be in flight (to 0.7 of it, once per round); every answer raises it again by 1/limit: additive increase,
multiplicative decrease, as in D. Chiu and R. Jain, "Analysis of the increase and decrease algorithms", 1989. Until the
first good reply at most 4 calls are in flight: a wrong key or an unknown model then costs no more than that, and a
healthy endpoint one round trip. The same holds for each model at an endpoint, whose path or mapping may be wrong.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final, Protocol

from steelyard.constraints import Amount, Within
from steelyard.errors import Attempt, ModelError, SteelyardError
from steelyard.models.base import Fault, Model, Request, Wire
from steelyard.models.budget import UNPROVEN, MeteredCall, Metering, Quota
from steelyard.models.mismatches import locate
from steelyard.models.refusals import MISMATCH, NEVER_READ, Refusals
from steelyard.types import Reply, Usage

MARGIN_S: Final = 0.03
"""Added to a Retry-After: an endpoint that rounds it down would refuse a call that comes exactly then."""
_DECREASE: Final = 0.7
_FLOOR_S: Final = 0.1
"""The shortest wait before a retry, as jitter may draw 0 and an endpoint that has just failed needs a moment; also the
shortest time limit of an attempt."""
_MOST_DOUBLINGS: Final = 60
"""The most doublings of a back-off: any cap is reached by then, and a float does not overflow."""
_WAITS_TOO_LONG: Final = "told to wait longer than a call may take"
_ALL: Final = 1 << 30
"""The limit of a model's own gate once a reply could be read: the gate of its endpoint decides."""
_MOST_MISMATCHES: Final = 8
"""Answers that are not what was configured which end a run even if no two are equal."""
_MOST_PER_SAMPLE: Final = 2
"""How often one sample is sent that gets such an answer; another sample decides whether all are answered alike."""
_ASCII_BYTES: Final = 3.6
"""Bytes of a body for each estimated token, of which a fifth is not ASCII."""
_UNREACHED_ATTEMPTS: Final = 5
"""Failed connections after which an endpoint that has never answered counts as unreachable."""


class Pauses:
    """All waits without a call in flight (back-offs, queues); `end` wakes them all with an error."""

    def __init__(self) -> None:
        self._futures: set[asyncio.Future[None]] = set()
        self._ended: SteelyardError | None = None

    @property
    def ended(self) -> SteelyardError | None:
        """Why nothing more may be sent, or None."""
        return self._ended

    def resume(self) -> None:
        """Allow waiting again: the error that ended the pauses concerned the previous run only."""
        self._ended = None

    def end(self, error: SteelyardError) -> None:
        """Raise `error` in every pause, now and later."""
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
    """Limits concurrent calls to one endpoint; adapts the limit and pauses on refusals.

    Args:
        most: the limit that is never exceeded.
        pauses: ended when the run stops, so that no call queues for ever.
        unproven: the limit until the endpoint has given a good reply.
        processes: the number that share the endpoint, each with a gate. The limit may then fall to a fraction of one
            call: after each call the gate stays closed so long that on average no more are in flight.
    """

    def __init__(self, most: int, pauses: Pauses, unproven: int = UNPROVEN, processes: int = 1) -> None:
        self.answered = False
        self.proven = False
        self.refusals = Refusals()
        self._most = float(most)
        self._least = 1.0 / processes
        # A wrong key then costs a few refusals, and not one for each of `most` calls.
        self._limit = float(min(most, unproven))
        self._eased = False
        self._active = 0
        self._open_at = 0.0
        self._entered_at = 0.0
        self._last_cut = -1.0
        self._queue: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._pauses = pauses

    @property
    def limit(self) -> int:
        """Calls that may be in flight now."""
        return max(1, int(self._limit))

    def enter_now(self) -> bool:
        """Take a place if one is free and no call waits for it; whether it was taken."""
        if self._queue or self._active >= self.limit:
            return False
        if self._open_at and asyncio.get_running_loop().time() < self._open_at:
            return False
        self._take_place()
        return True

    async def enter(self) -> None:
        """Wait for a place; first come, first served."""
        if self.enter_now():
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(future)
        self._let_in()
        try:
            await self._pauses.wait(future)
        except BaseException:
            # Cancelled just when it got a place: no other code would give that back.
            if future.done() and not future.cancelled() and future.exception() is None:
                self.leave()
            elif future in self._queue:
                self._queue.remove(future)
            raise

    def leave(self) -> None:
        """Give the place back."""
        self._active -= 1
        if self._limit < 1:
            now = asyncio.get_running_loop().time()
            self._open_at = max(self._open_at, now + (now - self._entered_at) * (1 / self._limit - 1))
        if self._queue:
            self._let_in()

    def increase_concurrency(self) -> None:
        """Raise the limit a little after a good reply; the first one raises it fully, unless calls were refused."""
        self.answered = True
        if not self.proven:
            self.proven = True
            self._limit = self._limit if self._eased else self._most
        if self._limit < self._most:
            # Additive increase, multiplicative decrease, as TCP does: 1 more per round of replies, of all processes.
            self._limit = min(self._most, self._limit + self._least / max(1.0, self._limit))

    def change_most(self, most: int) -> None:
        """Change the limit that is never exceeded, as the number of processes at the endpoint has changed."""
        if self.proven and not self._eased:
            self._limit = float(most)
        self._limit = min(self._limit, float(most))
        self._most = float(most)
        self._let_in()

    def hold_back(self) -> None:
        """Lower the limit by one after a refusal that came before any good reply: other calls may be refused too."""
        if not self.proven:
            self._limit = max(1.0, self._limit - 1)

    def reduce_concurrency(self, sent_at: float, wait_asked_s: float | None) -> None:
        """Lower the limit, once per round, after a call sent at `sent_at` was put off; close for `wait_asked_s`."""
        now = asyncio.get_running_loop().time()
        self._eased = True
        # Calls sent before the last cut do not show that the lower limit is too high; eight of them would cut 16 to 1.
        if sent_at > self._last_cut:
            # No call is in flight where another process was refused while this one had nothing to send.
            self._limit = max(self._least, min(self._limit, float(self._active) or self._limit) * _DECREASE)
            self._last_cut = now
        if wait_asked_s is not None:
            self.close_for(wait_asked_s + MARGIN_S)

    def close_for(self, seconds: float) -> None:
        """Keep the gate closed for at least this long."""
        self._open_at = max(self._open_at, asyncio.get_running_loop().time() + seconds)

    def _take_place(self) -> None:
        self._active += 1
        if self._least < 1:  # only then can the limit fall below one call
            self._entered_at = asyncio.get_running_loop().time()

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
                self._take_place()
                future.set_result(None)

    def _reopen(self) -> None:
        self._timer = None
        self._let_in()


class FirstReplies:
    """The answers of one model at one address until its first readable reply; see `models.mismatches`.

    Args:
        name: names model, address and mapping, alike in each process.
        gate: limits its calls in flight until then.

    Attributes:
        readable: whether a reply could be read.
    """

    __slots__ = ("_mismatches", "_samples", "gate", "name", "readable")

    def __init__(self, name: str, gate: Gate) -> None:
        self.name = name
        self.gate = gate
        self.readable = False
        self._mismatches = 0
        self._samples: dict[str, str] = {}

    def note_readable(self) -> None:
        """Note a readable reply: from now on nothing is counted, and all calls are let through."""
        if not self.readable:
            self.readable = True
            self.gate.increase_concurrency()

    def ends_run(self, likeness: str, sample: str) -> bool:
        """Note an answer that is not what was configured; whether no other call needs to be tried.

        Args:
            likeness: equal for equal answers; "" where that means nothing.
            sample: the id of the sample.
        """
        self.gate.hold_back()
        self._mismatches += 1
        equal_came_for = self._samples.setdefault(likeness, sample) if likeness else sample
        return equal_came_for != sample or self._mismatches >= _MOST_MISMATCHES


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


@dataclass(frozen=True, slots=True)
class Retry:
    """Retry policy for transient faults (429, 5xx, dropped, truncated, malformed, empty, hang).

    Args:
        attempts: the most attempts of one call.
        total_s: limit for one call from its first attempt, waits included, in seconds.
        base_s: the first wait is drawn below this, in seconds; the bound doubles with every attempt.
        cap_s: the longest back-off, in seconds; a longer Retry-After is obeyed within `total_s`.
    """

    attempts: Annotated[int, Within(1)] = 20
    total_s: Amount = 600.0
    base_s: Amount = 0.5
    cap_s: Amount = 30.0


@dataclass(slots=True)
class CallProgress:
    """Progress of a call whose first attempt failed: attempts so far, start time, and wait before the next attempt."""

    sample: str
    model: str
    started: float
    metered: MeteredCall | None
    first: FirstReplies
    total_s: float
    mismatches: int = 0
    attempts: list[Attempt] = field(default_factory=list)
    wait_s: float = 0.0


class SharedFirstReplies(Protocol):
    """What the processes of an evaluation tell each other of the first replies of a model."""

    async def turn(self, first: FirstReplies) -> None:
        """Wait until this process may send a call of a model without a readable reply, or one has come elsewhere.

        Raises:
            ModelError: another process has found that the endpoint is not what was configured.
        """

    def give_up(self, first: FirstReplies, *, mismatched: bool) -> None:
        """Let another process send, as a call of this one has failed for good; or none, as all would be mismatched."""

    def note_readable(self, first: FirstReplies) -> None:
        """Tell all of a readable reply."""

    def came_elsewhere(self, first: FirstReplies, likeness: str) -> bool:
        """Tell all of an answer that is not what was configured; whether an equal one came to another process."""


class Limits:
    """The retry policy and the gates of a session.

    Args:
        retry: the policy.
        concurrency: calls in flight at one endpoint at most.
        seed: for the jitter of back-offs.
        refusal: returns why a reply could not be kept, or None; called before every sending, retries included.
        quota: budget, rates and prices.
        retried: called with a model's name and the kind of fault for each attempt that failed and is sent again.

    Attributes:
        retries: kind of fault -> attempts that failed so far and were sent again.
        gates: by endpoint.
        first_replies: of each model, by class, address, name and mapping.
        shared: what processes tell each other of them; None where there is one process.
        on_put_off: called with an endpoint that put a call off, the time of that call by the loop's clock, and the
            seconds for which nothing may be sent.
    """

    def __init__(
        self,
        retry: Retry,
        concurrency: int,
        *,
        seed: int = 0,
        refusal: Callable[[], SteelyardError | None] = lambda: None,
        quota: Quota = Quota(),
        retried: Callable[[str, str], None] = lambda _model, _fault: None,
    ) -> None:
        self.pauses = Pauses()
        self.retries: Counter[str] = Counter()
        self._retried = retried
        self._retry = retry
        self._concurrency = concurrency
        self._quota = quota
        self._refusal = refusal
        self.gates: dict[str, Gate] = {}
        self.on_put_off: Callable[[str, float, float], None] = lambda _endpoint, _sent_at, _wait_s: None
        self.first_replies: dict[tuple[Any, ...], FirstReplies] = {}
        self.shared: SharedFirstReplies | None = None
        self._metering = None if quota.free else Metering(quota, self.pauses.sleep)
        self._random = random.Random(seed)  # noqa: S311  # jitter, not a secret

    @property
    def longest_wait_s(self) -> float:
        """The longest time for which an endpoint can close a gate; a call that is told more fails instead."""
        return self._retry.total_s + MARGIN_S

    def gate(self, endpoint: str) -> Gate:
        """The one gate of that endpoint."""
        gate = self.gates.get(endpoint)
        if gate is None:
            quota = self._quota
            gate = self.gates[endpoint] = Gate(self._concurrency, self.pauses, quota.unproven, quota.processes)
        return gate

    def _first_replies(self, model: Model, request: Request) -> FirstReplies:
        """The answers so far of one model with one address and mapping."""
        address = getattr(model, "base_url", None) or getattr(model, "url", None)
        key = (
            type(model).__qualname__,
            request.endpoint,
            str(address),
            str(getattr(model, "name", "")),
            request.reading,
        )
        first = self.first_replies.get(key)
        if first is None:
            gate = Gate(_ALL, self.pauses, self._quota.unproven)
            first = self.first_replies[key] = FirstReplies("\n".join(map(str, key)), gate)
        return first

    def change_concurrency(self, most: int) -> None:
        """Change how many calls may be in flight at one endpoint; calls in flight go on."""
        self._concurrency = most
        for gate in self.gates.values():
            gate.change_most(most)

    async def call(self, model: Model, request: Request, wire: Wire, sample: str = "", key: str = "") -> Reply:
        """Send with retries until a reply or a permanent failure.

        Args:
            model: the model to call.
            request: the call.
            wire: the connections of the session.
            sample: the id of the sample that the call is for: equal refusals of two samples end the run.
            key: the journal's, for the reply.

        Raises:
            ModelError: with every attempt that was made.
            StoreError: the reply could not be kept.
        """
        clock = asyncio.get_running_loop().time
        gate = self.gates.get(request.endpoint) or self.gate(request.endpoint)
        first = self._first_replies(model, request)
        progress: CallProgress | None = None
        metered = None if self._metering is None else self._metering.of(model, request)
        expect_reply = getattr(model, "expect_reply", None)
        with_body = getattr(model, "with_body", None)
        while True:
            unread = None if first.readable else first
            if unread is not None or not gate.enter_now():
                await self._enter(gate, unread)
            try:
                if (ended := self.pauses.ended or self._refusal()) is not None:
                    raise ended
                if metered is not None:
                    await self._pay(metered)
                sent_at = clock()
                answer = await model.send(self._cut(request, progress, sent_at), wire)
                reply = model.read(answer)
                if expect_reply is not None:  # the journal keeps the reply for good
                    expect_reply(reply, request)
                seconds = clock() - sent_at
                if with_body is not None:
                    reply = with_body(reply, request, answer)
                gate.increase_concurrency()
                self._note_readable(first)
                return _finished(reply if metered is None else metered.answered(reply), key, request, progress, seconds)
            except Fault as fault:
                locate(fault, model, request)
                fault.redact(wire.redact)
                progress = progress or CallProgress(
                    sample, str(getattr(model, "name", "")), sent_at, metered, first, request.total_s
                )
                self._heed(fault, gate, request.endpoint, sent_at)
                self._record_failure(fault, gate, progress, sent_at)
            finally:
                _leave(gate, unread)
            await self.pauses.sleep(progress.wait_s)

    def _cut(self, request: Request, progress: CallProgress | None, sent_at: float) -> Request:
        """The request with its time limit cut to the time that the whole call has left."""
        total_s = max(self._retry.total_s, request.total_s)
        seconds_left = total_s - (0.0 if progress is None else sent_at - progress.started)
        return request if request.timeout_s <= seconds_left else replace(request, timeout_s=max(seconds_left, _FLOOR_S))

    async def _pay(self, metered: MeteredCall) -> None:
        """Wait for the rate limit and book the attempt; raises where its reply could not be kept."""
        await metered.pay()
        # A booked call is sent even where another call has just ended the run: the budget has paid for it.
        if (error := self._refusal()) is not None:
            raise error

    async def _enter(self, gate: Gate, unread: FirstReplies | None) -> None:
        """Wait for a place at an endpoint, and before it for one among the first calls of a model without a reply."""
        if unread is None:
            await gate.enter()
            return
        await unread.gate.enter()
        try:
            if self.shared is not None:
                await self.shared.turn(unread)
            await gate.enter()
        except BaseException:
            unread.gate.leave()
            raise

    def _note_readable(self, first: FirstReplies) -> None:
        if not first.readable:
            first.note_readable()
            if self.shared is not None:
                self.shared.note_readable(first)

    def _heed(self, fault: Fault, gate: Gate, endpoint: str, sent_at: float) -> None:
        """Send fewer calls, and none for as long as the endpoint says, where the fault puts calls off."""
        if self._puts_off(fault):
            gate.reduce_concurrency(sent_at, fault.wait_asked_s)
            wait_asked_s = fault.wait_asked_s
            self.on_put_off(endpoint, sent_at, 0.0 if wait_asked_s is None else wait_asked_s + MARGIN_S)

    def _puts_off(self, fault: Fault) -> bool:
        """Whether the endpoint asks for fewer calls, with a wait that is within the time limit of a call."""
        wait_asked_s = fault.wait_asked_s
        return fault.kind == "rate_limit" if wait_asked_s is None else wait_asked_s <= self._retry.total_s

    def _record_failure(self, fault: Fault, gate: Gate, progress: CallProgress, sent_at: float) -> None:
        """Record the failed attempt and set the wait before the next, or give up."""
        now = asyncio.get_running_loop().time()
        if progress.metered is not None:
            progress.metered.failed(fault)
        progress.attempts.append(Attempt(fault.kind, now - sent_at, progress.wait_s, fault.message))
        # Even a refusal shows that the address is right: no later fault may be reported as "cannot be reached".
        if fault.kind != "connection":
            gate.answered = True
        # Called for a fault that is sent again too: it counts the refusal and holds other calls back.
        refused = self._refuses_all(fault, gate, progress)
        progress.wait_s = self._back_off(len(progress.attempts), fault)
        seconds_left = max(self._retry.total_s, progress.total_s) - (now - progress.started)
        unreached = not gate.answered and len(progress.attempts) >= _UNREACHED_ATTEMPTS
        if (
            fault.retry
            and not unreached
            and not refused
            and (progress.first.readable or progress.mismatches < _MOST_PER_SAMPLE)
            and len(progress.attempts) < self._retry.attempts
            and progress.wait_s < seconds_left
        ):
            self.retries[fault.kind] += 1
            self._retried(progress.model, fault.kind)
            return
        if self.shared is not None and not progress.first.readable:
            self.shared.give_up(progress.first, mismatched=refused and fault.refusal == MISMATCH)
        raise ModelError(
            self._final_message(fault, progress, refused=refused, unreached=unreached),
            kind=fault.kind,
            attempts=progress.attempts,
            ends_run=refused or unreached,
        ) from fault

    def _refuses_all(self, fault: Fault, gate: Gate, progress: CallProgress) -> bool:
        """Whether every other call would be refused like this one.

        A clear status or code is enough at an endpoint that has given no good reply. After a good reply, wherever the
        text decides, and where the endpoint names a wait that is longer than any call may take, another sample must
        have been refused alike before: a gateway may refuse single samples.
        """
        if fault.refusal == MISMATCH:
            if progress.first.readable:
                return False
            gate.hold_back()
            ends_run = progress.first.ends_run(fault.likeness, progress.sample)
            if not fault.likeness:
                return ends_run
            progress.mismatches += 1
            return ends_run or (self.shared is not None and self.shared.came_elsewhere(progress.first, fault.likeness))
        certain = fault.ends_run and not (gate.proven and progress.sample)
        waits_too_long = fault.wait_asked_s is not None and fault.wait_asked_s > self._retry.total_s
        if certain or not (fault.refusal or fault.ends_run or waits_too_long):
            return certain
        gate.hold_back()
        likeness = _WAITS_TOO_LONG if waits_too_long else fault.likeness
        return gate.refusals.repeats(progress.model, likeness, progress.sample)

    def _back_off(self, n: int, fault: Fault) -> float:
        """Exponential with full jitter, or the wait that the endpoint asked for, whichever is longer."""
        bound_s = min(self._retry.cap_s, self._retry.base_s * 2.0 ** min(n - 1, _MOST_DOUBLINGS))
        # Full jitter: calls that failed together would otherwise come back together.
        back_off_s = max(_FLOOR_S, self._random.uniform(0.0, bound_s))
        return back_off_s if fault.wait_asked_s is None else max(back_off_s, fault.wait_asked_s + MARGIN_S)

    def _final_message(self, fault: Fault, progress: CallProgress, *, refused: bool, unreached: bool) -> str:
        if unreached:
            return f"cannot be reached: {fault.message}"
        if fault.refusal == MISMATCH and refused:
            return f"{fault.message}; {NEVER_READ}, and another sample is answered alike"
        if not fault.retry:
            return fault.message
        attempts, wait_asked_s = len(progress.attempts), fault.wait_asked_s
        if wait_asked_s is not None and wait_asked_s > self._retry.total_s:
            return f"{fault.message} (told to wait {wait_asked_s:g} s; retry.total_s allows {self._retry.total_s:g} s)"
        return f"{fault.message} (after {attempts} attempt{'s' if attempts > 1 else ''})"


def _leave(gate: Gate, unread: FirstReplies | None) -> None:
    gate.leave()
    if unread is not None:
        unread.gate.leave()


def _finished(reply: Reply, key: str, request: Request, progress: CallProgress | None, seconds: float) -> Reply:
    before, waited = ((), 0.0) if progress is None else (progress.attempts, progress.wait_s)
    attempts = (*before, Attempt("", seconds, waited))
    usage = reply.usage
    sent = request.input_tokens
    if usage.estimated and not usage.input_tokens:
        usage = Usage(sent, usage.output_tokens, estimated=True)
    elif not usage.estimated:
        # A token of the estimate is four bytes of ASCII, and two or three of any other script.
        dense = len(request.payload) < _ASCII_BYTES * sent
        usage = replace(usage, sent=sent, dense=dense)
    return Reply(key, reply.text, reply.finish, usage, seconds, attempts, metadata=reply.metadata)
