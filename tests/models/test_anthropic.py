"""Claude over the Messages API: what is sent, and what is made of whatever comes back."""

import asyncio
import json

import pytest
from tests.loopback import http, peer
from tests.models.native import FORM, KEY, PDF, PNG, SCHEMA, TOOL, body_of, exchanged, fault_of, read
from tests.wires import anthropic

from steelyard import ConfigError, Judge, Options, Sample, Suite
from steelyard.constraints import check_options
from steelyard.evaluation import RunConfig, aevaluate_suite
from steelyard.models import Anthropic
from steelyard.models.refused_parameters import THINKING_TOKENS, adjusted
from steelyard.scorers import Correctness
from steelyard.types import Usage

MODEL = Anthropic("claude-x", api_key="${KEY}")
THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}


def event(kind, **more):
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n"


def error(kind, message, **details):
    body = {"type": kind, "message": message, **({"details": details} if details else {})}
    return {"type": "error", "error": body, "request_id": "req_1"}


def test_a_call_has_key_version_limit_and_system_in_their_places():
    reply, (asked,) = exchanged(
        lambda url: Anthropic("claude-x", url, "${KEY}", {"stop": "END"}),
        [(200, anthropic("Paris"))],
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Capital?"}],
        temperature=0,
    )
    assert asked.line == "POST /v1/messages HTTP/1.1"
    assert (asked.headers["x-api-key"], asked.headers["anthropic-version"]) == (KEY, "2023-06-01")
    assert json.loads(asked.body) == {
        "model": "claude-x",
        "max_tokens": 16000,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "Capital?"}],
        "stop_sequences": ["END"],
        "temperature": 0,
    }
    assert (reply.text, reply.finish, reply.usage) == ("Paris", "stop", Usage(20, 1))


def test_images_and_pdfs_are_blocks_of_their_own():
    content = body_of(MODEL, [{"role": "user", "content": [{"type": "text", "text": "?"}, PNG, PDF]}])["messages"][0]
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
    assert [block["type"] for block in content["content"]] == ["text", "image", "document"]
    assert content["content"][2] == {"type": "document", "source": source, "title": "a.pdf"}


def test_a_turn_with_tools_goes_back_with_the_thoughts_before_it():
    use = {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {"q": "易"}}
    first = read(MODEL, anthropic("", content=[THINKING, use], stop_reason="tool_use"))
    assert (first.finish, first.metadata["reasoning"]) == ("tool_calls", "Hm.")
    call = first.metadata["tool_calls"][0]
    assert json.loads(call["function"]["arguments"]) == {"q": "易"}
    messages = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": first.text, **first.metadata},
        {"role": "tool", "tool_call_id": "toolu_1", "content": "7"},
    ]
    body = body_of(MODEL, messages, tools=[TOOL], tool_choice="required")
    assert body["messages"][1]["content"] == [THINKING, use]
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "7"}]}
    assert body["messages"][2] == {"role": "user", "content": [result]}
    assert body["tools"][0]["input_schema"]["required"] == ["q"]
    assert body["tool_choice"] == {"type": "any"}


def test_a_schema_is_closed_as_the_api_requires():
    body = body_of(MODEL, "?", response_format=FORM, reasoning_effort="low")
    schema = {**SCHEMA, "additionalProperties": False}
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": schema}, "effort": "low"}


def test_no_effort_at_all_turns_thinking_off():
    assert body_of(MODEL, "?", reasoning_effort="none")["thinking"] == {"type": "disabled"}


def test_the_cache_is_counted_in_the_input_once():
    usage = {
        "input_tokens": 5,
        "cache_read_input_tokens": 70,
        "cache_creation_input_tokens": 25,
        "output_tokens": 9,
        "output_tokens_details": {"thinking_tokens": 4},
    }
    expected = Usage(100, 9, cache_read=70, cache_write=25, reasoning=4)
    assert read(MODEL, anthropic("A", usage=usage)).usage == expected


