"""A budget that holds: what is about to be sent is booked on disk first, so a killed process cannot have sent more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from steelyard.errors import ModelError, expect_number


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits over all runs of one evaluation, resumes included; None is no limit.

    Args:
        calls: requests that the endpoint may have charged for; a refused one (429, 5xx) is not counted.
        tokens: input and output tokens together; a call's own are known only afterwards, so the calls in flight when
            the limit is reached may pass it.
    """

    calls: int | None = None
    tokens: int | None = None

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: a negative limit.
        """
        for name in ("calls", "tokens"):
            if getattr(self, name) is not None:
                expect_number(f"budget.{name}", getattr(self, name), 0, whole=True)


class Ledger(Protocol):
    """Where the store keeps what an evaluation has spent."""

    async def book(self, calls: int, tokens: int) -> None:
        """Add to it; returns once it is on disk."""

    def correct(self, calls: int, tokens: int) -> None:
        """Add to it, negative to give back, without waiting."""


class Purse:
    """What is left of a budget.

    Args:
        budget: the limits.
        calls: booked so far, by earlier processes too.
        tokens: likewise.
        ledger: keeps (calls, tokens) on disk.
    """

    def __init__(self, budget: Budget, calls: int, tokens: int, ledger: Ledger) -> None:
        self._budget = budget
        self._calls = calls
        self._tokens = tokens
        self._ledger = ledger

    async def pay(self, tokens: int) -> None:
        """Book one call of an estimated number of tokens.

        Raises:
            ModelError: kind `budget`: the limit is reached; it ends the run, which can be resumed.
        """
        if self._budget.calls is not None and self._calls >= self._budget.calls:
            raise _used_up(f"{self._budget.calls} calls")
        if self._budget.tokens is not None and self._tokens + tokens > self._budget.tokens:
            raise _used_up(f"{self._budget.tokens} tokens")
        self._calls += 1
        self._tokens += tokens
        await self._ledger.book(1, tokens)

    def settle(self, calls: int, tokens: int) -> None:
        """Correct a booking by the difference to what was really charged; nothing waits for it."""
        self._calls += calls
        self._tokens += tokens
        self._ledger.correct(calls, tokens)


def _used_up(what: str) -> ModelError:
    return ModelError(f"the budget of {what} is used up", kind="budget", ends_run=True)
