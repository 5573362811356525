"""Converts an agent's messages, tool calls and reported tokens from any framework to one common form.

The common form is that of OpenAI's chat completions, but with the fields of a tool call on one level (`id`, `name`,
`arguments`). Objects are recognised by their attributes, so no framework is imported.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeGuard

from steelyard.plain_json import described
from steelyard.prompts.message_forms import (
    CALL,
    REASONING,
    RESULT,
    content_of,
    field,
    first_field,
    has_field,
    is_message,
    item_kind,
    part_kind,
    part_type,
    parts_of,
    role_of,
    unwrapped,
)
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
_METHODS: Final = ("all_messages", "to_input_list")
"""Methods of results of Pydantic AI and OpenAI's Agents that give the conversation."""
_ANSWERS: Final = ("output", "answer", "result", "text", "final_output")
"""Where a result or a stored row of an agent has its answer beside its messages; the first that is not None."""
_STEPS_UNKNOWN: Final = "steps_unknown"
_READ: Final = frozenset({MESSAGES, USAGE, CONTEXTS, *_ANSWERS, _STEPS_UNKNOWN})
_LAST_OF_AGENT: Final = ("tool_calls", "automatic_function_calling_history", "stop_reason", "thread", "author")
"""What an agent's result has beside its last message, where the messages before it are not in the result: LlamaIndex,
Gemini, Strands, Semantic Kernel, Google ADK."""
_NAME: Final = ("name", "tool_name", "tool", "function_name")
_UNNAMED: Final = frozenset({"function", "custom", "function_call", "tool_call", "custom_tool_call", "tool_use"})
"""Types of calls that say nothing of the tool."""
_ARGUMENTS: Final = ("arguments", "args", "tool_kwargs", "tool_input", "input", "input_parameters", "action")
_ID: Final = ("tool_call_id", "call_id", "tool_use_id", "id", "tool_id")
_CONTENT: Final = ("content", "output", "result", "response", "error_text")
_STEP: Final = "step-start"
"""The part with which each step begins in a message of the AI SDK's user interface."""
_TEXTS: Final = frozenset({"text", "user-prompt", "system-prompt"})
"""Types of parts that have their text under `content` in Pydantic AI and OpenTelemetry."""
_ERRORS: Final = ("is_error", "error", "tool_call_error")
_FAILED: Final = frozenset({"error", "failed", "retry-prompt", "error-text", "error-json", "output-error"})
_KEPT: Final = ("tool_calls", "function_call", "additional_kwargs", "name", "tool_call_id", "status", "refusal")
_INPUT: Final = ("input_tokens", "prompt_tokens", "prompt_token_count", "prompt_eval_count")
_OUTPUT: Final = ("output_tokens", "completion_tokens", "candidates_token_count", "eval_count")
_CACHED: Final = (
    ("input_token_details", "cache_read"), ("prompt_tokens_details", "cached_tokens"),
    ("input_tokens_details", "cached_tokens"), ("cache_read_input_tokens",), ("input_tokens_cache_read",),
    ("cached_content_token_count",), ("cached_input_tokens",), ("cache_read_tokens",), ("cached_prompt_tokens",),
)  # fmt: skip
_CALLS: Final = {
    "requests": "calls", "successful_requests": "calls",  # Pydantic AI and OpenAI Agents, CrewAI
    "calls": "calls", "calls_without_tokens": "calls_without_tokens",
}  # fmt: skip
_USAGES: Final = (
    ("usage_metadata",), ("response_metadata", "token_usage"), ("response_metadata", "usage"), (USAGE,), ("raw", USAGE),
    ("raw", "usage_metadata"), ("additional_kwargs",), ("meta", USAGE), ("metadata", USAGE), ("metrics",),
    ("context_wrapper", USAGE), ("token_usage",), ("models_usage",), (),
)  # fmt: skip
"""Where messages and replies have their counts."""
_CHOICES: Final = ("choices", "candidates", "generations")
"""Lists of answers of OpenAI, Gemini and LangChain."""
_BESIDE: Final[Mapping[str, tuple[str, ...]]] = {
    "input_tokens": (
        "cache_read_input_tokens", "cache_creation_input_tokens", "cache_write_input_tokens",  # Anthropic, Bedrock
        "input_tokens_cache_read", "input_tokens_cache_write",  # Inspect
    ),
    "prompt_token_count": ("tool_use_prompt_token_count",),
    "candidates_token_count": ("thoughts_token_count",),
}  # fmt: skip
"""Counts that providers give beside another, which does not include them unless the total is the sum of the two."""


