r"""What judges say for yes and no, as patterns on folded text: data for `rating_yes_no`.

Every repetition is bounded, so that the time for a reply grows with its length and no faster.
"""

from __future__ import annotations

import re
from typing import Final

_EN: Final = re.IGNORECASE
ADJECTIVE: Final = (
    r"(?:supported|correct|right|accurate|faithful|grounded|relevant|consistent|entailed|valid|satisfied|compliant"
    r"|acceptable"
    r"|answerable|answered|true|factual|verifiable|verified|sufficient|adequate|substantiated|justified|equivalent"
    r"|addressed|met|followed|useful|helpful|related)"
)
_NEGATIVE: Final = (
    r"(?:un(?:supported|faithful|grounded|answerable|acceptable|answered|met|verified|verifiable|true|substantiated"
    r"|justified)"
    r"|in(?:correct|accurate|consistent|valid|sufficient|adequate)|irrelevant|non[- ]?(?:compliant|factual)|false"
    r"|wrong|hallucinated"
    r"|contradicted|contradictory|useless|unrelated|unhelpful)"
)
_DEGREE: Final = r"(?:(?:\w{1,12}ly|well|all|also|so|indeed|still|very|quite|explicitly|at all)[ -]{1,2}){0,2}"
_WHOLLY: Final = r"(?:entirely|fully|completely|wholly|totally|100\s?%|exactly|quite|all)"
_NOT: Final = r"(?:not|isn't|aren't|wasn't|weren't|never|cannot be|can't be|no longer)"
_OFTEN_AFTER_NO: Final = (
    r"(?:the|it|this|that|these|there|because|since|as|based|according|i|we|they|none|not|neither|and|but|in|for"
    r"|given|while"
    r"|a|an|according|due|its?|he|she|from)\b"
)
_ALTERNATIVE: Final = (
    r"(?!['\"\]]?\s{0,2}(?:/|\||,?\s?\b(?:or|and)\b|或|或者|和|还是|、)\s{0,2}['\"\[]?(?:yes|no|not?|true|false|un\w+"
    r"|in\w+|是|否|不|错)(?![a-z]))"
)
_END: Final = rf"(?!_?[^\W_]|-|['’]\w){_ALTERNATIVE}"
_ZH_END: Final = rf"(?=[的了]?\s{{0,3}}(?:[,。.;:!?、()\]\[】」\"'\n}}$|<—-]|\Z|因为|由于)){_ALTERNATIVE}"

PARTIAL: Final = (
    rf"(?:(?:only |yes,? but only |yes,? but |yes,? |no,? but )?(?:partial(?:ly)?|partly|somewhat|mostly|largely"
    rf"|in part|to some extent)"
    rf"(?:[ ,]{{1,2}}(?:yes|no|{ADJECTIVE}))?|borderline|mixed|{_NOT} {_WHOLLY} {ADJECTIVE}){_END}"
    rf"|(?:部分|基本上?|大体|大致|不完全|不全|半)(?:地)?(?:支持|正确|对|符合|通过|是|成立|一致|属实|准确"
    rf"|得到支持)?{_ZH_END}"
)
UNSURE: Final = (
    rf"(?:yes and no|(?:yes,? ?no|no,? ?yes)(?=[.!]?\s{{0,3}}(?:\n|\Z))|neither {ADJECTIVE} nor \w{{1,20}}|unclear"
    rf"|uncertain|unsure|maybe|perhaps|undetermined|inconclusive|unknown|n/a|not applicable"
    rf"|cannot (?:be )?(?:determined?|say|tell)"
    rf"|can't (?:be )?(?:determined?|say|tell)|unable to (?:determine|say)|it depends|indeterminate){_END}"
    rf"|(?:不确定|不能(?:确定|判断)|无法(?:确定|判断|判定)|难以(?:确定|判断)|不清楚|未知|不适用|既是也不是"
    rf"|是,?也不是|也许|可能){_ZH_END}"
)
NO: Final = (
    rf"(?:(?-i:NO)|nope|no(?![ \t]{{1,3}}(?!{_OFTEN_AFTER_NO})[a-z])|fail(?:s|ed)?|negative"
    rf"|{_NOT} {{1,5}}{_DEGREE}{ADJECTIVE}|{_DEGREE}{_NEGATIVE}"
    rf"|(?:(?:definitely|certainly|absolutely|clearly|obviously|probably|of course) not"
    rf"|not at all)(?=\s{{0,3}}(?:[.,!;]|\Z))"
    rf"|does not pass|not pass(?:ed|ing)?){_END}"
    rf"|(?:(?:并|完全|都|均|明显)?(?:不|未|没有?|并非|非|无)(?:被|能|能够|得到|获得|是|太|完全)?(?:支持|正确|对"
    rf"|可以|通过|符合|属实|成立|一致|相关|忠实|准确|合格|满足|行|有?依据|有?根据|有?用|有?帮助|关)"
    rf"|否|不是|没有|错误|错|不|无|假|不能|失败){_ZH_END}"
)
YES: Final = (
    rf"(?:yes|yep|yeah|affirmative|pass(?:es|ed)?|{_DEGREE}{ADJECTIVE}){_END}"
    rf"|(?:(?:完全|得到|全部|都|均)?(?:支持|正确|可以|通过|符合|属实|成立|一致|相关|忠实|准确|合格|满足)|是|对|有"
    rf"|真|能|有(?:充分的?)?(?:依据|根据|用|帮助)|相关){_ZH_END}"
)
TOKEN: Final = rf"(?P<token>(?P<partial>{PARTIAL})|(?P<unsure>{UNSURE})|(?P<no>{NO})|(?P<yes>{YES}))"
"""One verdict; the group that took part is its label."""

