"""Token prices from a table that the user provides; none is shipped, since prices change.

Money is a whole number of billionths of the currency's unit: a price of 0.05 for a million tokens is 50 billionths a
token, so that sums over any number of calls are exact and do not depend on their order. A table may be in a file:
JSON as in a configuration, or CSV with a line for each model.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

from steelyard.constraints import Within, check_options
from steelyard.errors import ConfigError, did_you_mean
from steelyard.files import read_regular_text
from steelyard.models.base import ModelInfo
from steelyard.plain_json import distinct_keys
from steelyard.types import Usage

PER: Final = 1_000_000
"""Prices are per this many tokens."""
_BILLION: Final = 10**9
_MOST_BYTES: Final = 4 << 20
_KEYS: Final = ("input", "output", "cached", "cache_write")
TIER: Final = "@"
"""Between a model's name and the tier that a price is of: `gpt-5.5@flex`."""


@dataclass(frozen=True, slots=True)
class Price:
    """Price of a million tokens, in units of the currency.

    Args:
        input: of tokens that are sent.
        output: of tokens that come back, reasoning included.
        cached: of tokens that are sent and that the endpoint reports as cached; None means the price of `input`.
        cache_write: of tokens that are sent and that the endpoint reports as written to its cache; None likewise.
    """

    input: Annotated[float, Within(0, PER)]
    output: Annotated[float, Within(0, PER)]
    cached: Annotated[float | None, Within(0, PER)] = None
    cache_write: Annotated[float | None, Within(0, PER)] = None

    def cost(self, usage: Usage) -> int:
        """Cost of these tokens in billionths of the unit, rounded up.

        >>> Price(0.15, 0.6, 0.075).cost(Usage(1000, 10, cache_read=400))
        126000
        """
        input_price, output_price = _exact(self.input), _exact(self.output)
        read_price = input_price if self.cached is None else _exact(self.cached)
        write_price = input_price if self.cache_write is None else _exact(self.cache_write)
        per_million = (
            (usage.input_tokens - usage.cache_read - usage.cache_write) * input_price
            + usage.cache_read * read_price
            + usage.cache_write * write_price
            + usage.output_tokens * output_price
        )
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

    def price(self, model: Any, tier: str = "") -> Price | None:
        """The price of a model: that of its exact name, else of the longest pattern that fits; None where none does.

        Args:
            model: any model. One that sends nothing (a scripted one) is free.
            tier: of service, `flex`: the price under `NAME@flex` comes before that of `NAME`.
        """
        if ModelInfo.of(model).inline:
            return FREE
        names = [*priced_names(model)]
        if tier and (price := self.of_tier(names, tier)) is not None:
            return price
        return next((price for name in names if (price := self.named(name)) is not None), None)

    def of_tier(self, names: Iterable[str], tier: str) -> Price | None:
        """The price under one of the names with a tier, `gpt-5.5@flex`; None where the table has none.

        >>> PriceTable({"gpt-*": Price(2, 8), "gpt-*@flex": Price(1, 4)}).of_tier(["gpt-5.5"], "flex")
        Price(input=1, output=4, cached=None, cache_write=None)
        """
        tiered = PriceTable({name: price for name, price in self.models.items() if name.endswith(f"{TIER}{tier}")})
        return next((price for name in names if (price := tiered.named(f"{name}{TIER}{tier}")) is not None), None)

    def named(self, name: str) -> Price | None:
        """The price under a name: that of the exact name, else of the longest pattern that fits; None where none does.

        >>> PriceTable({"glm-*": Price(1, 2), "glm-4*": Price(3, 4)}).named("glm-4-air")
        Price(input=3, output=4, cached=None, cache_write=None)
        """
        if name in self.models:
            return self.models[name]
        fitting = [
            pattern for pattern in self.models if (TIER in name or TIER not in pattern) and fnmatchcase(name, pattern)
        ]
        return self.models[max(fitting, key=len)] if fitting else None


def priced_names(model: Any) -> Iterator[str]:
    """The names under which a model's price is looked for, in order: its own, without its provider, its address."""
    info = ModelInfo.of(model)
    name = info.name or (info.body.get("model", "") if isinstance(info.body, Mapping) else "")
    if isinstance(name, str) and name:
        yield name
        if "/" in name:
            yield name.partition("/")[2]
    if info.address:
        yield info.address


class Spent(NamedTuple):
    """Spending of an evaluation: calls, tokens, billionths of the currency's unit, and milliseconds."""

    calls: int = 0
    tokens: int = 0
    money: int = 0
    millis: int = 0