def conversation_output(value: Any, question: Any = None) -> Output | None:
    """The output of a function that returned its conversation; None for any other value.

    A conversation is a list of chat messages with at least one of the assistant, or a mapping or an object that has
    such a list under `messages` or gives it by a method (`_METHODS`), or a model's whole reply (see `_reply_of`). The
    answer is at one of `_ANSWERS`, else it is the last message of the assistant. `usage` and the texts of `contexts`
    are used as they are, other keys become metadata.

    Args:
        value: what was returned.
        question: the sample's input, whose messages are not the agent's.

    >>> messages = [{"role": "user", "content": "1 + 1?"}, {"role": "assistant", "content": "2"}]
    >>> conversation_output(messages, "1 + 1?").value
    '2'
    """
    returned = _returned(value)
    messages = returned.get(MESSAGES)
    if not is_answered_conversation(messages) or role_of(unwrapped(messages[-1])) != "assistant":
        returned = _reply_of(value) or returned  # the messages may be those of the request
        messages = returned.get(MESSAGES)
    if not is_answered_conversation(messages):
        return None
    messages = with_separate_results(messages)
    plain = [] if _STEPS_UNKNOWN in returned else own_messages(messages, question)
    answer = next((returned[key] for key in _ANSWERS if returned.get(key) is not None), None)
    usage = returned.get(USAGE)
    others = {key: item for key, item in returned.items() if key not in _READ}
    metadata = others | agent_metadata(plain, [usage] if tokens_in(usage) else answers_among(messages, len(plain)))
    contexts = returned.get("contexts") or ()
    if answer is None and (refusal := _refusal(messages)):
        return Output(refusal, contexts, {**metadata, "finish": "refusal"})
    return Output(last_answer(messages) if answer is None else answer, contexts, metadata)


def _returned(value: Any) -> Mapping[str, Any]:
    """What was returned as a mapping: a framework's result as its conversation, answer and usage."""
    if isinstance(value, list | tuple):
        return {MESSAGES: value}
    if is_answered_conversation(run := _run_messages(value)):
        usage = None if any(map(tokens_in, run)) else tokens_in(value)
        return {MESSAGES: run, USAGE: usage, "output": first_field(value, ("raw", "output"))}
    if isinstance(value, Mapping):
        return value
    methods = (method for name in _METHODS if callable(method := field(value, name)))
    messages = next((method() for method in methods), field(value, MESSAGES))
    if not is_answered_conversation(messages):
        return {}
    answers = {name: answer for name in _ANSWERS if not callable(answer := field(value, name))}
    return {MESSAGES: messages, USAGE: tokens_in(value), **answers}


def _run_messages(value: Any) -> list[Any]:
    """The messages in the result of a run of CrewAI, which has them by task, or of smolagents, which has steps."""
    tasks, steps = (
        listed if isinstance(listed := field(value, key), list) else () for key in ("tasks_output", "steps")
    )
    messages = [message for task in tasks if isinstance(of := field(task, MESSAGES), list) for message in of]
    for step in steps:
        if has_field(step, "model_output"):
            counts = tokens_in(field(step, "token_usage"))
            made = {"content": field(step, "model_output"), "tool_calls": field(step, "tool_calls"), USAGE: counts}
            messages.append({"role": "assistant", **made})
            if field(step, "observations") is not None:
                messages.append({"role": "tool", "content": field(step, "observations")})
    return messages


