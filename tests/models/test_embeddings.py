"""Embeddings: what is sent, what is made of whatever comes back, and that a count is checked."""

import asyncio
import json
import struct
from base64 import b64encode

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.loopback import MemoryJournal, http, peer

from steelyard.constraints import check_options
from steelyard.errors import ConfigError, ModelError
from steelyard.models.base import Answer, Fault
from steelyard.models.embeddings import Embeddings, embed, vectors_of
from steelyard.models.limits import Limits, Retry
from steelyard.registry import describe
from steelyard.session.secrets import Secrets
from steelyard.session.session import Session
from steelyard.session.wire import HttpWire
from steelyard.types import Usage

MODEL = Embeddings("e", "http://h/v1")
QUICK = Retry(attempts=2, base_s=0.001)


def embedded(*vectors, **more):
    data = [{"object": "embedding", "index": number, "embedding": vector} for number, vector in enumerate(vectors)]
    return {"object": "list", "data": data, "model": "e-1", "usage": {"prompt_tokens": 7, "total_tokens": 7}, **more}


def read(body, status=200):
    return MODEL.read(Answer(status, {}, body if isinstance(body, bytes) else json.dumps(body).encode()))


def fault_of(body, status=200):
    with pytest.raises(Fault) as caught:
        read(body, status)
    return caught.value


def test_a_call_is_one_post_with_the_texts_and_the_key_in_a_header_alone():
    async def run():
        async with peer(lambda n, asked: http(200, embedded([1.0, 0.0], [0.0, 1.0]))) as server:
            model = Embeddings("e", server.url + "/", "${KEY}", {"dimensions": 2}, {"X-Team": "blue"})
            wire = HttpWire(Secrets(["KEY"], {"KEY": "sk-123456"}))
            request = model.request(["雨 ab", "wind"], {})
            reply = await Limits(Retry(), 1).call(model, request, wire)
            await wire.close()
            return request, reply, server.asked[0]

    request, reply, asked = asyncio.run(run())
    assert asked.line == "POST /v1/embeddings HTTP/1.1"
    assert asked.headers["authorization"] == "Bearer sk-123456"
    assert asked.headers["x-team"] == "blue"
    assert json.loads(asked.body) == {"model": "e", "input": ["雨 ab", "wind"], "dimensions": 2}
    assert request.input_tokens == 2
    assert (reply.text, reply.usage, reply.metadata["model"], reply.metadata["dimension"]) == (
        "",
        Usage(7, 0),
        "e-1",
        2,
    )
    assert vectors_of(reply, 2).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_a_text_and_messages_are_embedded_by_what_they_say():
    assert json.loads(MODEL.request("rain", {}).payload)["input"] == ["rain"]
    messages = [{"role": "user", "content": "rain"}, {"role": "user", "content": [{"type": "text", "text": "wind"}]}]
    assert json.loads(MODEL.request(messages, {}).payload)["input"] == ["rain", "wind"]
    with pytest.raises(ValueError, match="no text to embed"):
        MODEL.request([], {})


def test_vectors_are_put_in_the_order_of_their_indices():
    body = embedded([1.0, 0.0], [2.0, 0.0], [3.0, 0.0])
    body["data"].reverse()
    assert vectors_of(read(body), 3).tolist() == [[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]
    bare = {"data": [{"embedding": [4, 5]}, {"embedding": [6, 7]}]}
    assert vectors_of(read(bare), 2).tolist() == [[4.0, 5.0], [6.0, 7.0]]


@given(
    st.lists(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3), min_size=1)
)
def test_numbers_and_base64_give_the_same_vectors(rows):
    coded = [b64encode(struct.pack("<3f", *row)).decode() for row in rows]
    plain, packed = read(embedded(*rows)), read(embedded(*coded))
    assert plain == packed
    assert (vectors_of(plain, len(rows)) == np.array(rows, np.float32)).all()


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"data": []}, "no embeddings"),
        ({"object": "list"}, "no embeddings"),
        ([1], "no embeddings"),
        (embedded([1.0], [1.0, 2.0]), "different dimensions"),
        (embedded([1.0], [2.0]), "one number"),
        (embedded([]), "empty"),
        (embedded([1.0, float("nan")]), "not finite"),
        (embedded([1e39]), "not finite"),
        (embedded([1.0, None]), "not a list of numbers"),
        (embedded(["1"]), "not a list of numbers"),
        (embedded(None), "not a list of numbers"),
        (embedded({"0": 1}), "not a list of numbers"),
        (embedded([10**400]), "not a list of numbers"),
        (embedded("not base64!"), "not a list of numbers"),
        (embedded("AAAA"), "not a list of numbers"),
        ({"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}, "indices"),
        ({"data": [{"index": 1, "embedding": [1]}]}, "indices"),
        ({"data": [{"index": "0", "embedding": [1]}]}, "indices"),
        ({"data": [{"index": [0], "embedding": [1]}]}, "indices"),
        ({"data": ["x", {"index": 0, "embedding": [1]}]}, "indices"),
        ({"data": ["x"]}, "not a list of numbers"),
        (b"<html>", "an HTML page"),
    ],
)
def test_anything_but_vectors_is_malformed_and_asked_again(body, why):
    fault = fault_of(body)
    assert (fault.kind, fault.retry, fault.billed) == ("malformed", True, True)
    assert why in fault.message


