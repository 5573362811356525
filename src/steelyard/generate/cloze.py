"""Questions without a model: a sentence of the text with its most telling phrase left out, to be filled in.

The oldest test of reading (W. L. Taylor, "Cloze procedure: a new tool for measuring readability", Journalism Quarterly
1953), except that a number with its unit, a name, or the rarest word is left out, not every n-th word. As a question
set it is a lower bound: it asks for words of the text and never for what follows from them.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from steelyard.constraints import Seed, Within
from steelyard.generate.phrases import phrase
from steelyard.generate.writer import MOST_QUESTIONS
from steelyard.prompts.language import language_of
from steelyard.retrieval.bm25 import is_stop, tokens
from steelyard.retrieval.chunk import Chunk, sentences
from steelyard.types import INLINE, Output, Sample, StageInfo

BLANK: Final = "____"
_MOST_RARE: Final = 400
"""Words that a chunk carries along; a chunk of 1,024 tokens has fewer different ones worth asking for."""
_LONGEST_RUN: Final = 6
"""Characters of a Chinese run that may be left out; most words have two to four."""
_LEAST_WORDS: Final = 6
_LEAST_HAN: Final = 10
_MOST_LETTERS: Final = 400
_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_HAN_RUN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]{2,}")
_MARKER: Final = re.compile(r"\A(?:[-*+•]|\d{1,3}[.)、]|[(（]\w{1,3}[)）])\s+")
_ENDS: Final = re.compile(r"[.!?。！？][\"'”’」』）)\]]*\Z")
_NO_SENTENCE: Final = re.compile(r"\A(?:#|\||>|```|~~~)|\||https?://|\?\s*\Z|？\s*\Z")
_EMPHASIS: Final = re.compile(r"\*\*|__|`")
_WRAPPED: Final = re.compile(r"[ \t]*\n[ \t]*")

_QUOTED: Final = re.compile(r"[「『《“\"]([^「」『』《》“”\"\n]{2,30})[」』》”\"]")
_NAME: Final = re.compile(r"(?<=[a-z,;] )[A-Z][\w'’-]+(?: (?:of |the |de |van |von )?[A-Z][\w'’-]+){0,3}")


@dataclass(frozen=True, slots=True)
class Cloze:
    """Sentences with a blank, drawn from a text by seed.

    Args:
        per_chunk: how many at most, 1 to 100.
        seed: of the draw.
    """

    stage_info: ClassVar[StageInfo] = INLINE

    per_chunk: Annotated[int, Within(1, MOST_QUESTIONS)] = 10
    seed: Seed = 0

    def __call__(self, sample: Sample) -> Output:
        """The questions of one text, in the order of its sentences; `metadata["rare"]` holds its rare words."""
        rare = {word: rank for rank, word in enumerate(sample.metadata.get("rare", ()))}
        questions = [
            (*question, span)
            for sentence, span in cloze_sentences(str(sample.input))
            if (question := clozed(sentence, rare))
        ]
        draw = random.Random(f"{self.seed}:{sample.id}")  # noqa: S311  # a draw that can be repeated, no secret
        positions = sorted(draw.sample(range(len(questions)), min(self.per_chunk, len(questions))))
        chosen = [
            {"question": question, "answer": answer, "answerable": "", "span": span}
            for question, answer, span in (questions[position] for position in positions)
        ]
        return Output(chosen)


def cloze_sentences(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """The sentences that can be turned into cloze questions, each with its range in the text.

    They are complete, neither short nor long, and on one line without Markdown.
    """
    for start, end in sentences(text):
        raw = text[start:end]
        if _NO_SENTENCE.search(raw) or not _ENDS.search(raw):
            continue
        joint = "" if language_of(raw) == "zh" else " "
        sentence = _EMPHASIS.sub("", _MARKER.sub("", _WRAPPED.sub(joint, raw)))
        long_enough = len(sentence.split()) >= _LEAST_WORDS or len(_HAN.findall(sentence)) >= _LEAST_HAN
        if long_enough and len(sentence) <= _MOST_LETTERS:
            yield sentence, (start, end)


def clozed(sentence: str, rare: Mapping[str, int]) -> tuple[str, str] | None:
    """A sentence with its most informative phrase replaced by a blank, and that phrase; None if it has none.

    A number comes before a term in quotes or a name, and these before a rare word. A phrase that occurs twice in the
    sentence is skipped: the other occurrence would give it away.

    Args:
        sentence: on one line.
        rare: word or run of characters in lower case -> rank, 0 for the rarest.

    >>> clozed("The rim of the gauge stands 30 cm above the ground.", {})
    ('Complete: The rim of the gauge stands ____ above the ground.', '30 cm')
    >>> clozed("口沿离地面30厘米，不得更低。", {})
    ('填空：口沿离地面____，不得更低。', '30厘米')
    """
    chinese = language_of(sentence) == "zh"
    folded = sentence.casefold()
    for start, end in _phrases(sentence, rare, chinese=chinese):
        phrase = sentence[start:end]
        if folded.count(phrase.casefold()) > 1:
            continue
        head = "填空：" if chinese else "Complete: "
        return f"{head}{sentence[:start]}{BLANK}{sentence[end:]}", phrase
    return None


def _phrases(sentence: str, rare: Mapping[str, int], *, chinese: bool) -> Iterator[tuple[int, int]]:
    """Spans of phrases that can be left out, the most informative first."""
    numbers = phrase("cloze", "number_zh" if chinese else "number").finditer(sentence)
    yield from (_trimmed(sentence, *match.span()) for match in numbers if _tells(sentence, match.start()))
    yield from (match.span(1) for match in _QUOTED.finditer(sentence))
    if chinese:
        yield from _rare_runs(sentence, rare)
        return
    yield from (match.span() for match in _NAME.finditer(sentence))
    words = [(rare[word], match.span()) for match in re.finditer(r"[^\W\d_]{4,}", sentence)
             if (word := match[0].casefold()) in rare]  # fmt: skip
    yield from (span for _, span in sorted(words))


def _trimmed(sentence: str, start: int, end: int) -> tuple[int, int]:
    return start, start + len(sentence[start:end].rstrip())


def _tells(sentence: str, start: int) -> bool:
    """Whether a number is a fact, and not that of a figure, a section, a page or a list entry."""
    before = sentence[max(0, start - 12) : start].casefold()
    return start > 0 and not re.search(r"(?:fig\.?|figure|section|table|page|chapter|no\.|第|图|表)\s?\Z", before)


def _rare_runs(sentence: str, rare: Mapping[str, int]) -> Iterator[tuple[int, int]]:
    """Runs of Han characters among `rare`, longest first, then rarest."""
    spans = (
        (start, length)
        for run in _HAN_RUN.finditer(sentence)
        for start in range(run.start(), run.end())
        for length in range(2, min(_LONGEST_RUN, run.end() - start) + 1)
    )
    runs = [(-length, rare[word], at) for at, length in spans if (word := sentence[at : at + length]) in rare]
    yield from ((start, start - length) for length, _, start in sorted(runs))


def rare_words(chunks: Sequence[Chunk]) -> dict[str, tuple[str, ...]]:
    """Chunk id -> its words that occur in few chunks of its document, the rarest first.

    English words have four letters or more and are not function words. Chinese ones are runs of two to six characters
    that the document holds at least twice, with no function word at either end: a run that comes again is a word more
    often than not, and no dictionary is needed.
    """
    ranked_words: dict[str, tuple[str, ...]] = {}
    for document in dict.fromkeys(chunk.document for chunk in chunks):
        document_chunks = [chunk for chunk in chunks if chunk.document == document]
        counts = Counter(run for chunk in document_chunks for run in _runs(chunk.text))
        repeated_runs = {run for run, count in counts.items() if count > 1 and not _with_function_word(run)}
        terms = [_words_of(chunk.text) | repeated_runs.intersection(_runs(chunk.text)) for chunk in document_chunks]
        frequency = Counter(word for words in terms for word in words)
        for chunk, words in zip(document_chunks, terms, strict=True):
            ranked = sorted(words, key=lambda word: (frequency[word], -len(word), word))
            ranked_words[chunk.id] = tuple(ranked[:_MOST_RARE])
    return ranked_words


def _words_of(text: str) -> set[str]:
    return {
        word
        for word in tokens(text)
        if len(word) >= 4 and word.isalpha() and not _HAN.search(word) and not is_stop(word)
    }


def _runs(text: str) -> Iterator[str]:
    for run in _HAN_RUN.findall(text):
        for length in range(2, _LONGEST_RUN + 1):
            yield from (run[at : at + length] for at in range(len(run) - length + 1))


def _with_function_word(run: str) -> bool:
    return any(is_stop(end) for end in (run[0], run[-1], run[:2], run[-2:]))


def with_rare(chunks: Sequence[Chunk]) -> Iterator[tuple[Chunk, dict[str, Any]]]:
    """Every chunk with the metadata that `Cloze` needs."""
    rare = rare_words(chunks)
    for chunk in chunks:
        yield chunk, {"rare": list(rare[chunk.id])}