def _reply_of(value: Any) -> Mapping[str, Any] | None:
    """The messages and the usage of a model's reply as its API gives it, which logs keep; None for anything else.

    That is a chat completion, a response of OpenAI's Responses API, a reply of Gemini, LangChain's result of a call, or
    one message.
    """
    kind = field(value, "object")
    if isinstance(kind, str) and kind == "response":
        items = field(value, "output")
        return {MESSAGES: [*filter(is_message, items)], USAGE: tokens_in(value)} if isinstance(items, list) else None
    # Functions may return anything under these keys, also arrays, which are neither true nor false.
    lists = (listed for key in _CHOICES if isinstance(listed := field(value, key), list) and listed)
    choice: Any = next(lists, {} if isinstance(value, list | tuple) else value)
    while isinstance(choice, list) and choice:  # LangChain has a list for each prompt of a batch
        choice = choice[0]
    output = field(choice, "output")
    message = next(
        (inner for outer in (choice, field(choice, "message"), output) if is_message(inner := unwrapped(outer))), None
    )
    if role_of(message) != "assistant" or (choice is value is not message and _answers_beside(value, message)):
        return None
    reason = field(choice, "finish_reason")
    finish = {"finish": reason} if isinstance(reason, str) and reason else {}
    marks = (field(value, name) for name in _LAST_OF_AGENT) if unwrapped(output) is not message else ()
    if message is not value and any(mark if isinstance(mark, list) else mark is not None for mark in marks):
        return {MESSAGES: [message], USAGE: _at(value, ("metrics", "accumulated_usage")), _STEPS_UNKNOWN: True}
    return {MESSAGES: [message], USAGE: tokens_in(value), **finish}


def _answers_beside(value: Any, message: Any) -> bool:
    """Whether what has a message has an answer or contexts of its own too, as what a function returns may have."""
    own = (field(value, name) for name in (*_ANSWERS, CONTEXTS))
    return any(item is not None and not callable(item) and unwrapped(item) is not message for item in own)


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


def called_and_answered(calls: Sequence[Any], answer: str) -> list[dict[str, Any]]:
    """The messages of an agent of which only the calls of tools, with their outputs, and the answer are known.

    >>> called_and_answered([{"name": "search", "input_parameters": {"q": "tide"}, "output": "At 6."}], "At 6.")[1]
    {'role': 'tool', 'name': 'search', 'content': 'At 6.'}
    """
    results = [{"role": "tool", "name": field(call, "name"), "content": field(call, "output")} for call in calls]
    called = [{"role": "assistant", "content": "", "tool_calls": calls}, *results]
    return [*called, {"role": "assistant", "content": answer}]


def is_answered_conversation(value: Any) -> TypeGuard[Sequence[Any]]:
    """Whether a value is a list of chat messages with at least one of the assistant, as agents return it.

    It differs from `conversation.is_messages`, which is for inputs: messages may be a framework's own objects, and the
    roles must be those of a chat, since any list of mappings could be a target's output.
    """
    return (
        isinstance(value, list | tuple)
        and all(map(is_message, value))
        and any(role_of(unwrapped(message)) == "assistant" for message in value)
    )


def with_separate_results(messages: Sequence[Any]) -> list[Any]:
    """The messages, with results of tools that stand in a user's message as messages of their own (Anthropic's form).

    Of OpenAI's Responses API a call belongs to the message before it, if that is the assistant's, and reasoning is left
    out.

    >>> result = {"type": "tool_result", "tool_use_id": "c1", "content": "2"}
    >>> with_separate_results([{"role": "user", "content": [result]}])
    [{'role': 'tool', 'tool_call_id': 'c1', 'content': '2'}]
    """
    stepwise = [step for message in messages for step in _steps_of(message)]
    return [separate for message in _without_items(stepwise) for separate in _separated(message)]


