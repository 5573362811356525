"""The nine everyday jobs against their scripted endpoint: every count follows from the endpoint's own rule."""

import csv
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard import evaluate_suite
from steelyard.config.load import load

EXAMPLE = Path(__file__).parents[2] / "examples" / "general"


@pytest.fixture(scope="module")
def server():
    spec = importlib.util.spec_from_file_location("general_server", EXAMPLE / "server.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The example with its server on a free port."""
    copy = tmp_path_factory.mktemp("jobs") / "general"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("__pycache__", ".steelyard"))
    with subprocess.Popen([sys.executable, EXAMPLE / "server.py", "0"], stdout=subprocess.PIPE, text=True) as process:
        address = process.stdout.readline().strip().removesuffix("/v1")
        for file in copy.glob("*.yaml"):
            text = file.read_text(encoding="utf-8")
            file.write_text(text.replace("http://127.0.0.1:8391", address), encoding="utf-8")
        yield copy
        process.terminate()


@pytest.fixture
def run(folder, tmp_path):
    def run(name):
        suite = load(folder / name, environ=os.environ).suite
        runs = evaluate_suite(suite, store=tmp_path / "s.db")
        assert [(each.state, each.errors) for each in runs] == [("finished", 0)] * len(runs)
        return {each.target: each for each in runs}

    return run


def rows(name):
    with (EXAMPLE / name).open(encoding="utf-8", newline="") as file:
        return [json.loads(line) for line in file] if name.endswith(".jsonl") else list(csv.DictReader(file))


def asked(server, model, prompt):
    return server.answer(model, [{"role": "user", "content": prompt}])


def total(run, score):
    """How many records have a value of 1, and how many have one."""
    values = [each.value for record in run.records() for each in record.scores if each.name == score]
    return sum(value == 1 for value in values), sum(value is not None for value in values)


def label_in(reply):
    words = reply.removeprefix("The label is: ").removesuffix(".")
    return words.lower().replace(" ", "_")


def right_labels(server, model, prompt):
    template = (EXAMPLE / "prompts" / f"{prompt}.txt").read_text(encoding="utf-8").strip()
    said = [
        (label_in(asked(server, model, template.replace("{{text}}", row["text"]))), row["label"])
        for row in rows("tickets.csv")
    ]
    return sum(answer == label for answer, label in said)


def test_1_labels_are_scored_as_accuracy_where_no_scorer_is_named(run, server):
    runs = run("1-classify.yaml")
    right = {prompt: total(runs[prompt], "accuracy")[0] for prompt in runs}
    assert right == {prompt: right_labels(server, "small", prompt) for prompt in ("terse", "chatty")}
    assert right == {"terse": 52, "chatty": 40}


def test_4_translations_are_equal_as_often_as_the_models_are_right(run, server):
    runs = run("4-translate.yaml")
    prompt = "Translate into German. Give only the translation.\n"
    for model, each in runs.items():
        right = sum(
            asked(server, model, prompt + row["source"]) == row["reference"] for row in rows("translations.csv")
        )
        assert total(each, "chrf") == (right, 30)
        assert {score.value for record in each.records() for score in record.scores[1:]} <= {4.0, 5.0}
    assert {record.sample.group for record in runs["small"].records()} == {"news", "chat"}


def test_7_an_agent_calls_its_tools_as_its_rule_says(run, server):
    right = 0
    for row in rows("agent.jsonl"):
        steps = server.agent(row["question"])["steps"]
        calls = [call["function"] for step in steps for call in step.get("tool_calls", ())]
        made = [{"name": call["name"], "arguments": json.loads(call["arguments"])} for call in calls]
        right += made == row["tools"]
    assert total(run("7-agent.yaml")["agent"], "tool_calls") == (right, 20)
    assert right == 16
