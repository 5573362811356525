"""Options that speak of other options ("all of the above", "A和C"): such a question has one order, its own.

Under another order "all of the above" would mean fewer options, and "A and C" others. The rules err on the side of
keeping an order: a question that could have been shuffled loses nothing but that, one that should not have been becomes
another question.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_ENGLISH: Final = re.compile(
    r"\b(?:all|none|both|neither|any|each|either|every|some|one|two|three|more|most|not all|only one)\s+(?:of\s+)?"
    r"(?:the\s+|these\s+|those\s+)?(?:above|below|foregoing|preceding|previous|following|these|those|options?|choices?"
    r"|answers?|others?|other options|statements above)\b"
    r"|\b(?:the|as|see)\s+(?:above|below)\b"
    r"|\b(?:the\s+)?(?:first|second|third|fourth|last|previous|preceding|next|other)\s+(?:\w+\s+)?"
    r"(?:options?|choices?|answers?)\b"
    r"|\b(?:options?|choices?|answers?)\s*\(?[A-Z]\b",
    re.IGNORECASE,
)
_WHOLE_ENGLISH: Final = re.compile(
    r"(?:all|both|neither|either|any)(?: of them)?(?: are)?(?: (?:correct|right|true|wrong|false|incorrect))?"
    r"|none of them|(?:they are )?all (?:correct|right|true|wrong|false|incorrect)",
    re.IGNORECASE,
)
_CHINESE: Final = re.compile(
    # 以上 behind a number and its unit is "or more" (18岁以上), which speaks of no option.
    r"(?<![0-9一二三四五六七八九十百千万亿%])(?<![0-9一二三四五六七八九十百千万亿].)(?:以上|以下)"
    r"(?:都|均|皆|全|各|选项|所有|说法|答案|内容|三|四|五|两|二|几|任|情况|观点|表述|叙述|者|诸|之)"
    r"|^(?:以上|以下)|上述|上列|前述|前[两二三四五六几](?:项|者|个|种|条)|后[两二三四五六几](?:项|者|个|种|条)"
    r"|[两二三四五]者(?:都|均|皆|全|兼)|(?:其他|其它|其余|另外|任一|任何|所有|各|每个|全部)(?:选项|各项|几项|三项|两项)"
    r"|第[一二三四五1-9](?:项|个选项)|选项\s*[A-Z]|[A-Z]\s*(?:选项|项)"
)
_WHOLE_CHINESE: Final = re.compile(
    r"(?:全|都|均|皆|全都|全部|两者都|二者都|两者均|二者均|三者都|三者均)(?:不)?(?:对|正确|是|可以|可|错|错误|有|选|成立)"
    r"|(?:没有|无)(?:正确|合适)?(?:选项|答案)|全选|全部|两者皆可|二者皆可|都不"
)
_MARKS: Final = " \t.。!！,，;；:：()（）[]【】\"'“”"


def has_own_order(question: str, options: Sequence[str]) -> bool:
    """Whether a question must be asked with its options as they are given.

    So it is where an option names others by letter or place, is nothing but letters of options (a blood group "AB"
    beside "A" and "B"), or the question names an option by its letter.

    >>> has_own_order("Which?", ["Rome", "Oslo", "all of the above"]), has_own_order("Age?", ["18岁以上", "18岁以下"])
    (True, False)
    """
    letters = _LETTERS[: len(options)]
    names = _named(letters)
    return any(_refers(unicodedata.normalize("NFKC", one).strip(), names) for one in options) or bool(
        names.by_question.search(unicodedata.normalize("NFKC", question))
    )


def _refers(option: str, names: _Names) -> bool:
    bare = option.strip(_MARKS)
    return bool(
        _ENGLISH.search(option)
        or _WHOLE_ENGLISH.fullmatch(bare)
        or _CHINESE.search(option)
        or _WHOLE_CHINESE.fullmatch(bare)
        or names.only.fullmatch(bare)
        or names.joined.search(option)
    )


class _Names:
    """How options are named by the letters of one question."""

    __slots__ = ("by_question", "joined", "only")

    def __init__(self, letters: str) -> None:
        one = rf"[(\[]?[{letters}][)\]]?"
        # Nothing but letters: "AC", "A, C", "C".
        self.only = re.compile(rf"{one}(?:[\s,、;/&+]*{one})*")
        between = r"\s*(?:,|、|/|&|\+|and|or|nor|和|与|及|或|以及|and/or)\s*"
        self.joined = re.compile(rf"(?<![A-Za-z]){one}(?:{between}{one})+(?![A-Za-z])")
        self.by_question = re.compile(
            rf"(?:[Oo]ptions?|[Cc]hoices?|选项)\s*[(\[]?[{letters}](?![A-Za-z])|(?<![A-Za-z])[{letters}]\s*(?:选项|项)"
        )


@lru_cache(maxsize=26)
def _named(letters: str) -> _Names:
    return _Names(letters)
