"""Replies that were written without sight of the reader: what judges of summaries, dialogues and answers write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steelyard.text.rating import Scale, read_rating

REPLIES = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "judge_replies_blind.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("reply", REPLIES, ids=range(len(REPLIES)))
def test_replies_written_without_sight_of_the_reader_are_read(reply):
    verdict = read_rating(reply["text"], Scale(*reply["scale"]), name=reply["name"], finish=reply.get("finish", "stop"))
    found = verdict.value if verdict.outcome == "scored" else verdict.kind or verdict.outcome
    assert found == reply["wanted"]


def test_the_set_holds_what_cannot_be_read_as_well():
    assert len(REPLIES) == 200
    assert sum(isinstance(reply["wanted"], str) for reply in REPLIES) >= 40
    assert sum(any("\u4e00" <= one <= "\u9fff" for one in reply["text"]) for reply in REPLIES) >= 20
