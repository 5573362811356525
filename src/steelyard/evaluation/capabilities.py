"""What an endpoint can do, found out by at most six calls, which are one sample of one stored run.

Documentation of a server says what its newest version does; what a model behind it does, and what a gateway before it
drops, only its answers say. Replies are journalled like all others, so asking again costs what was refused alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final
from urllib.parse import quote

from steelyard.errors import ConfigError, ModelError
from steelyard.evaluation.objects import Options, Suite
from steelyard.models.base import Answer, Model, ModelInfo, Request, Wire, encode_body
from steelyard.models.faults import filtered_reply, parse_json
from steelyard.models.limits import Retry
from steelyard.plain_json import parsed_or
from steelyard.types import Asks, Message, Output, Reply, Sample

YES: Final = "yes"
_REFUSED: Final = frozenset({"bad_request", "server", "empty", "malformed"})
"""Kinds of errors that may come of what was asked for; others are about the endpoint."""
_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "json_schema",
    "json_schema": {
        "name": "capability",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"colour": {"type": "string", "enum": ["red", "green"]}},
            "required": ["colour"],
            "additionalProperties": False,
        },
    },
}
_TOOL: Final[Mapping[str, Any]] = {
    "type": "function",
    "function": {
        "name": "temperature_in",
        "description": "Says how warm it is in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
_RED: Final = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAJ0lEQVR42u3NsQkAAAjAsP7/tF7hIASyp6lTCQ"
    "QCgUAgEAgEgi/BAjLD/C5w/SM9AAAAAElFTkSuQmCC"
)
"""A picture that is red all over."""
_LENGTH_NAMES: Final = ("max_model_len", "max_input_tokens", "inputTokenLimit", "context_length", "context_window")
_MOST_DEPTH: Final = 5


def capabilities_suite(model: Model) -> Suite:
    """The suite of one sample whose output says what the model's endpoint can do."""
    options = Options(concurrency=1, retry=Retry(attempts=3, total_s=120.0))
    name = ModelInfo.of(model).name or type(model).__name__
    sample = Sample("capabilities", "What can this endpoint do?")
    return Suite(f"Capabilities of {name}", "custom", [sample], {"endpoint": Capabilities(model)}, (), options)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """A target whose output is a mapping: capability -> `yes`, or why not.

    Args:
        model: behind the endpoint.
    """

    model: Model

    async def __call__(self, sample: Sample, ask: Asks) -> Output:  # noqa: ARG002  # one sample
        """Ask for each capability, one after the other."""
        structured = await self._tried(ask, "Write two lines about rain.", response_format=_SCHEMA)
        sampling = {"seed": 7, "temperature": 1}
        first = await self._tried(ask, "Write a random word.", **sampling, logprobs=True, top_logprobs=2)
        more = {} if isinstance(first, str) else {"logprobs": True, "top_logprobs": 2}
        second = await self._tried(ask, "Write a random word.", **sampling, **more)
        tools = await self._tried(ask, "How warm is it in Oslo? Use the tool.", tools=[_TOOL])
        picture = [{"type": "text", "text": "Which colour is this? One word."}]
        image: list[Any] = [*picture, {"type": "image_url", "image_url": {"url": _RED}}]
        seen = await self._tried(ask, [{"role": "user", "content": image}])
        return Output(
            {
                "structured output": structured if isinstance(structured, str) else _structured(structured),
                "log probabilities": first if isinstance(first, str) else _logprobs(first),
                "seeds": _seeds(first, second),
                "tools": tools if isinstance(tools, str) else _called(tools),
                "images": seen if isinstance(seen, str) else _saw(seen),
                "context length": await self._length(ask),
            }
        )

    async def _tried(self, ask: Asks, messages: Any, **parameters: Any) -> Reply | str:
        """The reply to a call, or why there is none.

        Raises:
            ModelError: it is about the endpoint, and not about what was asked for.
        """
        try:
            return await ask(self.model, messages, **parameters)
        except ConfigError as error:
            return f"not sent: {error.message}"
        except ModelError as error:
            if error.ends_run or error.kind not in _REFUSED:
                raise
            return f"refused: {error}"

    async def _length(self, ask: Asks) -> str:
        """The context length as the endpoint states it, in tokens."""
        if not ModelInfo.of(self.model).name or not hasattr(self.model, "base_url"):
            return "not known: the endpoint has no list of models"
        try:
            reply = await ask(ModelDescription(self.model), "")
        except ModelError as error:
            return f"not said: {error}"
        return reply.text or "not said"


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """The endpoint's own description of a model, as a model whose reply is the context length in tokens.

    Args:
        model: that is described.
    """

    inline: ClassVar[bool] = False

    model: Any

    def request(self, messages: str | list[Message], parameters: Mapping[str, Any]) -> Request:  # noqa: ARG002
        """One GET of the model's entry in the list of models; at Ollama a POST."""
        asked = self.model.request("q", {})
        base, name = self.model.base_url.rstrip("/"), self.model.name
        headers = tuple(header for header in asked.headers if header[0] != "Content-Type")
        common = {"proxy": asked.proxy, "ca_file": asked.ca_file, "timeout_s": 60.0, "headers": headers}
        if asked.url.endswith("/api/chat"):
            return Request(asked.endpoint, f"{base}/show", encode_body({"model": name}), **common)
        return Request(asked.endpoint, f"{base}/models/{quote(name, safe='/')}", b"", "GET", **common)

    async def send(self, request: Request, wire: Wire) -> Answer:
        """Send it once."""
        return await wire.exchange(request)

    def read(self, answer: Answer) -> Reply:
        """The context length; an empty text where the description does not say it.

        Raises:
            Fault: a status that says so, or no JSON.
        """
        if (filtered := filtered_reply(answer)) is not None:
            return filtered
        length = _length_in(parse_json(answer), _MOST_DEPTH)
        return Reply("", "" if length is None else f"{length:,} tokens")


def _length_in(value: Any, depth: int) -> int | None:
    """The first number under a key that names a context length; Ollama writes the family of the model before it."""
    if not isinstance(value, Mapping) or not depth:
        return None
    for key, inner in value.items():
        if str(key).rpartition(".")[2] in _LENGTH_NAMES and type(inner) is int and inner > 0:
            return inner
    return next((length for inner in value.values() if (length := _length_in(inner, depth - 1)) is not None), None)


def _structured(reply: Reply) -> str:
    value = parsed_or(reply.text)
    follows = isinstance(value, Mapping) and [*value] == ["colour"] and value["colour"] in {"red", "green"}
    return YES if follows else f"ignored: it answered {reply.text[:60]!r}"


def _logprobs(reply: Reply) -> str:
    return YES if reply.metadata.get("logprobs") else "ignored: none came"


def _seeds(first: Reply | str, second: Reply | str) -> str:
    if isinstance(second, str):
        return second
    if isinstance(first, str):
        return "taken, and not compared"
    return YES if first.text == second.text else "taken, but two replies to one seed differ"


def _called(reply: Reply) -> str:
    return YES if reply.metadata.get("tool_calls") else f"not called: it answered {reply.text[:60]!r}"


def _saw(reply: Reply) -> str:
    return YES if "red" in reply.text.lower() else f"taken, but not seen: it answered {reply.text[:60]!r}"
