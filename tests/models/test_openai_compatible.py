"""Chat completions: what is sent, and what is made of whatever comes back."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.loopback import completion, peer, said

from steelyard import ConfigError, OpenAICompatible
from steelyard.constraints import check_options
from steelyard.models.base import Answer, Fault
from steelyard.models.limits import Limits, Retry
from steelyard.registry import describe
from steelyard.session.secrets import Secrets
from steelyard.session.wire import HttpWire
from steelyard.types import Usage

MODEL = OpenAICompatible("m", "http://h/v1")


def read(body, status=200):
    return MODEL.read(Answer(status, {}, body if isinstance(body, bytes) else json.dumps(body).encode()))


def choice(message, **more):
    return {"choices": [{"message": message, **more}]}


def fault_of(body, status=200):
    with pytest.raises(Fault) as caught:
        read(body, status)
    return caught.value


def test_a_call_is_one_post_with_the_model_its_parameters_and_the_key_in_a_header_alone():
    async def run():
        async with peer(lambda n, asked: said("Paris")) as server:
            model = OpenAICompatible(
                "glm-4", server.url + "/", "${KEY}", {"temperature": 0.5, "seed": 1}, {"X-Team": "${TEAM}"}
            )
            wire = HttpWire(Secrets(["KEY", "TEAM"], {"KEY": "sk-123456", "TEAM": "blue-team"}))
            request = model.request([{"role": "user", "content": "乾?"}], {"seed": 2, "max_tokens": 9})
            reply = await Limits(Retry(), 1).call(model, request, wire)
            await wire.close()
            return request, reply, server.asked[0]

    request, reply, asked = asyncio.run(run())
    assert asked.line == "POST /v1/chat/completions HTTP/1.1"
    assert asked.headers["authorization"] == "Bearer sk-123456"
    assert asked.headers["x-team"] == "blue-team"
    assert asked.headers["content-type"] == "application/json"
    assert json.loads(asked.body) == {
        "model": "glm-4",
        "messages": [{"role": "user", "content": "乾?"}],
        "temperature": 0.5,
        "seed": 2,
        "max_tokens": 9,
    }
    assert "sk-123456" not in repr(request)
    assert (reply.text, reply.finish, reply.usage) == ("Paris", "stop", Usage(20, 1))


def test_a_text_is_one_message_of_the_user_and_its_tokens_are_estimated():
    request = MODEL.request("周易 abcd", {})
    assert json.loads(request.payload)["messages"] == [{"role": "user", "content": "周易 abcd"}]
    assert request.input_tokens == 3
    assert request.endpoint == "http://h"


def test_equal_calls_have_equal_digests_and_a_changed_parameter_another():
    digests = {MODEL.request("q", parameters).digest for parameters in ({}, {}, {"seed": 1}, {"seed": 2})}
    assert len(digests) == 3


def test_half_of_a_surrogate_pair_can_be_sent():
    assert json.loads(MODEL.request("a\ud800b", {}).payload)["messages"][0]["content"] == "a\ud800b"


def test_reasoning_logprobs_and_names_are_kept_beside_the_text():
    logprobs = {"content": [{"token": "A", "logprob": -0.1}]}
    message = {"content": "A", "reasoning_content": "because"}
    reply = read(
        {"model": "m-1", "system_fingerprint": "fp", **choice(message, finish_reason="length", logprobs=logprobs)}
    )
    assert (reply.text, reply.finish) == ("A", "length")
    assert reply.metadata == {
        "model": "m-1",
        "reasoning": "because",
        "logprobs": [{"token": "A", "logprob": -0.1}],
        "fingerprint": "fp",
    }


def test_a_content_of_parts_is_their_text():
    assert (
        read(choice({"content": [{"type": "text", "text": "A"}, {"type": "image"}, {"text": "B"}, "C", 7]})).text
        == "ABC"
    )


def test_a_content_that_is_no_text_is_its_json():
    assert read(choice({"content": {"answer": "Orléans", "sure": True}})).text == '{"answer": "Orléans", "sure": true}'
    assert read(choice({"content": {"type": "text", "text": "A"}})).text == "A"


def test_a_stream_that_was_not_asked_for_says_what_to_write():
    body = b'data: {"choices": [{"index": 0, "delta": {"content": "A"}}]}\n\ndata: [DONE]\n\n'
    fault = fault_of(body)
    assert "write stream: true" in fault.message
    assert not fault.retry


def test_an_empty_text_is_a_reply_and_no_content_is_not():
    assert read(choice({"content": ""})).text == ""
    fault = fault_of(choice({"content": None}, finish_reason="stop"))
    assert (fault.kind, fault.retry, fault.billed) == ("empty", True, True)


@pytest.mark.parametrize(
    ("theirs", "ours"), [("sensitive", "content_filter"), ("max_tokens", "length"), ("end_turn", "stop"), ({}, "stop")]
)
def test_other_services_words_for_why_a_reply_ended_are_openais(theirs, ours):
    assert read(choice({"content": "A"}, finish_reason=theirs)).finish == ours


def test_what_a_service_calls_sensitive_is_filtered_and_not_asked_for_again():
    reply = read(choice({"content": None}, finish_reason="sensitive"))
    assert (reply.text, reply.finish) == ("", "content_filter")


def test_a_reply_that_ended_in_a_network_error_is_asked_for_again():
    fault = fault_of(choice({"content": "Par"}, finish_reason="network_error"))
    assert (fault.kind, fault.retry) == ("server", True)


@pytest.mark.parametrize("finish", ["content_filter", "length", "tool_calls"])
def test_a_reply_that_ended_for_a_reason_may_have_no_content(finish):
    reply = read(choice({"content": None}, finish_reason=finish))
    assert (reply.text, reply.finish) == ("", finish)


def test_a_refusal_is_told_as_one():
    reply = read(choice({"content": None, "refusal": "I cannot"}))
    assert (reply.text, reply.finish) == ("I cannot", "refusal")


def test_a_content_filter_is_an_outcome_and_no_fault():
    filtered = {"error": {"message": "blocked", "code": "content_filter"}}
    assert read(filtered, 400).finish == "content_filter"
    assert read(filtered, 200).finish == "content_filter"


def test_an_error_inside_a_success_is_a_fault():
    fault = fault_of({"error": {"message": "overloaded", "code": "503"}})
    assert (fault.kind, fault.retry) == ("server", True)
    assert "overloaded" in fault.message


@pytest.mark.parametrize(
    "usage",
    [
        None,
        [],
        {"prompt_tokens": None, "completion_tokens": 3},
        {"prompt_tokens": 10**30, "completion_tokens": 3},
        {"prompt_tokens": -5, "completion_tokens": 3},
        {"prompt_tokens": True, "completion_tokens": 3},
        {"prompt_tokens": "20", "completion_tokens": 3},
    ],
)
def test_token_counts_that_are_none_are_estimated(usage):
    assert read({**completion("four more"), "usage": usage}).usage == Usage(0, 2, estimated=True)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "message",
                    "content",
                    "error",
                    "code",
                    "usage",
                    "logprobs",
                    "finish_reason",
                    "refusal",
                    "text",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    JSON | st.builds(lambda one: {"choices": [one]}, JSON) | st.builds(choice, JSON), st.sampled_from([200, 400, 500])
)
def test_whatever_json_comes_is_a_reply_or_a_fault(body, status):
    try:
        found = read(body, status).text
    except Fault as fault:
        found = fault.message
    assert isinstance(found, str)


@given(st.binary(max_size=60))
def test_bytes_that_are_no_json_are_a_passing_fault(body):
    try:
        json.loads(body)
    except ValueError:
        assert fault_of(body).kind == "malformed"
        assert fault_of(body).retry


@pytest.mark.parametrize(
    ("fields", "said_so"),
    [
        ({"base_url": "h/v1"}, "is not an http"),
        ({"base_url": "https://me:pass@h/v1"}, "user name or password"),
        ({"base_url": "https://h/v1?api_key=abc"}, "holds a key"),
        ({"api_key": "sk-123456"}, "a key is not written out here"),
        ({"api_key": "${A}sk-123${B}"}, "a key is not written out here"),
        ({"headers": {"X-Api-Key": "sk-123456"}}, "must hold a reference"),
        ({"parameters": {"messages": []}}, "must not contain 'messages'"),
        ({"parameters": {"model": "x"}}, "must not contain 'model'"),
        ({"parameters": {"stream": True}}, "write stream: true beside them"),
        ({"timeout_s": 0}, "timeout_s must be"),
    ],
)
def test_a_mistake_is_found_before_anything_is_sent(fields, said_so):
    with pytest.raises(ConfigError, match=said_so):
        check_options(OpenAICompatible(**{"name": "m", **fields}))
    check_options(OpenAICompatible("m", "http://h/v1", "${KEY}", {"seed": 1}, {"X-Api-Key": "${KEY}"}))


def test_the_manifest_holds_the_reference_and_never_the_key():
    assert describe(OpenAICompatible("m", api_key="${KEY}"))["openai_compatible"]["api_key"] == "${KEY}"


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 2}}, {"cache_read": 5, "cache_write": 2}),
        ({"prompt_cache_hit_tokens": 5, "prompt_cache_miss_tokens": 15}, {"cache_read": 5}),  # DeepSeek
        ({"completion_tokens_details": {"reasoning_tokens": 1}}, {"reasoning": 1}),
        ({"reasoning_tokens": 1}, {"reasoning": 1}),  # SGLang
    ],
)
def test_the_usage_is_in_our_terms(usage, read):
    body = completion(usage={"prompt_tokens": 20, "completion_tokens": 1, **usage})
    assert MODEL.read(Answer(200, {}, json.dumps(body).encode())).usage == Usage(20, 1, **read)


@pytest.mark.parametrize(("total", "output"), [(53, 33), (23, 3)])
def test_reasoning_that_a_total_counts_beside_the_completion_is_output(total, output):
    usage = {"prompt_tokens": 20, "completion_tokens": 3, "total_tokens": total}
    body = completion(usage={**usage, "completion_tokens_details": {"reasoning_tokens": 30}})
    assert MODEL.read(Answer(200, {}, json.dumps(body).encode())).usage.output_tokens == output


def follows(form, text):
    model = OpenAICompatible("m", "http://h/v1", parameters={"structured_outputs": form})
    reply = model.read(Answer(200, {}, json.dumps(completion(text)).encode()))
    try:
        model.expect_reply(reply, model.request("q", {}))
    except Fault as fault:
        return "retried" if fault.retry else "refused"
    return "answered"


@pytest.mark.parametrize(
    ("form", "good", "bad"),
    [
        ({"choice": ["A", "B"]}, "A", "The answer is A."),
        ({"regex": "[A-D]"}, "C", "C."),
        ({"json": {"type": "object"}}, '{"a": 1}', "a is 1"),
        ({"json_object": True}, "{}", "Here you are: {}"),
    ],
)
def test_a_form_that_vllm_ignored_is_an_error_with_its_name(form, good, bad):
    assert follows(form, good) == "answered"
    assert follows(form, bad) == "refused"


def test_a_form_that_cannot_be_checked_is_not():
    assert follows({"grammar": "root ::= 'A'"}, "B") == "answered"
    assert follows({"regex": "(?=A)A"}, "B") == "answered"


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"guided_choice": ["A"]}, "structured_outputs: {choice: ...}"),
        ({"truncate_prompt_tokens": 100}, "drop a part of a long prompt"),
        ({"transforms": ["middle-out"]}, "drop a part of a long prompt"),
    ],
)
def test_what_an_endpoint_would_ignore_or_shorten_is_refused(parameters, words):
    with pytest.raises(ConfigError) as caught:
        check_options(OpenAICompatible("m", "http://h/v1", parameters=parameters))
    assert words in str(caught.value)


def test_openrouter_names_provider_and_cost_and_may_fail_with_status_200():
    usage = {"prompt_tokens": 20, "completion_tokens": 1, "cost": 0.0125}
    reply = MODEL.read(Answer(200, {}, json.dumps(completion(provider="Host", usage=usage)).encode()))
    assert (reply.metadata["provider"], reply.metadata["provider_cost"]) == ("Host", 0.0125)
    error = {"error": {"code": 429, "message": "Rate limited", "metadata": {"provider_name": "Host"}}}
    assert fault_of(error).kind == "rate_limit"
    warming = fault_of({"id": "gen-1", "choices": [], "usage": {"prompt_tokens": 0}})
    assert (warming.kind, warming.retry) == ("empty", True)


def test_dashscopes_batch_chat_has_an_hour_and_a_tier_of_its_own():
    model = OpenAICompatible("qwen-plus", "https://batch.dashscope.aliyuncs.com/compatible-mode/v1")
    request = model.request("q", {})
    assert (request.timeout_s, request.total_s) == (3600, 3600)
    assert model.read(Answer(200, {}, json.dumps(completion("A")).encode())).metadata["service_tier"] == "batch"
    flex = OpenAICompatible("m", "http://h/v1", parameters={"service_tier": "flex"}).request("q", {})
    assert (flex.timeout_s, flex.total_s) == (900, 900)
