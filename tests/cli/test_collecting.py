"""collect: failures become a test set that the next run is made of."""

from __future__ import annotations

import json

import pytest
from tests.generate.exam_server import exam_server


@pytest.fixture
def exam(steelyard, write, says, once):
    """20 questions with key ABCD...; A is right on 4, one reply is not read."""
    once(lambda: steelyard("run", write({"weak": says("A", **{"Question 4?": ""})}), code=0))


def rows_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_what_failed_is_a_test_set_and_the_next_run_is_made_of_it(steelyard, exam, write, says, tmp_path):
    out = steelyard("collect", "weak", "--to", "set.jsonl", code=0).out
    assert "16 added, 0 already in the file; 16 of run" in out
    path = write({"better": says("B")}, name="again.json", samples={"file": "set.jsonl"})
    summary = steelyard("run", path, "--json", code=0).json()["runs"][0]
    assert summary["done"] == 16
    assert summary["scores"][0]["headline"]["value"] == 5 / 16
    asked = {row["metadata"]["collected"]["target"] for row in rows_of(tmp_path / "set.jsonl")}
    assert asked == {"weak"}


def test_a_condition_picks_and_a_second_time_adds_nothing(steelyard, exam, tmp_path):
    where = 'wrong and group="group 1"'
    first = steelyard("collect", "weak", "--where", where, "--to", "set.jsonl", "--json", code=0).json()
    assert (first["added"], first["known"], first["fitting"]) == (10, [], 10)
    before = (tmp_path / "set.jsonl").read_bytes()
    again = steelyard("collect", "weak", "--where", where, "--to", "set.jsonl", "--json", code=0).json()
    assert (again["added"], len(again["known"])) == (0, 10)
    assert (tmp_path / "set.jsonl").read_bytes() == before
    assert {row["metadata"]["collected"]["where"] for row in rows_of(tmp_path / "set.jsonl")} == {where}


def test_a_dry_run_names_what_would_be_added_and_writes_nothing(steelyard, exam, tmp_path):
    out = steelyard("collect", "weak", "--where", "unparsed", "--to", "set.jsonl", "--dry-run", code=0).out
    assert "1 would be added" in out
    assert not (tmp_path / "set.jsonl").exists()
    found = steelyard("collect", "weak", "--where", "unparsed", "--to", "set.jsonl", "--dry-run", "--json", code=0)
    assert [row["question"] for row in found.json()["rows"]] == ["Question 4?"]


def test_samples_are_collected_by_the_cause_that_a_model_gave(steelyard, exam, tmp_path):
    def critic(prompt):
        return "lazy: 1-3\nno idea: 4-16" if "<reasons " in prompt else "It always says A."

    with exam_server(critic) as server:
        steelyard("review", "weak", "--model", "m", "--base-url", server.url, "--quiet", code=0)
    steelyard("collect", "weak", "--where", "label:cause=lazy", "--to", "set.jsonl", code=0)
    assert len(rows_of(tmp_path / "set.jsonl")) == 3


def test_where_nothing_fits_no_file_is_made(steelyard, exam, tmp_path):
    assert "matches errors" in steelyard("collect", "weak", "--where", "errors", "--to", "set.jsonl", code=0).out
    assert not (tmp_path / "set.jsonl").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--to", "set.csv"], ".jsonl file, not .csv"),
        (["--to", "set.jsonl", "--where", "solve_rte<1"], "did you mean 'solve_rate'"),
        (["--to", "no/such/../set.jsonl", "--where", "wrong or errors"], "for or, use two conditions"),
        ([], "--to"),
    ],
)
def test_a_mistake_writes_nothing(steelyard, exam, tmp_path, more, message):
    assert message in steelyard("collect", "weak", *more, code=2).err
    assert not (tmp_path / "set.jsonl").exists()


def test_an_unfinished_run_says_so(steelyard, write, says):
    steelyard("run", write({"half": says("A")}, options={"budget": {"calls": 7}, "concurrency": 1}), code=130)
    found = steelyard("collect", "half", "--to", "set.jsonl", code=0)
    assert found.err == "half: interrupted, 7 of 20 done\n"
