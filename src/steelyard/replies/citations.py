"""Citation marks, which are no numbers: `[1]`, `[1][3]`, `[2, 5]`, `【2】`, `【4†source】`, `[^3]`.

Systems that answer from sources, and judges that speak of passages, put them behind what they support. A bracket with
a number is also how a rating or a result may be written ("Rating: [4]", "the answer is [5]"), so one counts as a mark
only behind a word that does not introduce a value, and only while another number is left in the text.
"""

from __future__ import annotations

import re
from typing import Final

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
    certain = _CERTAIN.sub(_blank, text)
    without = _MARKS.sub(_blank_unless_introduced, certain)
    return without if _DIGIT.search(without) else certain


def _blank(match: re.Match[str]) -> str:
    return " " * (match.end() - match.start())


def _blank_unless_introduced(match: re.Match[str]) -> str:
    before = match.string[max(0, match.start() - _REACH) : match.start()]
    return match.group() if _INTRODUCES.search(before) else _blank(match)
