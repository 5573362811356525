"""Parses questions and answers that a model wrote; each unusable one is dropped with its reason.

A question is unusable also where it points at the text it was made from, which whoever answers it does not see. Three
ways to point are told apart: at the text itself ("according to the passage"), at a part that has a number or is an
illustration ("What does Table 3 show?"), and at the document or its authors ("What do the authors conclude?"). A named
work is not a pointing: "the authors of the GPL", "Section 230 of the Communications Act".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from steelyard.generate.evidence import split_quotation
from steelyard.replies.clean import answer_span
from steelyard.replies.grammar import pattern
from steelyard.replies.listing import distinct_texts, read_listing
from steelyard.replies.rating import is_refusal

Kind = Literal["", "empty", "none", "refused", "truncated"]
Pointing = Literal["", "refers_to_text", "refers_to_figure", "refers_to_document"]

_MOST_TOKENS: Final = 120
_LEAST_WORDS: Final = 3
_LEAST_LETTERS: Final = 4
_WITHOUT_BLANKS: Final = re.compile(
    "[\u0e00-\u0eff\u0f40-\u0fbc\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)
"""Letters of Thai, Lao, Tibetan, Burmese, Khmer, Japanese and Chinese, which write no blanks between words, and of
Korean, which writes a question in one or two."""
_OF_TWO_WORDS: Final = re.compile(
    r"(?:kim|ne|nerede|hangi|niye|kto|ile|gdzie|kiedy|czy|jak[aie]?|kdo|kolik|kdy|kuka|miten|milloin|paljonko|montako"
    r"|mennyi|hol|mikor|apa|siapa|berapa|kapan|tko|gdje|koliko)\s",
    re.IGNORECASE,
)
_WIDE: Final = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")
_MARKS: Final = "?？؟¿՞፧᥅⁇⁈⁉‽⸮꘏꛷﹖︖\u037e\U00011143"
_MARK: Final = re.compile(rf"[{_MARKS}]|(?<=[\u0370-\u03ff\u1f00-\u1fff])[;；]")
"""Question marks of all scripts; in Greek it is written as a semicolon."""
_KANA: Final = re.compile("[\u3041-\u30fa]")
_THAI: Final = re.compile("[\u0e00-\u0e7f]")
_QUOTES: Final = "*_\"'”’」』» "
_STOPS: Final = ".。．｡!！।॥۔።։။។…"
_KNOWN_SCRIPT: Final = re.compile(r"[A-Za-z\u00c0-\u024f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
"""Scripts of which it is known how a question without a mark reads."""
_ASKING: Final = re.compile(
    r"(?:please\s+)?(?:what|which|who|whose|whom|when|where|why|how|is|are|was|were|do|does|did|can|could|may|must"
    r"|should|will|would|has|have|had|in what|in which|under what|under which|at what|at which|for how|by how|to what"
    r"|from what|from which|on what|on which"
    r"|name|list|state|give|describe|explain|define|compare|calculate|outline|summari[sz]e|identify|tell|specify"
    r"|complete|distinguish|justify|discuss)\b",
    re.IGNORECASE,
)
_ASKING_ZH: Final = re.compile(
    r"什[么麼]|哪|[谁誰]|多少|多[久高长長大远遠深重宽寬快]|[几幾][个個天次年月种種条條项項步位小分]|[为為]何|如何|怎[么麼样樣]|是否|能否|可否|[吗嗎]"
    r"|何[时時地处處人种種]|^[请請]"
    r"|^[试試]?(?:[简簡]述|[说說]明|解[释釋]|列出|列[举舉]|比[较較]|描述|[写寫]出|指出|概括|[阐闡]述|[计計]算|填空)"
)
_ASKING_JA: Final = re.compile(
    r"(?:何|いつ|どこ|だれ|誰|なぜ|どう(?!ぞ)|どの|どれ|どんな|どちら|いくつ|いくら)(?!でも|も)[^。]*[。]?\Z"
    r"|(?<=[\u3040-\u30ff])か(?:な|ね|い|よ)?[\s。]*\Z"
    r"|(?:説明|列挙|記述|比較|要約|定義|回答|計算)?(?:して|述べて|答えて|挙げて|書いて|示して)(?:ください|下さい)[\s。]*\Z"
    r"|(?:せよ|述べよ|答えよ|挙げよ|なさい)[\s。]*\Z"
)
_ASKING_KO: Final = re.compile(
    r"(?:까|나요|가요|은가|는가|인가|던가|을까|일까|니|냐|느냐|하세요|하시오|하십시오|쓰시오|쓰세요|고르시오)[\s.]*\Z"
    r"|무엇|무슨|누가|(?:누구|언제|어디)(?!나|든)|왜\s|어떻게|어느|며칠|얼마"
)
_ASKING_TH: Final = re.compile(
    "ไหม|มั้ย|หรือไม่|หรือเปล่า|อะไร|ใคร|ที่ไหน|เมื่อไร|เมื่อไหร่|เมื่อใด|ทำไม|เหตุใด|อย่างไร|ยังไง|กี่|เท่าไร|เท่าไหร่|เท่าใด|(?:ใด|ไหน)(?!ๆ)|^จง"
)
_KIND: Final = (
    r"(?:(?:facts?|factual|numbers?|numerical|reasons?|reasoning|procedures?|procedural|comparisons?|comparative"
    r"|exceptions?|definitions?|causes?|recall|understanding|application|analysis|short answer|easy|medium|hard)"
    r"(?: question)?|(?:事实|数字|原因|步骤|比较|例外|定义|概念|简答|问答|填空|理解|应用|分析|容易|简单|中等|困难)"
    r"(?:型|类)?题?)"
)
_KIND_BEFORE: Final = re.compile(
    rf"\A(?:[\[(（【]\s?{_KIND}(?:[/,、 ]{{1,2}}{_KIND})?\s?[\])）】]\s*[:：]?|{_KIND}\s?[:：])\s*", re.IGNORECASE
)
_BEHIND: Final = re.compile(
    r"\s*(?:[-–—|(（\[【]\s*)?\b(?:answer|参考答案|答案)\s?[:：].*\Z"
    rf"|(?<=[{_MARKS}])\s*[(（\[【][^{_MARKS}]*[)）\]】]\Z",
    re.IGNORECASE | re.DOTALL,
)
"""What models add after a question without being asked: the answer, or a level of difficulty."""
_LABEL: Final = re.compile(
    r"\A(?:\*\*|__)?(?:answer|a|答案|参考答案|答|回答)(?:\*\*|__)?\s{0,3}[:：](?:\*\*|__)?\s*", re.IGNORECASE
)
_NO_ANSWER: Final = re.compile(
    r"[\s*_\"'“「]*(?:no answer\b|没有答案|无答案"
    r"|(?:unfortunately,? |sorry,? )?(?:the|this|that) (?:given |provided )?(?:text|passage|material|context|document) "
    r"(?:does not|doesn't|did not|doesn’t|provides no|contains no|gives no|holds no)"
    r"|(?:it|this) is not (?:stated|mentioned|specified|said|given) in"
    r"|(?:the )?(?:question )?cannot be answered|not (?:stated|mentioned|specified|answerable)\b"
    r"|(?:该|这段|所给|给出的|此|本)?(?:文本|文中|文段|材料|原文|段落|上文)(?:中|里)?(?:并)?(?:没有|未|无)"
    r"|(?:根据[^，。]{0,12}，?)?(?:无法|不能)(?:从[^，。]{0,12}中?)?(?:回答|得知|确定|判断|作答))",
    re.IGNORECASE,
)  # fmt: skip

_SPEAKER: Final = re.compile(
    r"[\s*_\"'“]*(?:i\b|sorry|unfortunately|apologies|as an?\b|we\b|很?抱歉|对不起|不好意思|作为|我|本人|无法|不能)",
    re.IGNORECASE,
)
"""Openings of replies in which the model speaks about itself."""


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


class WrittenQuestion(NamedTuple):
    """One parsed question, and why it is dropped; "" if it is kept."""

    text: str
    defect: str = ""


@dataclass(frozen=True, slots=True)
class QuestionList:
    """The questions parsed from a reply.

    Args:
        questions: every entry, in order, each with its defect.
        kind: why no list could be parsed; `truncated` also if the last entry of a list was cut off.
    """

    questions: tuple[WrittenQuestion, ...] = ()
    kind: Kind = ""

    @property
    def usable(self) -> tuple[str, ...]:
        """The questions without a defect."""
        return tuple(question.text for question in self.questions if not question.defect)

    @property
    def dropped(self) -> dict[str, int]:
        """Reason -> how many entries were dropped for it."""
        counts: dict[str, int] = {}
        for question in self.questions:
            if question.defect:
                counts[question.defect] = counts.get(question.defect, 0) + 1
        return counts


def read_questions(text: str, *, most: int, finish: str = "stop") -> QuestionList:
    r"""Parse the questions in a model's reply; entries that are unusable or repeated are marked with a reason.

    Args:
        text: any text; the text around the list is left out.
        most: how many were asked for; those beyond are marked `surplus`.
        finish: why the model stopped; of a reply that was cut off, the last entry is left out unless it ends.

    >>> listing = read_questions("Sure! Here are 3:\n1. How high is it?\n2. how high is it\n3. Rain.", most=3)
    >>> listing.usable, listing.dropped
    (('How high is it?',), {'duplicate': 1, 'too_short': 1})
    """
    if finish in {"refusal", "content_filter"}:
        return QuestionList(kind="refused")
    listing = read_listing(text)
    cut = finish == "length"
    entries = tuple(_bare(entry) for entry in listing.entries)
    if cut and entries and not _ended(entries[-1]):
        entries = entries[:-1]
    if not entries:
        return QuestionList(kind=_kind_of_nothing(text, cut=cut))
    if listing.form == "lines" and not any(map(_asks, entries)):
        return QuestionList(kind="refused" if _refuses(text) else "none")
    return QuestionList(tuple(_checked(entries, most)), "truncated" if cut else "")


def _kind_of_nothing(text: str, *, cut: bool) -> Kind:
    if cut:
        return "truncated"
    if not text.strip():
        return "empty"
    return "refused" if _refuses(text) else "none"


def _bare(entry: str) -> str:
    """A question without a table row around it, a question type before it, or an answer after it."""
    if entry.startswith("|"):
        entry = max((cell.strip() for cell in entry.strip("|").split("|")), key=len)
    return _BEHIND.sub("", _KIND_BEFORE.sub("", entry)) or entry


def _checked(entries: tuple[str, ...], most: int) -> list[WrittenQuestion]:
    first = list(distinct_texts(entries))
    questions: list[WrittenQuestion] = []
    usable = 0
    for entry in entries:
        if entry in first:
            first.remove(entry)
            defect = defect_of(entry) or ("surplus" if usable >= most else "")
        else:
            defect = "duplicate"
        usable += not defect
        questions.append(WrittenQuestion(entry, defect))
    return questions


def defect_of(question: str) -> str:
    """Why a question cannot be used; "" if it can.

    `too_short`, `too_long`, `no_question`, or how it points at its text: `refers_to_text`, `refers_to_figure` (a table,
    an equation, a section by its number), `refers_to_document` (the document, its authors).

    >>> questions = ("How high is the rim?", "Why?", "Rain is wet today.", "What does the text say?")
    >>> [defect_of(question) for question in questions]
    ['', 'too_short', 'no_question', 'refers_to_text']
    >>> defect_of("雨量筒的口沿离地多高？"), defect_of("根据文本，雨量筒多高？")
    ('', 'refers_to_text')
    """
    if len(_WITHOUT_BLANKS.findall(question)) < _LEAST_LETTERS and len(question.split()) < _least_words(question):
        return "too_short"
    if _weight(question) > _MOST_TOKENS:
        return "too_long"
    if not _asks(question):
        return "no_question"
    return pointing_of(question)


def _least_words(question: str) -> int:
    """Two where a question needs no article and no "is": `Кто автор?`, `Ücret nedir?`; three in English."""
    letters = [sign for sign in question if sign.isalpha()]
    is_foreign = not "".join(letters).isascii() or _OF_TWO_WORDS.match(question)
    return _LEAST_WORDS - 1 if is_foreign and len(letters) > _LEAST_LETTERS else _LEAST_WORDS


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


def _weight(text: str) -> float:
    """Words of a text, roughly: a wide letter counts as one, four letters of an alphabet as well."""
    wide = len(_WIDE.findall(text))
    return wide + (len(text) - wide) / 4


def _asks(text: str) -> bool:
    """Whether a text is a question; one without a mark, in a script that no rule knows, is if it ends in no stop."""
    if _MARK.search(text) or _ASKING.match(text):
        return True
    patterns = [_ASKING_TH, _ASKING_KO] + ([_ASKING_JA] if _KANA.search(text) else [_ASKING_ZH])
    if any(pattern.search(text) for pattern in patterns):
        return True
    foreign = not _KNOWN_SCRIPT.search(text) and not _THAI.search(text) and any(map(str.isalpha, text))
    return foreign and not text.rstrip(_QUOTES).endswith(tuple(_STOPS))


def _ended(entry: str) -> bool:
    return entry.rstrip(_QUOTES).endswith((*_STOPS, *_MARKS, ";"))


class WrittenAnswer(NamedTuple):
    """A parsed answer, with the sentences quoted for it; `defect` says why there is none."""

    text: str
    defect: str = ""
    quotation: str = ""


def read_answer(text: str, *, finish: str = "stop") -> WrittenAnswer:
    """The answer in a model's reply, without reasoning and without a label in front, and what it quotes.

    Args:
        text: any text.
        finish: why the model stopped; an answer that was cut off does not count.

    >>> read_answer("**Answer:** 30 cm.").text, read_answer("NO ANSWER").defect
    ('30 cm.', 'no_answer')
    """
    if finish in {"refusal", "content_filter"}:
        return WrittenAnswer("", "answer_refused")
    start, end, open_reasoning = answer_span(text)
    answer, quotation = split_quotation(text[start:end].strip())
    shown = _LABEL.sub("", answer).strip()
    if (finish == "length" and not quotation) or open_reasoning:
        return WrittenAnswer("", "answer_truncated")
    if not shown:
        return WrittenAnswer("", "answer_empty")
    if _NO_ANSWER.match(shown):
        return WrittenAnswer("", "no_answer")
    return WrittenAnswer("", "answer_refused") if _refuses(shown) else WrittenAnswer(shown, "", quotation)


def _refuses(text: str) -> bool:
    """Whether a reply begins as a refusal; a refusal further on may be quoted from the text."""
    head = text[:200]
    return bool(_SPEAKER.match(head)) and (pattern("choice", "refusal").search(head) is not None or is_refusal(head))
