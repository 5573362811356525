"""Messages, tools and schemas of chat completions in one plain form, from which each provider's own form is written.

A message is what `openai_compatible` sends unchanged: `role`, `content` as a text or a list of parts, `tool_calls` of
an assistant, `tool_call_id` of a result. Images and PDFs are data URIs; nothing is downloaded. What a model thought
before it called a tool goes back in `reasoning_items`, as the reply's metadata has it: providers refuse a tool's result
without it.

Source: OpenAI API reference, "Create chat completion".
"""

# Why it is so, and what was rejected: docs/decisions/models-native-providers.md

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from steelyard.errors import ConfigError
from steelyard.prompts.message_parts import is_text_part
from steelyard.types import Message

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
        try:
            value = json.loads(self.arguments or "{}")
        except (ValueError, RecursionError):
            value = None
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

    Raises:
        ConfigError: instructions after a turn, for which the provider has no place.
    """
    first = next((at for at, turn in enumerate(turns) if turn.role != "system"), len(turns))
    if any(turn.role == "system" for turn in turns[first:]):
        raise ConfigError("a system message stands after other messages, where this provider takes none: put it first")
    return "\n\n".join(turn.text for turn in turns[:first] if turn.text), list(turns[first:])


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
    call = call if isinstance(call, Mapping) else {}
    function = call.get("function") or call
    arguments = function.get("arguments", "")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return CalledTool(
        str(call.get("id") or ""), str(function.get("name") or ""), text, str(call.get("thought_signature") or "")
    )


def _parts(content: Any) -> Iterable[str | FilePart]:
    if content is None or content == "":
        return
    if not isinstance(content, list | tuple):
        yield content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
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
    found = _DATA_URI.match(address)
    if found is None:
        raise ConfigError(
            f"a {kind} must be a data URI (data:image/png;base64,... or data:application/pdf;base64,...), as nothing "
            f"is downloaded: {address[:60]!r}"
        )
    return FilePart(found["media"], "".join(found["data"].split()), str(inner.get("filename") or ""))
