"""The index of a set of chunks, stored in a folder and reused as long as the chunks are the same.

A file is named by a digest of its input: the chunks' texts in order, the tokenizer and the format. Another text,
another chunk size or another version gives another file, so that a file is never out of date. A file is either complete
or treated as missing: it is written under a temporary name and renamed, so that several processes and a kill at any
moment do no harm, and its last bytes are a digest of the others, so that a damaged or foreign file is recognised. If a
file cannot be written (a full disk, a read-only folder), that is not an error: the work is repeated the next time.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Final, Protocol

from steelyard.files import make_private_folder, replaced
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

_DIGEST: Final = 24
"""Bytes of the checksum. Checksum and signature are at the end, so that a truncated file has neither."""
_SIGN: Final = b"steelyrd"
_ABANDONED_S: Final = 3_600.0
"""Age from which a temporary file was left by a killed process; no file takes that long to write."""


def read_kept(path: Path) -> bytes | None:
    """Read a file written by `keep`; None if it is missing, incomplete or a foreign file."""
    try:
        # Reading a pipe or a device in its place could block or never end.
        content = path.read_bytes() if path.is_file() else b""
    except OSError:
        return None
    body, digest, sign = (
        content[: -_DIGEST - len(_SIGN)],
        content[-_DIGEST - len(_SIGN) : -len(_SIGN)],
        content[-len(_SIGN) :],
    )
    return body if sign == _SIGN and digest == _digest(body) else None


def keep(path: Path, body: bytes) -> bool:
    """Write a file with a checksum; returns False if that is not possible."""
    return write_whole(path, body, _digest(body) + _SIGN)


def write_whole(path: Path, *parts: bytes | memoryview) -> bool:
    """Write a file atomically and create its folder; returns False if that is not possible."""
    try:
        make_private_folder(path.parent)
        with replaced(path) as file:
            file.writelines(parts)
    except OSError:
        return False
    _sweep(path.parent)
    return True


def _sweep(folder: Path) -> None:
    """Remove temporary files that killed processes left."""
    with contextlib.suppress(OSError):
        for path in folder.glob("*.tmp"):
            if time.time() - path.stat().st_mtime > _ABANDONED_S:
                path.unlink()


def _digest(body: bytes) -> bytes:
    return blake2b(body, digest_size=_DIGEST).digest()


_FORMAT: Final = "2"
_PROBE: Final = "Rain-gauge No. 3's 12.5 mm ＡＢ 雨量计ガ 乾䷀ 한글 naïve_x हिन्दी ภาษา"
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


_CONSTANT: Final = 60


def fused(rankings: Iterable[Sequence[Hit]]) -> list[Hit]:
    """All chunks of some rankings by reciprocal rank fusion, the best first; equal ones in the order of finding.

        score(d) = sum over rankings of 1 / (60 + rank of d),  ranks from 1; a ranking without d adds nothing

    Only ranks count, so that scores of different scales, such as BM25 and a cosine, need no weights.

    Source: Cormack, Clarke, Büttcher 2009, "Reciprocal rank fusion outperforms Condorcet and individual rank learning
    methods", SIGIR, with its constant of 60.

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
