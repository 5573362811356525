"""OpenAI's Responses API: what is sent, what is made of a reply, and failures that come with status 200."""

import asyncio
import json

import pytest
from tests.loopback import http, peer
from tests.models.native import FORM, KEY, PDF, PNG, SCHEMA, TOOL, body_of, exchanged, fault_of, read
from tests.wires import responses

from steelyard import ConfigError
from steelyard.constraints import check_options
from steelyard.models import OpenAIResponses
from steelyard.models.base import Fault
from steelyard.session.secrets import Secrets
from steelyard.session.wire import HttpWire
from steelyard.types import Usage

MODEL = OpenAIResponses("gpt-x", api_key="${KEY}")
THOUGHT = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Hm."}],
    "encrypted_content": "gAAA",
}


def message(text, **more):
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}], **more}


def test_a_call_keeps_nothing_at_the_provider_and_asks_for_what_must_go_back():
    reply, (asked,) = exchanged(
        lambda url: OpenAIResponses("gpt-x", url, "${KEY}", {"reasoning": {"summary": "auto"}}),
        [(200, responses("Paris"))],
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Capital?"}],
        max_tokens=9,
        reasoning_effort="low",
    )
    assert asked.line == "POST /v1/responses HTTP/1.1"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert json.loads(asked.body) == {
        "model": "gpt-x",
        "input": [
            {"role": "system", "content": [{"type": "input_text", "text": "Be brief."}]},
            {"role": "user", "content": [{"type": "input_text", "text": "Capital?"}]},
        ],
        "store": False,
        "max_output_tokens": 9,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"summary": "auto", "effort": "low"},
    }
    assert (reply.text, reply.finish, reply.usage) == ("Paris", "stop", Usage(20, 1))


def test_images_and_pdfs_are_data_uris():
    (item,) = body_of(MODEL, [{"role": "user", "content": [PNG, PDF]}])["input"]
    assert item["content"] == [
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="},
    ]


def test_a_turn_with_tools_goes_back_with_its_encrypted_reasoning():
    call = {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"q": 1}'}
    first = read(MODEL, responses("", output=[THOUGHT, call]))
    assert (first.finish, first.metadata["reasoning"]) == ("tool_calls", "Hm.")
    messages = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": first.text, **first.metadata},
        {"role": "tool", "tool_call_id": "c1", "content": "7"},
    ]
    body = body_of(MODEL, messages, tools=[TOOL], tool_choice={"type": "function", "function": {"name": "find"}})
    assert body["input"][1:] == [THOUGHT, call, {"type": "function_call_output", "call_id": "c1", "output": "7"}]
    assert (body["tools"][0]["type"], body["tools"][0]["name"]) == ("function", "find")
    assert body["tool_choice"] == {"type": "function", "name": "find"}


def test_a_call_of_a_custom_tool_is_one_of_any_text():
    call = {"type": "custom_tool_call", "call_id": "c1", "name": "shell", "input": "ls -l"}
    reply = read(MODEL, responses("", output=[THOUGHT, call]))
    assert (reply.finish, reply.metadata["tool_calls"][0]["function"]) == (
        "tool_calls",
        {"name": "shell", "arguments": "ls -l"},
    )


def test_a_schema_and_log_probabilities_are_asked_for_under_other_names():
    body = body_of(MODEL, "?", response_format=FORM, logprobs=True, top_logprobs=5)
    schema = {**SCHEMA, "additionalProperties": False}
    assert body["text"]["format"] == {"type": "json_schema", "name": "reply", "schema": schema, "strict": True}
    assert body["include"] == ["message.output_text.logprobs", "reasoning.encrypted_content"]
    assert body["top_logprobs"] == 5
    logprobs = [{"token": "A", "logprob": -0.1, "top_logprobs": []}]
    part = {"type": "output_text", "text": "A", "logprobs": logprobs}
    output = [{"type": "message", "content": [part]}]
    assert read(MODEL, responses("", output=output)).metadata["logprobs"] == logprobs


def test_the_usage_is_in_our_terms():
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 70, "cache_write_tokens": 25},
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 4},
    }
    assert read(MODEL, responses("A", usage=usage)).usage == Usage(100, 9, cache_read=70, cache_write=25, reasoning=4)


def test_a_comment_on_the_work_is_no_part_of_the_answer():
    output = [message("Let me look.", phase="commentary"), message("Paris", phase="final_answer")]
    assert read(MODEL, responses("", output=output)).text == "Paris"
    assert read(MODEL, responses("", output=[message("Par"), {"type": "novelty"}, message("is")])).text == "Paris"


def test_what_is_alike_in_every_call_is_marked_for_the_cache():
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]
    body = body_of(OpenAIResponses("gpt-x", cache="12h"), messages)
    assert body["prompt_cache_options"] == {"mode": "explicit", "ttl": "12h"}
    assert body["input"][0]["content"][0]["prompt_cache_breakpoint"] == {"mode": "explicit"}
    assert "prompt_cache_breakpoint" not in json.dumps(body["input"][1])
    alone = body_of(OpenAIResponses("gpt-x", cache="12h"), [{"role": "system", "content": "q"}])
    assert "prompt_cache_breakpoint" not in json.dumps(alone["input"])  # it asks, and differs in every call


@pytest.mark.parametrize(
    ("more", "text", "finish"),
    [
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": [THOUGHT]}, "",
         "length"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "Par", "content_filter"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_messages"}}, "Par", "length"),
        ({"output": [{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}]}, "No.", "refusal"),
        ({"output": [{"type": "message", "content": [
            {"type": "output_text", "text": "Par"}, {"type": "refusal", "refusal": "No."}]}]}, "Par", "refusal"),
        ({"output": [{"type": "message", "content": [
            {"type": "refusal", "refusal": "Hm."}, {"type": "output_text", "text": "Paris"}]}]}, "Paris", "stop"),
        ({"status": "failed", "error": {"code": "bio_policy", "message": "Not this."}, "output": []}, "",
         "content_filter"),
    ],
)  # fmt: skip
def test_replies_that_are_not_whole_are_outcomes_with_their_name(more, text, finish):
    reply = read(MODEL, responses("Par", **more))
    assert (reply.text, reply.finish) == (text, finish)


