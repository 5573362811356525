"""What an agent did on its way to an answer: its messages, its tool calls and the tokens that it reports.

Frameworks write these in shapes of their own; here they become one: mappings as OpenAI's chat completions have them,
with the fields of a tool call beside each other (`id`, `name`, `arguments`). Objects are known by their attributes, so
no framework is imported.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any, Final, TypeGuard

from steelyard.plain_json import described
from steelyard.prompts.message_parts import shown_content
from steelyard.types import Output, Reply

MESSAGES: Final = "messages"
USAGE: Final = "usage"
LEFT_OUT: Final = "messages_left_out"
CONTEXTS: Final = "contexts"
"""Key of what is kept of a conversation: for each turn the places of its passages among those of the output."""
CONVERSATION: Final = "conversation"
"""Keys of an output's metadata."""

_MOST_MESSAGES: Final = 1_000
_MOST_OF_TEXT: Final = 20_000
_MOST_IN_ALL: Final = 200_000
"""Characters of one text, and of all messages of an output."""
_ROLES: Final = {
    "human": "user", "ai": "assistant", "AIMessageChunk": "assistant", "model": "assistant", "chatbot": "assistant",
    "function": "tool", "developer": "system",
}  # fmt: skip
_CHAT_ROLES: Final = frozenset({"system", "user", "assistant", "tool", *_ROLES})
_ANSWERS: Final = ("output", "answer", "result", "text")
_UNSHOWN_PARTS: Final = frozenset({"tool_use", "tool_call", "function_call", "reasoning", "thinking"})
_INPUT: Final = ("input_tokens", "prompt_tokens", "prompt_token_count")
_OUTPUT: Final = ("output_tokens", "completion_tokens", "candidates_token_count")
_CACHED: Final = (
    ("input_token_details", "cache_read"), ("prompt_tokens_details", "cached_tokens"), ("cache_read_input_tokens",),
    ("cached_input_tokens",),
)  # fmt: skip


def conversation_output(value: Any, question: Any = None) -> Output | None:
    """The output of a function that returned its conversation; None for any other value.

    A conversation is a list of chat messages with one of the assistant among them, or a mapping with such a list under
    `messages`. The answer is the mapping's `output`, `answer`, `result` or `text`, else the last message of the
    assistant. `usage` and texts under `contexts` are taken over, other keys become metadata.

    Args:
        value: what was returned.
        question: the sample's input, whose messages are not the agent's.

    >>> messages = [{"role": "user", "content": "1 + 1?"}, {"role": "assistant", "content": "2"}]
    >>> conversation_output(messages, "1 + 1?").value
    '2'
    """
    given = value if isinstance(value, Mapping) else {MESSAGES: value}
    messages = given.get(MESSAGES)
    if not is_answered_conversation(messages):
        return None
    plain = own_messages(messages, question)
    answer = next((given[key] for key in _ANSWERS if given.get(key) is not None), None)
    usage = given.get(USAGE)
    others = {key: item for key, item in given.items() if key not in {MESSAGES, USAGE, "contexts", *_ANSWERS}}
    metadata = others | agent_metadata(plain, [usage] if usage else answers_among(messages, len(plain)))
    contexts = given.get("contexts") or ()
    return Output(last_answer(messages) if answer is None else answer, contexts, metadata)


def with_plain_conversation(output: Output, question: Any = None) -> Output:
    """The output with a framework's messages and token counts converted to the common form."""
    messages, usage = output.metadata.get(MESSAGES), output.metadata.get(USAGE)
    plain: list[dict[str, Any]] = []
    calls = [] if usage is None else [usage]
    if is_answered_conversation(messages):
        # Of a conversation with a simulated user all messages are shown and scored, those of the user among them.
        whole = isinstance(output.metadata.get(CONVERSATION), Mapping)
        plain = list(map(plain_message, messages)) if whole else own_messages(messages, question)
        calls = calls or answers_among(messages, len(plain))
    if not plain and not calls:
        return output
    return replace(output, metadata={**output.metadata, **agent_metadata(plain, calls)})


