"""Any JSON endpoint as a model: a typed template of the body, and JMESPath expressions for what comes back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Literal
from urllib.parse import quote, urlsplit

from steelyard.errors import ConfigError, did_you_mean, expect_number
from steelyard.models.base import Answer, Request, Wire, as_messages, endpoint_of
from steelyard.models.faults import error_of, fault_of, is_content_filter
from steelyard.models.openai_endpoint import most_tokens
from steelyard.models.presets import PRESETS, Preset
from steelyard.models.references import check_secrets, check_sent
from steelyard.models.response import ResponseMap, reply_in, watch_for
from steelyard.text.plain_json import plain
from steelyard.text.prompt_files import content_text
from steelyard.text.secret_signs import masked
from steelyard.text.template import check_names, fill, lookup, names_in, render
from steelyard.text.token_estimate import estimate_tokens
from steelyard.types import Json, Message, Reply

PresetName = Literal["", "chatchat-0.2", "chatchat-0.3", "zhipu", "openai"]
MESSAGE_NAMES: Final = ("prompt", "system", "history", "messages")
"""What the messages of a call give to the body."""

_SENT_ALWAYS: Final = (("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream"))


@dataclass(frozen=True, slots=True)
class HttpModel:
    """A model behind an address of its own kind.

    What a preset says is filled in when the object is made, so that its fields, and with them the manifest, show the
    whole call whatever a later version's presets say.

    Args:
        url: where the call goes; placeholders behind the host are filled percent-encoded. With a preset the path may
            be left out.
        preset: a known service: `chatchat-0.2`, `chatchat-0.3`, `zhipu` or `openai`.
        method: the HTTP method.
        headers: sent with every call; keys only as `"Bearer ${NAME}"`.
        body: over the preset's, key by key. A value that is only `{{prompt}}` keeps its JSON type. There are
            `{{prompt}}` (the last message of the user), `{{system}}`, `{{history}}` (the other messages),
            `{{messages}}` (all of them) and the names in `parameters`.
        response: how the answer is read.
        parameters: values for further placeholders; those of a single call win. A parameter of a call that no
            placeholder asks for is not sent.
        timeout_s: limit of one attempt, in seconds.
        accept_status: statuses besides 2xx whose body is a reply.
    """

    url: str = ""
    preset: PresetName = ""
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    response: ResponseMap = ResponseMap()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    timeout_s: float = 120.0
    accept_status: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.preset:
            return
        if self.preset not in PRESETS:
            raise ConfigError(f"there is no preset {self.preset!r}{did_you_mean(self.preset, PRESETS)}")
        for name, value in _expanded(self, PRESETS[self.preset]).items():
            object.__setattr__(self, name, value)

    def placeholders(self) -> tuple[str, ...]:
        """The names that will have a value."""
        return (*MESSAGE_NAMES, *self.parameters)

    def check(self) -> None:
        """Find what is wrong before anything is sent.

        Raises:
            ConfigError: the address, a key written out, an expression, a placeholder, or what the preset still needs.
        """
        _check_address(self.url)
        check_secrets(self.url, self.headers)
        check_sent("body", self.body)
        check_sent("parameters", self.parameters)
        if self.preset:
            _check_needs(self, PRESETS[self.preset])
        if not self.response.text:
            raise ConfigError("response.text is missing: the JMESPath of the reply's text in the answer, or `@`")
        self.response.check()
        check_names([self.url, self.body], self.placeholders())
        expect_number("timeout_s", self.timeout_s, 0.001)

    def request(self, messages: str | list[Message], parameters: Mapping[str, Any]) -> Request:
        """One call; its body is the filled template.

        Raises:
            ConfigError: an unknown placeholder, or a message that the body has no place for.
        """
        asked = as_messages(messages)
        given = _values_of(asked)
        _check_places(given, names_in([self.url, self.body]))
        values = {**self.parameters, **parameters, **given}
        body = fill(self.body, values) if self.body else {}
        return Request(
            endpoint=endpoint_of(self.url),
            url=_filled_url(self.url, values),
            payload=_encoded(body) if self.body else b"",
            method=self.method,
            headers=_with_defaults(self.headers),
            timeout_s=self.timeout_s,
            input_tokens=sum(estimate_tokens(content_text(one.get("content"))) for one in asked),
            output_tokens=most_tokens(body) if isinstance(body, Mapping) else 0,
        )

    async def send(self, request: Request, wire: Wire) -> Answer:
        """Send it once; where a stream is asked for, it is watched for the first token."""
        streams = self.body.get("stream") is True or self.response.framing in {"sse", "jsonl"}
        if streams:
            request = replace(request, watch=lambda: watch_for(self.response.text))
        return await wire.exchange(request)

    def read(self, answer: Answer) -> Reply:
        """The reply in `answer`; its metadata may hold `contexts`, `kb_miss`, `model`, `reasoning`, `ttft`.

        Raises:
            Fault: a status that says so, no JSON, an error inside a success, or nothing where the text should stand.
        """
        if answer.status not in self.accept_status:
            fault = fault_of(answer)
            if fault is not None:
                raise fault
            if is_content_filter(answer):
                return Reply("", "", "content_filter", metadata={"message": error_of(answer).message})
        return reply_in(answer, self.response)


def _expanded(model: HttpModel, preset: Preset) -> dict[str, Any]:
    """What the fields become under a preset."""
    parts = urlsplit(model.url)
    bare = parts.path in {"", "/"} and not parts.query
    response: dict[str, Any] = {
        one.name: preset.response[one.name]
        for one in fields(ResponseMap)
        if one.name in preset.response and not getattr(model.response, one.name)
    }
    return {
        "url": (model.url.rstrip("/") + preset.path if bare else model.url) if model.url else preset.url,
        "body": {**preset.body, **model.body},
        "response": replace(model.response, **response),
    }


def _check_needs(model: HttpModel, preset: Preset) -> None:
    for key in preset.needs:
        if key not in model.body:
            raise ConfigError(f"preset {model.preset} needs the key {key!r} in body")
    if preset.key and model.url == preset.url and "authorization" not in {name.lower() for name in model.headers}:
        raise ConfigError(f'preset {model.preset} needs headers: {{Authorization: "Bearer ${{{preset.key}}}"}}')


def _values_of(asked: list[Message]) -> dict[str, Any]:
    """The values that messages give, by the names in `MESSAGE_NAMES`."""
    users = [no for no, one in enumerate(asked) if one.get("role") == "user"]
    last = users[-1] if users else -1
    return {
        "prompt": content_text(asked[last].get("content")) if users else "",
        "system": "\n\n".join(content_text(one.get("content")) for one in asked if one.get("role") == "system"),
        "history": [dict(one) for no, one in enumerate(asked) if no != last and one.get("role") != "system"],
        "messages": [dict(one) for one in asked],
    }


def _check_places(given: Mapping[str, Any], used: Iterable[str]) -> None:
    """A message that is left out would change what is asked without anyone noticing."""
    names = {name.partition(".")[0] for name in used}
    for name in ("system", "history"):
        if given[name] and name not in names and "messages" not in names:
            what = "a system message" if name == "system" else f"{len(given[name])} earlier messages"
            raise ConfigError(f"the body has no place for {what}: use {{{{{name}}}}} or {{{{messages}}}}")


def _filled_url(url: str, values: Mapping[str, Any]) -> str:
    if "{{" not in url:
        return url
    return render(url, {name: quote(render("{{v}}", {"v": lookup(name, values)}), safe="") for name in names_in(url)})


def _encoded(body: Json) -> bytes:
    """Compact JSON in UTF-8; a lone surrogate becomes its JSON escape, which UTF-8 itself has no bytes for."""
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=plain)
    return text.encode("utf-8", "backslashreplace")


def _with_defaults(headers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    given = {name.lower() for name in headers}
    return (*((name, value) for name, value in _SENT_ALWAYS if name.lower() not in given), *headers.items())


def _check_address(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise ConfigError(f"url must be an http(s) address, not {masked(url)!r}" if url else "the key 'url' is missing")
    if "{{" in parts.netloc:
        raise ConfigError(f"the host of {masked(url)!r} cannot be a placeholder: calls to one host share one limit")
