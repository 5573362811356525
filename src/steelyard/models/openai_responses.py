"""Calls OpenAI's Responses API, also at Azure (`/openai/v1`) and at servers that speak it, such as vLLM.

Nothing is kept at the provider: `store: false` is sent with every call, except for one that runs in the background,
which the provider must keep until it is fetched.

Source: OpenAI API reference, "Create a model response"; the types of the package openai 3.57.0.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal

from steelyard.constraints import Timeout
from steelyard.errors import ConfigError
from steelyard.models.base import Answer, Fault, Request, Wire, count_or_zero, usage_of
from steelyard.models.decisions import DECISIONS, decision_body, decision_in, is_decision, send_decision
from steelyard.models.endpoint import EndpointModel
from steelyard.models.faults import ErrorBody, error_body, fault_in_body, parse_json, quoted
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
)
from steelyard.models.openai_compatible import tier_of
from steelyard.models.streaming import first_of
from steelyard.plain_json import mapping_or_empty
from steelyard.types import Message, Reply, Usage

Service = Literal["", "flex", "2h", "8h"]
_OURS: Final = ("input", "instructions", "background", "background_options", "previous_response_id", "conversation")
_ENDS: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})
"""Events of a stream that hold the whole reply."""
_WHOLE: Final = frozenset({"completed", "incomplete"})
_PENDING: Final = frozenset({"queued", "in_progress"})
_POLL_S: Final = (2.0, 60.0)
"""Between two looks at a call in the background: at first, and at most."""
_POLICY: Final = frozenset({"bio_policy", "misalignment_policy_violation", "image_content_policy_violation"})
_CALLS: Final[Mapping[str, str]] = {"function_call": "arguments", "custom_tool_call": "input"}
"""Types of output items -> where what the tool is called with stands: a custom tool takes any text."""
_INCOMPLETE: Final[Mapping[str, str]] = {"content_filter": "content_filter"}


@dataclass(frozen=True, slots=True)
class OpenAIResponses(EndpointModel):
    """A model behind OpenAI's Responses API.

    Args:
        name: the model's name; at Azure that of the deployment.
        base_url: up to and without `/responses`; at Azure `https://NAME.openai.azure.com/openai/v1`.
        api_key: a reference, `"${OPENAI_API_KEY}"`; empty if the endpoint needs none.
        parameters: sent with every call, in the names of chat completions (`max_tokens`, `tools`, `response_format`,
            `reasoning_effort`, `logprobs`) or of the API itself (`reasoning: {summary: auto}`, `verbosity`).
        timeout_s: limit of one attempt, in seconds; of a slower service, hours where that is its window.
        service: a slower service at a lower price: `flex`, or a window of `2h` or `8h` in which the provider answers.
            The reply is priced by the tier that the provider names.
        cache: mark the system messages, which are alike in every call, to be kept in the provider's cache for so long;
            empty leaves it to the provider.
        stream: read replies as they arrive, so that no proxy ends the silent connection of a long call, and measure the
            time to the first token. The journal takes a streamed call and one that is not for the same request.
    """

    limits_thinking: ClassVar[bool] = True
    takes_decisions: ClassVar[bool] = True

    timeout_s: Timeout = 600.0
    service: Service = ""
    cache: Literal["", "30m", "12h"] = ""
    stream: bool = False

    @property
    def tier(self) -> str:
        """The slower and cheaper service that it orders; "" for the usual one."""
        return self.service

    def check(self) -> None:
        """Validate the fields before anything is sent.

        Raises:
            ConfigError: no name, no address, a key that is written out, or a parameter that is not one.
        """
        check_native(self, _OURS)
        if self.service and "service_tier" in self.parameters:
            raise ConfigError("service and a service_tier among the parameters: give one of them")
        if self.service in {"2h", "8h"} and self.stream:
            raise ConfigError(f"stream: a reply within the window of {self.service} is fetched when it is there")

    def request(self, messages: str | list[Message], parameters: Mapping[str, Any]) -> Request:
        """One POST to `/responses`, or to `/decisions` where the parameters ask questions."""
        turns, tokens = turns_and_tokens(messages)
        if questions := parameters.get(DECISIONS):
            asked = decision_body(self.name, turns, questions)
            return self.post(DECISIONS, asked, (tokens, 0), self.key_header())
        sent = merged(self.parameters, parameters)
        most = sent.pop("max_tokens", None)
        windowed = self.service in {"2h", "8h"}
        body: dict[str, Any] = {"model": self.name, "input": [*_input(turns)], "store": windowed}
        body |= _parameters(sent)
        if most is not None:
            body["max_output_tokens"] = most
        if not windowed:
            body["include"] = [*dict.fromkeys((*body.get("include", ()), "reasoning.encrypted_content"))]
        if self.cache:
            body["prompt_cache_options"] = {"mode": "explicit", "ttl": self.cache}
            _mark(body["input"])
        if windowed:
            body |= {"background": True, "background_options": {"completion_window": self.service}}
        elif self.service:
            body["service_tier"] = self.service
        return self.post("responses", body, (tokens, count_or_zero(most)), self.key_header(), self.service)

    async def send(self, request: Request, wire: Wire) -> Answer:
        """Send it once, and wait for a call in the background."""
        if is_decision(request):
            return await send_decision(request, wire)
        if self.stream:
            payload = request.payload[:-1] + b',"stream":true}'
            streamed = replace(request, payload=payload, watch=lambda: first_of(_spoken))
            return whole_answer(await wire.exchange(streamed), _joined)
        answer = await wire.exchange(request)
        if self.service not in {"2h", "8h"} or answer.status != 200:
            return answer
        clock = asyncio.get_running_loop().time
        until, wait_s = clock() + request.timeout_s, _POLL_S[0]
        while (place := _pending(answer, request)) is not None:
            if clock() + wait_s > until:
                raise Fault("timeout", f"still {place[1]} after the window of {self.service}", retry=False, billed=True)
            await asyncio.sleep(wait_s)
            wait_s = min(_POLL_S[1], wait_s * 1.5)
            answer = await wire.exchange(replace(request, method="GET", url=place[0], payload=b"", timeout_s=60.0))
        return answer

    def read(self, answer: Answer) -> Reply:
        """The text of the reply; what the model thought is in `metadata["reasoning"]`.

        Raises:
            Fault: a status that says so, no JSON, or a reply that failed, which comes with status 200.
        """
        if (decided := decision_in(answer)) is not None:
            return decided
        data = opened_answer(answer, "output") if not _has_failed(answer) else _failed(answer)
        if isinstance(data, Reply):
            return data
        if text_in(data, "status") in _PENDING:
            raise Fault("server", f"the reply is not there yet: {data['status']}", billed=True)
        return _reply(data, answer)


def _spoken(event: Any) -> bool:
    return str(mapping_or_empty(event).get("type")).endswith(".delta")


def _joined(events: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The whole reply, which the last event of a stream holds; None where it did not come."""
    whole = [mapping_or_empty(event.get("response")) for event in events if event.get("type") in _ENDS]
    return whole[-1] if whole else None


