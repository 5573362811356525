"""Documents -> the chunks that questions are made of, as the samples of a run."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from steelyard.data.documents import Document
from steelyard.errors import ConfigError, expect_number
from steelyard.retrieval.chunk import CHUNK_TOKENS, Chunk, split_chunks
from steelyard.types import Sample

_LEAST_LETTERS: Final = 40
"""Letters and digits below which a chunk is a heading or a page number, and nothing can be asked of it."""

_MOST_TOKENS: Final = 30_000
"""Of a chunk, which is a cell of the saved set: readers of CSV take 131,072 characters."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """Which chunks of the documents questions are made of.

    Args:
        count: how many are drawn, spread over the documents; None takes all.
        tokens: estimated tokens of a chunk, at most. Chunks do not overlap, so nothing is asked twice.
        seed: of the draw.
    """

    count: int | None = None
    tokens: int = CHUNK_TOKENS
    seed: int = 0

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: which number, what was expected and what came.
        """
        if self.count is not None:
            expect_number("chunks", self.count, 1, whole=True)
        expect_number("chunk_tokens", self.tokens, 32, _MOST_TOKENS, whole=True)
        expect_number("seed", self.seed, 0, whole=True)


def chunks_of(documents: Sequence[Document], drawing: Drawing) -> tuple[Chunk, ...]:
    """The chunks of all documents in order, or those drawn of them.

    Raises:
        ConfigError: the drawing cannot be meant, or no document holds anything to ask about.
    """
    drawing.check()
    every = [
        [chunk for chunk in split_chunks(one.text, document=one.name, tokens=drawing.tokens, overlap=0, pages=one.pages)
         if _letters(chunk.text) >= _LEAST_LETTERS]
        for one in documents
    ]  # fmt: skip
    if not any(every):
        names = ", ".join(one.name for one in documents)
        raise ConfigError(f"{names}: there is nothing to ask about; a chunk has {_LEAST_LETTERS} letters or more")
    chosen = {chunk.id for chunk in drawn(every, drawing)}
    return tuple(chunk for chunks in every for chunk in chunks if chunk.id in chosen)


def drawn(every: Sequence[Sequence[Chunk]], drawing: Drawing) -> list[Chunk]:
    """Chunks by seed, one of each document in turn, so that a long document does not crowd out a short one.

    The first n of a draw are the draw of n: whoever asks for more chunks later keeps those that were paid for.
    """
    if drawing.count is None:
        return [chunk for chunks in every for chunk in chunks]
    draw = random.Random(drawing.seed)  # noqa: S311  # a draw that can be repeated, no secret
    decks = [draw.sample(list(chunks), len(chunks)) for chunks in every]
    draw.shuffle(decks)
    rounds = max(len(deck) for deck in decks)
    return [deck[at] for at in range(rounds) for deck in decks if at < len(deck)][: drawing.count]


def sample_of(chunk: Chunk, **more: Any) -> Sample:
    """A chunk as a sample: what is known of it stands in the metadata and is in no prompt by itself."""
    place: Mapping[str, Any] = {
        "document": chunk.document,
        "page": chunk.page,
        "start": chunk.start,
        "end": chunk.end,
        "heading": chunk.heading,
    }
    return Sample(chunk.id, chunk.text, group=group_of(chunk), metadata={**place, **more})


def group_of(chunk: Chunk) -> str:
    """The heading of the first level above a chunk; the document's name where there is none.

    >>> group_of(Chunk("1", "a.md", "It rains.", 0, 9, heading="Weather > Rain"))
    'Weather'
    """
    return chunk.heading.partition(" > ")[0] or chunk.document


def _letters(text: str) -> int:
    return sum(mark.isalnum() * (3 if mark > "\u2e7f" else 1) for mark in text)