def _steps_of(message: Any) -> list[Any]:
    """The messages in one of the AI SDK's user interface, which holds a whole run; any other message alone."""
    parts = field(message, "parts")
    if not isinstance(parts, list) or all(part_type(part) != _STEP for part in parts):
        return [message]
    steps: list[list[Any]] = [[]]
    for part in parts:
        if part_type(part) == _STEP:
            steps.append([])
        steps[-1].append(part)
    messages: list[Any] = []
    for step in steps:
        calls = [part for part in step if field(part, "tool_call_id") is not None]
        said = [part for part in step if part_type(part) in {"text", "file"}]
        if calls or said:
            messages += [{"role": role_of(message), "content": said, "tool_calls": calls}, *map(_result, calls)]
    return messages


def _without_items(messages: Sequence[Any]) -> list[Any]:
    plain: list[Any] = []
    calls: list[Any] = []  # of the last message, where it is made of items
    for message in messages:
        item = unwrapped(message)
        kind = item_kind(item)
        if kind == CALL:
            if not calls:
                last = unwrapped(plain.pop()) if plain and role_of(unwrapped(plain[-1])) == "assistant" else None
                calls = [*(field(last, "tool_calls") or ())]
                plain.append({"role": "assistant", "content": field(last, "content"), "tool_calls": calls})
            calls.append(item)
        elif not kind or kind == RESULT:
            plain.append(_result(item) if kind else message)
            calls = []
    return plain


def _separated(message: Any) -> list[Any]:
    inner = unwrapped(message)
    parts = parts_of(inner)
    results = [_result(part) for kind, part in parts if kind == RESULT]
    if inner is message and not results:
        return [message]
    own = {key: value for key in _KEPT if (value := field(inner, key)) is not None}
    own |= {"role": role_of(inner), USAGE: tokens_in(inner) or tokens_in(message)}
    if not parts:
        return [{**own, "content": content_of(inner)}]
    others = [part for part in content_of(inner) if part_kind(part)[0] != RESULT]
    rest = [{**own, "content": others}] if others or not results else []
    # Of the assistant's message the rest has the calls of these results.
    return [*rest, *results] if own["role"] == "assistant" else [*results, *rest]


def _result(part: Any) -> dict[str, Any]:
    """The message of a tool's result."""
    call = field(part, "origin")  # Haystack
    name = first_field(part, _NAME) or first_field(call, _NAME)
    content = first_field(part, _CONTENT)
    typed = isinstance(content, Mapping) and content.keys() == {"type", "value"}  # AI SDK
    return {
        "role": "tool",
        "tool_call_id": str(first_field(part, _ID) or first_field(call, _ID) or ""),
        "content": content["value"] if typed else content,
        **({"name": name} if isinstance(name, str) else {}),
        **({"status": "error"} if _failed(part) or (typed and _failed(content)) else {}),
    }


def _failed(result: Any) -> bool:
    """Whether a tool's result is marked as an error."""
    states = (*(field(result, name) for name in ("status", "outcome", "state")), part_type(result))
    return any(field(result, name) is True for name in _ERRORS) or any(
        isinstance(state, str) and state in _FAILED for state in states
    )


def last_answer(messages: Sequence[Any]) -> str:
    """The text of the assistant's last message; "" where that had results of tools alone."""
    inner = (unwrapped(step) for message in reversed(messages) for step in reversed(_steps_of(message)))
    return next((_text(content_of(message)) for message in inner if role_of(message) == "assistant"), "")


def _refusal(messages: Sequence[Any]) -> str:
    """The words with which OpenAI's model refuses in place of its last answer; "" where it answers."""
    last = next((message for message in reversed(messages) if role_of(message) == "assistant"), None)
    content = content_of(last)
    parts = content if isinstance(content, list | tuple) else ()
    refusals = [text for part in (last, *parts) if isinstance(text := field(part, "refusal"), str)]
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
    more = field(message, "additional_kwargs")
    of_parts = [part for kind, part in parts_of(message) if kind == CALL]
    calls = field(message, "tool_calls") or field(more, "tool_calls") or of_parts
    calls = calls if isinstance(calls, list | tuple) else ()
    single = field(message, "function_call") or field(more, "function_call")
    plain: dict[str, Any] = {"role": role_of(message), "content": _text(content_of(message))}
    if plain_calls := [tool_call(call) for call in (*calls, *([single] if single and not calls else []))]:
        plain["tool_calls"] = plain_calls
    for key in ("tool_call_id", "name", "status"):
        value = field(message, key) or field(more, key)
        if isinstance(value, str) and (plain["role"] == "tool" or key == "name"):
            plain[key] = value
    if plain["role"] == "tool" and _failed(message):
        plain["status"] = "error"
    return plain


