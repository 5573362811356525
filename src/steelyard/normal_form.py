"""Unicode normal forms in time linear in the text, and what makes up words in scripts other than Latin.

Python sorts each run of combining marks by insertion, so 300,000 marks in a row take a minute, in which no other thread
runs. No language has more than a few marks on a letter; texts that were made to hold a program up have.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import groupby
from typing import Final

_MOST_MARKS: Final = 30
_JOINER: Final = "\u034f"
"""COMBINING GRAPHEME JOINER, which is not visible."""
_NO_LETTERS: Final = re.compile(rf"[^\w\x00-\u02ff]{{{_MOST_MARKS + 1},}}")
"""What may hold a long run of marks: none is a word character, and the first one is U+0300."""
_PAIRS: Final = frozenset("\u0f73\u0f75\u0f81")
"""Characters that become two marks and are not marks themselves."""

WIDE: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\U00020000-\U0003ffff"
"""Kana, Han and hangul, as a part of a character class."""
UNSPACED: Final = "\u0e01-\u0e4f\u0e81-\u0ecf\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u109a-\u109f\u1780-\u17dd" + WIDE
"""Thai, Lao, Burmese, Khmer, kana, Han and hangul without their digits, as a part of a character class: nearly all are
written without blanks between words, so that their characters are compared one by one."""


def nfkc(text: str) -> str:
    """The normal form NFKC of a text; see `stream_safe`.

    >>> nfkc("ＡＢ ﬁ e\u0301")
    'AB fi é'
    """
    return text if text.isascii() else unicodedata.normalize("NFKC", stream_safe(text))


def nfc(text: str) -> str:
    """The normal form NFC of a text: characters that look the same are the same; see `stream_safe`.

    >>> nfc("ＡＢ e\u0301")
    'ＡＢ é'
    """
    return text if text.isascii() else unicodedata.normalize("NFC", stream_safe(text))


def stream_safe(text: str) -> str:
    """The text with a joiner after each 30 combining marks in a row; other texts are returned unchanged.

    Source: Unicode Standard Annex 15, "Unicode Normalization Forms", section 13, the Stream-Safe Text Format.

    >>> len(stream_safe("e" + 70 * "\u0301"))
    73
    """
    return _NO_LETTERS.sub(_divided, text)


def _divided(match: re.Match[str]) -> str:
    run = match[0]
    if not any(unicodedata.combining(character) or character in _PAIRS for character in run):
        return run  # dashes, emoji
    return _JOINER.join(run[at : at + _MOST_MARKS] for at in range(0, len(run), _MOST_MARKS))


def is_mark(character: str) -> bool:
    r"""Whether a character belongs to the letter before it: a vowel sign, a point or an accent.

    Python's `\w` holds none of them, so that a pattern of `\w` alone cuts a word of Hindi into its consonants.
    Variation selectors, which choose a glyph, are none.

    >>> [is_mark(character) for character in ("\u093f", "\u064e", "a", "\ufe0f")]
    [True, True, False, False]
    """
    selector = "\ufe00" <= character <= "\ufe0f" or character >= "\U000e0000"
    return unicodedata.category(character) in {"Mn", "Mc"} and not selector


@cache
def marks() -> str:
    """All characters of `is_mark` as a part of a character class; put together on first use (20 ms)."""
    codes = [code for code in range(0x300, 0x20000) if is_mark(chr(code))]
    runs = [[code for _, code in run] for _, run in groupby(enumerate(codes), lambda pair: pair[1] - pair[0])]
    return "".join(f"{chr(run[0])}-{chr(run[-1])}" for run in runs)


def spaced_word() -> str:
    """A pattern of a word of letters and digits with their marks, of scripts with blanks between words."""
    return rf"[^\W_{UNSPACED}]+(?:[{marks()}]+[^\W_{UNSPACED}]*)*"
