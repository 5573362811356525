"""A LlamaIndex engine, retriever or agent as target: its response is the output, its source nodes are the contexts.

An engine returns its answer alone. Which models it called, and what their endpoints reported about tokens, LlamaIndex
tells the handlers of its instrumentation. Several samples run at a time, so that is kept by context (`contextvars`).
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import sys
import threading
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import Any, Final, Protocol

from steelyard.errors import TargetError
from steelyard.prompts.agent_messages import agent_metadata, plain_message, tokens_in
from steelyard.prompts.conversation import is_messages, question_of, question_turn, transcript_of
from steelyard.prompts.message_parts import has_other_parts, is_text_part
from steelyard.targets.adapters import check_there, name_of, page_of, passages_in, resolve, source
from steelyard.types import Message, Output, Sample

_METHODS: Final = ("aquery", "query", "achat", "chat", "aretrieve", "retrieve", "run")
_EXTRA: Final = "llamaindex"
_ROLES: Final = {"human": "user", "ai": "assistant"}


class QueryEngineLike(Protocol):
    """The methods of LlamaIndex' BaseQueryEngine that are used."""

    async def aquery(self, query: str, /) -> Any:
        """Answer a query."""


@dataclass(frozen=True, slots=True)
class LlamaIndexEngine:
    """A query engine, chat engine, retriever, agent or workflow of LlamaIndex, asked with the question of each sample.

    A query engine and a retriever take one text: of a conversation the transcript. A chat engine and an agent are given
    the turns as their own messages; a chat engine keeps what was said, so it begins each sample anew and answers one at
    a time. A retriever's nodes are the passages of an empty answer.

    The texts of the response's source nodes become contexts, in their order, and of an agent or workflow those of its
    tools' results and of its events; `metadata["sources"]` has their ids, the
    file's name and the page where the nodes' metadata name them, `metadata["scores"]` their scores. Of an agent
    (`FunctionAgent`, `ReActAgent`, `AgentWorkflow`) `metadata["messages"]` has its messages and tool calls. The tokens
    that LlamaIndex reports are in `metadata["usage"]`. What the engine's own model is asked does not go through the
    journal: its outputs do.

    Args:
        engine: the import path of a query engine or an agent, or of a function without arguments that makes one; from
            Python also the engine itself.
        offsets: whether the nodes' character offsets count from the start of the whole document, as this tool reads
            it, so that sources can be compared by them. Readers that split files before they are cut (by page, by
            heading) count from each part, so it is off. A range is used only where the text at it is the passage's.
        contexts_from: names of tools of an agent whose results are passages, as texts where they have no nodes; by
            default the nodes of every tool.
    """

    engine: str | QueryEngineLike
    offsets: bool = False
    contexts_from: tuple[str, ...] = ()

    def check(self) -> None:
        """Check that the engine exists without building it, which may request embeddings.

        Raises:
            ConfigError: there is none, or LlamaIndex is not installed.
        """
        check_there(self.engine, _METHODS, _EXTRA)

    def manifest(self) -> dict[str, Any]:
        """The engine by its name."""
        return {"engine": name_of(self.engine)}

    def unwrap(self) -> Callable[[Sample], Any]:
        """Return the function to call: a coroutine function, or a plain one where the engine has no async method."""
        engine = resolve(self.engine, _METHODS, _EXTRA)

        async def query(sample: Sample) -> Output:
            with listening() as heard:
                response = await engine.aquery(transcript_of(sample.input))
                answer = getattr(response, "get_response", lambda: response)()
                answer = await answer if inspect.isawaitable(answer) else answer
            return _with_agent(self._read(answer), (), heard.calls() or [answer])

        def query_in_thread(sample: Sample) -> Output:
            with listening() as heard:
                response = engine.query(transcript_of(sample.input))
                answer = getattr(response, "get_response", lambda: response)()
            return _with_agent(self._read(answer), (), heard.calls() or [answer])

        async def run(sample: Sample) -> Output:
            with listening() as heard:
                result, events = await _run_agent(engine, sample)
            replies = [event for event in events if _is_step(event)]
            steps = [event for event in events if _is_step(event) or _is_result(event)]
            # A single answer without a call of a tool is the output itself.
            shown = _messages(steps) if len(steps) > 1 else []
            retrieved = self._retrieved(result, events)
            output = replace(_agent_output(result), contexts=retrieved.contexts, metadata=retrieved.metadata)
            return _with_agent(output, shown, heard.calls() or replies)

        async def chat(sample: Sample) -> Output:
            # The engine's memory is its own, and the same for all samples.
            async with alone:
                with listening() as heard:
                    response = await engine.achat(*_turns(sample.input))
            return _with_agent(self._read(response), (), heard.calls() or [response])

        def chat_in_thread(sample: Sample) -> Output:
            with alone_in_thread, listening() as heard:
                response = engine.chat(*_turns(sample.input))
            return _with_agent(self._read(response), (), heard.calls() or [response])

        async def retrieve(sample: Sample) -> Output:
            return self._of_nodes(await engine.aretrieve(transcript_of(sample.input)))

        def retrieve_in_thread(sample: Sample) -> Output:
            return self._of_nodes(engine.retrieve(transcript_of(sample.input)))

        alone, alone_in_thread = asyncio.Lock(), threading.Lock()
        by_method: dict[str, Callable[[Sample], Any]] = {
            "aquery": query,
            "query": query_in_thread,
            "achat": chat,
            "chat": chat_in_thread,
            "aretrieve": retrieve,
            "retrieve": retrieve_in_thread,
            "run": run,
        }
        return by_method[_method_of(engine)]

    def _read(self, response: Any) -> Output:
        """The output in a response; of a stream, or of an object in place of a text, what `get_response` gives."""
        text = response if isinstance(response, str) else getattr(response, "response", None)
        output = self._of_nodes(getattr(response, "source_nodes", None) or ())
        return replace(output, value="" if text is None else str(text))

    def _of_nodes(self, nodes: Iterable[Any]) -> Output:
        """An empty answer with the passages of these nodes, each of them once."""
        by_key: dict[tuple[str, str], Any] = {}
        for node in nodes:
            by_key.setdefault((str(node.node.node_id), str(node.node.get_content())), node)
        nodes = list(by_key.values())
        contexts = tuple(str(node.node.get_content()) for node in nodes)
        metadata: dict[str, Any] = {"sources": [self._source(node.node) for node in nodes]}
        scores = [node.score for node in nodes]
        if all(isinstance(score, int | float) for score in scores):
            metadata["scores"] = [float(score) for score in scores]
        return Output("", contexts, metadata)

    def _retrieved(self, result: Any, events: Sequence[Any]) -> Output:
        """The passages of an agent or workflow: nodes in its result, its events and the results of its tools."""
        nodes, texts = list(_nodes_in(result)), []
        for event in events:
            if not _is_result(event):
                nodes += [] if self.contexts_from else _nodes_in(event)
                continue
            named = event.tool_name in self.contexts_from
            if named or not self.contexts_from:
                found = list(_nodes_in(getattr(event.tool_output, "raw_output", None)))
                nodes += found
                texts += passages_in(str(event.tool_output.content)) if named and not found else []
        output = self._of_nodes(nodes)
        if not texts:
            return output if nodes else Output("")
        contexts = (*output.contexts, *dict.fromkeys(texts))
        sources = [*output.metadata["sources"], *({} for _ in contexts[len(output.contexts) :])]
        return Output("", contexts, {"sources": sources})

    def _source(self, node: Any) -> dict[str, Any]:
        metadata = node.metadata or {}
        span = (getattr(node, "start_char_idx", None), getattr(node, "end_char_idx", None))
        return source(node.node_id, metadata, page=page_of(metadata, first=1), span=span if self.offsets else None)


