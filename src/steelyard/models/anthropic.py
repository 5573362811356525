"""Calls Claude over Anthropic's Messages API.

Source: Anthropic API reference, "Create a Message", "Streaming Messages", "Errors"; the types of the package anthropic
2.14.0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, ClassVar, Final, Literal

from steelyard.constraints import Timeout
from steelyard.errors import ConfigError, expect_number
from steelyard.models.base import Answer, Fault, Request, Wire, count_or_zero, finish_named, usage_of
from steelyard.models.endpoint import EndpointModel
from steelyard.models.faults import quoted
from steelyard.models.native import (
    CalledTool,
    FilePart,
    MessageTurn,
    Said,
    check_native,
    closed,
    items_of,
    merged,
    native_reply,
    opened_answer,
    schema_of,
    text_in,
    tool_choice_of,
    tools_of,
    turns_and_tokens,
    whole_answer,
    without_system,
)
from steelyard.models.openai_compatible import tier_of
from steelyard.models.streaming import first_of
from steelyard.plain_json import mapping_or_empty
from steelyard.types import Message, Reply, Usage

_DEFAULT_TOKENS: Final = 16_000
_STREAMED_FROM: Final = 21_000
"""From so many tokens of output on the API wants a stream: a plain answer could take longer than connections live."""
_FINISHES: Final[Mapping[str, str]] = {"tool_use": "tool_calls", "pause_turn": "length"}
_CHOICES: Final[Mapping[str, str]] = {"auto": "auto", "none": "none", "required": "any", "named": "tool"}
_BROKEN_UPLOAD: Final = re.compile(rb"not valid json.{0,80}unexpected end of data", re.IGNORECASE | re.DOTALL)
_THOUGHT: Final = frozenset({"thinking", "redacted_thinking"})


@dataclass(frozen=True, slots=True)
class Anthropic(EndpointModel):
    """A Claude model behind Anthropic's Messages API.

    Args:
        name: the model's name: `claude-sonnet-4-6`.
        base_url: up to and without `/messages`.
        api_key: a reference, `"${ANTHROPIC_API_KEY}"`, sent as `x-api-key`; empty where a header of `headers` holds it.
        parameters: sent with every call, in the names of chat completions (`max_tokens`, `temperature`, `stop`,
            `tools`, `response_format`, `reasoning_effort`) or of the API itself (`thinking`, `top_k`, `metadata`).
            Without `max_tokens`, 16,000 is sent, as the API requires a limit.
        api_version: sent as `anthropic-version`. `2026-10-21` refuses temperature, top_p and top_k.
        cache: mark the tools and system messages, which are alike in every call, to be kept in the provider's cache for
            so long; empty marks nothing. Writing costs more than reading saves if few calls follow.
    """

    limits_thinking: ClassVar[bool] = True

    base_url: str = "https://api.anthropic.com/v1"
    timeout_s: Timeout = 600.0
    api_version: str = "2023-06-01"
    cache: Literal["", "5m", "1h"] = ""

    def check(self) -> None:
        """Validate the fields before anything is sent.

        Raises:
            ConfigError: no name, no address, a key that is written out, or a parameter that is not one.
        """
        check_native(self, ("system", "fallbacks"))
        if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", self.api_version):
            raise ConfigError(f"api_version is a date such as 2023-06-01, not {self.api_version!r:.40}")
        if "max_tokens" in self.parameters:
            expect_number("max_tokens", self.parameters["max_tokens"], 1, whole=True)

    def request(self, messages: str | list[Message], parameters: Mapping[str, Any]) -> Request:
        """One POST to `/messages`."""
        turns, tokens = turns_and_tokens(messages)
        system, turns = without_system(turns)
        sent = {"max_tokens": _DEFAULT_TOKENS, **merged(self.parameters, parameters)}
        most = sent.pop("max_tokens")
        body = {"model": self.name, "max_tokens": most, "messages": [*_messages(turns)], **_parameters(sent)}
        if system:
            body["system"] = system
        if self.cache:
            _mark(body, self.cache)
        headers = (*self.key_header("x-api-key", ""), ("anthropic-version", self.api_version))
        return self.post("messages", body, (tokens, count_or_zero(most)), headers)

    async def send(self, request: Request, wire: Wire) -> Answer:
        """Send it once; a call that may bring a long reply as a stream."""
        if request.output_tokens <= _STREAMED_FROM:
            return await wire.exchange(request)
        streamed = replace(request, payload=request.payload[:-1] + b',"stream":true}', watch=lambda: first_of(_spoken))
        return await wire.exchange(streamed)

    def read(self, answer: Answer) -> Reply:
        """The text of the reply; what the model thought is in `metadata["reasoning"]`.

        Raises:
            Fault: a status that says so, no JSON, an error inside it, or a stream that ended before the reply did.
        """
        if answer.status == 400 and _BROKEN_UPLOAD.search(answer.body):
            raise Fault("connection", f"status 400: the upload was cut off: {quoted(answer.body)}")
        data = opened_answer(whole_answer(answer, _joined), "content")
        return data if isinstance(data, Reply) else _reply(data, answer)


def _messages(turns: list[MessageTurn]) -> Iterator[dict[str, Any]]:
    """The turns; the results of several tools are one message."""
    for is_result, group in groupby(turns, lambda turn: turn.role == "tool"):
        if is_result:
            yield {"role": "user", "content": [_result(turn) for turn in group]}
        else:
            yield from map(_message, group)


def _result(turn: MessageTurn) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": turn.call_id, "content": [*map(_block, turn.parts)]}


def _message(turn: MessageTurn) -> dict[str, Any]:
    calls = [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.parsed()} for call in turn.calls]
    blocks = [*turn.reasoning, *map(_block, turn.parts), *calls]
    is_text = len(blocks) == 1 and isinstance(turn.parts[0] if turn.parts else None, str)
    return {"role": turn.role, "content": turn.text if is_text else blocks}


def _block(part: str | FilePart) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    source = {"type": "base64", "media_type": part.media, "data": part.data}
    if part.is_image:
        return {"type": "image", "source": source}
    return {"type": "document", "source": source, **({"title": part.name} if part.name else {})}


def _parameters(sent: dict[str, Any]) -> dict[str, Any]:
    """Parameters of chat completions under the API's names; others as they are, which the API refuses by name."""
    body: dict[str, Any] = {}
    output = dict(mapping_or_empty(sent.pop("output_config", None)))
    if stop := sent.pop("stop", None):
        body["stop_sequences"] = [stop] if isinstance(stop, str) else stop
    if (form := sent.pop("response_format", None)) is not None:
        _, schema, _ = schema_of(form)
        if schema is None:
            raise ConfigError("response_format: Anthropic takes a JSON schema, and has no mode for any JSON object")
        output["format"] = {"type": "json_schema", "schema": closed(schema)}
    if (effort := sent.pop("reasoning_effort", None)) == "none":
        body["thinking"] = {"type": "disabled"}
    elif effort is not None:
        output["effort"] = effort
    if "tools" in sent:
        functions, others = tools_of(sent.pop("tools"))
        own = [{"name": f.name, "description": f.description, "input_schema": f.parameters} for f in functions]
        body["tools"] = [*own, *others]
    if (choice := sent.pop("tool_choice", None)) is not None:
        kind, named = tool_choice_of(choice)
        body["tool_choice"] = {"type": _CHOICES.get(kind, kind), **({"name": named} if named else {})}
    return {**body, **sent, **({"output_config": output} if output else {})}


