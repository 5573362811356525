"""Calls models behind Ollama's own `/api/chat`, which can be kept from shortening prompts; its `/v1` cannot.

Ollama drops the front of a prompt that is longer than its window and answers the rest with status 200. So every call
names a window that is large enough, and forbids both ways of shortening; the sign of a shortened prompt is checked
besides, as old servers ignore what they do not know.

Source: Ollama's API reference, "Generate a chat completion", and its `server/routes.go`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

from steelyard.constraints import Timeout, Within
from steelyard.errors import ConfigError, did_you_mean
from steelyard.models.base import Answer, Fault, Request, Wire, count_or_zero, encode_body, usage_of
from steelyard.models.endpoint import EndpointModel
from steelyard.models.native import (
    CalledTool,
    MessageTurn,
    Said,
    assembled_answer,
    check_native,
    items_of,
    merged,
    native_reply,
    opened_answer,
    schema_of,
    streamed_values,
    text_in,
    tools_of,
    turns_and_tokens,
)
from steelyard.models.streaming import first_of
from steelyard.plain_json import mapping_or_empty
from steelyard.types import Message, Reply

_OPTIONS: Final[Mapping[str, str]] = {"max_tokens": "num_predict"} | {
    name: name
    for name in (
        *("temperature", "top_k", "top_p", "min_p", "typical_p", "seed", "stop", "repeat_penalty", "repeat_last_n"),
        *("presence_penalty", "frequency_penalty", "num_keep", "num_batch", "num_gpu", "main_gpu", "use_mmap"),
        "num_thread",
    )
}
_BESIDE: Final = ("keep_alive", "think", "format", "logprobs", "top_logprobs", "tools")
_TRANSLATED: Final = ("response_format", "reasoning_effort")
_IGNORED: Final = frozenset({"tool_choice", "parallel_tool_calls", "logit_bias"})
_LEAST_WINDOW: Final = 4096
_ROOM: Final = 4096
"""Tokens for a reply where no limit is set."""
_PER_ESTIMATE: Final = 2
"""Tokens of the prompt that a window holds for each estimated one: code and rare words take more than prose."""
_MOST_PER_ESTIMATE: Final = 4
"""The most that it can take: one of which less is estimated fills half of the window by chance."""


@dataclass(frozen=True, slots=True)
class Ollama(EndpointModel):
    """A model behind Ollama's own API.

    Args:
        name: the model's name: `llama3.2`.
        base_url: up to and without `/chat`.
        api_key: a reference, for Ollama's cloud or a proxy; empty if the endpoint needs none.
        parameters: sent with every call, in the names of chat completions (`max_tokens`, `temperature`, `seed`, `stop`,
            `tools`, `response_format`, `reasoning_effort`, `logprobs`) or of the API itself (`think`, `keep_alive`,
            `min_p`). An unknown one is an error, since Ollama ignores it without a word.
        timeout_s: limit of one attempt, in seconds; loading a model counts.
        num_ctx: the window in tokens. 0: for each call the smallest power of two that holds twice the estimated prompt
            and the reply. The server loads the model again when it changes: set it where prompts differ much in length.
        stream: read replies as they arrive, so that no proxy ends the silent connection of a long call, and measure the
            time to the first token. The journal takes a streamed call and one that is not for the same request.
    """

    base_url: str = "http://127.0.0.1:11434/api"
    timeout_s: Timeout = 600.0
    num_ctx: Annotated[int, Within(0)] = 0
    stream: bool = False

    def check(self) -> None:
        """Validate the fields before anything is sent.

        Raises:
            ConfigError: no name, no address, a key that is written out, or a parameter that Ollama would ignore.
        """
        check_native(self, ("options", "num_ctx"))
        if self.base_url.rstrip("/").endswith("/v1"):
            raise ConfigError("base_url ends in /api here: at /v1, which openai_compatible calls, Ollama cuts prompts")
        _body(merged(self.parameters, {}))

    def request(self, messages: str | list[Message], parameters: Mapping[str, Any]) -> Request:
        """One POST to `/chat`."""
        turns, tokens = turns_and_tokens(messages)
        sent = merged(self.parameters, parameters)
        most = count_or_zero(sent.get("max_tokens"))
        body = {"model": self.name, "messages": [*_messages(turns)], "stream": False, **_body(sent)}
        body["options"]["num_ctx"] = self.num_ctx or _window(_PER_ESTIMATE * tokens + (most or _ROOM))
        return self.post("chat", body, (tokens, most), self.key_header())

    async def send(self, request: Request, wire: Wire) -> Answer:
        """Send it once."""
        if not self.stream:
            return await wire.exchange(request)
        body = {**mapping_or_empty(json.loads(request.payload)), "stream": True}
        streamed = replace(request, payload=encode_body(body), watch=lambda: first_of(_spoken))
        return _whole(await wire.exchange(streamed))

    def read(self, answer: Answer) -> Reply:
        """The text of the reply; what the model thought is in `metadata["reasoning"]`.

        Raises:
            Fault: a status that says so, no JSON, an error inside it, or a reply that is not whole.
        """
        data = opened_answer(answer, "message")
        if isinstance(data, Reply):
            return data
        reason = text_in(data, "done_reason")
        if data.get("done") is False or reason in {"load", "unload"}:
            raise Fault("server", f"the model answered nothing yet ({reason or 'not done'})")
        message = mapping_or_empty(data.get("message"))
        text = text_in(message, "content")
        calls = [_call(at, call) for at, call in enumerate(items_of(message.get("tool_calls")))]
        finish = reason or "stop"
        return native_reply(
            answer,
            Said(
                text,
                "tool_calls" if calls and finish == "stop" else finish,
                usage_of(data.get("prompt_eval_count"), data.get("eval_count"), text),
                calls=calls,
                reasoning=text_in(message, "thinking"),
            ),
            {"model": data.get("model"), "logprobs": items_of(data.get("logprobs"))},
        )

    def expect_reply(self, reply: Reply, request: Request) -> None:
        """Refuse the reply to a prompt of which the server read a half: an overfull window keeps that much.

        Raises:
            Fault: with the window; not sent again.
        """
        window = mapping_or_empty(mapping_or_empty(json.loads(request.payload)).get("options")).get("num_ctx", 0)
        if reply.usage.estimated or reply.usage.input_tokens != window // 2 + 2:
            return
        if _MOST_PER_ESTIMATE * request.input_tokens < window // 2:
            return
        message = (
            f"Ollama read {reply.usage.input_tokens} tokens, half of the window of {window}: it keeps that much of "
            "a longer prompt, and the reply is to a part of it; set num_ctx at the model"
        )
        raise Fault("bad_request", message, retry=False, billed=True)


def _spoken(line: Any) -> bool:
    message = mapping_or_empty(mapping_or_empty(line).get("message"))
    return any(message.get(name) for name in ("content", "thinking", "tool_calls"))


def _whole(answer: Answer) -> Answer:
    """The answer of a stream of lines in the form of one that was not streamed; that of a status as it is."""
    if answer.status != 200:
        return answer
    whole: dict[str, Any] = {}
    texts: dict[str, list[str]] = {"content": [], "thinking": []}
    lists: dict[str, list[Any]] = {"tool_calls": [], "logprobs": []}
    for line in streamed_values(answer):
        message = mapping_or_empty(line.get("message"))
        for name, parts in texts.items():
            parts.append(text_in(message, name))
        lists["tool_calls"] += items_of(message.get("tool_calls"))
        lists["logprobs"] += items_of(line.get("logprobs"))
        whole |= line
    message = {**{name: "".join(parts) for name, parts in texts.items()}, "tool_calls": lists["tool_calls"]}
    is_whole = whole.get("done") is True
    return assembled_answer(answer, {**whole, "message": message, "logprobs": lists["logprobs"]} if is_whole else None)


def _window(tokens: int) -> int:
    """The smallest power of two from 4,096 on that holds so many tokens.

    >>> _window(100), _window(4097)
    (4096, 8192)
    """
    return max(_LEAST_WINDOW, 1 << (tokens - 1).bit_length())


def _messages(turns: list[MessageTurn]) -> Iterator[dict[str, Any]]:
    for turn in turns:
        message: dict[str, Any] = {"role": turn.role, "content": turn.text}
        files = [part for part in turn.parts if not isinstance(part, str)]
        if other := next((file for file in files if not file.is_image), None):
            raise ConfigError(f"Ollama takes images and no other files, and a message has one of {other.media}")
        if files:
            message["images"] = [file.data for file in files]
        if turn.calls:
            message["tool_calls"] = [{"function": {"name": c.name, "arguments": c.parsed()}} for c in turn.calls]
        if turn.role == "tool":
            message["tool_name"] = turn.tool
        yield message


def _body(sent: dict[str, Any]) -> dict[str, Any]:
    """Parameters of chat completions under the API's names.

    Raises:
        ConfigError: one that Ollama would ignore without a word.
    """
    known = (*_OPTIONS, *_BESIDE, *_TRANSLATED)
    for name in sent:
        if name in _IGNORED:
            raise ConfigError(f"parameters: Ollama ignores {name} without a word: remove it")
        if name not in known:
            raise ConfigError(f"parameters: Ollama would ignore {name!r} without a word{did_you_mean(name, known)}")
    body: dict[str, Any] = {name: sent[name] for name in _BESIDE if name in sent}
    body |= {"truncate": False, "shift": False}
    if "response_format" in sent:
        _, schema, _ = schema_of(sent["response_format"])
        body["format"] = "json" if schema is None else schema
    if "reasoning_effort" in sent:
        body["think"] = sent["reasoning_effort"] if sent["reasoning_effort"] != "none" else False
    if "tools" in sent:
        functions, _ = tools_of(sent["tools"])
        body["tools"] = [
            {"type": "function", "function": {"name": f.name, "description": f.description, "parameters": f.parameters}}
            for f in functions
        ]
    body["options"] = {_OPTIONS[name]: value for name, value in sent.items() if name in _OPTIONS}
    return body


def _call(at: int, call: Mapping[str, Any]) -> CalledTool:
    function = mapping_or_empty(call.get("function"))
    arguments = json.dumps(function.get("arguments") or {}, ensure_ascii=False)
    return CalledTool(str(call.get("id") or f"call_{at}"), str(function.get("name", "")), arguments)
