"""Multiple-choice questions answered by looking each option up in documents.

The information-retrieval solver of P. Clark, O. Etzioni, T. Khot, A. Sabharwal, O. Tafjord, P. Turney, D. Khashabi,
"Combining Retrieval, Statistics, and Inference to Answer Elementary Science Questions", AAAI 2016.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from steelyard.retrieval.chunk import Passage, split_passages
from steelyard.retrieval.index import BM25
from steelyard.targets.library import Paths, Stamps, documents_at, stamps_of
from steelyard.text.tokens import is_stop, tokens

PASSAGE_TOKENS: Final = 80
"""Estimated tokens of a passage: a few sentences, as the solver's original asks single sentences."""


@dataclass(frozen=True, slots=True)
class Solver:
    """The passages of the documents and their index."""

    passages: tuple[Passage, ...]
    index: BM25

    def best(self, question: str, options: Sequence[str]) -> Mapping[int, tuple[int, float]]:
        """Position of an option -> its best passage and that passage's score; options without evidence are left out."""
        asked = tokens(question)
        base = self.index.scores(asked)
        about = self.index.having(token for token in set(asked) if not is_stop(token))
        found = {}
        for place, option in enumerate(options):
            words = tokens(option)
            own = self.index.scores(words)
            both = about & self.index.having(token for token in set(words) if not is_stop(token))
            if both:
                scored = ((base[index] + own[index], index) for index in both)
                score, index = max(scored, key=lambda pair: (pair[0], -pair[1]))
                found[place] = (index, score)
        return found


def open_solver(paths: Paths) -> Solver:
    """The solver with these documents as they are now.

    Raises:
        ConfigError: there is no such path, or no document in it.
        DataError: a document cannot be read.
    """
    return _build(paths, stamps_of(paths))


@lru_cache(maxsize=8)
def _build(paths: Paths, stamps: Stamps) -> Solver:
    """The index of documents as they were at `stamps`; where one changed, they are indexed anew."""
    documents = documents_at(paths, stamps)
    passages = tuple(passage for one in documents for passage in split_passages(one.text, budget=PASSAGE_TOKENS))
    return Solver(passages, BM25.of([passage.indexed for passage in passages]))
