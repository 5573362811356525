"""What the models of providers' own APIs share: messages and parameters in OpenAI's names, and errors inside an answer.

A message is what `openai_compatible` sends unchanged: `role`, `content` as a text or a list of parts, `tool_calls` of
an assistant, `tool_call_id` of a result. Images and PDFs are data URIs; nothing is downloaded. What a model thought
before it called a tool goes back in `reasoning_items`, as the reply's metadata has it: providers refuse a tool's result
without it. Source: OpenAI API reference, "Create chat completion".

Each provider is one module beside this one; all send over the session's own connections, so that journal, limits,
budgets and prices treat them as they treat every model. No provider's package is needed.
"""

# Why it is so, and what was rejected: docs/decisions/models-native-providers.md

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from steelyard.errors import ConfigError
from steelyard.models.base import WITHOUT_TEXT, Answer, Fault, as_messages, encode_body
from steelyard.models.endpoint import EndpointModel, check_truncation
from steelyard.models.faults import fault_of_error, filtered_reply, names_error, parse_json, quoted
from steelyard.models.mismatches import keys_named, mismatch, said_nothing
from steelyard.models.refused_parameters import LIMITS
from steelyard.models.streaming import streamed_text, values_in
from steelyard.plain_json import mapping_or_empty, parsed_or, text_or_json
from steelyard.prompts.message_parts import is_text_part
from steelyard.types import Message, Reply, Usage, estimate_tokens

REASONING_ITEMS: Final = "reasoning_items"
"""Key of a message and of a reply's metadata: the provider's own blocks of reasoning, which go back unchanged."""
_DATA_URI: Final = re.compile(r"data:(?P<media>[\w.+-]+/[\w.+-]+)(?:;[\w=.+-]+)*?;base64,(?P<data>[A-Za-z0-9+/=\s]*)\Z")
_FILES: Final = frozenset({"image_url", "input_image", "image", "file", "input_file", "document"})


class FilePart(NamedTuple):
    """An image or PDF of a message: its media type, its bytes as base64, and its file's name or ""."""

    media: str
    data: str
    name: str = ""

    @property
    def uri(self) -> str:
        """As a data URI."""
        return f"data:{self.media};base64,{self.data}"

    @property
    def is_image(self) -> bool:
        """Whether it is an image."""
        return self.media.startswith("image/")


class CalledTool(NamedTuple):
    """A call of a tool by the model: `arguments` is JSON text, `signature` Gemini's, which goes back with the call."""

    id: str
    name: str
    arguments: str
    signature: str = ""

    def parsed(self) -> Any:
        """The arguments as a mapping.

        Raises:
            ConfigError: they are not a JSON object.
        """
        value = parsed_or(self.arguments or "{}")
        if not isinstance(value, dict):
            raise ConfigError(f"the arguments of a tool call are not a JSON object: {self.arguments[:80]!r}")
        return value

    def plain(self) -> dict[str, Any]:
        """In the form of chat completions, as a reply's `tool_calls` have it."""
        call = {
            "id": self.id,
            "type": "function",
            "function": {"name": self.name, "arguments": self.arguments},
        }
        return {**call, "thought_signature": self.signature} if self.signature else call


class MessageTurn(NamedTuple):
    """One message: `role` is system, user, assistant or tool; a result names its call in `call_id` and `tool`."""

    role: str
    parts: tuple[str | FilePart, ...]
    calls: tuple[CalledTool, ...] = ()
    call_id: str = ""
    tool: str = ""
    reasoning: tuple[Any, ...] = ()

    @property
    def text(self) -> str:
        """Its text, without files."""
        return "".join(part for part in self.parts if isinstance(part, str))


