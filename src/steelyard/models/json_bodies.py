"""Writes and reads JSON with orjson, with exactly the bytes and values that the standard library gives.

The journal's key is a hash of a request's bytes, so they must stay what they have always been; and what a reply holds
must not depend on the parser. Where the two packages would differ, the standard library is used:

| where they differ | orjson | here |
|---|---|---|
| text outside ASCII in a request | UTF-8 | escaped, as `json` does |
| NaN, infinity, an integer beyond 64 bits in a request | null, null, refused | as `json` does |
| a fraction that needs an exponent | 1e-7 | 1e-07 |
| enumerations, dataclasses, dates, keys that are not text in a request | written or refused | as `json` does |
| an integer beyond 64 bits in a reply | a fraction | the integer |
| NaN, infinity, half of a surrogate pair, UTF-16 in a reply | refused | as `json` does |

Never used for outputs of targets and for references, which may hold any value. Measured, request and reply together:
8 µs of CPU by `json`, 3 here, checks included.
"""

# Why it is so, and what was rejected: docs/decisions/models-http-client.md

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from steelyard import fast_json

_ENCODE: Final = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
_DIGITS: Final = bytes(ord("0") if chr(byte).isascii() and chr(byte).isdigit() else ord(" ") for byte in range(256))
_MAYBE_TOO_LONG: Final = b"0" * 19
"""Digits from which on an integer may not fit into 64 bits."""
_SMALLEST, _LARGEST = 1e-4, 1e16
"""Fractions between these are written without an exponent."""
_MOST_LAYERS: Final = 16
"""Nested lists and mappings that are checked; a deeper body goes to the standard library."""
_SIMPLE: Final = frozenset({str, int, bool, type(None)})
_TEXT_ONLY: Final = frozenset({str})


def encode_body(body: Any) -> bytes:
    r"""Compact JSON in ASCII, so that half of a surrogate pair can be sent as well.

    Raises:
        TypeError: a value has no JSON form.

    >>> encode_body({"a": ["易", 1e-7, 0.5]})
    b'{"a":["\\u6613",1e-07,0.5]}'
    """
    if _is_written_alike(body, _MOST_LAYERS):
        try:
            data = fast_json.dumps(body)
        except TypeError:  # half of a surrogate pair, or an integer beyond 64 bits
            return _ENCODE(body).encode()
        if data.isascii():
            return data
    return _ENCODE(body).encode()


def parse_body(data: bytes) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deeply.

    >>> parse_body(b'{"a": 123456789012345678901234567890}')
    {'a': 123456789012345678901234567890}
    """
    if _MAYBE_TOO_LONG not in data.translate(_DIGITS):
        try:
            return fast_json.loads(data)
        except ValueError:
            pass
    return json.loads(data)


def _is_written_alike(value: Any, layers: int) -> bool:
    """Whether both packages write a value in the same way, except for text outside ASCII."""
    kind = type(value)
    if kind is float:
        return bool(value == 0 or _SMALLEST <= abs(value) < _LARGEST)  # False of NaN
    if kind in _SIMPLE or not layers:
        return kind in _SIMPLE
    if kind is dict:
        if not _TEXT_ONLY.issuperset(map(type, value)):
            return False
        value = value.values()
    elif kind is not list and kind is not tuple:
        return False
    # A loop, and texts first: called for each text, or as a generator under `all`, this took as long as `json` itself.
    for item in value:  # noqa: SIM110
        if type(item) is not str and not _is_written_alike(item, layers - 1):
            return False
    return True


def mapping_or_empty(value: Any) -> Mapping[str, Any]:
    """`value` where it is a mapping, else an empty one: services send null, texts and lists in place of mappings."""
    if value is None or type(value) is dict:  # checking an abstract class takes ten times as long
        return value or {}
    return value if isinstance(value, Mapping) else {}
