"""Ollama's own API: a window that holds the prompt, no shortening, and the sign of a prompt that was shortened."""

import json

import pytest
from tests.models.native import FORM, PDF, PNG, SCHEMA, TOOL, body_of, exchanged, fault_of, read
from tests.wires import ollama

from steelyard import ConfigError, ModelError
from steelyard.models import Ollama
from steelyard.types import Usage

MODEL = Ollama("llama")


def test_a_call_forbids_both_ways_of_shortening_and_names_its_window():
    reply, (asked,) = exchanged(
        lambda url: Ollama("llama", url.replace("/v1", "/api"), parameters={"keep_alive": "5m"}),
        [(200, ollama("Paris"))],
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Capital?"}],
        max_tokens=9,
        temperature=0,
        seed=7,
        reasoning_effort="low",
    )
    assert asked.line == "POST /api/chat HTTP/1.1"
    assert json.loads(asked.body) == {
        "model": "llama",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Capital?"}],
        "stream": False,
        "truncate": False,
        "shift": False,
        "keep_alive": "5m",
        "think": "low",
        "options": {"num_predict": 9, "temperature": 0, "seed": 7, "num_ctx": 4096},
    }
    assert (reply.text, reply.finish, reply.usage) == ("Paris", "stop", Usage(20, 1))


@pytest.mark.parametrize(
    ("characters", "limit", "window"),
    [(40, None, 8192), (40, 100, 4096), (40_000, 100, 32_768), (40_000, 20_000, 65_536)],
)
def test_the_window_holds_twice_the_estimate_and_the_reply(characters, limit, window):
    parameters = {} if limit is None else {"max_tokens": limit}
    assert body_of(MODEL, "x" * characters, **parameters)["options"]["num_ctx"] == window


def test_a_window_that_is_given_is_sent():
    assert body_of(Ollama("llama", num_ctx=16_384), "q")["options"]["num_ctx"] == 16_384


def test_half_a_window_of_a_long_prompt_is_an_error_with_its_name():
    # ollama/ollama#17427: an overfull window keeps half of it and two tokens
    prompt = "x" * 40_000
    answer = ollama("The end?", prompt_eval_count=8192 // 2 + 2)
    failed, asked = exchanged(
        lambda url: Ollama("llama", url.replace("/v1", "/api"), num_ctx=8192), [(200, answer)], prompt
    )
    assert isinstance(failed, ModelError)
    assert "half of the window of 8192" in str(failed)
    assert len(asked) == 1


def test_a_short_prompt_that_has_half_a_windows_tokens_by_chance_is_answered():
    answer = ollama("A", prompt_eval_count=8192 // 2 + 2)
    reply, _ = exchanged(lambda url: Ollama("llama", url.replace("/v1", "/api"), num_ctx=8192), [(200, answer)], "q")
    assert reply.text == "A"


def test_images_are_bare_base64_and_pdfs_are_refused():
    (message,) = body_of(MODEL, [{"role": "user", "content": [{"type": "text", "text": "?"}, PNG]}])["messages"]
    assert message == {"role": "user", "content": "?", "images": ["iVBORw0KGgo="]}
    with pytest.raises(ConfigError, match="application/pdf"):
        MODEL.request([{"role": "user", "content": [PDF]}], {})


def test_tools_go_and_come_with_arguments_as_objects():
    message = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"function": {"name": "find", "arguments": {"q": 1}}}],
    }
    first = read(MODEL, ollama("", message=message))
    assert first.finish == "tool_calls"
    messages = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": first.text, **first.metadata},
        {"role": "tool", "tool_call_id": first.metadata["tool_calls"][0]["id"], "content": "7"},
    ]
    body = body_of(MODEL, messages, tools=[TOOL])
    assert body["messages"][1]["tool_calls"] == message["tool_calls"]
    assert body["messages"][2] == {"role": "tool", "content": "7", "tool_name": "find"}
    assert body["tools"][0]["function"]["name"] == "find"


def test_a_schema_is_the_format():
    assert body_of(MODEL, "?", response_format=FORM)["format"] == SCHEMA
    assert body_of(MODEL, "?", response_format={"type": "json_object"})["format"] == "json"


def test_thoughts_stand_apart_and_log_probabilities_are_kept():
    logprobs = [{"token": "A", "logprob": -0.1, "top_logprobs": []}]
    message = {"role": "assistant", "content": "A", "thinking": "Hm."}
    reply = read(MODEL, ollama("A", message=message, logprobs=logprobs))
    assert (reply.text, reply.metadata["reasoning"], reply.metadata["logprobs"]) == ("A", "Hm.", logprobs)


def test_old_servers_leave_out_a_count_which_is_then_estimated():
    body = ollama("A")
    del body["prompt_eval_count"]
    assert read(MODEL, body).usage.estimated


@pytest.mark.parametrize(
    ("body", "status", "kind", "retried"),
    [
        ({"error": 'model "llama" not found, try pulling it first'}, 404, "unknown_model", False),
        ({"error": '"llama" does not support thinking'}, 400, "bad_request", False),
        ({"error": "the input length exceeds the context length"}, 400, "bad_request", False),
        ({"error": "server busy, please try again. maximum pending requests exceeded"}, 503, "server", True),
        ({"error": "an error was encountered while running the model"}, 200, "server", True),
        (ollama("", done_reason="load"), 200, "server", True),
        (ollama("Par", done=False), 200, "server", True),
        ({"model": "llama"}, 200, "empty", True),
    ],
)
def test_errors_are_classified_also_those_with_status_200(body, status, kind, retried):
    fault = fault_of(MODEL, body, status)
    assert (fault.kind, fault.retry) == (kind, retried)


def test_a_reply_that_fills_its_window_is_too_long():
    assert read(MODEL, ollama("Par", done_reason="length")).finish == "length"


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"tool_choice": "required"}, "tool_choice"),
        ({"temprature": 0}, "temperature"),
        ({"truncate": True}, "truncate"),
        ({"shift": True}, "shift"),
        ({"num_ctx": 4096}, "num_ctx"),
    ],
)
def test_what_ollama_would_ignore_is_refused_before_anything_is_sent(parameters, named):
    with pytest.raises(ConfigError, match=named):
        Ollama("llama", parameters=parameters).check()


def test_the_address_of_the_other_api_is_refused():
    with pytest.raises(ConfigError, match="openai_compatible"):
        Ollama("llama", "http://127.0.0.1:11434/v1").check()
    MODEL.check()
