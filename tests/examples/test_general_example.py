"""The nine everyday jobs against their scripted endpoint: every count follows from the endpoint's own rule.

From Python they count what their configurations count, line by line.
"""

import csv
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from tests.examples import nine_jobs

from steelyard import evaluate_suite
from steelyard.config.load import load
from steelyard.from_python.runs import Runs

EXAMPLE = Path(__file__).parents[2] / "examples" / "general"
JOBS = {
    "1-classify": (nine_jobs.classify, {"accuracy"}),
    "2-extract": (nine_jobs.extract, {"json_fields", "field_date", "field_total", "field_vendor"}),
    "3-summarise": (nine_jobs.summarise, {"quality", "length", "no_ai_talk"}),
    "4-translate": (nine_jobs.translate, {"chrf", "adequacy"}),
    "5-grid": (nine_jobs.grid, {"accuracy"}),
    "6-chat": (nine_jobs.chat, {"goal_reached", "contains_per_turn"}),
    "7-agent": (nine_jobs.agent, {"tool_calls", "tool_recall", "agent_steps", "agent_cost"}),
    "8-code": (nine_jobs.code, {"python_test"}),
    "9-rows": (nine_jobs.rows, {"checks"}),
}
"""Configuration -> the same in Python, and the scores that both have with the same options."""


