"""Opens documents, chunks and indexes for targets, and caches them until a file changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Final

from steelyard.data.documents import SUFFIXES, Document, DocumentSet, read_document_set
from steelyard.data.encoding import stamp_of
from steelyard.data.paths import files_below
from steelyard.errors import ConfigError, expect_number
from steelyard.retrieval.chunk import CHUNK_TOKENS, OVERLAP_TOKENS, Chunk, split_chunks
from steelyard.retrieval.stored import ChunkIndex

Paths = tuple[Path, ...]
Stamps = tuple[tuple[str, int, int], ...]

_SHARE: Final = CHUNK_TOKENS // OVERLAP_TOKENS
"""By default, the overlap is the size of a chunk divided by this."""


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """How documents are cut into chunks.

    Args:
        tokens: estimated tokens of a chunk at most.
        overlap: estimated tokens of whole sentences that a chunk shares with the one before; None is an eighth of
            `tokens`.
    """

    tokens: int = CHUNK_TOKENS
    overlap: int | None = None

    @property
    def shared(self) -> int:
        """The overlap in estimated tokens."""
        return self.tokens // _SHARE if self.overlap is None else self.overlap

    def check(self) -> None:
        """Check the range of both sizes.

        Raises:
            ConfigError: which.
        """
        expect_number("chunk_tokens", self.tokens, 1, whole=True)
        expect_number("overlap_tokens", self.shared, 0, self.tokens // 2, whole=True)


def paths_of(given: Path | tuple[Path, ...] | None) -> Paths:
    """Return files and folders as a tuple of paths; texts are paths too.

    >>> paths_of(Path("a.pdf")), paths_of(None)
    ((PosixPath('a.pdf'),), ())
    """
    if given is None:
        return ()
    return (Path(given),) if isinstance(given, str | Path) else tuple(map(Path, given))


def stamps_of(paths: Paths) -> Stamps:
    """Return size and time of every file, which show that a document changed.

    Raises:
        ConfigError: a path is gone.
    """
    try:
        files = (file for path in paths for file in (files_below(path, SUFFIXES) if path.is_dir() else [path]))
        return tuple((str(file), *stamp_of(file)) for file in files)
    except OSError as error:
        raise ConfigError(f"the documents cannot be read: {error}") from error


def open_documents(paths: Paths) -> tuple[Document, ...]:
    """Read the documents, again only where a file has changed.

    Raises:
        ConfigError: there is no such path, or no document in it.
        DataError: a document cannot be read.
    """
    return _open(paths).documents


def notes_on_documents(paths: Paths) -> tuple[str, ...]:
    """What is in these places and is not read, with the reason; arguments and errors as of `open_documents`."""
    return _open(paths).notes


def _open(paths: Paths) -> DocumentSet:
    missing = [path for path in paths if not path.exists()]
    return read_document_set(paths) if missing else documents_at(paths, stamps_of(paths))


@lru_cache(maxsize=4)
def documents_at(paths: Paths, stamps: Stamps) -> DocumentSet:
    """The documents as they are at these stamps."""
    del stamps
    return read_document_set(paths)


@lru_cache(maxsize=8)
def chunks_at(paths: Paths, stamps: Stamps, cut: ChunkSize) -> tuple[Chunk, ...]:
    """The chunks of all documents as they are at these stamps."""
    return tuple(
        chunk
        for document in documents_at(paths, stamps).documents
        for chunk in split_chunks(
            document.text, document=document.name, tokens=cut.tokens, overlap=cut.shared, pages=document.pages
        )
    )


def open_index(paths: Paths, cut: ChunkSize, folder: Path | None = None) -> ChunkIndex:
    """Open the word index of those chunks.

    Args:
        paths: files and folders.
        cut: how they are cut.
        folder: where the index is kept; None keeps it in memory alone.

    Raises:
        ConfigError: there is no such path, or no document in it.
        DataError: a document cannot be read.
    """
    return _index_at(paths, stamps_of(paths), cut, folder)


@lru_cache(maxsize=8)
def _index_at(paths: Paths, stamps: Stamps, cut: ChunkSize, folder: Path | None) -> ChunkIndex:
    return ChunkIndex(chunks_at(paths, stamps, cut), folder)


def digests_of(documents: tuple[Document, ...]) -> Mapping[str, str]:
    """Map each document to the digest of its text, for the manifest: a run is not resumed on other documents."""
    return {
        document.name: blake2b(document.text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        for document in documents
    }
