"""Completions: what is sent, and what is made of the tokens that come back."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.loopback import http, peer

from steelyard import ConfigError
from steelyard.constraints import check_options
from steelyard.models.base import Answer, Fault
from steelyard.models.limits import Limits, Retry
from steelyard.models.openai_compatible import Completions
from steelyard.session.secrets import Secrets
from steelyard.session.wire import HttpWire
from steelyard.types import Usage

MODEL = Completions("m", "http://h/v1")


def read(body, status=200):
    return MODEL.read(Answer(status, {}, body if isinstance(body, bytes) else json.dumps(body).encode()))


def completed(text="x", **more):
    usage = {"prompt_tokens": 3, "completion_tokens": 1}
    return {"model": "m", "choices": [{"text": text, "finish_reason": "length", **more}], "usage": usage}


def test_a_call_is_one_post_of_a_prompt_with_the_key_in_a_header_alone():
    async def run():
        async with peer(lambda n, asked: http(200, completed(" Paris"))) as server:
            model = Completions("base", server.url, "${KEY}", {"temperature": 0.5})
            wire = HttpWire(Secrets(["KEY"], {"KEY": "sk-123456"}))
            messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "首都是"}]
            reply = await Limits(Retry(), 1).call(model, model.request(messages, {"max_tokens": 1}), wire)
            await wire.close()
            return reply, server.asked[0]

    reply, asked = asyncio.run(run())
    assert asked.line == "POST /v1/completions HTTP/1.1"
    assert asked.headers["authorization"] == "Bearer sk-123456"
    assert json.loads(asked.body) == {
        "model": "base",
        "prompt": "Be brief.\n\n首都是",
        "temperature": 0.5,
        "max_tokens": 1,
    }
    assert (reply.text, reply.finish, reply.usage) == (" Paris", "length", Usage(3, 1))


def test_tokens_from_the_cache_are_counted_as_in_chat_completions():
    usage = {"prompt_tokens": 3, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 2}}
    assert read(completed() | {"usage": usage}).usage == Usage(3, 1, cache_read=2)


def test_the_tokens_of_an_echoed_prompt_are_kept_with_their_places():
    logprobs = {"tokens": ["Q", ":", " x"], "token_logprobs": [None, -1.5, -2], "text_offset": [0, 1, 2]}
    reply = read(completed("Q: x", logprobs=logprobs))
    assert reply.metadata["tokens"] == [["Q", None, 0], [":", -1.5, 1], [" x", -2, 2]]
    del logprobs["text_offset"]
    assert read(completed("Q: x", logprobs=logprobs)).metadata["tokens"][1] == [":", -1.5, None]


def test_the_first_token_that_was_generated_is_listed_as_a_chat_endpoint_lists_it():
    top = [{" A": -0.1, "B": -3.0}]
    reply = read(completed(" A", logprobs={"tokens": [" A"], "token_logprobs": [-0.1], "top_logprobs": top}))
    assert reply.metadata["top"] == [{"token": " A", "logprob": -0.1}, {"token": "B", "logprob": -3.0}]


def test_of_vllms_prompt_tokens_the_one_that_stood_there_is_the_first_of_its_entry():
    given_tokens = [
        None,
        {"11": {"logprob": -7.0, "rank": 90, "decoded_token": ":"}, "5": {"logprob": -0.1, "decoded_token": "!"}},
    ]
    reply = read(completed(prompt_logprobs=given_tokens))
    assert reply.metadata["prompt_tokens"] == [[None, None, None], [":", -7.0, None]]


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        (b"<html>", 200, "malformed"),
        ({"choices": []}, 200, "empty"),
        ({"choices": [{"text": None}]}, 200, "empty"),
        ([], 200, "malformed"),
        ({"error": {"message": "no such model", "code": "model_not_found"}}, 404, "unknown_model"),
    ],
)
def test_what_is_no_completion_is_a_fault(body, status, kind):
    with pytest.raises(Fault) as caught:
        read(body, status)
    assert caught.value.kind == kind


def nested(one):
    keys = st.sampled_from(["tokens", "token_logprobs", "text_offset", "top_logprobs", "decoded_token"])
    return st.lists(one, max_size=3) | st.dictionaries(keys, one, max_size=4)


@given(st.recursive(st.none() | st.floats(-9, 9) | st.text(max_size=3), nested))
def test_odd_logprobs_are_none_and_never_break_a_reply(odd):
    reply = read(completed("text", logprobs=odd, prompt_logprobs=odd))
    assert reply.text == "text"
    assert all(len(one) == 3 for one in reply.metadata.get("tokens", []))


@pytest.mark.parametrize("name", ["prompt", "model", "stream", "n"])
def test_what_the_model_sets_itself_is_no_parameter(name):
    with pytest.raises(ConfigError, match=name):
        check_options(Completions("m", parameters={name: 1}))
    with pytest.raises(ConfigError, match="api_key"):
        check_options(Completions("m", api_key="sk-written-out-123456"))
