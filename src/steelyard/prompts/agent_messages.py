"""Converts an agent's messages, tool calls and reported tokens from any framework to one common form.

The common form is that of OpenAI's chat completions, but with the fields of a tool call on one level (`id`, `name`,
`arguments`). Objects are recognised by their attributes, so no framework is imported.
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
"""Key under which a conversation keeps, for each turn, the positions of its passages among those of the output."""
CONVERSATION: Final = "conversation"
"""Keys of an output's metadata."""

_MOST_MESSAGES: Final = 1_000
_MOST_OF_TEXT: Final = 20_000
_MOST_IN_ALL: Final = 200_000
"""Maximum characters of one text, and of all messages of an output."""
_ROLES: Final = {
    "human": "user", "ai": "assistant", "AIMessageChunk": "assistant", "model": "assistant", "chatbot": "assistant",
    "function": "tool", "developer": "system",
}  # fmt: skip
_ANSWERED: Final = frozenset({"ai", "AIMessageChunk"})
"""Types of LangChain's answers, which have no role; any object may have `type: model`."""
_CHAT_ROLES: Final = frozenset({"system", "user", "assistant", "tool", *_ROLES})
_ANSWERS: Final = ("output", "answer", "result", "text")
_ARGUMENTS: Final = ("arguments", "args", "tool_kwargs", "tool_input", "input")
_CALL_PARTS: Final = frozenset({"tool_use", "server_tool_use", "mcp_tool_use", "tool_call", "function_call"})
_CALL_ITEMS: Final = frozenset({"function_call", "custom_tool_call"})
_RESULT_ITEMS: Final = frozenset({"function_call_output", "custom_tool_call_output"})
_ITEMS: Final = _CALL_ITEMS | _RESULT_ITEMS | {"reasoning"}
"""Types of what stands beside messages in OpenAI's Responses API."""
_UNSHOWN_PARTS: Final = _CALL_PARTS | {"reasoning", "thinking"}
_INPUT: Final = ("input_tokens", "prompt_tokens", "prompt_token_count")
_OUTPUT: Final = ("output_tokens", "completion_tokens", "candidates_token_count")
_CACHED: Final = (
    ("input_token_details", "cache_read"), ("prompt_tokens_details", "cached_tokens"),
    ("input_tokens_details", "cached_tokens"), ("cache_read_input_tokens",), ("input_tokens_cache_read",),
    ("cached_content_token_count",), ("cached_input_tokens",),
)  # fmt: skip
_BESIDE: Final[Mapping[str, tuple[str, ...]]] = {
    "input_tokens": (
        "cache_read_input_tokens", "cache_creation_input_tokens",  # Anthropic
        "input_tokens_cache_read", "input_tokens_cache_write",  # Inspect
    ),
    "prompt_token_count": ("tool_use_prompt_token_count",),
    "candidates_token_count": ("thoughts_token_count",),
}  # fmt: skip
"""Counts that providers give beside another, which does not include them."""


def conversation_output(value: Any, question: Any = None) -> Output | None:
    """The output of a function that returned its conversation; None for any other value.

    A conversation is a list of chat messages with at least one of the assistant, or a mapping with such a list under
    `messages`, or a model's whole reply (see `_reply_of`). The answer is the mapping's `output`, `answer`, `result` or
    `text`, else the last message of the assistant. `usage` and the texts of `contexts` are used as they are, other keys
    become metadata.

    Args:
        value: what was returned.
        question: the sample's input, whose messages are not the agent's.

    >>> messages = [{"role": "user", "content": "1 + 1?"}, {"role": "assistant", "content": "2"}]
    >>> conversation_output(messages, "1 + 1?").value
    '2'
    """
    returned: Mapping[str, Any] = value if isinstance(value, Mapping) else {MESSAGES: value}
    messages = returned.get(MESSAGES)
    if not is_answered_conversation(messages) or _role(messages[-1]) != "assistant":  # they may be of the request
        returned = _reply_of(returned) or returned
        messages = returned.get(MESSAGES)
    if not is_answered_conversation(messages):
        return None
    messages = with_separate_results(messages)
    plain = own_messages(messages, question)
    answer = next((returned[key] for key in _ANSWERS if returned.get(key) is not None), None)
    usage = returned.get(USAGE)
    others = {key: item for key, item in returned.items() if key not in {MESSAGES, USAGE, "contexts", *_ANSWERS}}
    metadata = others | agent_metadata(plain, [usage] if usage else answers_among(messages, len(plain)))
    contexts = returned.get("contexts") or ()
    if answer is None and (refusal := _refusal(messages)):
        return Output(refusal, contexts, {**metadata, "finish": "refusal"})
    return Output(last_answer(messages) if answer is None else answer, contexts, metadata)


