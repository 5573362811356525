"""A value of any kind at any place of an answer gives a reply or a fault, which is retried: never another exception."""

import copy
import json

import pytest

from steelyard.models import Anthropic, Gemini, HttpModel, Ollama, OpenAICompatible, OpenAIResponses
from steelyard.models.anthropic import _joined
from steelyard.models.base import Answer, Fault
from steelyard.models.response import ResponseMap, watch_for

BASE = {"name": "m", "base_url": "http://h/v1"}
COUNTS = {"prompt_tokens": 1, "completion_tokens": 1, "completion_tokens_details": {"reasoning_tokens": 1}}
CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ANSWERS = {
    "chat": (
        OpenAICompatible(**BASE),
        {
            "choices": [{"message": {"content": "hi", "tool_calls": [CALL]}, "finish_reason": "stop"}],
            "usage": COUNTS,
            "service_tier": "flex",
        },
    ),
    "anthropic": (
        Anthropic(**BASE),
        {
            "content": [{"type": "text", "text": "hi"}, {"type": "tool_use", "id": "1", "name": "f", "input": {}}],
            "stop_reason": "end_turn",
            "stop_details": {"category": "x"},
            "usage": {"input_tokens": 1, "output_tokens": 1},
        },
    ),
    "gemini": (
        Gemini(**BASE),
        {
            "candidates": [{"content": {"parts": [{"text": "hi"}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1},
        },
    ),
    "ollama": (
        Ollama(name="m"),
        {"message": {"content": "hi", "thinking": "t"}, "done": True, "done_reason": "stop", "eval_count": 1},
    ),
    "responses": (
        OpenAIResponses(**BASE),
        {
            "status": "incomplete",
            "incomplete_details": {"reason": "max_output_tokens"},
            "output": [{"type": "message", "content": [{"type": "output_text", "text": "hi"}]}],
            "usage": {"input_tokens": 1, "output_tokens": 1},
        },
    ),
    "http": (
        HttpModel(url="http://h/x", body={"q": "{{prompt}}"}, response=ResponseMap(text="t", contexts="docs")),
        {"t": "hi", "docs": ["a"], "usage": COUNTS, "error": None},
    ),
}


def nested(depth):
    value = None
    for _ in range(depth):
        value = [value]
    return value


ODD = [None, "", "x", -1, 1e308, True, [], {}, [None], [[]], {"a": 1}, "\ud800", 10**30, nested(400), nested(900)]


def with_odd_values(value):
    """The value with an odd one at each of its places in turn, and in its own place."""
    yield from ODD
    places = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for place, part in places:
        for odd in with_odd_values(part):
            changed = copy.copy(value)
            changed[place] = odd
            yield changed


@pytest.mark.parametrize("name", ANSWERS)
def test_an_odd_value_anywhere_gives_a_reply_or_a_fault(name):
    model, whole = ANSWERS[name]
    for value in with_odd_values(whole):
        try:
            reply = model.read(Answer(200, {}, json.dumps(value).encode()))
        except Fault:
            continue
        assert isinstance(reply.text, str)
        assert isinstance(reply.finish, str)
        assert reply.usage.input_tokens >= 0


def test_a_deep_text_in_an_event_does_not_end_the_watch_for_the_first_token():
    watch = watch_for("t")
    assert not watch(b'data: {"data": "' + b"[" * 200_000 + b'"}\n\n')
    assert watch(b'data: {"t": "hi"}\n\n')


def test_an_odd_delta_of_a_message_leaves_its_blocks_as_they_are():
    events = [
        {"type": "content_block_start", "content_block": {"type": "text", "text": "R"}},
        {"type": "message_delta", "delta": {"content": 5, "usage": 5}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "o"}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "me"}},
        {"type": "message_stop"},
    ]
    assert _joined(events)["content"] == [{"type": "text", "text": "Rome"}]
