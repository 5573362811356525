"""A budget that holds: what is about to be sent is booked on disk first, so a killed process cannot have sent more."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from steelyard.errors import ModelError, expect_number
from steelyard.models.prices import billionths


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits over all runs of one evaluation, resumes included; None is no limit.

    Args:
        calls: requests that the endpoint may have charged for; a refused one (429, 5xx) is not counted.
        tokens: input and output tokens together; a call's own are known only afterwards, so the calls in flight when
            the limit is reached may pass it.
        money: in the currency of `prices`, which must have a price for every model. A call is booked with our estimate
            of its input and with `max_tokens` of output; without `max_tokens` the calls in flight may pass the limit.
        minutes: wall time of all sittings together, those of resumes included and the time between them not.
    """

    calls: int | None = None
    tokens: int | None = None
    money: float | None = None
    minutes: float | None = None

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: a negative limit.
        """
        for name, whole in (("calls", True), ("tokens", True), ("money", False), ("minutes", False)):
            if getattr(self, name) is not None:
                expect_number(f"budget.{name}", getattr(self, name), 0, whole=whole)


class Spent(NamedTuple):
    """What an evaluation has spent: calls, tokens, billionths of the currency's unit, and milliseconds."""

    calls: int = 0
    tokens: int = 0
    money: int = 0
    millis: int = 0


class Ledger(Protocol):
    """Where the store keeps what an evaluation has spent."""

    async def book(self, calls: int, tokens: int, money: int = 0, millis: int = 0) -> None:
        """Add to it; returns once it is on disk."""

    def correct(self, calls: int, tokens: int, money: int = 0, millis: int = 0) -> None:
        """Add to it, negative to give back, without waiting."""


class Purse:
    """What is left of a budget.

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
        self._budget = budget
        self._calls, self._tokens, self._money, before = spent
        self._ledger = ledger
        self._currency = currency
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
        limits = self._budget
        if limits.calls is not None and self._calls >= limits.calls:
            raise used_up(f"{limits.calls} calls")
        if limits.tokens is not None and self._tokens + tokens > limits.tokens:
            raise used_up(f"{limits.tokens} tokens")
        if self._most_money is not None:
            if money is None:
                raise ModelError("the budget is in money, but a model has no price", kind="budget", ends_run=True)
            if self._money + money > self._most_money:
                raise used_up(f"{limits.money:g} {self._currency}".rstrip())
        if (left := self.left_s) is not None and left <= 0:
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

    @property
    def left_s(self) -> float | None:
        """Seconds that are left; None where time has no limit."""
        minutes = self._budget.minutes
        return None if minutes is None else minutes * 60 - (self._clock() - self._began)

    def out_of_time(self) -> ModelError:
        """What ends a run whose minutes are over."""
        return used_up(f"{self._budget.minutes:g} minutes")

    def book_time(self) -> None:
        """Put down the time that has passed, so that a kill forgets none of it but the last moments."""
        self._ledger.correct(0, 0, 0, self._passed())

    def _passed(self) -> int:
        """Milliseconds since this was last asked."""
        now = int((self._clock() - self._began) * 1000)
        passed, self._booked_millis = now - self._booked_millis, now
        return passed


def used_up(what: str) -> ModelError:
    """The error that ends a run whose budget is reached."""
    return ModelError(f"the budget of {what} is used up", kind="budget", ends_run=True)