def steps_of_reply(reply: Reply) -> dict[str, Any]:
    """The metadata of an output that say what a model, or an agent behind an endpoint, did for its reply.

    Args:
        reply: with `tool_calls`, or all `messages` of an agent, in its metadata; the text is the last of them where it
            is not among them.

    >>> steps_of_reply(Reply("", "At 6.", metadata={"messages": []}))["messages"]
    [{'role': 'assistant', 'content': 'At 6.'}]
    """
    given = reply.metadata.get(MESSAGES, [])
    messages: Any = [given] if isinstance(given, Mapping) else given
    if isinstance(messages, list):
        answered = is_answered_conversation(messages)
        if not answered or (reply.text.strip() and last_answer(messages).strip() != reply.text.strip()):
            calls = reply.metadata.get("tool_calls")
            answer = {"role": "assistant", "content": reply.text, **({"tool_calls": calls} if calls else {})}
            messages = [*messages, answer]
    usage = reply.usage
    if usage.estimated:
        return {MESSAGES: messages}
    counts = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    if cached := reply.metadata.get("cached_tokens"):
        counts["cached_input_tokens"] = cached
    return {MESSAGES: messages, USAGE: counts}


def reported_usage(output: Output | None, *, through_journal: bool) -> Mapping[str, int] | None:
    """The tokens that an output reports of calls outside the journal; None if it reports none.

    Args:
        output: of a target.
        through_journal: whether the target asked its models through the journal: their tokens are counted there
            already.
    """
    return None if output is None or through_journal else tokens_in(output.metadata.get(USAGE))


def is_answered_conversation(value: Any) -> TypeGuard[Sequence[Any]]:
    """Whether a value is what an agent returned: chat messages, one of them the assistant's.

    Unlike `conversation.is_messages`, which is for inputs: messages may be a framework's own objects, and the roles
    must be those of a chat, since any list of mappings could be a target's output.
    """
    return (
        isinstance(value, list | tuple)
        and all(map(_is_message, value))
        and any(_role(message) == "assistant" for message in value)
    )


def _is_message(value: Any) -> bool:
    if isinstance(value, Mapping):
        return (
            isinstance(value.get("role"), str)
            and value["role"] in _CHAT_ROLES
            and ("content" in value or "tool_calls" in value)
        )
    return hasattr(value, "content") and _role(value) in _CHAT_ROLES


def last_answer(messages: Sequence[Any]) -> str:
    """The text of the assistant's last message."""
    return next(_text(_field(message, "content")) for message in reversed(messages) if _role(message) == "assistant")


def own_messages(messages: Sequence[Any], question: Any = None) -> list[dict[str, Any]]:
    """The messages in the common form, without those that repeat the input.

    Frameworks return the whole conversation. What belongs to the input ends with the last message that was asked; where
    that is not found word for word, as a template stands around it, with the messages in front of the first answer.

    Args:
        messages: of one conversation, in order.
        question: a text, or a list of messages.
    """
    plain = [plain_message(message) for message in messages]
    turns = [plain_message(message) for message in question] if isinstance(question, list | tuple) and question else []
    last = turns[-1]["content"] if turns else question
    for at in range(max(len(turns) - 1, 0), len(plain)):
        if plain[at]["role"] == "user" and plain[at]["content"] == last:
            return plain[at + 1 :]
    first = next((at for at, message in enumerate(plain) if message["role"] not in {"system", "user"}), len(plain))
    return plain[first:]


