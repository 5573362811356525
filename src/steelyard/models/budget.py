"""Budgets: limits on calls, tokens, money and time, and the metering of each call.

A budget is never exceeded: each call is booked on disk before it is sent, so a killed process cannot have sent more. A
session without rates, budget and prices meters nothing, so that its calls take no extra time.
"""

# Why it is so, and what was rejected: docs/decisions/models-budgets.md

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Annotated, Final, Protocol

from steelyard.constraints import Amount, Within
from steelyard.errors import ModelError
from steelyard.models.base import Fault, Model, Request
from steelyard.models.prices import PriceTable, Spent, billionths, units
from steelyard.models.rate_limit import Pace, RateLimiter, Rates, Sent, SharedRateLimiter
from steelyard.types import Reply, Usage


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits over all runs of one evaluation, resumes included; None is no limit.

    Args:
        calls: requests that the endpoint may have charged for; a refused one (429, 5xx) is not counted.
        tokens: input and output tokens together; a call's own are known only afterwards, so the calls in flight when
            the limit is reached may pass it.
        money: in the currency of `prices`, which must have a price for every model. A call is booked with our estimate
            of its input and with `max_tokens` of output; without `max_tokens` the calls in flight may pass the limit.
        minutes: wall time of the run and its resumes, without the time between them.
    """

    calls: Annotated[int | None, Within(0)] = None
    tokens: Annotated[int | None, Within(0)] = None
    money: Amount | None = None
    minutes: Amount | None = None


class Ledger(Protocol):
    """The part of the store that keeps the spending of an evaluation."""

    async def book(self, calls: int, tokens: int, money: int = 0, millis: int = 0) -> None:
        """Add an amount; returns once it is on disk."""

    def correct(self, calls: int, tokens: int, money: int = 0, millis: int = 0) -> None:
        """Add an amount (negative: refund) without waiting."""


class BudgetMeter:
    """Tracks what is left of a budget.

    Args:
        budget: the limits.
        spent: booked so far, by earlier processes too.
        ledger: keeps it on disk.
        currency: of the money, for messages.
        clock: monotonic, in seconds; time passes from now on.
    """

    def __init__(
        self,
        budget: Budget,
        spent: Spent,
        ledger: Ledger,
        *,
        currency: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.budget = budget
        self.currency = currency
        self._calls, self._tokens, self._money, before = spent
        self._ledger = ledger
        self._clock = clock
        self._most_money = None if budget.money is None else billionths(budget.money)
        self._began = clock() - before / 1000
        self._booked_millis = before

    async def pay(self, tokens: int, money: int | None = 0) -> None:
        """Book one call.

        Args:
            tokens: an estimate.
            money: likewise, in billionths; None where the model has no price.

        Raises:
            ModelError: kind `budget`: a limit is reached; it ends the run, which can be resumed.
        """
        limits = self.budget
        if limits.calls is not None and self._calls >= limits.calls:
            raise used_up(f"{limits.calls} calls")
        if limits.tokens is not None and self._tokens + tokens > limits.tokens:
            raise used_up(f"{limits.tokens} tokens")
        if self._most_money is not None:
            if money is None:
                raise ModelError("the budget is in money, but a model has no price", kind="budget", ends_run=True)
            if self._money + money > self._most_money:
                raise used_up(f"{limits.money:g} {self.currency}".rstrip())
        if (seconds_left := self.left_s) is not None and seconds_left <= 0:
            raise self.out_of_time()
        self._calls += 1
        self._tokens += tokens
        self._money += money or 0
        await self._ledger.book(1, tokens, money or 0, self._passed())

    def settle(self, calls: int, tokens: int, money: int = 0) -> None:
        """Correct a booking by the difference to what was really charged; nothing waits for it."""
        self._calls += calls
        self._tokens += tokens
        self._money += money
        self._ledger.correct(calls, tokens, money, self._passed())

    def observe(self, spent: Spent) -> None:
        """Take over the bookings in the store, where other processes book too."""
        self._calls, self._tokens, self._money = spent[:3]

    @property
    def spent(self) -> Spent:
        """Bookings so far, and the time that has passed."""
        return Spent(self._calls, self._tokens, self._money, int((self._clock() - self._began) * 1000))

    @property
    def left_s(self) -> float | None:
        """Seconds left in the budget; None where time has no limit."""
        minutes = self.budget.minutes
        return None if minutes is None else minutes * 60 - (self._clock() - self._began)

    def out_of_time(self) -> ModelError:
        """The error that ends a run whose time budget is used up."""
        return used_up(f"{self.budget.minutes:g} minutes")

    def book_time(self) -> None:
        """Store the time that has passed, so that a killed process loses only the time since the last call."""
        self._ledger.correct(0, 0, 0, self._passed())

    def _passed(self) -> int:
        """Milliseconds since the previous call of this method."""
        total = int((self._clock() - self._began) * 1000)
        since_last, self._booked_millis = total - self._booked_millis, total
        return since_last


class SharedLedger(Ledger, Protocol):
    """The part of the store that keeps the spending of an evaluation with several processes."""

    async def book_within(self, budget: Budget, tokens: int, money: int) -> str:
        """Book one call unless it would exceed a limit; the name of that limit, or "" once the call is on disk.

        Args:
            budget: the limits; its minutes are ignored.
            tokens: an estimate.
            money: likewise, in billionths.
        """


class SharedMeter(BudgetMeter):
    """Tracks a budget that several processes spend: the store decides on each call.

    The minutes are kept by whoever started the processes.

    Args:
        budget: the limits.
        ledger: keeps the spending of all processes.
        currency: of the money, for messages.
    """

    def __init__(self, budget: Budget, ledger: SharedLedger, *, currency: str = "") -> None:
        super().__init__(replace(budget, minutes=None), Spent(0, 0, 0, 0), ledger, currency=currency)
        self._shared = ledger

    async def pay(self, tokens: int, money: int | None = 0) -> None:
        """Book one call; see `BudgetMeter.pay`."""
        if self.budget.money is not None and money is None:
            raise ModelError("the budget is in money, but a model has no price", kind="budget", ends_run=True)
        refused = await self._shared.book_within(self.budget, tokens, money or 0)
        if refused == "money":
            raise used_up(f"{self.budget.money:g} {self.currency}".rstrip())
        if refused:
            raise used_up(f"{getattr(self.budget, refused)} {refused}")

    def settle(self, calls: int, tokens: int, money: int = 0) -> None:
        """Correct a booking; see `BudgetMeter.settle`."""
        self._shared.correct(calls, tokens, money)


def used_up(limit: str) -> ModelError:
    """The error that ends a run whose budget is reached."""
    return ModelError(f"the budget of {limit} is used up", kind="budget", ends_run=True)


UNPROVEN: Final = 4
"""Calls in flight at an endpoint that has given no good reply yet, over all processes of a run."""


@dataclass(frozen=True, slots=True)
class Quota:
    """The limits of a session: budget, rates and prices.

    Args:
        budget: what is left of the budget; None is no limit.
        rates: what may be sent to each endpoint in a minute.
        prices: what tokens cost; the cost of a reply is noted where its model has a price. None: no cost is noted.
        unproven: calls in flight at an endpoint that has given no good reply yet.
        processes: that share each endpoint.
        pace: of all these processes, where `rates` are shared.
    """

    budget: BudgetMeter | None = None
    rates: Rates = Rates()
    prices: PriceTable | None = None
    unproven: int = UNPROVEN
    processes: int = 1
    pace: Pace | None = None

    @property
    def free(self) -> bool:
        """Whether there is no budget, no rate limit and no price to note."""
        return self.budget is None and self.prices is None and not self.rates


class Metering:
    """The rate limiters of a session, by endpoint, and its quota.

    Args:
        quota: of the session.
        sleep: waits so many seconds, unless the run ends before: then nobody may wait any longer.
    """

    def __init__(self, quota: Quota, sleep: Callable[[float], Awaitable[None]]) -> None:
        self._quota = quota
        self._sleep = sleep
        self._limiters: dict[str, RateLimiter | SharedRateLimiter] = {}

    def of(self, model: Model, request: Request) -> MeteredCall:
        """The metering of one call."""
        quota = self._quota
        return MeteredCall(request, self._limiter(request.endpoint), quota.budget, quota.prices, model)

    def _limiter(self, endpoint: str) -> RateLimiter | SharedRateLimiter | None:
        quota = self._quota
        if not quota.rates:
            return None
        if endpoint not in self._limiters:
            pace, clock = quota.pace, asyncio.get_running_loop().time
            self._limiters[endpoint] = RateLimiter(quota.rates, clock, self._sleep)
            if pace is not None:
                self._limiters[endpoint] = SharedRateLimiter(endpoint, pace, clock, self._sleep)
        return self._limiters[endpoint]


class MeteredCall:
    """Metering of one call: waits for the rate limiter, books each attempt, and prices the reply.

    Args:
        request: the call.
        limiter: of its endpoint.
        budget: what is left of the budget.
        prices: of all models; None where none are given.
        model: that is called.
    """

    __slots__ = ("_booked_money", "_budget", "_limiter", "_model", "_price", "_prices", "_request", "_sent")

    def __init__(
        self,
        request: Request,
        limiter: RateLimiter | SharedRateLimiter | None,
        budget: BudgetMeter | None,
        prices: PriceTable | None,
        model: Model,
    ) -> None:
        self._request = request
        self._limiter = limiter
        self._budget = budget
        self._prices = prices
        self._model = model
        # Of the usual tier: it is booked before anyone knows which tier will answer.
        price = self._price = None if prices is None else prices.price(model)
        self._sent: Sent | None = None
        most = Usage(request.input_tokens, request.output_tokens)
        self._booked_money = None if price is None else price.cost(most)

    async def pay(self) -> None:
        """Wait for the rate limiter, then book the sending.

        Raises:
            ModelError: the budget is used up, or the run has ended meanwhile.
        """
        if self._limiter is not None:
            self._sent = await self._limiter.wait(self._request.input_tokens + self._request.output_tokens)
        if self._budget is not None:
            await self._budget.pay(self._request.input_tokens, self._booked_money)

    def failed(self, fault: Fault) -> None:
        """Refund the booking of an attempt that got no reply and was not charged."""
        if self._budget is not None and not fault.billed:
            self._budget.settle(-1, -self._request.input_tokens, -(self._booked_money or 0))

    def answered(self, reply: Reply) -> Reply:
        """Replace the booked estimate by what the reply used; return the reply, with its cost if it has a price."""
        request, usage = self._request, reply.usage
        if usage.estimated:
            usage = Usage(request.input_tokens, usage.output_tokens)
        tokens = usage.input_tokens + usage.output_tokens
        if self._limiter is not None and self._sent is not None:
            self._limiter.settle(self._sent, tokens)
        price = self._price
        if self._prices is not None and price is not None and (tier := reply.metadata.get("service_tier")):
            price = self._prices.price(self._model, str(tier)) or price
        money = 0 if price is None else price.cost(usage)
        if self._budget is not None:
            self._budget.settle(0, tokens - request.input_tokens, money - (self._booked_money or 0))
        if price is None:
            if self._prices is None or "cost" not in reply.metadata:
                return reply
            # What the provider says may be in another currency than the prices of the other models.
            return replace(reply, metadata={name: x for name, x in reply.metadata.items() if name != "cost"})
        metadata = {**reply.metadata, "cost": units(money)}
        if usage.cache_read or usage.cache_write:
            whole = price.cost(replace(usage, cache_read=0, cache_write=0))
            metadata["cache_saved"] = units(whole - money)
        return replace(reply, metadata=metadata)
