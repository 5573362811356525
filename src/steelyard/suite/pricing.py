"""The price table of a suite, and whether it has a price for every model that the suite may ask."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from steelyard.errors import ConfigError
from steelyard.models.prices import PriceTable, priced_names
from steelyard.suite.objects import Suite


def prices_of(suite: Suite) -> PriceTable | None:
    """The prices that a suite is run at; None where it names none.

    Raises:
        ConfigError: the file cannot be read, or the budget is in money and a model has no price.
    """
    given, money = suite.options.prices, suite.options.budget.money
    if not given:
        if money is not None:
            raise ConfigError("budget.money needs prices: a table in options.prices, a .json or .csv file, or litellm")
        return None
    table = _table(given)
    if money is not None:
        unpriced = {_shown(one) for one in models_in(suite.parts) if table.price(one) is None}
        if unpriced:
            raise ConfigError(
                f"budget.money cannot be held: there is no price for {', '.join(sorted(unpriced))}; "
                "add it to options.prices (a pattern such as `glm-*` covers several, 0 is free)"
            )
    return table


def models_in(value: Any) -> Iterator[Any]:
    """Every model in targets and scorers, however deep in their fields."""
    if all(callable(getattr(value, name, None)) for name in ("request", "send", "read")):
        yield value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for one in dataclasses.fields(value):
            yield from models_in(getattr(value, one.name))
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from models_in(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from models_in(one)


async def load_models(suite: Suite) -> None:
    """Let models import what they send with before the first call: it takes seconds, which no reply should be charged.

    Raises:
        ConfigError: what cannot be loaded.
    """
    for model in models_in(suite.parts):
        load = getattr(model, "load", None)
        if callable(load):
            await asyncio.to_thread(load)


def _table(given: PriceTable | Path | str) -> PriceTable:
    if isinstance(given, PriceTable):
        return given
    if given == "litellm":
        from steelyard.models.litellm import cost_map

        return cost_map()
    from steelyard.models.price_files import read_prices

    return read_prices(Path(given))


def _shown(model: Any) -> str:
    return next(priced_names(model), type(model).__name__)
