"""How long endpoints ask to wait: Retry-After in its forms, rate limits of several providers, details of an error."""

import json

import pytest

from steelyard.models.base import Answer
from steelyard.models.faults import retry_after_s, wait_asked_s

DATE = "Mon, 02 Mar 2026 10:00:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after": "-4"}, 0.0),
        ({"retry-after": "2s"}, 2.0),
        ({"retry-after": "1m30s"}, 90.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "9", "retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "9", "retry-after-ms": "?"}, 9.0),
        ({"retry-after": "Mon, 02 Mar 2026 10:00:07 GMT", "date": DATE}, 7.0),
        ({"retry-after": "Mon, 02 Mar 2026 11:00:07 +0100", "date": DATE}, 7.0),
        ({"retry-after": "Mon, 02 Mar 2026 09:59:00 GMT", "date": DATE}, 0.0),
        ({"retry-after": "Mon, 99 Mar 2026 09:59:00 GMT", "date": DATE}, None),
    ],
)
def test_retry_after_is_read_in_its_three_forms(headers, seconds):
    assert retry_after_s(headers) == seconds


def test_a_date_without_the_answers_own_is_measured_from_now_and_rounded_up():
    ten = 1772445600.0
    assert retry_after_s({"retry-after": DATE}, now=ten - 2.5) == 3.0
    assert retry_after_s({"retry-after": DATE}, now=ten + 5) == 0.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        # OpenAI: of two limits the one without room counts
        (
            {
                "x-ratelimit-remaining-requests": "59",
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "6m0s",
            },
            360.0,
        ),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "20ms"}, 0.02),
        ({"ratelimit-remaining": "0", "ratelimit-reset": "7"}, 7.0),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1h2m3.5s"}, 3723.5),
        # Anthropic
        (
            {
                "date": DATE,
                "anthropic-ratelimit-input-tokens-remaining": "0",
                "anthropic-ratelimit-input-tokens-reset": "2026-03-02T10:00:12Z",
            },
            12.0,
        ),
        # OpenRouter: milliseconds since 1970
        ({"date": DATE, "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1772445604500"}, 4.5),
        # with Retry-After, that counts
        ({"retry-after": "2", "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "9s"}, 2.0),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "soon"}, None),
        ({"x-ratelimit-remaining-tokens": "0"}, None),
        # room is left, and the refusal is for another reason
        ({"x-ratelimit-remaining-tokens": "7", "x-ratelimit-reset-tokens": "6m0s"}, None),
    ],
)
def test_a_rate_limit_without_room_says_when_it_has_some(headers, seconds):
    assert wait_asked_s(Answer(429, headers, b"{}")) == seconds


def test_resets_of_other_refusals_say_nothing():
    headers = {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "9s"}
    assert wait_asked_s(Answer(503, headers, b"{}")) is None


def test_gemini_says_the_wait_in_the_errors_details():
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "13s"}]
    body = {"error": {"code": 429, "message": "Quota", "status": "RESOURCE_EXHAUSTED", "details": details}}
    assert wait_asked_s(Answer(429, {}, json.dumps(body).encode())) == 13.0


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Rate limit reached for gpt-4 on tokens per min (TPM): Limit 10000. Please try again in 6s.", 6.0),
        ("Rate limit reached for model `llama-3` on tokens per day (TPD). Please try again in 7m12.5s.", 432.5),
        ("Rate limit reached for requests. Please try again in 20ms.", 0.02),
        (
            "Requests to the ChatCompletions_Create Operation exceeded call rate limit. Please retry after 26 seconds.",
            26.0,
        ),
        ("litellm.RateLimitError: No deployments available, Try again in 5 seconds. Passed model=m", 5.0),
        ("Too many requests, please wait before trying again.", None),
    ],
)
def test_texts_of_refusals_say_the_wait_where_a_gateway_drops_the_header(message, seconds):
    assert wait_asked_s(Answer(429, {}, json.dumps({"error": {"message": message}}).encode())) == seconds
