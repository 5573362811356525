"""Plain values as YAML that can be read again, and in comments without any secret."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

SECRET: Final = re.compile(r"key|token|secret|password", re.IGNORECASE)
_WORD: Final = re.compile(r"[A-Za-z_][\w-]*")
_NO_WORDS: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def flow(value: Any) -> str:
    """`value` in YAML's flow style, which JSON is part of, with what cannot be printed escaped.

    >>> flow({"a": ["乾", None, 0.5]})
    '{"a": ["乾", null, 0.5]}'
    """
    return "".join(_printable(mark) for mark in json.dumps(value, ensure_ascii=False))


def key(name: str) -> str:
    """`name` as a key: bare where every reader of YAML takes it for a text.

    >>> key("top_k"), key("no"), key("a b")
    ('top_k', '"no"', '"a b"')
    """
    return name if _WORD.fullmatch(name) and name.isascii() and name.lower() not in _NO_WORDS else flow(name)


def shown(name: str, value: Any) -> str:
    """The value of the key `name` for a comment, on one line and never that of a secret.

    >>> shown("note", {"api_key": "sk-1", "n": 1})
    '{"api_key": (a secret, not copied), "n": 1}'
    """
    if SECRET.search(name):
        return "(a secret, not copied)"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{flow(str(inner))}: {shown(str(inner), one)}" for inner, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(shown("", one) for one in value) + "]"
    return flow(value)


def _printable(mark: str) -> str:
    if mark.isprintable():
        return mark
    return f"\\u{ord(mark):04x}" if ord(mark) <= 0xFFFF else f"\\U{ord(mark):08x}"
