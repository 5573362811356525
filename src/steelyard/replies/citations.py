"""Citation marks, which name passages and are no numbers: `[1]`, `[1][3]`, `[2, 5]`, `【2】`, `【4†source】`, `[^3]`.

Systems that answer from sources, and judges that speak of passages, put them behind what they support. A bracket with
a number is also how a rating or a result may be written ("Rating: [4]", "the answer is [5]"). Where a value is read, a
bracket counts as a mark only behind a word that does not introduce a value, and only while another number is left in
the text. Where citations are read, every bracket counts but one that ends a sentence which announces a value: behind
most of those words ("the results [1]", "according to [1]") it cites.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from steelyard.replies.clean import blanked

_CERTAIN: Final = re.compile(r"\[\^[\w-]{1,12}\]|【[^【】†]{0,40}†[^】\n]{0,80}】")
_ONE: Final = r"[\[【]\d{1,3}[\]】]"
_SEVERAL: Final = r"[\[【]\d{1,3}(?:\s?[,;–-]\s?\d{1,3}){1,5}[\]】]"
_MARKS: Final = re.compile(
    rf"(?<=[\w.,;!?\"'”’)%€$£°])[ \u00a0]?(?:(?:{_ONE}){{1,6}}(?=[\s.,;:!?)。,，；、]|\Z)"
    rf"|{_SEVERAL}(?:{_ONE}){{0,5}}(?=[.,;:!?)。，；、]|\s*\Z))"
)
_INTRODUCES: Final = re.compile(
    r"(?:\b(?:is|are|was|were|be|it|an?|as|of|to|equals?|gives?|gave|returns?|results?|answers?|values?|numbers?|options?"
    r"|rat(?:e|es|ed|ing|ings)|scor(?:e|es|ed|ing)|grades?|points?|interval|range|list|vector|array)"
    r"|[是为得选]|答案|评分|得分|分数|打分|结果|等于)\s?\Z",
    re.IGNORECASE,
)
_REACH: Final = 12
_ANNOUNCES: Final = re.compile(
    r"(?:\b(?:answer|rating|score|grade|result|value|total)[*_]{0,3}\s?(?:is|was|[:：=])"
    r"|(?:答案|评分|得分|分数|打分|结果|总分)[*_]{0,3}\s?[是为:：=]|[=＝])[*_]{0,3}\s?\Z",
    re.IGNORECASE,
)
_ANNOUNCED_WITHIN: Final = 24
_SENTENCE_END: Final = re.compile(r"[*_]{0,3}[ \t]*(?:[.!。！]|[\r\n]|\Z)")
_DIGIT: Final = re.compile(r"\d")


def without_citations(text: str) -> str:
    """The text with blanks in the place of its citation marks, so that offsets stay.

    >>> without_citations("The fee is 5 euros [2]. So it says【4†source】.")
    'The fee is 5 euros    . So it says          .'
    >>> without_citations("The answer is [5]"), without_citations("Paris [5]")
    ('The answer is [5]', 'Paris [5]')
    """
    if "[" not in text and "【" not in text:
        return text
    certain = _CERTAIN.sub(blanked, text)
    without = _MARKS.sub(_blank_unless_introduced, certain)
    return without if _DIGIT.search(without) else certain


def _blank_unless_introduced(match: re.Match[str]) -> str:
    return match.group() if _is_introduced(match) else blanked(match)


class Citation(NamedTuple):
    """A citation mark in an answer: its range, and the numbers of the passages that it names."""

    start: int
    end: int
    numbers: tuple[int, ...]


_NOUN: Final = (
    r"(?:passages?|sources?|documents?|docs?|contexts?|refs?|references?|chunks?|资料|来源|文档|出处|段落|引用)"
)
_NUMBERS: Final = r"(\d{1,3}(?:[ \u00a0]?[,;，；、–-][ \u00a0]?\d{1,3}){0,20})"
_CITED: Final = re.compile(
    # The first letters of the nouns are looked for before them: a hundred thousand brackets take a third of the time.
    rf"[\[【](?=[\^\dcdprs资来文出段引])"
    rf"(?:\^|{_NOUN}[ \u00a0]?[#:：]?[ \u00a0]?)?{_NUMBERS}(?:†[^】\]\n]{{0,80}})?[\]】]"
    rf"|[(（](?=[cdprs资来文出段引]){_NOUN}[ \u00a0]?[#:：]?[ \u00a0]?{_NUMBERS}[)）]",
    re.IGNORECASE,
)
_BARE: Final = re.compile(r"[\[【][\d\s,;，；、–-]+[\]】]")
_RANGE: Final = re.compile(r"(\d{1,3})(?:[ \u00a0]?[–-][ \u00a0]?(\d{1,3}))?")
_WIDEST_RANGE: Final = 20


def read_citations(text: str) -> tuple[Citation, ...]:
    """The citation marks of an answer, in order: `[1]`, `[2, 5]`, `[2-4]`, `【4†source】`, `[^3]`, `(passage 2)`.

    A bare number in brackets that is itself the value of a sentence, as in "The answer is [5].", is none.

    >>> [mark.numbers for mark in read_citations("The fee is 5 euros [2][4-5]. So it says (source 1).")]
    [(2,), (4, 5), (1,)]
    """
    return tuple(
        Citation(*match.span(), _cited_numbers(match[1] or match[2]))
        for match in _CITED.finditer(text)
        if not (_BARE.fullmatch(match.group()) and _is_value(match))
    )


def _cited_numbers(listed: str) -> tuple[int, ...]:
    numbers: dict[int, None] = {}
    for match in _RANGE.finditer(listed):
        first, last = int(match[1]), int(match[2] or match[1])
        ends = range(first, last + 1) if first <= last <= first + _WIDEST_RANGE else (first, last)
        numbers |= dict.fromkeys(ends)
    return tuple(numbers)


def _is_introduced(match: re.Match[str]) -> bool:
    before = match.string[max(0, match.start() - _REACH) : match.start()]
    return _INTRODUCES.search(before) is not None


def _is_value(match: re.Match[str]) -> bool:
    if _SENTENCE_END.match(match.string, match.end()) is None:
        return False
    return _ANNOUNCES.search(match.string[max(0, match.start() - _ANNOUNCED_WITHIN) : match.start()]) is not None
