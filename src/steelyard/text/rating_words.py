r"""The words around a number that make it a rating, or keep it from being one: English and Chinese.

Patterns that end in `\Z` are searched in what stands before a number, the others are matched behind it.
"""

from __future__ import annotations

import re
from typing import Final

from steelyard.text.rating_aspects import RATING_WORD

_EN: Final = re.IGNORECASE
COUNTS: Final = re.compile(
    r"\b(?:default|number|count|total number|how many|words?|sentences?|year|date|time|age|page|step|goals?|errors?"
    r"|mistakes?|version"
    r"|points? (?:covered|mentioned|missed)|key points?|facts?|length|scale|range|maximum|minimum|max|min"
    r"|criteri\w+|full marks?|weight"
    r"|max\w* (?:score|points?)|possible|passing|threshold|out of|previous|reference score|example|option|line"
    r"|paragraph|match|game|half|final score of the (?:game|match))\b"
    r"|数量|个数|字数|年份|页|步骤|满分|标准|范围|最高分|最低分|权重|扣分|比分|次数|句数|第[\d一二三四五六七八九十]|例",
    _EN,
)
"""Labels of numbers that are no ratings."""
ARTICLE: Final = re.compile(r"\b(?:a|an)\s(?:(?:[a-z]{3,12}(?:ly)?)\s){0,2}[\"'(\[]?\Z", _EN)
DIRECT: Final = re.compile(
    r"(?:\b(?:a|an|it|this|that|as|at|of|with|for|to|only|just|about|around|roughly|approximately|solid|strong|say"
    r"|with|maybe|perhaps|probably|likely|summary|response|answer|dialogue|text|reply|output|them|one|rating|score"
    r"|rate|give|grade|is|be|'s|on|overall|coherence|receive[sd]?|get[s]?|deserve[sd]?|earn[s]?|merit[s]?|assign"
    r"|award|scored|scores|rated|choose|select|pick|towards?|leaves|leaving|think|believe|results?\sin"
    r"|resulting\sin|totals|yields)|[),])\s{1,3}"
    r"(?:(?:a|an|the|full|perfect|solid|strong|clear|generous|maximum|low|high|mid|lower|higher)\s){0,2}[\"'(\[]?\Z",
    _EN,
)
CLOSES: Final = re.compile(
    r"\s{0,2}(?:\Z|[.,;:!?)\]}\"'。，；！…|/\n<>$\\]|[-–—(\[]|(?:on|for|in|at)\s(?:a|the)\s\w{0,12}\s?scale|(?:on|for"
    r"|in\sterms|in\sregards?|in\sthis|in\smy|in\sits|in\s(?:\w{3,20}(?:ness|ncy|ence|ance|ity|acy)|depth|grammar|quality|style|structure|tone|flow|total|all\b|general)|in\sthe\s(?:area"
    r"|category|aspect)|because|as|since|due|with|based|given|but|and|overall"
    r"|according|considering|to\s(?:the|this|it|its|their)|at\s(?:best|most)|from|here|rating|score|when|while"
    r"|although|though|which|if|so|mainly|primarily|mostly|only|simply|summary|response|answer"
    r"|instead|rather|regarding|by|seems?|would\sbe\s(?:appropriate|fair|justified|suitable|reasonable|given"
    r"|assigned)|(?:is|seems|feels|looks|would\sbe|was)\s(?:\w{2,10}\s){0,2}(?:appropriate|fair|fitting|justified"
    r"|suitable|reasonable|given|assigned|warranted|deserved|right|apt|accurate|in\sorder)|under|through|out\sof"
    r"|possible\s(?:points?|stars?|marks?)|or\sso|or\s(?:maybe|perhaps|possibly|even|an?)\s(?:an?\s)?\d|(?-i:(?:The|This|It|There|However|Overall|While|Although|Though|In|But|Here|Explanation|Reason\w*"
    r"|Because|Let|Please|Note|Its|Both|Each|All|No|Not|Since|As|For|We|My|Also)\b)|without|that|where|however"
    r"|indicating|meaning|suggesting|reflecting|showing|representing|i|because|therefore|\w{3,20}(?:ness|ncy|ence"
    r"|ity))\b)|\s{0,2}[的,、)]|\s{0,2}[\u4e00-\u9fff]",
    _EN,
)
"""What may stand behind a rating in a sentence; a noun behind it makes it a count."""
STARTED: Final = re.compile(
    r"\b(?:initial\w{0,2}|originally|first|at\sfirst|preliminary|tentative\w{0,2}|before)\b|初步|最初|起初|原本|一开始|本来",
    _EN,
)
MARKED: Final = re.compile(
    r"\b(?:final\w{0,2}|now|overall|correction|chang(?:e|ed|ing)|revis(?:e|ed|ing|ion)|corrected|correct\s(?:it|my)"
    r"|updat(?:e|ed|ing)|adjust(?:ed|ing)?|lower(?:ed|ing)?\s(?:it|my|the)|raised?\s(?:it|my)|settl\w{1,3}"
    r"|therefore|thus|hence|so|conclu\w{2,5}|ultimately|in\sthe\send|actually|instead|on\sreflection"
    r"|reconsider\w{0,4}|summary,|all\sin\sall|lean(?:ing)?)\b|最终|最后|综上|因此|所以|故|改为|改成|修正|调整|总体|综合|总的",
    _EN,
)
DESCRIBES: Final = re.compile(
    r"\s{0,2}(?:(?:stars?|points?|分|星)\s?)?(?:being\b"
    r"|(?:(?:is|are|was|were)\s)?(?:(?:given|awarded|deducted|added)\s)?(?:for\s(?:each|every)|per|each)\b|(?:is|as|=|:|are)?\s?(?:the\s)?(?:lowest|highest|worst|best"
    r"|minimum|maximum)\b|(?:means?|indicates?|represents?|signif(?:y|ies)|denotes?|stands\sfor|corresponds?"
    r"|refers?|requires?|would\s(?:mean|indicate|require|need|be\s(?:for|if|when|reserved))|is\s(?:reserved|for"
    r"|when|if|used|defined)|should\sbe\sgiven)\b|[(（=]\s?(?:the\s)?(?:worst|best|lowest|highest|最|完全|非常)|制|(?:分"
    r"|星)?(?:最[差好低高]|表示|代表|意味|是最|为最|最高|最低|即|对应|满分|为满分))",
    _EN,
)
"""What turns the number before it into a level of the scale that is explained."""
PREDICATE: Final = re.compile(
    r"\s(?:is|seems|would\sbe|feels|sounds)\s(?:like\s)?(?:to\sbe\s)?(?:what\si(?:'d|\swould|\shave\sto)?\s(?:give|choose|say|rate|assign)"
    r"|my\s(?:\w{2,12}\s)?(?:rating|score|choice|verdict|answer)"
    r"|(?:an?\s|the\s)(?:fair|appropriate|suitable|reasonable|fitting|right|correct|adequate|accurate|proper|good)\s(?:rating|score"
    r"|choice|mark)|(?:about\s)?(?:right|fair|appropriate|reasonable|adequate)(?:\sto\sme|\shere)?\b)",
    _EN,
)
"""What makes the number before it the rating: "A 4 would be my rating"."""
GIVES: Final = re.compile(
    r"(?:给(?:出|予|到|了|它|他|该|其|这|个|分|打|一)?|打|评(?:为|定为|分为|级为|价为|出|成)?|得(?:到|了|分)?|获得?|定为|判为|改为|改成|调整为|降为|升为|修正为|应为|应是"
    r"|值|应得|只能|可以|属于|处于|达到|选择?|分数(?:是|为)|(?<=[得评总打])分(?:是|为)|(?:[性度感力]|质量|语法|内容|逻辑)(?:上|方面)?(?:是|为|得|[:,])?|评分|得分)[^。;!?\n\d]{0,24}\Z"
)
OF: Final = re.compile(
    r"[\"')\]\s]{0,4}(?:,\s)?(?:stars?\s|points?\s|分\s?)?(?:in\sterms\sof|in\sregards?\sto|with\srespect\sto"
    r"|with\sregards?\sto|when\sit\scomes\sto|regarding|for|on|in|of)\s(?P<aspect>(?:its\s|the\s|their\s"
    r"|overall\s)?[\w-]{3,24})",
    _EN,
)
OPENING: Final = re.compile(
    r"\s{0,4}[-•]?\s?(?:(?:in\sterms\sof|as\sfor|regarding|for|on|with\srespect\sto|when\sit\scomes\sto"
    r"|concerning)\s)(?P<aspect>[^,]{3,40}),",
    _EN,
)

