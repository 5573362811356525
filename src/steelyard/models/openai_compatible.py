"""Calls any endpoint with OpenAI's chat completions: OpenAI, ZhipuAI, DeepSeek, Qwen, vLLM, Ollama, llama.cpp.

Source: OpenAI API reference, "Create chat completion"; fields that the others add (`reasoning_content`, `reasoning`)
are read where present. A thin client: the openai package costs 2.1 ms of CPU a call, this 0.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol
from urllib.parse import quote, urlsplit

from steelyard.constraints import Amount, Timeout
from steelyard.errors import ConfigError
from steelyard.models.base import (
    SLOW_S,
    WITHOUT_TEXT,
    Answer,
    CallParameters,
    Fault,
    Request,
    Wire,
    as_messages,
    endpoint_of,
    finish_named,
    usage_of,
)
from steelyard.models.connection import check_connection
from steelyard.models.decisions import DECISIONS, decision_body, decision_in, is_decision, send_decision
from steelyard.models.faults import (
    check_finish,
    fault_of_error,
    filtered_reply,
    is_error,
    parse_json,
    quoted,
)
from steelyard.models.json_bodies import encode_body, mapping_or_empty, parse_body
from steelyard.models.mismatches import keys_named, mismatch, said_nothing
from steelyard.models.prices import PER
from steelyard.models.references import check_key, check_secrets, masked
from steelyard.models.streaming import completion_in, send_streamed, streamed_text
from steelyard.models.turns import turns_of
from steelyard.prompts.conversation import content_text
from steelyard.types import Message, Reply, Usage, estimate_tokens

_KEY: Final = ("Authorization", "Bearer ")
_AZURE_KEY: Final = ("api-key", "")
_REMOVED: Final[Mapping[str, str]] = {
    "guided_json": "json",
    "guided_regex": "regex",
    "guided_choice": "choice",
    "guided_grammar": "grammar",
}
_BATCH_CHAT: Final = "//batch.dashscope"
"""DashScope's address for the same calls at half the price, which answers within an hour."""
TRUNCATES: Final[Mapping[str, Callable[[Any], bool]]] = {
    "truncation": lambda value: value != "disabled",
    "truncate_prompt_tokens": lambda value: value is not None,
    "transforms": bool,
    "truncate": bool,
    "shift": bool,
}
"""Parameters with which an endpoint drops a part of the prompt and answers as if nothing were missing."""
_OTHER_PART: Final = {"message": "text", "text": "message"}
"""Where chat completions and completions have what was said; an address of one kind may be given for the other."""


class Endpoint(Protocol):
    """Fields that all models behind HTTP endpoints of a provider share."""

    @property
    def base_url(self) -> str:
        """The address without the path of a call."""

    @property
    def api_key(self) -> str:
        """A reference, or empty."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Sent with every call."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Sent with every call."""

    @property
    def timeout_s(self) -> float:
        """Limit of one attempt, in seconds."""

    @property
    def proxy(self) -> str:
        """See `models.connection`."""

    @property
    def ca_file(self) -> Path | None:
        """Certificates that are trusted as well."""


class AzureEndpoint(Endpoint, Protocol):
    """The same with the field of Azure OpenAI, whose endpoints are OpenAI-compatible."""

    @property
    def api_version(self) -> str:
        """Of Azure OpenAI, or empty."""


def check_endpoint(model: Endpoint, reserved: Iterable[str]) -> None:
    """Validate the fields before anything is sent.

    Args:
        model: its fields.
        reserved: keys of the body that parameters may not set.

    Raises:
        ConfigError: no address, a key that is written out, or a parameter that is not one.
    """
    parts = urlsplit(model.base_url)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise ConfigError(f"base_url {masked(model.base_url)!r} is not an http(s) address")
    check_key(model.api_key)
    check_connection(model.proxy, model.ca_file)
    check_secrets(model.base_url, model.headers)
    if parts.query or parts.fragment:
        raise ConfigError("base_url ends before the `?`: api-version has a key of its own, api_version")
    for name in reserved:
        if name in model.parameters:
            raise ConfigError(f"parameters must not contain {name!r}")


def check_truncation(parameters: Mapping[str, Any]) -> None:
    """Refuse parameters that let an endpoint shorten the prompt.

    Raises:
        ConfigError: which, and what happens without it.
    """
    for name, shortens in TRUNCATES.items():
        if name in parameters and shortens(parameters[name]):
            raise ConfigError(
                f"parameters: {name} lets the endpoint drop a part of a long prompt and answer the rest: remove it; "
                "then a prompt that is too long is an error of its sample"
            )


def post(model: AzureEndpoint, path: str, body: Mapping[str, Any], input_tokens: int) -> Request:
    """One POST of a JSON body to `path` below the base address."""
    endpoint, url = _address(model.base_url, path, model.api_version)
    return Request(
        endpoint=endpoint,
        url=url,
        payload=encode_body(body),
        headers=_headers(_AZURE_KEY if model.api_version else _KEY, model.api_key, tuple(model.headers.items())),
        timeout_s=model.timeout_s,
        input_tokens=input_tokens,
        output_tokens=most_tokens(body),
        proxy=model.proxy,
        ca_file=str(model.ca_file or ""),
    )


