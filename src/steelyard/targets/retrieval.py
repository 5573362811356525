"""A query engine of our own: the best chunks of some documents are retrieved, and a model answers from them alone.

Chunks are found by BM25, or by vectors: embedded once for all samples, kept in a file, and searched by cosine; or by
both, fused by their ranks. A reranker may put what was found in another order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from steelyard.constraints import Within
from steelyard.errors import ConfigError, ModelError
from steelyard.models.base import AskedModel, CallParameters, Model
from steelyard.models.embeddings import Embeddings, Rerank, embed, rerank
from steelyard.prompts.conversation import conversation_asked, search_text, with_system
from steelyard.prompts.fenced_prompt import fence, mark_for
from steelyard.prompts.language import LanguageSetting, prompt_language
from steelyard.prompts.sample_values import (
    SAMPLE_NAMES,
    has_transcript,
    sample_values,
    shows_passage,
)
from steelyard.prompts.template import check_names, load_template, load_words, placeholders, render, words_of_file
from steelyard.retrieval.chunk import CHUNK_TOKENS, Chunk
from steelyard.retrieval.stored import Hit, fused
from steelyard.retrieval.vectors import VectorIndex, keep_vectors, kept_vectors, unit_rows, vectors_path
from steelyard.targets.library import (
    ChunkSize,
    Paths,
    chunks_at,
    digests_of,
    notes_on_documents,
    open_documents,
    open_index,
    paths_of,
    stamps_of,
)
from steelyard.targets.prompt import TemplateTarget
from steelyard.types import Asks, Message, Output, Sample

Search = Literal["bm25", "vectors", "hybrid"]

_NAMES = (*SAMPLE_NAMES, "mark")
_NOTHING = {"en": "(No passage was found.)", "zh": "（没有检索到资料。）"}


@dataclass(frozen=True, slots=True)
class QueryEngine(TemplateTarget):
    """Retrieves the `top_k` best chunks for a question, and asks a model to answer from them.

    The output's contexts are the chunks' texts in rank order; `metadata["sources"]` says of each its id, document,
    offsets and page, `metadata["scores"]` how well it fits. Each passage is fenced by marks that a document cannot
    know, so that its text is not taken for instructions. A sample with options is searched for with them, and asked
    with the packaged prompt for multiple-choice questions with passages. For a conversation passages are looked for
    with the words of all its turns, and the model is sent the turns as messages, the last question with the passages.

    Args:
        model: what answers.
        documents: files and folders; of a folder every document in it and below.
        top_k: how many chunks are retrieved.
        chunk_tokens: estimated tokens of a chunk at most.
        overlap_tokens: estimated tokens of whole sentences that a chunk shares with the one before; by default an
            eighth of `chunk_tokens`.
        search: `bm25` by words, `vectors` by the embeddings of chunks and question, `hybrid` by both, whose rankings
            are joined by reciprocal rank fusion (`steelyard.retrieval.stored`).
        embeddings: the model that embeds, for `vectors` and `hybrid`.
        reranker: a model `rerank` that orders the `candidates` anew, of which the `top_k` best are taken.
        candidates: how many chunks each search finds for `hybrid` and for a reranker; at least `top_k` are.
        template: a packaged prompt, a file, or the text itself, with {{question}} and {{contexts}}; by default
            `answer_from_contexts` in `language`. {{mark}} is part of the marks around passages;
            otherwise the same names as in a prompt.
        system: a system message as a text or a file, or none; filled likewise.
        parameters: of every call of the model, over its own.
        index: the folder where indexes are kept and used again; empty keeps none. It changes no result.
        language: of the packaged prompt; `auto` is Chinese where the suite's questions are, else English.
    """

    model: AskedModel
    documents: Path | tuple[Path, ...]
    top_k: Annotated[int, Within(1)] = 2
    chunk_tokens: int = CHUNK_TOKENS
    overlap_tokens: int | None = None
    search: Search = "bm25"
    embeddings: Model | None = None
    reranker: Model | None = None
    candidates: Annotated[int, Within(1)] = 30
    template: Path | str = ""
    system: Path | str = ""
    parameters: CallParameters = field(default_factory=dict)
    index: str = ".steelyard/indexes"
    language: LanguageSetting = "auto"

    def check(self) -> None:
        """Read and index the documents, and check the settings, before any model is called.

        Raises:
            ConfigError: what is wrong with which key.
            DataError: a document cannot be read.
        """
        self._cut.check()
        if self.search != "bm25":
            check_embeddings(self.embeddings, self.search)
        elif self.embeddings is not None:
            raise ConfigError("embeddings are for search: vectors or hybrid; leave them out, or set one of them")
        if self.reranker is not None and not isinstance(self.reranker, Rerank):
            raise ConfigError(f"reranker: {type(self.reranker).__name__} ranks no texts; take the model `rerank`")
        for text in self._texts:
            check_names(text, _NAMES)
        if self.template and not any(name == "contexts" for name, _ in placeholders(load_template(self.template))):
            raise ConfigError("the template lacks {{contexts}}, so a model would answer without it")
        open_documents(self._paths)
        if self.search != "vectors":
            open_index(self._paths, self._cut, self._folder)

    @property
    def _texts(self) -> tuple[str, str]:
        """The words of the template and of the system message."""
        template = load_template(self.template) if self.template else "{{question}}{{contexts}}"
        return template, load_words(self.system, "system")

    def manifest(self) -> dict[str, Any]:
        """Digests of the documents and the words that are sent; where indexes are kept is left out."""
        names = [self.template] if self.template else [f"{language}/answer_from_contexts" for language in ("en", "zh")]
        texts = [load_template(name) for name in names]
        system = words_of_file(self.system, "system")
        return {"documents": digests_of(open_documents(self._paths)), "text": texts, "index": "", **system}

    def notes(self) -> tuple[str, ...]:
        """Files and pages of the documents that are not read."""
        return notes_on_documents(self._paths)

    async def __call__(self, sample: Sample, ask: Asks) -> Output:
        """Retrieve, then ask once."""
        hits = await self._retrieve("\n".join([search_text(sample.input), *sample.choices]), ask)
        contexts = tuple(hit.chunk.text for hit in hits)
        reply = await ask(self.model, self.messages(sample, contexts), **self.parameters)
        metadata = {
            "sources": [hit.chunk.source for hit in hits],
            "scores": [round(hit.score, 6) for hit in hits],
            **({} if reply.finish == "stop" else {"finish": reply.finish}),
        }
        return Output(reply.text, contexts, metadata)

    def messages(self, sample: Sample, contexts: Sequence[str]) -> list[Message]:
        """What is sent for a sample with these passages."""
        values = sample_values(sample, passage_apart=shows_passage(*self._texts))
        language = prompt_language(self.language, values["question"], *sample.choices)
        mark = mark_for({str(no): text for no, text in enumerate(contexts, start=1)})
        passages = [fence(f"passage {no}", text, mark) for no, text in enumerate(contexts, start=1)]
        values |= {"contexts": "\n\n".join(passages) or _NOTHING[language], "mark": mark}
        packaged = f"{language}/{'with_contexts' if sample.choices else 'answer_from_contexts'}"
        text = render(load_template(self.template or packaged), values)
        conversation = conversation_asked(sample.input, text, has_transcript=has_transcript(*self._texts))
        if not self.system:
            return conversation
        return with_system(render(load_words(self.system, "system"), values), conversation)

    async def _retrieve(self, query: str, ask: Asks) -> list[Hit]:
        count = self.top_k if self.search != "hybrid" and self.reranker is None else max(self.candidates, self.top_k)
        hits: list[list[Hit]] = []
        if self.search != "vectors":
            hits.append(open_index(self._paths, self._cut, self._folder).search(query, count))
        if self.search != "bm25":
            search = VectorSearch(self._paths, self._cut, self.embeddings, self._folder)
            hits.append(await search.nearest(query, count, ask))
        found = hits[0] if len(hits) == 1 else fused(hits)[:count]
        if self.reranker is None or not found:
            return found[: self.top_k]
        scores = await rerank(ask, cast("Rerank", self.reranker), query, [hit.chunk.indexed for hit in found])
        ranked = [Hit(hit.chunk, score) for hit, score in zip(found, scores, strict=True)]
        return sorted(ranked, key=lambda hit: -hit.score)[: self.top_k]

    @property
    def _paths(self) -> Paths:
        return paths_of(self.documents)

    @property
    def _cut(self) -> ChunkSize:
        return ChunkSize(self.chunk_tokens, self.overlap_tokens)

    @property
    def _folder(self) -> Path | None:
        return Path(self.index) if self.index else None


def check_embeddings(model: Any, search: Search = "vectors") -> None:
    """Refuse a model that gives no vectors, for a search that needs them.

    Raises:
        ConfigError: there is no model, or one that answers messages.
    """
    if model is None:
        raise ConfigError(f"search: {search} needs embeddings, {{embeddings: {{name: ..., base_url: ...}}}}")
    if not hasattr(model, "request") or not hasattr(model, "batches"):
        raise ConfigError(f"embeddings: {type(model).__name__} embeds no texts; take the model `embeddings`")


@dataclass(frozen=True, slots=True)
class VectorSearch:
    """Searches the chunks of documents by the cosine of their vectors.

    Args:
        paths: files and folders.
        cut: how they are cut into chunks; headings are embedded with them.
        model: embeds texts, see `check_embeddings`.
        folder: where the chunks' vectors are kept; None keeps them in memory alone.
    """

    paths: Paths
    cut: ChunkSize
    model: Any
    folder: Path | None

    async def nearest(self, query: str, k: int, ask: Asks) -> list[Hit]:
        """The `k` chunks nearest to a query, by cosine.

        Args:
            query: a text; a blank one is near to nothing.
            k: how many at most.
            ask: asks for the chunks once for all samples, for the query once a sample.

        Raises:
            ModelError: a request for vectors failed for good, or their lengths differ.
        """
        stamps = stamps_of(self.paths)
        chunks = chunks_at(self.paths, stamps, self.cut)
        if not query.strip() or not chunks:
            return []
        # The request for one text covers whatever changes a vector: address, name and parameters.
        identity = self.model.request(["text"], {}).digest.hex()
        shared_vectors = _shared_vectors(
            asyncio.get_running_loop(), (self.paths, stamps, self.cut, identity, self.folder)
        )
        rows = await self._rows(chunks, identity, shared_vectors, ask)
        query_vector = (await embed(ask, cast("Embeddings", self.model), [query]))[0]
        if len(query_vector) == 1:
            # A dry run, whose vectors mean nothing: the first chunks take the place of those that would be found.
            return [Hit(chunk, 0.0) for chunk in chunks[:k]]
        if len(query_vector) != rows.shape[1]:
            had = f"the vector of a question has {len(query_vector)} numbers, those of the chunks have {rows.shape[1]}"
            raise ModelError(had, kind="malformed")
        return [Hit(chunks[position], cosine) for position, cosine in VectorIndex(rows).search(query_vector, k)]

    async def _rows(
        self, chunks: Sequence[Chunk], identity: str, shared_vectors: _SharedVectors, ask: Asks
    ) -> NDArray[np.float32]:
        """The chunks' vectors. Of concurrent samples one requests them, and the others share its result or error."""
        failure_before = shared_vectors.failure
        async with shared_vectors.lock:
            if shared_vectors.rows is None:
                # Each of those that wait would pay for all its attempts again, one after another.
                if shared_vectors.failure is not None and shared_vectors.failure is not failure_before:
                    raise shared_vectors.failure
                try:
                    rows = await self._stored_or_embedded(chunks, identity, ask)
                except Exception as error:
                    shared_vectors.failure = error
                    raise
                if rows.shape[1] == 1:  # a dry run
                    return rows
                shared_vectors.rows = rows
            return shared_vectors.rows

    async def _stored_or_embedded(self, chunks: Sequence[Chunk], identity: str, ask: Asks) -> NDArray[np.float32]:
        texts = [chunk.indexed for chunk in chunks]
        path = vectors_path(self.folder, texts, identity) if self.folder is not None else None
        stored = kept_vectors(path, len(texts)) if path is not None else None
        if stored is not None:
            return stored
        # `embed` only calls its `ask`, so `ask.once` can stand in: chunks are embedded once for all samples.
        rows = unit_rows(await embed(cast("Asks", ask.once), cast("Embeddings", self.model), texts))
        if path is None or rows.shape[1] == 1 or not keep_vectors(path, rows):
            return rows
        stored = kept_vectors(path, len(texts))
        return rows if stored is None else stored


class _SharedVectors:
    """The vectors of one set of chunks while a process runs, or the newest failure to get them.

    Whoever holds the lock requests them.
    """

    __slots__ = ("failure", "lock", "rows")

    def __init__(self) -> None:
        self.rows: NDArray[np.float32] | None = None
        self.failure: Exception | None = None
        self.lock = asyncio.Lock()


@lru_cache(maxsize=4)
def _shared_vectors(loop: asyncio.AbstractEventLoop, key: Hashable) -> _SharedVectors:
    """The shared vectors of a key; one per event loop, as a lock belongs to its loop."""
    del loop, key
    return _SharedVectors()
