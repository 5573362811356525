"""Errors that a server reports by a word, inside a success or against its own status."""

import asyncio
import json
from collections import Counter

import pytest
from tests.loopback import completion, http, peer, said

from steelyard.errors import ModelError
from steelyard.models.base import Answer, Fault
from steelyard.models.embeddings import Embeddings
from steelyard.models.http import HttpModel
from steelyard.models.limits import Limits, Retry
from steelyard.models.openai_compatible import Completions, OpenAICompatible
from steelyard.models.response import ResponseMap
from steelyard.session.secrets import Secrets
from steelyard.session.wire import HttpWire

URL = "http://127.0.0.1:1/v1"
MODEL, STREAMED = OpenAICompatible("m", URL), OpenAICompatible("m", URL, stream=True)
GENERIC = HttpModel(URL, body={"q": "{{prompt}}"}, response=ResponseMap(text="choices[0].delta.content"))
PART = {"choices": [{"index": 0, "delta": {"content": "Par"}}]}

SERVER = (
    "server_error", "InternalServerError", "internal_server_error", "Internal Server Error", "internal_error",
    "INTERNAL", "InternalError.Algo", "api_error", "overloaded_error", "engine_overloaded_error", "ServerOverloaded",
    "server_is_overloaded", "timeout_error", "RequestTimeOut", "ModelTimeoutException", "DEADLINE_EXCEEDED",
    "UNAVAILABLE", "service_unavailable_error", "unavailable_error", "ServiceUnavailableException",
    "ModelNotReadyException", "service_tier_capacity_exceeded", "provider_unavailable", "upstream_error",
    "invalid_response_error", 500, 502, 503, 504, 529, "503",
)  # fmt: skip
UNKNOWN = ("a_word_of_tomorrow", "UNKNOWN", "ABORTED", "1230", "1234", "", 0, 200, 302, 1234567, True, [], {})
RATE_LIMIT = (
    "rate_limit_exceeded", "rate_limit_error", "RateLimitError", "rate_limited", "rate_limit_reached_error",
    "too_many_requests", "slow_down", "RESOURCE_EXHAUSTED", "ThrottlingException", "throttling_error",
    "Throttling.RateQuota", "Throttling.AllocationQuota", "RateLimitExceeded.EndpointRPMExceeded",
    "RequestBurstTooFast", "ramp_limit_exceeded", "1302", "1305", 429, "429",
)  # fmt: skip
FINAL = (
    ("invalid_request_error", "bad_request"), ("BadRequestError", "bad_request"), ("INVALID_ARGUMENT", "bad_request"),
    ("FAILED_PRECONDITION", "bad_request"), ("ValidationException", "bad_request"), ("InvalidParameter", "bad_request"),
    ("context_length_exceeded", "bad_request"), ("exceed_context_size_error", "bad_request"),
    ("request_too_large", "bad_request"), ("unsupported_parameter", "bad_request"), ("1261", "bad_request"),
    ("not_found_error", "bad_request"), ("UNIMPLEMENTED", "bad_request"), ("invalid_timeout", "bad_request"),
    (400, "bad_request"), (422, "bad_request"), ("permission_error", "bad_request"), ("PERMISSION_DENIED", "auth"),
    ("authentication_error", "auth"), ("UNAUTHENTICATED", "auth"), ("invalid_api_key", "auth"), (401, "auth"),
    ("insufficient_quota", "quota"), ("billing_error", "quota"), ("credit_balance_exhausted", "quota"),
    ("exceeded_current_quota_error", "quota"), ("enforced_spend_limit_reached", "quota"), (402, "quota"),
    ("model_not_found", "unknown_model"), ("DeploymentNotFound", "unknown_model"), ("1211", "unknown_model"),
)  # fmt: skip


def events(*values):
    return "".join(f"data: {json.dumps(value)}\n\n" for value in values)


