"""What tokens cost: a table that the user gives, since prices change and none is shipped.

Money is a whole number of billionths of the currency's unit: a price of 0.05 for a million tokens is 50 billionths a
token, so that sums over any number of calls are exact and do not depend on their order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Final

from steelyard.errors import expect_number
from steelyard.types import Usage

PER: Final = 1_000_000
"""Prices are for so many tokens."""
_BILLION: Final = 10**9
_MOST: Final = 1 << 53
"""No single call costs more: nine million of any currency's units. Sums stay within the store's 64 bits."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost, in the currency's unit.

    Args:
        input: of tokens that are sent.
        output: of tokens that come back, reasoning included.
        cached: of tokens that are sent and that the endpoint says it had in its cache; None is as `input`.
    """

    input: float
    output: float
    cached: float | None = None

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: a negative price, or one of more than a unit a token.
        """
        for name in ("input", "output", "cached"):
            if getattr(self, name) is not None:
                expect_number(name, getattr(self, name), 0, PER)

    def cost(self, usage: Usage, cached: int = 0) -> int:
        """Billionths that these tokens cost, rounded up.

        Args:
            usage: the tokens.
            cached: how many of the input's came from the endpoint's cache.

        >>> Price(0.15, 0.6, 0.075).cost(Usage(1000, 10), 400)
        126000
        """
        cached = min(max(cached, 0), usage.input_tokens)
        asked, said = _exact(self.input), _exact(self.output)
        kept = asked if self.cached is None else _exact(self.cached)
        per_million = (usage.input_tokens - cached) * asked + cached * kept + usage.output_tokens * said
        return min(_MOST, math.ceil(per_million * (_BILLION // PER)))


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by the names of models; in a name, `*` and `?` stand for any text and any character.

    Args:
        models: the prices, for a million tokens.
        currency: of all of them, as it is shown: `USD`, `元`.
    """

    models: Mapping[str, Price]
    currency: str = ""

    def price(self, model: Any) -> Price | None:
        """The price of a model: that of its exact name, else of the longest pattern that fits; None where none does.

        Args:
            model: any model. One that sends nothing (a scripted one) is free.
        """
        if getattr(model, "inline", False):
            return FREE
        for name in priced_names(model):
            if name in self.models:
                return self.models[name]
            fitting = [pattern for pattern in self.models if fnmatchcase(name, pattern)]
            if fitting:
                return self.models[max(fitting, key=len)]
        return None


FREE: Final = Price(0, 0)


def priced_names(model: Any) -> Iterator[str]:
    """The names under which a model's price is looked for, in order: its own, without its provider, its address."""
    body = getattr(model, "body", None)
    name = getattr(model, "name", "") or (body.get("model", "") if isinstance(body, Mapping) else "")
    if isinstance(name, str) and name:
        yield name
        if "/" in name:
            yield name.partition("/")[2]
    for key in ("base_url", "url"):
        if address := getattr(model, key, ""):
            yield str(address)


def billionths(amount: float | Decimal | str) -> int:
    """An amount of money as the store keeps it.

    >>> billionths(0.1), billionths("12.5")
    (100000000, 12500000000)
    """
    return math.ceil(Decimal(str(amount)) * _BILLION)


def units(amount: int) -> float:
    """An amount in the currency's unit.

    >>> units(126000)
    0.000126
    """
    return amount / _BILLION


@lru_cache(maxsize=256)
def _exact(price: float) -> Decimal:
    """The number as it was written: 0.1 is a tenth, and not the binary fraction next to it."""
    return Decimal(str(price))
