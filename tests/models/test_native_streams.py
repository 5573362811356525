"""Replies of the providers' own APIs as streams: one reply, one key in the journal, and never a part for the whole."""

import json
from dataclasses import replace

import pytest
from tests.models.native import exchanged

from steelyard import ConfigError
from steelyard.constraints import check_options
from steelyard.errors import ModelError
from steelyard.models import Gemini, Ollama, OpenAIResponses, Retry
from steelyard.types import Usage

SSE = "Content-Type: text/event-stream"
LINES = "Content-Type: application/x-ndjson"
ONCE = Retry(attempts=1)


def events(*values):
    return "".join(f"event: {value.get('type', 'message')}\ndata: {json.dumps(value)}\n\n" for value in values).encode()


def lines(*values):
    return "".join(json.dumps(value) + "\n" for value in values).encode()


def response(*output, status="completed", **more):
    usage = {"input_tokens": 20, "output_tokens": 2, "output_tokens_details": {"reasoning_tokens": 1}}
    return {"id": "r", "status": status, "output": [*output], "usage": usage, "model": "m", "error": None, **more}


MESSAGE = {"type": "message", "content": [{"type": "output_text", "text": "Rome"}]}
RESPONSES = events(
    {"type": "response.created", "response": response(status="in_progress")},
    {"type": "response.output_text.delta", "delta": "Ro"},
    {"type": "response.output_text.delta", "delta": "me"},
    {"type": "response.completed", "response": response(MESSAGE)},
)


def gemini_chunk(*parts, **more):
    candidate = {"content": {"role": "model", "parts": [*parts]}, **more}
    usage = {"promptTokenCount": 20, "candidatesTokenCount": len(parts), "thoughtsTokenCount": 1}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m"}


def data_only(*values):
    return "".join(f"data: {json.dumps(value)}\r\n\r\n" for value in values).encode()


GEMINI = data_only(
    gemini_chunk({"text": "Italy's", "thought": True}),
    gemini_chunk({"text": "Ro"}, logprobsResult={"chosenCandidates": [{"token": "Ro", "logProbability": -0.1}]}),
    gemini_chunk(
        {"text": "me"},
        finishReason="STOP",
        logprobsResult={"chosenCandidates": [{"token": "me", "logProbability": -0.2}]},
    ),
)


def ollama_line(content="", **more):
    return {"model": "m", "message": {"role": "assistant", "content": content}, "done": False, **more}


DONE = {"done": True, "done_reason": "stop", "prompt_eval_count": 20, "eval_count": 2}
OLLAMA = lines(
    {"model": "m", "message": {"role": "assistant", "content": "", "thinking": "Italy's"}, "done": False},
    ollama_line("Ro"),
    ollama_line("me"),
    ollama_line(**DONE),
)

PROVIDERS = {
    "responses": (lambda url: OpenAIResponses("m", url, stream=True), RESPONSES, SSE),
    "gemini": (lambda url: Gemini("m", url, stream=True), GEMINI, SSE),
    "ollama": (lambda url: Ollama("m", url, stream=True), OLLAMA, LINES),
}
each = pytest.mark.parametrize(("make", "body", "form"), PROVIDERS.values(), ids=PROVIDERS)


@each
def test_a_streamed_reply_is_the_reply_under_the_key_of_one_that_is_not(make, body, form):
    reply, (asked,) = exchanged(make, [(200, body, form)])
    assert (reply.text, reply.finish, reply.usage.estimated) == ("Rome", "stop", False)
    assert reply.usage.input_tokens == 20
    assert reply.metadata["ttft"] >= 0
    streams = json.loads(asked.body).get("stream") is True or "streamGenerateContent?alt=sse" in asked.line
    assert streams
    model = make("http://h/v1")
    assert model.request("q", {}).digest == replace(model, stream=False).request("q", {}).digest


@each
@pytest.mark.parametrize("keep", [0.0, 0.3, 0.6, 0.95])
def test_a_stream_that_ends_before_the_reply_did_is_sent_again(make, body, form, keep):
    cut = body[: int(keep * len(body))]
    reply, asked = exchanged(make, [(200, cut, form), (200, body, form)])
    assert (reply.text, len(asked), reply.attempts[0].fault) == ("Rome", 2, "malformed")