def _pending(answer: Answer, request: Request) -> tuple[str, str] | None:
    """Where to look for a call in the background, and its status; None where it has ended."""
    if answer.status != 200:
        return None
    data = mapping_or_empty(parse_json(answer))
    status, name = text_in(data, "status"), text_in(data, "id")
    if status not in _PENDING or not name.replace("_", "").replace("-", "").isalnum():
        return None
    return f"{request.url}/{name}", status


def _input(turns: list[MessageTurn]) -> Iterator[dict[str, Any]]:
    for turn in turns:
        yield from (dict(item) for item in turn.reasoning if isinstance(item, Mapping))
        if turn.role == "tool":
            yield {"type": "function_call_output", "call_id": turn.call_id, "output": turn.text}
            continue
        kind = "output_text" if turn.role == "assistant" else "input_text"
        if turn.parts:
            yield {"role": turn.role, "content": [_part(part, kind) for part in turn.parts]}
        for call in turn.calls:
            yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}


def _part(part: str | FilePart, kind: str) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": kind, "text": part}
    if part.is_image:
        return {"type": "input_image", "image_url": part.uri}
    return {"type": "input_file", "filename": part.name or "file.pdf", "file_data": part.uri}


def _mark(items: list[dict[str, Any]]) -> None:
    """Mark the end of what is alike in every call: the last system message before the first turn, or the question."""
    last = None
    for item in items[:-1]:  # of instructions alone the last one asks
        if item.get("role") != "system":
            break
        last = item
    if last is not None:
        last["content"][-1]["prompt_cache_breakpoint"] = {"mode": "explicit"}


def _parameters(sent: dict[str, Any]) -> dict[str, Any]:
    """Parameters of chat completions under the API's names; others as they are, which the API refuses by name."""
    body: dict[str, Any] = {}
    text = dict(mapping_or_empty(sent.pop("text", None)))
    reasoning = dict(mapping_or_empty(sent.pop("reasoning", None)))
    if (form := sent.pop("response_format", None)) is not None:
        name, schema, strict = schema_of(form)
        given: dict[str, Any] = {"type": "json_object"}
        if schema is not None:
            plain = closed(schema) if strict else schema
            given = {"type": "json_schema", "name": name, "schema": plain, "strict": bool(strict)}
        text["format"] = given
    if (verbosity := sent.pop("verbosity", None)) is not None:
        text["verbosity"] = verbosity
    if (effort := sent.pop("reasoning_effort", None)) is not None:
        reasoning["effort"] = effort
    if "tools" in sent:
        functions, others = tools_of(sent.pop("tools"))
        body["tools"] = [*({"type": "function", **_function(tool)} for tool in functions), *others]
    if (choice := sent.pop("tool_choice", None)) is not None:
        kind, named = tool_choice_of(choice)
        body["tool_choice"] = {"type": "function", "name": named} if named else kind
    if sent.pop("logprobs", False):
        body["include"] = [*sent.pop("include", ()), "message.output_text.logprobs"]
    return {**body, **sent, **({"text": text} if text else {}), **({"reasoning": reasoning} if reasoning else {})}


