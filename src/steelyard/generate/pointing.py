"""Whether a question points at the text it was made from: whoever answers it does not see that text.

Three ways to point are told apart: at the text itself ("according to the passage"), at a part that has a number or is
an illustration ("What does Table 3 show?"), and at the document or its authors ("What do the authors conclude?").
A named work is not a pointing: "the authors of the GPL", "Section 230 of the Communications Act".
"""

from __future__ import annotations

import re
from typing import Final, Literal

Pointing = Literal["", "refers_to_text", "refers_to_figure", "refers_to_document"]

_THE: Final = r"(?:the|this|that|these|those)"
_TEXT: Final = re.compile(
    r"\b(?:according to|based on|as (?:stated|described|mentioned|given|shown|explained|defined) (?:in|by)"
    r"|(?:mentioned|described|stated|given|listed|discussed|shown|provided|outlined) (?:in|by)|in|from|by|of|does|do) "
    r"(?:the|this|that) (?:above |given |provided |following |preceding )?"
    r"(?:text|passage|excerpt|paragraph|chunk|snippet|extract|context|material)\b"
    r"(?! (?:field|box|editor|file|column|message|mode))"
    r"|\b(?:mentioned|described|stated|given|listed|shown|discussed) (?:above|below|here)\b"
    r"|\bthe (?:text|passage|excerpt|author|paragraph) (?:say|state|mention|describe|give|list|explain|suggest)",
    re.IGNORECASE,
)
_TEXT_ZH: Final = re.compile(
    r"(?:根据|依据|按照|基于|结合|参考)(?:以上|上述|上面|给出|所给|给定|提供|该|本|这[段篇份]|此)?的?"
    r"(?:文本|文章|短文|文段|原文|正文|材料|段落|上文|片段|文中|这段话)"
    r"|文(?:本|章|段)?(?:中|里|内)(?!件|档|学|化|献)|[本上下]文(?:中|里)?(?:提到|所述|指出|介绍|描述)|材料(?:中|里)"
    r"|(?:以上|上述)(?:文本|文章|材料|段落|内容)"
)
_ILLUSTRATION: Final = (
    r"(?:tables?|figures?|diagrams?|charts?|graphs?|plots?|equations?|formulas?|illustrations?|screenshots?|images?"
    r"|pictures?)"
)
_NUMBER: Final = r"(?:\d+(?:[.-]\d+)*[a-z]?|(?-i:[IVX]{1,5}|[A-Z](?:\.\d+)?))\b"
_FIGURE: Final = re.compile(
    rf"\b(?:tables?|figures?|figs?\.?|equations?|eqs?\.?|formulas?|listings?|exhibits?|diagrams?|charts?|plates?)"
    rf"\s?(?<=[\s.])\(?{_NUMBER}\)?(?! (?:knots?|skat|loop))"
    rf"|\b(?:sections?|chapters?|appendix|pages?|footnotes?|paragraphs?)\s{_NUMBER}"
    r"(?!,? of (?:the |a |an )?(?-i:[A-Z]))(?! (?:bankruptcy|filing|proceeding))"
    rf"|\b(?:does|do|did|can be (?:seen|inferred) (?:in|from)) {_THE} (?:\w+ )?{_ILLUSTRATION}"
    r" (?:show|list|depict|illustrat|say|represent|present|summar|indicat|describ|compar|mean|contain|display)"
    r"|\b(?:shown|listed|depicted|illustrated|presented|summari[sz]ed|displayed|plotted|labell?ed|mentioned|described"
    rf"|seen|according to|based on)(?: in| by| on)? {_THE} (?:\w+ )?{_ILLUSTRATION}\b"
    rf"|\b(?:this|the (?:above|following|accompanying|preceding|given)) {_ILLUSTRATION}\b",
    re.IGNORECASE,
)
_FIGURE_ZH: Final = re.compile(
    r"(?:(?<![代外手仪钟发列图])表|(?<![地意版企蓝试草])图|图表|公式|方程|附录|附表|附图|插图|示意图)\s?[（(]?\s?"
    r"(?:\d+(?:[.-]\d+)*|[一二三四五六七八九十]+)\s?[)）]?(?!\s?(?:月|日|年|个|种|次))"
    r"|第\s?(?:\d+(?:\.\d+)*|[一二三四五六七八九十]+)\s?(?:章|节|页|小节)(?!课|经济)"
    r"|(?:下|上|该|此|本|这[张个幅])(?:表|图|图表|公式|方程)(?:中|里|所|显示|表明|说明|列出|给出|展示|的)"
)
_WORK: Final = r"(?:document|paper|article|study|section|chapter|page|subsection|appendix)"
_OTHER_WORK: Final = (
    r"(?:manual|handbook|guide|book|report|tutorial|specification|standard|thesis|essay|publication|readme"
    r"|documentation)"
)
_COMPOUND: Final = (
    r"(?! (?:root|objects?|types?|management|stores?|databases?|formats?|body|elements?|class|nodes?|trees?|index|ids?"
    r"|models?|templates?|editors?|headers?|titles?|signs?|of|on|by|about|entitled|titled|called|named|published)\b)"
)
_SAYS: Final = (
    r"(?:say|state|mention|describ|discuss|give|list|explain|suggest|conclu|argu|claim|recommend|defin|present|propos|report"
    r"|cover|provid|introduc|show|find|found|focus|aim|note|point|contain|include|warn|refer)"
)
_DOCUMENT: Final = re.compile(
    r"\b(?:the|this|these) authors?\b(?!'? of\b)(?! (?:fields?|tags?|elements?|attributes?|columns?|keys?|names?)\b)"
    rf"|\b{_THE} {_WORK}\b{_COMPOUND},? (?:also |further )?{_SAYS}"
    rf"|\b(?:in|of|from|by|throughout|within|according to|based on) {_THE} {_WORK}\b{_COMPOUND}"
    rf"|\bthis (?:{_WORK}|{_OTHER_WORK})\b{_COMPOUND}"
    rf"|\b(?:previous|preceding|following|next) (?:section|chapter|page)\b",
    re.IGNORECASE,
)
_DOCUMENT_ZH: Final = re.compile(
    r"作者(?:们)?(?:认为|指出|提到|得出|建议|提出|如何|怎样|是怎|为什么|为何|主张|总结|使用|采用)"
    r"|作者(?:们)?的(?:结论|观点|建议|看法|主张)"
    r"|(?:本|该|此)文(?![件档字化本书明])|(?:本|该|这[篇份部本]|此)(?:文档|论文|报告|手册|章节|小节|指南|书籍?|规范|研究)"
    r"|(?:本|这一|上一|下一|前一)(?:节|章|页)(?!课)|(?:根据|按照|依据)(?:该|本|此|这份)?文档"
)


def pointing_of(question: str) -> Pointing:
    """How a question points at the text it was made from; "" if it does not.

    >>> [pointing_of(text) for text in ("What does Table 3 show?", "What do the authors say?", "How high is it?")]
    ['refers_to_figure', 'refers_to_document', '']
    >>> pointing_of("根据文本，雨量筒多高？"), pointing_of("表2列出了什么？"), pointing_of("本节介绍了什么？")
    ('refers_to_text', 'refers_to_figure', 'refers_to_document')
    """
    patterns: tuple[tuple[Pointing, tuple[re.Pattern[str], ...]], ...] = (
        ("refers_to_text", (_TEXT, _TEXT_ZH)),
        ("refers_to_figure", (_FIGURE, _FIGURE_ZH)),
        ("refers_to_document", (_DOCUMENT, _DOCUMENT_ZH)),
    )
    return next((name for name, several in patterns if any(pattern.search(question) for pattern in several)), "")
