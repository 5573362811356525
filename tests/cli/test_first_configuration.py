"""The way of a newcomer: a table of one's own, a configuration for it, a verdict."""

import json

import pytest

TICKETS = "nr,body,label,channel\n" + "".join(
    f"{no},Ticket {no} is {('broken', 'too dear', 'locked')[no % 3]}.,{('bug', 'billing', 'account')[no % 3]},web\n"
    for no in range(12)
)


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
