"""Which of the languages of the packaged prompts a text is written in."""

from __future__ import annotations

import re
from typing import Final, Literal

Language = Literal["en", "zh"]
"""Those that packaged prompts are written in."""

_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_LETTER: Final = re.compile(r"[^\W\d_]")
_LEAST: Final = 5


def language_of(*texts: str) -> Language:
    """`zh` where at least a fifth of the letters of all `texts` are Han characters, else `en`.

    A fifth, because Chinese texts about technical subjects are full of Latin names, while English ones hold a Chinese
    word or two at most. Digits, marks and blanks are no letters; texts without any letter are `en`.

    >>> language_of("用 SQLite 查询"), language_of("the word 卦 (gua) means trigram"), language_of("42")
    ('zh', 'en', 'en')
    """
    han = sum(len(_HAN.findall(text)) for text in texts)
    if not han:
        return "en"
    letters = sum(len(_LETTER.findall(text)) for text in texts)
    return "zh" if han * _LEAST >= letters else "en"
