"""Calls Gemini over Google's generateContent.

Source: Gemini API reference, "Generating content"; the types of the package google-genai 3.6.1.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, ClassVar, Final, Literal
from urllib.parse import quote

from steelyard.constraints import Timeout
from steelyard.errors import ConfigError
from steelyard.models.base import Answer, Fault, Request, Wire, count_or_zero, encode_body, usage_of
from steelyard.models.decisions import DECISIONS, decision_in, gemini_decision_body, is_decision, send_decision
from steelyard.models.endpoint import EndpointModel
from steelyard.models.faults import parse_json, quoted
from steelyard.models.native import (
    CalledTool,
    FilePart,
    MessageTurn,
    Said,
    check_native,
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

_CONFIG: Final[Mapping[str, str]] = {
    "max_tokens": "maxOutputTokens",
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "seed": "seed",
    "frequency_penalty": "frequencyPenalty",
    "presence_penalty": "presencePenalty",
    "logprobs": "responseLogprobs",
    "top_logprobs": "logprobs",
}
_BESIDE: Final = frozenset({"safetySettings", "toolConfig", "cachedContent", "serviceTier", "store", "labels"})
"""Keys of the body that do not belong to `generationConfig`."""
_CHOICES: Final[Mapping[str, str]] = {"auto": "AUTO", "none": "NONE", "required": "ANY", "named": "ANY"}
_FINISHES: Final[Mapping[str, str]] = {"STOP": "stop", "MAX_TOKENS": "length", "CONTINUATION": "length"}
_FILTERED: Final = frozenset(
    {
        *("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "MODEL_ARMOR", "ESCALATION"),
        *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
    }
)
_UNREADABLE: Final = frozenset(
    {
        *("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE"),
        *("MALFORMED_RESPONSE", "OTHER"),
    }
)
_CONTINUATION: Final = "CONTINUATION"
_MOST_PARTS: Final = 16
"""Calls that a reply may take which the provider cuts at its own limit."""
_CONTINUED: Final = "continued"


@dataclass(frozen=True, slots=True)
class Gemini(EndpointModel):
    """A Gemini model behind Google's generateContent.

    Args:
        name: the model's name: `gemini-3-flash`.
        base_url: up to and without `/models`; `https://generativelanguage.googleapis.com/v1` takes no `-latest` names.
        api_key: a reference, `"${GEMINI_API_KEY}"`, sent as `x-goog-api-key`.
        parameters: sent with every call, in the names of chat completions (`max_tokens`, `temperature`, `stop`,
            `tools`, `response_format`, `reasoning_effort`, `logprobs`) or of the API itself (`thinkingConfig`,
            `safetySettings`).
        service: `flex`: slower, at a lower price. The reply is priced by the tier that the provider names.
        stream: read replies as they arrive, so that no proxy ends the silent connection of a long call, and measure the
            time to the first token. The journal takes a streamed call and one that is not for the same request.
    """

    limits_thinking: ClassVar[bool] = True
    takes_decisions: ClassVar[bool] = True

    base_url: str = "https://generativelanguage.googleapis.com/v1beta"
    timeout_s: Timeout = 600.0
    service: Literal["", "flex"] = ""
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
        check_native(self, ("contents", "systemInstruction", "generationConfig", "continuationToken"))
        if self.service and "serviceTier" in self.parameters:
            raise ConfigError("service and a serviceTier among the parameters: give one of them")

    def request(self, messages: str | list[Message], parameters: Mapping[str, Any]) -> Request:
        """One POST to `/models/NAME:generateContent`, or to `/decisions` where the parameters ask questions."""
        turns, tokens = turns_and_tokens(messages)
        key = self.key_header("x-goog-api-key", "")
        if questions := parameters.get(DECISIONS):
            asked = gemini_decision_body(self.name, turns, questions)
            return self.post(DECISIONS, asked, (tokens, 0), key)
        system, turns = without_system(turns)
        sent = merged(self.parameters, parameters)
        most = count_or_zero(sent.get("max_tokens"))
        body: dict[str, Any] = {"contents": [*_contents(turns)], **_parameters(sent)}
        if system:
            body["systemInstruction"] = {"parts": [{"text": system}]}
        if self.service:
            body["serviceTier"] = self.service
        path = f"models/{quote(self.name.removeprefix('models/'), safe='')}:generateContent"
        return self.post(path, body, (tokens, most), key, self.service)

    async def send(self, request: Request, wire: Wire) -> Answer:
        """Send it, and again for as long as the provider cuts the reply at its own limit and says how to go on."""
        if is_decision(request):
            return await send_decision(request, wire)
        if self.stream:
            url = request.url.replace(":generateContent", ":streamGenerateContent?alt=sse")
            request = replace(request, url=url, watch=lambda: first_of(_spoken))
        answer = whole_answer(await wire.exchange(request), _joined)
        bodies = [answer.body]
        while (token := _continuation(answer)) and len(bodies) < _MOST_PARTS:
            payload = request.payload[:-1] + b"," + encode_body({"continuationToken": token})[1:]
            answer = whole_answer(await wire.exchange(replace(request, payload=payload)), _joined)
            if answer.status != 200:
                return answer
            bodies.append(answer.body)
        if len(bodies) == 1:
            return answer
        return replace(answer, body=b'{"%s":[%s]}' % (_CONTINUED.encode(), b",".join(bodies)))

    def read(self, answer: Answer) -> Reply:
        """The text of the reply; what the model thought is in `metadata["reasoning"]`.

        Raises:
            Fault: a status that says so, no JSON, or a reply that cannot be read by its own account.
        """
        if (decided := decision_in(answer)) is not None:
            return decided
        try:
            if answer.status == 200 and _CONTINUED in (data := mapping_or_empty(parse_json(answer))):
                return _reply(items_of(data[_CONTINUED]), answer)
            # The key that the answer must have: a prompt that was blocked brings no candidates.
            is_blocked = b'"blockReason"' in answer.body and b'"candidates"' not in answer.body
            opened = opened_answer(answer, ("promptFeedback" if is_blocked else "candidates"))
        except Fault as fault:
            if fault.kind == "rate_limit" and b"limit: 0" in answer.body:
                # No quota at all for this model, which no waiting changes.
                raise Fault("quota", fault.message, retry=False, ends_run=True) from fault
            raise
        return opened if isinstance(opened, Reply) else _reply([opened], answer)


def _spoken(chunk: Any) -> bool:
    return bool(_parts_of(_candidate(mapping_or_empty(chunk))))


def _joined(chunks: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The reply that the chunks of a stream are parts of; None where the last of them did not come."""
    whole: dict[str, Any] = {}
    first: dict[str, Any] = {}
    parts: list[Mapping[str, Any]] = []
    logprobs: dict[str, list[Any]] = {}
    for chunk in chunks:
        candidate = _candidate(chunk)
        parts += _parts_of(candidate)
        for name, entries in mapping_or_empty(candidate.get("logprobsResult")).items():
            logprobs.setdefault(name, []).extend(items_of(entries))
        first |= candidate
        whole |= chunk
    if first:
        first |= {"content": {"parts": parts}, **({"logprobsResult": logprobs} if logprobs else {})}
        whole["candidates"] = [first]
    is_whole = bool(first.get("finishReason") or mapping_or_empty(whole.get("promptFeedback")).get("blockReason"))
    return whole if is_whole else None


