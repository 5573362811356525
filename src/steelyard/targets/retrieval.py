"""A query engine of our own: the best chunks of some documents are retrieved, and a model answers from them alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from steelyard.errors import ConfigError, did_you_mean, expect_number
from steelyard.models.base import Model
from steelyard.models.references import check_sent
from steelyard.retrieval.chunk import CHUNK_TOKENS
from steelyard.retrieval.stored import Hit
from steelyard.targets.library import Cut, Paths, digests_of, open_documents, open_index, paths_of
from steelyard.targets.retrieval_vectors import VectorSearch, check_embeddings
from steelyard.text.fencing import fence, mark_for
from steelyard.text.language import language_of
from steelyard.text.prompt_files import SAMPLE_NAMES, load_template, sample_values
from steelyard.text.template import check_names, placeholders, render
from steelyard.types import Asks, Message, Output, Sample

Search = Literal["bm25", "vectors"]

_NAMES = (*SAMPLE_NAMES, "mark")
_NOTHING = {"en": "(No passage was found.)", "zh": "（没有检索到资料。）"}


@dataclass(frozen=True, slots=True)
class QueryEngine:
    """Retrieves the `top_k` best chunks for a question, and asks a model to answer from them.

    The output's contexts are the chunks' texts in rank order; `metadata["sources"]` says of each its id, document,
    offsets and page, `metadata["scores"]` how well it fits. Each passage stands between marks that it cannot know, so
    that what is written in a document stays material. A sample with options is searched for with them, and asked with
    the packaged prompt for multiple-choice questions with passages.

    Args:
        model: what answers.
        documents: files and folders; of a folder every document in it and below.
        top_k: how many chunks are retrieved.
        chunk_tokens: estimated tokens of a chunk at most.
        overlap_tokens: estimated tokens of whole sentences that a chunk shares with the one before; by default an
            eighth of `chunk_tokens`.
        search: `bm25` by words, `vectors` by the embeddings of chunks and question.
        embeddings: the model that embeds, for `vectors`.
        template: a packaged prompt, a file, or the text itself, with {{question}} and {{contexts}}; by default
            `answer_from_contexts` in the language of the question. {{mark}} stands in the marks around passages;
            otherwise the same names as in a prompt.
        system: a system message, or none; filled likewise.
        parameters: of every call of the model, over its own.
        index: the folder where indexes are kept and used again; empty keeps none. It changes no result.
    """

    model: Model
    documents: Path | tuple[Path, ...]
    top_k: int = 2
    chunk_tokens: int = CHUNK_TOKENS
    overlap_tokens: int | None = None
    search: Search = "bm25"
    embeddings: Model | None = None
    template: Path | str = ""
    system: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    index: str = ".steelyard/indexes"

    def check(self) -> None:
        """Read the documents and index them, and find what cannot be meant, before anything is asked.

        Raises:
            ConfigError: what is wrong with which key.
            DataError: a document cannot be read.
        """
        if not hasattr(self.model, "request"):
            raise ConfigError(f"{type(self.model).__name__} is no model")
        check_sent("parameters", self.parameters)
        expect_number("top_k", self.top_k, 1, whole=True)
        self._cut.check()
        self._check_search()
        self._check_prompt()
        open_documents(self._paths)
        if self.search == "bm25":
            open_index(self._paths, self._cut, self._folder)

    def _check_search(self) -> None:
        if self.search not in get_args(Search):
            near = did_you_mean(str(self.search), get_args(Search))
            raise ConfigError(f"search: there is no {self.search!r}{near}")
        if self.search == "vectors":
            check_embeddings(self.embeddings)
        elif self.embeddings is not None:
            raise ConfigError("embeddings are for search: vectors; leave them out, or set that")

    def _check_prompt(self) -> None:
        check_names(self.system, _NAMES)
        if not self.template:
            return
        text = load_template(self.template)
        check_names(text, _NAMES)
        named = {name for name, _ in placeholders(text)}
        if missing := [name for name in ("question", "contexts") if name not in named]:
            raise ConfigError(f"the template lacks {{{{{missing[0]}}}}}, so a model would answer without it")

    def manifest(self) -> dict[str, Any]:
        """Digests of the documents and the words that are sent; where indexes are kept is left out."""
        names = [self.template] if self.template else [f"{one}/answer_from_contexts" for one in ("en", "zh")]
        texts = [load_template(name) for name in names]
        return {"documents": digests_of(open_documents(self._paths)), "text": texts, "index": ""}

    async def __call__(self, sample: Sample, ask: Asks) -> Output:
        """Retrieve, then ask once."""
        hits = await self._retrieve("\n".join([sample_values(sample)["question"], *sample.choices]), ask)
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
        values = sample_values(sample)
        language = language_of(values["question"], *sample.choices)
        mark = mark_for({str(no): text for no, text in enumerate(contexts, start=1)})
        passages = [fence(f"passage {no}", text, mark) for no, text in enumerate(contexts, start=1)]
        values |= {"contexts": "\n\n".join(passages) or _NOTHING[language], "mark": mark}
        packaged = f"{language}/{'with_contexts' if sample.choices else 'answer_from_contexts'}"
        asked: Message = {"role": "user", "content": render(load_template(self.template or packaged), values)}
        if self.system:
            return [{"role": "system", "content": render(self.system, values)}, asked]
        return [asked]

    async def _retrieve(self, query: str, ask: Asks) -> list[Hit]:
        if self.search == "bm25":
            return open_index(self._paths, self._cut, self._folder).search(query, self.top_k)
        search = VectorSearch(self._paths, self._cut, self.embeddings, self._folder)
        return await search.nearest(query, self.top_k, ask)

    @property
    def _paths(self) -> Paths:
        return paths_of(self.documents)

    @property
    def _cut(self) -> Cut:
        return Cut(self.chunk_tokens, self.overlap_tokens)

    @property
    def _folder(self) -> Path | None:
        return Path(self.index) if self.index else None