def test_statuses_and_errors_are_the_faults_that_every_endpoint_shares():
    assert fault_of({"error": {"message": "slow down"}}, 429).kind == "rate_limit"
    assert fault_of({"error": {"message": "no", "code": "invalid_api_key"}}, 401).ends_run
    assert fault_of({"error": {"message": "no money", "code": "insufficient_quota"}}).kind == "quota"
    filtered = {"error": {"message": "blocked", "code": "content_filter"}}
    assert [read(filtered, status).finish for status in (200, 400)] == ["content_filter", "content_filter"]
    with pytest.raises(ModelError, match=r"holds no vectors \(finish: content_filter\)"):
        vectors_of(read(filtered, 400), 1)


def test_another_number_of_vectors_than_texts_is_an_error():
    with pytest.raises(ModelError, match="3 texts were sent and 2 vectors came") as caught:
        vectors_of(read(embedded([1.0, 0.0], [2.0, 0.0])), 3)
    assert caught.value.kind == "malformed"


def test_a_mock_reply_answers_each_text_with_one_number():
    request = MODEL.request(["a", "b", "c"], {})
    reply = MODEL.mock_reply(request)
    assert vectors_of(reply, 3).shape == (3, 1)
    assert reply.usage.estimated


def by_length(n, asked):
    return http(200, embedded(*([float(len(text)), 1.0] for text in json.loads(asked.body)["input"])))


def embed_at(answer, texts, batch=2):
    """The vectors of `texts` through a whole session, and what the server was asked."""

    async def run():
        async with peer(answer) as server, Session(MemoryJournal(), Secrets([], {}), retry=QUICK) as session:
            model = Embeddings("e", "http://fixed/v1", batch=batch)
            asking = session.ask("s", 0, "target")
            sent = Embeddings("e", server.url, batch=batch)
            vectors = await embed(lambda _, group: asking(sent, group), model, texts)
            return vectors, [json.loads(request.body)["input"] for request in server.asked]

    return asyncio.run(run())


def test_all_texts_are_embedded_in_batches_and_each_text_once():
    vectors, asked = embed_at(by_length, ["a", "bbb", "a", "cc", "dddd"])
    assert vectors.tolist() == [[1.0, 1.0], [3.0, 1.0], [1.0, 1.0], [2.0, 1.0], [4.0, 1.0]]
    assert sorted(asked) == [["a", "bbb"], ["cc", "dddd"]]


def test_no_text_asks_nothing():
    vectors, asked = embed_at(by_length, [])
    assert (vectors.shape, asked) == ((0, 0), [])


def test_a_batch_of_another_dimension_ends_with_an_error():
    with pytest.raises(ModelError, match="different dimensions"):
        embed_at(lambda n, asked: http(200, embedded([1.0] * (n + 2))), ["a", "b"], batch=1)


def test_a_batch_that_comes_back_short_is_asked_again_and_not_kept():
    def answer(n, asked):
        return http(200, embedded([1.0, 2.0])) if n == 0 else by_length(n, asked)

    vectors, asked = embed_at(answer, ["a", "bb"])
    assert (vectors.tolist(), len(asked)) == ([[1.0, 1.0], [2.0, 1.0]], 2)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"base_url": "h/v1"}, "base_url"),
        ({"api_key": "sk-1234567890"}, "is not written out here"),
        ({"parameters": {"input": ["x"]}}, "must not contain 'input'"),
        ({"parameters": {"encoding_format": "hex"}}, "float or base64"),
        ({"batch": 0}, "batch must be a whole number of 1 or more"),
        ({"timeout_s": 0}, "timeout_s"),
    ],
)
def test_what_cannot_be_meant_is_found_before_anything_is_sent(fields, why):
    with pytest.raises(ConfigError, match=why):
        check_options(Embeddings("e", **fields))


def test_a_sound_one_passes_and_is_told_by_its_fields():
    model = Embeddings("e", "https://h/v1", "${KEY}", {"encoding_format": "base64"})
    check_options(model)
    assert "${KEY}" in json.dumps(describe(model))
