"""Any JSON endpoint as a model: a request body template, and JMESPath expressions for the response.

Common services are presets (`presets.toml`): values for the keys that a model or target would have to be given
otherwise.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import quote, urlsplit

from steelyard.constraints import Timeout
from steelyard.errors import ConfigError, did_you_mean
from steelyard.models.base import KEPT, Answer, Fault, Request, Wire, as_messages, endpoint_of
from steelyard.models.endpoint import check_connection, most_tokens
from steelyard.models.faults import filtered_reply
from steelyard.models.references import HTTP_TOKEN, check_secrets, check_sent, masked
from steelyard.models.response import ResponseMap, reply_in, watch_for
from steelyard.plain_json import plain, texts_in
from steelyard.prompts.conversation import content_text, question_turn
from steelyard.prompts.message_parts import has_other_parts
from steelyard.prompts.template import check_names, fill, names_in, render, value_at
from steelyard.types import Json, Message, Reply, estimate_tokens

PresetName = Literal["", "chatchat-0.2", "chatchat-0.2-chat", "chatchat-0.3", "zhipu", "openai"]
MESSAGE_NAMES: Final = ("prompt", "system", "history", "messages")
"""Placeholders that the messages of a call fill in the body."""
_MOST_KEPT: Final = 1 << 20
"""Characters of a body that is kept. Of a longer one only the reply is: under another mapping it is asked again."""
_SENT_ALWAYS: Final = (("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream"))


@dataclass(frozen=True, slots=True)
class Preset:
    """Defaults for a known service: request template and response mapping; each can be overridden.

    Args:
        url: the default address.
        path: appended to a given address that has no path.
        body: default values of the body's keys.
        response: default values of the keys of `ResponseMap`.
        needs: keys that only the user knows and that must be in `body`.
        key: the usual name of the reference to its API key. The header is written in the user's file, where every
            reference can be seen; without a header, the default `url` is refused.
    """

    body: Mapping[str, Any]
    response: Mapping[str, str]
    url: str = ""
    path: str = ""
    needs: tuple[str, ...] = ()
    key: str = ""


@dataclass(frozen=True, slots=True)
class HttpModel:
    """A model behind any JSON endpoint, described by address, body and response.

    The preset's values are filled in when the object is made, so that its fields, and with them the manifest, show the
    whole call even if a later version changes the preset.

    Args:
        url: where the call goes; placeholders after the host are percent-encoded. With a preset the path may be left
            out.
        preset: a known service: `chatchat-0.2`, the same without a knowledge base (`chatchat-0.2-chat`),
            `chatchat-0.3`, `zhipu` or `openai`.
        method: the HTTP method.
        headers: sent with every call; keys only as `"Bearer ${NAME}"`.
        body: replaces the preset's values key by key. A value that is only `{{prompt}}` keeps its JSON type.
            Placeholders are `{{prompt}}` (the last message of the user; with an image in it, its parts), `{{system}}`,
            `{{history}}` (the other messages), `{{messages}}` (all of them) and the names in `parameters`.
        response: how the answer is read.
        parameters: values for further placeholders; those of a single call win. A parameter of a call that no
            placeholder asks for is not sent.
        timeout_s: limit of one attempt, in seconds.
        accept_status: statuses besides 2xx whose body is a reply.
        proxy: `http://user:${PASSWORD}@host:3128`; `none` connects directly; empty follows the environment.
        ca_file: certificates in PEM form that are trusted as well as the system's.
    """

    url: str = ""
    preset: PresetName = ""
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Annotated[Mapping[str, Any], check_sent] = field(default_factory=dict)
    response: ResponseMap = ResponseMap()
    parameters: Annotated[Mapping[str, Any], check_sent] = field(default_factory=dict)
    timeout_s: Timeout = 120.0
    accept_status: tuple[int, ...] = ()
    proxy: str = ""
    ca_file: Path | None = None

    def __post_init__(self) -> None:
        if not self.preset:
            return
        if self.preset not in presets():
            raise ConfigError(f"there is no preset {self.preset!r}{did_you_mean(self.preset, presets())}")
        for name, value in _expanded(self, presets()[self.preset]).items():
            object.__setattr__(self, name, value)

    def placeholders(self) -> tuple[str, ...]:
        """The placeholders that will have a value."""
        return (*MESSAGE_NAMES, *self.parameters)

    @property
    def without_question(self) -> str:
        """A sentence if every call would be the same; empty if the messages have a place."""
        return "" if shows_messages([self.url, self.body]) else "the body has neither {{prompt}} nor {{messages}}"

    def check(self) -> None:
        """Validate the fields before anything is sent.

        Raises:
            ConfigError: the address, a key written out, an expression, a placeholder, or what the preset still needs.
        """
        _check_address(self.url)
        if not HTTP_TOKEN.fullmatch(self.method):
            raise ConfigError(f"method: {self.method!r} is not a method of HTTP, such as POST or GET")
        check_secrets(self.url, self.headers)
        check_connection(self.proxy, self.ca_file)
        if self.preset:
            _check_needs(self, presets()[self.preset])
        if not self.response.text:
            raise ConfigError("response.text is missing: the JMESPath of the reply's text in the answer, or `@`")
        check_names([self.url, self.body], self.placeholders())

    def request(self, messages: str | list[Message], parameters: Mapping[str, Any]) -> Request:
        """One call; its body is the filled template.

        Raises:
            ConfigError: an unknown placeholder, or a message that the body has no place for.
        """
        turns = as_messages(messages)
        slots = _values_of(turns)
        _check_places(slots, [self.url, self.body])
        values = {**self.parameters, **parameters, **slots}
        body = fill(self.body, values) if self.body else {}
        return Request(
            endpoint=endpoint_of(self.url),
            url=_filled_url(self.url, values),
            payload=_encoded(body) if self.body else b"",
            method=self.method,
            headers=_with_defaults(self.headers),
            timeout_s=self.timeout_s,
            input_tokens=sum(estimate_tokens(content_text(turn.get("content"))) for turn in turns),
            output_tokens=most_tokens(body) if isinstance(body, Mapping) else 0,
            proxy=self.proxy,
            ca_file=str(self.ca_file or ""),
            reading=self.response.digest(tuple(self.accept_status)),
        )

    async def send(self, request: Request, wire: Wire) -> Answer:
        """Send it once; the time to the first token is measured where a stream is requested."""
        streams = self.body.get("stream") is True or self.response.framing in {"sse", "jsonl"}
        if streams:
            request = replace(request, watch=lambda: watch_for(self.response.text))
        return await wire.exchange(request)

    def read(self, answer: Answer) -> Reply:
        """The reply in `answer`; its metadata may hold `contexts`, `kb_miss`, `model`, `reasoning`, `ttft`.

        Raises:
            Fault: a status that says so, no JSON, an error inside a success, or no text at the expected place.
        """
        if answer.status not in self.accept_status and (filtered := filtered_reply(answer)) is not None:
            return filtered
        try:
            return reply_in(answer, self.response)
        except Fault as fault:
            fault.answer = answer
            raise

    def with_body(self, reply: Reply, request: Request, answer: Answer) -> Reply:
        """The reply with its answer's body, from which the journal reads it again under another mapping."""
        # A body that could be read is UTF-8; that of a filtered reply may hold anything.
        body = answer.body.decode("utf-8", "replace")
        kept = [request.reading, answer.status, body if len(body) <= _MOST_KEPT else None]
        return replace(reply, metadata={**reply.metadata, KEPT: kept})


