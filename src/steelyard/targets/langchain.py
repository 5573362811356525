"""A LangChain runnable as target: a chain, a retrieval chain, an agent or a graph."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from steelyard.errors import ConfigError, boundary, did_you_mean
from steelyard.prompts.agent_messages import (
    agent_metadata,
    answers_among,
    is_answered_conversation,
    own_messages,
    tokens_in,
    tool_call,
)
from steelyard.prompts.conversation import content_text, is_messages, question_of, question_turn, transcript_of
from steelyard.prompts.message_parts import shown_content
from steelyard.targets.adapters import check_there, name_of, page_of, passages_in, resolve, source
from steelyard.types import Output, Sample

_METHODS: Final = ("ainvoke", "invoke")
_EXTRA: Final = "langchain"
_OUTPUTS: Final = ("answer", "output", "result", "text")
_CONTEXTS: Final = ("context", "source_documents", "documents", "docs", "retrieved_documents")
_QUESTIONS: Final = ("input", "question", "query")
_STOPPED: Final = frozenset({"length", "content_filter"})


class RunnableLike(Protocol):
    """The methods of LangChain's Runnable that are used."""

    async def ainvoke(self, value: Any, /, **options: Any) -> Any:
        """Answer an input."""


@dataclass(frozen=True, slots=True)
class LangChainRunnable:
    """A runnable of LangChain, invoked with the question of each sample.

    What comes back may be a text, a message, or a mapping with the answer and the retrieved documents in it; of a
    mapping with `messages`, as agents and graphs give it, the last message of the model counts. Documents that tools
    retrieved are found in the artifacts of their messages, and those of a bare retriever are the passages of an empty
    answer. `metadata["sources"]` has the documents' ids, file names and pages where their metadata name them. An
    agent's messages, tool calls and the tokens that LangChain reports are kept in `metadata["messages"]` and
    `metadata["usage"]`. What the runnable's own model is asked does not go through the journal: its outputs do.

    Args:
        runnable: the import path of a runnable, or of a function without arguments that makes one; from Python also
            the runnable itself.
        input_key: the key of the question where the runnable takes a mapping; `messages` gives it as messages. Empty:
            as the runnable's input schema says (agents and graphs take `messages`), else it takes the question itself,
            or the sample's input where that is a mapping already. Of a conversation the
            question is its transcript, or its messages where the runnable is a chat model.
        history_key: the key of the turns before the last question, as messages, where the runnable takes them apart
            from the question (`chat_history`); `input_key` then has the last question alone.
        output_key: the key of the answer in a mapping; by default `answer`, `output`, `result` or `text`.
        contexts_key: the key of the retrieved documents or texts; by default `context`, `source_documents`,
            `documents`, `docs` or `retrieved_documents`, where there is one.
        contexts_from: names of tools whose results are passages, as texts where they have no documents; by default
            the documents of every tool.
        offsets: whether `start_index` in the documents' metadata counts from the start of the whole document, as this
            tool reads it, so that sources can be compared by it. Loaders that make a document of each page count from
            the page, so it is off. A range is used only where the text at it is the passage's.
    """

    runnable: str | RunnableLike
    input_key: str = ""
    history_key: str = ""
    output_key: str = ""
    contexts_key: str = ""
    offsets: bool = False
    contexts_from: tuple[str, ...] = ()

    def check(self) -> None:
        """Check that the runnable exists without building it, which may call a model.

        Raises:
            ConfigError: there is none, or LangChain is not installed.
        """
        check_there(self.runnable, _METHODS, _EXTRA)

    def manifest(self) -> dict[str, Any]:
        """The runnable by its name."""
        return {"runnable": name_of(self.runnable)}

    def unwrap(self) -> Callable[[Sample], Any]:
        """Return the function to call: a coroutine function, or a plain one where the runnable only has `invoke`."""
        runnable = resolve(self.runnable, _METHODS, _EXTRA)
        keyed = self if self.input_key or self.history_key else replace(self, input_key=self._schema_key)

        def input_of(sample: Sample) -> Any:
            return (self if isinstance(sample.input, Mapping) else keyed).input_of(sample)

        async def invoke(sample: Sample) -> Output:
            heard, listening = _listening(runnable)
            result = await runnable.ainvoke(input_of(sample), **listening)
            return self._with_agent(self._read(result, sample), result, sample, heard)

        def invoke_in_thread(sample: Sample) -> Output:
            heard, listening = _listening(runnable)
            result = runnable.invoke(input_of(sample), **listening)
            return self._with_agent(self._read(result, sample), result, sample, heard)

        return invoke if callable(getattr(runnable, "ainvoke", None)) else invoke_in_thread

    def _read(self, result: Any, sample: Sample) -> Output:
        """The output in the result of the chain.

        Raises:
            LookupError: it is a mapping that lacks a key.
        """
        if _are_documents(result):  # of a bare retriever
            documents, answer = result, ""
        else:
            answer = self._answer(result)
            documents = self._documents(result) or _distinct(self._of_tools(_messages_of(result), sample))
        contexts = tuple(map(_text_of_document, documents))
        metadata: dict[str, Any] = {"sources": [self._source(document) for document in documents]} if documents else {}
        if (finish := _finish(answer)) in _STOPPED:
            metadata["finish"] = finish
        return Output(_value(answer), contexts, metadata)

    def _with_agent(self, output: Output, result: Any, sample: Sample, heard: Sequence[Any]) -> Output:
        """The output with the agent's messages and tokens, as far as there are any.

        Args:
            output: what was read.
            result: what the runnable returned.
            sample: whose input was sent.
            heard: the replies of models that LangChain reported on the way.
        """
        messages = _messages_of(result)
        if _is_message(messages):
            messages = [messages]
        agent_messages: list[dict[str, Any]] = []
        replies: Sequence[Any] = ()
        if is_answered_conversation(messages):
            agent_messages = own_messages(messages, sample.input)
            replies = answers_among(messages, len(agent_messages))
        if isinstance(result, Mapping) and result.get("intermediate_steps"):
            agent_messages = [
                *_steps(result["intermediate_steps"]),
                {"role": "assistant", "content": str(output.value)},
            ]
        # A single answer is the output itself.
        has_steps = len(agent_messages) > 1 or any("tool_calls" in message for message in agent_messages)
        shown = agent_messages if has_steps else []
        agent_fields = agent_metadata(shown, heard or replies)
        return replace(output, metadata={**output.metadata, **agent_fields}) if agent_fields else output

    def input_of(self, sample: Sample) -> Any:
        """Return the input of the runnable for a sample."""
        value = sample.input
        if self.history_key:
            last = question_turn(value) if is_messages(value) else None
            before = [] if last is None else [*value[:last], *value[last + 1 :]]
            question = question_of(value) if last is None else shown_content(value[last].get("content"))
            return {self.input_key or "input": question, self.history_key: before}
        key = self.input_key
        if key == "messages":
            messages = list(value) if is_messages(value) else None
            return {"messages": messages or [{"role": "user", "content": question_of(value)}]}
        if key:
            return {key: transcript_of(value)}
        if is_messages(value) and hasattr(resolve(self.runnable, _METHODS, _EXTRA), "_llm_type"):
            return list(value)
        return dict(value) if isinstance(value, Mapping) else transcript_of(value)

    @property
    def _schema_key(self) -> str:
        """The key of the question by the runnable's input schema; "" where it takes no mapping, or none is known."""
        fields, needed = _input_fields(resolve(self.runnable, _METHODS, _EXTRA))
        if "messages" in fields:
            return "messages"
        if len(needed) == 1:
            return needed[0]
        return next((key for key in _QUESTIONS if key in fields), "")

    def _answer(self, result: Any) -> Any:
        """The answer in the result of the chain, which may still be a message."""
        if not isinstance(result, Mapping):
            return result
        key = self.output_key or next((output for output in _OUTPUTS if output in result), "messages")
        if key not in result:
            raise LookupError(f"the runnable gave no {self.output_key or 'answer'!r}{did_you_mean(key, result)}")
        return result[key]

    def _documents(self, result: Any) -> Sequence[Any]:
        """The retrieved documents or texts in the result of the chain."""
        if not isinstance(result, Mapping):
            return ()
        key = self.contexts_key or next((context for context in _CONTEXTS if result.get(context)), "")
        if self.contexts_key and key not in result:
            raise LookupError(f"the runnable gave no {key!r}{did_you_mean(key, result)}")
        documents = result.get(key) or ()
        return documents if isinstance(documents, list | tuple) else (documents,)

    def _of_tools(self, messages: Any, sample: Sample) -> Iterator[Any]:
        """The documents that tools retrieved for this answer; the texts of named tools that give none."""
        if not is_answered_conversation(messages):
            return
        for message in messages[-len(own_messages(messages, sample.input)) :]:
            named = getattr(message, "name", None) in self.contexts_from
            if getattr(message, "type", "") != "tool" or (self.contexts_from and not named):
                continue
            artifact = getattr(message, "artifact", None)
            if isinstance(artifact, Mapping):
                artifact = next((artifact[key] for key in _CONTEXTS if artifact.get(key)), None)
            documents = artifact if isinstance(artifact, list | tuple) else [artifact]
            if _are_documents(documents):
                yield from documents
            elif named:
                yield from passages_in(content_text(message.content))

    def _source(self, document: Any) -> dict[str, Any]:
        metadata = getattr(document, "metadata", None) or {}
        start = metadata.get("start_index")
        span = (start, start + len(_text_of_document(document))) if self.offsets and type(start) is int else None
        return source(getattr(document, "id", None), metadata, page=page_of(metadata, first=0), span=span)


