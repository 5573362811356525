"""Calls Claude over Anthropic's Messages API.

Source: Anthropic API reference, "Create a Message", "Streaming Messages", "Errors"; the types of the package anthropic
2.14.0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from steelyard.constraints import Timeout
from steelyard.errors import ConfigError, expect_number
from steelyard.models.base import Answer, CallParameters, Fault, Request, Wire, count_or_zero, finish_named, usage_of
from steelyard.models.faults import fault_of_error, quoted
from steelyard.models.json_bodies import mapping_or_empty
from steelyard.models.native import (
    Said,
    check_native,
    closed,
    items_of,
    merged,
    native_reply,
    native_request,
    opened_answer,
    text_in,
    turns_and_tokens,
)
from steelyard.models.openai_compatible import tier_of
from steelyard.models.streaming import event_value, events_of, first_of, streamed_text
from steelyard.models.turns import (
    CalledTool,
    FilePart,
    MessageTurn,
    schema_of,
    tool_choice_of,
    tools_of,
    without_system,
)
from steelyard.types import Message, Reply, Usage

_DEFAULT_TOKENS: Final = 16_000
_STREAMED_FROM: Final = 21_000
"""From so many tokens of output on the API wants a stream: a plain answer could take longer than connections live."""
_FINISHES: Final[Mapping[str, str]] = {"tool_use": "tool_calls", "pause_turn": "length"}
_CHOICES: Final[Mapping[str, str]] = {"auto": "auto", "none": "none", "required": "any", "named": "tool"}
_BROKEN_UPLOAD: Final = re.compile(rb"not valid json.{0,80}unexpected end of data", re.IGNORECASE | re.DOTALL)
_THOUGHT: Final = frozenset({"thinking", "redacted_thinking"})


@dataclass(frozen=True, slots=True)
class Anthropic:
    """A Claude model behind Anthropic's Messages API.

    Args:
        name: the model's name: `claude-sonnet-4-6`.
        base_url: up to and without `/messages`.
        api_key: a reference, `"${ANTHROPIC_API_KEY}"`, sent as `x-api-key`; empty where a header of `headers` holds it.
        parameters: sent with every call, in the names of chat completions (`max_tokens`, `temperature`, `stop`,
            `tools`, `response_format`, `reasoning_effort`) or of the API itself (`thinking`, `top_k`, `metadata`).
            Without `max_tokens`, 16,000 is sent, as the API requires a limit.
        headers: sent with every call; values may hold `${NAME}`.
        timeout_s: limit of one attempt, in seconds.
        api_version: sent as `anthropic-version`. `2026-10-21` refuses temperature, top_p and top_k.
        cache: mark the tools and system messages, which are alike in every call, to be kept in the provider's cache for
            so long; empty marks nothing. Writing costs more than reading saves if few calls follow.
        proxy: `http://user:${PASSWORD}@host:3128`; `none` connects directly; empty follows the environment.
        ca_file: certificates in PEM form that are trusted as well as the system's.
    """

    limits_thinking: ClassVar[bool] = True

    name: str
    base_url: str = "https://api.anthropic.com/v1"
    api_key: str = ""
    parameters: CallParameters = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout_s: Timeout = 600.0
    api_version: str = "2023-06-01"
    cache: Literal["", "5m", "1h"] = ""
    proxy: str = ""
    ca_file: Path | None = None

    def check(self) -> None:
        """Validate the fields before anything is sent.

        Raises:
            ConfigError: no name, no address, a key that is written out, or a parameter that is not one.
        """
        check_native(self, self.name, ("system", "fallbacks"))
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
        key = (("x-api-key", self.api_key),) if self.api_key else ()
        headers = (*key, ("anthropic-version", self.api_version))
        return native_request(self, "messages", body, headers=headers, tokens=(tokens, count_or_zero(most)))

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
        if answer.status == 200 and (text := streamed_text(answer)) is not None:
            return _reply(_assembled(text, answer), answer)
        data = opened_answer(answer, "content")
        return data if isinstance(data, Reply) else _reply(data, answer)


def _messages(turns: list[MessageTurn]) -> Iterator[dict[str, Any]]:
    """The turns; the results of several tools are one message."""
    results: list[dict[str, Any]] = []
    for turn in turns:
        if turn.role == "tool":
            results.append({"type": "tool_result", "tool_use_id": turn.call_id, "content": [*map(_block, turn.parts)]})
            continue
        if results:
            yield {"role": "user", "content": results}
            results = []
        blocks = [*turn.reasoning, *map(_block, turn.parts)]
        blocks += [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": call.parsed()} for call in turn.calls
        ]
        is_text = len(blocks) == 1 and isinstance(turn.parts[0] if turn.parts else None, str)
        yield {"role": turn.role, "content": turn.text if is_text else blocks}
    if results:
        yield {"role": "user", "content": results}


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


def _reply(data: Mapping[str, Any], answer: Answer) -> Reply:
    blocks = items_of(data.get("content"))
    reason = data.get("stop_reason")
    finish = _FINISHES.get(str(reason), finish_named(str(reason or "stop")))
    text = "".join(text_in(block) for block in blocks if block.get("type") == "text")
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
            items=[block for block in blocks if block.get("type") in _THOUGHT],
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


def _assembled(text: str, answer: Answer) -> Mapping[str, Any]:
    """The message of a stream, in the form of one that was not streamed.

    Raises:
        Fault: an error in the stream, broken JSON, or a stream that ended before the reply did.
    """
    message: dict[str, Any] = {"content": {}, "usage": {}}
    whole = False
    for _, data in events_of(text):
        try:
            event = mapping_or_empty(event_value(data))
        except (ValueError, RecursionError) as error:
            raise Fault("malformed", f"a broken event in the stream: {quoted(data)}", billed=True) from error
        if event.get("type") == "error" and (fault := fault_of_error(event, answer)) is not None:
            raise fault
        whole = whole or event.get("type") == "message_stop"
        _add(message, event)
    if not whole:
        raise Fault("malformed", f"the stream ended before the reply did: {quoted(text[-200:])}", billed=True)
    return {**message, "content": [message["content"][at] for at in sorted(message["content"])]}


def _add(message: dict[str, Any], event: Mapping[str, Any]) -> None:
    """Add an event to the message that it is a part of."""
    kind, at = event.get("type"), count_or_zero(event.get("index"))
    if kind == "message_start":
        start = mapping_or_empty(event.get("message"))
        message.update({"model": start.get("model"), "usage": dict(mapping_or_empty(start.get("usage")))})
    elif kind == "content_block_start":
        message["content"][at] = dict(mapping_or_empty(event.get("content_block")))
    elif kind == "content_block_delta":
        block = message["content"].setdefault(at, {})
        for name, part in mapping_or_empty(event.get("delta")).items():
            if name != "type" and isinstance(part, str):
                block[name] = f"{block.get(name) or ''}{part}"
    elif kind == "message_delta":
        message.update(mapping_or_empty(event.get("delta")))
        message["usage"].update(mapping_or_empty(event.get("usage")))
