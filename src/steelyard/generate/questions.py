"""Parses questions and answers that a model wrote; each unusable one is dropped with its reason."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from steelyard.generate.evidence import split_quotation
from steelyard.generate.pointing import pointing_of
from steelyard.replies.clean import readable
from steelyard.replies.grammar import pattern
from steelyard.replies.listing import distinct_texts, read_listing
from steelyard.replies.rating import is_refusal

Kind = Literal["", "empty", "none", "refused", "truncated"]

_MOST_TOKENS: Final = 120
_LEAST_WORDS: Final = 3
_LEAST_LETTERS: Final = 4
_WITHOUT_BLANKS: Final = re.compile(
    "[\u0e00-\u0eff\u0f40-\u0fbc\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)
"""Letters of Thai, Lao, Tibetan, Burmese, Khmer, Japanese and Chinese, which write no blanks between words, and of
Korean, which writes a question in one or two."""
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
    if len(_WITHOUT_BLANKS.findall(question)) < _LEAST_LETTERS and len(question.split()) < _LEAST_WORDS:
        return "too_short"
    if _weight(question) > _MOST_TOKENS:
        return "too_long"
    if not _asks(question):
        return "no_question"
    return pointing_of(question)


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
    start, end, open_reasoning = readable(text)
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
