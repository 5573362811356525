"""Texts in PostgreSQL, which knows neither the character of code 0 nor half a surrogate pair: both are escaped.

An id or a group may hold what a spreadsheet or a program put there. SQLite takes a text as it is; here the three
kinds of characters that would be refused or misread are written with a mark before them, all others stay as they
are, so that a person who looks into the database reads what was meant:

    code 0                  SUB 0
    half a surrogate pair   SUB and its four hexadecimal digits in capitals
    SUB (U+001A) itself     SUB SUB
"""

from __future__ import annotations

import re
from typing import Any, Final

from sqlalchemy import Text
from sqlalchemy.types import TypeDecorator

_MARK: Final = "\x1a"
_ODD: Final = re.compile("[\0\x1a\ud800-\udfff]")
_ESCAPED: Final = re.compile("\x1a(\x1a|0|D[89A-F][0-9A-F]{2})")


def escape(text: str) -> str:
    r"""`text` without anything that PostgreSQL refuses.

    >>> escape("a\0b\udc80")
    'a\x1a0b\x1aDC80'
    """
    return _ODD.sub(_written, text)


def unescape(text: str) -> str:
    r"""The text that `escape` was given.

    >>> unescape(escape("a\0b\x1a0\udc80")) == "a\0b\x1a0\udc80"
    True
    """
    return _ESCAPED.sub(_read, text) if _MARK in text else text


def _written(match: re.Match[str]) -> str:
    mark = match[0]
    return _MARK + ("0" if mark == "\0" else mark if mark == _MARK else f"{ord(mark):04X}")


def _read(match: re.Match[str]) -> str:
    told = match[1]
    return "\0" if told == "0" else told if told == _MARK else chr(int(told, 16))


class EscapedText(TypeDecorator[str]):
    """A text column of PostgreSQL that takes any Python text, compared and sorted by code points as SQLite does."""

    impl = Text
    cache_ok = True

    def __init__(self) -> None:
        super().__init__(collation="C")

    def process_bind_param(self, value: str | None, dialect: Any) -> str | None:  # noqa: ARG002  # the base's
        """Escape on the way in."""
        return None if value is None else escape(value)

    def process_result_value(self, value: str | None, dialect: Any) -> str | None:  # noqa: ARG002  # the base's
        """And back on the way out."""
        return None if value is None else unescape(value)
