"""Finds near-duplicate questions by MinHash over 3-grams, in time linear in the text.

A question is the set of the 3-character pieces of its text and, separately, of each of its options, so that their order
does not count; width, case, white space and sentence punctuation are removed first. The similarity of two questions is
that of their sets: |A ∩ B| / |A ∪ B| (Jaccard). Pairs are found by 64 minima of permutations in 16 bands of 4, which
misses 1.2 % of pairs at 0.7 and 0.02 % at 0.8 (1 - s^4)^16. In a band, a question is compared with the first and the
latest earlier question with the same minima, and the one that agrees in most minima is kept; the similarity of that
pair is then computed exactly. A thousand questions from the same template thus give a thousand pairs, not a million.

Source: A. Broder, "On the resemblance and containment of documents", 1997; bands: J. Leskovec, A. Rajaraman and
J. Ullman, "Mining of Massive Datasets", section 3.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steelyard.normal_form import nfkc

LEAST_SIMILARITY: Final = 0.7

_BANDS: Final = 16
_ROWS: Final = 4
_CHUNK_ROWS: Final = 4_096
_SEED: Final = 20_240_229
_PUNCTUATION: Final = {ord(mark): None for mark in "，。？！、；：“”‘’「」『』《》…—·,.?!;:'\"`_ \t\r\n\u3000"}
_END: Final = "\x01"
"""Put around each text, so that short options have pieces too and no piece spans two texts."""


class SimilarPlaces(NamedTuple):
    """Indices of two similar questions, the later one first, and their similarity in [0, 1]."""

    place: int
    earlier: int
    similarity: float


def similar_pairs(questions: Sequence[tuple[str, Sequence[str]]]) -> list[SimilarPlaces]:
    """For each question the most similar earlier one, if their similarity is at least `LEAST_SIMILARITY`.

    Args:
        questions: (text, options); each takes about 600 bytes of memory during the search.

    >>> first = ("Which trigram stands for heaven in the Book of Changes?", ["Qian", "Kun", "Zhen"])
    >>> again = ("which trigram stands for heaven, in the book of changes", ["Zhen", "Kun", "Qian"])
    >>> similar_pairs([first, ("How many lines has a trigram?", ["2", "3", "6"]), again])
    [SimilarPlaces(place=2, earlier=0, similarity=1.0)]
    """
    if len(questions) < 2:
        return []
    minima = _minima(questions)
    pairs = []
    for later, earlier in _partners(minima):
        similarity = _jaccard(questions[later], questions[earlier])
        if similarity >= LEAST_SIMILARITY:
            pairs.append(SimilarPlaces(later, earlier, similarity))
    return pairs


def bare(text: str) -> str:
    """Normalise a text: case, character width, white space and punctuation are removed; arithmetic signs are kept.

    >>> bare("乾卦，象征　什么？"), bare("7 - 5 = X")
    ('乾卦象征什么', '7-5=x')
    """
    return nfkc(text).casefold().translate(_PUNCTUATION)


def _marked(question: tuple[str, Sequence[str]]) -> str:
    text, options = question
    return _END * 2 + _END.join((bare(text), *sorted(map(bare, options)))) + _END


def _pieces(question: tuple[str, Sequence[str]]) -> set[str]:
    text = _marked(question)
    return {text[at : at + 3] for at in range(len(text) - 2)}


def _jaccard(question: tuple[str, Sequence[str]], other: tuple[str, Sequence[str]]) -> float:
    first, second = _pieces(question), _pieces(other)
    shared = len(first & second)
    return shared / (len(first) + len(second) - shared)


def _minima(questions: Sequence[tuple[str, Sequence[str]]]) -> NDArray[np.uint32]:
    """MinHash signatures: for each question the minima of its trigrams under 64 permutations, in batches."""
    count = _BANDS * _ROWS
    factors = np.random.default_rng(_SEED).integers(0, 1 << 63, size=count, dtype=np.uint64) * 2 + 1
    minima = np.empty((len(questions), count), dtype=np.uint32)
    for start in range(0, len(questions), _CHUNK_ROWS):
        texts = [_marked(question) for question in questions[start : start + _CHUNK_ROWS]]
        pieces, starts = _hashes(texts)
        for number in range(count):
            permuted = (pieces * factors[number]) >> np.uint64(32)
            minima[start : start + len(texts), number] = np.minimum.reduceat(permuted, starts)
    return minima


def _hashes(texts: Sequence[str]) -> tuple[NDArray[np.uint64], Any]:
    """Hashes of all character trigrams of all texts, and the offset where each text's trigrams begin."""
    codes = np.frombuffer("".join(texts).encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
    sizes = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    ends = np.cumsum(sizes)
    trigrams = codes[:-2] * np.uint64(1 << 42) + codes[1:-1] * np.uint64(1 << 21) + codes[2:]
    inside = np.ones(len(codes), dtype=bool)
    inside[ends - 1] = inside[ends - 2] = False
    # One round of a mixing function (MurmurHash3's last): neighbouring characters have neighbouring codes.
    mixed = trigrams[inside[:-2]]
    mixed ^= mixed >> np.uint64(33)
    mixed *= np.uint64(0xFF51AFD7ED558CCD)
    mixed ^= mixed >> np.uint64(33)
    return mixed, np.concatenate(([0], np.cumsum(sizes - 2)[:-1]))


def _partners(minima: NDArray[np.uint32]) -> Iterator[tuple[int, int]]:
    """Yield (later, earlier) pairs that agree in at least half of their minima, the best for each question."""
    best = np.full(len(minima), -1, dtype=np.int64)
    agreed = np.full(len(minima), minima.shape[1] // 2 - 1, dtype=np.int64)
    for band in range(_BANDS):
        part = np.ascontiguousarray(minima[:, band * _ROWS : (band + 1) * _ROWS]).view(f"V{4 * _ROWS}").ravel()
        for later, earlier in _neighbours(part):
            agreement = (minima[later] == minima[earlier]).sum(axis=1)
            better = (agreement > agreed[later]) | ((agreement == agreed[later]) & (earlier < best[later]))
            best[later[better]], agreed[later[better]] = earlier[better], agreement[better]
    for later in np.flatnonzero(best >= 0):
        yield int(later), int(best[later])


def _neighbours(part: NDArray[Any]) -> Iterator[tuple[Any, Any]]:
    """Questions with an equal band: paired with the first such question, then with the latest."""
    _, group = np.unique(part, return_inverse=True)
    order = np.argsort(group, kind="stable")
    same = group[order][1:] == group[order][:-1]
    later, latest = order[1:][same], order[:-1][same]
    begins = np.concatenate(([True], ~same))
    firsts = order[np.flatnonzero(begins)[np.cumsum(begins) - 1]][1:][same]
    yield later, firsts
    yield later, latest
