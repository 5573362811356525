"""Parses questions and answers that a model wrote; each unusable one is dropped with its reason.

A question is unusable also where it points at the text it was made from, which whoever answers it does not see. Three
ways to point are told apart: at the text itself ("according to the passage"), at a part that has a number or is an
illustration ("What does Table 3 show?"), and at the document or its authors ("What do the authors conclude?"). A named
work is not a pointing: "the authors of the GPL", "Section 230 of the Communications Act".
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from steelyard.generate.evidence import split_quotation
from steelyard.generate.phrases import phrase
from steelyard.normal_form import WIDE
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
_WIDE: Final = re.compile(f"[{WIDE}]")
_MARKS: Final = "?？؟¿՞፧᥅⁇⁈⁉‽⸮꘏꛷﹖︖\u037e\U00011143"
_MARK: Final = re.compile(rf"[{_MARKS}]|(?<=[\u0370-\u03ff\u1f00-\u1fff])[;；]")
"""Question marks of all scripts; in Greek it is written as a semicolon."""
_KANA: Final = re.compile("[\u3041-\u30fa]")
_THAI: Final = re.compile("[\u0e00-\u0e7f]")
_QUOTES: Final = "*_\"'”’」』» "
_STOPS: Final = ".。．｡!！।॥۔።։။។…"
_KNOWN_SCRIPT: Final = re.compile(r"[A-Za-z\u00c0-\u024f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
"""Scripts of which it is known how a question without a mark reads."""
_LEVEL: Final = re.compile(rf"(?<=[{_MARKS}])\s*[(（\[【][^{_MARKS}]*[)）\]】]\Z")
"""A level of difficulty, which models add behind a question without being asked."""
_POINTINGS: Final[tuple[Pointing, ...]] = ("refers_to_text", "refers_to_figure", "refers_to_document")


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
        return dict(Counter(question.defect for question in self.questions if question.defect))


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
    question = _phrase("answer_behind").sub("", _phrase("kind_before").sub("", entry))
    return _LEVEL.sub("", question) or entry


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
    # Words of a text, roughly: a wide letter counts as one, four letters of an alphabet as well.
    wide = len(_WIDE.findall(question))
    if wide + (len(question) - wide) / 4 > _MOST_TOKENS:
        return "too_long"
    if not _asks(question):
        return "no_question"
    return pointing_of(question)


def _least_words(question: str) -> int:
    """Two where a question needs no article and no "is": `Кто автор?`, `Ücret nedir?`; three in English."""
    letters = [sign for sign in question if sign.isalpha()]
    is_foreign = not "".join(letters).isascii() or _phrase("of_two_words").match(question)
    return _LEAST_WORDS - 1 if is_foreign and len(letters) > _LEAST_LETTERS else _LEAST_WORDS


def pointing_of(question: str) -> Pointing:
    """How a question points at the text it was made from; "" if it does not.

    >>> [pointing_of(text) for text in ("What does Table 3 show?", "What do the authors say?", "How high is it?")]
    ['refers_to_figure', 'refers_to_document', '']
    >>> pointing_of("根据文本，雨量筒多高？"), pointing_of("表2列出了什么？"), pointing_of("本节介绍了什么？")
    ('refers_to_text', 'refers_to_figure', 'refers_to_document')
    """
    return next((pointing for pointing in _POINTINGS if _phrase(pointing).search(question)), "")


def _asks(text: str) -> bool:
    """Whether a text is a question; one without a mark, in a script that no rule knows, is if it ends in no stop."""
    in_east_asia = "asking_ja" if _KANA.search(text) else "asking_zh"
    if _MARK.search(text) or _phrase("asking").search(text) or _phrase(in_east_asia).search(text):
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
    shown = _phrase("answer_label").sub("", answer).strip()
    if (finish == "length" and not quotation) or open_reasoning:
        return WrittenAnswer("", "answer_truncated")
    if not shown:
        return WrittenAnswer("", "answer_empty")
    if _phrase("no_answer").match(shown):
        return WrittenAnswer("", "no_answer")
    return WrittenAnswer("", "answer_refused") if _refuses(shown) else WrittenAnswer(shown, "", quotation)


def _refuses(text: str) -> bool:
    """Whether a reply begins as a refusal; a refusal further on may be quoted from the text."""
    head = text[:200]
    return bool(_phrase("speaker").match(head)) and (
        pattern("choice", "refusal").search(head) is not None or is_refusal(head)
    )


def _phrase(name: str) -> re.Pattern[str]:
    return phrase("questions", name)