class OfferedTool(NamedTuple):
    """A function that the model may call, with the JSON schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    strict: bool | None = None


def turns_of(messages: Sequence[Message]) -> list[MessageTurn]:
    """The messages in one form.

    Raises:
        ConfigError: an unknown role, a part of another kind, or a file that is not a data URI.
    """
    named: dict[str, str] = {}
    turns: list[MessageTurn] = []
    for message in messages:
        role = {"developer": "system", "function": "tool"}.get(str(message.get("role")), str(message.get("role")))
        if role not in {"system", "user", "assistant", "tool"}:
            raise ConfigError(f"a message has the role {role[:40]!r}: expected system, user, assistant or tool")
        calls = tuple(map(_call, message.get("tool_calls") or ()))
        named |= {call.id: call.name for call in calls}
        call_id = str(message.get("tool_call_id") or "")
        turns.append(
            MessageTurn(
                role,
                tuple(_parts(message.get("content"))),
                calls,
                call_id,
                str(message.get("name") or named.get(call_id, "")),
                tuple(message.get(REASONING_ITEMS) or ()),
            )
        )
    return turns


def without_system(turns: Sequence[MessageTurn]) -> tuple[str, list[MessageTurn]]:
    """The instructions before the first turn, joined by blank lines, and the other turns.

    Where there is no turn, the last of the instructions is the user's: the provider takes no call without one.

    Raises:
        ConfigError: instructions after a turn, for which the provider has no place.
    """
    first = next((at for at, turn in enumerate(turns) if turn.role != "system"), len(turns))
    if any(turn.role == "system" for turn in turns[first:]):
        raise ConfigError("a system message stands after other messages, where this provider takes none: put it first")
    others = list(turns[first:])
    if turns and not others:
        first -= 1
        others = [turns[first]._replace(role="user")]
    return "\n\n".join(turn.text for turn in turns[:first] if turn.text), others


def tools_of(tools: Any) -> tuple[list[OfferedTool], list[Any]]:
    """The functions among the tools, and the others (a provider's own tools), which are sent as they are."""
    functions, others = [], []
    for tool in tools or ():
        function = tool.get("function", tool) if isinstance(tool, Mapping) else {}
        if not isinstance(tool, Mapping) or tool.get("type", "function") != "function" or not function.get("name"):
            others.append(tool)
            continue
        schema = function.get("parameters") or {"type": "object", "properties": {}}
        functions.append(
            OfferedTool(function["name"], str(function.get("description") or ""), schema, function.get("strict"))
        )
    return functions, others


def tool_choice_of(choice: Any) -> tuple[str, str]:
    """`auto`, `none` or `required`, or `named` and the name of the function that must be called.

    >>> tool_choice_of("required"), tool_choice_of({"type": "function", "function": {"name": "find"}})
    (('required', ''), ('named', 'find'))
    """
    if isinstance(choice, Mapping):
        function = choice.get("function") or choice
        return "named", str(function.get("name", ""))
    return str(choice), ""


def schema_of(response_format: Any) -> tuple[str, Mapping[str, Any] | None, bool | None]:
    """Name, schema and strictness of a `response_format`; the schema is None where any JSON object is asked for.

    Raises:
        ConfigError: it is of another type.
    """
    kind = response_format.get("type") if isinstance(response_format, Mapping) else None
    if kind == "json_object":
        return "reply", None, None
    inner = response_format.get("json_schema") if kind == "json_schema" else None
    if not isinstance(inner, Mapping) or not isinstance(inner.get("schema"), Mapping):
        raise ConfigError("response_format: expected {type: json_schema, json_schema: {name: ..., schema: {...}}}")
    return str(inner.get("name") or "reply"), inner["schema"], inner.get("strict")


def _call(call: Any) -> CalledTool:
    call = mapping_or_empty(call)
    function = call.get("function") or call
    arguments = function.get("arguments", "")
    text = text_or_json(arguments)
    return CalledTool(
        str(call.get("id") or ""), str(function.get("name") or ""), text, str(call.get("thought_signature") or "")
    )


def _parts(content: Any) -> Iterable[str | FilePart]:
    if content is None or content == "":
        return
    if not isinstance(content, list | tuple):
        yield text_or_json(content)
        return
    for part in content:
        if is_text_part(part):
            yield part if isinstance(part, str) else part["text"]
        else:
            yield _file(part)


def _file(part: Any) -> FilePart:
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind not in _FILES:
        raise ConfigError(f"a message has a part of the type {str(kind)[:40]!r}: expected text, image_url or file")
    inner = part.get("file") or part.get("image_url") or part
    inner = inner if isinstance(inner, Mapping) else {"url": inner}
    source = part.get("source")
    if isinstance(source, Mapping) and source.get("type") == "base64":
        return FilePart(str(source.get("media_type")), str(source.get("data")), str(part.get("title") or ""))
    address = next((inner[key] for key in ("url", "file_data", "image_url") if isinstance(inner.get(key), str)), "")
    match = _DATA_URI.match(address)
    if match is None:
        raise ConfigError(
            f"a {kind} must be a data URI (data:image/png;base64,... or data:application/pdf;base64,...), as nothing "
            f"is downloaded: {address[:60]!r}"
        )
    return FilePart(match["media"], "".join(match["data"].split()), str(inner.get("filename") or ""))


_MAX: Final = "max_tokens"


def check_native(model: EndpointModel, reserved: Iterable[str]) -> None:
    """Validate the fields that all providers share.

    Args:
        model: its fields.
        reserved: keys of the body that parameters may not set.

    Raises:
        ConfigError: as `check_fields`; no name; or a parameter that shortens prompts.
    """
    if not model.name.strip():
        raise ConfigError("name is missing: the model's name, as the provider writes it")
    model.check_fields(("messages", "model", "stream", *reserved))
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


def whole_answer(answer: Answer, join: Callable[[Iterable[Mapping[str, Any]]], Mapping[str, Any] | None]) -> Answer:
    """The answer of a stream of events in the form of one that was not streamed; another answer as it is.

    Args:
        answer: of the provider.
        join: makes the whole reply of the stream's values; None where the stream ended before the reply did.

    Raises:
        Fault: broken JSON or an error in the stream, or it ended before the reply did.
    """
    if answer.status != 200 or streamed_text(answer) is None:
        return answer
    return assembled_answer(answer, join(streamed_values(answer)))


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
