"""A trajectory: the messages that an agent produced for its answer, and its tool calls with their results.

All scorers of agents use this form, for any framework. An output has its messages under `metadata["messages"]` (see
`agent_messages`): targets convert those of OpenAI's chat completions, Anthropic, LangChain, LangGraph and LlamaIndex
when an output arrives. Here calls are matched with their results.

A transcript formats messages of an agent or a conversation as one numbered text, within a budget of tokens. What does
not fit is left out in the middle, because the beginning and the end show best whether a goal was reached. A single long
text is also shortened in the middle. A note says what was left out; it is not part of the text, since a tool or a user
could write an imitation of it there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from steelyard.plain_json import described
from steelyard.prompts.agent_messages import (
    LEFT_OUT,
    MESSAGES,
    is_answered_conversation,
    plain_message,
    with_separate_results,
)
from steelyard.prompts.language import Language
from steelyard.types import Output, token_weight

TURNS: Final = "turns"
"""Key of a score's detail: outcome and value of each turn of the scored conversation."""

_CUT: Final = " characters cut]"
"""The end of a text that was cut when the output was stored."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One call of a tool.

    Args:
        name: of the tool.
        arguments: a mapping, or the text that the model wrote if that is not a JSON object.
        message: 0-based position of the message that makes the call.
        result: what the tool returned, as text; None if no result follows.
        is_error: whether the framework marked the result as an error.
        was_cut: whether the stored arguments are not complete.
    """

    name: str
    arguments: Any
    message: int
    result: str | None = None
    is_error: bool = False
    was_cut: bool = False

    @property
    def shown_name(self) -> str:
        """The name as shown to people; a model may call a tool without a name."""
        return self.name or "(no name)"

    @property
    def key(self) -> str:
        """A text that is equal for calls of the same tool with equal arguments in any order."""
        return f"{self.name}\0{json.dumps(self.arguments, sort_keys=True, ensure_ascii=False, default=described)}"


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The messages and tool calls of an agent for one sample.

    Args:
        messages: in the common form, without those of the sample's input.
        calls: of tools, in order.
    """

    messages: tuple[Mapping[str, Any], ...]
    calls: tuple[ToolUse, ...]

    @property
    def steps(self) -> int:
        """The number of replies of the model."""
        return sum(message["role"] == "assistant" for message in self.messages)


def read_trajectory(output: Output) -> Trajectory | str:
    """The trajectory in an output, or the reason why there is none.

    >>> call = {"id": "c1", "function": {"name": "add", "arguments": '{"a": 1}'}}
    >>> result = {"role": "tool", "tool_call_id": "c1", "content": "2"}
    >>> messages = [{"role": "assistant", "content": None, "tool_calls": [call]}, result]
    >>> read_trajectory(Output("2", metadata={"messages": messages})).calls[0].result
    '2'
    >>> read_trajectory(Output("2"))
    'the output keeps no messages of an agent'
    """
    stored = output.metadata.get(MESSAGES)
    if stored is None:
        return "the output keeps no messages of an agent"
    if not is_answered_conversation(stored):
        return "the output's messages are not a list of chat messages with one of the assistant"
    if left_out := output.metadata.get(LEFT_OUT):
        return f"{left_out} messages of the agent were too many to be stored"
    try:
        messages = tuple(map(plain_message, with_separate_results(stored)))
        calls = _tool_uses(messages)
        for call in calls:
            call.key  # noqa: B018  # finds a cycle in the arguments here instead of in a scorer
    except (TypeError, ValueError, RecursionError, AttributeError) as error:
        return f"the messages of the agent cannot be read: {type(error).__name__}: {error}"[:200]
    return Trajectory(messages, calls)


def _tool_uses(messages: Sequence[Mapping[str, Any]]) -> tuple[ToolUse, ...]:
    """Every call with its result, matched by the call's id, else by the order of calls of that tool."""
    waiting = {position: message for position, message in enumerate(messages) if message["role"] == "tool"}
    uses: list[ToolUse] = []
    for position, message in enumerate(messages):
        # A user of tau2-bench has tools as well, whose calls are not the agent's.
        for call in message.get("tool_calls", ()) if message["role"] == "assistant" else ():
            result_position = next(
                (index for index, result in waiting.items() if index > position and _answers(result, call)), None
            )
            result = waiting.pop(result_position) if result_position is not None else None
            arguments = call["arguments"]
            uses.append(
                ToolUse(
                    call["name"],
                    arguments,
                    position,
                    None if result is None else result["content"],
                    result is not None and result.get("status") == "error",
                    isinstance(arguments, str) and arguments.endswith(_CUT),
                )
            )
    return tuple(uses)


def _answers(result: Mapping[str, Any], call: Mapping[str, Any]) -> bool:
    ident = result.get("tool_call_id")
    if ident and call["id"]:
        return bool(ident == call["id"])
    return bool(result.get("name", call["name"]) == call["name"])