def _method_of(engine: Any) -> str:
    """The method that answers. The steps of a workflow may have any name, `retrieve` among them."""
    if any(base.__name__ == "Workflow" for base in type(engine).__mro__):
        return "run"
    return next(name for name in _METHODS if callable(getattr(engine, name, None)))


async def _run_agent(agent: Any, sample: Sample) -> tuple[Any, list[Any]]:
    """The result of an agent's run, and its events in order: replies of the model and results of tools."""
    handler = agent.run(**_agent_arguments(sample.input))
    stream = getattr(handler, "stream_events", None)
    events = [event async for event in stream() if _is_kept(event)] if stream else []
    return (await handler if inspect.isawaitable(handler) else handler), events


def _agent_arguments(value: Any) -> dict[str, Any]:
    """The arguments of an agent's `run`: the question, and of a conversation the turns before it.

    A conversation that does not end with the user is all history: LlamaIndex goes on from its last message.
    """
    if not is_messages(value):
        return {"user_msg": question_of(value)}
    messages = [_chat_message(message) for message in value]
    if question_turn(value) != len(value) - 1:
        return {"chat_history": messages}
    question = messages[-1] if has_other_parts(value[-1].get("content")) else question_of(value)
    return {"user_msg": question, **({"chat_history": messages[:-1]} if messages[1:] else {})}


