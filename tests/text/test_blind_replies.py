"""Replies and their right readings, written before the rules that read them were looked at."""

import json
from pathlib import Path

import pytest

from steelyard.text.rating import read_label

REPLIES = [
    json.loads(line) for line in (Path(__file__).parent / "data/blind_replies.jsonl").read_text("utf-8").splitlines()
]


def read(reply):
    return read_label(reply["text"], reply["labels"], finish=reply.get("finish", "stop"))


@pytest.mark.parametrize(
    "reply",
    [one for one in REPLIES if one["reader"] == "label"],
    ids=lambda one: one["text"][:40],
)
def test_a_verdict_that_was_written_blind_is_read_as_meant(reply):
    verdict = read(reply)
    said = {"scored": verdict.label, "refused": "refused"}.get(verdict.outcome, "unread")
    assert said == reply["expected"]