def shapes(word, message="said the server"):
    """One error in the bodies and streams in which servers send it: the model that reads it, and the body."""
    error = {"message": message, "type": word, "param": None, "code": None}
    yield MODEL, {"error": error}
    yield MODEL, [{"error": {"message": message, "status": word}}]
    yield MODEL, {"object": "error", "message": message, "code": word}
    yield MODEL, {"error": message, "error_type": word}
    yield MODEL, completion("Par", error=error)
    yield Completions("m", URL), {"error": error}
    yield Embeddings("m", URL), {"error": error}
    yield GENERIC, {"error": error}
    for model in (STREAMED, GENERIC):
        yield model, events({"error": error})
        yield model, events(PART, {"error": error})
        yield model, events(PART, {"error": error}) + "data: [DONE]\n\n"
        yield model, events(PART) + "event: error\n" + events({"type": "error", "error": error})
        yield model, events(PART) + "event: error\n" + events({"code": word}) + "data: [DONE]\n\n"
        yield model, events(PART, {"type": "error", "code": word, "message": message})
    broken_off = {"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]}
    yield STREAMED, events(PART, {**broken_off, "error": error}) + "data: [DONE]\n\n"


def fault_of(model, body, status=200):
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    with pytest.raises(Fault) as caught:
        model.read(Answer(status, {}, raw))
    return caught.value


@pytest.mark.parametrize(("words", "kind"), [(SERVER, "server"), (UNKNOWN, "server"), (RATE_LIMIT, "rate_limit")])
def test_a_word_for_a_passing_fault_inside_a_success_is_sent_again_in_every_shape(words, kind):
    for word in words:
        for model, body in shapes(word):
            fault = fault_of(model, body)
            assert (fault.kind, fault.retry, fault.ends_run, fault.refusal) == (kind, True, False, ""), (word, body)


@pytest.mark.parametrize("word", [*SERVER, *RATE_LIMIT])
def test_a_gateways_general_type_beside_a_word_does_not_make_it_final(word):
    assert fault_of(MODEL, {"error": {"type": "invalid_request_error", "code": word, "message": "m"}}).retry


@pytest.mark.parametrize(("word", "kind"), FINAL)
def test_a_word_for_a_final_fault_inside_a_success_is_what_its_status_would_be(word, kind):
    for model, body in shapes(word):
        fault = fault_of(model, body)
        assert (fault.kind, fault.retry) == (kind, False), body


@pytest.mark.parametrize(
    ("message", "retry"),
    [
        ("the model crashed", True),
        ("Rate limit reached for m on tokens per min (TPM). Add a payment method: /account/billing.", True),
        ("Quota exceeded for quota metric Requests and limit Requests per minute", True),
        ("input is too long: maximum context length is 4096 tokens", False),
        ("You exceeded your current quota, please check your plan and billing details.", False),
        ("Incorrect API key provided", False),
        ("too many tokens in flight, try again", True),
    ],
)
def test_without_a_word_the_text_decides(message, retry):
    faults = [fault_of(model, body) for model, body in shapes(None, message) if message in str(body)]
    assert {fault.retry for fault in faults} == {retry}


@pytest.mark.parametrize(
    "reason",
    ["error", "ERROR", "network_error", "insufficient_system_resource", "server_error", "timeout", "abort"],
)
def test_a_reply_that_the_service_broke_off_is_sent_again_and_no_part_of_it_is_kept(reason):
    ended = {"choices": [{"index": 0, "delta": {"content": "is"}, "finish_reason": reason}]}
    whole = {"choices": [{"message": {"content": "Par"}, "text": "Par", "finish_reason": reason}]}
    for model, body in [
        (STREAMED, events(PART, ended) + "data: [DONE]\n\n"),
        (GENERIC, events(PART, ended)),
        (MODEL, whole),
        (Completions("m", URL), whole),
    ]:
        fault = fault_of(model, body)
        assert (fault.kind, fault.retry) == ("server", True)
        assert reason.lower() in fault.message


@pytest.mark.parametrize("reason", ["stop", "length", "tool_calls", "model_length", "pause_turn", None, ["stop"]])
def test_other_ends_of_a_reply_are_read(reason):
    message = {"content": "Paris"}
    raw = json.dumps({"choices": [{"message": message, "finish_reason": reason}]}).encode()
    assert MODEL.read(Answer(200, {}, raw)).text == "Paris"


@pytest.mark.parametrize("path", ["abs(a)", "sum(a)", "nothing"])
def test_what_is_quoted_of_a_reply_is_bounded(path):
    model = HttpModel(URL, body={"q": "{{prompt}}"}, response=ResponseMap(text=path))
    assert len(fault_of(model, {"a": {"x": "x" * 1_000_000}}).message) < 1100


def calls(answer, prompts, *, retry=Retry(base_s=0.0, attempts=3), model=MODEL, concurrency=1):
    """(reply or error of each call, each of a sample of its own; calls that were sent)."""

    async def run():
        async with peer(answer) as server:
            limits, wire = Limits(retry, concurrency), HttpWire(Secrets([], {}))
            there = OpenAICompatible("m", server.url, timeout_s=5, stream=model.stream)
            results = []
            for prompt in prompts:
                try:
                    results.append(await limits.call(there, there.request(prompt, {}), wire, prompt))
                except ModelError as error:
                    results.append(error)
            await wire.close()
            return results, len(server.asked)

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("model", "body"),
    [
        (MODEL, {"error": {"type": "server_error", "code": None}}),
        (MODEL, {"error": {"type": "rate_limit_exceeded", "message": "slow down"}}),
        (STREAMED, events(PART) + "event: error\n" + events({"type": "error", "error": {"type": "overloaded_error"}})),
    ],
)
def test_a_passing_fault_by_a_word_costs_one_more_attempt(model, body):
    raw = body.encode() if isinstance(body, str) else body
    (reply,), sent = calls(lambda n, _: said("Rome") if n else http(200, raw), ["q"], model=model)
    assert (reply.text, sent, len(reply.attempts)) == ("Rome", 2, 2)


