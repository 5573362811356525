"""Plain replies are read at once, and exactly as the whole reader reads them."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

from steelyard.text.rating_plain import plain_rating
from steelyard.text.rating_reader import whole_rating
from steelyard.text.rating_verdict import Scale

DATA = Path(__file__).parent / "data"
WRITTEN = [
    json.loads(line)["text"]
    for name in ("judge_replies.jsonl", "judge_replies_blind.jsonl")
    for line in (DATA / name).read_text("utf-8").splitlines()
]
LINES = (
    "Rating: 4",
    "**Rating:** 4",
    "Final score: 4/5",
    "Coherence: 4.",
    "My rating: 2.5",
    "  Score: 1  ",
    "Rating: 4 (out of 5)",
    "Score: 3 out of 5.",
)
TEXTS = (
    "It leaves out the date.",
    "Its 2nd sentence repeats what 12 people said in 2014.",
    "1. It is short.\n2. It is clear.",
    "One of the 3 claims is made up, and nothing follows from it.",
    "- short\n- clear, but dull",
)


@pytest.mark.parametrize(("line", "text"), list(product(LINES, TEXTS)))
def test_a_line_first_or_last_is_read_as_by_the_whole_reader(line, text):
    for reply in (f"{line}\n\n{text}", f"{text}\n{line}"):
        found = plain_rating(reply, Scale(), name="Coherence", finish="stop")
        assert found in {None, whole_rating(reply, Scale(), name="Coherence", finish="stop")}
    assert plain_rating(f"{TEXTS[0]}\n{line}", Scale(), name="Coherence", finish="stop") is not None


def test_no_written_reply_is_read_otherwise():
    scales = (Scale(1, 5), Scale(1, 3), Scale(1, 10))
    plain = [
        (reply, scale, found)
        for reply, scale in product(WRITTEN, scales)
        if reply.strip() and (found := plain_rating(reply, scale, name="", finish="stop")) is not None
    ]
    assert len(plain) > 20
    assert [one for one in plain if one[2] != whole_rating(one[0], one[1], name="", finish="stop")] == []


@pytest.mark.parametrize(
    "reply",
    [
        "I would give it a 3.\nRating: 4",
        "Fluency: 3\nRating: 4",
        "Rating: 9\nIt is good.",
        'The answer says "the\nRating: 4',
        "Rating: 4\nWait, that is a mistake.",
        "Rating: 4\nNo, three.",
        "Rating: 4/10\nIt is short.",
    ],
)
def test_what_may_mean_more_is_left_to_the_whole_reader(reply):
    assert plain_rating(reply, Scale(), name="", finish="stop") is None


def test_a_reply_that_was_cut_off_is_never_plain():
    assert plain_rating("It is short.\nRating: 1", Scale(1, 10), name="", finish="length") is None
