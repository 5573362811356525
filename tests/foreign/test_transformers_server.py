"""`transformers serve` with a tiny model of random weights that the test makes: nothing is downloaded."""

from __future__ import annotations

import asyncio
import os
import subprocess

import pytest
from tests.foreign.served import served

from steelyard import Choice, OpenAICompatible, Prompt, Sample, aevaluate
from steelyard.models import Retry
from steelyard.models.openai_compatible import Completions
from steelyard.scorers.choice import LikelihoodAccuracy
from steelyard.targets.likelihood import Likelihood

OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "TOKENIZERS_PARALLELISM": "false"}
MAKE_MODEL = """
import sys
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

special = ["<s>", "</s>", "<unk>"]
words = [*special, *sorted(pre_tokenizers.ByteLevel.alphabet())]
tokens = Tokenizer(models.BPE({word: no for no, word in enumerate(words)}, [], unk_token="<unk>"))
tokens.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokens.decoder = decoders.ByteLevel()
names = dict(zip(("bos_token", "eos_token", "unk_token"), special))
tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokens, pad_token="</s>", **names)
tokenizer.chat_template = (
    "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }} {% endfor %}assistant: "
)
torch.manual_seed(0)
size = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4}
ids = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
model = LlamaForCausalLM(LlamaConfig(vocab_size=len(words), num_key_value_heads=4, **size, **ids))
model.save_pretrained(sys.argv[1])
tokenizer.save_pretrained(sys.argv[1])
"""


@pytest.fixture(scope="module")
def server(foreign_bin, tmp_path_factory):
    programs, folder = foreign_bin("transformers"), tmp_path_factory.mktemp("transformers")
    model = str(folder / "tiny")
    subprocess.run([programs / "python", "-c", MAKE_MODEL, model], check=True, env={**os.environ, **OFFLINE})
    command = [programs / "transformers", "serve", "--device", "cpu"]
    with served(command, folder / "server.log", health="/health", environment=OFFLINE) as started:
        started.model = model
        yield started


SAMPLES = [Sample(f"q{no}", f"Question {no}?", "A", ("red", "blue")) for no in range(6)]


def run(target, server, scorers=(), **options):
    before = server.requests()
    found = asyncio.run(
        aevaluate(target, SAMPLES, list(scorers) or [Choice()], store="s.db", fresh=True, **options, on_broken="return")
    )
    return found, server.requests() - before


@pytest.mark.parametrize("stream", [False, True])
def test_a_local_model_answers_every_sample_with_its_tokens_counted(server, stream):
    model = OpenAICompatible(server.model, server.url, parameters={"max_tokens": 5}, stream=stream)
    found, requests = run(Prompt(model), server)
    assert (found.state, found.done, found.errors, requests) == ("finished", 6, 0, 6)
    replies = [reply for record in found.records() for reply in record.replies["target"]]
    assert {reply.usage.output_tokens for reply in replies} == {5}
    assert not any(reply.usage.estimated for reply in replies)
    assert all(("ttft" in reply.metadata) is stream for reply in replies)


def test_a_streamed_reply_is_the_same_as_one_that_comes_whole(server):
    texts = []
    for stream in (False, True):
        model = OpenAICompatible(server.model, server.url, parameters={"max_tokens": 5}, stream=stream)
        found, _ = run(Prompt(model), server)
        # Where the last token is half of a character, only the whole reply shows that there was one.
        texts.append([record.replies["target"][0].text.rstrip("\ufffd") for record in found.records()])
    assert texts[0] == texts[1]


def test_it_ignores_logprobs_and_is_asked_once(server):
    target = Likelihood(OpenAICompatible(server.model, server.url))
    found, requests = run(target, server, [LikelihoodAccuracy()])
    assert (found.state, found.done, requests) == ("broken", 0, 1)
    assert "gave no log probabilities" in found.reason


def test_its_completions_give_no_tokens_of_the_prompt_and_are_asked_once(server):
    found, requests = run(Likelihood(Completions(server.model, server.url), by="texts"), server, [LikelihoodAccuracy()])
    assert (found.state, found.done, requests) == ("broken", 0, 1)
    assert "log probabilities" in found.reason


def test_a_field_that_it_does_not_know_fails_the_samples_and_says_which(server):
    model = OpenAICompatible(server.model, server.url, parameters={"no_such_field": 1})
    found, requests = run(Prompt(model), server)
    assert (found.state, requests) == ("broken", 6)
    assert {record.failure.kind for record in found.records()} == {"bad_request"}
    assert "Unexpected fields in the request: {'no_such_field'}" in found.reason


def test_an_unknown_model_is_a_500_without_a_reason_so_it_is_retried_and_broken_in_the_end(server):
    model = OpenAICompatible("no-such/model", server.url)
    found, _ = run(Prompt(model), server, retry=Retry(attempts=2, base_s=0.01))
    assert (found.state, found.errors) == ("broken", 6)
    assert [len(record.failure.attempts) for record in found.records()] == [2] * 6
    # The server closes the connection after such an answer; a request that was already on its way is then reset.
    messages = [attempt.message for record in found.records() for attempt in record.failure.attempts]
    assert any("Internal Server Error" in message for message in messages)
