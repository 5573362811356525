"""One form for many ways of writing a character, without moving any of them.

`fold` keeps every offset, so that a place found in the folded text is the same place in the reply as it came.
`Condensed` drops spaces and punctuation for comparing texts and still knows where each character stood.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from types import MappingProxyType
from typing import Final

_MARKDOWN: Final = "*`#"
_INVISIBLE: Final = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00a0\u3000\0"
_QUOTES: Final = MappingProxyType({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "『": '"', "』": '"', "İ": "i"})
_COMPATIBLE: Final = ((0xFF01, 0xFF5F), (0x24B6, 0x24EA), (0x1D400, 0x1D800))
_CAPITALS_IN_SHAPES: Final = (0x1F110, 0x1F130, 0x1F150, 0x1F170)
_ALPHABET: Final = 26


def _pairs() -> Iterator[tuple[int, str]]:
    for first, end in _COMPATIBLE:
        for code in range(first, end):
            plain = unicodedata.normalize("NFKC", chr(code))
            if len(plain) == 1:
                yield code, plain
    for first in _CAPITALS_IN_SHAPES:
        for place in range(_ALPHABET):
            yield first + place, chr(ord("A") + place)
    for mark in _MARKDOWN + _INVISIBLE:
        yield ord(mark), " "
    for quote, plain in _QUOTES.items():
        yield ord(quote), plain


_FOLDED: Final[Mapping[int, str]] = MappingProxyType(dict(_pairs()))
_WORD: Final = re.compile(r"[^\W_]+")
_KEPT: Final = re.compile(r"[^\s$\"'\\{},.;:!?，。、；：！？()（）\[\]【】]+")
_MATHS: Final = re.compile(r"[\d+\-*/=<>^√π±−]")
_MARK_IN_NUMBER: Final = re.compile(r"(?<=\d)\.(?=\d)")


def fold(text: str) -> str:
    """`text` with plain letters and marks in place of full-width, circled and bold ones; its length is unchanged.

    Markdown emphasis and invisible characters become spaces.

    >>> fold("Ｂ） Ⓒ 𝐃 **A**")
    'B) C D   A  '
    """
    return text.translate(_FOLDED)


def is_formula(text: str) -> bool:
    """Whether signs carry meaning in `text`, so that "-1" and "1" must not be taken for the same.

    >>> is_formula("x = -1"), is_formula("the daughter, only")
    (True, False)
    """
    return _MATHS.search(text) is not None


@dataclass(frozen=True, slots=True)
class Condensed:
    """A text without its spaces and punctuation, in lower case, that can be traced back.

    Args:
        text: what is left.
        starts: where each run of kept characters begins in `text`.
        origins: where the same run begins in the folded original.
    """

    text: str
    starts: tuple[int, ...]
    origins: tuple[int, ...]

    def origin(self, place: int) -> int:
        """Offset in the original of the character at `place`."""
        run = bisect_right(self.starts, place) - 1
        return self.origins[run] + place - self.starts[run]


def condense(folded: str, *, signs: bool = False) -> Condensed:
    """`folded` reduced to its letters and digits; with `signs` also mathematical signs and decimal points.

    >>> condense("The Answer, is: x-1.").text
    'theanswerisx1'
    >>> condense("x - 1.5.", signs=True).text
    'x-1·5'
    """
    lowered = folded.lower()
    if signs:
        lowered = _MARK_IN_NUMBER.sub("·", lowered)
    runs = [(match.start(), match.group()) for match in (_KEPT if signs else _WORD).finditer(lowered)]
    ends = tuple(accumulate((len(run) for _, run in runs), initial=0))
    return Condensed("".join(run for _, run in runs), ends[:-1], tuple(start for start, _ in runs))
