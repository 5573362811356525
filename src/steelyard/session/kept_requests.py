"""Requests that the journal keeps with their replies: those of agents and applications, which nobody can build again.

What `prompt` sends follows from the manifest and the sample, so that its requests are not kept. Code of the user's may
send anything: its requests are kept with secrets masked, and without the middle of what is long.
"""

# Why it is so, and what was rejected: docs/decisions/session-kept-requests.md

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from steelyard.models.base import SENT, Request
from steelyard.models.references import masked
from steelyard.plain_json import from_json, to_json
from steelyard.types import Reply

LONGEST_TEXT: Final = 4_000
"""Characters of one text of a request that is too long: an image, or a whole document."""
LONGEST: Final = 64_000
"""Characters of a request; a longer one is shortened."""


def with_request(reply: Reply, request: Request, redact: Callable[[str], str]) -> Reply:
    """The reply with the request that it answers, for the journal.

    Args:
        reply: to the request.
        request: as it was sent.
        redact: replaces the values of secrets by their names.
    """
    text = redact(f"{request.method} {request.url}\n{_body_text(request.payload)}")
    return replace(reply, metadata={**reply.metadata, SENT: _cut(masked(text), LONGEST)})


def _body_text(payload: bytes) -> str:
    text = payload.decode(errors="replace")
    if len(text) <= LONGEST:
        return text
    try:
        return to_json(_shortened(from_json(payload))).decode()
    except ValueError:
        return _cut(text, LONGEST)


def _shortened(value: Any) -> Any:
    """A JSON value with the middle of long texts left out."""
    if isinstance(value, str):
        return _cut(value, LONGEST_TEXT)
    if isinstance(value, Mapping):
        return {key: _shortened(part) for key, part in value.items()}
    return [_shortened(part) for part in value] if isinstance(value, list) else value


def _cut(text: str, most: int) -> str:
    """A text without its middle where it is too long.

    >>> _cut("abcdefgh", 4)
    'ab… (4 characters left out) …gh'
    """
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}… ({len(text) - 2 * half:,} characters left out) …{text[-half:]}"
