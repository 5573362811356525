"""Messages and results of agents as frameworks wrote them, shortened: one conversation of three messages."""

from types import SimpleNamespace

import pytest

from steelyard.prompts.agent_messages import conversation_output, steps_of_reply, with_plain_conversation
from steelyard.session.replies import plain_output
from steelyard.types import Output, Reply

ASKED = "Weather in Rome?"
ARGUMENTS = {"city": "Rome"}
TEXT = '{"city": "Rome"}'
CALL = {"name": "weather", "arguments": ARGUMENTS}
FUNCTION = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": TEXT}}
COUNTS = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}

GEMINI = [
    {"role": "user", "parts": [{"text": ASKED}]},
    {
        "role": "model",
        "parts": [
            {"text": "I should check.", "thought": True},
            {"text": "Let me look."},
            {"functionCall": {"args": ARGUMENTS, "name": "weather"}},
        ],
    },
    {"role": "user", "parts": [{"functionResponse": {"name": "weather", "response": "18 degrees"}}]},
    {"role": "model", "parts": [{"text": "It is 18."}]},
]
FORMS = {
    "Gemini": GEMINI,
    "Google ADK": [
        {"content": content, "author": "a", "usage_metadata": {"prompt_token_count": 50, "candidates_token_count": 10}}
        for content in GEMINI[1:]
    ],
    "OpenTelemetry": [
        {"role": "user", "parts": [{"type": "text", "content": ASKED}]},
        {
            "role": "assistant",
            "parts": [
                {"type": "reasoning", "content": "I should check."},
                {"type": "text", "content": "Let me look."},
                {"type": "tool_call", "id": "c1", "name": "weather", "arguments": ARGUMENTS},
            ],
        },
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "18 degrees"}]},
        {"role": "assistant", "parts": [{"type": "text", "content": "It is 18."}], "finish_reason": "stop"},
    ],
    "AI SDK, messages of the model": [
        {"role": "user", "content": [{"type": "text", "text": ASKED}]},
        {
            "role": "assistant",
            "content": [
                {"type": "reasoning", "text": "I should check."},
                {"type": "text", "text": "Let me look."},
                {"type": "tool-call", "toolCallId": "c1", "toolName": "weather", "input": ARGUMENTS},
            ],
        },
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "c1",
                    "toolName": "weather",
                    "output": {"type": "text", "value": "18 degrees"},
                }
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "It is 18."}]},
    ],
    "AI SDK, messages of the interface": [
        {"id": "1", "role": "user", "parts": [{"type": "text", "text": ASKED}]},
        {
            "id": "2",
            "role": "assistant",
            "parts": [
                {"type": "step-start"},
                {"type": "reasoning", "text": "I should check.", "state": "done"},
                {"type": "text", "text": "Let me look.", "state": "done"},
                {
                    "type": "tool-weather",
                    "toolCallId": "c1",
                    "state": "output-available",
                    "input": ARGUMENTS,
                    "output": "18 degrees",
                },
                {"type": "step-start"},
                {"type": "text", "text": "It is 18.", "state": "done"},
            ],
        },
    ],
    "Pydantic AI": [
        {"kind": "request", "parts": [{"content": ASKED, "part_kind": "user-prompt"}]},
        {
            "kind": "response",
            "parts": [
                {"content": "I should check.", "id": "reasoning_content", "part_kind": "thinking"},
                {"content": "Let me look.", "part_kind": "text"},
                {"tool_name": "weather", "args": TEXT, "tool_call_id": "c1", "part_kind": "tool-call"},
            ],
            "usage": {"input_tokens": 100, "output_tokens": 20, "cache_read_tokens": 10},
        },
        {
            "kind": "request",
            "parts": [
                {
                    "tool_name": "weather",
                    "content": "18 degrees",
                    "tool_call_id": "c1",
                    "outcome": "success",
                    "part_kind": "tool-return",
                }
            ],
        },
        {"kind": "response", "parts": [{"content": "It is 18.", "part_kind": "text"}]},
    ],
    "Strands": [
        {"role": "user", "content": [{"text": ASKED}]},
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "I should check."}}},
                {"text": "Let me look."},
                {"toolUse": {"toolUseId": "c1", "name": "weather", "input": ARGUMENTS}},
            ],
            "metadata": {"usage": {"inputTokens": 100, "outputTokens": 20, "totalTokens": 120}},
        },
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "c1", "status": "success", "content": [{"text": "18 degrees"}]}}],
        },
        {"role": "assistant", "content": [{"reasoningContent": {}}, {"text": "It is 18."}]},
    ],
    "Haystack": [
        {"role": "user", "meta": {}, "name": None, "content": [{"text": ASKED}]},
        {
            "role": "assistant",
            "meta": {"usage": COUNTS},
            "content": [
                {"reasoning": {"reasoning_text": "I should check.", "extra": {}}},
                {"text": "Let me look."},
                {"tool_call": {"tool_name": "weather", "arguments": ARGUMENTS, "id": "c1"}},
            ],
        },
        {
            "role": "tool",
            "content": [
                {
                    "tool_call_result": {
                        "result": "18 degrees",
                        "origin": {"tool_name": "weather", "arguments": ARGUMENTS, "id": "c1"},
                        "error": False,
                    }
                }
            ],
        },
        {"role": "assistant", "content": [{"text": "It is 18."}]},
    ],
    "Semantic Kernel": [
        {"content_type": "message", "role": "user", "items": [{"content_type": "text", "text": ASKED}]},
        {
            "content_type": "message",
            "role": "assistant",
            "metadata": {"usage": COUNTS},
            "items": [
                {"content_type": "function_call", "id": "c1", "name": "weather", "arguments": TEXT},
                {"content_type": "text", "text": "Let me look."},
            ],
        },
        {
            "content_type": "message",
            "role": "tool",
            "items": [
                {"content_type": "function_result", "id": "c1", "result": "18 degrees", "function_name": "weather"}
            ],
        },
        {"content_type": "message", "role": "assistant", "items": [{"content_type": "text", "text": "It is 18."}]},
    ],
    "LlamaIndex": [
        {"role": "user", "blocks": [{"block_type": "text", "text": ASKED}]},
        {
            "role": "assistant",
            "additional_kwargs": {"tool_calls": [FUNCTION]},
            "blocks": [
                {"block_type": "thinking", "content": "I should check."},
                {"block_type": "text", "text": "Let me look."},
                {"block_type": "tool_call", "tool_call_id": "c1", "tool_name": "weather", "tool_kwargs": TEXT},
            ],
        },
        {
            "role": "tool",
            "additional_kwargs": {"tool_call_id": "c1"},
            "blocks": [{"block_type": "text", "text": "18 degrees"}],
        },
        {"role": "assistant", "blocks": [{"block_type": "text", "text": "It is 18."}]},
    ],
    "AutoGen": [
        {"source": "user", "models_usage": None, "content": ASKED, "type": "TextMessage"},
        {"source": "a", "models_usage": None, "content": "I should check.", "type": "ThoughtEvent"},
        {"source": "a", "models_usage": None, "content": "Let me look.", "type": "TextMessage"},
        {
            "source": "a",
            "models_usage": {"prompt_tokens": 100, "completion_tokens": 20},
            "content": [{"id": "c1", "arguments": TEXT, "name": "weather"}],
            "type": "ToolCallRequestEvent",
        },
        {
            "source": "a",
            "models_usage": None,
            "content": [{"content": "18 degrees", "name": "weather", "call_id": "c1", "is_error": False}],
            "type": "ToolCallExecutionEvent",
        },
        {"source": "a", "models_usage": None, "content": "It is 18.", "type": "TextMessage"},
    ],
    "LangChain": [
        {"type": "human", "data": {"content": ASKED, "type": "human"}},
        {
            "type": "ai",
            "data": {
                "content": "Let me look.",
                "type": "ai",
                "tool_calls": [{"name": "weather", "args": ARGUMENTS, "id": "c1", "type": "tool_call"}],
                "usage_metadata": {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120},
            },
        },
        {"type": "tool", "data": {"content": "18 degrees", "type": "tool", "tool_call_id": "c1", "status": "success"}},
        {"lc": 1, "type": "constructor", "kwargs": {"content": "It is 18.", "type": "ai"}},
    ],
    "OpenAI Agents": [
        {"raw_item": {"role": "assistant", "content": [{"type": "output_text", "text": "Let me look."}]}},
        {"raw_item": {"type": "function_call", "call_id": "c1", "id": "f1", "name": "weather", "arguments": TEXT}},
        {"raw_item": {"type": "function_call_output", "call_id": "c1", "output": "18 degrees"}},
        {"raw_item": {"role": "assistant", "content": [{"type": "output_text", "text": "It is 18."}]}},
    ],
}  # fmt: skip


