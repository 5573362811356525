"""Price tables in files: JSON as in a configuration, or a CSV file with a line for each model."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from steelyard.errors import ConfigError, did_you_mean
from steelyard.models.prices import PER, Price, PriceTable

_MOST_BYTES: Final = 4 << 20
_KEYS: Final = ("input", "output", "cached")


def read_prices(path: Path) -> PriceTable:
    """The table in a file.

    Args:
        path: `.json`: `{"currency": "USD", "models": {"name": {"input": 1.0, "output": 2.0}}}`; `.csv`: the columns
            `model`, `input`, `output` and, where there are any, `cached` and `currency`.

    Raises:
        ConfigError: it cannot be read, or holds what is no price; with its place.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ConfigError(f"{path} is too large for a table of prices: {_MOST_BYTES >> 20} MiB at most")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is no UTF-8 text") from error
    if path.suffix.lower() == ".csv":
        return _of_csv(text, path.name)
    if path.suffix.lower() == ".json":
        return _of_json(text, path.name)
    raise ConfigError(f"prices are read from a .json or .csv file, not from {path.name}; or write them in their place")


def _of_json(text: str, place: str) -> PriceTable:
    try:
        value = json.loads(text, object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{place} holds no prices: {error}") from error
    models = value.get("models") if isinstance(value, dict) else None
    if not isinstance(models, dict) or set(value) - {"currency", "models"}:
        raise ConfigError(f'{place}: expected {{"currency": "USD", "models": {{...}}}} and no other keys')
    return _table(models, value.get("currency", ""), place)


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} occurs twice")
    return found


def _of_csv(text: str, place: str) -> PriceTable:
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
        if unknown := [str(one) for one in reader.fieldnames or () if one not in {"model", "currency", *_KEYS}]:
            near = did_you_mean(unknown[0], ("model", *_KEYS, "currency"))
            raise ConfigError(f"{place}: unknown column {unknown[0]!r}{near}")
        if len(set(reader.fieldnames or ())) < len(reader.fieldnames or ()):
            raise ConfigError(f"{place}: two columns have one name ({', '.join(reader.fieldnames or ())})")
        rows = list(reader)
    except csv.Error as error:
        raise ConfigError(f"{place} is no CSV file: {error}") from error
    currencies = {(row.get("currency") or "").strip() for row in rows}
    if len(currencies) > 1:
        raise ConfigError(f"{place} holds several currencies ({', '.join(sorted(currencies))}): one table has one")
    models: dict[str, dict[str, Any]] = {}
    for line, row in enumerate(rows, start=2):
        name = (row.get("model") or "").strip()
        if not name or name in models or None in row:
            what = "has no model" if not name else "repeats a model" if name in models else "has too many cells"
            raise ConfigError(f"{place}, row {line}: it {what}")
        models[name] = {key: row[key].strip() for key in _KEYS if (row.get(key) or "").strip()}
    return _table(models, "".join(currencies), place)


def _table(models: Mapping[str, Any], currency: Any, place: str) -> PriceTable:
    if not models:
        raise ConfigError(f"{place} holds no prices")
    if not isinstance(currency, str):
        raise ConfigError(f"{place}: currency must be a text, not {currency!r:.40}")
    return PriceTable({name: _price(row, f"{place}: {name}") for name, row in models.items()}, currency)


def _price(row: Any, place: str) -> Price:
    if not isinstance(row, Mapping):
        raise ConfigError(f"{place}: expected the keys input and output, but got {row!r:.80}")
    if unknown := next((key for key in row if key not in _KEYS), ""):
        raise ConfigError(f"{place}: unknown key {unknown!r}{did_you_mean(unknown, _KEYS)}")
    if missing := next((key for key in ("input", "output") if row.get(key) is None), ""):
        raise ConfigError(f"{place}: {missing} is missing, the price of {PER:,} tokens")
    price = Price(**{key: _number(row[key], f"{place}: {key}") for key in row if row[key] is not None})
    try:
        price.check()
    except ConfigError as error:
        raise ConfigError(f"{place}: {error.message}") from error
    return price


def _number(value: Any, place: str) -> float:
    try:
        return float(value) if not isinstance(value, bool) else float("nan")
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{place} must be the price of {PER:,} tokens, not {value!r:.40}") from error