LONG_WAITS = (
    "Retry-After: 3600", "Retry-After: 1000000000", "Retry-After: 1e308", "retry-after-ms: 3600000",
    "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT",
)  # fmt: skip
NO_WAITS = (
    "Retry-After: -5", "Retry-After: nan", "Retry-After: inf", "Retry-After: soon", f"Retry-After: {'9' * 4000}",
    "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT", "Retry-After: Mon, 01 Jan 0001 00:00:00 +2359", "Retry-After:",
)  # fmt: skip


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("field", LONG_WAITS)
def test_told_to_wait_for_longer_than_a_call_may_take_fails_the_sample_and_a_second_one_ends_the_run(status, field):
    def answer(_, asked):
        return http(status, {"error": {"message": "busy"}}, field) if "odd" in asked.prompt else said()

    for prompts in (["a", "b", "odd 1", "c", "odd 2"], ["odd 1", "odd 2"]):
        results, sent = calls(answer, prompts)
        ended = [result.ends_run for result in results if isinstance(result, ModelError)]
        assert (ended, sent) == ([False, True], len(prompts))
        assert len(str(results[-1])) < 120


@pytest.mark.parametrize("field", NO_WAITS)
def test_a_wait_that_is_none_is_not_waited_for(field):
    (reply,), sent = calls(lambda n, _: said() if n else http(429, b"{}", field), ["q"])
    assert (reply.text, sent) == ("A", 2)


def endings(statuses, samples, timeout_s):
    """By status, what each call was: "" for a reply, "ends" for an error that ends the run, or another error's text.

    The first call of a sample that is named odd gets the status, all others a reply.
    """
    seen = Counter()

    def answer(_, asked):
        status, sample = asked.prompt.split()
        seen[asked.prompt] += 1
        if sample.startswith("odd") and seen[asked.prompt] == 1:
            return http(int(status), b"", f"Location: http://elsewhere.example/?q={sample}")
        return said()

    async def run():
        async with peer(answer) as server:
            wire, there = HttpWire(Secrets([], {})), OpenAICompatible("m", server.url, timeout_s=timeout_s)
            at_once = asyncio.Semaphore(25)

            async def one(status):
                limits, texts = Limits(Retry(base_s=0.0, attempts=3), 1), []
                for sample in samples:
                    try:
                        async with at_once:
                            await limits.call(there, there.request(f"{status} {sample}", {}), wire, sample)
                        texts.append("")
                    except ModelError as error:
                        texts.append("ends" if error.ends_run else str(error))
                return status, texts

            try:
                return dict(await asyncio.gather(*map(one, statuses)))
            finally:
                await wire.close()

    return asyncio.run(run())


