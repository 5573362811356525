"""Inputs that are conversations: their turns as messages for a model, or as a transcript for readers of one text.

A model is sent the messages unchanged. A judge, an engine that takes one text, and a person get a transcript with every
turn. Parts that are not text (images, sound, files) go to the model unchanged; everywhere else a placeholder with the
first digits of their SHA-256 replaces them, so that two pictures can be distinguished and megabytes of base64 are never
part of a judge's prompt or of a page.
"""

# Why it is so, and what was rejected: docs/decisions/prompts-what-is-sent.md

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Final, TypeGuard

from steelyard.escaping import cell_text
from steelyard.plain_json import described, mapping_or_empty
from steelyard.prompts.agent_messages import plain_message, plain_part, tool_call, with_separate_results
from steelyard.prompts.language import language_of
from steelyard.prompts.message_forms import content_of, field, parts_of
from steelyard.prompts.message_parts import is_text_part, is_typed_text, shown_content, without_files
from steelyard.types import Message

_ROLES: Final = {
    "en": {"system": "System", "developer": "System", "user": "User", "assistant": "Assistant", "tool": "Tool"},
    "zh": {"system": "系统", "developer": "系统", "user": "用户", "assistant": "助手", "tool": "工具"},
}
_COLON: Final = {"en": ": ", "zh": "："}
_HUMAN: Final = frozenset({"user", "human"})
_NAMES: Final = ("role", "type", "from")
_SHARED: Final = frozenset({"from", "value"})
_SPEAKERS: Final = {name: name for name in ("system", "user", "assistant", "tool")} | {
    "human": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
}
"""Who speaks in conversations of ShareGPT -> the role. A payment has `from` and `value` too."""
_TYPES: Final = frozenset({"human", "ai", "system", "tool"})
_INSTRUCTS: Final = frozenset({"system", "developer"})
_MOST_PRINTED: Final = 1_000_000
"""Maximum characters of a list in Python syntax; a longer one is not read."""
_APART: Final = re.compile(r"""('(?:[^'\\]|\\.)*+(?:'|\\?\Z)|"(?:[^"\\]|\\.)*+(?:"|\\?\Z))|\}\s++\{""", re.DOTALL)
"""A text in Python syntax, closed or not, or the place between two objects that numpy prints."""
_MOST_NESTED: Final = 2_000
"""Maximum number of its opening brackets, which limits the time and memory for reading it."""


def is_messages(value: Any) -> TypeGuard[Sequence[Message]]:
    """Whether an input is a conversation: a list of mappings that each name a role."""
    return isinstance(value, list | tuple) and bool(value) and all(
        isinstance(message, Mapping) and isinstance(message.get("role"), str) for message in value
    )  # fmt: skip


def messages_in(cell: Any) -> list[Message] | None:
    """The messages in a cell of a dataset, which is a list or the JSON text of one; None if it has no messages.

    Of an object with the key `messages`, the value of that key is read. Messages of LangChain and Ragas, which have a
    `type` for a role, and of ShareGPT, which have `from` and `value`, get the role, and those with `parts` (Gemini) or
    `blocks` (LlamaIndex) the content. Keys without a value are left out,
    but for `content`: Parquet and DeepEval write each key into each message, and endpoints refuse those that they do
    not know.

    >>> messages_in('[{"role": "user", "content": "Why?"}]'), messages_in("[sic] Why?")
    ([{'role': 'user', 'content': 'Why?'}], None)
    """
    value = _read(cell.strip()) if isinstance(cell, str) else cell
    if isinstance(value, Mapping):
        value = value.get("messages")
    if isinstance(value, list) and all(isinstance(turn, Mapping) and turn.keys() >= _SHARED for turn in value):
        value = [{"role": _SPEAKERS.get(str(turn["from"])), "content": turn["value"]} for turn in value]
    value = _unnested(value)
    if isinstance(value, list) and all(isinstance(turn, Mapping) and _is_stored(turn) for turn in value):
        value = [turn["kwargs"] if "lc" in turn else {**turn["data"], "type": turn["type"]} for turn in value]
    if _is_typed(value):
        return _as_sent(value)
    if not is_messages(value):
        return None
    if any("content" not in message and isinstance(content_of(message), list) for message in value):
        return _as_sent(with_separate_results(value))
    return [{key: part for key, part in message.items() if part is not None or key == "content"} for message in value]


def _unnested(value: Any) -> Any:
    """The messages in a list of one list (LangSmith's runs), or of what the user says in each turn (BFCL)."""
    if not isinstance(value, list) or not all(isinstance(turns, list) for turns in value):
        return value
    turns = [turn for listed in value for turn in listed]
    is_said = all(isinstance(turn, Mapping) and turn.get("role") == "user" for turn in turns)
    return turns if is_said or len(value) == 1 else value