@each
def test_an_answer_that_is_no_stream_is_read_as_it_is(make, body, form):
    whole = {
        "responses": response(MESSAGE),
        "gemini": gemini_chunk({"text": "Rome"}, finishReason="STOP"),
        "ollama": ollama_line("Rome", **DONE),
    }
    name = next(name for name, provider in PROVIDERS.items() if provider[0] is make)
    reply, _ = exchanged(make, [(200, whole[name])])
    assert reply.text == "Rome"


@pytest.mark.parametrize(
    ("name", "failing", "kind"),
    [
        ("responses", events({"type": "error", "code": "rate_limit_exceeded", "message": "Slow down"}), "rate_limit"),
        (
            "responses",
            events(
                {
                    "type": "response.failed",
                    "response": response(status="failed", error={"code": "server_error", "message": "no"}),
                }
            ),
            "server",
        ),
        (
            "gemini",
            data_only(
                gemini_chunk({"text": "Ro"}), {"error": {"code": 503, "status": "UNAVAILABLE", "message": "overloaded"}}
            ),
            "server",
        ),
        ("ollama", lines(ollama_line("Ro"), {"error": "an error was encountered while running the model"}), "server"),
    ],
)
def test_an_error_in_mid_stream_is_that_error_and_not_a_reply(name, failing, kind):
    make, body, form = PROVIDERS[name]
    reply, asked = exchanged(make, [(200, failing, form), (200, body, form)])
    assert (reply.text, len(asked), reply.attempts[0].fault) == ("Rome", 2, kind)


@each
def test_an_error_before_a_stream_is_the_error_of_every_call(make, body, form):
    error, asked = exchanged(make, [(401, {"error": {"message": "bad key", "code": "invalid_api_key"}})], retry=ONCE)
    assert isinstance(error, ModelError)
    assert (error.kind, len(asked)) == ("auth", 1)


def test_gemini_keeps_thoughts_and_probabilities_of_all_chunks():
    make, body, form = PROVIDERS["gemini"]
    reply, _ = exchanged(make, [(200, body, form)])
    assert reply.metadata["reasoning"] == "Italy's"
    assert [entry["token"] for entry in reply.metadata["logprobs"]] == ["Ro", "me"]


def test_gemini_goes_on_with_a_streamed_reply_that_was_cut_at_the_providers_limit():
    make, body, form = PROVIDERS["gemini"]
    cut = data_only(gemini_chunk({"text": "All roads: "}, finishReason="CONTINUATION", continuationToken="t1"))
    reply, asked = exchanged(make, [(200, cut, form), (200, body, form)])
    assert reply.text == "All roads: Rome"
    assert json.loads(asked[1].body)["continuationToken"] == "t1"


def test_a_blocked_prompt_in_a_stream_is_filtered():
    make, _, form = PROVIDERS["gemini"]
    reply, _ = exchanged(make, [(200, data_only({"promptFeedback": {"blockReason": "SAFETY"}}), form)])
    assert reply.finish == "content_filter"


def test_ratings_of_a_prompt_do_not_make_a_cut_stream_whole():
    make, body, form = PROVIDERS["gemini"]
    rated = {"promptFeedback": {"safetyRatings": [{"category": "HARM_CATEGORY_HARASSMENT", "probability": "LOW"}]}}
    cut = data_only({**gemini_chunk({"text": "Ro"}), **rated})
    reply, asked = exchanged(make, [(200, cut, form), (200, body, form)])
    assert (reply.text, len(asked), reply.attempts[0].fault) == ("Rome", 2, "malformed")


def test_ollama_keeps_thoughts_and_calls_of_tools():
    call = {"function": {"name": "find", "arguments": {"q": "Rome"}}}
    body = lines(ollama_line(message={"content": "", "thinking": "Look", "tool_calls": [call]}), ollama_line(**DONE))
    reply, _ = exchanged(PROVIDERS["ollama"][0], [(200, body, LINES)])
    assert reply.metadata["reasoning"] == "Look"
    assert [one["function"]["name"] for one in reply.metadata["tool_calls"]] == ["find"]


def test_a_refused_responses_stream_keeps_its_usage():
    said = {"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}
    body = events({"type": "response.completed", "response": response(said)})
    reply, _ = exchanged(PROVIDERS["responses"][0], [(200, body, SSE)])
    assert (reply.text, reply.finish, reply.usage) == ("No.", "refusal", Usage(20, 2, reasoning=1))


def test_a_window_of_hours_is_no_stream():
    with pytest.raises(ConfigError, match="stream"):
        check_options(OpenAIResponses("m", service="2h", stream=True))
