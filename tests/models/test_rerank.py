"""Rerankers: what is sent in either form, what is made of whatever comes back, and that a count is checked."""

from __future__ import annotations

import asyncio
import json

import pytest
from tests.loopback import MemoryJournal, http, peer

from steelyard.constraints import check_options
from steelyard.errors import ConfigError, ModelError
from steelyard.models.base import Answer, Fault
from steelyard.models.embeddings import Rerank, rerank
from steelyard.models.limits import Limits, Retry
from steelyard.session.secrets import Secrets
from steelyard.session.session import Session
from steelyard.session.wire import HttpWire

MODEL = Rerank("r", "http://h/v1")


def read(body, model=MODEL, status=200):
    return model.read(Answer(status, {}, body if isinstance(body, bytes) else json.dumps(body).encode()))


def scored(*scores, index="index", score="relevance_score"):
    return [{index: number, score: value} for number, value in enumerate(scores)]


@pytest.mark.parametrize(
    ("body", "tokens"),
    [
        ({"results": scored(0.1, 0.9)[::-1]}, 0),
        ({"results": scored(0.1, 0.9), "usage": {"total_tokens": 9}}, 9),
        ({"results": scored(0.1, 0.9), "meta": {"tokens": {"input_tokens": 8}}}, 8),
        ({"data": scored(0.1, 0.9), "usage": {"total_tokens": 9}}, 9),
        (scored(0.1, 0.9, score="score")[::-1], 0),
    ],
)
def test_scores_are_in_the_order_of_the_texts_whatever_the_order_of_the_answer(body, tokens):
    reply = read(body)
    assert reply.metadata["scores"] == [0.1, 0.9]
    assert (reply.usage.input_tokens, reply.usage.estimated) == (tokens, not tokens)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"results": []},
        {"results": "x"},
        {"results": [None]},
        {"results": [{"index": 0}]},
        {"results": [{"index": True, "relevance_score": 1}]},
        {"results": [{"index": 1, "relevance_score": 1}]},
        {"results": [{"index": 0, "relevance_score": "1"}]},
        b'{"results": [{"index": 0, "relevance_score": NaN}]}',
        b"<html></html>",
        b"[1, 2]",
    ],
)
def test_anything_but_a_score_for_each_text_is_malformed(body):
    with pytest.raises(Fault) as caught:
        read(body)
    assert caught.value.kind == "malformed"


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("cohere", {"model": "r", "query": "rain?", "documents": ["a", "b"], "max_tokens_per_doc": 9}),
        ("tei", {"query": "rain?", "texts": ["a", "b"], "max_tokens_per_doc": 9}),
    ],
)
def test_a_call_is_one_post_with_query_and_texts_and_the_key_in_a_header_alone(form, expected):
    async def run():
        async with peer(lambda n, asked: http(200, {"results": scored(0.5, 0.25)})) as server:
            model = Rerank("r", server.url, "${KEY}", {"max_tokens_per_doc": 9}, form=form)
            wire = HttpWire(Secrets(["KEY"], {"KEY": "sk-123456"}))
            reply = await Limits(Retry(), 1).call(model, model.request(["rain?", "a", "b"], {}), wire)
            await wire.close()
            return reply, server.asked[0]

    reply, asked = asyncio.run(run())
    assert asked.line == "POST /v1/rerank HTTP/1.1"
    assert asked.headers["authorization"] == "Bearer sk-123456"
    assert json.loads(asked.body) == expected
    assert reply.metadata["scores"] == [0.5, 0.25]


def asked_of(answer, texts, **options):
    async def run():
        async with peer(answer) as server, Session(MemoryJournal(), Secrets([], {}), retry=Retry(1)) as session:
            return await rerank(session.ask("1", 0, "target"), Rerank("r", server.url, **options), "rain?", texts)

    return asyncio.run(run())


def by_length(no, asked):
    return http(200, {"results": scored(*(float(len(text)) for text in json.loads(asked.body)["documents"]))})


@pytest.mark.parametrize("status", [200, 400])
def test_a_content_filter_is_a_finish_whatever_the_status(status):
    filtered = {"error": {"message": "blocked", "code": "content_filter"}}
    assert read(filtered, status=status).finish == "content_filter"


def test_texts_are_scored_in_batches_in_their_order():
    assert asked_of(by_length, ["a", "bb", "ccc", "dd", "e"], batch=2) == [1.0, 2.0, 3.0, 2.0, 1.0]
    assert asked_of(by_length, []) == []


def test_fewer_scores_than_texts_are_no_answer():
    with pytest.raises(ModelError) as caught:
        asked_of(lambda no, asked: http(200, {"results": scored(1.0)}), ["a", "b"])
    assert caught.value.kind == "malformed"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base_url": "h/v1"}, "is not an http"),
        ({"parameters": {"top_n": 3}}, "top_n"),
        ({"parameters": {"top_k": 3}}, "top_k"),
        ({"form": "jina"}, "form"),
        ({"batch": 0}, "batch"),
        ({"api_key": "sk-123456"}, "api_key"),
    ],
)
def test_a_mistake_is_found_before_the_first_call(options, message):
    with pytest.raises(ConfigError, match=message):
        check_options(Rerank("r", **options))
