"""What a scorer of exams kept beside a score, read fast: a summary of 100,000 replies needs it of each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from steelyard.store.codec import Unpacker
from steelyard.summary import NOT_KEPT, Answered
from steelyard.text.plain_json import from_json

# A quotation mark inside a JSON text has a backslash before it, so `"letters":` can only be a key.
_KEYS: Final = re.compile(rb'"(letters|wanted|original|confidence|kind)":"([^"\\]*)"|"(options)":([0-9]+)', re.ASCII)
_MOST_KEPT: Final = 20_000
"""Different bodies that are remembered: most replies say one of a few things."""


class AnsweredReader:
    """Reads packed bodies of scores, equal ones once."""

    __slots__ = ("_known", "_unpacker")

    def __init__(self, unpacker: Unpacker) -> None:
        self._unpacker = unpacker
        self._known: dict[bytes, Answered] = {}

    def read(self, body: bytes) -> Answered:
        """The letters and the key in the body of a score.

        Raises:
            StoreError: the body is damaged.
        """
        packed = bytes(body)
        found = self._known.get(packed)
        if found is None:
            found = _answered(self._unpacker.unpack(packed))
            if len(self._known) < _MOST_KEPT:
                self._known[packed] = found
        return found


def answered_of(detail: Mapping[str, Any]) -> Answered:
    """The same from a detail that was opened already.

    >>> answered_of({"letters": "B", "wanted": "B", "options": 4, "confidence": "inferred"})
    Answered(letters='B', wanted='B', options=4, original=None, inferred=True, kind='')
    """
    texts = {key: detail.get(key) for key in ("letters", "wanted", "original", "confidence", "kind")}
    options = detail.get("options")
    return Answered(
        letters=_text(texts["letters"]),
        wanted=_text(texts["wanted"]),
        options=options if isinstance(options, int) else 0,
        original=texts["original"] if isinstance(texts["original"], str) else None,
        inferred=texts["confidence"] == "inferred",
        kind=_text(texts["kind"]),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _answered(data: bytes) -> Answered:
    if b"\\u" in data or data.count(b"{") != 1:
        # Something is nested or escaped, so a key may not be one of the detail's own.
        detail = from_json(data)[1]
        return answered_of(detail) if isinstance(detail, Mapping) else NOT_KEPT
    found = {key or count: value or number for key, value, count, number in _KEYS.findall(data)}
    original = found.get(b"original")
    return Answered(
        letters=found.get(b"letters", b"").decode("utf-8", "replace"),
        wanted=found.get(b"wanted", b"").decode("utf-8", "replace"),
        options=int(found.get(b"options", b"0")),
        original=None if original is None else original.decode("utf-8", "replace"),
        inferred=found.get(b"confidence") == b"inferred",
        kind=found.get(b"kind", b"").decode("utf-8", "replace"),
    )