PLAIN: Final = (
    rf"(?P<token>(?P<partial>{PARTIAL})|(?P<unsure>{UNSURE})"
    rf"|(?P<no>(?:(?-i:NO)|nope|no(?![ \t]{{1,3}}(?!{_OFTEN_AFTER_NO})[a-z])){_END}|(?:否|不是|没有|不|(?:没有?"
    rf"|无)(?:任何)?(?:依据|根据|用)){_ZH_END})"
    rf"|(?P<yes>(?:yes|yep|yeah){_END}|(?:是|可以|有(?:充分的?)?(?:依据|根据|用)?){_ZH_END}))"
)
"""Yes and no in the narrow sense: what a verdict is, where `correct` may describe something else."""

_OPENERS: Final = (
    r"[\s\"'(\[{<$|✅❌✔✖✓✗☑☒️]{0,6}(?:\\(?:text|boxed|mathrm|textbf)\s{0,2}\{\s{0,2}){0,2}(?:an? |the )?(?:clear "
    r"|definite "
    r"|resounding |firm |simple )?"
)
_NOUN: Final = (
    r"(?:answers?|verdicts?|judge?ments?|decisions?|conclusions?|results?|responses?|ratings?|labels?|assessments?"
    r"|evaluations?|determinations?"
    r"|outputs?|classifications?|yes\s?(?:/|or)\s?no|score|grade|ruling)"
)
_NOUN_ZH: Final = (
    r"(?:结论|判断|判定|评判|裁决|答案|结果|判决|评估|回答|是否(?:得到)?(?:支持|正确|忠实|通过|符合|可回答)|评价"
    r"|裁定|(?<![\u4e00-\u9fff])答"
    r"|判断题|意见|判断为)(?:结果|结论)?"
)
_SEP: Final = r"[\"'\])}]{0,3}\s{0,4}(?::|=|-{1,2}>?|[–—→]|】|>)\s{0,4}"
DECLARED: Final = re.compile(
    rf"(?<![A-Za-z])(?:{_NOUN}|(?<=\n)(?:overall|final|in (?:conclusion|summary)|summary"
    rf"|therefore))(?:\s\([^)\n]{{0,40}}\))?(?:{_SEP}|[\])]\s{{0,3}}|\s{{0,3}}\bis\s{{0,2}}:"
    rf"|[ \t]{{0,9}}\n\s{{0,6}}){_OPENERS}{TOKEN}"
    rf"|{_NOUN_ZH}(?:应该|应当|应|就)?(?:{_SEP}|[】\])]\s{{0,3}}:?|[ \t]{{0,9}}\n\s{{0,6}}|(?:是|为"
    rf"|:){{1,2}}\s{{0,3}}){_OPENERS}"
    rf"{TOKEN.replace('?P<', '?P<zh_')}",
    _EN,
)
IS: Final = re.compile(
    rf"(?<![A-Za-z])(?:verdict|judge?ment|decision|conclusion|determination|assessment|ruling|classification"
    rf"|label)\s(?:here )?(?:is|would be|must be|should be|remains)(?: that it is)?\s{{1,2}}{_OPENERS}{TOKEN}",
    _EN,
)
IS_PLAIN: Final = re.compile(
    rf"(?<![A-Za-z])(?:answer|response|result|output)\s(?:here |to (?:the|this|your) \w{{2,12}} )?(?:is|would be"
    rf"|must be"
    rf"|should be|remains)(?:\s{{1,2}}|\s?:\s?)(?:therefore |thus |still )?{_OPENERS}{PLAIN}",
    _EN,
)
MARKED: Final = re.compile(
    rf"(?:\[\[\s{{0,4}}|【\s{{0,4}}|\\(?:boxed|fbox)\s{{0,2}}\{{\s{{0,8}}\{{?\s{{0,3}}|<(?:answer|verdict|result"
    rf"|judge?ment|decision|label)>\s{{0,9}}|\[RESULT\]\s{{0,4}}:?\s{{0,4}}|(?:\n|\A"
    rf"|\?)[ \t]{{0,6}}A:\s{{0,3}}){TOKEN}",
    _EN,
)
CONCLUDED: Final = re.compile(
    rf"(?:\b(?:therefore|thus|hence|so|overall|in conclusion|in short|in summary|to conclude|consequently"
    rf"|ultimately|finally|accordingly|which means|meaning)\b[,:]?\s{{0,2}}"
    rf"|(?:因此|所以|综上所述|综上|总之|总而言之|故|由此可见|最终|总(?:的|体)?(?:而言|来看|来说|上)?)[,:]?\s{{0,2}})"
    rf"(?:(?:it's|it is|that's|this is|that is|my answer is|the answer is|答案(?:是|为)|结论(?:是|为)|判断(?:是|为)"
    rf"|回答(?:是|为)|我的(?:答案|判断|结论)(?:是|为)):?\s{{0,2}}|(?:i(?:'d| would) (?:say|answer)),?\s|(?:是|为):?)?"
    rf"{_OPENERS}{PLAIN}(?=[的了]?\s{{0,3}}(?:[.,;:!)\"'\]}}\n。—–-]|\Z))",
    _EN,
)
SAID: Final = re.compile(
    rf"\bi(?:'d|'ll| would| will| must| have to| can)? (?:therefore |thus |still )?(?:say|answer|conclude|go with"
    rf"|vote|respond with|respond|choose|rule|judge(?: it)?|lean(?: towards?)?|am (?:leaning"
    rf"|inclined) (?:to(?:wards?)? )?)\b:?(?: that (?:it is"
    rf"|the answer is))?\s{{1,2}}{_OPENERS}{PLAIN}"
    rf"|我(?:的判断|的结论|的答案|认为|判断|会说|会回答|选择|判定)(?:答案)?(?:是|为"
    rf"|:){{0,2}}\s{{0,2}}{_OPENERS}{PLAIN.replace('?P<', '?P<zh_')}",
    _EN,
)
ASKED: Final = re.compile(rf"\?[ \t\"]{{0,3}}{_OPENERS}{PLAIN}(?=[的了]?\s{{0,2}}(?:[.,;!)\n。]|\Z))", _EN)
"""A question that the judge asks itself, with the answer behind it."""

