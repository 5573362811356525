"""Finds the sentences of a chunk that hold an answer: those that the model quoted, else those that say the answer.

A model copies sentences with other blanks, quotes, hyphens or case, leaves words out, or rewords a little. So they are
compared by their folded words: sentences in a row are the quoted ones if both share 60 % of their words (Dice), or if
the quotation is a part of them, and they hold every number of the quotation. Where nothing was quoted, or the quotation
is found nowhere, the sentence that has the numbers and most words of the answer is taken, and of several the one that
shares most with the question.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from steelyard.generate.phrases import phrase
from steelyard.retrieval.bm25 import is_stop
from steelyard.retrieval.chunk import sentences
from steelyard.scorers.passages import FoldedText

_ALIKE: Final = 0.6
_YES_NO: Final = frozenset({"yes", "no", "not", "是", "否", "不", "对", "没", "有"})
_LEAST_PART: Final = 3
"""Words from which a quotation may be a part of a sentence."""
_PARTED: Final = re.compile(r"\s*(?:\n|\.\.\.|…|\[…\])\s*(?:[-*•]\s+|\d{1,2}[.)]\s+)?")
_EDGES: Final = " \t\n*_>-\"'“”‘’「」『』«»"
_ANSWER_KEYS: Final = ("answer", "答案", "回答")
_SOURCE_KEYS: Final = (
    "source",
    "sources",
    "evidence",
    "quote",
    "quotes",
    "sentence",
    "sentences",
    "出处",
    "原文",
    "依据",
)


class QuotedAnswer(NamedTuple):
    """An answer, and the sentences that a model gave for it; "" if it gave none."""

    answer: str
    quotation: str = ""


def split_quotation(text: str) -> QuotedAnswer:
    r"""Part a reply into the answer and the quotation, by a label or by the keys of a JSON object.

    >>> split_quotation("It is 30 cm high.\nSource: \"The rim stands 30 cm above the ground.\"")
    QuotedAnswer(answer='It is 30 cm high.', quotation='The rim stands 30 cm above the ground.')
    >>> split_quotation("Source: the river.")
    QuotedAnswer(answer='Source: the river.', quotation='')
    """
    if (parsed := _of_json(text)) is not None:
        return parsed
    label = phrase("answers", "label").search(text)
    if label is None:
        return QuotedAnswer(text)
    before, after = text[: label.start()], text[label.end() :]
    if not before.strip(_EDGES):
        answer = phrase("answers", "answer").search(after)
        if answer is None:
            return QuotedAnswer(text)
        before, after = after[answer.end() :], after[: answer.start()]
    return QuotedAnswer(before.strip(), after.strip(_EDGES))


def _of_json(text: str) -> QuotedAnswer | None:
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or text[:start].strip("`json \n"):
        return None
    try:
        fields: Any = json.loads(text[start : end + 1])
    except (ValueError, RecursionError):
        return None
    answer = next((fields[key] for key in _ANSWER_KEYS if isinstance(fields.get(key), str)), None)
    if answer is None:
        return None
    quoted = next((fields[key] for key in _SOURCE_KEYS if fields.get(key)), "")
    lines = quoted if isinstance(quoted, list) else [quoted]
    return QuotedAnswer(answer, "\n".join(line for line in lines if isinstance(line, str)))


def locate(text: str, quotation: str, *, question: str, answer: str) -> tuple[int, int] | None:
    r"""The range of a text that holds an answer: whole sentences, from the first to the last; None if none is found.

    Args:
        text: the chunk.
        quotation: the sentences that a model gave; "" where it gave none.
        question: that is answered.
        answer: as it was given.

    >>> text = "The rim stands 30 cm\nabove the ground. It is of copper. It is read at nine."
    >>> text[slice(*locate(text, "the rim stands 30 cm above ground", question="How high?", answer="30 cm."))]
    'The rim stands 30 cm\nabove the ground.'
    >>> text[slice(*locate(text, "", question="When is it read?", answer="At nine."))]
    'It is read at nine.'
    """
    spans = [_Sentence(start, end, FoldedText(text[start:end]).words) for start, end in sentences(text)]
    found = _quoted(FoldedText(quotation).words, spans)
    if not found:
        parts = [part[start:end] for part in _PARTED.split(quotation) for start, end in sentences(part)]
        found = [span for part in parts for span in _quoted(FoldedText(part.strip(_EDGES)).words, spans)]
    if not found:
        found = _quoted(FoldedText(answer).words, spans, part=False) or _that_says(answer, question, spans)
    return (min(span.start for span in found), max(span.end for span in found)) if found else None


@dataclass(frozen=True, slots=True)
class _Sentence:
    start: int
    end: int
    words: tuple[str, ...]


def _quoted(words: Sequence[str], spans: Sequence[_Sentence], *, part: bool = True) -> Sequence[_Sentence]:
    """The sentences in a row that a quotation is most alike to; none where it is not in them.

    Args:
        words: of the quotation.
        spans: the sentences.
        part: whether it may be a part of them, as an answer of some words is of many sentences.
    """
    rows = [spans[at : at + 1] for at in range(len(spans))]
    for first in range(len(spans)):
        count = len(spans[first].words)
        for last in range(first + 1, len(spans)):
            count += len(spans[last].words)
            if count > 2 * len(words):
                break
            rows.append(spans[first : last + 1])
    joined = [(row, [word for span in row for word in span.words]) for row in rows]
    fits = [(_dice(words, of_row), row) for row, of_row in joined if _is_quoted(words, of_row, part=part)]
    return max(fits, key=lambda fit: fit[0], default=(0.0, ()))[1]


def _is_quoted(words: Sequence[str], sentence: Sequence[str], *, part: bool) -> bool:
    if not words or not _numbers(words) <= _numbers(sentence):
        return False
    if part and len(words) >= _LEAST_PART and f" {' '.join(words)} " in f" {' '.join(sentence)} ":
        return True
    return _dice(words, sentence) >= _ALIKE


def _dice(words: Sequence[str], other: Sequence[str]) -> float:
    """Twice the number of common words over the number of all, 0 to 1."""
    shared = sum((Counter(words) & Counter(other)).values())
    return 2 * shared / max(1, len(words) + len(other))


def _numbers(words: Sequence[str]) -> set[str]:
    return {word for word in words if any(map(str.isdigit, word))}


def _that_says(answer: str, question: str, spans: Sequence[_Sentence]) -> Sequence[_Sentence]:
    """The sentence that has the numbers and most words of an answer that its question does not have."""
    asked = set(FoldedText(question).words)
    told = FoldedText(answer).words
    needed = _numbers(told) - asked
    telling = {word for word in told if word not in asked | _YES_NO and not is_stop(word)}
    # "Yes." says nothing, so what the question is about has to be in the sentence.
    telling = telling or {word for word in asked if not is_stop(word)}
    if not telling:
        return ()

    def fit(span: _Sentence) -> tuple[float, float, int]:
        own = set(span.words)
        return len(telling & own) / len(telling), len(asked & own) / max(1, len(asked)), -span.start

    candidates = [span for span in spans if needed <= set(span.words) and fit(span)[0] >= _ALIKE]
    return [max(candidates, key=fit)] if candidates else ()
