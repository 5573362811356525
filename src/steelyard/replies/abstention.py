"""Whether an answer does nothing but say that it has no answer, in English and Chinese.

Meant to be sure rather than complete: an answer with a doubt, a "but", a guess or anything else next to the abstention
is left to a judge, who reads it. So only whole sentences of a known form count, and every sentence must be one.
"""

from __future__ import annotations

import re
from typing import Final

from steelyard.replies.clean import fold
from steelyard.replies.grammar import pattern

_LONGEST: Final = 600
_SENTENCE: Final = re.compile(r"[^.!?;。\n]+(?:[.!?;。]+|\Z|\n)")
_SORRY_BUT: Final = re.compile(r"\b(?:sorry|afraid|apologies),? but\b", re.IGNORECASE)


def is_abstention(answer: str) -> bool:
    """Whether every sentence of an answer says that there is no answer, or where else to ask.

    Args:
        answer: any text. A blank one says nothing, so it is not an abstention.

    >>> is_abstention("I'm sorry, but the documents do not mention the price.")
    True
    >>> is_abstention("The documents do not name a price, but it was about 2,000 guilders.")
    False
    >>> is_abstention("抱歉，资料中没有提到造价。"), is_abstention("资料没有提到造价，不过大约是两千两。")
    (True, False)
    """
    if len(answer) > _LONGEST:
        return False
    plain = " ".join(fold(answer).split()).strip("\"'_「」 ")
    says = False
    for sentence in _SENTENCE.finditer(plain):
        if pattern("abstention", "says").fullmatch(sentence[0].strip()):
            says = True
        elif not pattern("abstention", "helps").fullmatch(sentence[0].strip()):
            return False
    return says and not pattern("abstention", "beside").search(_SORRY_BUT.sub("sorry", plain))