def _as_sent(turns: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Messages of frameworks as endpoints take them: with parts that are no text, and calls with an id.

    Ragas keeps no ids, and the results of tools follow their calls.
    """
    sent: list[Message] = []
    unanswered: list[str] = []
    numbers = count(1)
    for turn in turns:
        message = plain_message(turn)
        message.pop("status", None)
        parts = [_wire_part(part) for kind, part in parts_of(turn) if not kind]
        if not all(map(is_text_part, parts)):
            message["content"] = parts
        if calls := message.get("tool_calls"):
            ids = [call["id"] or f"call_{next(numbers)}" for call in calls]
            message["tool_calls"] = [_wire_call(ident, call) for ident, call in zip(ids, calls, strict=True)]
            unanswered = ids
        if message["role"] == "tool":
            ident = message.setdefault("tool_call_id", unanswered[0] if unanswered else "")
            unanswered = [other for other in unanswered if other != ident]
        sent.append(message)
    return sent


def _wire_part(part: Any) -> Any:
    """A part of a content; text, and a picture of LangChain (either version) or Gemini, in the form of OpenAI."""
    plain = plain_part(part)
    if isinstance(plain, str):
        return {"type": "text", "text": plain}
    inline = field(part, "inline_data")
    picture = inline if isinstance(inline, Mapping) else part
    if picture is part and part.get("type") != "image":
        return part
    media, data, url = field(picture, "mime_type"), picture.get("base64") or picture.get("data"), picture.get("url")
    if isinstance(media, str) and data:
        url = f"data:{media};base64,{data}"
    return {"type": "image_url", "image_url": {"url": url}} if isinstance(url, str) else part


def _wire_call(ident: str, call: Mapping[str, Any]) -> dict[str, Any]:
    given = call["arguments"]
    arguments = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, default=described)
    return {"id": ident, "type": "function", "function": {"name": call["name"], "arguments": arguments}}


def _is_stored(turn: Mapping[str, Any]) -> bool:
    """Whether a message is written as LangChain does: `{"type": "ai", "data": {"content": "Yes."}}`, or by `dumps`."""
    if {"lc", "id", "kwargs"} <= turn.keys():
        return turn.get("type") == "constructor" and isinstance(turn["kwargs"], Mapping)
    return turn.keys() == {"type", "data"} and isinstance(turn["data"], Mapping)


def _is_typed(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(
        isinstance(message, Mapping) and "content" in message and message.get("type") in _TYPES for message in value
    )  # fmt: skip


def _read(text: str) -> Any:
    """The value in a text that may hold messages; None of any other."""
    is_likely = text.startswith(("[", "{")) and any(f"{mark}{key}{mark}" in text for mark in "\"'" for key in _NAMES)
    return printed_value(text) if is_likely else None


def printed_value(text: str) -> Any:
    """The value in a text in JSON, or in Python syntax, which pandas writes to files; None if it is neither.

    numpy, whose lists `datasets` writes, puts no commas between objects.

    >>> printed_value("{'q': 'Why?', 'n': None}"), printed_value("{'day': date(2024, 1, 1)}")
    ({'q': 'Why?', 'n': None}, None)
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        if len(text) > _MOST_PRINTED or sum(map(text.count, "([{")) > _MOST_NESTED:
            return None
    try:
        return ast.literal_eval(_APART.sub(lambda match: match[1] or "}, {", text))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def flaw_in(messages: Sequence[Message]) -> str:
    """The reason why messages have no question; "" if they have one.

    >>> flaw_in([{"role": "assistant", "content": "Hello."}])
    'there is no message of the user'
    """
    last = question_turn(messages)
    if last is None:
        return "there is no message of the user"
    if shown_content(messages[last].get("content")).strip():
        return ""
    return f"the last message {'of the user ' if messages[last]['role'].lower() in _HUMAN else ''}is blank"


def question_turn(messages: Sequence[Message]) -> int | None:
    """The position of the user's last message, of instructions alone that of the last one; None if there is neither.

    Many datasets of OpenAI's Evals ask in a system message.

    >>> question_turn([{"role": "system", "content": "Play chess."}, {"role": "system", "content": "1. e4"}])
    1
    """
    instructs = True
    for index in range(len(messages) - 1, -1, -1):
        role = messages[index]["role"].lower()
        if role in _HUMAN:
            return index
        instructs = instructs and role in _INSTRUCTS
    return len(messages) - 1 if messages and instructs else None


def question_of(value: Any) -> str:
    """The question in a sample's input; for a conversation, the text of the message that `question_turn` finds.

    >>> question_of([{"role": "user", "content": "first"}, {"role": "assistant", "content": "and?"}])
    'first'
    """
    if isinstance(value, str):
        return value
    if is_messages(value):
        last = question_turn(value)
        return "" if last is None else content_text(value[last].get("content"))
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def answer_of(value: Any) -> str | None:
    """The text of a conversation's last message if that is the assistant's; None for any other value.

    >>> answer_of([{"role": "user", "content": "Why?"}, {"role": "assistant", "content": " So. "}]), answer_of("So.")
    ('So.', None)
    """
    last = value[-1] if is_messages(value) else {}
    if last.get("role") != "assistant" or "content" not in last or last.get("tool_calls"):
        return None
    return content_text(last["content"]).strip()


def content_text(content: Any) -> str:
    """The text of a message's content, which may be a list of parts; parts that are not text are left out.

    Content that is no text (a gateway may answer with the JSON that was asked for itself) is its JSON.

    >>> content_text([{"type": "text", "text": "Paris"}]), content_text({"type": "text", "text": "Paris"})
    ('Paris', 'Paris')
    >>> content_text({"answer": "Paris", "sure": True})
    '{"answer": "Paris", "sure": true}'
    """
    if isinstance(content, str):
        return content
    if isinstance(content, list | tuple):
        texts = (part if isinstance(part, str) else mapping_or_empty(part).get("text") for part in content)
        return "".join(content_text(text) for text in texts)
    if isinstance(content, Mapping) and is_typed_text(content):
        return content_text(content["text"])
    return "" if content is None else json.dumps(content, ensure_ascii=False, default=str)


def transcript_of(value: Any) -> str:
    r"""An input as one text: a text unchanged, a conversation with all its turns, any other value as JSON.

    For a conversation of a single user message, the result is only its text.

    >>> print(transcript_of([{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "Ann."}]))
    User: Who?
    <BLANKLINE>
    Assistant: Ann.
    >>> transcript_of([{"role": "user", "content": "Who?"}])
    'Who?'
    """
    if isinstance(value, str):
        return value
    if not is_messages(value):
        return json.dumps(without_files(value), ensure_ascii=False, separators=(",", ":"), default=str)
    if len(value) == 1 and value[0]["role"].lower() in _HUMAN:
        return shown_content(value[0].get("content"))
    turns = [(str(message["role"]), _turn_text(message)) for message in value]
    language = language_of(*(text for _, text in turns))
    return "\n\n".join(f"{_role(name, language)}{_COLON[language]}{text}" for name, text in turns)


def input_text(value: Any) -> str:
    r"""A sample's input as one text for people; messages follow each other, each with its role.

    >>> input_text([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}])
    'System: Be brief.\n\nUser: Why?'
    """
    return transcript_of(value) if is_messages(value) else cell_text(without_files(value))


def search_text(value: Any) -> str:
    """The query text for retrieval: of a conversation its turns, without instructions where it has others.

    A last question such as "When?" does not name its subject; the turns before it do.

    >>> search_text([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}])
    'Who?'
    """
    if not is_messages(value):
        return transcript_of(value)
    said = [turn for turn in value if turn["role"].lower() not in _INSTRUCTS]
    texts = ("".join(_texts(turn.get("content"))) for turn in said or value[-1:])
    return "\n".join(text for text in texts if text)


def asked_with(value: Sequence[Message], text: str) -> list[Message]:
    """The messages of a conversation with `text` in place of the text of its question, see `question_turn`.

    Parts of that message that are not text are kept after the text.

    >>> asked_with([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}], "Q: Why?")
    [{'role': 'system', 'content': 'Be brief.'}, {'role': 'user', 'content': 'Q: Why?'}]
    """
    last = question_turn(value)
    if last is None:
        return [*value, {"role": "user", "content": text}]
    content = value[last].get("content")
    parts = content if isinstance(content, list | tuple) else ()
    others = [part for part in parts if not is_text_part(part)]
    if others:
        kind = next((part["type"] for part in parts if is_typed_text(part)), "text")
        changed: Any = [{"type": kind, "text": text}, *others]
    else:
        changed = text
    return [*value[:last], {**value[last], "content": changed}, *value[last + 1 :]]


def conversation_asked(value: Any, text: str, *, has_transcript: bool) -> list[Message]:
    """The messages for an input whose last question was put into a template.

    Args:
        value: the input of the sample.
        text: the filled template.
        has_transcript: whether the template has a placeholder for the whole conversation, so that `text` contains it.
    """
    if has_transcript or not is_messages(value):
        return [{"role": "user", "content": text}]
    return asked_with(value, text)


def with_system(system: str, messages: Sequence[Message]) -> list[Message]:
    r"""Put a system message first; an existing one is appended to it, since many servers accept only one.

    >>> with_system("Be brief.", [{"role": "system", "content": "In French."}, {"role": "user", "content": "Why?"}])
    [{'role': 'system', 'content': 'Be brief.\n\nIn French.'}, {'role': 'user', 'content': 'Why?'}]
    """
    if not system:
        return list(messages)
    first = messages[0] if messages else {}
    if first.get("role") == "system" and isinstance(first.get("content"), str):
        return [{**first, "content": f"{system}\n\n{first['content']}"}, *messages[1:]]
    return [{"role": "system", "content": system}, *messages]


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list | tuple):
        yield from (part if isinstance(part, str) else part["text"] for part in content if is_text_part(part))


def _turn_text(message: Message) -> str:
    """The content of a message, and its tool calls."""
    calls = message.get("tool_calls")
    texts = [shown_content(message.get("content"))]
    if isinstance(calls, list | tuple):
        texts += [_call_text(call) for call in calls if isinstance(call, Mapping)]
    return "\n".join(texts if texts[0] else texts[1:])


def _call_text(call: Mapping[str, Any]) -> str:
    plain = tool_call(call)
    arguments = without_files(plain["arguments"])
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=str)
    return f"[calls {plain['name']} {text}]"


def _role(name: str, language: str) -> str:
    return _ROLES[language].get(name.lower()) or name
