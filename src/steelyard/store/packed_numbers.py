"""Whole numbers that SQLite packs into one text, so that Python makes an object per query and not one per cell.

A number of 20 bits becomes a character beyond U+FFFF, of which there are just so many; the text in UTF-32 is then an
array of these numbers. Measured on 100,000 rows of five numbers: 36 ms of CPU, where tuples alone take 68.
"""

from __future__ import annotations

import sys
from array import array
from typing import Final

MOST: Final = (1 << 20) - 1
"""The largest number of one character."""
FIRST: Final = 0x10000
"""Stands for 0."""
_LITTLE: Final = sys.byteorder == "little"
_ENCODING: Final = "utf-32-le" if _LITTLE else "utf-32-be"


def packed(*numbers: str) -> str:
    """The SQL of a column that packs numbers of all rows, in the order of the rows.

    Args:
        numbers: expressions with values from 0 to `MOST`; several of a row stand next to each other.
    """
    return f"group_concat(char({', '.join(f'{FIRST} + ({number})' for number in numbers)}), '')"


def unpacked(text: str | None) -> bytes | None:
    """The numbers of such a text in 4 bytes each, plus `FIRST`; None where one of them did not fit its character.

    >>> [number - FIRST for number in array("I", unpacked("\U00010000\U00010007\U0010ffff") or b"")]
    [0, 7, 1048575]
    """
    text = text or ""
    # NULL, a number below 0 and one above `MOST` are other characters, which UTF-8 writes in fewer bytes.
    if len(text.encode("utf-8", "surrogatepass")) != 4 * len(text):
        return None
    return text.encode(_ENCODING)


def packed_pairs(high: str, low: str) -> str:
    """The SQL of a column that packs two numbers of each row so that both are one of 64 bits."""
    return packed(low, high) if _LITTLE else packed(high, low)


def unpacked_pairs(text: str | None) -> array[int] | None:
    """The numbers of such a text, each as `as_pair` gives it; None as in `unpacked`."""
    data = unpacked(text)
    return None if data is None else array("Q", data)


def as_pair(high: int, low: int) -> int:
    """Two numbers as one; they are in the order of the first, then of the second.

    >>> of_pair(as_pair(17, 2))
    (17, 2)
    """
    return (high + FIRST) << 32 | (low + FIRST)


def of_pair(number: int) -> tuple[int, int]:
    """The two numbers of one."""
    return high_of(number) - FIRST, (number & 0xFFFFFFFF) - FIRST


def high_of(number: int) -> int:
    """The first of the two, plus `FIRST`: to tell pairs apart by it."""
    return number >> 32
