"""Why a reply ended, in OpenAI's words, whatever the service calls it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_OURS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "sensitive": "content_filter",
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
        "end_turn": "stop",
        "stop_sequence": "stop",
        "eos": "stop",
    }
)
"""ZhipuAI's word for a filter, and Anthropic's and TGI's for the rest, which gateways pass on as they came."""

WITHOUT_TEXT: Final = frozenset({"content_filter", "length", "refusal", "tool_calls"})
"""A reply that ended so may have no text, and asking again would be paid for and end the same way."""


def finish_named(said: str) -> str:
    """OpenAI's word for `said`; a word that nobody knows stays what it is.

    >>> finish_named("sensitive"), finish_named("stop"), finish_named("abort")
    ('content_filter', 'stop', 'abort')
    """
    return _OURS.get(said, said)
