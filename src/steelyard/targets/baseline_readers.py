"""Baselines that read documents without a model: a solver of exam questions, and an extractive reader.

`Solver` looks each option up; it is the information-retrieval solver of P. Clark, O. Etzioni, T. Khot, A. Sabharwal, O.
Tafjord, P. Turney, D. Khashabi, "Combining Retrieval, Statistics, and Inference to Answer Elementary Science
Questions", AAAI 2016.

`ExtractiveReader` returns the best sentence of the best chunks. Sentences are weighted by the words that they share
with the question, as in L. Hirschman, M. Light, E. Breck, J. D. Burger, "Deep Read: A Reading Comprehension System",
ACL 1999, and marked up where they hold what the question asks for (a number, a time, a place, a person, a reason), as
the rules of E. Riloff, M. Thelen, "A Rule-based Question Answering System for Reading Comprehension Tests", ANLP/NAACL
workshop 2000, do. Deviations: words are weighted by their rarity among the sentences of all documents, where both
sources count each alike; what a sentence has to hold is found by the patterns in `extractive.json`, where they tag
names; Chinese is compared by characters and their pairs.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from math import log
from typing import Any, Final

from steelyard.data.documents import Document
from steelyard.retrieval.bm25 import BM25, is_stop, tokens
from steelyard.retrieval.chunk import Chunk, Passage, sentences, split_passages
from steelyard.retrieval.stored import ChunkIndex
from steelyard.targets.library import ChunkSize, Paths, Stamps, documents_at, open_index, stamps_of
from steelyard.types import Output

PASSAGE_TOKENS: Final = 80
"""Estimated tokens of a passage: a few sentences, as the solver's original asks single sentences."""


@dataclass(frozen=True, slots=True)
class Solver:
    """Finds the best passage for each option of a question."""

    passages: tuple[Passage, ...]
    index: BM25

    def best(self, question: str, options: Sequence[str]) -> Mapping[int, tuple[int, float]]:
        """Map the index of each option to its best passage and score; options without evidence are left out."""
        question_tokens = tokens(question)
        base = self.index.scores(question_tokens)
        about = self.index.having(token for token in set(question_tokens) if not is_stop(token))
        best = {}
        for number, option in enumerate(options):
            words = tokens(option)
            option_scores = self.index.scores(words)
            matching = about & self.index.having(token for token in set(words) if not is_stop(token))
            if matching:
                scored = ((base[index] + option_scores[index], index) for index in matching)
                score, index = max(scored, key=lambda pair: (pair[0], -pair[1]))
                best[number] = (index, score)
        return best


def open_solver(paths: Paths) -> Solver:
    """Open the solver for the current state of these documents.

    Raises:
        ConfigError: there is no such path, or no document in it.
        DataError: a document cannot be read.
    """
    return _build_solver(paths, stamps_of(paths))


@lru_cache(maxsize=8)
def _build_solver(paths: Paths, stamps: Stamps) -> Solver:
    """The index of documents as they were at `stamps`; where one changed, they are indexed again."""
    documents = documents_at(paths, stamps).documents
    passages = tuple(
        passage for document in documents for passage in split_passages(document.text, budget=PASSAGE_TOKENS)
    )
    return Solver(passages, BM25.of([passage.indexed for passage in passages]))


_CLUE: Final = 4 / 3
"""A sentence with the expected kind of answer gets the weight of this many shared words: 4 points where a word has 3,
in the rules of Riloff and Thelen."""
_TITLE_WORDS: Final = 12
_CLOSED: Final = re.compile(r"[.!?。！？…:：;；|][\"'”’」』）)\]*_]*$")