def _chat_message(message: Message) -> Any:
    """A message as LlamaIndex's ChatMessage, whose parts are blocks; as it is where the agent is not LlamaIndex's."""
    types = sys.modules.get("llama_index.core.base.llms.types")
    if types is None:
        return message
    content = message.get("content")
    parts = content if isinstance(content, list | tuple) else [content] if content else []
    blocks = [_block(part, types) for part in parts]
    extra = {key: value for key, value in message.items() if key in {"name", "tool_call_id"}}
    calls = message.get("tool_calls") or ()
    if hasattr(types, "ToolCallBlock"):
        blocks += [types.ToolCallBlock(**call) for call in map(_tool_call, calls)]
    elif calls:
        extra["tool_calls"] = calls
    role = str(message["role"]).lower()
    return types.ChatMessage(role=_ROLES.get(role, role), blocks=blocks, additional_kwargs=extra)


def _tool_call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call.get("function") or call
    arguments = function.get("arguments", function.get("args", {}))
    with contextlib.suppress(ValueError):  # text that is not JSON stays what the model wrote
        arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
    return {"tool_call_id": call.get("id"), "tool_name": function["name"], "tool_kwargs": arguments}


def _block(part: Any, types: Any) -> Any:
    """A part of a message's content as LlamaIndex's block.

    Raises:
        TargetError: a kind of part for which it has none.
    """
    if is_text_part(part):
        return types.TextBlock(text=part if isinstance(part, str) else part["text"])
    kind = str(part.get("type")) if isinstance(part, Mapping) else type(part).__name__
    if kind in {"image_url", "input_image"}:
        image = part["image_url"]
        url = image["url"] if isinstance(image, Mapping) else image
        return types.ImageBlock(url=url, detail=image.get("detail") if isinstance(image, Mapping) else None)
    if kind == "input_audio":
        audio = part["input_audio"]
        return types.AudioBlock(audio=b64decode(audio["data"]), format=audio.get("format"))
    raise TargetError(f"a part of type {kind!r} cannot be given to a LlamaIndex agent: expected text, image or audio")


def _turns(value: Any) -> tuple[str, list[Any]]:
    """What a chat engine is given: the last question, and the turns before it, which replace what it remembers."""
    last = question_turn(value) if is_messages(value) else None
    if last is None or last != len(value) - 1:
        return transcript_of(value), []
    return question_of(value), [_chat_message(message) for message in value[:-1]]


def _nodes_in(value: Any) -> Iterator[Any]:
    """The nodes with their scores that a response, an event or a tool's result has, or that it is a list of."""
    if isinstance(value, list | tuple):
        yield from (node for node in value if hasattr(node, "node") and hasattr(node, "score"))
        return
    for name in ("source_nodes", "nodes"):
        several = getattr(value, name, None)
        if isinstance(several, list | tuple):
            yield from _nodes_in(several)
            return


def _is_kept(event: Any) -> bool:
    """Whether an event of a stream is used: a reply of the model, a tool's result, or one that holds nodes."""
    return _is_step(event) or _is_result(event) or any(_nodes_in(event))


def _is_step(event: Any) -> bool:
    return all(hasattr(event, name) for name in ("response", "tool_calls", "raw")) and not hasattr(event, "delta")


def _is_result(event: Any) -> bool:
    return hasattr(event, "tool_output") and hasattr(event, "tool_name")


def _messages(events: Sequence[Any]) -> list[dict[str, Any]]:
    messages = list(map(_event_message, events))
    if _is_step(events[-1]):
        # LlamaIndex puts the calls of all steps into the last one, which has none of its own: no result follows.
        messages[-1].pop("tool_calls", None)
    return messages


def _event_message(event: Any) -> dict[str, Any]:
    """Convert a step of an agent to a message."""
    if _is_step(event):
        calls = [{"id": call.tool_id, "name": call.tool_name, "args": call.tool_kwargs} for call in event.tool_calls]
        content = getattr(event.response, "content", event.response)
        return plain_message({"role": "assistant", "content": content, "tool_calls": calls})
    failed = bool(getattr(event.tool_output, "is_error", False))
    return plain_message(
        {
            "role": "tool",
            "content": str(event.tool_output.content),
            "tool_call_id": event.tool_id,
            "name": event.tool_name,
            **({"status": "error"} if failed else {}),
        }
    )