def most_tokens(body: Mapping[str, Any]) -> int:
    """The most tokens that a reply to `body` may have; 0 where it sets no limit.

    >>> most_tokens({"max_tokens": 9}), most_tokens({"max_completion_tokens": 5}), most_tokens({})
    (9, 5, 0)
    """
    limit = body.get("max_completion_tokens", body.get("max_tokens"))
    return limit if type(limit) is int and limit > 0 else 0


@lru_cache(maxsize=256)
def _address(base_url: str, path: str, api_version: str) -> tuple[str, str]:
    """Endpoint and whole address of a call."""
    return endpoint_of(base_url), f"{base_url.rstrip('/')}/{path}{_query(api_version)}"


@lru_cache(maxsize=256)
def _headers(form: tuple[str, str], api_key: str, headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    key = ((form[0], f"{form[1]}{api_key}"),) if api_key else ()
    return (("Content-Type", "application/json"), *key, *headers)


def _query(api_version: str) -> str:
    return f"?api-version={quote(api_version, safe='')}" if api_version else ""


@dataclass(frozen=True, slots=True)
class OpenAICompatible:
    """A model behind a chat-completions endpoint.

    Args:
        name: the model's name, as the endpoint knows it.
        base_url: up to and without `/chat/completions`.
        api_key: a reference, `"${NAME}"`; empty if the endpoint needs none.
        parameters: sent with every call (`temperature`, `top_p`, `max_tokens`, `seed`, `response_format`,
            `logprobs`, ...); those of a single call win. Data: no `${NAME}` is resolved in it.
        headers: sent with every call; values may hold `${NAME}`.
        timeout_s: limit of one attempt, in seconds.
        stream: read replies as they arrive, and measure the time to the first token. The journal takes a streamed call
            and one that is not streamed for the same request.
        idle_s: longest silence within a stream, in seconds; 0: no limit, since a model that reasons may be silent for
            long.
        api_version: of Azure OpenAI, `2024-10-21`: sent as `?api-version=`, and the key in the header `api-key`. Empty
            for every other endpoint, and for Azure's own `/openai/v1`.
        proxy: `http://user:${PASSWORD}@host:3128`; `none` connects directly; empty follows the environment.
        ca_file: certificates in PEM form that are trusted as well as the system's.
    """

    takes_decisions: ClassVar[bool] = True

    name: str
    base_url: str = "https://api.openai.com/v1"
    api_key: str = ""
    parameters: CallParameters = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout_s: Timeout = 120.0
    stream: bool = False
    idle_s: Amount = 0.0
    api_version: str = ""
    proxy: str = ""
    ca_file: Path | None = None

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
        check_endpoint(self, ("messages", "model"))
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
        turns = as_messages(messages)
        if questions := parameters.get(DECISIONS):
            asked = turns_of(turns)
            body = decision_body(self.name, asked, questions)
            return post(self, DECISIONS, body, sum(estimate_tokens(turn.text) for turn in asked))
        body = {"model": self.name, "messages": turns, **self.parameters, **parameters}
        tokens = sum(estimate_tokens(content_text(turn.get("content"))) for turn in turns)
        request = post(self, "chat/completions", body, tokens)
        slow_s = SLOW_S.get(self.tier, 0.0)
        return replace(request, timeout_s=max(self.timeout_s, slow_s), total_s=slow_s) if slow_s else request

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
    wanted = mapping_or_empty(mapping_or_empty(parse_body(request.payload)).get("structured_outputs"))
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
        parse_body(reply.text.encode("utf-8", "surrogatepass"))
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
    finish = _finish(choice)
    if not text and message.get("refusal"):
        text, finish = content_text(message["refusal"]), "refusal"
    # A model that is forced to call a tool (`tool_choice`) ends its reply with "stop".
    if message.get("content") is None and not message.get("tool_calls") and finish not in WITHOUT_TEXT:
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


def _finish(choice: Mapping[str, Any]) -> str:
    """The finish reason in OpenAI's terms; "stop" where it is missing or not text."""
    reason = choice.get("finish_reason")
    return finish_named(reason) if isinstance(reason, str) and reason else "stop"


def _usage(data: Mapping[str, Any], text: str) -> Usage:
    """The counts, of which DeepSeek and SGLang have some under keys of their own."""
    usage = mapping_or_empty(data.get("usage"))
    read = mapping_or_empty(usage.get("prompt_tokens_details"))
    thought = mapping_or_empty(usage.get("completion_tokens_details"))
    return usage_of(
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
        text,
        cache_read=read.get("cached_tokens") or usage.get("prompt_cache_hit_tokens"),
        cache_write=read.get("cache_write_tokens"),
        reasoning=thought.get("reasoning_tokens") or usage.get("reasoning_tokens"),
    )


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
        ("tool_calls", message.get("tool_calls")),
        ("fingerprint", data.get("system_fingerprint")),
        ("service_tier", tier_of(data.get("service_tier"))),
        ("provider", data.get("provider")),
        ("cost", cost),
        ("provider_cost", cost),
    )
    return {name: value for name, value in details if value}
