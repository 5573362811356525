"""True-or-false questions (判断题) among multiple-choice ones: a sheet that says so need not write their two options.

It says so in a column of the question's kind: 题型 with 判断, 判断题, 是非题, `true/false` ... A key is then read by
what it says: √, 对 and T are the option that says yes, ×, 错 and F the other.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final

_CHINESE: Final = frozenset(
    {"判断", "判断题", "是非", "是非题", "正误", "正误题", "正误判断", "判断正误", "对错", "对错题", "判断对错"}
)
_ENGLISH: Final = frozenset(
    {"true/false", "true or false", "true-false", "true false", "t/f", "tf", "truefalse", "yes/no"}
)
_YES: Final = frozenset({"对", "正确", "是", "√", "✓", "✔", "☑", "t", "true", "y", "yes", "right", "correct"})
_NO: Final = frozenset(
    {"错", "错误", "不对", "不正确", "否", "非", "×", "✗", "✘", "x", "☒", "f", "false", "n", "no", "wrong", "incorrect"}
)


def judged_options(kind: str) -> tuple[str, ...]:
    """The two options that a question of this kind has where its row gives none; none for every other kind.

    >>> judged_options("判断题"), judged_options("True/False"), judged_options("单选题")
    (('对', '错'), ('True', 'False'), ())
    """
    plain = _plain(kind)
    if plain in _CHINESE:
        return ("对", "错")
    return ("True", "False") if plain in _ENGLISH else ()


def judged_key(key: str, options: Sequence[str]) -> str:
    """The letter of the option that says what the key says; empty where it is not one of yes and no.

    >>> judged_key("√", ["正确", "错误"]), judged_key("F", ["True", "False"]), judged_key("A", ["对", "错"])
    ('A', 'B', '')
    """
    for said in (_YES, _NO):
        if _plain(key) in said:
            letters = [letter for letter, option in zip("AB", options, strict=False) if _plain(option) in said]
            return letters[0] if len(letters) == 1 and len(options) == 2 else ""
    return ""


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip(" ()[]【】<>.。、")
