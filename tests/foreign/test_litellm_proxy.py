"""LiteLLM's proxy with mock replies: what it answers to a wrong key and to an unknown model, and what that costs."""

from __future__ import annotations

import asyncio

import pytest
import yaml
from tests.foreign.served import served

from steelyard import ExactMatch, Judge, OpenAICompatible, Options, Prompt, Sample, Suite
from steelyard.evaluation import RunConfig, aevaluate_suite
from steelyard.scorers import Correctness

KEY = "sk-master-5d0e7a"
CONFIG = {
    "model_list": [
        {
            "model_name": "mock",
            "litellm_params": {
                "model": "openai/mock",
                "api_key": "sk-upstream-key",
                "mock_response": "The answer is A.",
            },
        },
        {
            "model_name": "claude",
            "litellm_params": {
                "model": "anthropic/claude-sonnet-4-5",
                "api_key": "sk-upstream-key",
                "mock_response": "It agrees.\nRating: 5",
            },
        },
    ],
    "litellm_settings": {"drop_params": False},
    "general_settings": {"master_key": KEY},
}


@pytest.fixture(scope="module")
def gateway(foreign_bin, tmp_path_factory):
    folder = tmp_path_factory.mktemp("litellm")
    (folder / "config.yaml").write_text(yaml.safe_dump(CONFIG))
    command = [foreign_bin("litellm") / "litellm", "--config", folder / "config.yaml"]
    environment = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False"}
    with served(command, folder / "gateway.log", health="/health/liveliness", environment=environment) as started:
        yield started


def run(gateway, model="mock", key=KEY, n=40, **options):
    """One run of `n` samples through the proxy, and the requests that it saw."""
    asked = OpenAICompatible(model, gateway.url, api_key="${GATEWAY_KEY}", **options)
    samples = [Sample(f"q{no}", f"question {no}", "The answer is A.") for no in range(n)]
    suite = Suite("s", "custom", samples, {"t": Prompt(asked)}, (ExactMatch(),), Options(concurrency=16))
    before = gateway.requests()
    (found,) = asyncio.run(
        aevaluate_suite(suite, how=RunConfig(store="s.db", environment={"GATEWAY_KEY": key}), on_broken="return")
    )
    return found, gateway.requests() - before


@pytest.mark.parametrize("stream", [False, True])
def test_every_sample_is_answered_once(gateway, stream):
    found, requests = run(gateway, stream=stream)
    assert (found.state, found.done, found.errors, requests) == ("finished", 40, 0, 40)
    assert {score.value for record in found.records() for score in record.scores} == {1}


@pytest.mark.parametrize("stream", [False, True])
def test_an_unknown_model_ends_the_run_after_four_calls_at_most_in_the_proxys_words(gateway, stream):
    found, requests = run(gateway, model="no-such-model", stream=stream)
    assert found.state == "broken"
    assert "Invalid model name passed in model=no-such-model" in found.reason
    assert requests <= 4


def test_a_wrong_key_ends_the_run_after_four_calls_at_most_in_the_proxys_words(gateway):
    found, requests = run(gateway, key="sk-wrong-0f9e8d7c6b5a")
    assert found.state == "broken"
    assert "No connected db" in found.reason
    assert requests <= 4


def test_what_was_done_is_kept_and_a_resume_with_the_right_key_asks_the_rest(gateway):
    broken, _ = run(gateway, key="sk-wrong-0f9e8d7c6b5a", n=6)
    asked = OpenAICompatible("mock", gateway.url, api_key="${GATEWAY_KEY}")
    samples = [Sample(f"q{no}", f"question {no}", "The answer is A.") for no in range(6)]
    suite = Suite("s", "custom", samples, {"t": Prompt(asked)}, (ExactMatch(),), Options(concurrency=16))
    how = RunConfig(store="s.db", resume=broken.id, environment={"GATEWAY_KEY": KEY})
    (found,) = asyncio.run(aevaluate_suite(suite, how=how))
    assert (found.id, found.state, found.done, found.errors) == (broken.id, "finished", 6, 0)


def test_a_judge_goes_without_the_parameters_that_the_proxy_refuses(gateway):
    judge = Judge(OpenAICompatible("claude", gateway.url, api_key="${GATEWAY_KEY}"))
    samples = [Sample(f"q{no}", f"question {no}", "The answer is A.") for no in range(20)]
    suite = Suite("judged", "custom", samples, {"t": lambda sample: "A"}, (Correctness(judge),), Options(concurrency=8))
    before = gateway.requests()
    (found,) = asyncio.run(aevaluate_suite(suite, how=RunConfig(store="s.db", environment={"GATEWAY_KEY": KEY})))
    assert found.state == "finished"
    assert {record.scores[0].value for record in found.records()} == {5}
    changed = found.summary().calls.endpoints["changed_parameters"]["correctness"]
    assert changed == {"frequency_penalty": "", "presence_penalty": ""}
    assert 21 <= gateway.requests() - before <= 20 + 4
