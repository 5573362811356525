"""A verdict under each number, and why there is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.replies.judge_reply import Verdict
from steelyard.scorers.judges.verdicts import combined_verdict, read_numbered
from steelyard.types import Reply


def told(text, n=2, finish="stop"):
    return [(verdict.label, verdict.outcome, verdict.kind) for verdict in read_numbered(Reply("", text, finish), n)]


YES = ("yes", "scored", "")
NO = ("no", "scored", "")


@pytest.mark.parametrize(
    "reply",
    [
        "1. YES - it is.\n2. NO - it is not.",
        "2. NO\n1. YES",
        "**1.** YES\n**2.** NO",
        "Passage 1: YES - it names it.\nPassage 2: NO - another one.",
        '[{"verdict": "YES"}, {"verdict": "NO"}]',
        "1. 是——给出了年份。\n2. 否——没有提到。",
    ],
)
def test_verdicts_are_read_under_their_numbers(reply):
    assert told(reply) == [YES, NO]


def test_a_number_without_a_verdict_is_missing_and_the_others_are_kept():
    assert told("1. YES\n3. NO", 3) == [YES, ("", "unparsed", "none"), NO]


def test_a_number_that_the_reply_broke_off_before_is_truncated():
    assert told("1. YES - it is", finish="length") == [YES, ("", "unparsed", "truncated")]


@pytest.mark.parametrize(
    ("text", "finish", "outcome", "kind"),
    [
        ("", "stop", "unparsed", "empty"),
        ("Let me see whether", "length", "unparsed", "truncated"),
        ("I'm sorry, but I can't help with that.", "stop", "refused", ""),
        ("", "content_filter", "refused", ""),
        ("1. The", "content_filter", "refused", ""),
        ("It is a matter of taste.", "stop", "unparsed", "none"),
    ],
)
def test_a_reply_without_any_verdict_says_why(text, finish, outcome, kind):
    assert {one[1:] for one in told(text, finish=finish)} == {(outcome, kind)}


def test_verdicts_are_one_only_where_each_was_read():
    verdicts = read_numbered(Reply("", "1. YES - it is.\n2. NO - it is not."), 2)
    half = read_numbered(Reply("", "1. YES - it is."), 2)

    assert combined_verdict(verdicts, 0.5) == Verdict(
        "scored", 0.5, form="numbered", reason="1. yes: it is.; 2. no: it is not."
    )
    assert combined_verdict(half, 0.5) == Verdict("unparsed", kind="none", reason="1. yes: it is.; 2. none")


@given(st.text(), st.integers(1, 9), st.sampled_from(["stop", "length", "content_filter"]))
def test_every_number_has_one_verdict_whatever_was_said(text, n, finish):
    verdicts = read_numbered(Reply("", text, finish), n)

    assert len(verdicts) == n
    assert all((verdict.value is None) == (verdict.outcome != "scored") for verdict in verdicts)
