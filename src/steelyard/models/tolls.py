"""What one sending waits for and pays: the pace of its endpoint, the budget, and the price that its reply is noted at.

A session without rates, budget and prices has no toll at all: the path of a call is then as short as it can be.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from steelyard.models.base import Fault, Model, Request
from steelyard.models.budget import Purse
from steelyard.models.gates import Pauses
from steelyard.models.prices import Price, PriceTable, units
from steelyard.models.rates import Pace, Rates, Sent
from steelyard.types import Reply, Usage


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms a session sends.

    Args:
        purse: what is left of the budget; None is no limit.
        rates: what may be sent to each endpoint in a minute.
        prices: what tokens cost; a reply of a model with a price is noted with its cost. None where nobody asked.
    """

    purse: Purse | None = None
    rates: Rates = Rates()
    prices: PriceTable | None = None

    @property
    def free(self) -> bool:
        """Whether nothing has to be waited for, paid or noted."""
        return self.purse is None and self.prices is None and not self.rates


class Tolls:
    """The paces of a session, by endpoint, and its terms.

    Args:
        terms: of the session.
        pauses: ended when the run stops, so that nobody waits for ever.
    """

    def __init__(self, terms: Terms, pauses: Pauses) -> None:
        self._terms = terms
        self._free = terms.free
        self._pauses = pauses
        self._paces: dict[str, Pace] = {}

    def of(self, model: Model, request: Request) -> Toll | None:
        """The toll of one call, or None where there is nothing to wait for and nothing to pay."""
        if self._free:
            return None
        terms = self._terms
        price = None if terms.prices is None else terms.prices.price(model)
        return Toll(request, self._pace(request.endpoint), terms.purse, price)

    def _pace(self, endpoint: str) -> Pace | None:
        if not self._terms.rates:
            return None
        if endpoint not in self._paces:
            clock = asyncio.get_running_loop().time
            self._paces[endpoint] = Pace(self._terms.rates, clock, self._pauses.sleep)
        return self._paces[endpoint]


class Toll:
    """Of one call, for each of its sendings.

    Args:
        request: the call.
        pace: of its endpoint.
        purse: what is left of the budget.
        price: of its model.
    """

    __slots__ = ("_booked_money", "_pace", "_price", "_purse", "_request", "_sent")

    def __init__(self, request: Request, pace: Pace | None, purse: Purse | None, price: Price | None) -> None:
        self._request = request
        self._pace = pace
        self._purse = purse
        self._price = price
        self._sent: Sent | None = None
        most = Usage(request.input_tokens, request.output_tokens)
        self._booked_money = None if price is None else price.cost(most)

    async def pay(self) -> None:
        """Wait for the pace, then book the sending.

        Raises:
            ModelError: the budget is used up, or the run has ended meanwhile.
        """
        if self._pace is not None:
            self._sent = await self._pace.wait(self._request.input_tokens + self._request.output_tokens)
        if self._purse is not None:
            await self._purse.pay(self._request.input_tokens, self._booked_money)

    def failed(self, fault: Fault) -> None:
        """Give back what a sending without a reply did not cost."""
        if self._purse is not None and not fault.billed:
            self._purse.settle(-1, -self._request.input_tokens, -(self._booked_money or 0))

    def answered(self, reply: Reply) -> Reply:
        """Put the bookings right; the reply with its cost, where its model has a price."""
        request, usage = self._request, reply.usage
        if usage.estimated:
            usage = Usage(request.input_tokens, usage.output_tokens)
        tokens = usage.input_tokens + usage.output_tokens
        if self._pace is not None and self._sent is not None:
            self._pace.settle(self._sent, tokens)
        money = 0 if self._price is None else self._price.cost(usage, reply.metadata.get("cached_tokens", 0))
        if self._purse is not None:
            self._purse.settle(0, tokens - request.input_tokens, money - (self._booked_money or 0))
        if self._price is None:
            return reply
        return replace(reply, metadata={**reply.metadata, "cost": units(money)})