@pytest.mark.parametrize(
    ("code", "kind", "retried"),
    [
        ("server_error", "server", True),
        ("rate_limit_exceeded", "rate_limit", True),
        ("vector_store_timeout", "server", True),
        ("invalid_prompt", "bad_request", False),
        ("image_parse_error", "bad_request", False),
        ("invalid_base64_image", "bad_request", False),
    ],
)
def test_a_failure_with_status_200_is_an_error_and_never_an_empty_answer(code, kind, retried):
    body = responses("", status="failed", error={"code": code, "message": "It failed."}, output=[], usage=None)
    fault = fault_of(MODEL, body)
    assert (fault.kind, fault.retry) == (kind, retried)
    assert "It failed." in fault.message


def test_a_status_that_nobody_knows_is_no_answer():
    assert fault_of(MODEL, responses("", status="cancelled", output=[], usage=None)).kind == "malformed"
    assert fault_of(MODEL, responses("", status="in_progress", output=[], usage=None)).kind == "server"


@pytest.mark.parametrize("status", ["cancelled", "expired", 1])
def test_a_text_of_a_call_that_was_stopped_is_no_whole_reply(status):
    fault = fault_of(MODEL, responses("Par", status=status))
    assert (fault.kind, repr(status) in fault.message) == ("malformed", True)


def test_a_server_may_leave_the_status_out():
    assert read(MODEL, responses("Paris", status=None)).finish == "stop"


def test_why_a_reply_was_broken_off_by_a_refusal_is_kept():
    content = [{"type": "output_text", "text": "Par"}, {"type": "refusal", "refusal": "No."}]
    assert read(MODEL, responses("", output=[{"type": "message", "content": content}])).metadata["message"] == "No."


def test_a_header_says_whether_a_call_is_sent_again():
    body = {"error": {"message": "No.", "type": "server_error"}}
    assert not fault_of(MODEL, body, 500, **{"x-should-retry": "false"}).retry
    assert fault_of(MODEL, body, 418, **{"x-should-retry": "true"}).retry
    wrong_key = {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}
    assert not fault_of(MODEL, wrong_key, 401, **{"x-should-retry": "true"}).retry


def test_flex_has_more_time_and_is_priced_by_the_tier_that_answers():
    model = OpenAIResponses("gpt-x", service="flex", timeout_s=60)
    request = model.request("q", {})
    assert json.loads(request.payload)["service_tier"] == "flex"
    assert (request.timeout_s, request.total_s) == (900, 900)
    assert read(model, responses("A", service_tier="flex")).metadata["service_tier"] == "flex"
    assert "service_tier" not in read(model, responses("A", service_tier="default")).metadata


def test_a_call_in_a_window_is_looked_for_until_it_is_there(monkeypatch):
    monkeypatch.setattr("steelyard.models.openai_responses._POLL_S", (0.001, 0.001))
    answers = [responses("", status=status, output=[], usage=None) for status in ("queued", "in_progress")]
    done = responses("Paris", background_options={"completion_window": "2h"})

    async def run():
        async with peer(lambda n, asked: http(200, [*answers, done][n])) as server:
            model = OpenAIResponses("gpt-x", server.url, service="2h")
            wire = HttpWire(Secrets([], {}))
            answer = await model.send(model.request("q", {}), wire)
            await wire.close()
            return model.read(answer), server.asked

    reply, asked = asyncio.run(run())
    first = json.loads(asked[0].body)
    assert (first["background"], first["background_options"]) == (True, {"completion_window": "2h"})
    assert first["store"] is True  # else there is nothing to look for
    assert [one.line.split()[:2] for one in asked[1:]] == [["GET", "/v1/responses/resp_1"]] * 2
    assert (reply.text, reply.metadata["service_tier"]) == ("Paris", "2h")


def test_a_window_that_passes_is_a_timeout_that_is_not_sent_again(monkeypatch):
    monkeypatch.setattr("steelyard.models.openai_responses._POLL_S", (0.001, 0.001))
    monkeypatch.setattr("steelyard.models.endpoint.SLOW_S", {"2h": 0.2})

    async def run():
        async with peer(lambda n, asked: http(200, responses("", status="queued", output=[]))) as server:
            model = OpenAIResponses("gpt-x", server.url, service="2h", timeout_s=0.2)
            wire = HttpWire(Secrets([], {}))
            try:
                await model.send(model.request("q", {}), wire)
            finally:
                await wire.close()

    with pytest.raises(Fault, match="still queued after the window of 2h") as caught:
        asyncio.run(run())
    assert not caught.value.retry


@pytest.mark.parametrize(
    "parameters",
    [{"truncation": "auto"}, {"input": "q"}, {"previous_response_id": "r"}, {"background": True}, {"n": 2}],
)
def test_what_cannot_be_right_is_refused_before_anything_is_sent(parameters):
    with pytest.raises(ConfigError):
        check_options(OpenAIResponses("gpt-x", parameters=parameters))
    check_options(OpenAIResponses("gpt-x", parameters={"truncation": "disabled"}))


def test_two_ways_to_a_tier_are_one_too_many():
    with pytest.raises(ConfigError, match="one of them"):
        check_options(OpenAIResponses("gpt-x", parameters={"service_tier": "priority"}, service="flex"))
