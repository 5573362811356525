"""Our scorers beside those of Inspect AI (0.3) that the page on Inspect names, on stored replies with its own values.

`ours` stands where the values differ, for the reasons that the page gives.
"""

import json
from pathlib import Path

import pytest

from steelyard import ExactMatch, Output, Sample
from steelyard.replies.choice import read_choice
from steelyard.scorers import Contains, NumberMatch, StartsWith, TokenF1

ROUNDED = 0.006
"""Inspect rounds F1 to two decimals."""
OPTIONS = ("Paris", "Berlin", "London", "Madrid")
SCORERS = {
    "exact": ExactMatch(normalise=True),
    "f1": TokenF1(),
    "includes": Contains(literal=True),
    "match begin": StartsWith(ignore_case=True),
    "match any": Contains(),
    "match numeric": NumberMatch(mode="final"),
}


def stored(scorer):
    lines = Path(__file__).with_name("inspect_scorers.jsonl").read_text(encoding="utf-8").splitlines()
    return [case for case in map(json.loads, lines) if scorer in case["inspect"]]


@pytest.mark.parametrize("name", SCORERS)
def test_a_scorer_gives_the_value_of_inspect_but_where_the_page_says_so(name):
    wrong = []
    for case in stored(name):
        expected = case.get("ours", {}).get(name, case["inspect"][name])
        score = SCORERS[name](Sample("1", "?", case["target"]), Output(case["output"]))
        if abs(score.value - expected) > ROUNDED:
            wrong.append((case, score.value))
    assert (wrong, len(stored(name)) > 60) == ([], True)


@pytest.mark.parametrize("several", [False, True])
def test_no_answer_that_inspect_reads_is_read_as_another_one(several):
    """Of `A & C` Inspect reads the first letter, and we both."""
    name = "choice multi" if several else "choice single"
    wrong = []
    for case in stored(name):
        letters = read_choice(case["output"], OPTIONS, several=several).letters
        if not set(case["inspect"][name]) <= set(letters):
            wrong.append((case["output"], letters))
    assert wrong == []