def billionths(amount: float | Decimal | str) -> int:
    """Convert units of the currency to billionths, as stored.

    >>> billionths(0.1), billionths("12.5")
    (100000000, 12500000000)
    """
    return math.ceil(Decimal(str(amount)) * _BILLION)


def units(amount: int) -> float:
    """Convert billionths to units of the currency.

    >>> units(126000)
    0.000126
    """
    return amount / _BILLION


def _exact(price: float) -> Decimal:
    """The price as an exact decimal: 0.1 is a tenth, not the nearest binary fraction."""
    return Decimal(str(price))


def read_prices(path: Path) -> PriceTable:
    """Read a price table from a JSON or CSV file.

    Args:
        path: `.json`: `{"currency": "USD", "models": {"name": {"input": 1.0, "output": 2.0}}}`; `.csv`: the columns
            `model`, `input`, `output` and, where there are any, `cached`, `cache_write` and `currency`.

    Raises:
        ConfigError: it cannot be read, or a value is not a price; the message says where.
    """
    try:
        text = read_regular_text(path, _MOST_BYTES)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text") from error
    if path.suffix.lower() == ".csv":
        return _of_csv(text, path.name)
    if path.suffix.lower() == ".json":
        return _of_json(text, path.name)
    raise ConfigError(f"prices are read from a .json or .csv file, not from {path.name}; or write them in their place")


def _of_json(text: str, location: str) -> PriceTable:
    try:
        value = json.loads(text, object_pairs_hook=distinct_keys)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{location} holds no prices: {error}") from error
    models = value.get("models") if isinstance(value, dict) else None
    if not isinstance(models, dict) or set(value) - {"currency", "models"}:
        raise ConfigError(f'{location}: expected {{"currency": "USD", "models": {{...}}}} and no other keys')
    return _table(models, value.get("currency", ""), location)


def _of_csv(text: str, location: str) -> PriceTable:
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
        if unknown := [
            str(column) for column in reader.fieldnames or () if column not in {"model", "currency", *_KEYS}
        ]:
            near = did_you_mean(unknown[0], ("model", *_KEYS, "currency"))
            raise ConfigError(f"{location}: unknown column {unknown[0]!r}{near}")
        if len(set(reader.fieldnames or ())) < len(reader.fieldnames or ()):
            raise ConfigError(f"{location}: two columns have one name ({', '.join(reader.fieldnames or ())})")
        rows = list(reader)
    except csv.Error as error:
        raise ConfigError(f"{location} is not a CSV file: {error}") from error
    currencies = {(row.get("currency") or "").strip() for row in rows}
    if len(currencies) > 1:
        raise ConfigError(f"{location} holds several currencies ({', '.join(sorted(currencies))}): one table has one")
    models: dict[str, dict[str, Any]] = {}
    for line, row in enumerate(rows, start=2):
        name = (row.get("model") or "").strip()
        if not name or name in models or None in row:
            problem = "has no model" if not name else "repeats a model" if name in models else "has too many cells"
            raise ConfigError(f"{location}, row {line}: it {problem}")
        models[name] = {key: row[key].strip() for key in _KEYS if (row.get(key) or "").strip()}
    return _table(models, "".join(currencies), location)


def _table(models: Mapping[str, Any], currency: Any, location: str) -> PriceTable:
    if not models:
        raise ConfigError(f"{location} holds no prices")
    if not isinstance(currency, str):
        raise ConfigError(f"{location}: currency must be a text, not {currency!r:.40}")
    return PriceTable({name: _price(row, f"{location}: {name}") for name, row in models.items()}, currency)


def _price(row: Any, location: str) -> Price:
    if not isinstance(row, Mapping):
        raise ConfigError(f"{location}: expected the keys input and output, but got {row!r:.80}")
    if unknown := next((key for key in row if key not in _KEYS), ""):
        raise ConfigError(f"{location}: unknown key {unknown!r}{did_you_mean(unknown, _KEYS)}")
    if missing := next((key for key in ("input", "output") if row.get(key) is None), ""):
        raise ConfigError(f"{location}: {missing} is missing, the price of {PER:,} tokens")
    price = Price(**{key: _number(row[key], f"{location}: {key}") for key in row if row[key] is not None})
    try:
        check_options(price)
    except ConfigError as error:
        raise ConfigError(f"{location}: {error.message}") from error
    return price


def _number(value: Any, location: str) -> float:
    try:
        return float(value) if not isinstance(value, bool) else float("nan")
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{location} must be the price of {PER:,} tokens, not {value!r:.40}") from error


_MOST: Final = 1 << 53
"""The highest cost of a single call: nine million of the currency's units, so that sums fit the store's 64 bits."""


FREE: Final = Price(0, 0)
