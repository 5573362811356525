"""Lists that a model wrote as JSON: clean, fenced, with single quotes, or broken off in the middle.

A list that broke off gives the entries that are whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from steelyard.replies.fences import JSON_WORDS, blocks_of
from steelyard.replies.jsonlike import JsonValue, json_at

LONGEST_LIST: Final = 200_000
"""Characters of a reply that are read as a list: some thousand entries. A megabyte would hold up all others."""

_START: Final = re.compile(
    r"(?m)^[ \t]{0,40}(?:(?P<list>\[(?=\s{0,40}(?:[\"'{\]]|true\b|false\b|\Z)))"
    r"|(?P<object>\{)\s{0,40}(?:\"[^\"\n]{1,60}\"|'[^'\n]{1,60}')\s{0,40}:)"
)
_SEPARATOR: Final = re.compile(r"[\s,;]{0,200}")
_TEXT_KEYS: Final = (
    "question", "claim", "statement", "text", "query", "fact", "sentence", "content",
    "问题", "题目", "陈述", "声明", "主张", "论断", "事实", "内容",
)  # fmt: skip
_NUMBERED_KEY: Final = re.compile(r"\D{0,20}(\d{1,4})\Z")
_MOST_STARTS: Final = 20


class JsonList(NamedTuple):
    """The values of a list, and whether it is closed."""

    values: tuple[Any, ...]
    closed: bool


def json_list(text: str) -> JsonList | None:
    r"""The first list of JSON values in `text`; None where there is none.

    A list that is the first value of an object, objects that follow each other, and an object whose keys are numbers
    count as lists.

    >>> json_list('Sure:\n["a", "b", "c')
    JsonList(values=('a', 'b'), closed=False)
    >>> json_list('{"claims": []}')
    JsonList(values=(), closed=True)
    """
    return next((found for piece in _pieces(text) if (found := _in_piece(piece)) is not None), None)


def text_of(value: Any) -> str:
    """The text of one entry: itself, or the one text that a mapping holds; "" where there is none.

    >>> text_of({"id": 3, "claim": "Paris is in France."})
    'Paris is in France.'
    """
    if isinstance(value, str):
        return value.strip()
    if not isinstance(value, Mapping):
        return ""
    lowered = {str(key).strip().lower(): one for key, one in value.items() if isinstance(one, str)}
    named = next((lowered[key] for key in _TEXT_KEYS if key in lowered), None)
    if named is None and len(lowered) == 1:
        named = next(iter(lowered.values()))
    return (named or "").strip()


def _pieces(text: str) -> Iterator[str]:
    """The fenced blocks that may hold JSON, then the whole text."""
    if "```" in text or "~~~" in text:
        for block in blocks_of(text, 0, len(text)):
            content = text[block.start : block.end]
            if block.word in JSON_WORDS or content.lstrip()[:1] in {"[", "{"}:
                yield content
    yield text


def _in_piece(piece: str) -> JsonList | None:
    for match in islice(_START.finditer(piece), _MOST_STARTS):
        if match["list"]:
            found = _whole_items(json_at(piece, match.start("list")))
        else:
            found = _objects(piece, match.start("object"))
        if found is not None:
            return found
    return None


def _whole_items(value: JsonValue) -> JsonList | None:
    """The items of a list that are whole; None where it has none and breaks off."""
    values = tuple(item.python() for _, item in value.items if item.closed)
    return JsonList(values, value.closed) if values or value.closed else None


def _objects(piece: str, start: int) -> JsonList | None:
    """Objects that follow each other, the list that one of them holds, or the texts that its numbered keys name."""
    values: list[Any] = []
    place = start
    while place < len(piece) and piece[place] == "{":
        value = json_at(piece, place)
        if not values and value.items and value.items[0][1].kind == "list":
            return _whole_items(value.items[0][1])
        if not value.closed:
            break
        values.append(value.python())
        place = _after_separator(piece, value.end)
    if len(values) == 1:
        return _of_object(values[0])
    return JsonList(tuple(values), closed=True) if values else None


def _of_object(value: Mapping[str, Any]) -> JsonList | None:
    inner = next((one for one in value.values() if isinstance(one, list)), None)
    if inner is not None:
        return JsonList(tuple(inner), closed=True)
    by_number = {int(match[1]): one for key, one in value.items() if (match := _NUMBERED_KEY.match(key))}
    if len(value) > 1 and sorted(by_number) == list(range(1, len(value) + 1)):
        return JsonList(tuple(by_number[number] for number in sorted(by_number)), closed=True)
    return JsonList((value,), closed=True) if text_of(value) else None


def _after_separator(piece: str, place: int) -> int:
    match = _SEPARATOR.match(piece, place)
    return match.end() if match else place


def texts_of(values: Sequence[Any]) -> tuple[str, ...]:
    """The texts of `values`, without the entries that hold none."""
    return tuple(one for one in map(text_of, values) if one)
