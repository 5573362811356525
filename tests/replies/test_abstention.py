"""Answers that do nothing but say that they have no answer, in English and Chinese."""

from hypothesis import given
from hypothesis import strategies as st
from tests.replies.families import assert_read_as_meant, stored

from steelyard.replies.abstention import is_abstention

LEAST = {"abstains": 1.0, "abstains in bold": 1.0, "answers": 1.0, "an answer behind it": 1.0}
"""Per family of answers that people thought of: the share that is told as they meant it."""


def test_answers_of_a_family_are_told_as_meant():
    assert_read_as_meant(stored("abstentions"), LEAST, lambda row: is_abstention(row["text"]) == row["abstains"])


def test_bold_within_an_abstention_changes_nothing():
    assert is_abstention("The documents do **not** mention the price.")
    assert is_abstention("I don't know. **The documents do not say.**")


@given(st.text(max_size=900))
def test_any_text_is_told(text):
    assert is_abstention(text) in {True, False}
    assert not is_abstention(text + " The bridge is 98 m long.")
