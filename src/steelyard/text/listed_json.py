"""Lists that a model wrote as JSON: clean, fenced, with single quotes, or broken off in the middle.

A list that broke off gives the entries that are whole. Values are read one after the other rather than the list as a
whole, so that one damaged entry costs only what follows it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from steelyard.text.sql_fences import JSON_WORDS, blocks_of

LONGEST_LIST: Final = 200_000
"""Characters of a reply that are read as a list: some thousand entries. A megabyte would hold up all others."""

_START: Final = re.compile(
    r"(?m)^[ \t]{0,40}(?:(?P<list>\[(?=\s{0,40}(?:[\"'{\]]|true\b|false\b|\Z)))"
    r"|(?P<object>\{)\s{0,40}(?:\"[^\"\n]{1,60}\"|'[^'\n]{1,60}')\s{0,40}:\s{0,40}(?P<inner>\[)?)"
)
_SEPARATOR: Final = re.compile(r"[\s,;]{0,200}")
_QUOTED: Final = re.compile(r"([\"'])((?:\\.|(?!\1)[^\\\n])*+)\1(?=\s{0,40}(?:,|\]|\Z))")
_TEXT_KEYS: Final = (
    "question", "claim", "statement", "text", "query", "fact", "sentence", "content",
    "问题", "题目", "陈述", "声明", "主张", "论断", "事实", "内容",
)  # fmt: skip
_NUMBERED_KEY: Final = re.compile(r"\D{0,20}(\d{1,4})\Z")
_MOST_STARTS: Final = 20
_DECODER: Final = json.JSONDecoder(strict=False)


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
    for count, match in enumerate(_START.finditer(piece)):
        if count >= _MOST_STARTS:
            return None
        if match["list"]:
            found: JsonList | None = _values(piece, match.end("list"))
        elif match["inner"]:
            found = _values(piece, match.end("inner"))
        else:
            found = _objects(piece, match.start("object"))
        if found is not None:
            return found
    return None


def _values(piece: str, place: int) -> JsonList | None:
    """The values from `place`, behind an opening bracket; None where the first of them cannot be read."""
    found: list[Any] = []
    while True:
        place = _after_separator(piece, place)
        if place >= len(piece) or piece[place] == "]":
            closed = place < len(piece)
            return JsonList(tuple(found), closed) if found or closed else None
        one = _value_at(piece, place)
        if one is None:
            return JsonList(tuple(found), closed=False) if found else None
        value, place = one
        found.append(value)


def _objects(piece: str, place: int) -> JsonList | None:
    """Objects that follow each other from `place`, or the texts of one whose keys number its entries."""
    found: list[Any] = []
    while place < len(piece) and piece[place] == "{" and (one := _value_at(piece, place)) is not None:
        found.append(one[0])
        place = _after_separator(piece, one[1])
    if len(found) == 1 and isinstance(found[0], Mapping):
        return _of_object(found[0])
    return JsonList(tuple(found), closed=True) if found else None


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


def _value_at(piece: str, place: int) -> tuple[Any, int] | None:
    """The value at `place` and where the text goes on; None where none can be read."""
    try:
        value, end = _DECODER.raw_decode(piece, place)
    except (ValueError, RecursionError):
        quoted = _QUOTED.match(piece, place)
        return (_unescaped(quoted[2]), quoted.end()) if quoted else None
    return value, end


def _unescaped(text: str) -> str:
    return text.replace("\\'", "'").replace('\\"', '"')


def texts_of(values: Sequence[Any]) -> tuple[str, ...]:
    """The texts of `values`, without the entries that hold none."""
    return tuple(one for one in map(text_of, values) if one)
