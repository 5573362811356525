"""Recognises messages, their parts and their roles in the form of any framework, by tables of names.

A message has a role and a content, which is a text or a list of parts. A part is a text, a call of a tool, a tool's
result or reasoning; its kind is the name of its type (Anthropic, LlamaIndex, Pydantic AI, OpenTelemetry), or of the key
that it stands under (Gemini, Bedrock, Haystack). Names in camel case or with hyphens are read as with underscores.
Objects are recognised by their attributes, so no framework is imported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from functools import cache, lru_cache
from typing import Any, Final

CALL: Final = "call"
RESULT: Final = "result"
REASONING: Final = "reasoning"

_KINDS: Final = {
    REASONING: re.compile(r"thinking|thought|reasoning"),
    RESULT: re.compile(r"(?:tool|function|call)_(?:result|response|return|output)$|^retry_prompt$"),
    CALL: re.compile(r"(?:tool_use|_call)$"),
}
_TYPES: Final = ("type", "part_kind", "block_type", "content_type")
_KEYS: Final = (
    "tool_call", "function_call", "tool_use", "tool_call_result", "function_response", "tool_result", "reasoning",
    "reasoning_content",
)  # fmt: skip
"""Keys that a part without a type stands under."""
_SHAPES: Final = {"arguments": CALL, "origin": RESULT, "call_id": RESULT, "reasoning_text": REASONING}
"""Fields by which an object without a type is known."""
_ROLES: Final = {
    "human": "user", "ai": "assistant", "AIMessageChunk": "assistant", "model": "assistant", "chatbot": "assistant",
    "function": "tool", "developer": "system", "request": "user", "response": "assistant",
}  # fmt: skip
_NAMES: Final = {
    "role": frozenset({"system", "user", "assistant", "tool", *_ROLES} - {"request", "response"}),
    "type": frozenset({"human", "ai", "AIMessageChunk", "system", "tool", "function"}),
    "kind": frozenset({"request", "response"}),
}
"""Fields with a role and its names there: any, those of LangChain, which has no role, and those of Pydantic AI."""
_CONTENTS: Final = ("parts", "items", "blocks", "_content")
_WRAPPERS: Final = ("message", "kwargs", "data", "raw_item", "response", "content")
"""Fields of an event, or of a stored message, that have the message itself."""


def field(value: Any, name: str) -> Any:
    """A field of a mapping or an object; in a mapping its name may be in camel case."""
    if not isinstance(value, Mapping):
        return getattr(value, name, None)
    found = value.get(name)
    return found if found is not None else value.get(_camel(name))


def has_field(value: Any, name: str) -> bool:
    """Whether a mapping or an object has a field, though it may be None."""
    return name in value if isinstance(value, Mapping) else hasattr(value, name)


@cache
def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.title, others))


def first_field(value: Any, names: tuple[str, ...]) -> Any:
    """The first of the fields that is there; None if there is none."""
    return next((found for name in names if (found := field(value, name)) is not None), None)


def role_of(message: Any) -> str:
    """The role of a message: system, user, assistant or tool; "" of anything else."""
    for key, names in _NAMES.items():
        name = field(message, key)
        name = name.value if isinstance(name, Enum) else name
        if isinstance(name, str) and name:
            known = name in names
            if known or key == "role":
                return _ROLES.get(name, name) if known else ""
    source = field(message, "source") if has_field(message, "models_usage") else None  # AutoGen
    return "" if not isinstance(source, str) else "user" if source == "user" else "assistant"


def content_of(message: Any) -> Any:
    """The content of a message: a text or a list of parts."""
    content = field(message, "content")
    if content is not None and isinstance(message, Mapping):
        return content
    lists = (parts for key in _CONTENTS if isinstance(parts := field(message, key), list | tuple))
    return next(lists, content)


def parts_of(message: Any) -> list[tuple[str, Any]]:
    """The parts of a message, each with its kind; empty where its content is a text."""
    content = content_of(message)
    return [part_kind(part) for part in content] if isinstance(content, list | tuple) else []


def part_kind(part: Any) -> tuple[str, Any]:
    """The kind of a part ("" of a text and of any other), and the part itself without the key it stands under.

    >>> part_kind({"functionCall": {"name": "add"}}), part_kind({"type": "text", "text": "So."})
    (('call', {'name': 'add'}), ('', {'type': 'text', 'text': 'So.'}))
    """
    if isinstance(part, str):
        return "", part
    if name := part_type(part):
        return _kind(name), part
    if field(part, "thought") is True:
        return REASONING, part
    if isinstance(field(part, "text"), str):
        return "", part
    for key in _KEYS:
        inner = field(part, key)
        if inner is not None and not isinstance(inner, str):
            return _kind(key), inner
    return next((kind for key, kind in _SHAPES.items() if field(part, key) is not None), ""), part


def part_type(part: Any) -> str:
    """The name of a part's type; "" if it has none."""
    name = first_field(part, _TYPES)
    return name if isinstance(name, str) else ""


@lru_cache(maxsize=256)
def _kind(name: str) -> str:
    plain = re.sub(r"-|(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return next((kind for kind, pattern in _KINDS.items() if pattern.search(plain)), "")


def item_kind(value: Any) -> str:
    """The kind of an item that stands beside messages (OpenAI's Responses API); "" of a message."""
    name = field(value, "type")
    return _kind(name) if isinstance(name, str) and field(value, "role") is None else ""


def unwrapped(value: Any) -> Any:
    """The message in an event or a stored message; a message, or what has none, as it is."""
    if _is_bare_message(value) and field(value, "message") is None:
        return value
    inners = (inner for key in _WRAPPERS if (inner := field(value, key)) is not None) if value is not None else ()
    return next((inner for inner in inners if _is_bare_message(inner) or item_kind(inner)), value)


def is_message(value: Any) -> bool:
    """Whether a value is a message, or an item beside messages."""
    inner = unwrapped(value)
    return _is_bare_message(inner) or bool(item_kind(inner))


def _is_bare_message(value: Any) -> bool:
    if value is None or isinstance(value, str | list | tuple) or not role_of(value):
        return False
    return any(has_field(value, key) for key in ("content", "tool_calls", *_CONTENTS))
