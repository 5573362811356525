"""Reads numbers that a browser sends, in an address or in a form, and accepts only those that a store can hold.

Python refuses to read a number of more than 4,300 digits, and a database one of more than 18.
"""

from __future__ import annotations

from typing import Final

from starlette.convertors import Convertor, register_url_convertor

_DIGITS: Final = 18
_NO_NUMBER: Final = -1
"""Counts of rows begin with 1, so this is not a row's."""


class PathNumber(Convertor[int]):
    """A part of an address that is a row's number, as in `/i/{item:number}`; a longer one is not a page."""

    regex = f"[0-9]{{1,{_DIGITS}}}"

    def convert(self, value: str) -> int:
        """The number."""
        return int(value)

    def to_string(self, value: int) -> str:
        """As an address has it."""
        return str(value)


def number_of(text: str) -> int:
    """The number that a form has sent; -1, which no row has, where it is none or too long.

    >>> number_of("12"), number_of("9" * 5000), number_of("x")
    (12, -1, -1)
    """
    return int(text) if text.isdecimal() and len(text) <= _DIGITS else _NO_NUMBER


register_url_convertor("number", PathNumber())
