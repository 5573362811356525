"""What the models of providers' own APIs share: parameters in OpenAI's names, the call, and errors inside an answer.

Each provider is one module beside this one; all send over the session's own connections, so that journal, limits,
budgets and prices treat them as they treat every model. No provider's package is needed.
"""

# Why it is so, and what was rejected: docs/decisions/models-native-providers.md

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, NamedTuple

from steelyard.errors import ConfigError
from steelyard.models.base import SLOW_S, WITHOUT_TEXT, Answer, Fault, Request, as_messages, endpoint_of
from steelyard.models.faults import fault_of_error, filtered_reply, names_error, parse_json, quoted
from steelyard.models.json_bodies import encode_body, mapping_or_empty
from steelyard.models.mismatches import keys_named, mismatch, said_nothing
from steelyard.models.openai_compatible import Endpoint, check_endpoint, check_truncation
from steelyard.models.refused_parameters import LIMITS
from steelyard.models.streaming import values_in
from steelyard.models.turns import REASONING_ITEMS, CalledTool, MessageTurn, turns_of
from steelyard.types import Message, Reply, Usage, estimate_tokens

_MAX: Final = "max_tokens"


def check_native(model: Endpoint, name: str, reserved: Iterable[str]) -> None:
    """Validate the fields that all providers share.

    Args:
        model: its fields.
        name: of the model.
        reserved: keys of the body that parameters may not set.

    Raises:
        ConfigError: as `check_endpoint`; no name; or a parameter that shortens prompts.
    """
    if not name.strip():
        raise ConfigError("name is missing: the model's name, as the provider writes it")
    check_endpoint(model, ("messages", "model", "stream", *reserved))
    check_truncation(model.parameters)