def _agent_output(result: Any) -> Output:
    """The answer of an agent: its structured response where it was asked for one, else its text."""
    structured = getattr(result, "structured_response", None)
    if structured is not None:
        return Output(structured)
    response = getattr(result, "response", result)
    text = getattr(response, "content", response)
    return Output("" if text is None else text if isinstance(text, str | Mapping | list) else str(text))


def _with_agent(output: Output, messages: Sequence[Mapping[str, Any]], replies: Sequence[Any]) -> Output:
    agent_fields = agent_metadata(messages, replies)
    return replace(output, metadata={**output.metadata, **agent_fields}) if agent_fields else output


_STARTS: Final = frozenset({"LLMChatStartEvent", "LLMCompletionStartEvent"})
_ENDS: Final = frozenset({"LLMChatEndEvent", "LLMCompletionEndEvent"})
"""The events around a whole reply of a model, streamed or not."""


@dataclass(slots=True)
class ModelEvents:
    """Collects the events that LlamaIndex reports while a sample runs.

    A model's methods call each other (`achat` may ask `acomplete`, and that `complete`) and each reports the reply that
    all of them return: they are one call, that of the outermost span.
    """

    parents: dict[str, str | None] = field(default_factory=dict)
    asking: set[str] = field(default_factory=set)
    replies: dict[str, list[Any]] = field(default_factory=dict)

    def calls(self) -> list[Any]:
        """Return a reply per call of a model, preferably one with token counts."""
        return [
            next((response for response in several if tokens_in(response) is not None), several[-1])
            for several in self.replies.values()
        ]

    def take(self, event: Any) -> None:
        """Record an event; only starts and ends of replies are used."""
        name, span = type(event).__name__, str(event.span_id)
        if name in _STARTS:
            self.asking.add(span)
        elif name in _ENDS and event.response is not None:
            self.replies.setdefault(self._outermost(span), []).append(event.response)

    def _outermost(self, span: str) -> str:
        outermost, above, visited = span, self.parents.get(span), {span}
        while above is not None and above not in visited:
            visited.add(above)
            outermost = above if above in self.asking else outermost
            above = self.parents.get(above)
        return outermost


_heard: ContextVar[ModelEvents | None] = ContextVar("heard", default=None)


@contextmanager
def listening() -> Iterator[ModelEvents]:
    """Collect the events inside the block; none where LlamaIndex is not imported."""
    if "llama_index.core" in sys.modules:
        _listen()
    heard = ModelEvents()
    token = _heard.set(heard)
    try:
        yield heard
    finally:
        _heard.reset(token)


_INSTRUMENTATION: Final = "llama_index.core.instrumentation"


@cache
def _listen() -> None:
    """Add our handlers; once in a process, as LlamaIndex takes none away again."""
    dispatcher = import_module(_INSTRUMENTATION).root_dispatcher
    dispatcher.add_event_handler(_event_listener())
    dispatcher.add_span_handler(_span_listener())


def _event_listener() -> Any:
    base = import_module(f"{_INSTRUMENTATION}.event_handlers").BaseEventHandler

    class EventListener(base):  # type: ignore[misc, valid-type]  # LlamaIndex is not imported before it is used
        @classmethod
        def class_name(cls) -> str:
            return "SteelyardEventListener"

        def handle(self, event: Any, **_: Any) -> None:
            if (heard := _heard.get()) is not None:
                heard.take(event)

    return EventListener()


def _span_listener() -> Any:
    base = import_module(f"{_INSTRUMENTATION}.span_handlers").BaseSpanHandler

    class SpanListener(base):  # type: ignore[misc, valid-type]  # likewise
        @classmethod
        def class_name(cls) -> str:
            return "SteelyardSpanListener"

        def new_span(self, id_: str, *_: Any, parent_span_id: str | None = None, **__: Any) -> None:
            if (heard := _heard.get()) is not None:
                heard.parents[id_] = parent_span_id

        def prepare_to_exit_span(self, *_: Any, **__: Any) -> None:
            """Spans are not kept open here."""

        def prepare_to_drop_span(self, *_: Any, **__: Any) -> None:
            """Spans are not kept open here."""

    return SpanListener()