_ROLES: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {"system": "System", "user": "User", "assistant": "Assistant", "tool": "Result of tool"},
    "zh": {"system": "系统", "user": "用户", "assistant": "助手", "tool": "工具返回"},
}
_CALLS: Final[Mapping[Language, str]] = {"en": "calls tool", "zh": "调用工具"}
_NOTHING: Final[Mapping[Language, str]] = {"en": "Nothing is left out.", "zh": "没有省略。"}
_LEFT_OUT: Final[Mapping[Language, str]] = {
    "en": "Messages {first} to {last} of {total} are left out for length, with {calls} calls of tools among them.",
    "zh": "共 {total} 条消息，因篇幅省略第 {first} 至 {last} 条，其中有 {calls} 次工具调用。",
}
_SHORTENED: Final[Mapping[Language, str]] = {
    "en": "{n} long messages are shortened in their middle.",
    "zh": "有 {n} 条较长的消息省略了中间部分。",
}
_OPENING_SHARE: Final = 4
"""A quarter of the budget is for the beginning, the rest for the end."""
_INDENT: Final = "\n    "
"""Separator of the lines of a message."""
_MESSAGE_SHARE: Final = 4
"""No message gets more than a quarter of the budget."""


@dataclass(frozen=True, slots=True)
class WindowedTranscript:
    """A transcript within a budget.

    Args:
        text: the messages that are shown, numbered from 1.
        shown: their 0-based positions.
        total: number of all messages.
        left_out: first and last number of the messages left out; None if all are shown.
        shortened: number of shown messages that are shortened.
        note: what is left out, in words.
    """

    text: str
    shown: tuple[int, ...]
    total: int
    left_out: tuple[int, int] | None
    shortened: int
    note: str

    def detail(self) -> dict[str, Any]:
        """The counts as plain JSON, for a score's detail."""
        more = {"left_out": list(self.left_out)} if self.left_out else {}
        return {"messages": self.total, "shown": len(self.shown), "shortened": self.shortened, **more}


def windowed_transcript(messages: Sequence[Mapping[str, Any]], tokens: int, language: Language) -> WindowedTranscript:
    """The messages as text within a budget.

    Args:
        messages: in the common form of `agent_messages`.
        tokens: maximum estimated tokens of the text (see `steelyard.types`); the marks for omissions count roughly.
        language: of the words around the messages.

    >>> messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    >>> print(windowed_transcript(messages, 100, "en").text)
    [1] User: Hi
    [2] Assistant: Hello
    """
    budget = tokens / _MESSAGE_SHARE
    lines = [_line(no, message, budget, language) for no, message in enumerate(messages, start=1)]
    weights = [token_weight(line) for line, _ in lines]
    opening, ending = _window(weights, tokens)
    shown = (*range(opening), *range(ending, len(lines)))
    left_out = (opening + 1, ending) if opening < ending else None
    texts = [lines[index][0] for index in shown]
    if left_out:
        texts.insert(opening, "[...]")
    shortened = sum(lines[index][1] for index in shown)
    parts = []
    if left_out:
        first, last = left_out
        calls = sum(len(message.get("tool_calls", ())) for message in messages[first - 1 : last])
        parts.append(_LEFT_OUT[language].format(first=first, last=last, total=len(messages), calls=calls))
    if shortened:
        parts.append(_SHORTENED[language].format(n=shortened))
    note = " ".join(parts) or _NOTHING[language]
    return WindowedTranscript("\n".join(texts), shown, len(lines), left_out, shortened, note)


def _window(weights: Sequence[float], tokens: int) -> tuple[int, int]:
    """The number of messages shown at the beginning, and the index of the first one shown at the end."""
    if sum(weights) <= tokens:
        return len(weights), len(weights)
    opening, used = 1, weights[0]
    while used + weights[opening] <= tokens / _OPENING_SHARE:
        used += weights[opening]
        opening += 1
    ending = len(weights)
    while ending > opening and used + weights[ending - 1] <= tokens:
        ending -= 1
        used += weights[ending]
    return opening, ending


def _line(number: int, message: Mapping[str, Any], budget: float, language: Language) -> tuple[str, bool]:
    """A message as text, and whether it is shortened."""
    role = _ROLES[language].get(message["role"], message["role"])
    name = f" {message['name']}" if message["role"] == "tool" and message.get("name") else ""
    status = " (error)" if message.get("status") == "error" else ""
    texts = [message["content"]] if message["content"] else []
    texts += [f"{_CALLS[language]} {call_text(call)}" for call in message.get("tool_calls", ())]
    # A tool's text may imitate further messages, so its lines are indented: only real messages begin at the margin.
    text = _INDENT.join("\n".join(texts).splitlines())
    short = shorten(text, budget)
    return f"[{number}] {role}{name}{status}: {short}", short != text


def call_text(call: Mapping[str, Any]) -> str:
    """A tool call on one line.

    >>> call_text({"name": "add", "arguments": {"a": 1}})
    'add({"a": 1})'
    """
    arguments = call["arguments"]
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=described)
    return f"{call['name']}({text})"


def shorten(text: str, tokens: float) -> str:
    """A text shortened in its middle to a budget of tokens.

    >>> shorten("a" * 400, 20)
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa [... 320 characters ...] aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'
    """
    weight = token_weight(text)
    if weight <= tokens:
        return text
    half = int(len(text) * tokens / weight) // 2
    return f"{text[:half]} [... {len(text) - 2 * half:,} characters ...] {text[len(text) - half :]}"