def _continuation(answer: Answer) -> str:
    """What to send for the rest of a reply that was cut; "" where it is whole."""
    if answer.status != 200 or b"CONTINUATION" not in answer.body:
        return ""
    candidate = _candidate(mapping_or_empty(parse_json(answer)))
    return text_in(candidate, "continuationToken") if candidate.get("finishReason") == _CONTINUATION else ""


def _candidate(data: Mapping[str, Any]) -> Mapping[str, Any]:
    return next(iter(items_of(data.get("candidates"))), {})


def _parts_of(candidate: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return items_of(mapping_or_empty(candidate.get("content")).get("parts"))


def _contents(turns: list[MessageTurn]) -> Iterator[dict[str, Any]]:
    """The turns; the results of several tools are one message."""
    for is_result, group in groupby(turns, lambda turn: turn.role == "tool"):
        if is_result:
            yield {"role": "user", "parts": [_result(turn) for turn in group]}
            continue
        for turn in group:
            parts = [*map(_part, turn.parts), *map(_call, turn.calls)]
            yield {"role": "model" if turn.role == "assistant" else "user", "parts": parts}


def _result(turn: MessageTurn) -> dict[str, Any]:
    if not turn.tool:
        raise ConfigError("the result of a tool needs its name, or the call that it is of before it")
    call = {"id": turn.call_id} if turn.call_id else {}
    return {"functionResponse": {**call, "name": turn.tool, "response": {"result": turn.text}}}


def _part(part: str | FilePart) -> dict[str, Any]:
    return {"text": part} if isinstance(part, str) else {"inlineData": {"mimeType": part.media, "data": part.data}}


def _call(call: CalledTool) -> dict[str, Any]:
    part: dict[str, Any] = {"functionCall": {"name": call.name, "args": call.parsed()}}
    if call.id:
        part["functionCall"]["id"] = call.id
    return {**part, "thoughtSignature": call.signature} if call.signature else part


def _parameters(sent: dict[str, Any]) -> dict[str, Any]:
    """Parameters of chat completions under the API's names; others as they are, which the API refuses by name."""
    body = {name: sent.pop(name) for name in tuple(sent) if name in _BESIDE}
    settings: dict[str, Any] = {_CONFIG[name]: sent.pop(name) for name in tuple(sent) if name in _CONFIG}
    thinking = dict(mapping_or_empty(sent.pop("thinkingConfig", None)))
    if stop := sent.pop("stop", None):
        settings["stopSequences"] = [stop] if isinstance(stop, str) else stop
    if (form := sent.pop("response_format", None)) is not None:
        _, schema, _ = schema_of(form)
        settings["responseMimeType"] = "application/json"
        if schema is not None:
            settings["responseJsonSchema"] = schema
    if (effort := sent.pop("reasoning_effort", None)) == "none":
        thinking["thinkingBudget"] = 0
    elif effort is not None:
        thinking["thinkingLevel"] = str(effort).upper()
    if "tools" in sent:
        functions, others = tools_of(sent.pop("tools"))
        own = [
            {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}
            for tool in functions
        ]
        body["tools"] = [*([{"functionDeclarations": own}] if own else []), *others]
    if (choice := sent.pop("tool_choice", None)) is not None:
        kind, named = tool_choice_of(choice)
        calling = {"mode": _CHOICES.get(kind, kind), **({"allowedFunctionNames": [named]} if named else {})}
        body["toolConfig"] = {"functionCallingConfig": calling}
    settings |= {**sent, **({"thinkingConfig": thinking} if thinking else {})}
    return {**body, **({"generationConfig": settings} if settings else {})}


def _reply(answers: list[Mapping[str, Any]], answer: Answer) -> Reply:
    """The reply in one answer, or in several that are each other's continuation."""
    last = answers[-1]
    candidates = [_candidate(data) for data in answers]
    reason = str(candidates[-1].get("finishReason") or "STOP")
    blocked = mapping_or_empty(last.get("promptFeedback")).get("blockReason")
    parts = [part for candidate in candidates for part in _parts_of(candidate)]
    text = "".join(text_in(part) for part in parts if not part.get("thought"))
    calls = [
        CalledTool(
            str(call.get("id") or f"call_{at}"),
            str(call.get("name", "")),
            json.dumps(call.get("args") or {}, ensure_ascii=False),
            text_in(part, "thoughtSignature"),
        )
        for at, part in enumerate(parts)
        if (call := mapping_or_empty(part.get("functionCall")))
    ]
    if reason in _UNREADABLE and not (blocked or text or calls):
        why = text_in(candidates[-1], "finishMessage") or quoted(answer.body)
        raise Fault("empty", f"the reply ended with {reason}: {why}", billed=True)
    # What came before the model broke off is a part of the reply, and no more whole than one that was too long.
    named = _FINISHES.get(reason, "length" if reason in _UNREADABLE else reason.lower())
    finish = "content_filter" if blocked or reason in _FILTERED else named
    return native_reply(
        answer,
        Said(
            text,
            "tool_calls" if calls and finish == "stop" else finish,
            _summed([_usage(mapping_or_empty(data.get("usageMetadata")), text) for data in answers]),
            calls=calls,
            reasoning="".join(text_in(part) for part in parts if part.get("thought")),
        ),
        {
            "model": last.get("modelVersion"),
            "logprobs": _logprobs(candidates[-1].get("logprobsResult")),
            "service_tier": tier_of(mapping_or_empty(last.get("usageMetadata")).get("serviceTier")),
            "stop_reason": str(blocked or (reason if reason not in {"STOP", "MAX_TOKENS"} else "")),
        },
    )


def _usage(usage: Mapping[str, Any], text: str) -> Usage:
    """The counts; what the model thought is counted beside what it said."""
    if type(asked := usage.get("promptTokenCount")) is not int:
        return usage_of(None, None, text)
    thought = count_or_zero(usage.get("thoughtsTokenCount"))
    return usage_of(
        asked + count_or_zero(usage.get("toolUsePromptTokenCount")),
        count_or_zero(usage.get("candidatesTokenCount")) + thought,
        text,
        cache_read=usage.get("cachedContentTokenCount"),
        reasoning=thought,
    )


def _summed(usages: list[Usage]) -> Usage:
    """The counts of all calls of a reply: each is billed."""
    names = ("input_tokens", "output_tokens", "cache_read", "reasoning")
    total = {name: sum(getattr(usage, name) for usage in usages) for name in names}
    return Usage(**total, estimated=any(usage.estimated for usage in usages))


def _logprobs(result: Any) -> list[dict[str, Any]]:
    """The probabilities of the tokens in the form of chat completions."""
    chosen = items_of(mapping_or_empty(result).get("chosenCandidates"))
    top = items_of(mapping_or_empty(result).get("topCandidates"))
    entries: list[dict[str, Any]] = []
    for at, token in enumerate(chosen):
        others = items_of(top[at].get("candidates")) if at < len(top) else []
        entries.append({**_token(token), "top_logprobs": [_token(other) for other in others]})
    return entries


def _token(candidate: Mapping[str, Any]) -> dict[str, Any]:
    return {"token": text_in(candidate, "token"), "logprob": candidate.get("logProbability")}
