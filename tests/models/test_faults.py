"""One classification of what an endpoint may do wrong."""

import json

import pytest

from steelyard.models.base import Answer, Fault
from steelyard.models.faults import ErrorBody, error_body, fault_in_body, filtered_reply, parse_json, quoted


def fault_of(answer):
    """The fault that an answer is; None for one that is to be read."""
    with pytest.raises(Fault) as caught:
        filtered_reply(answer)
    return caught.value


DATE = "Mon, 02 Mar 2026 10:00:00 GMT"


def answer(status, body=b"", **headers):
    raw = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
    return Answer(status, {name.replace("_", "-"): value for name, value in headers.items()}, raw)


def openai_error(status, code=None, kind=None, message="said the server", **headers):
    return answer(status, {"error": {"message": message, "type": kind, "param": None, "code": code}}, **headers)


@pytest.mark.parametrize(
    ("given", "kind", "retry", "ends_run"),
    [
        (openai_error(429, "rate_limit_exceeded", "requests"), "rate_limit", True, False),
        (openai_error(429, "insufficient_quota", "insufficient_quota"), "quota", False, True),
        (openai_error(429, None, "insufficient_quota"), "quota", False, True),
        (openai_error(429, "1302"), "rate_limit", True, False),
        (openai_error(429, "1113", message="账户已欠费"), "quota", False, True),
        (openai_error(402, message="Insufficient Balance"), "quota", False, True),
        (openai_error(400, "Arrearage"), "quota", False, True),
        (openai_error(401, "invalid_api_key"), "auth", False, True),
        (openai_error(403), "bad_request", False, False),
        (openai_error(403, message="You are not allowed to request logprobs"), "bad_request", False, False),
        (openai_error(404, "model_not_found"), "unknown_model", False, True),
        (openai_error(400, "1211"), "unknown_model", False, True),
        (answer(404, b"<html>nothing here</html>"), "bad_request", False, False),
        (openai_error(400, "context_length_exceeded"), "bad_request", False, False),
        (answer(422, {"detail": [{"loc": ["body", "query"]}]}), "bad_request", False, False),
        (answer(408), "server", True, False),
        (answer(409), "server", True, False),
        (answer(425), "server", True, False),
        (answer(500, b"oops"), "server", True, False),
        (openai_error(503, "model_not_found"), "server", True, False),
        (answer(529), "server", True, False),
        (answer(302, location="https://elsewhere.example/login"), "bad_request", False, False),
        (openai_error(400, "overloaded_error"), "server", True, False),
        (openai_error(400, None, "overloaded_error"), "server", True, False),
        (openai_error(403, "rateLimitExceeded"), "rate_limit", True, False),
        (openai_error(404, "UNAVAILABLE"), "server", True, False),
        (openai_error(400, "invalid_timeout"), "bad_request", False, False),
        (openai_error(400, None, "api_error"), "bad_request", False, False),
        (openai_error(401, "overloaded_error"), "auth", False, True),
        (openai_error(500, "invalid_api_key"), "auth", False, False),
        (openai_error(500, "insufficient_quota", "server_error"), "quota", False, False),
        (openai_error(500, "invalid_request_error"), "server", True, False),
    ],
)
def test_status_and_code_decide_the_kind(given, kind, retry, ends_run):
    fault = fault_of(given)
    assert fault is not None
    assert (fault.kind, fault.retry, fault.ends_run, fault.billed) == (kind, retry, ends_run, False)


def test_a_success_is_no_fault_whatever_its_body_says():
    assert filtered_reply(answer(200, {"error": "x"})) is None
    assert filtered_reply(answer(204)) is None


_FLAGGED = {
    "code": 403,
    "message": "Your input was flagged.",
    "metadata": {"reasons": ["violence"], "flagged_input": "x"},
}
_FILTERS = ["content_filter", "1301", "data_inspection_failed", "content_policy_violation"]


@pytest.mark.parametrize("stopped", [*(openai_error(400, code) for code in _FILTERS), answer(403, {"error": _FLAGGED})])
def test_a_content_filter_is_an_outcome_and_no_fault(stopped):
    reply = filtered_reply(stopped)
    assert (reply.text, reply.finish) == ("", "content_filter")
    assert reply.metadata["message"]


