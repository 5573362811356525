"""What error texts of real servers are taken for, and when two of them are equal."""

import asyncio
import tomllib
from pathlib import Path

import pytest
from tests.loopback import http, peer, said

from steelyard.errors import ModelError
from steelyard.models.limits import Limits, Retry
from steelyard.models.openai_compatible import OpenAICompatible
from steelyard.models.refusals import Refusals, alike, refusal_kind
from steelyard.session.secrets import Secrets
from steelyard.session.wire import HttpWire

TEXTS = tomllib.loads((Path(__file__).parent / "refusals.toml").read_text(encoding="utf-8"))
UNKNOWN_MODEL = "Invalid model name passed in model=m. Call `/v1/models` to view available models for your key."


@pytest.mark.parametrize("kind", ["auth", "quota", "unknown_model"])
def test_a_refusal_in_a_servers_own_words_is_of_its_kind(kind):
    wrong = {text: given for text in TEXTS[kind] if (given := refusal_kind(text)) != kind}
    assert len(wrong) <= len(TEXTS[kind]) // 20, wrong
    assert all(wrong.values()), "a refusal that is not recognised at all"


def test_what_is_about_a_sample_or_a_parameter_is_no_refusal():
    assert {text: given for text in TEXTS["sample"] if (given := refusal_kind(text))} == {}


def test_a_500_that_passes_is_no_refusal():
    assert {text: given for text in TEXTS["passing"] if (given := refusal_kind(text, passing=True))} == {}


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("No quota (id 2023121511473370584704PNMYjJfX)", "No quota (id 2026030109112233445566QWERTyui)", True),
        ("bad key, 0b9d7c1e-3f6a-4c21-9a55-1d2e3f4a5b6c", "bad key, 11111111-3f6a-4c21-9a55-1d2e3f4a5b6c", True),
        ("denied at Mon, 02 Nov 2026 12:01:02 GMT", "denied at Tue, 03 Nov 2026 12:01:09 GMT", True),
        ("no model alpha", "no model beta", False),
    ],
)  # fmt: skip
def test_texts_are_equal_up_to_what_changes_from_call_to_call(one, other, equal):
    assert (alike(one) == alike(other)) is equal


def test_only_a_different_sample_makes_a_refusal_a_second_one():
    refusals = Refusals()
    came = [("m", "no key 1", "a"), ("m", "no key 2", "a"), ("other", "no key", "b"), ("m", "no key 3", "b")]
    assert [refusals.repeats(*refusal) for refusal in came] == [False, False, False, True]


def outcomes(answer, prompts, concurrency=16):
    """(error of each call or None, the server): each call is a sample's of its own."""

    async def run():
        async with peer(answer) as server:
            limits, wire = Limits(Retry(base_s=0.01, attempts=3), concurrency), HttpWire(Secrets([], {}))
            model = OpenAICompatible("m", server.url, timeout_s=5)

            async def one(prompt):
                try:
                    await limits.call(model, model.request(prompt, {}), wire, prompt)
                except ModelError as error:
                    if error.ends_run:
                        limits.pauses.end(error)
                    return error
                return None

            try:
                return await asyncio.gather(*map(one, prompts)), server
            finally:
                await wire.close()

    return asyncio.run(run())


SAMPLES = [f"q{n}" for n in range(40)]


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, UNKNOWN_MODEL, "unknown_model"),
        (400, "No connected db.", "auth"),
        (500, "nosuch is not a local folder and is not a valid model identifier", "unknown_model"),
        (403, "The caller does not have permission", "auth"),
        (404, "The model `m` does not exist.", "unknown_model"),
        (422, "您的账户已欠费，请充值后重试。", "quota"),
        (404, "Not Found", "bad_request"),
    ],
)
@pytest.mark.parametrize("concurrency", [1, 3, 64])
def test_a_refusal_of_every_call_costs_four_calls_at_most(status, message, kind, concurrency):
    errors, server = outcomes(lambda n, _: http(status, {"error": {"message": message}}), SAMPLES, concurrency)
    assert len(server.asked) <= min(4, concurrency + 1)
    assert {error.kind for error in errors} == {kind}
    assert message in str(errors[-1])


