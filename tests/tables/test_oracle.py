"""QATCH itself as the oracle: what three of its releases said of some thousand pairs of tables."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.qatch_oracle import ours
from benchmarks.qatch_tables import decoded, encoded, random_pairs

RECORDED = json.loads((Path(__file__).parent / "oracle/recorded.json").read_text(encoding="utf-8"))
RELEASES = RECORDED["releases"]


def said(release: str) -> Iterator[tuple[Any, Any]]:
    position = RELEASES.index(release)
    return ((pair, answers[position]) for pair, answers in RECORDED["pairs"] if answers[position] is not None)


@pytest.mark.parametrize("release", RELEASES)
def test_every_recorded_pair_gets_the_numbers_of_the_release(release):
    wrong = [(pair, answer, ours(release, pair)) for pair, answer in said(release) if ours(release, pair) != answer]
    assert wrong[:3] == []


@pytest.mark.parametrize("release", RELEASES)
def test_the_record_is_varied_enough_to_tell_rules_apart(release):
    answers = [answer for _, answer in said(release)]
    assert len(answers) > 2500
    assert len({str(answer) for answer in answers}) > 250
    assert {value for answer in answers for value in answer if isinstance(value, str)} >= {"TypeError", "OverflowError"}


def test_tables_survive_their_way_through_json():
    for target, prediction, _ in random_pairs(3, 300):
        for table in (target, prediction):
            assert repr(decoded(json.loads(json.dumps(encoded(table))))) == repr(table)
