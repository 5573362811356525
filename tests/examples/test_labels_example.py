"""The example of labels: raters have read every answer, and its pages tell what is in the files."""

import csv
import json
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "labels"
RATERS = ("ann", "ben", "cho")
TARGETS = ("prompt-1", "prompt-2")


def json_lines(name):
    return [json.loads(line) for line in (EXAMPLE / name).read_text("utf-8").splitlines()]


def rows(name):
    with (EXAMPLE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


ANSWERS = {(row["id"], target): row[target] for row in json_lines("answers.jsonl") for target in TARGETS}
KINDS = {(row["id"], row["target"]): row["kind"] for row in rows("kinds.csv")}


def test_there_are_120_different_answers_to_60_questions():
    assert [row["id"] for row in json_lines("questions.jsonl")] == [f"q{at:02}" for at in range(1, 61)]
    assert len(set(ANSWERS.values())) == len(ANSWERS) == 120


@pytest.mark.parametrize("rater", RATERS)
def test_rater_has_a_verdict_on_every_answer_and_a_reason_for_every_other_than_pass(rater):
    read = rows(f"raters/{rater}.csv")
    assert [(row["id"], row["target"]) for row in read] == list(ANSWERS)
    assert {row["verdict"] for row in read} <= {"pass", "fail", "?"}
    assert [row for row in read if (row["verdict"] == "pass") == bool(row["comment"])] == []


def test_most_raters_fail_what_was_written_with_a_failure_and_nothing_else():
    failed = Counter(
        (row["id"], row["target"]) for name in RATERS for row in rows(f"raters/{name}.csv") if row["verdict"] == "fail"
    )
    by_most = {key for key, raters in failed.items() if raters >= 2}
    assert by_most - set(KINDS) == set()
    assert len(by_most) >= 0.9 * len(KINDS)
    assert set(failed.values()) == {1, 2, 3}


@pytest.mark.parametrize("name", ["support", "guidelines"])
def test_scripted_verdict_is_about_one_answer_alone(name):
    written = yaml.safe_load((EXAMPLE / f"{name}.yaml").read_text("utf-8"))
    replies = written["judge"]["model"]["scripted"]["replies"]
    questions = [row["question"] for row in json_lines("questions.jsonl")]
    guidelines = written["scorers"][0]["guideline"]["guidelines"]
    for part in replies:
        assert sum(part in text for text in (*ANSWERS.values(), *questions, *guidelines)) == 1, part


def test_second_judge_is_wrong_as_often_as_the_readme_says():
    replies = yaml.safe_load((EXAMPLE / "guidelines.yaml").read_text("utf-8"))["judge"]["model"]["scripted"]["replies"]
    failed = {key for key, answer in ANSWERS.items() if any(part in answer for part in replies)}
    assert (len(set(KINDS) - failed), len(failed - set(KINDS))) == (5, 3)
    assert "misses five failures and fails three good answers" in " ".join((EXAMPLE / "README.md").read_text().split())


def test_readme_counts_the_failures_as_they_are():
    text = (EXAMPLE / "README.md").read_text("utf-8")
    table = re.findall(r"^\| .* \| (\d+) \| (\d+) \|$", text, re.MULTILINE)
    counts = Counter((kind, target) for (_, target), kind in KINDS.items())
    kinds = ("policy", "invented", "ignores", "tone")
    assert table == [tuple(str(counts[kind, target]) for target in TARGETS) for kind in kinds]
