"""Unicode normal forms in time linear in the text.

Python sorts each run of combining marks by insertion, so 300,000 marks in a row take a minute, in which no other thread
runs. No language has more than a few marks on a letter; texts that were made to hold a program up have.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_MOST_MARKS: Final = 30
_JOINER: Final = "\u034f"
"""COMBINING GRAPHEME JOINER, which is not visible."""
_NO_LETTERS: Final = re.compile(rf"[^\w\x00-\u02ff]{{{_MOST_MARKS + 1},}}")
"""What may hold a long run of marks: none is a word character, and the first one is U+0300."""
_PAIRS: Final = frozenset("\u0f73\u0f75\u0f81")
"""Characters that become two marks and are not marks themselves."""


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
