"""LiteLLM's proxy as a second opinion on the forms of Anthropic's Messages and OpenAI's Responses."""

from __future__ import annotations

import asyncio

import pytest
import yaml
from tests.foreign.served import served

from steelyard import ExactMatch, Options, Prompt, Sample, Suite
from steelyard.evaluation import RunConfig, aevaluate_suite
from steelyard.models import Anthropic, OpenAIResponses

KEY = "sk-master-5d0e7a"
ANSWER = "The answer is A."
CONFIG = {
    "model_list": [
        {
            "model_name": name,
            "litellm_params": {"model": model, "api_key": "sk-upstream-key", "mock_response": ANSWER},
        }
        for name, model in (("mock", "openai/mock"), ("claude", "anthropic/claude-sonnet-4-5"))
    ],
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


def run(gateway, make, model, key=KEY, n=12, **fields):
    """One run of `n` samples through the proxy, and the requests that it saw."""
    asked = make(model, gateway.url, "${GATEWAY_KEY}", **fields)
    samples = [
        Sample(f"q{no}", [{"role": "system", "content": "Be brief."}, {"role": "user", "content": f"{no}?"}], ANSWER)
        for no in range(n)
    ]
    suite = Suite("s", "custom", samples, {"t": Prompt(asked)}, (ExactMatch(),), Options(concurrency=4))
    before = gateway.requests()
    (found,) = asyncio.run(
        aevaluate_suite(suite, how=RunConfig(store="s.db", environment={"GATEWAY_KEY": key}), on_broken="return")
    )
    return found, gateway.requests() - before


@pytest.mark.parametrize(
    ("make", "model", "fields"),
    [
        (Anthropic, "claude", {}),
        (Anthropic, "claude", {"parameters": {"max_tokens": 30_000}}),  # comes as a stream
        (OpenAIResponses, "mock", {}),
    ],
)
def test_every_sample_is_answered_once_and_its_tokens_are_counted(gateway, make, model, fields):
    found, requests = run(gateway, make, model, **fields)
    assert (found.state, found.done, found.errors, requests) == ("finished", 12, 0, 12), found.reason
    assert {score.value for record in found.records() for score in record.scores} == {1}
    replies = [reply for record in found.records() for reply in record.replies["target"]]
    assert all(reply.usage.input_tokens and reply.usage.output_tokens for reply in replies)
    assert not any(reply.usage.estimated for reply in replies)
    assert {reply.finish for reply in replies} == {"stop"}


@pytest.mark.parametrize(("make", "model"), [(Anthropic, "claude"), (OpenAIResponses, "mock")])
def test_a_wrong_key_ends_the_run_after_four_calls_at_most(gateway, make, model):
    found, requests = run(gateway, make, model, key="sk-wrong-0f9e8d7c6b5a")
    assert found.state == "broken"
    assert "check api_key (${GATEWAY_KEY})" in found.reason
    assert requests <= 4


@pytest.mark.parametrize("make", [Anthropic, OpenAIResponses])
def test_an_unknown_model_ends_the_run_after_four_calls_at_most(gateway, make):
    found, requests = run(gateway, make, "no-such-model")
    assert found.state == "broken"
    assert "no-such-model" in found.reason
    assert requests <= 4
