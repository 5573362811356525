"""A LlamaIndex query engine as target: its response is the output, its source nodes are the contexts."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from steelyard.targets.adapters import name_of, resolve, source
from steelyard.text.prompt_files import question_of
from steelyard.types import Output, Sample

_METHODS: Final = ("aquery", "query")
_EXTRA: Final = "llamaindex"


class QueryEngineLike(Protocol):
    """What of LlamaIndex' BaseQueryEngine is used."""

    async def aquery(self, query: str, /) -> Any:
        """Answer."""


@dataclass(frozen=True, slots=True)
class LlamaIndexEngine:
    """A query engine of LlamaIndex, asked with the question of each sample.

    The texts of the response's source nodes become contexts, in their order; `metadata["sources"]` has their ids, the
    file's name and the page where the nodes' metadata name them, `metadata["scores"]` their scores. What the engine's
    own model is asked does not go through the journal: its outputs do, tokens are not counted.

    Args:
        engine: the import path of a query engine, or of a function without arguments that makes one; from Python also
            the engine itself.
        offsets: whether the nodes' character offsets count from the start of the whole document, as this tool reads
            it, so that sources can be compared by them. Readers that split files before they are cut (by page, by
            heading) count from each part, so it is off.
    """

    engine: str | QueryEngineLike
    offsets: bool = False

    def check(self) -> None:
        """Find the engine before anything is run.

        Raises:
            ConfigError: there is none, or LlamaIndex is not installed.
        """
        resolve(self.engine, _METHODS, _EXTRA)

    def manifest(self) -> dict[str, Any]:
        """The engine by its name."""
        return {"engine": name_of(self.engine)}

    def unwrap(self) -> Callable[[Sample], Any]:
        """What is called: a coroutine function, or one for a thread where the engine has `query` alone."""
        engine = resolve(self.engine, _METHODS, _EXTRA)

        async def query(sample: Sample) -> Output:
            response = await engine.aquery(question_of(sample.input))
            whole = getattr(response, "get_response", lambda: response)()
            return self._read(await whole if inspect.isawaitable(whole) else whole)

        def query_in_thread(sample: Sample) -> Output:
            response = engine.query(question_of(sample.input))
            return self._read(getattr(response, "get_response", lambda: response)())

        return query if callable(getattr(engine, "aquery", None)) else query_in_thread

    def _read(self, response: Any) -> Output:
        """The output in a response; of a stream, or of an object in place of a text, what `get_response` gives."""
        nodes = list(getattr(response, "source_nodes", None) or ())
        text = response if isinstance(response, str) else getattr(response, "response", None)
        contexts = tuple(str(one.node.get_content()) for one in nodes)
        metadata: dict[str, Any] = {"sources": [self._source(one.node) for one in nodes]}
        scores = [one.score for one in nodes]
        if all(isinstance(one, int | float) for one in scores):
            metadata["scores"] = [float(one) for one in scores]
        return Output("" if text is None else str(text), contexts, metadata)

    def _source(self, node: Any) -> dict[str, Any]:
        metadata = node.metadata or {}
        span = (getattr(node, "start_char_idx", None), getattr(node, "end_char_idx", None))
        page = metadata.get("page_label", metadata.get("page_number"))
        return source(node.node_id, metadata, page=page, span=span if self.offsets else None)
