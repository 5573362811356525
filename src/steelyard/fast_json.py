"""JSON by orjson where it is installed, else by the standard library: the one module that knows which.

orjson has no wheel for some new Pythons on older systems; without it everything works, and more slowly. Callers rely on
values alone: which bytes are written is theirs to check, as `models.json_bodies` does.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any, Final

_ENCODE: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def standard_dumps(value: Any) -> bytes:
    """Compact JSON in UTF-8, by the standard library.

    Raises:
        TypeError: a value has no JSON form: a date, NaN, half of a surrogate pair.

    >>> standard_dumps({"a": [1, "易"]}).decode()
    '{"a":[1,"易"]}'
    """
    try:
        return _ENCODE(value).encode()
    except ValueError as error:
        raise TypeError(str(error)) from error


def standard_loads(data: bytes) -> Any:
    """The value of a JSON text, by the standard library.

    Raises:
        ValueError: it is not JSON, or is nested too deeply.

    >>> standard_loads(b'[1, null]')
    [1, None]
    """
    try:
        return json.loads(data)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


dumps: Callable[[Any], bytes] = standard_dumps
"""Compact JSON in UTF-8; raises TypeError for a value without a JSON form."""
loads: Callable[[bytes], Any] = standard_loads
"""The value of a JSON text; raises ValueError where it is none."""
try:
    import orjson
except ImportError:
    pass
else:
    # Without a function of ours around them: half of what a reply costs is spent in these two.
    dumps, loads = partial(orjson.dumps, option=orjson.OPT_PASSTHROUGH_SUBCLASS), orjson.loads
