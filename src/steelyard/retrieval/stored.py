"""The index of a set of chunks, stored in a folder and reused as long as the chunks are the same.

A file is named by a digest of its input: the chunks' texts in order, the tokenizer and the format. Another text,
another chunk size or another version gives another file, so that a file is never out of date.
"""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Final, Protocol

from steelyard.retrieval.bm25 import (
    BM25,
    FullText,
    build_fulltext,
    fulltext_idf,
    has_fulltext,
    joined_terms,
    query_terms,
    rare_below,
)
from steelyard.retrieval.chunk import Chunk
from steelyard.retrieval.index_files import keep, read_kept

_FORMAT: Final = "2"
_PROBE: Final = "Rain-gauge No. 3's 12.5 mm ＡＢ 雨量计ガ 乾䷀ 한글 naïve_x"
"""Its tokens are part of the digest, so that a change of the tokenizer gives another index."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk in the result of a search, and its score: higher is better, comparable only within one query."""

    chunk: Chunk
    score: float


class _Engine(Protocol):
    def search(self, query: str, k: int) -> Sequence[tuple[int, float]]: ...


class ChunkIndex:
    """Finds chunks by the words of a query with BM25, see `retrieval.bm25`.

    If SQLite has no FTS5, our own BM25 returns the same chunks with the same scores, and stores nothing.

    Args:
        chunks: the chunks to search, including their headings.
        folder: where the index is stored; None does not store it.

    Attributes:
        path: the file of the index; None if it is not stored.
    """

    def __init__(self, chunks: Iterable[Chunk], folder: Path | None = None) -> None:
        self.chunks = tuple(chunks)
        self.path: Path | None = None
        self._engine: _Engine = self._open(folder) if has_fulltext() else _Plain(self.chunks)

    def search(self, query: str, k: int = 2) -> list[Hit]:
        """The best `k` chunks that share a word with `query`, which is any text; equal scores in their order.

        >>> from steelyard.retrieval.chunk import split_chunks
        >>> chunks = split_chunks("Rain falls. Wind blows. Rain and snow fall.", tokens=5, overlap=0)
        >>> [hit.chunk.text for hit in ChunkIndex(chunks).search('"snow" NEAR(rain')]
        ['Rain and snow fall.', 'Rain falls.']
        """
        most = min(k, len(self.chunks))
        return [Hit(self.chunks[position], score) for position, score in self._engine.search(query, most)]

    def _open(self, folder: Path | None) -> FullText:
        path = None if folder is None else folder / f"{digest_of_chunks(self.chunks)}.db"
        body = None if path is None else read_kept(path)
        if body is not None:
            self.path = path
            try:
                return FullText(body, len(self.chunks))
            except sqlite3.Error:  # complete, but written by a SQLite version that this one cannot read
                self.path = None
        body = build_fulltext(chunk.indexed for chunk in self.chunks)
        if path is not None and keep(path, body):
            self.path = path
        return FullText(body, len(self.chunks))


class _Plain:
    """Our own BM25 with the weights and the query terms of the full-text index."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._index = BM25.of([chunk.indexed for chunk in chunks], idf=fulltext_idf)
        self._rare = rare_below(len(chunks))

    def search(self, query: str, k: int) -> Sequence[tuple[int, float]]:
        terms = query_terms(query, lambda term: max(self._rare, len(self._index.postings.get(term, ()))))
        return self._index.best(terms, k)


def digest_of_chunks(chunks: Sequence[Chunk]) -> str:
    """A digest of the chunks' texts in their order and of how they are indexed: 32 hexadecimal digits."""
    digest = blake2b(digest_size=16)
    for part in (_FORMAT, unicodedata.unidata_version, joined_terms(_PROBE), *(chunk.indexed for chunk in chunks)):
        body = part.encode("utf-8", "surrogatepass")
        digest.update(len(body).to_bytes(8, "little") + body)
    return digest.hexdigest()