def objects(value):
    """The same with attributes in place of keys, as frameworks return it."""
    if isinstance(value, dict):
        return SimpleNamespace(**{key: objects(item) for key, item in value.items()})
    return list(map(objects, value)) if isinstance(value, list) else value


def check(output, name):
    assert output.value == "It is 18."
    messages = output.metadata["messages"]
    assert [message["content"] for message in messages if message["content"]] == [
        "Let me look.", "18 degrees", "It is 18.",
    ]  # fmt: skip
    (call,) = [call for message in messages for call in message.get("tool_calls", ())]
    assert {"name": call["name"], "arguments": call["arguments"]} == CALL
    (result,) = [message for message in messages if message["role"] == "tool"]
    assert result.get("tool_call_id") == call["id"] or name.startswith("G")
    assert "status" not in result or result["status"] == "success"
    assert all(message["role"] in {"assistant", "tool"} for message in messages)


@pytest.mark.parametrize("name", FORMS)
def test_a_conversation_of_any_framework_has_its_answer_calls_and_results(name):
    output = conversation_output(FORMS[name], ASKED)
    check(output, name)
    usage = output.metadata.get("usage")
    none = {"Gemini", "OpenTelemetry", "LlamaIndex", "OpenAI Agents"}
    assert (usage is None) == (name in none or name.startswith("AI SDK"))
    assert usage is None or (usage["input_tokens"], usage["output_tokens"]) == (100, 20)


