"""What a run asked and took, read sample by sample."""

from __future__ import annotations

import pytest

from steelyard import Prompt, Sample, evaluate
from steelyard.models.scripted import Scripted
from steelyard.scorers.lexical import ExactMatch

SAMPLES = [Sample(f"q{no}", f"Question {no}?", str(no), metadata={"code": no, "odd": None}) for no in range(4)]


@pytest.fixture
def asked(where):
    """What a prompt target asked over SAMPLES; the reply to each question is its number."""
    replies = {f"Question {no}?": f"The answer to this question is {no}." for no in range(4)}
    run = evaluate(Prompt(Scripted(replies), "{{question}}"), SAMPLES, [ExactMatch()], store=where, repeats=2)
    return run.columns()[1]


def test_costs_are_the_means_of_a_samples_repeats(asked):
    costs = asked.costs([2])
    assert list(costs) == [2]
    assert costs[2].calls == 1
    assert isinstance(costs[2].latency, float)
    assert costs[2].output_tokens > 0
    assert costs[2].estimated


def test_a_function_has_no_latency_and_no_calls_but_wall_time(where):
    _, asked = evaluate(lambda sample: sample.reference, SAMPLES, [ExactMatch()], store=where).columns()
    costs = asked.costs(range(4))
    assert {(one.latency, one.calls) for one in costs.values()} == {(None, 0)}
    assert [type(one.seconds) for one in costs.values()] == [float] * 4


def test_a_sample_that_failed_costs_nothing_that_could_be_compared(where):
    def fails(sample):
        if sample.id == "q1":
            raise ValueError("no")
        return "0"

    scores, asked = evaluate(fails, SAMPLES, [ExactMatch()], store=where, max_errors=1.0).columns()
    assert [scores.samples[number] for number in asked.costs(range(4))] == ["q0", "q2", "q3"]


def test_content_leaves_id_group_and_metadata_out(asked, tmp_path):
    other = [Sample(f"z{no}", f"Question {no}?", str(no), group="g") for no in range(3)] + [
        Sample("z3", "Question 3?", "4")
    ]
    again = evaluate(lambda sample: "0", other, [ExactMatch()], store=tmp_path / "t.db").columns()[1]
    before, after = list(asked.contents().values()), list(again.contents().values())
    assert before[:3] == after[:3]
    assert before[3] != after[3]
    assert len(set(before)) == 4


def test_values_of_a_key_are_texts_and_a_missing_one_has_no_entry(asked):
    assert asked.values("code") == {"q0": "0", "q1": "1", "q2": "2", "q3": "3"}
    assert asked.values("odd") == asked.values("nothing") == {}
    assert asked.keys() == ["code", "odd"]


def test_last_keys_are_those_of_the_reply_keys(asked):
    numbers, keys = asked.last_keys()
    assert numbers.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    found = {}
    for number, key in zip(numbers.tolist(), keys, strict=True):
        found.setdefault(f"q{number}", set()).add(key.tobytes().hex())
    assert asked.reply_keys() == found
    assert all(len(several) == 2 for several in found.values())


def test_hashes_are_those_of_the_run(where):
    run = evaluate(lambda sample: "0", SAMPLES, [ExactMatch()], store=where)
    hashes = run.sample_hashes()
    assert list(hashes) == ["q0", "q1", "q2", "q3"]
    assert {len(one) for one in hashes.values()} == {16}
    numbered = run.columns()[1].numbered_hashes.tolist()
    assert [int(one, 16) for one in hashes.values()] == [one % 2**64 for one in numbered]
