"""The language of a packaged prompt, which exists in several: `auto` is that of the texts which it shows."""

from __future__ import annotations

import re
from typing import Final, Literal

Language = Literal["en", "zh"]
"""The languages of the packaged prompts."""
LanguageSetting = Literal["auto", "en", "zh"]
"""A language, or `auto`: the language of the texts that are sent."""

_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_LETTER: Final = re.compile(r"[^\W\d_]")
_KANA: Final = re.compile("[\u3041-\u30fa]")
_LETTERS_PER_HAN: Final = 5
_HAN_PER_KANA: Final = 10


def prompt_language(setting: LanguageSetting, *texts: str) -> Language:
    """The language of a prompt: the setting, or with `auto` the language of the texts that it shows.

    >>> prompt_language("auto", "雨量筒多高？"), prompt_language("en", "雨量筒多高？")
    ('zh', 'en')
    """
    return language_of(*texts) if setting == "auto" else setting


def language_of(*texts: str) -> Language:
    """`zh` if at least a fifth of the letters of all `texts` are Han characters and hardly any are kana, else `en`.

    A fifth, because Chinese texts about technical subjects contain many Latin names, while English ones contain at most
    one or two Chinese words. One kana for ten Han characters is Japanese, for which there are no prompts. Digits,
    punctuation and spaces are not letters; texts without any letter are `en`.

    >>> language_of("用 SQLite 查询"), language_of("the word 卦 (gua) means trigram"), language_of("何日間ですか")
    ('zh', 'en', 'en')
    """
    han = sum(len(_HAN.findall(text)) for text in texts)
    kana = sum(len(_KANA.findall(text)) for text in texts)
    if not han or kana * _HAN_PER_KANA >= han:
        return "en"
    letters = sum(len(_LETTER.findall(text)) for text in texts)
    return "zh" if han * _LETTERS_PER_HAN >= letters else "en"