CHANGED: Final = re.compile(
    r"\b(?:correction|corrected|chang(?:e|ed|ing)\s(?:it|my|the)|revis(?:e|ed|ing)|updat(?:e|ed|ing)\s(?:it|my|the"
    r"|score|rating)"
    r"|adjust(?:ed|ing)?\s(?:it|my|the|score|rating)|lower(?:ed|ing)?\s(?:it|my|the)|rais(?:e|ed|ing)\s(?:it|my)"
    r"|reconsider\w{0,4})\b"
    r"|改为|改成|修正|更正|调整为",
    _EN,
)
"""Words with which a judge takes back what it said before."""

AND: Final = re.compile(r"\s(?:and|&)\s(?:an?\s)?(?P<other>\d{1,3}(?:\.\d{1,2})?)", _EN)
NO_RATING: Final = re.compile(
    r"(?:reasons?|reasoning|explanation|criteria|steps?|feedback|analysis|rationale|理由|原因|说明|标准|依据|分析|解释|步骤|细则)\s*\Z",
    _EN,
)
"""Ends of labels that announce a text and no number."""

RATING: Final = re.compile(
    rf"\b(?:{RATING_WORD}|overall|total|average|mean)\b|评分|打分|得分|分数|分值|总分|评级|评价|评定|评估|评判|星级|给分|判分|结论|等级|结果",
    _EN,
)
"""Words of a label that announce a rating."""

