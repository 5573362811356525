"""An endpoint that continues a text: `/v1/completions` of vLLM, llama.cpp, TGI, SGLang and OpenAI's older models.

It is used for the likelihood of a text that was not generated: with `echo` and `logprobs` the endpoint gives
every token of the prompt with its log probability, which no chat endpoint does.

Source: OpenAI API reference, "Create completion"; `prompt_logprobs` is vLLM's, see its "OpenAI-Compatible Server".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from steelyard.constraints import Timeout
from steelyard.errors import ConfigError
from steelyard.models.base import Answer, CallParameters, Fault, Request, Wire, finish_named, usage_of
from steelyard.models.faults import filtered_reply, parse_json, quoted
from steelyard.models.json_bodies import mapping_or_empty
from steelyard.models.openai_compatible import check_endpoint, first_choice, post
from steelyard.prompts.conversation import content_text, transcript_of
from steelyard.prompts.message_parts import has_other_parts
from steelyard.types import Message, Reply, Usage, estimate_tokens


@dataclass(frozen=True, slots=True)
class Completions:
    """A model behind a completions endpoint.

    Args:
        name: the model's name, as the endpoint knows it.
        base_url: up to and without `/completions`.
        api_key: a reference, `"${NAME}"`; empty if the endpoint needs none.
        parameters: sent with every call (`temperature`, `max_tokens`, `stop`, `seed`, ...); those of a single call win.
            Data: no `${NAME}` is resolved in it.
        headers: sent with every call; values may hold `${NAME}`.
        timeout_s: limit of one attempt, in seconds.
        api_version: of Azure OpenAI, `2024-10-21`: sent as `?api-version=`, and the key in the header `api-key`. Empty
            for every other endpoint, and for Azure's own `/openai/v1`.
        proxy: `http://user:${PASSWORD}@host:3128`; `none` connects directly; empty follows the environment.
        ca_file: certificates in PEM form that are trusted as well as the system's.
    """

    completes: ClassVar[bool] = True

    name: str
    base_url: str = "https://api.openai.com/v1"
    api_key: str = ""
    parameters: CallParameters = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout_s: Timeout = 120.0
    api_version: str = ""
    proxy: str = ""
    ca_file: Path | None = None

    def check(self) -> None:
        """Validate the fields before anything is sent.

        Raises:
            ConfigError: no address, a key that is written out, or a parameter that is not one.
        """
        check_endpoint(self, ("prompt", "model", "stream", "n", "best_of"))

    def request(self, messages: str | list[Message], parameters: Mapping[str, Any]) -> Request:
        """One POST to `/completions`; the contents of messages are joined by blank lines."""
        prompt = prompt_of(messages)
        body = {"model": self.name, "prompt": prompt, **self.parameters, **parameters}
        return post(self, "completions", body, estimate_tokens(prompt))

    async def send(self, request: Request, wire: Wire) -> Answer:
        """Send it once."""
        return await wire.exchange(request)

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
            "tokens": _tokens(choice.get("logprobs")),
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


def _tokens(logprobs: Any) -> list[list[Any]]:
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
    top_lists = mapping_or_empty(logprobs).get("top_logprobs")
    candidates = (
        top_lists[0] if isinstance(top_lists, Sequence) and not isinstance(top_lists, str) and top_lists else None
    )
    return [{"token": token, "logprob": value} for token, value in mapping_or_empty(candidates).items()]


def _usage(data: Mapping[str, Any], text: str) -> Usage:
    usage = mapping_or_empty(data.get("usage"))
    return usage_of(usage.get("prompt_tokens"), usage.get("completion_tokens"), text)
