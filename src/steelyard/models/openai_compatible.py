"""Calls any endpoint with OpenAI's chat completions: OpenAI, ZhipuAI, DeepSeek, Qwen, vLLM, Ollama, llama.cpp.

Source: OpenAI API reference, "Create chat completion"; fields that the others add (`reasoning_content`, `reasoning`)
are read where present. A thin client: the openai package costs 2.1 ms of CPU a call, this 0.2.

`Completions` continues a text: `/v1/completions` of vLLM, llama.cpp, TGI, SGLang and OpenAI's older models. It is used
for the likelihood of a text that was not generated: with `echo` and `logprobs` the endpoint gives every token of the
prompt with its log probability, which no chat endpoint does. Source: OpenAI API reference, "Create completion";
`prompt_logprobs` is vLLM's, see its "OpenAI-Compatible Server".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from math import exp, isfinite
from typing import Any, ClassVar, Final
from urllib.parse import quote

from steelyard.constraints import Amount
from steelyard.errors import ConfigError
from steelyard.models.base import (
    WITHOUT_TEXT,
    Answer,
    Fault,
    Request,
    Wire,
    as_messages,
    count_or_zero,
    finish_named,
    usage_of,
)
from steelyard.models.decisions import DECISIONS, decision_body, decision_in, is_decision, send_decision
from steelyard.models.endpoint import EndpointModel, check_truncation, most_tokens
from steelyard.models.faults import (
    check_finish,
    fault_of_error,
    filtered_reply,
    is_error,
    parse_json,
    quoted,
)
from steelyard.models.mismatches import keys_named, mismatch, said_nothing
from steelyard.models.native import items_of, turns_and_tokens
from steelyard.models.prices import PER
from steelyard.models.streaming import calls_in, completion_in, send_streamed, streamed_text
from steelyard.plain_json import mapping_or_empty
from steelyard.prompts.conversation import content_text, transcript_of
from steelyard.prompts.message_parts import has_other_parts
from steelyard.types import Message, Reply, Usage, estimate_tokens

_REMOVED: Final[Mapping[str, str]] = {
    "guided_json": "json",
    "guided_regex": "regex",
    "guided_choice": "choice",
    "guided_grammar": "grammar",
}
_BATCH_CHAT: Final = "//batch.dashscope"
"""DashScope's address for the same calls at half the price, which answers within an hour."""
_OTHER_PART: Final = {"message": "text", "text": "message"}
"""Where chat completions and completions have what was said; an address of one kind may be given for the other."""


def post(
    model: EndpointModel,
    path: str,
    body: Mapping[str, Any],
    input_tokens: int,
    api_version: str = "",
    service: str = "",
) -> Request:
    """One POST of a JSON body to `path` below the base address.

    Args:
        model: that is called.
        path: without a leading slash.
        body: as the endpoint wants it.
        input_tokens: an estimate.
        api_version: of Azure OpenAI; empty for every other endpoint.
        service: tier, for which an attempt may take longer.
    """
    tokens = (input_tokens, most_tokens(body))
    if not api_version:
        return model.post(path, body, tokens, model.key_header(), service)
    query = f"?api-version={quote(api_version, safe='')}"
    return model.post(f"{path}{query}", body, tokens, model.key_header("api-key", ""), service)


