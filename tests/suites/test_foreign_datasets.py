"""Datasets of other tools go under `samples` as they are: their inputs, expected outputs and contexts are found."""

import json

import pytest

from steelyard import Scripted
from steelyard.data.sample_files import SampleFiles
from steelyard.suites import GeneralSuite
from steelyard.suites.general.rows import load_general

INSPECT = [
    {"id": 1, "input": "Capital of France?", "target": "Paris", "metadata": {"level": "easy"}},
    {"id": 2, "input": [{"role": "user", "content": "2 + 2?"}], "target": ["4", "four"]},
]
DEEPEVAL = [
    {"input": "When?", "actual_output": None, "expected_output": "Today", "context": ["It is open today."]},
    {"input": "Who?", "actual_output": None, "expected_output": "Ann", "context": None, "source_file": "a.md"},
]
REGISTRY = [
    {"input": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}], "ideal": "Hello"}
]


@pytest.fixture
def loaded(tmp_path):
    def load(rows, name):
        path = tmp_path / name
        text = json.dumps(rows) if name.endswith(".json") else "\n".join(map(json.dumps, rows))
        path.write_text(text, encoding="utf-8")
        return load_general(SampleFiles(path)).data.samples

    return load


def test_samples_of_inspect_have_their_targets_as_expected_outputs(loaded):
    first, second = loaded(INSPECT, "inspect.jsonl")
    assert (first.id, first.input, first.reference) == ("1", "Capital of France?", "Paris")
    assert first.metadata["level"] == "easy"
    assert (second.input, second.reference) == (INSPECT[1]["input"], ["4", "four"])


def test_goldens_of_deepeval_have_their_contexts(loaded):
    first, second = loaded(DEEPEVAL, "goldens.json")
    assert (first.input, first.reference, first.contexts) == ("When?", "Today", ("It is open today.",))
    assert (second.reference, second.contexts, second.metadata["source_file"]) == ("Ann", (), "a.md")


def test_samples_of_the_registry_of_openai_have_messages_and_ideal_answers(loaded):
    (sample,) = loaded(REGISTRY, "samples.jsonl")
    assert (sample.input, sample.reference) == (REGISTRY[0]["input"], "Hello")


HOTPOT = {
    "question": "Which magazine was started first?",
    "answer": "Arthur's Magazine",
    "context": {"title": ["Arthur's Magazine"], "sentences": [["It is of 1844.", " It was merged."]]},
}


def test_contexts_that_no_prompt_shows_are_told(tmp_path):
    (tmp_path / "hotpot.jsonl").write_text(json.dumps(HOTPOT), encoding="utf-8")

    def notes(prompts):
        samples, model = SampleFiles(tmp_path / "hotpot.jsonl"), Scripted("Arthur's Magazine")
        return [
            note
            for note in GeneralSuite(samples=samples, prompts=prompts, models=model).build().notes
            if "sent" in note
        ]

    assert notes({}) == ["the contexts of 1 rows are not sent: a prompt may show them, as {{contexts}}"]
    assert notes("{{context}} {{question}}") == notes("{{contexts}} {{question}}") == []
