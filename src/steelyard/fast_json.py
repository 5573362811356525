"""JSON by orjson where it is installed, else by the standard library: the one module that knows which.

orjson has no wheel for some new Pythons on older systems; without it everything works, and more slowly. Callers compare
nothing but values: which bytes are written is theirs to check, as `models.json_bodies` does.
"""

from __future__ import annotations

import json
from typing import Any, Final

try:
    import orjson
except ImportError:
    HAS_ORJSON = False
else:
    HAS_ORJSON = True

_ENCODE: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def dumps(value: Any) -> bytes:
    """Compact JSON in UTF-8.

    Raises:
        TypeError: a value has no JSON form: a date, NaN without orjson, half of a surrogate pair.

    >>> dumps({"a": [1, "易"]}).decode()
    '{"a":[1,"易"]}'
    """
    if HAS_ORJSON:
        return orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_SUBCLASS)
    try:
        return _ENCODE(value).encode()
    except ValueError as error:
        raise TypeError(str(error)) from error


def loads(data: bytes) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: it is not JSON, or is nested too deeply.

    >>> loads(b'[1, null]')
    [1, None]
    """
    if HAS_ORJSON:
        return orjson.loads(data)
    try:
        return json.loads(data)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
