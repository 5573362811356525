"""The way of a newcomer: a table of one's own, a configuration for it, a verdict."""

import json
import re
from pathlib import Path

import pytest
import yaml

TICKETS = "nr,body,label,channel\n" + "".join(
    f"{no},Ticket {no} is {('broken', 'too dear', 'locked')[no % 3]}.,{('bug', 'billing', 'account')[no % 3]},web\n"
    for no in range(12)
)


def test_a_label_in_another_case_is_no_label_of_its_own(steelyard, tmp_path):
    (tmp_path / "own.csv").write_text(TICKETS.replace(",bug", ",Bug", 2), encoding="utf-8")
    assert "3 short texts" in steelyard("init", "--samples", "own.csv", "--columns", "input=body").out
    prompt = (tmp_path / "prompt.txt").read_text(encoding="utf-8")
    assert prompt.casefold().startswith("answer with only one of these labels: bug, billing, account.\n")


def test_a_table_of_ones_own_becomes_a_verdict_in_three_commands(steelyard, tmp_path):
    (tmp_path / "own.csv").write_text(TICKETS, encoding="utf-8")
    first = steelyard("init", "--samples", "own.csv", "--columns", "input=body")
    assert "input: B body = Ticket 0 is broken." in first.out
    assert "expected: C label = bug" in first.out
    assert "value: channel = web" in first.out
    assert "scored by label" in first.out
    prompt = (tmp_path / "prompt.txt").read_text(encoding="utf-8")
    assert prompt == "Answer with only one of these labels: bug, billing, account.\n\n{{body}}\n"
    run = steelyard("run", "general.yaml", "--json").json()
    scores = {score["name"]: score for score in run["runs"][0]["scores"]}
    # The stand-in always says the first of three labels of four rows each.
    assert scores["accuracy"]["answered"]["value"] == pytest.approx(4 / 12)


@pytest.mark.parametrize("header", ["passage", "context", "article"])
def test_the_prompt_shows_what_a_question_is_about(steelyard, tmp_path, header):
    (tmp_path / "own.csv").write_text(f"{header},question,answer\nEms flows.,What flows?,Ems\n", encoding="utf-8")
    if header == "article":
        assert "may each be the input" in steelyard("init", "--samples", "own.csv", code=2).err
    steelyard("init", "--samples", "own.csv", "--columns", "input=question", code=0)
    prompt = (tmp_path / "prompt.txt").read_text(encoding="utf-8")
    assert prompt.endswith(f"\n\n{{{{{header}}}}}\n\n{{{{question}}}}\n")
    steelyard("check", "general.yaml", code=0)


@pytest.mark.parametrize("page", ["README.md", "docs/tutorials/getting-started.md"])
def test_the_init_that_a_page_shows_writes_the_models_and_the_endpoint_of_the_file_above_it(
    steelyard, tmp_path, monkeypatch, page
):
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).resolve().parents[2] / page).read_text(encoding="utf-8")
    shown = yaml.safe_load(re.search(r"```yaml\n(samples: tickets.csv.*?)```", text, re.DOTALL)[1])
    command = re.search(r"^    steelyard (init --samples .*)$", text, re.MULTILINE)[1]
    Path("tickets.csv").write_text("text,label\nNo refund,billing\nIt crashes,bug\n", encoding="utf-8")
    steelyard(*command.partition("#")[0].split(), code=0)
    written = yaml.safe_load(Path("general.yaml").read_text(encoding="utf-8"))
    expected = (shown["samples"], shown["models"], shown["endpoint"]["base_url"])
    assert (written["samples"], written["models"], written["endpoint"]) == expected


def test_models_of_an_endpoint_are_written_into_the_configuration(steelyard, tmp_path):
    (tmp_path / "own.csv").write_text(TICKETS, encoding="utf-8")
    named = ("--endpoint", "http://127.0.0.1:9/v1", "--model", "a", "--model", "b")
    steelyard("init", "sub", "--samples", "own.csv", "--columns", "input=body", *named)
    checked = steelyard("check", "sub/general.yaml", "--json").json()
    assert list(checked["targets"]) == ["a", "b"]
    assert checked["samples"] == 12


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--samples", "own.csv"], "no column for the input; the columns found are nr, body, label, channel"),
        (["--samples", "own.csv", "--columns", "input=body", "--model", "a"], "name both the endpoint and the models"),
        (["--samples", "own.csv", "--suite", "rag"], "of the suite general, not of rag"),
        (["--model", "a"], "belong to --samples FILE"),
    ],
)
def test_what_cannot_be_written_is_refused_with_what_to_do(steelyard, tmp_path, arguments, words):
    (tmp_path / "own.csv").write_text(TICKETS, encoding="utf-8")
    assert words in " ".join(steelyard("init", "new", *arguments, code=2).err.split())
    assert not (tmp_path / "new").exists()


def test_objects_that_are_expected_are_asked_for_by_their_keys(steelyard, tmp_path):
    rows = [{"document": f"Bill {no}", "expected": {"no": no, "total": 2}} for no in range(3)]
    (tmp_path / "bills.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    first = steelyard("init", "--samples", "bills.jsonl")
    assert "scored by json_fields" in first.out
    assert "these keys: no, total.\n\n{{document}}" in (tmp_path / "prompt.txt").read_text(encoding="utf-8")


def test_a_run_without_a_single_verdict_ends_with_its_own_code(steelyard, tmp_path):
    (tmp_path / "own.csv").write_text(TICKETS, encoding="utf-8")
    (tmp_path / "mute.yaml").write_text(
        """
samples: {file: own.csv, columns: {input: body}}
models: {scripted: {default: bug}}
judge: {model: {scripted: {default: "I would rather not say."}}}
scorers: [{g_eval: {criteria: Is it right?, steps: [Look.]}}]
""",
        encoding="utf-8",
    )
    assert (
        "nothing was scored for scripted: no scorer gave a single verdict" in steelyard("run", "mute.yaml", code=3).err
    )