def _input_fields(runnable: Any) -> tuple[Sequence[str], Sequence[str]]:
    """The keys of the mapping that a runnable takes, and those of them that it needs; none where that is unknown."""
    schema: Any = None
    # Types of the user's that Pydantic has no schema for fail in many ways; then nothing is known.
    with suppress(ConfigError), boundary("config"):
        schema = runnable.get_input_jsonschema()
    if isinstance(schema, Mapping):
        fields = list(schema.get("properties") or ()) if schema.get("type") == "object" else []
        return fields, [name for name in schema.get("required") or () if name in fields]
    state = getattr(getattr(runnable, "builder", None), "input_schema", None)
    return list(getattr(state, "__annotations__", ())), ()


def _messages_of(result: Any) -> Any:
    return result.get("messages") if isinstance(result, Mapping) else result


def _are_documents(value: Any) -> bool:
    """Whether a value is a list of documents, known by their text."""
    return isinstance(value, list | tuple) and bool(value) and all(hasattr(entry, "page_content") for entry in value)


def _distinct(documents: Iterable[Any]) -> list[Any]:
    """The documents without those whose text has come before: an agent may search twice."""
    by_text: dict[str, Any] = {}
    for document in documents:
        by_text.setdefault(_text_of_document(document), document)
    return list(by_text.values())