def tool_call(call: Any) -> dict[str, Any]:
    """A tool call in the common form: `id`, `name` and `arguments`, which are a mapping if they can be read as one."""
    function = field(call, "function") or field(call, "custom") or call
    function = {"name": function, **call} if isinstance(function, str) and isinstance(call, Mapping) else function
    arguments: Any = next((value for key in _ARGUMENTS if (value := field(function, key))), {})
    if isinstance(arguments, str):
        try:
            read = json.loads(arguments)
        except (ValueError, RecursionError):
            read = arguments
        arguments = read if isinstance(read, Mapping) else arguments
    # A tool of the provider itself is named by the type of its call (web_search_call), as the AI SDK's are (tool-NAME).
    kind = part_type(call)
    name = first_field(function, _NAME) or (
        "" if kind in _UNNAMED else kind.removesuffix("_call").removeprefix("tool-")
    )
    return {"id": str(first_field(call, _ID) or ""), "name": str(name), "arguments": arguments}


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

    It reads the counts themselves, and those in a field of them (`_USAGES`).

    >>> tokens_in({"usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}})
    {'input_tokens': 9, 'output_tokens': 2}
    >>> tokens_in({"usage": {"input_tokens": 9, "cache_read_input_tokens": 90, "output_tokens": 2}})
    {'input_tokens': 99, 'output_tokens': 2, 'cached_input_tokens': 90}
    """
    blocks = (_at(value, path) for path in _USAGES)
    return next((counts for block in blocks if block is not None and (counts := _counts(block)) is not None), None)


def _at(value: Any, path: Sequence[str]) -> Any:
    for key in path:
        value = field(value, key)
    return value


def _counts(usage: Any) -> dict[str, int] | None:
    given, made = (next((key for key in keys if _is_count(field(usage, key))), "") for keys in (_INPUT, _OUTPUT))
    if not given or not made:
        return None
    input_tokens, output_tokens = field(usage, given), field(usage, made)
    if field(usage, "total_tokens") != input_tokens + output_tokens:
        input_tokens, output_tokens = _whole(usage, given), _whole(usage, made)
    cached = [n for path in _CACHED if _is_count(n := _at(usage, path))]
    more = {name: n for key, name in _CALLS.items() if _is_count(n := field(usage, key))}
    more |= {"cached_input_tokens": cached[0]} if cached else {}
    return {"input_tokens": input_tokens, "output_tokens": output_tokens, **more}


def _whole(usage: Any, key: str) -> int:
    """A count with those that the provider gives beside it."""
    return sum(int(n) for name in (key, *_BESIDE.get(key, ())) if _is_count(n := field(usage, name)))


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def answers_among(messages: Sequence[Any], own: int) -> list[Any]:
    """The assistant's messages among the last `own` ones; each is the reply of a model, which may report tokens."""
    return [message for message in messages[len(messages) - own :] if role_of(message) == "assistant"]


def _text(content: Any) -> str:
    """A content's text, with placeholders for parts that are not text."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list | tuple):
        return json.dumps(content, ensure_ascii=False, default=described)
    return shown_content([plain_part(part) for part in content if part_kind(part)[0] not in {CALL, REASONING}])


def plain_part(part: Any) -> Any:
    """A part in a form that `shown_content` accepts."""
    kind = part_type(part)
    text = part if isinstance(part, str) else field(part, "refusal" if kind == "refusal" else "text")
    if text is None and kind in _TEXTS:
        text = _text(field(part, "content"))
    if isinstance(text, str):
        return text
    return part if isinstance(part, Mapping) else f"[{kind or 'part'}]"


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