VERB: Final = re.compile(
    r"\b(?:(?:(?<=\bi\s)|(?<=\bwe\s)|(?<=would\s)|(?<='d\s)|(?<=ll\s)|(?<=\bto\s)|(?<=ould\s)|(?<=can\s)|(?<=ly\s)"
    r"|(?<=must\s))rate|rat(?:ed|es|ing)|scor(?:e|ed|es|ing)|grad(?:e|ed|es)|think|believe|evaluat(?:e|ed)"
    r"|assess(?:ed)?|assign(?:ed|s|ing)?"
    r"|award(?:ed|s|ing)?|giv(?:e|en|es|ing)|gave|deserv(?:e|es|ed|ing)|receiv(?:e|es|ed)|get(?:s|ting)?|got"
    r"|earn(?:s|ed)?"
    r"|merits?|warrants?|rank(?:ed|s)?|put|place|say|choose|select|pick|go(?:ing)?\swith|lean(?:ing)?\stowards?"
    r"|settl(?:e|ed|ing)\s(?:on|for|at)|land(?:s|ed|ing)?\s(?:on|at)|end(?:ed|ing)?\sup\s(?:with|at)|arriv(?:e|ed)\sat"
    r"|(?:chang|revis|lower|rais|adjust|correct|updat|increas|decreas|reduc|downgrad|upgrad)(?:e|ed|ing)?\s(?:it|my"
    r"|the|this|that)"
    r"|opt(?:ing)?\sfor|correspond(?:s|ing)?\sto|consider(?:ed)?|achiev(?:e|es|ed)|mark(?:ed|s)?|falls?\s(?:at|under)|sits?\sat|stands?\sat"
    r"|worth"
    r"|conclude|leav(?:e|es|ing)|bring(?:s|ing)?|result(?:s|ing)\sin|total(?:s|ling)?|yields?|make\s(?:it|that|this)"
    r"|(?:i'?m|i'?d)\s(?:at|giving|going)"
    r"|(?:it|that|this|summary|response|answer|dialogue|text|reply|output|translation|conversation|story)"
    r"(?:'s|\sis|\swould\sbe|\swas|\sshould\sbe))(?!\w)",
    _EN,
)
"""Verbs with which a judge gives a rating."""