def plain_message(message: Any) -> dict[str, Any]:
    """One message: `role`, `content`, and where it has them `tool_calls`, `tool_call_id`, `name`, `status`.

    >>> call = {"id": "c1", "function": {"name": "add", "arguments": '{"a": 1}'}}
    >>> plain_message({"role": "assistant", "content": None, "tool_calls": [call]})["tool_calls"]
    [{'id': 'c1', 'name': 'add', 'arguments': {'a': 1}}]
    """
    more = _field(message, "additional_kwargs")
    calls = _field(message, "tool_calls") or _field(more, "tool_calls")
    calls = calls if isinstance(calls, list | tuple) else ()
    single = _field(message, "function_call") or _field(more, "function_call")
    plain: dict[str, Any] = {"role": _role(message), "content": _text(_field(message, "content"))}
    if plain_calls := [tool_call(call) for call in (*calls, *([single] if single and not calls else []))]:
        plain["tool_calls"] = plain_calls
    for key in ("tool_call_id", "name", "status"):
        value = _field(message, key) or _field(more, key)
        if isinstance(value, str) and (plain["role"] == "tool" or key == "name"):
            plain[key] = value
    return plain


def tool_call(call: Any) -> dict[str, Any]:
    """A tool call: `id`, `name` and `arguments`, a mapping where they are one."""
    function = _field(call, "function") or call
    arguments: Any = next(
        (value for key in ("arguments", "args", "tool_kwargs", "tool_input") if (value := _field(function, key))), {}
    )
    if isinstance(arguments, str):
        try:
            read = json.loads(arguments)
        except (ValueError, RecursionError):
            read = arguments
        arguments = read if isinstance(read, Mapping) else arguments
    name = _field(function, "name") or _field(function, "tool_name") or _field(function, "tool") or ""
    return {"id": str(_field(call, "id") or _field(call, "tool_id") or ""), "name": str(name), "arguments": arguments}


def agent_metadata(messages: Sequence[Mapping[str, Any]], usages: Iterable[Any]) -> dict[str, Any]:
    """The metadata of an agent's output: `messages` and `usage`, if there are any.

    Args:
        messages: in one form; long texts are cut, and so is a long list, which is said.
        usages: one per call of a model: anything that `tokens_in` reads; None where the framework does not say.
    """
    metadata: dict[str, Any] = {}
    if messages:
        metadata[MESSAGES] = _bounded(messages)
        if len(messages) > len(metadata[MESSAGES]):
            metadata[LEFT_OUT] = len(messages) - len(metadata[MESSAGES])
    if (usage := summed_usage(map(tokens_in, usages))) is not None:
        metadata[USAGE] = usage
    return metadata


def summed_usage(usages: Iterable[Mapping[str, int] | None]) -> dict[str, int] | None:
    """The sum of the tokens of several calls; None if no call reports any: they are unknown then, not 0.

    `calls` counts them all, `calls_without_tokens` those that say nothing, so that the sum is of a part.

    >>> summed_usage([{"input_tokens": 9, "output_tokens": 2}, None])
    {'input_tokens': 9, 'output_tokens': 2, 'calls': 2, 'calls_without_tokens': 1}
    """
    counts = list(usages)
    reported = [usage for usage in counts if usage is not None]
    if not reported:
        return None
    total: dict[str, int] = {}
    for usage in reported:
        for key in ("input_tokens", "output_tokens", "cached_input_tokens"):
            if key in usage:
                total[key] = total.get(key, 0) + usage[key]
    total["calls"] = sum(usage.get("calls", 1) for usage in reported) + len(counts) - len(reported)
    silent = sum(usage.get("calls_without_tokens", 0) for usage in reported) + len(counts) - len(reported)
    return total | ({"calls_without_tokens": silent} if silent else {})


