"""What a target gave, or the answer in it, as text; and the confidence that a reply states."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from steelyard.normal_form import nfkc
from steelyard.replies.clean import answer_part
from steelyard.types import Output


def answer_of(output: Output) -> str:
    """The answer in an output as text: the text itself, the value at `answer` or `output` of a mapping, else JSON.

    Reasoning that a text begins with and tokens that end a turn are left out, here as in `text_of`.

    >>> answer_of(Output({"output": "Paris", "steps": 3})), answer_of(Output([1, 2]))
    ('Paris', '[1, 2]')
    """
    value = output.value
    if isinstance(value, Mapping):
        value = next((value[key] for key in ("answer", "output") if isinstance(value.get(key), str)), value)
    if isinstance(value, str):
        return answer_part(value)
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def text_of(output: Output) -> str:
    """The output as text: structures as JSON, None as an empty text."""
    value = output.value
    if isinstance(value, str):
        return answer_part(value)
    if isinstance(value, Mapping | Sequence) and not isinstance(value, bytes):
        return json.dumps(value, ensure_ascii=False, default=str)
    return "" if value is None else str(value)


_OF_CONFIDENCE: Final = ("onfiden", "ONFIDEN", "ertainty", "置信", "信心", "把握", "确信")
"""Parts of the words that name a confidence: most replies have none, and are then not searched."""
_STATED: Final = re.compile(
    r"(?:confidence(?: (?:level|score))?|certainty|置信度|置信水平|信心(?:程度|指数)?|把握(?:程度)?|确信度)"
    r"[\"'*_ ]{0,4}(?::|=|is|为|是|约)[\"'*_ ]{0,4}(?:about |approximately |约)?"
    r"(?P<number>\d{1,3}(?:\.\d{1,6})?)(?P<percent> ?%)?"
    r"(?![\d.]\d|\d| ?/| ?(?:to|of|out of)\b)",
    re.IGNORECASE,
)
_CONFIDENT_END: Final = 4_000
"""Characters of the reply's end that are searched: a confidence stands with the answer."""


def read_confidence(text: str) -> float | None:
    """The last confidence that a reply states, as a probability; None where it states none, or one above 100 %.

    A number with a percent sign, and one above 1, is in percent: `85` is 0.85.

    >>> read_confidence("B. Confidence: 85%"), read_confidence('{"answer": "B", "confidence": 0.6}')
    (0.85, 0.6)
    >>> read_confidence("答案：B，置信度：90％"), read_confidence("Confidence: 150 %"), read_confidence("B")
    (0.9, None, None)
    """
    if not any(word in text for word in _OF_CONFIDENCE):
        return None
    match = None
    for match in _STATED.finditer(nfkc(text[-_CONFIDENT_END:])):  # noqa: B007  # the last one is wanted
        pass
    if match is None:
        return None
    number = float(match["number"])
    value = number / 100 if match["percent"] or number > 1 else number
    return value if value <= 1 else None