@dataclass(frozen=True, slots=True)
class OpenAICompatible(EndpointModel):
    """A model behind a chat-completions endpoint.

    Args:
        base_url: up to and without `/chat/completions`.
        parameters: sent with every call (`temperature`, `top_p`, `max_tokens`, `seed`, `response_format`,
            `logprobs`, ...); those of a single call win. Data: no `${NAME}` is resolved in it.
        stream: read replies as they arrive, and measure the time to the first token. The journal takes a streamed call
            and one that is not streamed for the same request.
        idle_s: longest silence within a stream, in seconds; 0: no limit, since a model that reasons may be silent for
            long.
        api_version: of Azure OpenAI, `2024-10-21`: sent as `?api-version=`, and the key in the header `api-key`. Empty
            for every other endpoint, and for Azure's own `/openai/v1`.
    """

    takes_decisions: ClassVar[bool] = True

    stream: bool = False
    idle_s: Amount = 0.0
    api_version: str = ""

    @property
    def tier(self) -> str:
        """The slower and cheaper service that its address or its `service_tier` orders; "" for the usual one."""
        if _BATCH_CHAT in self.base_url:
            return "batch"
        return "flex" if self.parameters.get("service_tier") == "flex" else ""

    def check(self) -> None:
        """Validate the fields before anything is sent.

        Raises:
            ConfigError: no address, a key that is written out, or a parameter that is not one.
        """
        self.check_fields(("messages", "model"))
        check_truncation(self.parameters)
        for name in self.parameters:
            if name in _REMOVED:
                form = f"structured_outputs: {{{_REMOVED[name]}: ...}}"
                raise ConfigError(f"parameters: vLLM ignores {name} without a word since 0.12: write {form}")
        for name in ("stream", "stream_options"):
            if self.parameters.get(name) or (self.stream and name in self.parameters):
                raise ConfigError(f"parameters must not contain {name!r}: write stream: true beside them")

    def request(self, messages: str | list[Message], parameters: Mapping[str, Any]) -> Request:
        """One POST to `/chat/completions`, or to `/decisions` where the parameters ask questions."""
        if questions := parameters.get(DECISIONS):
            asked, input_tokens = turns_and_tokens(messages)
            return post(self, DECISIONS, decision_body(self.name, asked, questions), input_tokens, self.api_version)
        turns = as_messages(messages)
        body = {"model": self.name, "messages": turns, **self.parameters, **parameters}
        tokens = sum(estimate_tokens(content_text(turn.get("content"))) for turn in turns)
        return post(self, "chat/completions", body, tokens, self.api_version, self.tier)

    async def send(self, request: Request, wire: Wire) -> Answer:
        """Send it once."""
        if is_decision(request):
            return await send_decision(request, wire)
        if not self.stream:
            return await wire.exchange(request)
        return await send_streamed(request, wire, idle_s=self.idle_s)

    def read(self, answer: Answer) -> Reply:
        """The first choice's message; of a stream with `ttft` in its metadata.

        Raises:
            Fault: a status that says so, no JSON, an error inside it, no choice and no content, or a stream that ended
                before the reply did.
        """
        if (decided := decision_in(answer)) is not None:
            return decided
        reply = read_completion(answer, streamed=self.stream)
        # DashScope's replies do not say that they are of the slower service: its address does.
        return replace(reply, metadata={**reply.metadata, "service_tier": "batch"}) if self.tier == "batch" else reply

    def expect_reply(self, reply: Reply, request: Request) -> None:
        """Refuse a whole reply that does not follow the `structured_outputs` of its call: vLLM ignores what it lost.

        Raises:
            Fault: what the reply should have been; not sent again.
        """
        if b'"structured_outputs"' in request.payload and reply.finish == "stop" and not _follows(reply, request):
            message = f"the endpoint ignored structured_outputs, and answered {quoted(reply.text)}"
            raise Fault("bad_request", message, retry=False, billed=True)


def _follows(reply: Reply, request: Request) -> bool:
    """Whether a reply is of the form that its call allows alone, as far as that can be told."""
    wanted = mapping_or_empty(mapping_or_empty(json.loads(request.payload)).get("structured_outputs"))
    if isinstance(choices := wanted.get("choice"), list):
        return reply.text in choices
    if isinstance(pattern := wanted.get("regex"), str):
        import re2  # type: ignore[import-untyped]

        try:
            return re2.fullmatch(pattern, reply.text) is not None
        except (re2.error, UnicodeEncodeError):
            return True  # look-around and back references, which cannot be checked in linear time
    if wanted.get("json") is None and not wanted.get("json_object"):
        return True
    try:
        json.loads(reply.text.encode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return False
    return True


def read_completion(answer: Answer, *, streamed: bool = False) -> Reply:
    """The reply in an answer of an OpenAI-compatible endpoint.

    Args:
        answer: the endpoint's answer.
        streamed: whether it may be a stream.

    Raises:
        Fault: see `OpenAICompatible.read`.
    """
    if (filtered := filtered_reply(answer)) is not None:
        return filtered
    if streamed and (text := streamed_text(answer)) is not None:
        return reply_of(completion_in(text, answer), answer)
    if not streamed and answer.body.startswith(b"data:"):
        message = f"a stream came that was not asked for; if it always does, write stream: true: {quoted(answer.body)}"
        raise mismatch(Fault("malformed", message, retry=False, billed=True), answer)
    return reply_of(parse_json(answer), answer)


def reply_of(data: Any, answer: Answer) -> Reply:
    """The reply in a chat completion.

    Args:
        data: the completion.
        answer: the answer that held it, for messages and the time to the first token.

    Raises:
        Fault: it is not a completion, is an error, or has no choice or no content.
    """
    choice = first_choice(data, answer)
    data = mapping_or_empty(data)
    message = mapping_or_empty(choice.get("message"))
    text = content_text(message.get("content"))
    # The finish reason in OpenAI's terms; "stop" where it is missing or not text.
    reason = choice.get("finish_reason")
    finish = finish_named(reason) if isinstance(reason, str) and reason else "stop"
    if not text and message.get("refusal"):
        text, finish = content_text(message["refusal"]), "refusal"
    # A model that is forced to call a tool (`tool_choice`) ends its reply with "stop".
    if message.get("content") is None and not calls_in(message) and finish not in WITHOUT_TEXT:
        raise said_nothing(Fault("empty", f"the reply has no content: {quoted(answer.body)}", billed=True))
    metadata = _metadata(data, choice, message)
    if answer.first_s is not None:
        metadata["ttft"] = round(answer.first_s, 4)
    return Reply("", text, finish, _usage(data, text), metadata=metadata)


def first_choice(data: Any, answer: Answer, part: str = "message") -> Mapping[str, Any]:
    """The first choice of a completion; an empty one where a content filter stopped the call.

    Args:
        data: the completion.
        answer: the answer that held it.
        part: the key of a choice that holds what was said.

    Raises:
        Fault: it is not a completion, has no choice, is an error, or was broken off by one.
    """
    if isinstance(data, list) and len(data) == 1:
        data = data[0]  # as Gemini's OpenAI-compatible endpoint writes an error
    if not isinstance(data, Mapping):
        message = f"status {answer.status}, but not a completion: {quoted(answer.body)}"
        raise mismatch(Fault("malformed", message, billed=True), answer)
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}
    if is_error(data) or choice.get("error"):
        if (fault := fault_of_error(data if is_error(data) else choice, answer)) is None:
            return {"message": {"content": ""}, "text": "", "finish_reason": "content_filter"}
        raise fault
    if not choice:
        raise _without("choices", data, answer)
    check_finish(choice.get("finish_reason"), answer)
    if part not in choice and _OTHER_PART[part] in choice:
        raise _without(f"choices[0].{part}", data, answer)
    return choice