@pytest.fixture(scope="module")
def server():
    spec = importlib.util.spec_from_file_location("general_server", EXAMPLE / "server.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """The example with its server on a free port, and the address."""
    copy = tmp_path_factory.mktemp("jobs") / "general"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("__pycache__", ".steelyard"))
    with subprocess.Popen([sys.executable, EXAMPLE / "server.py", "0"], stdout=subprocess.PIPE, text=True) as process:
        address = process.stdout.readline().strip().removesuffix("/v1")
        for file in copy.glob("*.yaml"):
            text = file.read_text(encoding="utf-8")
            file.write_text(text.replace("http://127.0.0.1:8391", address), encoding="utf-8")
        yield copy, address
        process.terminate()


@pytest.fixture(scope="module")
def run(example, tmp_path_factory):
    """run("1-classify"): the runs of a configuration by target, made once; each has a store, and so pays its calls."""
    folder, stores = example[0], tmp_path_factory.mktemp("configured")

    @cache
    def of(name):
        suite = load(folder / f"{name}.yaml", environ=os.environ).suite
        runs = evaluate_suite(suite, store=stores / f"{name}.db", progress=False)
        assert [(each.state, each.errors) for each in runs] == [("finished", 0)] * len(runs)
        return {each.target: each for each in runs}

    return of


@pytest.fixture
def served(example, monkeypatch):
    """The address of the server, in the example's folder."""
    folder, address = example
    monkeypatch.chdir(folder)
    return address


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
    runs = run("1-classify")
    right = {prompt: total(runs[prompt], "accuracy")[0] for prompt in runs}
    assert right == {prompt: right_labels(server, "small", prompt) for prompt in ("terse", "chatty")}
    assert right == {"terse": 52, "chatty": 40}


def test_4_translations_are_equal_as_often_as_the_models_are_right(run, server):
    runs = run("4-translate")
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
    assert total(run("7-agent")["agent"], "tool_calls") == (right, 20)
    assert right == 16


def prompt_of(name):
    """The only prompt of a job, before the place for the input."""
    template = yaml(name)["prompts"]
    return template[: template.index("{{")], template[template.index("}}") + 2 :]


def yaml(name):
    from steelyard.building.nodes import plain
    from steelyard.building.read import read

    return plain(read(EXAMPLE / name)[1])


def replies(server, model, job, data, key):
    before, after = prompt_of(job)
    return [(asked(server, model, before + row[key] + after), row) for row in rows(data)]


def json_in(reply):
    try:
        return json.loads(reply.removeprefix("```json\n").removesuffix("\n```"))
    except ValueError:
        return None


def test_2_fields_of_json_are_right_as_often_as_the_models_are(run, server):
    runs = run("2-extract")
    for model in ("small", "large"):
        replied = replies(server, model, "2-extract.yaml", "invoices.jsonl", "document")
        said = [(json_in(reply), row["expected"]) for reply, row in replied]
        read = [(found, expected) for found, expected in said if found is not None]
        assert total(runs[model], "json_fields") == (sum(found == expected for found, expected in read), len(read))
        for field in ("total", "date", "vendor"):
            right = sum(found[field] == expected[field] for found, expected in read)
            assert total(runs[model], f"field_{field}") == (right, len(read))
    assert total(runs["small"], "json_fields") == (19, 29)


def test_3_summaries_are_short_and_plain_where_the_models_are_good(run, server):
    runs = run("3-summarise")
    for model, each in runs.items():
        said = [reply for reply, _ in replies(server, model, "3-summarise.yaml", "articles.jsonl", "article")]
        short, plain = (
            sum(len(reply.split()) <= 25 for reply in said),
            sum("as an AI" not in reply.replace("As", "as") for reply in said),
        )
        assert (total(each, "length"), total(each, "no_ai_talk")) == ((short, 25), (plain, 25))
        passed = [score.passed for record in each.records() for score in record.scores if score.name == "quality"]
        assert passed.count(True) == sum("[[bad]]" not in reply for reply in said)
    assert total(runs["small"], "length") == (18, 25)


def test_5_a_grid_has_a_target_for_every_prompt_and_model(run, server):
    runs = run("5-grid")
    pairs = [(prompt, model) for prompt in ("terse", "chatty") for model in ("small", "medium", "large")]
    assert list(runs) == [f"{prompt}@{model}" for prompt, model in pairs]
    for prompt, model in pairs:
        each = runs[f"{prompt}@{model}"]
        assert each.manifest["tags"] == {"prompt": prompt, "model": model}
        assert total(each, "accuracy")[0] == right_labels(server, model, prompt)
        assert {score.name for record in each.records() for score in record.scores} >= {"latency", "cost"}


def test_6_conversations_are_scored_as_a_whole_and_turn_by_turn(run, server):
    reached = held = 0
    for row in rows("chats.jsonl"):
        talk = [{"role": "system", "content": "You help customers of a parcel service."}]
        for turn, must in zip(row["messages"], row["turn_must"], strict=True):
            talk.append(turn)
            talk.append({"role": "assistant", "content": server.answer("small", talk)})
            held += must[0] in talk[-1]["content"]
        reached += "Tuesday" in talk[-1]["content"]
    bot = run("6-chat")["bot"]
    assert total(bot, "goal_reached") == (reached, 12)
    turns = [
        turn["value"]
        for record in bot.records()
        for score in record.scores
        if score.name == "contains_per_turn"
        for turn in score.detail["turns"]
    ]
    assert (sum(turns), len(turns)) == (held, 36)
    assert (reached, held) == (9, 27)


def test_8_code_passes_the_test_of_its_row_where_it_is_right(run, server):
    runs = run("8-code")
    for model, each in runs.items():
        # The wrong `uniq` sorts, which the test of its rows does not notice.
        right = sum(
            server.chance(model, row["prompt"] + " Only code.") < server.SKILL[model] or "uniq" in row["entry_point"]
            for row in rows("code.jsonl")
        )
        assert total(each, "python_test") == (right, 16)


def test_9_checks_of_rows_hold_where_the_models_are_good(run, server):
    runs = run("9-rows")
    for model, each in runs.items():
        right = sum(server.chance(model, row["question"]) < server.SKILL[model] for row in rows("rows.jsonl"))
        assert total(each, "checks") == (right, 30)
    assert total(runs["small"], "checks") == (24, 30)
    assert total(runs["small"], "refusal") == (3, 5)
    assert total(runs["large"], "guideline") == (10, 10)


def counted(run, scores):
    """Score -> how many values there are, and their sum."""
    values = {
        name: [score.value for record in run.records() for score in record.scores if score.name == name]
        for name in scores
    }
    return {
        name: (sum(value is not None for value in of_score), round(sum(value or 0 for value in of_score), 9))
        for name, of_score in values.items()
    }


@pytest.mark.parametrize("name", JOBS)
def test_each_job_counts_from_python_what_its_configuration_counts(served, run, name):
    job, scores = JOBS[name]
    made = job(served)
    runs = made if isinstance(made, Runs) else Runs([made])
    by_target = run(name)
    assert len(runs) >= 1
    for each in runs:
        assert (each.state, each.errors) == ("finished", 0)
        wanted = by_target.get(each.target) or by_target["small"]
        found = counted(each, scores)
        assert found == counted(wanted, scores)
        assert all(n for n, _ in found.values())


def test_the_grid_is_compared_alike_and_says_which_to_ship(served, run):
    configured = list(run("5-grid").values())
    found, wanted = nine_jobs.grid(served).compare().grid, Runs(configured).compare().grid
    assert [cell.mean for cell in found.cells] == [cell.mean for cell in wanted.cells]
    assert [(pair.prompt, pair.model, pair.verdict) for pair in found.prompts] == [
        ("chatty", "", "worse"), ("chatty", "small", "worse"), ("chatty", "medium", "worse"),
        ("chatty", "large", "worse"),
    ]  # fmt: skip
    assert found.best == wanted.best == "terse@large"
    assert wanted.cells[0].cost is not None


def test_objects_of_scorers_do_as_names_do(served):
    by_name, by_object = nine_jobs.chat(served)[0], nine_jobs.chat_with_objects(served)
    assert counted(by_object, {"goal_reached"}) == counted(by_name, {"goal_reached"})