def test_a_bad_request_is_no_content_filter():
    assert fault_of(openai_error(400, "invalid_request_error")).kind == "bad_request"
    assert filtered_reply(answer(200, {"error": {"code": "content_filter"}})) is None
    assert fault_of(openai_error(500, "content_filter")).kind == "server"


def test_a_message_names_status_words_and_code():
    fault = fault_of(openai_error(429, "rate_limit_exceeded", message="Slow down"))
    assert fault.message == "status 429: Slow down (rate_limit_exceeded)"


def test_a_message_quotes_at_most_200_characters_with_controls_visible():
    fault = fault_of(answer(500, ("\x1b[2J" + "易" * 500).encode()))
    assert fault.message == "status 500: \\x1b[2J" + "易" * 196 + "…"


def test_quoting_shows_direction_marks_and_broken_bytes():
    assert quoted("a\u202eb\r\n") == "a\\u202eb\\r\\n"
    assert quoted(b"\xff\xfe") == "\ufffd\ufffd"
    assert quoted("\ud800") == "\\ud800"


def test_a_redirect_names_where_it_leads():
    assert "https://elsewhere.example" in fault_of(answer(301, location="https://elsewhere.example")).message


def test_only_what_is_sent_again_carries_a_wait():
    assert fault_of(openai_error(503, retry_after="4")).wait_asked_s == 4.0
    assert fault_of(openai_error(401, retry_after="4")).wait_asked_s is None


@pytest.mark.parametrize("body", [b"<html>please log in</html>", b'{"choices": [{"mess', b"", b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_malformed_and_sent_again(body):
    with pytest.raises(Fault) as caught:
        parse_json(answer(200, body))
    assert (caught.value.kind, caught.value.retry, caught.value.billed) == ("malformed", True, True)
    assert len(caught.value.message) < 260


def test_json_with_a_byte_order_mark_is_read():
    assert parse_json(answer(200, b'\xef\xbb\xbf{"a": 1}')) == {"a": 1}


@pytest.mark.parametrize(
    ("value", "message", "codes"),
    [
        ({"error": "boom"}, "boom", ()),
        ({"error": {"message": "m", "type": "T", "code": None}}, "m", ("t",)),
        ({"error": {"code": "1301", "message": "m"}}, "m", ("1301",)),
        ({"code": 404, "msg": "未找到知识库 x"}, "未找到知识库 x", ("404",)),
        ({"detail": "Not Found"}, "Not Found", ()),
        ({"detail": [1]}, "[1]", ()),
        ("plain", "plain", ()),
        ([1], "", ()),
        (None, "", ()),
        ({"error": {"code": "x", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}, "",
         ("x", "responsibleaipolicyviolation")),
    ],
)  # fmt: skip
def test_error_bodies_of_the_usual_shapes_are_read(value, message, codes):
    assert error_body(value) == ErrorBody(message, codes)


@pytest.mark.parametrize(
    ("value", "kind", "retry", "ends_run"),
    [
        ({"code": 404, "msg": "no such knowledge base"}, "bad_request", False, False),
        ({"error": "boom"}, "server", True, False),
        ({"error": {"code": "no_such_word", "message": "m"}}, "server", True, False),
        ({"error": {"code": 200, "message": "m"}}, "server", True, False),
        ({"code": 500, "msg": "oops"}, "server", True, False),
        ({"code": 429, "msg": "slow down"}, "rate_limit", True, False),
        ({"code": 403, "msg": "no"}, "bad_request", False, False),
        ({"code": 403, "msg": "permission denied"}, "auth", False, False),
        ({"error": {"code": "1305", "message": "busy"}}, "rate_limit", True, False),
        ({"error": {"code": "1113", "message": "arrears"}}, "quota", False, True),
    ],
)
def test_an_error_inside_a_success_is_read_by_its_code(value, kind, retry, ends_run):
    fault = fault_in_body(error_body(value), answer(200, value))
    assert (fault.kind, fault.retry, fault.ends_run) == (kind, retry, ends_run)
    assert fault.billed == (kind == "server")


def test_a_content_filter_inside_a_success_is_no_fault():
    value = {"error": {"code": "1301", "message": "sensitive"}}
    assert fault_in_body(error_body(value), answer(200, value)) is None
