"""Replies that were written without sight of the reader: what judges of summaries, dialogues and answers write."""

from __future__ import annotations

import json
from pathlib import Path

from steelyard.replies.verdict import Scale
from steelyard.text.rating import read_rating

REPLIES = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "judge_replies_blind.jsonl").read_text(encoding="utf-8").splitlines()
]


def test_replies_written_without_sight_of_the_reader_are_read():
    missed = []
    for reply in REPLIES:
        finish = reply.get("finish", "stop")
        verdict = read_rating(reply["text"], Scale(*reply["scale"]), name=reply["name"], finish=finish)
        if (verdict.value if verdict.outcome == "scored" else verdict.kind or verdict.outcome) != reply["wanted"]:
            missed.append(reply["text"])
    assert 1 - len(missed) / len(REPLIES) >= 0.99, missed


def test_the_set_holds_what_cannot_be_read_as_well():
    assert len(REPLIES) == 200
    assert sum(isinstance(reply["wanted"], str) for reply in REPLIES) >= 40
    assert sum(any("\u4e00" <= one <= "\u9fff" for one in reply["text"]) for reply in REPLIES) >= 20