def test_no_status_that_comes_once_after_a_good_reply_ends_the_run():
    texts = endings([101, *range(200, 600)], ["good", "odd", "good-again"], timeout_s=30)
    assert {status: given for status, given in texts.items() if given[0] or given[2] or given[1] == "ends"} == {}
    redirects = {status for status, given in texts.items() if "redirects to" in given[1]}
    assert redirects == {301, 302, 303, 307, 308}
    assert ": status 304 (Not Modified)" in texts[304][1]
    assert ": status 101 (Switching Protocols)" in texts[101][1]
    assert {bool(texts[status][1]) for status in (408, 429, 500, 503, 529)} == {False}


def test_an_interim_status_without_an_answer_is_a_time_out_that_is_sent_again():
    assert endings([100, 103], ["good", "odd"], timeout_s=2) == {100: ["", ""], 103: ["", ""]}


@pytest.mark.parametrize("status", [101, 302, 304, 308, 399])
def test_a_status_that_is_no_answer_ends_the_run_once_a_second_sample_gets_it(status):
    (texts,) = endings([status], ["odd-1", "odd-2", "good"], timeout_s=30).values()
    assert (f"/chat/completions: status {status}" in texts[0], texts[1:]) == (True, ["ends", ""])


@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        (
            {"choices": None, "base_resp": {"status_code": 1002, "status_msg": "rate limit"}},
            "server",
            "rate limit (1002)",
        ),
        ({"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}, "quota", "insufficient balance"),
        ({"error_code": 18, "error_msg": "Open api qps request limit reached"}, "server", "limit reached (18)"),
        ({"error_code": 110, "error_msg": "Access token invalid or no longer valid"}, "auth", "Access token invalid"),
        ({"result": None, "success": False, "errors": [{"code": 7009, "message": "Down"}]}, "server", "Down (7009)"),
        ({"errors": {"message": "Free allocated quota exceeded"}, "request_id": "x"}, "quota", "Free allocated quota"),
    ],
)
def test_errors_of_minimax_baidu_cloudflare_and_modelscope_come_with_status_200(body, kind, said):
    for model, sent in ((MODEL, body), (STREAMED, events(body))):
        fault = fault_of(model, sent)
        assert (fault.kind, fault.refusal) == (kind, "" if kind == "server" else "named")
        assert said in fault.message


def test_minimax_says_in_every_reply_how_the_call_went():
    status = {"status_code": 0, "status_msg": ""}
    answer = Answer(200, {}, json.dumps({**completion("Par"), "base_resp": status}).encode())
    assert MODEL.read(answer).text == "Par"
    filtered = {"status_code": 1027, "status_msg": "output new_sensitive"}
    answer = Answer(200, {}, json.dumps({**completion(""), "base_resp": filtered}).encode())
    assert MODEL.read(answer).finish == "content_filter"


def test_an_error_code_beside_a_reply_is_no_error():
    answer = Answer(200, {}, json.dumps({**completion("Par"), "error_code": "0", "error_msg": ""}).encode())
    assert MODEL.read(answer).text == "Par"


def test_an_error_code_in_a_stream_of_fastchat_ends_its_reply():
    failed = {
        "text": "**NETWORK ERROR DUE TO HIGH TRAFFIC. PLEASE REGENERATE OR REFRESH THIS PAGE.**",
        "error_code": 50001,
    }
    fault = fault_of(STREAMED, events(PART, failed) + "data: [DONE]\n\n")
    assert (fault.kind, fault.retry) == ("server", True)
    assert "HIGH TRAFFIC" in fault.message


def test_a_path_that_lm_studio_does_not_serve_is_no_passing_fault():
    for status in (200, 404):
        fault = fault_of(MODEL, {"error": "Unexpected endpoint or method. (POST /chat/completions)"}, status)
        assert (fault.kind, fault.retry, fault.refusal) == ("bad_request", False, "mismatch")


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("content_filter: RECITATION", "content_filter"),  # Gemini's OpenAI-compatible endpoint, without a content
        ("RECITATION", "content_filter"),
        ("content_filtered", "content_filter"),  # Bedrock
        ("PROHIBITED_CONTENT", "content_filter"),
        ("model_length", "length"),  # Mistral
        ("repetition", "length"),  # vLLM
    ],
)
def test_a_reply_that_was_filtered_or_cut_off_may_lack_its_text(reason, finish):
    body = {"choices": [{"index": 0, "message": {"role": "assistant"}, "finish_reason": reason}]}
    reply = MODEL.read(Answer(200, {}, json.dumps(body).encode()))
    assert (reply.text, reply.finish) == ("", finish)
