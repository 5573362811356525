"""A trajectory: the messages that an agent produced for its answer, and its tool calls with their results.

All scorers of agents use this form, for any framework. An output has its messages under `metadata["messages"]` (see
`agent_messages`): targets convert those of OpenAI's chat completions, Anthropic, LangChain, LangGraph and LlamaIndex
when an output arrives. Here calls are matched with their results.
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
from steelyard.types import Output

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
        for call in message.get("tool_calls", ()):
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
