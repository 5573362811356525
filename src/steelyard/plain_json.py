"""JSON of any value: for people and programs, and compact for the journal, the store and hashes.

Also what many rooms do with plain values: read them, group them, walk over their texts.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, time
from decimal import Decimal
from enum import Enum
from hashlib import blake2b
from itertools import islice
from pathlib import PurePath
from typing import Any, Final, TypeVar
from uuid import UUID

K = TypeVar("K")
V = TypeVar("V")

MOST_BYTES: Final = 256 << 20
"""A stored value takes at most so much: what unpacks to more could fill the memory."""
_MOST_PARTS: Final = 5_000_000
"""Texts, commas and opening brackets of one value; each takes up to 100 bytes. A table of 2,000,000 cells is below."""
_PART: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[,\[{]', re.DOTALL)


def to_json(value: Any) -> bytes:
    """Compact JSON; values without a JSON form become their nearest plain form, or their repr.

    >>> to_json({"a": (1, "易"), "b": {3, 2}}).decode()
    '{"a":[1,"易"],"b":[2,3]}'
    """
    return _ENCODER.encode(value).encode("utf-8", "surrogatepass")


def from_json(data: bytes | str) -> Any:
    """Parse JSON that `to_json` wrote, or that somebody else has put in its place.

    Raises:
        ValueError: it is no JSON, nested too deep to be read, or of so many values that they would fill the memory.
    """
    text = data.decode("utf-8", "surrogatepass") if isinstance(data, bytes) else data
    _check_parts(text)
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def stored_json(value: Any) -> bytes:
    """As `to_json`, for a value that is stored: `from_json` and the store have to take it back.

    Raises:
        ValueError: it is too large.
    """
    data = to_json(value)
    if len(data) > MOST_BYTES:
        raise ValueError(f"it takes {len(data):,} bytes, and a stored value has at most {MOST_BYTES:,}")
    if len(data) > _MOST_PARTS:
        _check_parts(data.decode("utf-8", "surrogatepass"))
    return data


def _check_parts(text: str) -> None:
    # Most of the marks may stand in texts, as in a table that a model wrote.
    marks = sum(map(text.count, ',[{"')) if len(text) > _MOST_PARTS else 0
    if marks > _MOST_PARTS and any(islice(_PART.finditer(text), _MOST_PARTS, None)):
        raise ValueError(f"it holds more than {_MOST_PARTS:,} values")


def check_types(*parts: tuple[Any, Any]) -> None:
    """Refuse a value that no version has written in its place: whoever reads it would take it for what was written.

    Raises:
        TypeError: a value is not of its type.
    """
    for value, kind in parts:
        if not isinstance(value, kind):
            raise TypeError(f"it holds {value!r:.80} in the place of another type")


def distinct_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON from its pairs, as a decoder's `object_pairs_hook`.

    Raises:
        ValueError: a key occurs twice, of which one value would be lost.
    """
    members = dict(pairs)
    if len(members) < len(pairs):
        doubled = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise ValueError(f"the key {doubled[:40]!r} occurs twice in one object")
    return members


def no_constant(name: str) -> Any:
    """A decoder's `parse_constant`: NaN and Infinity are no JSON.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"{name} is not a JSON value")


def mapping_or_empty(value: Any) -> Mapping[str, Any]:
    """`value` where it is a mapping, else an empty one: services and old records have null, texts and lists there."""
    if value is None or type(value) is dict:  # checking an abstract class takes ten times as long
        return value or {}
    return value if isinstance(value, Mapping) else {}


def text_or_json(value: Any) -> str:
    """A text as it is, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def parsed_or(text: str | bytes | bytearray, otherwise: Any = None) -> Any:
    """The JSON value of a text; `otherwise` where it is none, or is nested too deep.

    >>> parsed_or("[1]"), parsed_or("[1", "no list")
    ([1], 'no list')
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return otherwise


def digest_of(value: Any) -> str:
    """Content hash of a value: 32 hexadecimal digits, independent of key order."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), sort_keys=True, default=described)
    return blake2b(text.encode(), digest_size=16).hexdigest()


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """The second members of pairs under the first, in order.

    >>> grouped([("a", 1), ("b", 2), ("a", 3)])
    {'a': [1, 3], 'b': [2]}
    """
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def field_values(value: Any, **names: str) -> dict[str, Any]:
    """The fields of a dataclass by name, unchanged: `dataclasses.asdict` would also convert the values in them.

    Args:
        value: of a dataclass.
        names: field -> its key, where that is another; "" leaves it out.
    """
    keys = {field.name: names.get(field.name, field.name) for field in dataclasses.fields(value)}
    return {key: getattr(value, name) for name, key in keys.items() if key}