def _expanded(model: HttpModel, preset: Preset) -> dict[str, Any]:
    """The fields of the model, completed by the preset's."""
    parts = urlsplit(model.url)
    has_no_path = parts.path in {"", "/"} and not parts.query
    response: dict[str, Any] = {
        response_field.name: preset.response[response_field.name]
        for response_field in fields(ResponseMap)
        if response_field.name in preset.response and not getattr(model.response, response_field.name)
    }
    return {
        "url": (model.url.rstrip("/") + preset.path if has_no_path else model.url) if model.url else preset.url,
        "body": {**preset.body, **model.body},
        "response": replace(model.response, **response),
    }


def _check_needs(model: HttpModel, preset: Preset) -> None:
    for key in preset.needs:
        if key not in model.body:
            raise ConfigError(f"preset {model.preset} needs the key {key!r} in body")
    if preset.key and model.url == preset.url and "authorization" not in {name.lower() for name in model.headers}:
        raise ConfigError(f'preset {model.preset} needs headers: {{Authorization: "Bearer ${{{preset.key}}}"}}')


def _values_of(turns: list[Message]) -> dict[str, Any]:
    """The values of the placeholders in `MESSAGE_NAMES`."""
    asks = question_turn(turns)
    content: Any = "" if asks is None else turns[asks].get("content")
    others = [turn for no, turn in enumerate(turns) if no != asks]
    return {
        "prompt": list(content) if has_other_parts(content) else content_text(content),
        "system": "\n\n".join(content_text(turn.get("content")) for turn in others if turn.get("role") == "system"),
        "history": [dict(turn) for turn in others if turn.get("role") != "system"],
        "messages": [dict(turn) for turn in turns],
    }