def _without(path: str, data: Mapping[str, Any], answer: Answer) -> Fault:
    """The fault of a completion without a part; a list of choices that is there and empty passes."""
    message = f"the reply (status {answer.status}) has no {path}; {keys_named((data,))}: {quoted(answer.body)}"
    fault = Fault("empty", message, billed=True)
    return said_nothing(fault) if "choices" in data and path == "choices" else mismatch(fault, answer)


def _usage(data: Mapping[str, Any], text: str) -> Usage:
    """The counts, of which DeepSeek and SGLang have some under keys of their own.

    xAI leaves the tokens of its reasoning out of `completion_tokens`, but not out of the total.
    """
    usage = mapping_or_empty(data.get("usage"))
    read = mapping_or_empty(usage.get("prompt_tokens_details"))
    thought = mapping_or_empty(usage.get("completion_tokens_details"))
    tokens_in, tokens_out = usage.get("prompt_tokens"), usage.get("completion_tokens")
    reasoning = count_or_zero(thought.get("reasoning_tokens") or usage.get("reasoning_tokens"))
    with_reasoning = count_or_zero(tokens_out) + reasoning
    if reasoning and usage.get("total_tokens") == count_or_zero(tokens_in) + with_reasoning:
        tokens_out = with_reasoning
    return usage_of(
        tokens_in,
        tokens_out,
        text,
        cache_read=read.get("cached_tokens") or usage.get("prompt_cache_hit_tokens"),
        cache_write=read.get("cache_write_tokens"),
        reasoning=reasoning,
    )


def token_probabilities(listed: Any) -> Iterator[tuple[str, float]]:
    """Text and probability of each token in a list of `logprobs`; what cannot be read is left out."""
    for entry in items_of(listed):
        text, logprob = entry.get("token"), entry.get("logprob")
        if not isinstance(text, str) or isinstance(logprob, bool) or not isinstance(logprob, int | float):
            continue
        with suppress(OverflowError):  # an integer beyond the range of floats
            if isfinite(logprob):
                yield text, exp(min(0.0, logprob))


def tier_of(value: Any) -> str:
    """The tier of service that an answer names, where it is not the usual one.

    >>> tier_of("flex"), tier_of("default"), tier_of(None)
    ('flex', '', '')
    """
    tier = value.lower() if isinstance(value, str) else ""
    return "" if tier in {"auto", "default", "standard", "unspecified"} else tier


def stated_cost(value: Any) -> float | None:
    """What a provider says that a call cost, such as OpenRouter's `usage.cost`; None where it says nothing."""
    return float(value) if type(value) in {int, float} and 0 <= value < PER else None


def _metadata(data: Mapping[str, Any], choice: Mapping[str, Any], message: Mapping[str, Any]) -> dict[str, Any]:
    cost = stated_cost(mapping_or_empty(data.get("usage")).get("cost"))
    details = (
        ("model", data.get("model")),
        ("reasoning", message.get("reasoning_content") or message.get("reasoning")),
        ("logprobs", mapping_or_empty(choice.get("logprobs")).get("content")),
        ("tool_calls", calls_in(message)),
        ("fingerprint", data.get("system_fingerprint")),
        ("service_tier", tier_of(data.get("service_tier"))),
        ("provider", data.get("provider")),
        ("cost", cost),
        ("provider_cost", cost),
    )
    return {name: value for name, value in details if value}