def _function(tool: Any) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": closed(tool.parameters) if tool.strict else tool.parameters,
        "strict": bool(tool.strict),
    }


def _has_failed(answer: Answer) -> bool:
    return answer.status == 200 and mapping_or_empty(parse_json(answer)).get("status") == "failed"


def _failed(answer: Answer) -> Reply:
    """The reply of a call that failed with status 200 because of a policy.

    Raises:
        Fault: it failed for another reason.
    """
    data = mapping_or_empty(parse_json(answer))
    error = error_body({"error": data.get("error") or {"message": "the reply failed, and no reason is given"}})
    code = error.codes[0] if error.codes else ""
    if code in _POLICY:
        return Reply("", "", "content_filter", metadata={"message": error.message, "stop_reason": code})
    if "image" in code:
        raise Fault("bad_request", f"status 200, but the reply failed: {error.message} ({code})", retry=False)
    if (fault := fault_in_body(ErrorBody(error.message, error.codes), answer)) is not None:
        raise fault
    return Reply("", "", "content_filter", metadata={"message": error.message})


def _reply(data: Mapping[str, Any], answer: Answer) -> Reply:
    items = items_of(data.get("output"))
    parts = _answer_parts(items)
    text = "".join(text_in(part) for part in parts if part.get("type") == "output_text")
    refusal = "".join(text_in(part, "refusal") for part in parts if part.get("type") == "refusal")
    calls = [
        CalledTool(str(item.get("call_id", "")), str(item.get("name", "")), text_in(item, key))
        for item in items
        if (key := _CALLS.get(text_in(item, "type")))
    ]
    thoughts = [item for item in items if item.get("type") == "reasoning"]
    reason = text_in(data.get("incomplete_details"), "reason")
    finish = "tool_calls" if calls else "stop"
    if data.get("status") == "incomplete":
        finish = _INCOMPLETE.get(reason, "length")
    elif refusal and (not text or parts[-1].get("type") == "refusal"):
        text, finish = text or refusal, "refusal"
    usage = _usage(mapping_or_empty(data.get("usage")), text)
    # A server that leaves the status out says with its usage or its output that the reply is whole.
    is_told = data.get("status") is not None or (usage.estimated and not data.get("output"))
    if is_told and text_in(data, "status") not in _WHOLE:
        raise Fault("malformed", f"the reply has the status {data.get('status')!r}: {quoted(answer.body)}", billed=True)
    return native_reply(
        answer,
        Said(
            text,
            finish,
            usage,
            calls=calls,
            reasoning="\n\n".join(filter(None, map(_thought, thoughts))),
            items=thoughts,
        ),
        {
            "model": data.get("model"),
            "logprobs": [entry for part in parts for entry in items_of(part.get("logprobs"))],
            "service_tier": _tier(data),
            "stop_reason": reason if reason not in {"max_output_tokens", "content_filter"} else "",
            "message": refusal if refusal != text else "",
        },
    )


def _answer_parts(items: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The parts of the answer; where the model comments on its own work, what it says last alone is the answer."""
    said = [item for item in items if item.get("type") == "message"]
    final = [item for item in said if item.get("phase") == "final_answer"]
    chosen = final if any(item.get("phase") for item in said) else said
    return [part for item in chosen for part in items_of(item.get("content"))]


def _thought(item: Mapping[str, Any]) -> str:
    return "\n\n".join(text_in(part) for part in (*items_of(item.get("summary")), *items_of(item.get("content"))))


def _tier(data: Mapping[str, Any]) -> str:
    """The tier or window that the reply names."""
    window = mapping_or_empty(data.get("background_options")).get("completion_window")
    return window if window in {"2h", "8h"} else tier_of(data.get("service_tier"))


def _usage(usage: Mapping[str, Any], text: str) -> Usage:
    read = mapping_or_empty(usage.get("input_tokens_details"))
    return usage_of(
        usage.get("input_tokens"),
        usage.get("output_tokens"),
        text,
        cache_read=read.get("cached_tokens"),
        cache_write=read.get("cache_write_tokens"),
        reasoning=mapping_or_empty(usage.get("output_tokens_details")).get("reasoning_tokens"),
    )
