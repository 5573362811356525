"""JSON objects of a judge's reply: clean, fenced, broken off, or with single quotes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

_OPENING: Final = re.compile(r"\{\s{0,40}(?:\"[^\"\n]{1,60}\"|'[^'\n]{1,60}'|[A-Za-z_]\w{0,40})\s{0,40}:")
_PAIR: Final = re.compile(
    r"(?:[\"'](?P<quoted>[^\"'\n]{1,60})[\"']|(?<=[{,\s])(?P<bare>[A-Za-z_]\w{0,40}))\s{0,40}:\s{0,40}"
    r"(?:\"(?P<double>(?:\\.|[^\"\\]){0,20000}+)(?:\"|\Z)|'(?P<single>(?:\\.|[^'\\\n]){0,4000}+)'"
    r"|(?P<plain>[A-Za-z]{1,20}|-?\d{1,9}(?:\.\d{1,9})?)(?=\s{0,40}(?:[,}\n]|\Z)))"
)
_PLAIN: Final[Mapping[str, Any]] = {"true": True, "false": False, "null": None, "none": None}
_DECODER: Final = json.JSONDecoder(strict=False)
_MOST_OBJECTS: Final = 20
_MOST_PAIRS: Final = 50
_MOST_BROKEN: Final = 40_000


class JsonObject(NamedTuple):
    """One object; its keys are lower case without blanks, hyphens and underscores."""

    values: Mapping[str, Any]
    start: int
    end: int


def json_objects(text: str) -> tuple[JsonObject, ...]:
    """The objects in `text`; of one that cannot be parsed, the pairs of a key and a plain value that can be found.

    >>> json_objects('so: {"Verdict": "yes", "why": {"a": 1}}')[0].values
    {'verdict': 'yes', 'why': {'a': 1}}
    >>> json_objects("{'final_verdict': 'no', 'reason': 'it br")[0].values
    {'finalverdict': 'no'}
    """
    found: list[JsonObject] = []
    place = 0
    while len(found) < _MOST_OBJECTS and (match := _OPENING.search(text, place)) is not None:
        try:
            value, place = _DECODER.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            if broken := _broken(text, match.start()):
                found.append(broken)
            break
        if isinstance(value, Mapping):
            found.append(JsonObject(_keyed(value), match.start(), place))
    return tuple(found)


def plain_key(key: str) -> str:
    """A key as it is compared.

    >>> plain_key("Final_Verdict ")
    'finalverdict'
    """
    return re.sub(r"[\s_\-*]", "", key.lower())


def said_in(
    values: Mapping[str, Any], tiers: Sequence[Iterable[str]], read: Callable[[str, Any], str]
) -> tuple[str, str] | None:
    """The key and label of the verdict in an object; the label "" where several contradict each other.

    Args:
        values: the object.
        tiers: keys that outweigh all others, the strongest first.
        read: the label of a value under a key, "" where it is none.
    """
    labels = {key: label for key, value in values.items() if (label := read(key, value))}
    for tier in tiers:
        named = {key: labels[key] for key in tier if key in labels}
        if named:
            return _agreed(named)
    if labels:
        return _agreed(labels)
    inner: dict[str, Any] = {}
    for value in values.values():
        if isinstance(value, Mapping):
            inner.update(_keyed(value))
    labels = {key: label for key, value in inner.items() if (label := read(key, value))}
    return _agreed(labels) if labels else None


def value_span(text: str, one: JsonObject, key: str) -> tuple[int, int]:
    """Where the value of `key` stands; the whole object where it cannot be found."""
    for match in _PAIR.finditer(text, one.start, one.end):
        if plain_key(match["quoted"] or match["bare"] or "") == key:
            name = next(name for name in ("double", "single", "plain") if match[name] is not None)
            return match.span(name)
    return one.start, one.end


def _agreed(labels: Mapping[str, str]) -> tuple[str, str]:
    key = next(iter(labels))
    return key, labels[key] if len(set(labels.values())) == 1 else ""


def _keyed(value: Mapping[Any, Any]) -> dict[str, Any]:
    return {plain_key(str(key)): one for key, one in value.items()}


def _broken(text: str, start: int) -> JsonObject | None:
    """The pairs of an object that is no valid JSON, up to its brace or the end of the text."""
    values: dict[str, Any] = {}
    place, limit = start + 1, min(len(text), start + _MOST_BROKEN)
    for _ in range(_MOST_PAIRS):
        match = _PAIR.search(text, place, limit)
        if match is None or "}" in text[place : match.start()]:
            break
        plain = match["plain"]
        value = _PLAIN.get(plain.lower(), plain) if plain is not None else (match["double"] or match["single"] or "")
        values[plain_key(match["quoted"] or match["bare"])] = value
        place = match.end()
    if not values:
        return None
    closing = text.find("}", place, limit)
    return JsonObject(values, start, closing + 1 if closing >= 0 else limit)