@pytest.mark.parametrize("name", FORMS)
def test_the_messages_that_an_endpoint_gives_with_its_answer_are_read_alike(name):
    metadata = steps_of_reply(Reply("", "It is 18.", metadata={"messages": FORMS[name]}))
    check(with_plain_conversation(Output("It is 18.", metadata=metadata), ASKED), name)


@pytest.mark.parametrize("name", ["Pydantic AI", "Semantic Kernel", "AutoGen", "LlamaIndex", "OpenAI Agents"])
def test_a_conversation_of_objects_is_read_like_one_of_mappings(name):
    returned = SimpleNamespace(messages=objects(FORMS[name]))
    assert conversation_output(returned, ASKED) == conversation_output(FORMS[name], ASKED)


def test_the_result_of_a_framework_gives_its_conversation_by_a_method():
    messages = objects(FORMS["Pydantic AI"])
    result = SimpleNamespace(all_messages=lambda: messages, output={"degrees": 18}, usage=lambda: None)
    output = plain_output(result, ASKED)
    assert output.value == {"degrees": 18}
    assert output.metadata["usage"]["cached_input_tokens"] == 10


CREW = {
    "raw": "It is 18.",
    "tasks_output": [
        {
            "raw": "It is 18.",
            "messages": [
                {"role": "system", "content": "You are r."},
                {"role": "user", "content": "Current Task: Weather in Rome?"},
                {"role": "assistant", "content": "", "tool_calls": [FUNCTION]},
                {"role": "tool", "content": "18 degrees", "tool_call_id": "c1", "name": "weather"},
                {"role": "assistant", "content": "It is 18."},
            ],
        }
    ],
    "token_usage": {**COUNTS, "cached_prompt_tokens": 10, "successful_requests": 2},
}
SMOL = {
    "output": "It is 18.",
    "state": "success",
    "steps": [
        {"task": ASKED},
        {
            "step_number": 1,
            "model_output": "Let me look.",
            "tool_calls": [FUNCTION],
            "observations": "18 degrees",
            "token_usage": {"input_tokens": 60, "output_tokens": 10},
        },
        {
            "step_number": 2,
            "model_output": "",
            "tool_calls": [{"id": "c2", "function": {"name": "final_answer", "arguments": {"answer": "It is 18."}}}],
            "observations": "It is 18.",
            "token_usage": {"input_tokens": 40, "output_tokens": 10},
        },
    ],
}


@pytest.mark.parametrize("run", [CREW, SMOL])
def test_a_run_by_tasks_or_steps_is_a_conversation(run):
    for result in (run, SimpleNamespace(**run)):
        output = conversation_output(result, ASKED)
        assert output.value == "It is 18."
        called, answered, *_ = output.metadata["messages"]
        assert (called["tool_calls"][0]["arguments"], answered["content"]) == (ARGUMENTS, "18 degrees")
        usage = output.metadata["usage"]
        assert (usage["input_tokens"], usage["output_tokens"], usage["calls"]) == (100, 20, 2)


