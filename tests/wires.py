"""How five providers' APIs say the same: where a call has its prompt, what a reply and its stream look like.

Written from the providers' references, for servers on loopback; each reply took 20 tokens in and 1 out.
"""

from __future__ import annotations

import json


def _gemini_prompt(asked):
    return asked["contents"][-1]["parts"][-1]["text"]


def _chat_prompt(asked):
    return asked["messages"][-1]["content"]


def chat(text, **more):
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 20, "completion_tokens": 1}
    return {"model": "m", "choices": [{"message": message, "finish_reason": "stop"}], "usage": usage, **more}


def anthropic(text, **more):
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 20, "output_tokens": 1},
        **more,
    }


def responses(text, **more):
    part = {"type": "output_text", "text": text, "annotations": []}
    return {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": "m",
        "service_tier": "default",
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "message", "id": "msg_1", "role": "assistant", "content": [part]},
        ],
        "usage": {"input_tokens": 20, "output_tokens": 1, "total_tokens": 21},
        **more,
    }


def gemini(text, **more):
    content = {"role": "model", "parts": [{"text": text}]}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 20, "candidatesTokenCount": 1, "totalTokenCount": 21},
        "modelVersion": "m",
        "responseId": "r1",
        **more,
    }


def ollama(text, **more):
    return {
        "model": "m",
        "created_at": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": text},
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": 20,
        "eval_count": 1,
        **more,
    }


WIRES = {
    "openai_compatible": (_chat_prompt, chat, {"choices": []}),
    "anthropic": (_chat_prompt, anthropic, anthropic("", content=[])),
    "openai_responses": (lambda asked: asked["input"][-1]["content"][-1]["text"], responses, responses("", output=[])),
    "gemini": (_gemini_prompt, gemini, {"candidates": []}),
    "ollama": (_chat_prompt, ollama, ollama("")),
}
"""Model -> the prompt in a call, the reply with a text, and a reply without any."""


def _chat_events(reply):
    for choice in reply["choices"]:
        yield {"model": "m", "choices": [{"delta": choice["message"], "finish_reason": None}]}
        yield {"model": "m", "choices": [{"delta": {}, "finish_reason": choice["finish_reason"]}]}
    yield {"model": "m", "choices": [], "usage": reply.get("usage")}


def _anthropic_events(reply):
    yield {"type": "message_start", "message": {**reply, "content": [], "stop_reason": None}}
    for at, block in enumerate(reply["content"]):
        yield {"type": "content_block_start", "index": at, "content_block": {**block, "text": ""}}
        delta = {"type": "text_delta", "text": block["text"]}
        yield {"type": "content_block_delta", "index": at, "delta": delta}
        yield {"type": "content_block_stop", "index": at}
    yield {"type": "message_delta", "delta": {"stop_reason": reply["stop_reason"]}, "usage": reply["usage"]}
    yield {"type": "message_stop"}


def _responses_events(reply):
    yield {"type": "response.created", "response": {**reply, "status": "in_progress", "output": []}}
    for item in reply["output"]:
        for part in item.get("content", ()):
            yield {"type": "response.output_text.delta", "delta": part["text"]}
    yield {"type": "response.completed", "response": reply}


def _gemini_events(reply):
    for candidate in reply["candidates"]:
        yield {**reply, "candidates": [{"content": candidate["content"]}]}
        yield {**reply, "candidates": [{"content": {"parts": []}, "finishReason": candidate["finishReason"]}]}
    if not reply["candidates"]:
        yield reply


def _ollama_events(reply):
    yield {"model": "m", "message": reply["message"], "done": False}
    yield {**reply, "message": {"role": "assistant", "content": ""}}


_EVENTS = {
    "openai_compatible": _chat_events,
    "anthropic": _anthropic_events,
    "openai_responses": _responses_events,
    "gemini": _gemini_events,
    "ollama": _ollama_events,
}


def stream_of(wire, reply):
    """A reply as its provider streams it: the body, and its content type."""
    values = [json.dumps(value) for value in _EVENTS[wire](reply)]
    if wire == "ollama":
        return "".join(f"{value}\n" for value in values).encode(), "application/x-ndjson"
    values += ["[DONE]"] * (wire == "openai_compatible")
    return "".join(f"data: {value}\n\n" for value in values).encode(), "text/event-stream"