def test_a_key_that_is_revoked_midway_stops_at_the_second_equal_answer():
    def answer(n, asked):
        return said() if n < 10 else http(400, {"error": {"message": f"Invalid API key (request {n})"}})

    errors, server = outcomes(answer, SAMPLES, concurrency=1)
    assert (len(server.asked), errors[-1].kind) == (12, "auth")


def test_one_sample_that_is_refused_by_name_fails_alone():
    def answer(_, asked):
        return http(400, {"error": {"message": UNKNOWN_MODEL}}) if asked.prompt == "q7" else said()

    errors, server = outcomes(answer, SAMPLES)
    assert [error.kind for error in errors if error is not None] == ["unknown_model"]
    assert len(server.asked) == 40


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "temperature must be between 0 and 2"),
        (400, "This model's maximum context length is 4096 tokens."),
        (403, "<html><body>Access denied</body></html>"),
    ],
)
def test_a_4xx_that_names_nothing_counts_per_sample(status, message):
    body = message.encode() if message.startswith("<") else {"error": {"message": message}}
    errors, server = outcomes(lambda n, _: http(status, body), SAMPLES)
    assert {(error.kind, error.ends_run) for error in errors} == {("bad_request", False)}
    assert len(server.asked) == 40
    assert server.most_in_flight <= 4


def test_a_missing_path_of_single_samples_stops_nothing_once_the_endpoint_has_answered():
    def answer(n, asked):
        return http(404, {"detail": "no such knowledge base"}) if n in {20, 21, 22} else said()

    errors, _ = outcomes(answer, SAMPLES, concurrency=1)
    assert [error.ends_run for error in errors if error is not None] == [False] * 3


@pytest.mark.parametrize("status", [408, 429, 502, 503])
def test_a_passing_status_is_retried_whatever_it_names(status):
    def answer(n, _):
        return http(status, {"error": {"message": UNKNOWN_MODEL}}) if n < 2 else said()

    errors, server = outcomes(answer, ["only"], concurrency=1)
    assert (errors, len(server.asked)) == ([None], 3)


def test_a_500_that_names_nothing_is_retried_and_ends_nothing():
    errors, server = outcomes(lambda n, _: http(500, {"error": "the model crashed"}), ["a", "b", "c"])
    assert {(error.kind, error.ends_run, len(error.attempts)) for error in errors} == {("server", False, 3)}
    assert len(server.asked) == 9


def test_a_healthy_endpoint_has_all_its_calls_in_flight_after_its_first_reply():
    waiting, all_there = [], asyncio.Event()

    async def answer(n, _):
        if n >= 4:
            waiting.append(n)
            if len(waiting) == 28:
                all_there.set()
            await asyncio.wait_for(all_there.wait(), 4)
        return said()

    errors, server = outcomes(answer, SAMPLES, concurrency=30)
    assert set(errors) == {None}
    assert server.most_in_flight >= 28


def one_in_ten_refused(n_refused, status):
    def answer(_, asked):
        refused = asked.prompt in {f"q{10 * (no + 1)}" for no in range(n_refused)}
        return http(status, {"error": {"message": "Unauthorized by policy 7"}}) if refused else said()

    return outcomes(answer, SAMPLES, concurrency=1)


@pytest.mark.parametrize("status", [401, 402])
def test_after_a_good_reply_even_a_certain_status_needs_a_second_sample(status):
    errors, server = one_in_ten_refused(1, status)
    assert [error.ends_run for error in errors if error is not None] == [False]
    assert len(server.asked) == 40
    errors, server = one_in_ten_refused(3, status)
    assert errors[20].ends_run
    assert len(server.asked) == 21


def test_before_a_good_reply_a_certain_status_ends_the_run_at_once():
    errors, server = outcomes(lambda n, _: http(401, {"error": {"message": "no"}}), SAMPLES, concurrency=1)
    assert {error.ends_run for error in errors} == {True}
    assert len(server.asked) == 1