def merged(own: Mapping[str, Any], of_call: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a call over the model's own; those that are null are left out, and a limit is `max_tokens`.

    >>> merged({"max_completion_tokens": 9, "top_p": 1}, {"top_p": None})
    {'max_tokens': 9}
    """
    sent: dict[str, Any] = {}
    for name, value in (*own.items(), *of_call.items()):
        sent[_MAX if name in LIMITS else name] = value
    return {name: value for name, value in sent.items() if value is not None}


def turns_and_tokens(messages: str | list[Message]) -> tuple[list[MessageTurn], int]:
    """The turns of a call and an estimate of their tokens; those of images and files are not counted."""
    turns = turns_of(as_messages(messages))
    return turns, sum(estimate_tokens(turn.text) for turn in turns)


def native_request(
    model: Endpoint,
    path: str,
    body: Mapping[str, Any],
    *,
    headers: Sequence[tuple[str, str]] = (),
    tokens: tuple[int, int] = (0, 0),
    service: str = "",
) -> Request:
    """One POST of a JSON body to `path` below the base address.

    Args:
        model: its fields.
        path: without a leading slash.
        body: as the provider wants it.
        headers: with the key, before the user's own.
        tokens: an estimate of the input, and the most of the output; 0 where no limit is set.
        service: tier or window, for which an attempt may take longer.
    """
    endpoint, url = _address(model.base_url, path)
    timeout_s = max(model.timeout_s, SLOW_S.get(service, 0.0))
    return Request(
        endpoint=endpoint,
        url=url,
        payload=encode_body(body),
        headers=(("Content-Type", "application/json"), *headers, *model.headers.items()),
        timeout_s=timeout_s,
        input_tokens=tokens[0],
        output_tokens=tokens[1],
        proxy=model.proxy,
        ca_file=str(model.ca_file or ""),
        total_s=timeout_s if service else 0.0,
    )


@lru_cache(maxsize=256)
def _address(base_url: str, path: str) -> tuple[str, str]:
    return endpoint_of(base_url), f"{base_url.rstrip('/')}/{path}"


def opened_answer(answer: Answer, part: str) -> Mapping[str, Any] | Reply:
    """The JSON object of a provider's answer; a reply where a content filter stopped the call.

    Args:
        answer: of the provider.
        part: the key that every reply has.

    Raises:
        Fault: a status that says so, no JSON, an error inside it, or JSON of another form.
    """
    if (filtered := filtered_reply(answer)) is not None:
        return filtered
    data = parse_json(answer)
    if isinstance(data, list) and len(data) == 1:
        data = data[0]  # as Gemini may write an error
    if isinstance(data, Mapping) and part in data and not data.get("error"):
        return data
    if isinstance(data, Mapping) and (data.get("error") or names_error(data)):
        if (fault := fault_of_error(data, answer)) is not None:
            raise fault
        return Reply("", "", "content_filter")
    keys = keys_named((data,)) if isinstance(data, Mapping) else "it is no JSON object"
    message = f"the reply (status {answer.status}) has no {part}; {keys}: {quoted(answer.body)}"
    raise mismatch(Fault("empty", message, billed=True), answer)


def streamed_values(answer: Answer) -> Iterator[Mapping[str, Any]]:
    """The JSON objects of a stream in events or in lines, in their order.

    Raises:
        Fault: broken JSON, or an error in the stream.
    """
    for value in values_in(answer):
        if not isinstance(value, Mapping):
            continue
        if (value.get("error") or names_error(value)) and (fault := fault_of_error(value, answer)) is not None:
            raise fault
        yield value


def assembled_answer(answer: Answer, whole: Mapping[str, Any] | None) -> Answer:
    """The answer with the whole reply of its stream in place of the parts.

    Args:
        answer: with the stream.
        whole: the reply as one that was not streamed; None where the stream ended before the reply did.

    Raises:
        Fault: it ended before the reply did: a part of a reply is never taken for the whole.
    """
    if whole is None:
        end = quoted(answer.body[-200:]) or "nothing came"
        raise Fault("malformed", f"the stream ended before the reply did: {end}", billed=True)
    return replace(answer, body=encode_body(whole))


class Said(NamedTuple):
    """What a model said.

    Args:
        text: the answer alone; what the model thought stands apart.
        finish: in our terms.
        usage: its tokens.
        calls: of tools.
        reasoning: what the model thought, as far as the provider shows it.
        items: the provider's blocks of reasoning; kept where tools were called, as they must go back.
    """

    text: str
    finish: str
    usage: Usage
    calls: Sequence[CalledTool] = ()
    reasoning: str = ""
    items: Sequence[Any] = ()


def native_reply(answer: Answer, said: Said, more: Mapping[str, Any]) -> Reply:
    """A reply in the one form that all models give.

    Args:
        answer: that held it.
        said: what was read in it.
        more: further metadata; empty values are left out.

    Raises:
        Fault: it ended without a reason to have no text, and has none.
    """
    if not said.text and not said.calls and said.finish not in WITHOUT_TEXT:
        raise said_nothing(Fault("empty", f"the reply has no text: {quoted(answer.body)}", billed=True))
    details: dict[str, Any] = {
        "reasoning": said.reasoning,
        "tool_calls": [call.plain() for call in said.calls],
        REASONING_ITEMS: [*said.items] if said.calls else [],
        **more,
    }
    if answer.first_s is not None:
        details["ttft"] = round(answer.first_s, 4)
    metadata = {name: value for name, value in details.items() if value}
    return Reply("", said.text, said.finish, said.usage, metadata=metadata)


def closed(schema: Any) -> Any:
    """A JSON schema whose objects take no other keys, as Anthropic and OpenAI's strict mode require.

    >>> closed({"type": "object", "properties": {"a": {"type": "string"}}})["additionalProperties"]
    False
    """
    if isinstance(schema, list | tuple):
        return [closed(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    inner = {key: closed(value) for key, value in schema.items()}
    is_object = schema.get("type") == "object" and isinstance(schema.get("properties", {}), Mapping)
    return {"additionalProperties": False, **inner} if is_object else inner


def items_of(value: Any) -> list[Mapping[str, Any]]:
    """The mappings in a list; empty for anything else."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def text_in(value: Any, key: str = "text") -> str:
    """The text under a key; "" where there is none."""
    text = mapping_or_empty(value).get(key)
    return text if isinstance(text, str) else ""
