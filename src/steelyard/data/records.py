"""JSON lines, which stream, and JSON lists, which are held: rows whose cells go by key."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any, Final

from steelyard.data.encoding import TextFile, examine_rows
from steelyard.data.table import Row, Table
from steelyard.errors import DataError

MAX_LIST_BYTES: Final = 60_000_000
"""A JSON list is held in memory whole, at up to four bytes for each of its own; a larger one is for JSON lines."""
MAX_LIST_MARKS: Final = 2_000_000
"""Commas and opening brackets of a list, as a bound of the values in it, each of which takes up to 200 bytes."""
MAX_DIGITS: Final = 4_000
"""Digits of a whole number."""
MAX_KEYS: Final = 16_384
"""Keys of one object: as many as a sheet has columns."""


def read_json_lines(path: Path) -> Table:
    """A .jsonl file: one object a line; blank lines are skipped.

    Raises:
        DataError: an encoding that cannot be read; while iterating, a line that is no object or not well-formed.
    """
    text = examine_rows(path)
    return Table(path.name, lambda: _lines(text), "line", keyed=True)


def read_json_list(path: Path) -> Table:
    """A .json file: one list of objects, or an object in which one key alone holds such a list (`examples`, `data`).

    Raises:
        DataError: it is larger than `MAX_LIST_BYTES`, not well-formed, or no list of objects.
    """
    text = examine_rows(path)
    if text.stamp[0] > MAX_LIST_BYTES:
        raise DataError(f"{path.name} has {text.stamp[0]:,} bytes; a list this long is read as JSON lines (.jsonl)")
    content = text.whole()
    if sum(map(content.count, ",[{")) > MAX_LIST_MARKS:
        raise DataError(f"{path.name} may hold more than {MAX_LIST_MARKS:,} values; save it as JSON lines (.jsonl)")
    value = _rows_in(_parse(content, path.name))
    if not isinstance(value, list):
        raise DataError(f"{path.name}: expected a list of objects, but it holds {_kind(value)}")
    rows = []
    for number, entry in enumerate(value, start=1):
        if not isinstance(entry, dict):
            raise DataError(f"{path.name} entry {number}: expected an object, but it is {_kind(entry)}")
        rows.append(Row(number, entry))
    return Table(path.name, lambda: iter(rows), "entry", keyed=True)


def _rows_in(value: Any) -> Any:
    """The list that an object wraps beside what it says of itself; anything else as it is."""
    if not isinstance(value, dict):
        return value
    lists = [one for one in value.values() if isinstance(one, list) and one and isinstance(one[0], dict)]
    return lists[0] if len(lists) == 1 else value


def _lines(text: TextFile) -> Iterator[Row]:
    for number, line in enumerate(text.lines(newline="\n"), start=1):
        if line.isspace():
            continue
        place = f"{text.path.name}:{number}"
        entry = _parse(line, place)
        if not isinstance(entry, dict):
            raise DataError(f"{place}: expected an object, but it is {_kind(entry)}")
        yield Row(number, entry)


def _parse(text: str, place: str) -> Any:
    try:
        value = json.loads(
            text, object_pairs_hook=_object, parse_constant=_no_constant, parse_float=_finite, parse_int=_whole
        )
        if "\\u" in text:
            _refuse_broken_characters(value)
    except json.JSONDecodeError as error:
        line = f" (line {error.lineno})" if error.lineno > 1 else ""
        hint = "; JSON lines are named .jsonl" if error.msg == "Extra data" and error.lineno > 1 else ""
        raise DataError(f"{place}: {error.msg}{line} at column {error.colno}{hint}") from error
    except RecursionError as error:
        raise DataError(f"{place}: nested too deeply") from error
    except ValueError as error:
        raise DataError(f"{place}: {error}") from error
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > MAX_KEYS:
        raise ValueError(f"an object of {len(pairs):,} keys; at most {MAX_KEYS:,} are read")
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise ValueError(f"the key {twice[:40]!r} stands twice in one object")
    return found


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError(f"the number {digits[:20]} is larger than a number can be here; write it as a text")
    return number


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number of {len(digits):,} digits; write it as a text")
    return int(digits)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


def _refuse_broken_characters(value: Any) -> None:
    """Escapes can write what no text may hold: half a character, or NUL."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = ord(error.object[error.start])
        raise ValueError(f"\\u{half:04x} is half a character (a lone surrogate)") from error
    if "\\u0000" in text.replace("\\\\", ""):
        raise ValueError("a NUL character (\\u0000)")


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