def json_value(value: Any) -> Any:
    """A value as commands print it: objects, lists, texts, numbers, true, false and null all the way down.

    A dataclass is an object of its fields. Where a value's JSON differs, as by a derived value, its class has a method
    `json_fields` that returns what the object holds. A tuple is a list, named or not, so an interval is
    [low, high]. NaN and infinity are null, as JSON has neither. All else is as in `plain`.

    Raises:
        TypeError: a part has no JSON form.

    >>> json_value({"a": (1, float("nan")), 2: {"x"}, "at": date(2026, 3, 1)})
    {'a': [1, None], '2': ['x'], 'at': '2026-03-01'}
    """
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if hasattr(type(value), "json_fields"):
        value = value.json_fields()
    elif not isinstance(value, tuple | list):
        value = plain(value)
    if isinstance(value, Mapping):
        return {str(key): json_value(element) for key, element in value.items()}
    return [json_value(element) for element in value] if isinstance(value, tuple | list) else json_value(value)


def check_plain(value: Any) -> None:
    """Raise TypeError for a value without a JSON form: a generator, an open file, an object of the user's class.

    Raises:
        TypeError: which type it is.
        ValueError: it contains itself.

    >>> check_plain({"a": [1, {2}]})
    >>> check_plain(iter([1]))
    Traceback (most recent call last):
        ...
    TypeError: a value of type list_iterator has no JSON form; use a text, number, list, mapping or dataclass
    """
    if type(value) is not str:
        _STRICT.encode(value)


def texts_in(value: Any, *, without: Collection[str] = ()) -> Iterator[str]:
    """Every string in a plain value, keys left out, and what stands under the keys `without`.

    >>> list(texts_in({"a": ["b", 1, {"c": "d"}]}))
    ['b', 'd']
    """
    return (text for _, text in named_texts(value, without=without))


def named_texts(value: Any, key: str = "", *, without: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """Every string in a plain value, as `texts_in` gives it, with the nearest key above it.

    >>> list(named_texts({"a": ["b", 1, {"c": "d"}]}))
    [('a', 'b'), ('c', 'd')]
    """
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping):
        for name, element in value.items():
            if name not in without:
                yield from named_texts(element, str(name), without=without)
    elif isinstance(value, list | tuple):
        for element in value:
            yield from named_texts(element, key, without=without)


def with_texts(value: Any, change: Callable[[str], Any]) -> Any:
    """A plain value with each string replaced by what `change` makes of it, keys left as they are.

    >>> with_texts({"a": ["b", 1]}, str.upper)
    {'a': ['B', 1]}
    """
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: with_texts(element, change) for key, element in value.items()}
    return [with_texts(element, change) for element in value] if isinstance(value, list | tuple) else value


def described(value: Any) -> Any:
    """The nearest JSON value of an object, or its repr if it has none; for hashes and descriptions."""
    try:
        return plain(value)
    except TypeError:
        return repr(value)


def plain(value: Any) -> Any:
    """The nearest JSON value of a user's object.

    A dataclass or a pydantic model becomes a mapping, a number of another library a number, a set a sorted list; a
    date, a path and a decimal become texts.

    Raises:
        TypeError: it has none.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return field_values(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    if isinstance(value, date | time | PurePath | Decimal | UUID):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    for name in ("model_dump", "to_dict", "tolist", "item"):
        method = getattr(value, name, None)
        if callable(method) and not isinstance(value, type):
            with suppress(TypeError):  # a method of that name may have another meaning and need arguments
                return method()
    what = f"the class {value.__name__}" if isinstance(value, type) else f"a value of type {type(value).__name__}"
    raise TypeError(f"{what} has no JSON form; use a text, number, list, mapping or dataclass")


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=described)
_STRICT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=plain)