def _steps(steps: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """The pairs of action and observation of an AgentExecutor, as messages; what is not such a pair as its text."""
    for step in steps:
        if not (isinstance(step, list | tuple) and len(step) == 2 and hasattr(step[0], "tool")):
            yield {"role": "assistant", "content": str(step)}
            continue
        action, observation = step
        call = tool_call(action)
        call["id"] = str(getattr(action, "tool_call_id", "") or "")
        yield {"role": "assistant", "content": str(getattr(action, "log", "") or ""), "tool_calls": [call]}
        yield {"role": "tool", "content": str(observation), "tool_call_id": call["id"], "name": call["name"]}


def _listening(runnable: Any) -> tuple[list[Any], dict[str, Any]]:
    """A list that will hold the replies of all models inside a runnable, and what to invoke it with.

    A chain gives its last value alone; LangChain's callbacks report every reply with its tokens. An object that is not
    LangChain's own takes no such configuration.
    """
    core = sys.modules.get("langchain_core.runnables")
    if core is None or not isinstance(runnable, core.Runnable):
        return [], {}
    from langchain_core.callbacks import BaseCallbackHandler

    heard: list[Any] = []

    class Listener(BaseCallbackHandler):
        run_inline = True

        def on_llm_end(self, response: Any, **_: Any) -> None:
            for several in response.generations:
                for generation in several[:1]:
                    message = getattr(generation, "message", None)
                    heard.append(message if tokens_in(message) is not None else response.llm_output or message)

    return heard, {"config": {"callbacks": [Listener()]}}


def _text_of_document(document: Any) -> str:
    return document if isinstance(document, str) else str(getattr(document, "page_content", document))


def _value(answer: Any) -> Any:
    """An answer as a plain value: the text of a message, the last one of the model's among several."""
    if isinstance(answer, list | tuple) and answer and all(map(_is_message, answer)):
        answer = _last_answer(answer)
    if _is_message(answer):
        return content_text(answer.content)
    return answer.model_dump(mode="json") if hasattr(answer, "model_dump") else answer


def _is_message(value: Any) -> bool:
    return hasattr(value, "content") and hasattr(value, "type")


def _last_answer(messages: Sequence[Any]) -> Any:
    """The last message of the model.

    Raises:
        LookupError: there is none.
    """
    for message in reversed(messages):
        if message.type in {"ai", "AIMessageChunk"}:
            return message
    raise LookupError("the runnable gave messages, and none of them is the model's")


def _finish(answer: Any) -> str:
    """Why the model ended, as far as a message tells."""
    if isinstance(answer, list | tuple) and answer:
        answer = answer[-1]
    metadata = getattr(answer, "response_metadata", None)
    return str(metadata.get("finish_reason", "")) if isinstance(metadata, Mapping) else ""