def shows_messages(template: Json) -> bool:
    """Whether an address or body has a placeholder for the question."""
    return any(name.partition(".")[0] in {"prompt", "messages"} for name in names_in(template))


def _check_places(slots: Mapping[str, Any], template: Json) -> None:
    """Refuse messages that the template has no placeholder for, since they would be dropped silently."""
    names = {name.partition(".")[0] for name in names_in(template)}
    if {"messages", "transcript"} & names:
        return
    for name in ("system", "history"):
        if slots[name] and name not in names:
            omitted = "a system message" if name == "system" else f"{len(slots[name])} earlier messages"
            raise ConfigError(
                f"the body has no place for {omitted}: use {{{{{name}}}}} or {{{{messages}}}}; the body of a target "
                "may use {{transcript}} too, which is all turns as one text"
            )
    if not isinstance(slots["prompt"], str) and "{{prompt}}" not in {
        text.replace(" ", "") for text in texts_in(template)
    }:
        raise ConfigError(
            "the body has no place for a part that is not text, such as an image: use {{messages}}, or a value that is "
            "{{prompt}} alone"
        )


def _filled_url(url: str, values: Mapping[str, Any]) -> str:
    if "{{" not in url:
        return url
    return render(url, {name: quote(render("{{v}}", {"v": value_at(name, values)}), safe="") for name in names_in(url)})


def _encoded(body: Json) -> bytes:
    """Compact JSON in UTF-8; a lone surrogate becomes its JSON escape, which UTF-8 itself has no bytes for."""
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=plain)
    return text.encode("utf-8", "backslashreplace")


def _with_defaults(headers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    names = {name.lower() for name in headers}
    return (*((name, value) for name, value in _SENT_ALWAYS if name.lower() not in names), *headers.items())


def _check_address(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise ConfigError(f"url must be an http(s) address, not {masked(url)!r}" if url else "the key 'url' is missing")
    if "{{" in parts.netloc:
        raise ConfigError(f"the host of {masked(url)!r} cannot be a placeholder: calls to one host share one limit")


@cache
def presets() -> Mapping[str, Preset]:
    """The known services by name."""
    tables = tomllib.loads(files("steelyard.models").joinpath("presets.toml").read_text("utf-8"))
    return {name: Preset(**{**table, "needs": tuple(table.get("needs", ()))}) for name, table in tables.items()}