def _mark(body: dict[str, Any], ttl: str) -> None:
    """Mark the end of what is alike in every call: the system message, which comes after the tools, else the tools."""
    mark = {"cache_control": {"type": "ephemeral", "ttl": ttl}}
    if system := body.get("system"):
        body["system"] = [{"type": "text", "text": system, **mark}]
    elif tools := body.get("tools"):
        tools[-1] = {**tools[-1], **mark}


def _kind(block: Mapping[str, Any]) -> str:
    return text_in(block, "type")


def _reply(data: Mapping[str, Any], answer: Answer) -> Reply:
    blocks = items_of(data.get("content"))
    reason = text_in(data, "stop_reason")
    finish = _FINISHES.get(reason, finish_named(reason or "stop"))
    # A block of text may end within a sentence, at a citation; one before a search of the web is a remark of its own.
    texts = ("".join(map(text_in, run)) for kind, run in groupby(blocks, _kind) if kind == "text")
    text = "\n\n".join(filter(None, texts))
    calls = [
        CalledTool(str(block.get("id", "")), str(block.get("name", "")), _arguments(block))
        for block in blocks
        if block.get("type") == "tool_use"
    ]
    details = mapping_or_empty(data.get("stop_details"))
    usage = mapping_or_empty(data.get("usage"))
    return native_reply(
        answer,
        Said(
            text,
            finish,
            _usage(usage, text),
            calls=calls,
            reasoning="\n\n".join(text_in(block, "thinking") for block in blocks if text_in(block, "thinking")),
            items=[block for block in blocks if text_in(block, "type") in _THOUGHT],
        ),
        {
            "model": data.get("model"),
            "service_tier": tier_of(usage.get("service_tier")),
            "stop_reason": reason if reason in {"pause_turn", "model_context_window_exceeded"} else "",
            "refusal_category": details.get("category"),
            "message": details.get("explanation"),
        },
    )


