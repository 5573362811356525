"""QATCH itself as the oracle: what its release 1.0.36 said of some thousand pairs of tables."""

import json
from pathlib import Path

from benchmarks.qatch_oracle import ours
from benchmarks.qatch_tables import decoded, encoded, random_pairs

RECORDED = json.loads((Path(__file__).parent / "oracle/recorded.json").read_text(encoding="utf-8"))["pairs"]


def test_every_recorded_pair_gets_the_numbers_of_the_release():
    wrong = [(pair, answer, ours(pair)) for pair, answer in RECORDED if ours(pair) != answer]
    assert wrong[:3] == []


def test_the_record_is_varied_enough_to_tell_rules_apart():
    answers = [answer for _, answer in RECORDED]
    assert len(answers) > 2500
    assert len({str(answer) for answer in answers}) > 250
    assert {value for answer in answers for value in answer if isinstance(value, str)} >= {"TypeError", "OverflowError"}


def test_tables_survive_their_way_through_json():
    for target, prediction in random_pairs(3, 300):
        for table in (target, prediction):
            assert repr(decoded(json.loads(json.dumps(encoded(table))))) == repr(table)
