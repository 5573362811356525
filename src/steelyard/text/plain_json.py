"""Compact JSON of any value, for the journal, the store and hashes."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any


def to_json(value: Any) -> bytes:
    """Compact JSON; what JSON has no word for is written as its nearest plain form.

    >>> to_json({"a": (1, "易"), "b": {3, 2}}).decode()
    '{"a":[1,"易"],"b":[2,3]}'
    """
    return _ENCODER.encode(value).encode("utf-8", "surrogatepass")


def from_json(data: bytes) -> Any:
    """The value in `data`, which `to_json` wrote."""
    return json.loads(data.decode("utf-8", "surrogatepass"))


def digest_of(value: Any) -> str:
    """32 hexadecimal digits that are equal for equal values, whatever the order of keys."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), sort_keys=True, default=plain)
    return blake2b(text.encode(), digest_size=16).hexdigest()


def plain(value: Any) -> Any:
    """The nearest JSON value of a user's object.

    A dataclass or a model becomes a mapping, a number of another library a number, a set a sorted list; anything else
    its repr.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    for name in ("model_dump", "to_dict", "tolist", "item"):
        method = getattr(value, name, None)
        if callable(method) and not isinstance(value, type):
            return method()
    return repr(value)


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=plain)
