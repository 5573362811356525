"""Cosine of two texts by an embeddings endpoint on loopback."""

from __future__ import annotations

import asyncio
import json

import pytest
from tests.loopback import http, peer

from steelyard import ConfigError, OpenAICompatible, Sample
from steelyard.constraints import check_options
from steelyard.evaluation.evaluate import aevaluate_suite
from steelyard.evaluation.objects import Suite
from steelyard.evaluation.rescore import rescore
from steelyard.models import Embeddings
from steelyard.scorers import Similarity
from steelyard.store import Store

VECTORS = {"north": [1, 0], "also north": [2, 0], "north-east": [1, 1], "east": [0, 1], "south": [-1, 0]}


def answer(_n, asked):
    texts = json.loads(asked.body)["input"]
    return http(200, {"data": [{"index": no, "embedding": VECTORS[text]} for no, text in enumerate(texts)]})


def test_the_nearest_of_the_expected_texts_counts_and_is_scored_again_from_the_journal(tmp_path):
    expected = {"also north": "north", "north-east": ["south", "north"], "east": "north", "south": "north"}
    samples = [Sample(text, text, reference) for text, reference in expected.items()]

    async def evaluated():
        async with peer(answer) as server:
            scorer = Similarity(Embeddings("e", base_url=f"{server.url}/v1"), threshold=0.7)
            suite = Suite("S", "custom", samples, {"t": lambda sample: sample.input}, (scorer,))
            (run,) = await aevaluate_suite(suite, store=tmp_path / "s.db")
            return run, scorer

    run, scorer = asyncio.run(evaluated())
    found = {record.sample.id: record.scores[0] for record in run.records()}
    assert [found[name].value for name in expected] == pytest.approx([1, 0.5**0.5, 0, -1])
    assert [found[name].passed for name in expected] == [True, True, False, False]
    assert found["north-east"].reason == "reference 2 of 2"
    with Store(tmp_path / "s.db") as store:
        again, _ = rescore(store, store.run(run.id), [scorer])
        assert {record.sample.id: record.scores[0] for record in again.records()} == found


def test_it_needs_an_embeddings_model():
    for model in (None, OpenAICompatible("chat", base_url="http://127.0.0.1:9/v1")):
        with pytest.raises(ConfigError, match="name an embeddings model"):
            check_options(Similarity(model))
    with pytest.raises(ConfigError, match="threshold"):
        check_options(Similarity(Embeddings("e"), threshold=2))
