"""Answers that do nothing but say that they have no answer, in English and Chinese."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.replies.abstention import is_abstention

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "abstentions.jsonl").read_text(encoding="utf-8").splitlines()
]
LEAST = {"abstains": 1.0, "abstains in bold": 1.0, "answers": 1.0, "an answer behind it": 1.0}
"""Per family of answers that people thought of: the share that is told as they meant it."""


@pytest.mark.parametrize("family", LEAST)
def test_answers_of_a_family_are_told_as_meant(family):
    rows = [row for row in ROWS if row["family"] == family]
    missed = [row["text"] for row in rows if is_abstention(row["text"]) != row["abstains"]]
    assert 1 - len(missed) / len(rows) >= LEAST[family], missed


def test_every_family_of_answers_has_its_rate():
    assert {row["family"] for row in ROWS} == LEAST.keys()


def test_bold_within_an_abstention_changes_nothing():
    assert is_abstention("The documents do **not** mention the price.")
    assert is_abstention("I don't know. **The documents do not say.**")


@given(st.text(max_size=900))
def test_any_text_is_told(text):
    assert is_abstention(text) in {True, False}
    assert not is_abstention(text + " The bridge is 98 m long.")