def test_a_conversation_that_ends_with_a_result_is_whole():
    for turns in (FORMS["LlamaIndex"][1:3], FORMS["Gemini"][1:3]):
        output = conversation_output(turns, ASKED)
        assert output.value == "Let me look."
        assert [message["role"] for message in output.metadata["messages"]] == ["assistant", "tool"]


def test_a_tool_that_failed_is_said_to_have_failed():
    retry = {"part_kind": "retry-prompt", "content": "no such city", "tool_name": "weather", "tool_call_id": "c1"}
    for turn in (
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "status": "error", "content": []}}]},
        {"role": "tool", "content": [{"tool_call_result": {"result": "?", "origin": {"id": "c1"}, "error": True}}]},
        {"kind": "request", "parts": [retry]},
        {
            "role": "tool",
            "content": [
                {"type": "tool-result", "toolCallId": "c1", "output": {"type": "error-text", "value": "no such city"}}
            ],
        },
        {
            "role": "assistant",
            "parts": [
                {"type": "step-start"},
                {"type": "tool-weather", "toolCallId": "c1", "state": "output-error", "errorText": "no such city"},
            ],
        },
    ):
        output = conversation_output([FORMS["LlamaIndex"][1], turn, FORMS["LlamaIndex"][-1]])
        result = output.metadata["messages"][-2]
        assert (result["role"], result["tool_call_id"], result["status"]) == ("tool", "c1", "error")


def test_a_call_of_a_tool_of_openai_itself_is_named_by_its_type():
    call = {
        "type": "web_search_call",
        "id": "ws1",
        "status": "completed",
        "action": {"type": "search", "query": "Rome"},
    }
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is 18."}]}
    reply = {"object": "response", "output": [call, {"type": "mcp_list_tools", "tools": []}, answer]}
    output = conversation_output(reply, ASKED)
    assert output.value == "It is 18."
    (called,) = output.metadata["messages"][0]["tool_calls"]
    assert (called["name"], called["arguments"]["query"]) == ("web_search", "Rome")


@pytest.mark.parametrize(
    "reply",
    [
        objects({"object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": "It is 18."}}]}),
        objects({"object": "response", "output": [{"type": "message", "role": "assistant", "content": "It is 18."}]}),
        objects({"type": "message", "role": "assistant", "content": [{"type": "text", "text": "It is 18."}]}),
        {"candidates": [{"content": GEMINI[-1], "finishReason": "STOP"}]},
        {"output": {"message": {"role": "assistant", "content": [{"text": "It is 18."}]}}, "stopReason": "end_turn"},
        {"message": {"role": "assistant", "content": "It is 18."}, "done": True},
    ],
)
def test_a_reply_of_a_models_client_is_its_text(reply):
    output = conversation_output(reply, ASKED)
    assert (output.value, output.metadata["messages"]) == ("It is 18.", [{"role": "assistant", "content": "It is 18."}])


@pytest.mark.parametrize(
    "more",
    [
        {"stop_reason": "end_turn", "metrics": {"accumulated_usage": {"inputTokens": 250, "outputTokens": 30}}},
        {"tool_calls": [{"tool_name": "weather", "tool_kwargs": ARGUMENTS, "tool_id": "c1"}]},
        {"thread": "t"},
    ],
)
def test_the_last_message_of_an_agent_is_its_answer_and_not_all_that_it_did(more):
    last = {"role": "assistant", "content": [{"text": "It is 18."}], "metadata": {"usage": COUNTS}}
    for result in ({"message": last, **more}, SimpleNamespace(message=last, **more)):
        output = conversation_output(result, ASKED)
        assert (output.value, "messages" in output.metadata) == ("It is 18.", False)
        assert (output.metadata.get("usage") or {}).get("input_tokens") == (250 if "metrics" in more else None)


MESSAGE = {"role": "assistant", "content": "The answer is 42."}


@pytest.mark.parametrize(
    "own", [{"answer": "42", "contexts": ["c"]}, {"output": "42"}, {"output": MESSAGE, "contexts": ["c"]}]
)
@pytest.mark.parametrize("key", ["message", "response", "data"])
def test_an_answer_or_contexts_beside_a_message_are_of_the_function_and_not_left_out(own, key):
    for returned in ({key: MESSAGE, **own}, SimpleNamespace(**{key: MESSAGE, **own})):
        assert conversation_output(returned) is None


def test_a_message_of_results_alone_is_no_answer():
    searched = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
    assert conversation_output([{"role": "assistant", "content": [searched]}], ASKED).value == ""