def _arguments(block: Mapping[str, Any]) -> str:
    """The arguments of a tool as JSON text, which is what a stream has."""
    streamed = text_in(block, "partial_json")
    return streamed or json.dumps(block.get("input") or {}, ensure_ascii=False)


def _usage(usage: Mapping[str, Any], text: str) -> Usage:
    """The counts; the API counts tokens of the cache beside the input, not in it."""
    read, written = (count_or_zero(usage.get(f"cache_{name}_input_tokens")) for name in ("read", "creation"))
    rest = usage.get("input_tokens")
    return usage_of(
        rest + read + written if type(rest) is int else None,
        usage.get("output_tokens"),
        text,
        cache_read=read,
        cache_write=written,
        reasoning=mapping_or_empty(usage.get("output_tokens_details")).get("thinking_tokens"),
    )


def _spoken(event: Any) -> bool:
    return mapping_or_empty(event).get("type") == "content_block_delta"


def _joined(events: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The message that the events of a stream are parts of; None where the last of them did not come."""
    message: dict[str, Any] = {}
    usage: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    pieces: dict[tuple[int, str], list[str]] = {}
    is_whole = False
    for event in events:
        kind = event.get("type")
        is_whole = is_whole or kind == "message_stop"
        if kind == "message_start":
            start = mapping_or_empty(event.get("message"))
            message["model"] = start.get("model")
            usage |= mapping_or_empty(start.get("usage"))
        elif kind == "message_delta":
            message |= mapping_or_empty(event.get("delta"))
            usage |= mapping_or_empty(event.get("usage"))
        else:
            _add(event, blocks, pieces)
    for (at, name), parts in pieces.items():
        blocks[at][name] = "".join((text_in(blocks[at], name), *parts))
    return {**message, "usage": usage, "content": [blocks[at] for at in sorted(blocks)]} if is_whole else None


def _add(event: Mapping[str, Any], blocks: dict[int, dict[str, Any]], pieces: dict[tuple[int, str], list[str]]) -> None:
    """Add an event to the block that it is a part of; texts are joined at the end, which takes linear time."""
    kind, at = event.get("type"), count_or_zero(event.get("index"))
    if kind == "content_block_start":
        blocks[at] = dict(mapping_or_empty(event.get("content_block")))
    elif kind == "content_block_delta":
        blocks.setdefault(at, {})
        for name, part in mapping_or_empty(event.get("delta")).items():
            if name != "type" and isinstance(part, str):
                pieces.setdefault((at, name), []).append(part)
