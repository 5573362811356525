"""Requests that the journal keeps with their replies: those of agents and applications, which nobody can build again.

What `prompt` sends follows from the manifest and the sample, so that its requests are not kept. Code of the user's may
send anything: its requests are kept with secrets masked, and without the middle of what is long.
"""

# Why it is so, and what was rejected: docs/decisions/session-kept-requests.md

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from steelyard.models.base import SENT, Request
from steelyard.models.references import REFERENCE, masked, names_masked
from steelyard.plain_json import from_json, to_json
from steelyard.types import Reply

LONGEST_TEXT: Final = 4_000
"""Characters of one text of a request that is too long: an image, or a whole document."""
LONGEST: Final = 64_000
"""Characters of a request; a longer one is shortened."""


_MARGIN: Final = 1_000
"""Characters beyond a cut that are looked at too: what is left of a key must not show."""


def with_request(reply: Reply, request: Request, redact: Callable[[str], str]) -> Reply:
    """The reply with the request that it answers, for the journal.

    Args:
        reply: to the request.
        request: as it was sent.
        redact: replaces the values of secrets by their names.
    """
    body = request.payload.decode(errors="replace")
    masking = _Masking(redact, LONGEST_TEXT if len(body) > LONGEST else LONGEST)
    text = f"{masked(redact(f'{request.method} {request.url}'))}\n{masking.body(body)}"
    return replace(reply, metadata={**reply.metadata, SENT: _cut(text, LONGEST)})


@dataclass(frozen=True, slots=True)
class _Masking:
    """Masks the values of a body one by one.

    In its JSON as a text, an escape may hide where a key begins, and stars in place of a number are no JSON.

    Args:
        redact: replaces the values of secrets by their names.
        most: characters of one text; a longer one loses its middle.
    """

    redact: Callable[[str], str]
    most: int

    def body(self, text: str) -> str:
        """A whole body; one that is no JSON may be a form, whose parameters are those of an address."""
        try:
            return _encoded(self._value(from_json(text)))
        except (ValueError, RecursionError):
            return self._ends(f"?{text}", LONGEST)[1:]

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return [self._value(part) for part in value]
        if isinstance(value, Mapping):
            return self._fields(value)
        number = str(value)
        return value if self.redact(number) == number else self.redact(number)

    def _fields(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """An object; in `{"name": "Authorization", "value": ...}` the value has the name beside it."""
        beside = [name for key in ("name", "key", "header") if isinstance(name := fields.get(key), str)]
        shown = {}
        for key, value in fields.items():
            names = [key, *(beside if key in {"value", "values"} else ())]
            is_secret = any(names_masked(name, bare_key="-" in name) for name in names)
            shown[self._text(key)] = self._starred(value) if is_secret else self._value(value)
        return shown

    def _starred(self, value: Any) -> Any:
        """A secret's value: every text and number in it is stars; true, false and null tell nothing."""
        if isinstance(value, list):
            return [self._starred(part) for part in value]
        if isinstance(value, Mapping):
            return {self._text(key): self._starred(part) for key, part in value.items()}
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str) and REFERENCE.search(value):
            return self._text(value)
        return "*" * min(len(str(value)), self.most)

    def _text(self, text: str) -> str:
        """A text; one that is JSON itself, such as the arguments of a call, is masked by its values."""
        if text.lstrip()[:1] in {"{", "[", '"'}:
            try:
                value = from_json(text)
                shown = self._value(value)
            except (ValueError, RecursionError):
                return self._ends(text, self.most)
            return _cut(text if shown == value else _encoded(shown), self.most)
        return self._ends(text, self.most)

    def _ends(self, text: str, most: int) -> str:
        """A text, masked before it is cut; its middle is not read."""
        if len(text) <= most + 2 * _MARGIN:
            return _cut(masked(self.redact(text)), most)
        half = most // 2
        first, last = (masked(self.redact(end)) for end in (text[: half + _MARGIN], text[-half - _MARGIN :]))
        return _joined(first[:half], len(text) - 2 * half, last[-half:])


def _encoded(value: Any) -> str:
    return to_json(value).decode(errors="replace")  # a lone surrogate has no place in a store


def _cut(text: str, most: int) -> str:
    """A text without its middle where it is too long.

    >>> _cut("abcdefgh", 4)
    'ab… (4 characters left out) …gh'
    """
    if len(text) <= most:
        return text
    half = most // 2
    return _joined(text[:half], len(text) - 2 * half, text[-half:])


def _joined(first: str, left_out: int, last: str) -> str:
    return f"{first}… ({left_out:,} characters left out) …{last}"