@dataclass(frozen=True, slots=True)
class Completions(EndpointModel):
    """A model behind a completions endpoint.

    Args:
        base_url: up to and without `/completions`.
        parameters: sent with every call (`temperature`, `max_tokens`, `stop`, `seed`, ...); those of a single call win.
            Data: no `${NAME}` is resolved in it.
        api_version: of Azure OpenAI, `2024-10-21`: sent as `?api-version=`, and the key in the header `api-key`. Empty
            for every other endpoint, and for Azure's own `/openai/v1`.
    """

    completes: ClassVar[bool] = True

    api_version: str = ""

    def check(self) -> None:
        """Validate the fields before anything is sent.

        Raises:
            ConfigError: no address, a key that is written out, or a parameter that is not one.
        """
        self.check_fields(("prompt", "model", "stream", "n", "best_of"))

    def request(self, messages: str | list[Message], parameters: Mapping[str, Any]) -> Request:
        """One POST to `/completions`; the contents of messages are joined by blank lines."""
        prompt = prompt_of(messages)
        body = {"model": self.name, "prompt": prompt, **self.parameters, **parameters}
        return post(self, "completions", body, estimate_tokens(prompt), self.api_version)

    def read(self, answer: Answer) -> Reply:
        """The first choice's text; its tokens, where the endpoint gives them, are in `metadata["tokens"]`.

        Raises:
            Fault: a status that says so, no JSON, an error inside it, or no choice.
        """
        if (filtered := filtered_reply(answer)) is not None:
            return filtered
        completion = parse_json(answer)
        choice = first_choice(completion, answer, "text")
        data = mapping_or_empty(completion)
        text = choice.get("text")
        if not isinstance(text, str):
            raise Fault("empty", f"the reply has no text: {quoted(answer.body)}", billed=True)
        finish = choice.get("finish_reason")
        details = {
            "model": data.get("model"),
            "tokens": _tokens_of(choice.get("logprobs")),
            "prompt_tokens": _prompt_tokens(choice.get("prompt_logprobs") or data.get("prompt_logprobs")),
            "top": _first_top(choice.get("logprobs")),
            "fingerprint": data.get("system_fingerprint"),
        }
        metadata = {name: value for name, value in details.items() if value}
        finish = finish_named(finish) if isinstance(finish, str) and finish else "stop"
        return Reply("", text, finish, _usage(data, text), metadata=metadata)


def prompt_of(messages: str | list[Message]) -> str:
    r"""The prompt to continue; a conversation with answers becomes a transcript.

    Raises:
        ConfigError: a part that is not text, such as an image, which has no place in it.

    >>> prompt_of([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}])
    'Be brief.\n\nWhy?'
    """
    if isinstance(messages, str):
        return messages
    if any(has_other_parts(message.get("content")) for message in messages):
        raise ConfigError("a completions endpoint takes text only, but a message has a part that is not text")
    if all(message.get("role") in {"system", "user"} for message in messages):
        return "\n\n".join(content_text(message.get("content")) for message in messages)
    return transcript_of(messages)


def _tokens_of(logprobs: Any) -> list[list[Any]]:
    """(text, log probability, offset) of every token, those of an echoed prompt first; the offset may be None."""
    columns = mapping_or_empty(logprobs)
    tokens, values = columns.get("tokens"), columns.get("token_logprobs")
    if not isinstance(tokens, list) or not isinstance(values, list) or len(tokens) != len(values):
        return []
    offsets = columns.get("text_offset")
    places = offsets if isinstance(offsets, list) and len(offsets) == len(tokens) else [None] * len(tokens)
    return [list(entry) for entry in zip(tokens, values, places, strict=True)]


def _prompt_tokens(logprobs: Any) -> list[list[Any]]:
    """(text, log probability, None) of every token of the prompt, as vLLM lists them; the first has no probability.

    Each entry maps token ids to the candidates for a position; the actual token comes first.
    """
    if not isinstance(logprobs, list):
        return []
    actual = [next(iter(entry.values()), None) if isinstance(entry, Mapping) else None for entry in logprobs]
    entries = [mapping_or_empty(entry) for entry in actual]
    return [[entry.get("decoded_token"), entry.get("logprob"), None] for entry in entries]


def _first_top(logprobs: Any) -> list[dict[str, Any]]:
    """The candidates for the first generated token, in the form of a chat endpoint."""
    top = mapping_or_empty(logprobs).get("top_logprobs")
    candidates = mapping_or_empty(top[0] if isinstance(top, list) and top else None)
    return [{"token": token, "logprob": value} for token, value in candidates.items()]