LINE: Final = re.compile(
    rf"(?m)^[\s>(\[{{\"'.|_~-]{{0,12}}(?P<listed>\d{{1,2}}[.)]\s{{0,3}})?(?:{TOKEN}|(?-i:(?P<y>[Yy])"
    rf"|(?P<n>[Nn])))[\s.!。)\]}}\"'|;,_~-]{{0,12}}$",
    _EN,
)
"""A line that holds nothing else."""

FINAL: Final = re.compile(
    rf"(?:[.!?;:)\]\"。]\s{{1,4}}|[。→⇒]|[-=]>|\b(?:is|it's|be)\s(?:an? )?){_OPENERS}{PLAIN}[\s.!。\"')\]]{{0,8}}\Z"
    rf"|(?:[.!?]\s{{1,4}}|。)(?:{TOKEN.replace('?P<', '?P<more_')})[\s.!。\"')\]]{{0,8}}\Z",
    _EN,
)
"""A last sentence that is nothing else."""

CALLED: Final = re.compile(rf"\b(?:it(?:'s| is)|that(?:'s| is)) a {_OPENERS}{PLAIN}", _EN)
CRITERION: Final = re.compile(
    rf"(?m)^[\s\d.)*|-]{{0,8}}(?:"
    rf"(?:is[_ ])?(?:supported|faithful|pass(?:ing|ed)?|correct(?:ness)?|faithfulness|relevan(?:t|ce)|groundedness"
    rf"|grounded|consisten(?:t|cy)"
    rf"|entailed|answerable)\s{{0,3}}[:=]\s{{0,3}}{_OPENERS}{TOKEN}"
    rf"|[A-Z\u4e00-\u9fff][^:=\n]{{1,40}}[:=]\s{{0,3}}{_OPENERS}{PLAIN.replace('?P<', '?P<more_')}(?=\s{{0,3}}(?:[."
    rf",;(\n—–-]|\Z)))",
    _EN,
)
"""A line with the verdict on one criterion: they must agree, unless a verdict on the whole follows."""

