"""What a run asked and took, read sample by sample."""

from __future__ import annotations

import pytest

from steelyard import Prompt, Sample, evaluate
from steelyard.models.scripted import Scripted
from steelyard.scorers.match import ExactMatch

SAMPLES = [Sample(f"q{no}", f"Question {no}?", str(no), metadata={"code": no, "odd": None}) for no in range(4)]


@pytest.fixture
def asked(where):
    """What a prompt target asked over SAMPLES; the reply to each question is its number."""
    replies = {f"Question {no}?": f"The answer to this question is {no}." for no in range(4)}
    run = evaluate(Prompt(Scripted(replies), "{{question}}"), SAMPLES, [ExactMatch()], store=where, repeats=2)
    return run.asked


def test_costs_are_the_means_of_a_samples_repeats(asked):
    repeats = asked.repeats()
    assert {ident: len(several) for ident, several in repeats.items()} == dict.fromkeys(["q0", "q1", "q2", "q3"], 2)
    costs = asked.costs({"q2": repeats["q2"]})
    assert list(costs) == ["q2"]
    assert costs["q2"].calls == 1
    assert costs["q2"].latency >= 0
    assert costs["q2"].output_tokens > 0
    assert costs["q2"].estimated


def test_a_function_has_no_latency_and_no_calls_but_wall_time(where):
    asked = evaluate(lambda sample: sample.reference, SAMPLES, [ExactMatch()], store=where).asked
    costs = asked.costs(asked.repeats())
    assert {(one.latency, one.calls) for one in costs.values()} == {(None, 0)}
    assert all(one.seconds >= 0 for one in costs.values())


def test_a_sample_that_failed_costs_nothing_that_could_be_compared(tmp_path):
    def fails(sample):
        if sample.id == "q1":
            raise ValueError("no")
        return "0"

    asked = evaluate(fails, SAMPLES, [ExactMatch()], store=tmp_path / "s.db", max_errors=1.0).asked
    assert list(asked.costs(asked.repeats())) == ["q0", "q2", "q3"]


def test_content_leaves_id_group_and_metadata_out(asked, tmp_path):
    other = [Sample(f"z{no}", f"Question {no}?", str(no), group="g") for no in range(3)] + [
        Sample("z3", "Question 3?", "4")
    ]
    again = evaluate(lambda sample: "0", other, [ExactMatch()], store=tmp_path / "t.db").asked
    before, after = list(asked.contents().values()), list(again.contents().values())
    assert before[:3] == after[:3]
    assert before[3] != after[3]
    assert len(set(before)) == 4


def test_values_of_a_key_are_texts_and_a_missing_one_has_no_entry(asked):
    assert asked.values("code") == {"q0": "0", "q1": "1", "q2": "2", "q3": "3"}
    assert asked.values("odd") == asked.values("nothing") == {}
    assert asked.keys() == ["code", "odd"]


def test_last_keys_are_those_of_the_reply_keys(asked):
    keys = asked.reply_keys()
    repeats = asked.repeats()
    assert {ident: {key.hex() for key in asked.last_keys(several)} for ident, several in repeats.items()} == keys
    assert all(len(found) == 2 for found in keys.values())


def test_hashes_are_those_of_the_run(tmp_path):
    run = evaluate(lambda sample: "0", SAMPLES, [ExactMatch()], store=tmp_path / "s.db")
    assert run.sample_hashes() == run.asked.hashes()
    assert {len(one) for one in run.sample_hashes().values()} == {16}