def _reply_of(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The messages and the usage of a model's reply as its API gives it, which logs keep; None for any other mapping.

    That is a chat completion, a response of OpenAI's Responses API, LangChain's result of a call, or one message.
    """
    if isinstance(value.get("object"), str) and value["object"] == "response":
        return {MESSAGES: value["output"], USAGE: value.get(USAGE)} if isinstance(value.get("output"), list) else None
    # Functions may return anything under these keys, also arrays, which are neither true nor false.
    lists = (listed for key in ("choices", "generations") if isinstance(listed := value.get(key), list) and listed)
    choice: Any = next(lists, {"message": value})
    while isinstance(choice, list) and choice:  # LangChain has a list for each prompt of a batch
        choice = choice[0]
    message = choice.get("message") if isinstance(choice, Mapping) else None
    message = message.get("kwargs", message) if isinstance(message, Mapping) else None
    if not isinstance(message, Mapping) or "content" not in message:
        return None
    role = message.get("role")
    if (_ROLES.get(role, role) != "assistant") if isinstance(role, str) else str(message.get("type")) not in _ANSWERED:
        return None
    reason = choice.get("finish_reason")
    finish = {"finish": reason} if isinstance(reason, str) and reason else {}
    return {MESSAGES: [{**message, "role": "assistant"}], USAGE: value.get(USAGE), **finish}


def with_plain_conversation(output: Output, question: Any = None) -> Output:
    """The output with a framework's messages and token counts converted to the common form."""
    messages, usage = output.metadata.get(MESSAGES), output.metadata.get(USAGE)
    plain: list[dict[str, Any]] = []
    calls = [] if usage is None else [usage]
    if is_answered_conversation(messages):
        # In a conversation with a simulated user all messages are shown and scored, including those of the user.
        whole = isinstance(output.metadata.get(CONVERSATION), Mapping)
        messages = with_separate_results(messages)
        plain = list(map(plain_message, messages)) if whole else own_messages(messages, question)
        calls = calls or answers_among(messages, len(plain))
    if not plain and not calls:
        return output
    return replace(output, metadata={**output.metadata, **agent_metadata(plain, calls)})


def steps_of_reply(reply: Reply) -> dict[str, Any]:
    """The metadata of an output that record what a model, or an agent behind an endpoint, did for its reply.

    Args:
        reply: with `tool_calls`, or all `messages` of an agent, in its metadata; if its text is not the last answer
            among them, it is added as the last message.

    >>> steps_of_reply(Reply("", "At 6.", metadata={"messages": []}))["messages"]
    [{'role': 'assistant', 'content': 'At 6.'}]
    """
    stored = reply.metadata.get(MESSAGES, [])
    messages: Any = [stored] if isinstance(stored, Mapping) else stored
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
    if usage.cache_read:
        counts["cached_input_tokens"] = usage.cache_read
    return {MESSAGES: messages, USAGE: counts}


def reported_usage(output: Output | None, *, through_journal: bool) -> Mapping[str, int] | None:
    """The tokens that an output reports of calls outside the journal; None if it reports none.

    Args:
        output: of a target.
        through_journal: whether the target called its models through the journal, where their tokens are counted.
    """
    return None if output is None or through_journal else tokens_in(output.metadata.get(USAGE))


def is_answered_conversation(value: Any) -> TypeGuard[Sequence[Any]]:
    """Whether a value is a list of chat messages with at least one of the assistant, as agents return it.

    It differs from `conversation.is_messages`, which is for inputs: messages may be a framework's own objects, and the
    roles must be those of a chat, since any list of mappings could be a target's output.
    """
    return (
        isinstance(value, list | tuple)
        and all(map(_is_message, value))
        and any(_role(message) == "assistant" for message in value)
    )


def _is_message(value: Any) -> bool:
    if _item(value):
        return True
    if isinstance(value, Mapping):
        return (
            isinstance(value.get("role"), str)
            and value["role"] in _CHAT_ROLES
            and ("content" in value or "tool_calls" in value)
        )
    return hasattr(value, "content") and _role(value) in _CHAT_ROLES


def with_separate_results(messages: Sequence[Any]) -> list[Any]:
    """The messages, with results of tools that stand in a user's message as messages of their own (Anthropic's form).

    Of OpenAI's Responses API a call belongs to the message before it, if that is the assistant's, and reasoning is left
    out.

    >>> result = {"type": "tool_result", "tool_use_id": "c1", "content": "2"}
    >>> with_separate_results([{"role": "user", "content": [result]}])
    [{'role': 'tool', 'tool_call_id': 'c1', 'content': '2'}]
    """
    return [separate for message in _without_items(messages) for separate in _separated(message)]


def _item(value: Any) -> str:
    """The type of an item that is no message; "" of a message."""
    kind = _field(value, "type")
    return kind if isinstance(kind, str) and kind in _ITEMS and _field(value, "role") is None else ""


def _without_items(messages: Sequence[Any]) -> list[Any]:
    plain: list[Any] = []
    calls: list[Any] = []  # of the last message, where it is made of items
    for message in messages:
        kind = _item(message)
        if kind in _CALL_ITEMS:
            if not calls:
                last = plain.pop() if plain and _role(plain[-1]) == "assistant" else None
                calls = [*(_field(last, "tool_calls") or ())]
                plain.append({"role": "assistant", "content": _field(last, "content"), "tool_calls": calls})
            call = {key: _field(message, key) for key in ("name", *_ARGUMENTS)}
            calls.append({"id": _field(message, "call_id"), **call})
        elif kind in _RESULT_ITEMS:
            result = {"tool_call_id": _field(message, "call_id"), "content": _field(message, "output")}
            plain.append({"role": "tool", **result})
            calls = []
        elif not kind:
            plain.append(message)
            calls = []
    return plain


def _separated(message: Any) -> list[Any]:
    content = _field(message, "content")
    parts = content if isinstance(content, list | tuple) and _role(message) == "user" else ()
    results = [part for part in parts if _field(part, "type") == "tool_result"]
    if not results:
        return [message]
    others = [part for part in parts if _field(part, "type") != "tool_result"]
    separate = [
        {
            "role": "tool",
            "tool_call_id": str(_field(result, "tool_use_id") or ""),
            "content": _field(result, "content"),
            **({"status": "error"} if _field(result, "is_error") else {}),
        }
        for result in results
    ]
    return [*separate, *([{"role": "user", "content": others}] if others else [])]


def last_answer(messages: Sequence[Any]) -> str:
    """The text of the assistant's last message."""
    return next(_text(_field(message, "content")) for message in reversed(messages) if _role(message) == "assistant")


def _refusal(messages: Sequence[Any]) -> str:
    """The words with which OpenAI's model refuses in place of its last answer; "" where it answers."""
    last = next(message for message in reversed(messages) if _role(message) == "assistant")
    content = _field(last, "content")
    parts = content if isinstance(content, list | tuple) else ()
    refusals = [text for part in (last, *parts) if isinstance(text := _field(part, "refusal"), str)]
    return refusals[0] if refusals and _text(content) in {"", refusals[0]} else ""


def own_messages(messages: Sequence[Any], question: Any = None) -> list[dict[str, Any]]:
    """The messages in the common form, without those that repeat the input.

    Frameworks return the whole conversation. The input ends with the last message of the question; if a template has
    changed that message, so that it is not found word for word, the input ends before the first answer.

    Args:
        messages: of one conversation, in order.
        question: a text, or a list of messages.
    """
    plain = [plain_message(message) for message in messages]
    turns = [plain_message(message) for message in question] if isinstance(question, list | tuple) and question else []
    last = turns[-1]["content"] if turns else question
    for index in range(max(len(turns) - 1, 0), len(plain)):
        if plain[index]["role"] == "user" and plain[index]["content"] == last:
            return plain[index + 1 :]
    first = next(
        (index for index, message in enumerate(plain) if message["role"] not in {"system", "user"}), len(plain)
    )
    return plain[first:]


def plain_message(message: Any) -> dict[str, Any]:
    """A message in the common form: `role`, `content`, and optionally `tool_calls`, `tool_call_id`, `name`, `status`.

    >>> call = {"id": "c1", "function": {"name": "add", "arguments": '{"a": 1}'}}
    >>> plain_message({"role": "assistant", "content": None, "tool_calls": [call]})["tool_calls"]
    [{'id': 'c1', 'name': 'add', 'arguments': {'a': 1}}]
    """
    more = _field(message, "additional_kwargs")
    calls = _field(message, "tool_calls") or _field(more, "tool_calls") or _calls_in(_field(message, "content"))
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


def _calls_in(content: Any) -> list[Any]:
    """The calls of tools among the parts of a message, where Anthropic's messages have them."""
    parts = content if isinstance(content, list | tuple) else ()
    return [part for part in parts if _field(part, "type") in _CALL_PARTS]


def tool_call(call: Any) -> dict[str, Any]:
    """A tool call in the common form: `id`, `name` and `arguments`, which are a mapping if they can be read as one."""
    function = _field(call, "function") or _field(call, "custom") or call
    function = {"name": function, **call} if isinstance(function, str) and isinstance(call, Mapping) else function
    arguments: Any = next((value for key in _ARGUMENTS if (value := _field(function, key))), {})
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
        messages: in the common form; long texts are cut, and so is a long list, with the number of missing messages.
        usages: one per call of a model: anything that `tokens_in` reads; None if the framework reports nothing.
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
    """The sum of the tokens of several calls; None if no call reports tokens, as they are then unknown and not 0.

    `calls` counts all calls, `calls_without_tokens` those that report no tokens and are missing from the sum.

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

    It reads `usage_metadata` and `response_metadata` (LangChain), `usage` (OpenAI), `raw` and `additional_kwargs`
    (LlamaIndex), and the counts themselves.

    >>> tokens_in({"usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}})
    {'input_tokens': 9, 'output_tokens': 2}
    >>> tokens_in({"usage": {"input_tokens": 9, "cache_read_input_tokens": 90, "output_tokens": 2}})
    {'input_tokens': 99, 'output_tokens': 2, 'cached_input_tokens': 90}
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
        next((_whole(usage, key, n) for key in keys if _is_count(n := _field(usage, key))), None)
        for keys in (_INPUT, _OUTPUT)
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


def _whole(usage: Any, key: str, count: int) -> int:
    """A count with those that the provider gives beside it."""
    return count + sum(int(n) for other in _BESIDE.get(key, ()) if _is_count(n := _field(usage, other)))


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def answers_among(messages: Sequence[Any], own: int) -> list[Any]:
    """The assistant's messages among the last `own` ones; each is the reply of a model, which may report tokens."""
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
    """A part in a form that `shown_content` accepts; None for tool calls and reasoning, which are shown elsewhere."""
    text = part if isinstance(part, str) else _field(part, "refusal" if _kind(part) == "refusal" else "text")
    if isinstance(text, str):
        return text
    if is_call_part(part):
        return None
    return part if isinstance(part, Mapping) else f"[{_kind(part)}]"


def is_call_part(part: Any) -> bool:
    """Whether a part of a content is a call of a tool, or reasoning, which stand elsewhere or are not kept."""
    return _kind(part) in _UNSHOWN_PARTS


def _kind(part: Any) -> str:
    return str(_field(part, "type") or _field(part, "block_type") or "part")  # LlamaIndex has the latter


def _bounded(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The first messages, with their texts cut to the limits for one text and for all texts."""
    first_messages = messages[:_MOST_MESSAGES]
    calls = [call for message in first_messages for call in message.get("tool_calls", ())]
    argument_texts = [json.dumps(call["arguments"], ensure_ascii=False, default=described) for call in calls]
    most = _most_of_each([len(text) for text in (*(message["content"] for message in first_messages), *argument_texts)])
    texts = iter(argument_texts)
    bounded = []
    for original in first_messages:
        message = {**original, "content": _cut(original["content"], most)}
        if "tool_calls" in original:
            message["tool_calls"] = [_with_cut_arguments(call, next(texts), most) for call in original["tool_calls"]]
        bounded.append(message)
    return bounded


def _most_of_each(lengths: Sequence[int]) -> int:
    """The length to which each text is cut so that all together stay within their limit.

    Short texts stay whole and long ones are cut to the same length, at any position: cutting only the last ones would
    remove the end of a long run, which shows whether a goal was reached.
    """
    remaining = _MOST_IN_ALL
    ordered = sorted(min(length, _MOST_OF_TEXT) for length in lengths)
    for no, length in enumerate(ordered):
        most = remaining // (len(ordered) - no)
        if length > most:
            return most
        remaining -= length
    return _MOST_OF_TEXT


def _with_cut_arguments(call: Mapping[str, Any], text: str, most: int) -> dict[str, Any]:
    """A call; arguments that are too long are replaced by the beginning of their JSON text."""
    return {**call, "arguments": call["arguments"] if len(text) <= most else _cut(text, most)}


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… [{len(text) - most:,} characters cut]"