def test_what_is_alike_in_every_call_is_marked_for_the_cache():
    model = Anthropic("claude-x", cache="1h")
    mark = {"type": "ephemeral", "ttl": "1h"}
    with_system = body_of(model, [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}], tools=[TOOL])
    assert with_system["system"] == [{"type": "text", "text": "s", "cache_control": mark}]
    assert "cache_control" not in with_system["tools"][0]
    assert body_of(model, "q", tools=[TOOL])["tools"][0]["cache_control"] == mark
    assert "cache_control" not in json.dumps(body_of(model, "q"))


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("pause_turn", "length"),
        ("refusal", "refusal"),
    ],
)
def test_reasons_to_stop_have_our_names(reason, finish):
    assert read(MODEL, anthropic("Par", stop_reason=reason)).finish == finish


def test_a_refusal_may_be_empty_and_says_its_category():
    details = {"type": "refusal", "category": "frontier_llm", "explanation": "Not this."}
    reply = read(MODEL, anthropic("", content=[], stop_reason="refusal", stop_details=details))
    assert (reply.text, reply.finish) == ("", "refusal")
    assert reply.metadata["refusal_category"] == "frontier_llm"


def test_unknown_blocks_are_left_out_of_the_answer():
    blocks = [{"type": "server_tool_use", "id": "s1"}, {"type": "text", "text": "A"}, {"type": "novelty", "text": "x"}]
    assert read(MODEL, anthropic("", content=blocks)).text == "A"


def test_a_remark_before_a_search_is_apart_from_the_answer_and_a_cited_sentence_is_whole():
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"title": "C"}]}
    texts = [{"type": "text", "text": text} for text in ("I look it up.", "The answer", " is B.")]
    blocks = [texts[0], {"type": "server_tool_use", "id": "s1"}, found, *texts[1:]]
    assert read(MODEL, anthropic("", content=blocks)).text == "I look it up.\n\nThe answer is B."


@pytest.mark.parametrize(
    ("status", "body", "kind", "retried", "ends"),
    [
        (529, error("overloaded_error", "Overloaded"), "server", True, False),
        (500, error("api_error", "Internal server error"), "server", True, False),
        (429, error("rate_limit_error", "slow", error_code="ramp_limit_exceeded"), "rate_limit", True, False),
        (429, error("rate_limit_error", "spent", error_code="enforced_spend_limit_reached"), "quota", False, True),
        (402, error("billing_error", "Your credit balance is too low"), "quota", False, True),
        (401, error("authentication_error", "invalid x-api-key"), "auth", False, True),
        (400, error("invalid_request_error", "messages: text content blocks must be non-empty"), "bad_request", False,
         False),
        (413, error("request_too_large", "Request exceeds the maximum size"), "bad_request", False, False),
        (200, error("overloaded_error", "Overloaded"), "server", True, False),
    ],
)  # fmt: skip
def test_errors_are_classified_by_status_type_and_code(status, body, kind, retried, ends):
    fault = fault_of(MODEL, body, status)
    assert (fault.kind, fault.retry, fault.ends_run) == (kind, retried, ends)


def test_a_broken_upload_is_sent_again():
    message = "The request body is not valid JSON: unexpected end of data: line 1 column 9"
    assert fault_of(MODEL, error("invalid_request_error", message), 400).retry


def test_a_refused_temperature_is_named_for_the_parameter_findings():
    body = error("invalid_request_error", "temperature: Extra inputs are not permitted")
    assert fault_of(MODEL, body, 400).refused.names == ("temperature",)