OPENING: Final = re.compile(
    rf"[\s(\[{{\"'<$|>:.✅❌✔✖✓✗☑☒️-]{{0,10}}"
    rf"(?:(?:definitely|clearly|certainly|probably|(?:most )?likely|absolutely|obviously),?\s)?"
    rf"(?:{PLAIN}(?!\s{{0,2}}\?)|{TOKEN.replace('?P<', '?P<more_')}"
    rf"(?=\s{{0,2}}(?:[.,;:!)\]\"'}}|\n—–(。、]|-\s|\Z|by\b|because\b|since\b|as\b|[的了]?\s{{0,2}}(?:[,。]|\Z)))"
    rf"|(?P<no_zh>(?:并?不支持|没有得到支持|未得到支持|不正确|不符合|不是)(?!的))|(?P<yes_zh>支持(?=该|此|这|陈述)"
    rf"|是的|符合(?=要求|指南|标准|规定)))",
    _EN,
)
FOREIGN: Final = re.compile(
    r"(?:\b(?:reference|generated|given|expected|provided|candidate|correct|gold|student|student's|original|system"
    r"|predicted|proposed|submitted|other|possible|first|previous|ai|model|assistant|user|their|its|true"
    r"|ground[- ]truth"
    r"|standard|right|actual|wrong|incorrect|stated)|\w's|标准|参考|生成的?|给出的?|正确|学生的?|候选|原|模型的?|其"
    r"|该)\s{0,2}$",
    _EN,
)
"""In front of `answer`: it is not the judge's own."""

CONDITION: Final = re.compile(
    r"\b(?:whether|if|should|unless|when|would|to be|to|must be|no evidence(?: that)?|not enough|insufficient"
    r"|no part|not (?:say|mean|clear|state"
    r"|imply)|doubt|nothing|none|neither|nor|hardly|without"
    r"|determine|assess|judge|verify|check|asks?|how|criteria|parts? of|some|only|one|first|second"
    r"|third)\b[^.;\n]{0,60}\Z|是否|如果|若|假如|判断[^,。]{0,12}\Z|没有(?:证据|内容|信息)",
    _EN,
)
SUPPOSED: Final = re.compile(
    r"\b(?:if(?! i (?:had|have|must|were))|unless|might|may|could)\b[^.;\n]{0,60}\Z"
    r"|\bwhether (?:the )?(?:answer|response|result|output|it)(?: is)?\s?\Z",
    _EN,
)
"""In front of a verdict: it would be one under another condition."""

STATED: Final = re.compile(
    rf"\b(?:answers?|claims?|statements?|responses?|assertions?|summary|information|content|it|this|reply"
    rf"|conclusion)\b(?:,?\s[\w,'\"-]{{1,20}}){{0,8}}?\s(?:is|are|was|were|has been"
    rf"|have been)(?P<nt>n't)?(?:,\s[^,.;\n]{{1,60}},)?\s{{1,5}}"
    rf"(?:therefore |thus |clearly |hence |indeed |also )?{TOKEN}"
    rf"|\b(?:context|passages?|text|evidence|documents?|sources?|excerpt|information"
    rf"|articles?)\b(?:\s(?!(?:to|not|no|cannot|nor|neither|could|would|might|may|should|if|whether|without|that)\b"
    rf"|can't)[\w,'-]{{1,20}}){{0,5}}?\s"
    rf"(?:(?P<denies>(?:does|do|did) not|doesn't|don't|didn't|fails? to|contradicts?)|(?P<affirms>(?:(?:clearly"
    rf"|directly|fully|explicitly|does|do) ){{0,2}}))\s?(?P<supports>supports?|entails?|confirms?|backs? up|verif(?:y"
    rf"|ies)|(?<=contradict)|(?<=contradicts))\b"
    rf"|\b(?P<none>(?:none|nothing|no (?:part|passages?|information|evidence|sentence|context|source"
    rf"|statement))\b[^.;\n]{{0,40}}?\s"
    rf"(?:supports?|confirms?|backs? up|verif(?:y|ies)|entails?))\b"
    rf"|(?:上下文|资料|文本|文中|原文|证据|材料|文档|内容|片段|回答|答案|陈述|说法|声明|主张|论断"
    rf"|结论)(?:[^。,;\n是否不未没无]{{0,16}}?)(?P<zh>(?:不|未|没有)(?:被|得到)[^。,;\n]{{0,12}}?支持|(?:并|完全"
    rf"|都)?(?:不|没有|未能?|无法|不能|部分)?(?:被|得到|获得"
    rf"|是)?(?:了)?(?:支持|正确|错误|属实|符合|矛盾|一致|准确|忠实)|(?:并?没有|毫?无|缺乏|有)(?:任何|充分的?)?(?:依据|根据))(?!与否|度|性)",
    _EN,
)
"""Sentences that say so without being a declaration."""

CONCLUDING: Final = re.compile(
    r"\b(?:therefore|thus|hence|overall|in conclusion|in summary|so|consequently|ultimately)\b|因此|所以|综上|总之|故",
    _EN,
)
