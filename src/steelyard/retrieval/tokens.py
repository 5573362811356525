"""The tokenizer for search, for both Chinese and English, without a dictionary.

Alphabetic words and numbers are lower-cased. Runs of Han, kana and hangul become their single characters and their
overlapping pairs: pairs find words without a dictionary, single characters find words of one character. Trigrams and
hexagrams of the Yijing are separate tokens. Character width is normalised first (NFKC). Pairs together with characters
retrieve Chinese about as well as segmented words do: J.-Y. Nie, J. Gao, J. Zhang, M. Zhou, "On the use of words and
n-grams for Chinese information retrieval", IRAL 2000. Stop words are in `stop_words.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from operator import add
from typing import Final

from steelyard.normal_form import nfkc

_WIDE: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\U00020000-\U0003ffff"
_FIGURES: Final = "\u2630-\u2637\u4dc0-\u4dff"
_TOKEN: Final = re.compile(rf"([{_WIDE}]+)|[{_FIGURES}]|(?:(?![{_WIDE}])[^\W_])+")


def tokens(text: str) -> list[str]:
    """Tokens in the order of the text, repeated as often as they occur.

    >>> tokens("乾为天 Heaven 2"), tokens("ＡＢ卦䷀")
    (['乾', '为', '天', '乾为', '为天', 'heaven', '2'], ['ab', '卦', '䷀'])
    """
    result: list[str] = []
    for match in _TOKEN.finditer(nfkc(text).lower()):
        run = match[0]
        if match[1]:
            # Added as whole runs, which is faster: Chinese gives two tokens for each character.
            result += run
            result += map(add, run, run[1:])
        else:
            result.append(run)
    return result


def is_stop(token: str) -> bool:
    """Whether a token is a stop word: a function word, or a word that occurs in questions on any subject.

    >>> [is_stop(token) for token in ("the", "的", "哪个", "乾", "天", "正确")]
    [True, True, True, False, False, True]
    """
    return token in _stop_words() or all(character in _stop_characters() for character in token)


@cache
def _stop_words() -> frozenset[str]:
    return frozenset([*_table()["words"], *_table()["pairs"]])


@cache
def _stop_characters() -> frozenset[str]:
    return frozenset(_table()["characters"])


def _table() -> Mapping[str, Sequence[str]]:
    table: Mapping[str, Sequence[str]] = json.loads(
        files("steelyard.retrieval").joinpath("stop_words.json").read_text("utf-8")
    )
    return table
