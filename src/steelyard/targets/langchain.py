"""A LangChain runnable as target: a chain, a retrieval chain, an agent or a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from steelyard.errors import did_you_mean
from steelyard.targets.adapters import name_of, resolve, source
from steelyard.text.prompt_files import content_text, is_messages, question_of
from steelyard.types import Output, Sample

_METHODS: Final = ("ainvoke", "invoke")
_EXTRA: Final = "langchain"
_OUTPUTS: Final = ("answer", "output", "result", "text")
_CONTEXTS: Final = ("context", "source_documents", "documents")
_STOPPED: Final = frozenset({"length", "content_filter"})


class RunnableLike(Protocol):
    """What of LangChain's Runnable is used."""

    async def ainvoke(self, value: Any, /) -> Any:
        """Answer."""


@dataclass(frozen=True, slots=True)
class LangChainRunnable:
    """A runnable of LangChain, invoked with the question of each sample.

    What comes back may be a text, a message, or a mapping with the answer and the retrieved documents in it; of a
    mapping with `messages`, as agents and graphs give it, the last message of the model counts. `metadata["sources"]`
    has the documents' ids, file names and pages where their metadata name them. What the runnable's own model is asked
    does not go through the journal: its outputs do, tokens are not counted.

    Args:
        runnable: the import path of a runnable, or of a function without arguments that makes one; from Python also
            the runnable itself.
        input_key: the key of the question where the runnable takes a mapping; `messages` gives it as messages. Empty:
            it takes the question itself, or the sample's input where that is a mapping already.
        output_key: the key of the answer in a mapping; by default `answer`, `output`, `result` or `text`.
        contexts_key: the key of the retrieved documents or texts; by default `context`, `source_documents` or
            `documents`, where there is one.
        offsets: whether `start_index` in the documents' metadata counts from the start of the whole document, as this
            tool reads it, so that sources can be compared by it. Loaders that make a document of each page count from
            the page, so it is off.
    """

    runnable: str | RunnableLike
    input_key: str = ""
    output_key: str = ""
    contexts_key: str = ""
    offsets: bool = False

    def check(self) -> None:
        """Find the runnable before anything is run.

        Raises:
            ConfigError: there is none, or LangChain is not installed.
        """
        resolve(self.runnable, _METHODS, _EXTRA)

    def manifest(self) -> dict[str, Any]:
        """The runnable by its name."""
        return {"runnable": name_of(self.runnable)}

    def unwrap(self) -> Callable[[Sample], Any]:
        """What is called: a coroutine function, or one for a thread where the runnable has `invoke` alone."""
        runnable = resolve(self.runnable, _METHODS, _EXTRA)

        async def invoke(sample: Sample) -> Output:
            return self._read(await runnable.ainvoke(self.input_of(sample)))

        def invoke_in_thread(sample: Sample) -> Output:
            return self._read(runnable.invoke(self.input_of(sample)))

        return invoke if callable(getattr(runnable, "ainvoke", None)) else invoke_in_thread

    def _read(self, given: Any) -> Output:
        """The output in what came back.

        Raises:
            LookupError: it is a mapping that lacks a key.
        """
        documents = self._documents(given)
        answer = self._answer(given)
        contexts = tuple(map(_text_of_document, documents))
        metadata: dict[str, Any] = {"sources": [self._source(one) for one in documents]} if documents else {}
        if (finish := _finish(answer)) in _STOPPED:
            metadata["finish"] = finish
        return Output(_value(answer), contexts, metadata)

    def input_of(self, sample: Sample) -> Any:
        """What the runnable is given for a sample."""
        if self.input_key == "messages":
            asked = list(sample.input) if is_messages(sample.input) else None
            return {"messages": asked or [{"role": "user", "content": question_of(sample.input)}]}
        if self.input_key:
            return {self.input_key: question_of(sample.input)}
        return dict(sample.input) if isinstance(sample.input, Mapping) else question_of(sample.input)

    def _answer(self, given: Any) -> Any:
        """The answer in what came back, which may be a message still."""
        if not isinstance(given, Mapping):
            return given
        key = self.output_key or next((one for one in _OUTPUTS if one in given), "messages")
        if key not in given:
            raise LookupError(f"the runnable gave no {self.output_key or 'answer'!r}{did_you_mean(key, given)}")
        return given[key]

    def _documents(self, given: Any) -> Sequence[Any]:
        """The retrieved documents or texts in what came back."""
        if not isinstance(given, Mapping):
            return ()
        key = self.contexts_key or next((one for one in _CONTEXTS if given.get(one)), "")
        if self.contexts_key and key not in given:
            raise LookupError(f"the runnable gave no {key!r}{did_you_mean(key, given)}")
        found = given.get(key) or ()
        return found if isinstance(found, list | tuple) else (found,)

    def _source(self, document: Any) -> dict[str, Any]:
        metadata = getattr(document, "metadata", None) or {}
        start = metadata.get("start_index")
        span = (start, start + len(_text_of_document(document))) if self.offsets and type(start) is int else None
        return source(getattr(document, "id", None), metadata, page=_page(metadata), span=span)


def _text_of_document(document: Any) -> str:
    return document if isinstance(document, str) else str(getattr(document, "page_content", document))


def _page(metadata: Mapping[str, Any]) -> Any:
    """The 1-based page; the loaders of PDF files count `page` from 0."""
    for key in ("page_label", "page_number"):
        if metadata.get(key) is not None:
            return metadata[key]
    page = metadata.get("page")
    return page + 1 if type(page) is int else None


def _value(answer: Any) -> Any:
    """An answer as a plain value: the text of a message, the last one of the model's among several."""
    if isinstance(answer, list | tuple) and answer and all(map(_is_message, answer)):
        answer = _last_said(answer)
    if _is_message(answer):
        return content_text(answer.content)
    return answer.model_dump(mode="json") if hasattr(answer, "model_dump") else answer


def _is_message(value: Any) -> bool:
    return hasattr(value, "content") and hasattr(value, "type")


def _last_said(messages: Sequence[Any]) -> Any:
    """The last message of the model.

    Raises:
        LookupError: there is none.
    """
    for one in reversed(messages):
        if one.type in {"ai", "AIMessageChunk"}:
            return one
    raise LookupError("the runnable gave messages, and none of them is the model's")


def _finish(answer: Any) -> str:
    """Why the model ended, as far as a message tells."""
    if isinstance(answer, list | tuple) and answer:
        answer = answer[-1]
    told = getattr(answer, "response_metadata", None)
    return str(told.get("finish_reason", "")) if isinstance(told, Mapping) else ""