def test_a_long_reply_comes_as_a_stream_under_the_same_key_in_the_journal():
    stream = "".join(
        (
            event("message_start", message=anthropic("", content=[], usage={"input_tokens": 20, "output_tokens": 1})),
            event("content_block_start", index=0, content_block={"type": "thinking", "thinking": "", "signature": ""}),
            event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "Hm."}),
            event("content_block_delta", index=0, delta={"type": "signature_delta", "signature": "c2ln"}),
            event("content_block_start", index=1, content_block={"type": "text", "text": ""}),
            event("ping"),
            event("content_block_delta", index=1, delta={"type": "text_delta", "text": "Par"}),
            event("content_block_delta", index=1, delta={"type": "text_delta", "text": "is"}),
            event("content_block_start", index=2, content_block={"type": "tool_use", "id": "t", "name": "find"}),
            event("content_block_delta", index=2, delta={"type": "input_json_delta", "partial_json": '{"q":'}),
            event("content_block_delta", index=2, delta={"type": "input_json_delta", "partial_json": " 1}"}),
            event("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 12}),
            event("message_stop"),
        )
    ).encode()

    def make(url):
        return Anthropic("claude-x", url, parameters={"max_tokens": 64_000})

    reply, (asked,) = exchanged(make, [(200, stream, "Content-Type: text/event-stream")])
    assert json.loads(asked.body)["stream"] is True
    assert b"stream" not in make("http://h/v1").request("q", {}).payload
    assert (reply.text, reply.finish, reply.usage) == ("Paris", "tool_calls", Usage(20, 12))
    assert reply.metadata["reasoning_items"] == [THINKING]
    assert reply.metadata["tool_calls"][0]["function"]["arguments"] == '{"q": 1}'
    assert reply.metadata["ttft"] > 0


def test_a_stream_that_breaks_off_or_fails_is_no_reply():
    start = event("message_start", message=anthropic("", content=[]))
    broken = fault_of(MODEL, (start + event("content_block_delta", index=0, delta={"text": "Par"})).encode())
    assert (broken.kind, broken.retry) == ("malformed", True)
    place = fault_of(MODEL, (start + 'event: content_block_delta\ndata: {"delta": {"text": "é\n\n').encode()).message
    at = len((start + "event: content_block_delta\ndata: ").encode())
    assert f'event 2 of the stream, at byte {at:,}, is broken: {{"delta": {{"text": "é' in place
    failed = fault_of(MODEL, (start + event("error", **error("overloaded_error", "Overloaded"))).encode())
    assert (failed.kind, failed.retry) == ("server", True)


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": " "},
        {"api_version": "latest"},
        {"parameters": {"fallbacks": "default"}},
        {"parameters": {"system": "s"}},
        {"parameters": {"truncation": "auto"}},
        {"parameters": {"max_tokens": 0}},
        {"api_key": "sk-ant-0123456789abcdef"},
        {"base_url": "api.anthropic.com"},
    ],
)
def test_what_cannot_be_right_is_refused_before_anything_is_sent(wrong):
    with pytest.raises(ConfigError):
        check_options(Anthropic(**{"name": "claude-x", **wrong}))
    check_options(MODEL)


def test_a_judge_leaves_out_what_the_api_refuses_in_the_servers_words(tmp_path):
    """Every parameter that nobody asked for and the API refuses costs one call that is not billed, and is told."""

    def answer(_, asked):
        body = json.loads(asked.body)
        for name in ("temperature", "top_p", "frequency_penalty", "presence_penalty"):
            if name in body:
                return http(400, error("invalid_request_error", f"{name}: Extra inputs are not permitted"))
        return http(200, anthropic('{"rating": 5}' if "output_config" in body else "Rating: 5"))

    async def run():
        async with peer(answer) as server:
            judge = Judge(Anthropic("claude-x", server.url))
            samples = [Sample(f"q{n}", f"question {n}", "A") for n in range(6)]
            suite = Suite("s", "custom", samples, {"t": lambda _: "A"}, (Correctness(judge),), Options(concurrency=2))
            (found,) = await aevaluate_suite(suite, how=RunConfig(store=str(tmp_path / "s.db")))
            return found, [json.loads(one.body) for one in server.asked]

    found, bodies = asyncio.run(run())
    assert (found.state, found.errors) == ("finished", 0)
    assert {record.scores[0].value for record in found.records()} == {5}
    changed = found.summary().calls.endpoints["changed_parameters"]["correctness"]
    assert set(changed) == {"temperature", "top_p", "frequency_penalty", "presence_penalty"}
    assert len(bodies) <= 6 + 8


def test_a_judges_own_limit_leaves_room_to_think_and_a_users_stays_as_it_is():
    assert adjusted(MODEL, {"max_tokens": 12}, {}, {"max_tokens"})[1] == {"max_tokens": 12 + THINKING_TOKENS}
    assert adjusted(MODEL, {"max_tokens": 12}, {}, ())[1] == {"max_tokens": 12}
