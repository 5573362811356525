"""Words that call an option right or wrong, and questions that want the wrong one: data for the rules beside this."""

from __future__ import annotations

import re
from typing import Final

_EN: Final = re.IGNORECASE

WRONG: Final = re.compile(
    r"(?:不|非|没有?|未)(?:是|太|够|完全|能|会|应|应该|必然|一定|可能|甚)?(?:正确|对|符合|合理|恰当|准确|妥当"
    r"|属于|成立|合适|适合|满足|选|妨碍|可取|当选|得体|恰切)"
    r"|不合|错误|有误|错的|错[,。;\n]|排除[,。;\n]|可以排除|予以排除[。\n]|不当"
    r"|以偏概全|过于绝对|偷换概念|张冠李戴|无中生有|曲解|颠倒|无关|不相关|不选|\b(?:incorrect|wrong|false"
    r"|inaccurate|untrue|invalid|irrelevant|unlikely|eliminated|unacceptable|unsuitable|inappropriate"
    r"|improper|untenable|excluded"
    r"|ruled out|discarded|dismissed|rejected|out of the question)\b"
    r"|(?:\bnot|n't|\bcannot|\bnever|\bneither)\b",
    _EN,
)
RIGHT: Final = re.compile(
    r"(?<!不)(?<!不完全)(?:正确|符合|最合适|最恰当|最准确|合理|对的|最佳|当选|更为准确|更合适|更为合适|更准确"
    r"|成立|说得对|对(?=[。,;!]))"
    r"|(?<!in)(?<!\w)(?<!partly )(?<!partially )(?<!not )(?:correct(?:ly)?|right|true|the best|best"
    r"|the most \w{1,20}|accurate(?:ly)?)\b",
    _EN,
)
SENTENCE_END: Final = re.compile(r"[。\n!?]|\.(?=\s|$)|;")
"""Where a clause about a letter ends."""

ASKS_FOR_WRONG: Final = re.compile(
    r"(?:不正确|错误|不属于|不符合|有误|不恰当|不合适|不包括|不合理|不准确|不成立|不可能|不应|不能|不妥"
    r"|不当)的?(?:是|一项|选项|表述|说法|叙述|做法|理解|组)"
    r"|哪(?:个|项|一项|一个|种|些|一)?[^。\n,]{0,12}(?:不正确|错误|不属于|不符合|有误|不是)"
    r"|(?<!, )\b[Ww]hich\b(?:\s[\w,]{1,16}){0,8}?\s(?:is|are|was|were|does|do|did|would|could|can|has|have)\s(?:not"
    r"|least|incorrect"
    r"|false|untrue|wrong)\b|\ball\b[^?.\n]{0,90}?\bexcept\b|\bEXCEPT\b|\bNOT\b"
    r"|\b(?:incorrect|false|wrong|untrue)\s(?:statement|option|one|description)\b"
)
"""A question that wants the one statement that does not hold."""

ASKS_FOR_FALSE: Final = re.compile(
    r"\b(?:which|what|identify|find|mark|choose|select|pick|statements?|options?|following|one)\b[^?!\n]{0,120}?"
    r"(?<!right or )(?<!true or )(?<!correct or )\b(?:incorrect|false|wrong|untrue|inaccurate|not (?:true"
    r"|correct))\b(?! or\b)",
    _EN,
)
"""The same in English, where an option called wrong is the answer: of `which is NOT ...` that says the contrary."""

IDEOGRAM: Final = re.compile(r"[\u3400-\u9fff]")