def tokens_in(value: Any) -> dict[str, int] | None:
    """The token counts in a reply, a message or a usage block; None if there are none.

    Read are `usage_metadata` and `response_metadata` (LangChain), `usage` (OpenAI), `raw` and `additional_kwargs`
    (LlamaIndex), and the counts themselves.

    >>> tokens_in({"usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}})
    {'input_tokens': 9, 'output_tokens': 2}
    """
    about = _field(value, "response_metadata")
    raw = _field(value, "raw")
    blocks = (
        _field(value, "usage_metadata"), *(_field(about, key) for key in ("token_usage", "usage")),
        _field(value, USAGE), _field(raw, USAGE), _field(raw, "usage_metadata"), _field(value, "additional_kwargs"),
        value,
    )  # fmt: skip
    return next((counts for block in blocks if block is not None and (counts := _counts(block)) is not None), None)


def _counts(usage: Any) -> dict[str, int] | None:
    input_tokens, output_tokens = (
        next((n for key in keys if _is_count(n := _field(usage, key))), None) for keys in (_INPUT, _OUTPUT)
    )
    if input_tokens is None or output_tokens is None:
        return None
    counts = {"input_tokens": input_tokens, "output_tokens": output_tokens}
    for path in _CACHED:
        value = usage
        for key in path:
            value = _field(value, key)
        if _is_count(value):
            counts["cached_input_tokens"] = value
            break
    more = {key: n for key in ("calls", "calls_without_tokens") if _is_count(n := _field(usage, key))}
    return counts | more


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def answers_among(messages: Sequence[Any], own: int) -> list[Any]:
    """The assistant's messages among the last `own`: each is the reply of a model, which may say its tokens."""
    return [message for message in messages[len(messages) - own :] if _role(message) == "assistant"]


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _role(message: Any) -> str:
    role = _field(message, "role") or _field(message, "type") or ""
    name = str(role.value if isinstance(role, Enum) else role)
    return _ROLES.get(name, name)


def _text(content: Any) -> str:
    """A content's text, with placeholders for parts that are not text."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list | tuple):
        return json.dumps(content, ensure_ascii=False, default=described)
    return shown_content([plain for part in content if (plain := _plain_part(part)) is not None])


def _plain_part(part: Any) -> Any:
    """A part as `shown_content` takes it; None for tool calls and reasoning, which are shown elsewhere."""
    text = part if isinstance(part, str) else _field(part, "text")
    if isinstance(text, str):
        return text
    kind = str(_field(part, "type") or _field(part, "block_type") or "part")  # LlamaIndex has the latter
    if kind in _UNSHOWN_PARTS:
        return None
    return part if isinstance(part, Mapping) else f"[{kind}]"


def _bounded(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The first messages, their texts cut to the limits on each of them and on all."""
    kept = messages[:_MOST_MESSAGES]
    calls = [call for message in kept for call in message.get("tool_calls", ())]
    given = [json.dumps(call["arguments"], ensure_ascii=False, default=described) for call in calls]
    most = _most_of_each([len(text) for text in (*(message["content"] for message in kept), *given)])
    texts = iter(given)
    bounded = []
    for original in kept:
        message = {**original, "content": _cut(original["content"], most)}
        if "tool_calls" in original:
            message["tool_calls"] = [_with_cut_arguments(call, next(texts), most) for call in original["tool_calls"]]
        bounded.append(message)
    return bounded


def _most_of_each(lengths: Sequence[int]) -> int:
    """The length to which each text is cut so that all together keep to their limit.

    Short texts stay whole and long ones are cut alike, wherever they stand: cutting what comes last would take the end
    of a long way, by which it is told whether a goal was reached.
    """
    left = _MOST_IN_ALL
    ordered = sorted(min(length, _MOST_OF_TEXT) for length in lengths)
    for no, length in enumerate(ordered):
        most = left // (len(ordered) - no)
        if length > most:
            return most
        left -= length
    return _MOST_OF_TEXT


def _with_cut_arguments(call: Mapping[str, Any], text: str, most: int) -> dict[str, Any]:
    """A call; arguments that are too long are the beginning of their JSON text."""
    return {**call, "arguments": call["arguments"] if len(text) <= most else _cut(text, most)}


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… [{len(text) - most:,} characters cut]"