OF_A_TEAM: Final = re.compile(r"scored|got|gets?|put|place|say|consider|make", _EN)
"""Verbs that do not always rate."""

NOUN: Final = re.compile(
    r"\b(?:my\s(?:choice|pick|decision|answer)|ratings?|scores?|grades?|marks?|verdict|evaluation|assessment)\b", _EN
)
LINKS: Final = re.compile(
    r"(?:^|\b)(?:of|is|was|be|as|at|to|equals?|=|remains?|be:)\s{1,3}"
    r"(?:(?:a|an|the|only|just|about|around|roughly|approximately|probably|at|solid|strong|clear|low|high|full|perfect"
    r"|maximum|lowest|highest|therefore|thus|also|then|score|rating|of)\s{1,2}){0,4}[\"'(\[]?\Z",
    _EN,
)
"""What links a rating's noun to its number, at the end of what stands before the number."""

DENIAL: Final = re.compile(
    r"\b(?:not|never|than|instead\sof|prevent\w{0,4}|short\sof|lose[sd]?|los(?:t|ing)|deduct\w{0,4}|subtract\w{0,4}"
    r"|minus"
    r"|unless|why\snot|from|above|below|under|over|exceed\w{0,3}|without|up\sto|at\smost|at\sleast|no\smore|isn't"
    r"|wasn't|can't"
    r"|cannot|couldn't|wouldn't|don't|doesn't|didn't|won't|scale\sof|between|(?:\A\s{0,2}|(?:needs?|have|has|had|order|enough|required|able)\s)to\sbe"
    r"|to\s(?:get|receive|earn|achieve|reach|become|make\s(?:it|this|that)"
    r"|deserve|warrant|merit|score|gain|obtain)|would\s(?:have|need|require|take)|could\s(?:have|be(?!\s(?:rated|scored|graded|evaluated|assessed|considered)\b)|get|receive"
    r"|earn)|might"
    r"|may|if|worthy\sof|possible|maximum\sof|out\sof\sthe|out\sof|nor|neither|initially|originally|first|miss(?:es|ed|ing)?|shy\sof"
    r"|example|e\.g\.|such\sas|like)(?!\w)"
    r"|不|无法|没有?|未|难以|如果|若|扣|减|加|差|缺|低于|高于|超过|至少|最多|满分|每|各|占|第|最高|最低|输|赢|进|投|共|约|其中",
    _EN,
)
"""What takes a number out of the statements of a rating when it stands shortly before it."""

BETWEEN: Final = re.compile(r"\bbetween\s(?:an?\s)?\Z", _EN)
BETWEEN_BEFORE: Final = re.compile(r"\bbetween\s(?:an?\s)?\d[\d.]{0,4}\s(?:and|&)\s(?:an?\s)?\Z", _EN)
"""The upper end of what `BETWEEN` begins."""

CONCLUDES: Final = re.compile(
    r"\s{0,4}(?:so|therefore|thus|hence|overall|finally|in\s(?:conclusion|summary|total)|conclusion|ultimately|综上"
    r"|因此|所以|故|on\s(?:the|a|this)\s(?:[\w-]{1,12}\s){0,2}scale|on\sbalance|on\sthe\swhole|bottom\sline|all\stold)"
    r"[,:]?\s{0,3}(?:an?\s|it(?:'s|\sis)\s(?:an?\s)?)?\Z",
    _EN,
)
"""A sentence that has nothing but a conclusion before its number."""

OR: Final = re.compile(r"\s(?:or|to)\s(?:(?:maybe|perhaps|possibly|even|an?)\s){1,2}\d(?!\d)", _EN)
OR_BEFORE: Final = re.compile(r"\d\s(?:or|to)\s(?:(?:maybe|perhaps|possibly|even|an?)\s){1,2}\Z", _EN)
"""Two numbers of which the judge does not choose one: "a 3 or maybe a 4"."""
