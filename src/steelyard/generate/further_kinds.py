"""Chunks for questions of further kinds: over two chunks that belong together, and without an answer.

Two chunks belong together if BM25 finds one of them with the words of the other, so that a question can need a fact of
each. A question without an answer is kept only if the model fails to answer it from the chunk that it was written for
and from the best chunks of all documents, which are found by its words.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Final

from steelyard.data.documents import Document
from steelyard.errors import ConfigError
from steelyard.prompts.template import Language
from steelyard.retrieval.chunk import Chunk, split_chunks
from steelyard.retrieval.stored import ChunkIndex

TWO_CHUNKS: Final = "two_chunks"
UNANSWERABLE: Final = "unanswerable"
BETWEEN: Final = "\n\n"
"""What parts the texts of several chunks."""
NO_ANSWER: Final[Mapping[Language, str]] = {"en": "The documents do not say.", "zh": "资料中没有说明。"}
"""The reference answer of a question without an answer."""
_NEIGHBOURS: Final = 3
_CHECKED: Final = 5


def related_pairs(chunks: Sequence[Chunk], count: int, seed: int) -> list[tuple[Chunk, Chunk]]:
    """Pairs of chunks that share words, each pair once; every chunk has its nearest before any has a further one.

    Args:
        chunks: at least two.
        count: how many pairs at most.
        seed: of the order in which chunks take part.

    Raises:
        ConfigError: a single chunk has no other.
    """
    if len(chunks) < 2:
        raise ConfigError("pairs needs two chunks or more: name more documents, or make chunk_tokens smaller")
    index = ChunkIndex(chunks)
    order = random.Random(seed).sample(list(chunks), len(chunks))  # noqa: S311  # a draw that can be repeated, no secret
    neighbours = {chunk.id: _neighbours(index, chunk) for chunk in order[:count]}
    pairs: dict[frozenset[str], tuple[Chunk, Chunk]] = {}
    for distance in range(_NEIGHBOURS):
        for chunk in order:
            if len(pairs) == count:
                return list(pairs.values())
            if chunk.id not in neighbours:
                neighbours[chunk.id] = _neighbours(index, chunk)
            if distance < len(neighbours[chunk.id]):
                neighbour = neighbours[chunk.id][distance]
                pairs.setdefault(frozenset({chunk.id, neighbour.id}), (chunk, neighbour))
    return list(pairs.values())


def _neighbours(index: ChunkIndex, chunk: Chunk) -> list[Chunk]:
    hits = index.search(chunk.text, _NEIGHBOURS + 1)
    return [hit.chunk for hit in hits if hit.chunk.id != chunk.id][:_NEIGHBOURS]


def drawn_for_unanswerable(chunks: Sequence[Chunk], count: int, seed: int) -> list[Chunk]:
    """The chunks that questions without an answer are written for; the first n of a draw are the draw of n."""
    draw = random.Random(f"{UNANSWERABLE} {seed}")  # noqa: S311  # as above
    return draw.sample(list(chunks), len(chunks))[:count]


def id_of(kind: str, *chunks: Chunk) -> str:
    """The id of a sample of one of these kinds: 16 hexadecimal digits."""
    named = "\0".join([kind, *(chunk.id for chunk in chunks)])
    return blake2b(named.encode(), digest_size=8).hexdigest()


def index_of(documents: Sequence[Document], tokens: int) -> ChunkIndex:
    """All of the documents' text, with what is left out of questions, searchable by words."""
    return ChunkIndex(
        chunk
        for document in documents
        for chunk in split_chunks(document.text, document=document.name, tokens=tokens, overlap=0)
    )


def text_to_check(index: ChunkIndex, text: str, question: str) -> str:
    """The text that must not answer a question: the chunk it was written for, and the best of the documents."""
    best = [hit.chunk.text for hit in index.search(question, _CHECKED)]
    return BETWEEN.join(dict.fromkeys([text, *best]))