@dataclass(frozen=True, slots=True)
class ExtractiveReader:
    """Answers with the best sentence of the best chunks; rare words weigh more."""

    index: ChunkIndex
    having: Mapping[str, int]
    size: int

    @classmethod
    def of(cls, documents: Sequence[Document], index: ChunkIndex) -> ExtractiveReader:
        """Count the sentences that have each word."""
        having: Counter[str] = Counter()
        size = 0
        for document in documents:
            for start, end in sentences(document.text):
                having.update(words(document.text[start:end]))
                size += 1
        return cls(index, having, size)

    def answer(self, question: str, top_k: int) -> Output:
        """The best sentence of the `top_k` best chunks; an empty text where none has a word of the question."""
        hits = self.index.search(question, top_k)
        retrieved = {
            "sources": [hit.chunk.source for hit in hits],
            "scores": [round(hit.score, 6) for hit in hits],
        }
        best = self._best(question, [hit.chunk for hit in hits])
        if best is None:
            return Output("", (), {**retrieved, "evidence": "none"})
        rank, start, end, score = best
        chunk = hits[rank].chunk
        sentence = {"rank": rank + 1, "start": chunk.start + start, "end": chunk.start + end, "score": round(score, 6)}
        contexts = tuple(hit.chunk.text for hit in hits)
        return Output(chunk.text[start:end], contexts, {**retrieved, "evidence": "sentence", "sentence": sentence})

    def _best(self, question: str, chunks: Sequence[Chunk]) -> tuple[int, int, int, float] | None:
        """Rank of the chunk, start and end in it, and score; equal ones by rank and position, titles last."""
        terms = QuestionTerms.of(question)
        scored = [
            (not _is_title(text), self.score(terms, text), -rank, -start, end)
            for rank, chunk in enumerate(chunks)
            for start, end in sentences(chunk.text)
            if (text := chunk.text[start:end])
        ]
        if not scored:
            return None
        _, score, rank, start, end = max(scored)
        return -rank, -start, end, score

    def score(self, question: QuestionTerms, sentence: str) -> float:
        """The weighted share of the question's words in a sentence, plus a bonus for the expected kind of answer.

            score(s, q) = (sum over words of both: idf + clue * 4/3 * mean over words of q: idf) / sum of q: idf

        `clue` is 1 where the sentence holds the kind of answer that is asked for, outside of the question's own words.
        """
        weights = {word: self.idf(word) for word in question.words}
        total = sum(weights.values())
        if not total:
            return float(question.is_met_by(sentence))
        shared = sum(weights[word] for word in words(sentence) & question.words)
        clue = _CLUE * total / len(weights) if question.is_met_by(sentence) else 0.0
        return (shared + clue) / total

    def idf(self, word: str) -> float:
        """Rarity of a word among all sentences: ln(1 + (N - n + 0.5) / (n + 0.5))."""
        n = self.having.get(word, 0)
        return log(1 + (self.size - n + 0.5) / (n + 0.5))


@dataclass(frozen=True, slots=True)
class QuestionTerms:
    """The content words of a question, and the kinds of answer it asks for."""

    words: frozenset[str]
    text: str
    wanted: tuple[re.Pattern[str], ...]

    @classmethod
    def of(cls, text: str) -> QuestionTerms:
        """Read a question."""
        return cls(
            frozenset(words(text)),
            text.lower(),
            tuple(answer_pattern for pattern, answer_pattern in _kinds() if pattern.search(text)),
        )

    def is_met_by(self, sentence: str) -> bool:
        """Whether a sentence holds an answer of the expected kind that the question itself does not hold."""
        return any(
            match.lower() not in self.text
            for answer_pattern in self.wanted
            for match in answer_pattern.findall(sentence)
        )


def words(text: str) -> set[str]:
    """The words of a text without function words, plural and past.

    >>> sorted(words("How many things may be borrowed?")), sorted(words("借多久？"))
    (['borrow', 'many', 'thing'], ['久', '借', '借多', '多', '多久'])
    """
    return {word for token in tokens(text) if (word := _unit_of(token))}


@lru_cache(maxsize=4096)  # each question to a database asks for its names again
def stem(word: str) -> str:
    """A word without plural and past.

    >>> [stem(word) for word in ("Categories", "boxes", "prices", "ordered", "people", "bus")]
    ['category', 'box', 'price', 'order', 'person', 'bus']
    """
    word = word.lower().removesuffix("'s").removesuffix("’s")
    for ending, instead in _lists()["endings"].items():
        shorter = re.sub(ending, instead, word)
        if word not in _lists()["irregular"] and shorter != word:
            return shorter
    return str(_lists()["irregular"].get(word, word))


@lru_cache(maxsize=1 << 16)
def _unit_of(token: str) -> str:
    """A token without plural and past; "" for a function word. Cached, since a document repeats few words often."""
    if is_stop(token):
        return ""
    return stem(token) if token.isascii() else token


def _is_title(text: str) -> bool:
    """Whether a sentence is the heading of what follows, which answers nothing."""
    return text.startswith("#") or (not _CLOSED.search(text) and len(text.split()) < _TITLE_WORDS and len(text) < 80)


@cache
def _lists() -> Mapping[str, Any]:
    lists: Mapping[str, Any] = json.loads(files("steelyard.targets").joinpath("extractive.json").read_text("utf-8"))
    return lists


@cache
def _kinds() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    """Pairs of patterns, one per kind of answer: of questions that ask for it, and of texts that hold it."""
    return tuple(_patterns())


def _patterns() -> Iterator[tuple[re.Pattern[str], re.Pattern[str]]]:
    for kind in _lists()["types"]:
        yield re.compile(kind["asked"], re.IGNORECASE), re.compile(kind["held"])


def open_reader(paths: Paths, cut: ChunkSize) -> ExtractiveReader:
    """Open the reader for the current state of these documents.

    Raises:
        ConfigError: there is no such path, or no document in it.
        DataError: a document cannot be read.
    """
    return _build_reader(paths, stamps_of(paths), cut)


@lru_cache(maxsize=8)
def _build_reader(paths: Paths, stamps: Stamps, cut: ChunkSize) -> ExtractiveReader:
    return ExtractiveReader.of(documents_at(paths, stamps).documents, open_index(paths, cut))
