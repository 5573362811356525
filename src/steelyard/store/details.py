"""What a scorer of exams kept beside a score, read fast: a summary of 100,000 replies needs it of each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from steelyard.store.codec import Unpacker
from steelyard.summary import NOT_KEPT, Answered
from steelyard.text.plain_json import from_json

# A quotation mark inside a JSON text has a backslash before it, so `"letters":` can only be a key.
_KEYS: Final = re.compile(rb'"(letters|wanted|original|confidence|kind)":"([^"\\]*)"|"(options)":([0-9]+)', re.ASCII)
_MOST_KEPT: Final = 20_000
"""Different bodies that are remembered."""


class AnsweredReader:
    """Reads packed bodies of scores, equal ones once, and numbers what they say: most say one of a few things."""

    __slots__ = ("_bodies", "_numbers", "_said", "_unpacker")

    def __init__(self, unpacker: Unpacker) -> None:
        self._unpacker = unpacker
        self._bodies: dict[bytes | None, int] = {}
        self._numbers: dict[Answered, int] = {}
        self._said: list[Answered] = []

    @property
    def kept(self) -> tuple[Answered, ...]:
        """What the bodies that were read say, each different thing once, by number."""
        return tuple(self._said)

    def number(self, body: bytes | None) -> int:
        """The number of the letters and the key in the body of a score; of `NOT_KEPT` where it has none.

        Raises:
            StoreError: the body is damaged.
        """
        found = self._bodies.get(body)
        if found is None:
            said = NOT_KEPT if body is None else _answered(self._unpacker.unpack(body))
            found = self._numbers.setdefault(said, len(self._said))
            if found == len(self._said):
                self._said.append(said)
            if len(self._bodies) < _MOST_KEPT:
                self._bodies[body] = found
        return found

    def numbers(self, bodies: Sequence[bytes | None]) -> list[int]:
        """The same of several."""
        found = list(map(self._bodies.get, bodies))
        return [self.number(body) if number is None else number for body, number in zip(bodies, found, strict=True)]

    def read(self, body: bytes) -> Answered:
        """The letters and the key in the body of a score.

        Raises:
            StoreError: the body is damaged.
        """
        return self._said[self.number(bytes(body))]


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
