"""Whether an answer does nothing but say that it has no answer, in English and Chinese.

Meant to be sure rather than complete: an answer with a doubt, a "but", a guess or anything else beside the abstention
is left to a judge, who reads it. So only whole sentences of a known form count, and every sentence must be one.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_LONGEST: Final = 600
_SENTENCE: Final = re.compile(r"[^.!?;。！？；\n]+(?:[.!?;。！？；]+|\Z|\n)")
_REST: Final = r"[^.!?;]{0,200}"
_SORRY: Final = (
    r"(?:(?:i(?:'m| am) (?:very |so )?(?:sorry|afraid)|sorry|unfortunately|apologies|my apologies)"
    r"(?:,? (?:but|that))?[,:]? )?"
)
_SOURCES: Final = (
    r"(?:(?:the|this|these|those|my|any of the) )?(?:(?:provided|given|available|retrieved|supplied|above) )*"
    r"(?:documents?|documentation|context|passages?|texts?|information|sources?|materials?|knowledge base|excerpts?"
    r"|handbook|manual|search results?)(?: (?:provided|given|available|above|i have|at hand))?"
)
_TOLD: Final = (
    r"(?:directly |explicitly |clearly )?(?:answer(?:ed|able)?|determined?|known?|stated?|mentioned|specified|given"
    r"|provided|available|found|find|clear from|described|disclosed|indicated|tell|say)\b"
)
_CANNOT: Final = (
    r"(?:cannot|can't|can not|could not|couldn't|am unable to|am not able to|was unable to|was not able to)"
)
_TELLS: Final = (
    r"(?:contain|mention|say|state|specify|provide|include|give|hold|tell|answer|cover|name|address|indicate|discuss)"
)
_FORMS: Final = (
    # "Based on the provided documents, I cannot determine ..."
    (
        rf"(?:based on|according to|from|in) {_SOURCES},? (?:i|it|this|that|the \w+|there)\b[^.!?;]{{0,12}}"
        rf" (?:{_CANNOT}|do not|don't|is not|isn't|is no|was not)\b{_REST}"
    ),
    # "I do not know", "I don't have enough information"
    (
        r"i (?:really |simply )?(?:do not|don't|did not|didn't) (?:know|find|see"
        r"|have (?:the |any |enough |sufficient |that |this )*(?:answer|information|knowledge|data|details?|context))"
        rf"{_REST}"
    ),
    # "I cannot answer", "I was unable to find"
    rf"i {_CANNOT} (?:answer|find|tell|say|determine|know|locate|provide (?:an|the|any) (?:answer|info)){_REST}",
    rf"i have no (?:answer|information|knowledge|data|idea){_REST}",
    # "The documents do not mention ...", "The context contains no ..."
    rf"{_SOURCES} (?:do(?:es)? not|don't|doesn't|did not) (?:\w+ly )?{_TELLS}{_REST}",
    rf"{_SOURCES} (?:contains?|provides?|gives?|holds?|has|have|includes?|makes?) no {_REST}",
    rf"there (?:is|was) no (?:information|mention|answer|indication)\b{_REST}",
    # "It is not stated ...", "The question cannot be answered"
    (
        r"(?:it|this|that|the answer|the question|this question|the information)(?: is| was|'s)?"
        rf" (?:(?:cannot be|can't be|can not be|not possible to|impossible to|isn't|is not|not|was not) {_TOLD}"
        rf"|unknown|unanswerable|unclear from){_REST}"
    ),
    rf"(?:not|never) (?:stated|mentioned|specified|given|known|available|answerable|found|provided)\b{_REST}",
    (
        r"no (?:answer|information|data|mention)(?: (?:was |is |has been )?(?:found|available|given|provided|known))?\b"
        rf"{_REST}"
    ),
    r"unknown|unanswerable|none|n/a|no idea",
)
_ABSTAINS: Final = re.compile(rf"{_SORRY}(?:{'|'.join(_FORMS)})[.!;]?", re.IGNORECASE)
_HELPS: Final = re.compile(
    r"(?:please|if you|let me know|feel free|could you|can you|would you|i(?:'d| would) (?:recommend|suggest)"
    r"|you (?:may|might|could|can|should) (?:want to |need to )?(?:ask|check|contact|consult|look|try|see|refer))"
    rf"{_REST}[.!?;]?"
    r"|(?:请|如果您?你?|您?你?可以|建议您?你?|欢迎)[^。！？；\n]{0,80}[。！？；.]?",
    re.IGNORECASE,
)
"""Where else to ask, which is no answer."""
_SORRY_ZH: Final = r"(?:(?:非常|很|十分)?(?:抱歉|对不起|遗憾|不好意思|可惜)[，,：:]?)?"
_SOURCES_ZH: Final = (
    r"(?:(?:根据|从|在|依据|就)?(?:所|您|你|我)?(?:提供|给出|给定|检索到|现有|目前|已有|上述|以上|这些|该|本)?的?(?:已知)?"
    r"(?:文档|文本|文件|资料|材料|上下文|内容|信息|知识库|段落|文章|原文|文中|手册|检索结果)(?:中|里|内)?[，,]?)"
)
_ABSTAINS_ZH: Final = re.compile(
    rf"{_SORRY_ZH}(?:我|本人|目前)?(?:{_SOURCES_ZH}[，,]?)?(?:我|中|里)?(?:也|并|都|还)?(?:"
    r"不知道|不清楚|不了解|不得而知|未知|不详"
    r"|(?:无法|不能|没法|没办法|难以)(?:从[^。！？；，]{0,24}中?)?(?:直接|准确|确切)?(?:地)?"
    r"(?:回答|得知|确定|判断|作答|获知|知道|得出|给出|提供|找到|告知)"
    r"|(?:没有|未|未能|没能|没|无)(?:有)?(?:明确|具体|直接)?(?:地)?"
    r"(?:提及|提到|说明|给出|找到|查到|包含|涉及|写明|记载|相关|足够|任何|关于|提供|答案|信息)"
    r")[^。！？；]{0,60}[。！.；;]?"
)
_BESIDE: Final = re.compile(
    r"\b(?:but|however|although|though|nevertheless|still|probably|perhaps|likely|might|maybe|possibly|generally"
    r"|typically|usually|in general|assum\w+|estimate\w*|guess|roughly|about \d|around \d|except|only that|instead)\b"
    r"|不过|但是?|然而|可能|大概|大约|也许|或许|通常|一般|估计|推测|应该是|左右|只(?:说|提|知)",
    re.IGNORECASE,
)
"""What may bring an answer, or a part of one, beside the abstention."""
_SORRY_BUT: Final = re.compile(r"\b(?:sorry|afraid|apologies),? but\b", re.IGNORECASE)


def is_abstention(answer: str) -> bool:
    """Whether every sentence of an answer says that there is no answer, or where else to ask.

    Args:
        answer: any text. A blank one says nothing, so it is no abstention.

    >>> is_abstention("I'm sorry, but the documents do not mention the price.")
    True
    >>> is_abstention("The documents do not name a price, but it was about 2,000 guilders.")
    False
    >>> is_abstention("抱歉，资料中没有提到造价。"), is_abstention("资料没有提到造价，不过大约是两千两。")
    (True, False)
    """
    if len(answer) > _LONGEST:
        return False
    plain = " ".join(unicodedata.normalize("NFKC", answer).replace("’", "'").split())
    plain = plain.strip("\"'*_`“”「」 ")
    if not plain or _BESIDE.search(_SORRY_BUT.sub("sorry", plain)):
        return False
    sentences = [match[0].strip() for match in _SENTENCE.finditer(plain)]
    abstains = [bool(_ABSTAINS.fullmatch(sentence) or _ABSTAINS_ZH.fullmatch(sentence)) for sentence in sentences]
    helps = [bool(_HELPS.fullmatch(sentence)) for sentence in sentences]
    return any(abstains) and all(no_answer or help_ for no_answer, help_ in zip(abstains, helps, strict=True))
