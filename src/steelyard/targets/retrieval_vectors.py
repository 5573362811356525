"""Chunks by their vectors: embedded once for all samples, kept in a file, and searched by cosine."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from steelyard.errors import ConfigError, ModelError
from steelyard.models.embeddings import Embeddings, embed
from steelyard.retrieval.chunk import Chunk
from steelyard.retrieval.stored import Hit
from steelyard.retrieval.vectors import VectorIndex, keep_vectors, kept_vectors, unit_rows, vectors_path
from steelyard.targets.library import Cut, Paths, chunks_at, stamps_of
from steelyard.types import Asks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def check_embeddings(model: Any) -> None:
    """Refuse what gives no vectors.

    Raises:
        ConfigError: there is no model, or one that answers messages.
    """
    if model is None:
        raise ConfigError("search: vectors needs embeddings, {embeddings: {name: ..., base_url: ...}}")
    if not hasattr(model, "request") or not hasattr(model, "batches"):
        raise ConfigError(f"embeddings: {type(model).__name__} embeds no texts; take the model `embeddings`")


@dataclass(frozen=True, slots=True)
class VectorSearch:
    """What is searched, and by which vectors.

    Args:
        paths: files and folders.
        cut: how they are cut into chunks; headings are embedded with them.
        model: embeds texts, see `check_embeddings`.
        folder: where the chunks' vectors are kept; None keeps them in memory alone.
    """

    paths: Paths
    cut: Cut
    model: Any
    folder: Path | None

    async def nearest(self, query: str, k: int, ask: Asks) -> list[Hit]:
        """The `k` chunks nearest to a query, by cosine.

        Args:
            query: a text; a blank one is near to nothing.
            k: how many at most.
            ask: asks for the chunks once for all samples, for the query once a sample.

        Raises:
            ModelError: no usable vectors for good.
        """
        stamps = stamps_of(self.paths)
        chunks = chunks_at(self.paths, stamps, self.cut)
        if not query.strip() or not chunks:
            return []
        # The request for one text stands for whatever changes a vector: address, name and parameters.
        identity = self.model.request(["text"], {}).digest.hex()
        shelf = _shelf(asyncio.get_running_loop(), (self.paths, stamps, self.cut, identity, self.folder))
        rows = await self._rows(chunks, identity, shelf, ask)
        asked = (await embed(ask, cast("Embeddings", self.model), [query]))[0]
        if len(asked) == 1:
            # A dry run, whose vectors say nothing: the first chunks stand for those that would be found.
            return [Hit(chunk, 0.0) for chunk in chunks[:k]]
        if len(asked) != rows.shape[1]:
            had = f"the vector of a question has {len(asked)} numbers, those of the chunks have {rows.shape[1]}"
            raise ModelError(had, kind="malformed")
        return [Hit(chunks[place], cosine) for place, cosine in VectorIndex(rows).search(asked, k)]

    async def _rows(self, chunks: Sequence[Chunk], identity: str, shelf: _Shelf, ask: Asks) -> NDArray[np.float32]:
        """The chunks' vectors. Of the samples that want them at once one asks, and all fare as it does."""
        while (pending := shelf.pending) is not None:
            # None: its owner was cancelled, so we ask ourselves.
            shared = await asyncio.shield(pending)
            if shared is not None:
                return shared
        if shelf.rows is not None:
            return shelf.rows
        mine: asyncio.Future[NDArray[np.float32] | None] = asyncio.get_running_loop().create_future()
        shelf.pending = mine
        try:
            rows = await self._kept_or_asked(chunks, identity, ask)
        except BaseException as error:
            if isinstance(error, Exception):
                mine.set_exception(error)
                mine.exception()
            else:
                mine.set_result(None)
            raise
        else:
            mine.set_result(rows)
            shelf.rows = rows if rows.shape[1] > 1 else None
            return rows
        finally:
            shelf.pending = None

    async def _kept_or_asked(self, chunks: Sequence[Chunk], identity: str, ask: Asks) -> NDArray[np.float32]:
        texts = [chunk.indexed for chunk in chunks]
        path = vectors_path(self.folder, texts, identity) if self.folder is not None else None
        kept = kept_vectors(path, len(texts)) if path is not None else None
        if kept is not None:
            return kept
        # `embed` calls what it is given and no more.
        rows = unit_rows(await embed(cast("Asks", ask.once), cast("Embeddings", self.model), texts))
        if path is None or rows.shape[1] == 1 or not keep_vectors(path, rows):
            return rows
        kept = kept_vectors(path, len(texts))
        return rows if kept is None else kept


class _Shelf:
    """The vectors of one set of chunks while a process runs, or the promise of them."""

    __slots__ = ("pending", "rows")

    def __init__(self) -> None:
        self.rows: NDArray[np.float32] | None = None
        self.pending: asyncio.Future[NDArray[np.float32] | None] | None = None


@lru_cache(maxsize=4)
def _shelf(loop: asyncio.AbstractEventLoop, what: Hashable) -> _Shelf:
    """One for each event loop, which a promise belongs to."""
    del loop, what
    return _Shelf()
