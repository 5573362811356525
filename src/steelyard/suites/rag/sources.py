"""Cells of a row -> the passages that its question should retrieve, and those that come with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from steelyard.data.table import render
from steelyard.text.list_cell import list_in

_KEYS: Final = ("id", "document", "start", "end", "page", "text")
_WHOLE: Final = frozenset({"start", "end", "page"})


class SourceError(Exception):
    """A cell that says nothing sensible about a source; `role` is the column's."""

    def __init__(self, role: str, message: str) -> None:
        super().__init__(message)
        self.role = role


def sources_in(cells: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The sources that a row names, each a mapping of what is known of it; none where it names none.

    Args:
        cells: by role: `source` is a text, a list of texts, or a list of mappings of their own; `document`, `page`,
            `start` and `end` (character offsets into the document's text) belong to a single source; `chunk` is an id
            or a list of them.

    Raises:
        SourceError: a cell that cannot be meant.

    >>> sources_in({"source": "It rains.", "document": "a.pdf", "start": "5", "end": "14"})
    [{'document': 'a.pdf', 'start': 5, 'end': 14, 'text': 'It rains.'}]
    """
    given = _listed(cells.get("source"))
    ids = [render(one) for one in _listed(cells.get("chunk")) if render(one)]
    shared = _checked({key: cells.get(key) for key in ("document", "page")})
    if not given and ids:
        return [{"id": one} | shared for one in ids]
    if len(given) <= 1 and not any(isinstance(one, Mapping) for one in given):
        own = {key: cells.get(key) for key in ("document", "page", "start", "end")}
        found = _checked(own | {"text": given[0] if given else None, "id": ids[0] if ids else None})
        # A document alone says what a question is about, and no passage.
        return [found] if {"start", "text", "id"} & set(found) else []
    return [shared | _checked(one if isinstance(one, Mapping) else {"text": one}) for one in given]


def contexts_in(cell: Any) -> tuple[str, ...]:
    """The passages that come with a question: a text or a list of texts.

    Raises:
        SourceError: something else.
    """
    found = _listed(cell)
    if not all(isinstance(one, str) for one in found):
        raise SourceError("contexts", "contexts is no text and no list of texts")
    return tuple(found)


def _listed(cell: Any) -> list[Any]:
    """A cell as a list: itself, the list that a sheet holds as a text, or the one thing it is."""
    if isinstance(cell, str) and (found := list_in(cell)) is not None:
        cell = found
    if isinstance(cell, list):
        return [one for one in cell if one is not None and one != ""]
    return [] if cell is None or render(cell) == "" else [cell if isinstance(cell, Mapping) else render(cell)]


def _checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """The known keys that are filled, numbers as numbers."""
    found: dict[str, Any] = {}
    for key in _KEYS:
        value = given.get(key)
        if value is None or render(value) == "":
            continue
        found[key] = _whole(key, value) if key in _WHOLE else _text(key, value)
    if ("start" in found) != ("end" in found) or found.get("start", 0) >= found.get("end", 1):
        raise SourceError("start", "start and end are character offsets: both are given, and start is below end")
    return found


def _whole(key: str, value: Any) -> int:
    text = render(value)
    if not text.isascii() or not text.isdecimal():
        raise SourceError(key, f"{key} is {text[:40]!r}, not a whole number")
    return int(text)


def _text(key: str, value: Any) -> str:
    if isinstance(value, list | Mapping):
        raise SourceError("source", f"the {key} of a source is a {type(value).__name__}, not a text")
    return value if isinstance(value, str) else render(value)
