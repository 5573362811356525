"""Reciprocal rank fusion: one ranking of what several searches found.

    score(d) = sum over rankings of 1 / (60 + rank of d),  ranks from 1; a ranking without d adds nothing

Only ranks count, so that scores of different scales, such as BM25 and a cosine, need no weights.

Source: Cormack, Clarke, Büttcher 2009, "Reciprocal rank fusion outperforms Condorcet and individual rank learning
methods", SIGIR, with its constant of 60.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from steelyard.retrieval.chunk import Chunk
from steelyard.retrieval.stored import Hit

_CONSTANT: Final = 60


def fused(rankings: Iterable[Sequence[Hit]]) -> list[Hit]:
    """All chunks of some rankings, the best first; equal ones in the order in which they were found.

    >>> a, b, c = (Hit(Chunk(name, "x.md", name, 0, 1), 0.0) for name in "abc")
    >>> [(hit.chunk.id, round(hit.score, 4)) for hit in fused([[a, b], [b, c]])]
    [('b', 0.0325), ('a', 0.0164), ('c', 0.0161)]
    """
    chunks: dict[str, Chunk] = {}
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, hit in enumerate(ranking, start=1):
            chunks.setdefault(hit.chunk.id, hit.chunk)
            scores[hit.chunk.id] = scores.get(hit.chunk.id, 0.0) + 1 / (_CONSTANT + rank)
    return sorted((Hit(chunk, scores[name]) for name, chunk in chunks.items()), key=lambda hit: -hit.score)
